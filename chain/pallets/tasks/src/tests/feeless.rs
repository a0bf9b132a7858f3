use frame_support::{assert_ok, dispatch::CheckIfFeeless};
use gantry_primitives::HostFailure;

use crate::mock::*;

fn is_free(call: impl Into<RuntimeCall>, origin: &RuntimeOrigin) -> bool {
    call.into().is_feeless(origin)
}

#[test]
fn a_valid_report_of_a_host_is_free_and_any_other_is_not() {
    on_chain(|| {
        let (_, lease) = assigned();
        online_host(11);
        let started = || crate::Call::<Test>::report_started { lease };
        let ended = || crate::Call::<Test>::report_result { lease, result: result(1) };
        let failed = || crate::Call::<Test>::report_failed { lease, reason: HostFailure::DriverError };
        let free = || {
            let origin = host_origin(10);
            [is_free(started(), &origin), is_free(ended(), &origin), is_free(failed(), &origin)]
        };
        assert_eq!(free(), [true, false, true]);
        assert!(!is_free(started(), &host_origin(11)), "another host pays");
        assert!(!is_free(started(), &RuntimeOrigin::none()), "nobody has nothing for free");
        assert_ok!(Tasks::report_started(host_origin(10), lease));
        assert_eq!(free(), [false, true, true]);
        assert_ok!(Tasks::report_result(host_origin(10), lease, result(1)));
        assert_eq!(free(), [false, false, false]);
    });
}

#[test]
fn calls_of_others_are_not_free() {
    on_chain(|| {
        let (task, lease) = running();
        advance(ABSENCE_LIMIT + 1);
        assert!(!is_free(crate::Call::<Test>::cancel { task }, &signed(TENANT)));
        assert!(!is_free(crate::Call::<Test>::requeue { lease }, &signed(ANYONE)));
        assert!(!is_free(crate::Call::<Test>::settle { task }, &signed(ANYONE)));
    });
}

#[test]
fn a_host_without_coins_has_an_account_that_can_sign() {
    on_chain(|| {
        online_host(10);
        assert_eq!(total_balance(&host(10)), 0);
        assert_eq!(System::providers(&host(10)), 1);
    });
}
