use frame_support::assert_ok;
use gantry_primitives::{BillingUnit, EndReason, HostFailure, LeaseState, TaskState};

use crate::{mock::*, Event};

/// What the people of a test have, in the order tenant, provider, other provider, treasury.
fn purses() -> [u128; 4] {
    [
        total_balance(&account(TENANT)),
        total_balance(&account(PROVIDER)),
        total_balance(&account(OTHER_PROVIDER)),
        total_balance(&Billing::treasury()),
    ]
}

fn settle(task: u64) {
    assert_ok!(Tasks::accept_result(signed(TENANT), task));
    assert_ok!(Tasks::settle(signed(ANYONE), task));
}

#[test]
fn a_settled_task_pays_for_the_time_it_ran() {
    on_chain(|| {
        let before = purses();
        let (task, lease) = reported(HOUR / 4);
        assert_eq!(purses(), before, "until it is settled nothing has moved");
        settle(task);
        let (owed, fee) = (RATE / 4, RATE / 40);
        let [tenant, provider, other, treasury] = before;
        assert_eq!(purses(), [tenant - owed, provider + owed - fee, other, treasury + fee]);
        let closed = escrow(lease);
        assert_eq!((closed.paid, closed.fee, closed.open), (owed, fee, false));
        assert_eq!(Billing::held(&account(TENANT)), 0);
        assert_eq!(pallet_gantry_billing::TotalEscrowed::<Test>::get(), 0);
    });
}

#[test]
fn a_pod_is_billed_for_no_more_than_its_host_measured() {
    on_chain(|| {
        let (task, lease) = running();
        work(HOUR / 2);
        assert_ok!(Tasks::report_result(host_origin(10), lease, result(HOUR / 4)));
        settle(task);
        assert_eq!(escrow(lease).paid, RATE / 4);
    });
}

#[test]
fn a_pod_is_billed_for_no_more_than_the_chain_saw() {
    on_chain(|| {
        let (task, lease) = running();
        work(HOUR / 4);
        assert_ok!(Tasks::report_result(host_origin(10), lease, result(HOUR)));
        settle(task);
        assert_eq!(escrow(lease).paid, RATE / 4);
    });
}

#[test]
fn a_result_after_the_duration_costs_no_more_than_the_deposit() {
    on_chain(|| {
        let (task, lease) = reported(3 * HOUR);
        settle(task);
        assert_eq!(escrow(lease).paid, RATE);
    });
}

#[test]
fn started_hours_are_charged_whole() {
    on_chain(|| {
        online_host(10);
        let mut hourly = spec();
        hourly.unit = BillingUnit::Hour;
        hourly.max_duration_ms = 3 * HOUR;
        let task = submit(hourly);
        let lease = assign(task, vec![place(0, 10, &[0])])[0];
        assert_eq!(escrow(lease).deposit, 3 * RATE);
        assert_ok!(Tasks::report_started(host_origin(10), lease));
        work(HOUR + 1);
        assert_ok!(Tasks::report_result(host_origin(10), lease, result(HOUR + 1)));
        settle(task);
        assert_eq!(escrow(lease).paid, 2 * RATE);
    });
}

#[test]
fn a_host_that_gives_up_is_not_paid() {
    on_chain(|| {
        let [tenant, provider, other, treasury] = purses();
        let (_, lease) = running();
        work(HOUR / 2);
        let bond = host_record(10).bond;
        assert_ok!(Tasks::report_failed(host_origin(10), lease, HostFailure::DriverError));
        let slashed = bond - host_record(10).bond;
        assert!(slashed > 0);
        assert_eq!(purses(), [tenant, provider - slashed, other, treasury + slashed]);
        assert_eq!(bill(lease).paid, 0);
    });
}

#[test]
fn of_a_gang_that_ends_without_a_result_only_pods_with_a_result_are_paid() {
    on_chain(|| {
        online_host(10);
        online_host(11);
        let mut hourly = gang(4);
        hourly.unit = BillingUnit::Hour;
        let task = submit(hourly);
        let pods = vec![place(0, 10, &[]), place(1, 11, &[]), place(2, 11, &[]), place(3, 11, &[])];
        let leases = assign(task, pods);
        for lease in &leases[..3] {
            let number = if *lease == leases[0] { 10 } else { 11 };
            assert_ok!(Tasks::report_started(host_origin(number), *lease));
        }
        work(HOUR / 4);
        assert_ok!(Tasks::report_result(host_origin(11), leases[1], result(HOUR / 4)));
        work(HOUR / 4);
        assert_ok!(Tasks::report_failed(host_origin(10), leases[0], HostFailure::ImageInvalid));
        let rate = CPU_RATE;
        let paid: Vec<_> = leases.iter().map(|lease| bill(*lease).paid).collect();
        assert_eq!(paid, [0, rate, 0, 0]);
    });
}

const TENANTS_FAULTS: [HostFailure; 5] = [
    HostFailure::ImageUnavailable,
    HostFailure::ImageInvalid,
    HostFailure::ManifestInvalid,
    HostFailure::InputMissing,
    HostFailure::ImageCannotRun,
];
const HOSTS_FAULTS: [HostFailure; 2] = [HostFailure::ResourcesUnavailable, HostFailure::DriverError];
/// The minimum charge at the rate of these tests.
const CHARGE: u128 = RATE / 6;

#[test]
fn a_tenant_who_prevents_the_start_pays_the_minimum_charge_to_the_treasury() {
    for failure in TENANTS_FAULTS {
        on_chain(|| {
            let [tenant, provider, other, treasury] = purses();
            let (task, lease) = assigned();
            let (score, bond) = (Reputation::host_priority_ppm(&host(10)), host_record(10).bond);
            advance(1_000);
            assert_ok!(Tasks::report_failed(host_origin(10), lease, failure));
            let paid = [tenant - CHARGE, provider - REFUSAL_FEE, other, treasury + CHARGE + REFUSAL_FEE];
            assert_eq!(purses(), paid, "{failure:?}");
            let refunded = RATE - CHARGE;
            assert_eq!(bill(lease), bill_of(lease, CHARGE, CHARGE, refunded));
            assert_eq!((record(task).state, record(task).failures()), (TaskState::Queued, 1));
            assert_eq!(Billing::held(&account(TENANT)), 0);
            assert_eq!(Reputation::host_priority_ppm(&host(10)), score, "{failure:?} does not count against the host");
            assert_eq!(host_record(10).bond, bond - REFUSAL_FEE, "{failure:?} is not slashed");
        });
    }
}

#[test]
fn a_start_that_the_tenant_did_not_prevent_costs_nothing() {
    for failure in HOSTS_FAULTS {
        on_chain(|| {
            let [tenant, provider, other, treasury] = purses();
            let (_, lease) = assigned();
            assert_ok!(Tasks::report_failed(host_origin(10), lease, failure));
            let paid = [tenant, provider - REFUSAL_FEE, other, treasury + REFUSAL_FEE];
            assert_eq!(purses(), paid, "{failure:?}: the refusal fee only");
            assert_eq!(bill(lease).paid, 0);
        });
    }
}

#[test]
fn an_image_that_comes_too_slowly_is_held_against_nobody_and_costs_host_and_tenant_a_little() {
    on_chain(|| {
        let [tenant, provider, other, treasury] = purses();
        let (task, lease) = assigned();
        let (score, bond) = (Reputation::host_priority_ppm(&host(10)), host_record(10).bond);
        advance(2 * MIN_CHARGE);
        assert_ok!(Tasks::report_failed(host_origin(10), lease, HostFailure::ImageTooSlow));
        let paid = [tenant - CHARGE, provider - REFUSAL_FEE, other, treasury + CHARGE + REFUSAL_FEE];
        assert_eq!(purses(), paid, "the minimum charge, however long the pull took");
        assert_eq!((Reputation::host_priority_ppm(&host(10)), host_record(10).bond), (score, bond - REFUSAL_FEE));
        assert_eq!(record(task).failures(), 1, "it counts as an attempt");
    });
}

#[test]
fn the_minimum_charge_is_at_most_the_deposit() {
    let mut builder = ExtBuilder::default();
    builder.tasks.refusal_fee = GTY;
    builder.build_and_execute(|| {
        online_host(10);
        let mut short = spec();
        short.max_duration_ms = MIN_CHARGE;
        let [tenant, provider, other, treasury] = purses();
        let lease = assign(submit(short), vec![place(0, 10, &[0])])[0];
        let deposit = escrow(lease).deposit;
        advance(2 * MIN_CHARGE);
        assert_ok!(Tasks::report_failed(host_origin(10), lease, HostFailure::InputMissing));
        let paid = [tenant - deposit, provider - deposit, other, treasury + 2 * deposit];
        assert_eq!(purses(), paid, "a host that blames the tenant pays no more than the tenant");
        assert_eq!(bill(lease).refunded, 0);
    });
}

#[test]
fn each_attempt_costs_the_minimum_charge_and_the_last_fails_the_task() {
    on_chain(|| {
        let tenant = purses()[0];
        let (task, first) = assigned();
        assert_ok!(Tasks::report_failed(host_origin(10), first, HostFailure::InputMissing));
        online_host(11);
        let second = assign(task, vec![place(0, 11, &[0])])[0];
        task_events();
        assert_ok!(Tasks::report_failed(host_origin(11), second, HostFailure::InputMissing));
        assert!(matches!(record(task).state, TaskState::Failed(_)));
        let kept = crate::mock::lease(second);
        assert_eq!(kept.state, LeaseState::Ended(EndReason::HostRefused(HostFailure::InputMissing)));
        assert_eq!((kept.escrow.paid, kept.escrow.fee, kept.escrow.open), (CHARGE, CHARGE, false));
        assert_eq!(purses()[0], tenant - 2 * CHARGE);
        assert!(matches!(&task_events()[..], [Event::Requeued { bills, .. }] if bills[0].paid == CHARGE));
    });
}

#[test]
fn of_a_gang_only_the_refused_pod_costs_the_minimum_charge() {
    on_chain(|| {
        online_host(10);
        online_host(11);
        let treasury = purses()[3];
        let leases = assign(submit(gang(2)), vec![place(0, 10, &[]), place(1, 11, &[])]);
        assert_ok!(Tasks::report_failed(host_origin(10), leases[0], HostFailure::ImageCannotRun));
        let paid: Vec<_> = leases.iter().map(|lease| bill(*lease).paid).collect();
        assert!(paid[0] > 0 && paid[1] == 0, "{paid:?}");
        assert_eq!(purses()[3], treasury + paid[0] + REFUSAL_FEE);
    });
}

#[test]
fn after_the_start_a_tenants_fault_costs_no_minimum_charge() {
    on_chain(|| {
        let tenant = purses()[0];
        let (_, lease) = running();
        work(1_000);
        let bond = host_record(10).bond;
        assert_ok!(Tasks::report_failed(host_origin(10), lease, HostFailure::ImageInvalid));
        assert_eq!(purses()[0], tenant, "a job that its host gives up is not paid");
        assert!(host_record(10).bond < bond, "the image was good enough to start");
    });
}

#[test]
fn a_minimum_charge_that_the_treasury_cannot_be_credited_with_stays_with_the_tenant() {
    let mut builder = ExtBuilder { treasury: 0, ..Default::default() };
    builder.tasks.min_charge_ms = 1;
    builder.build_and_execute(|| {
        let before = purses();
        let (_, lease) = assigned();
        assert_ok!(Tasks::report_failed(host_origin(10), lease, HostFailure::InputMissing));
        assert_eq!(purses(), before);
        assert_eq!(bill(lease), bill_of(lease, 0, 0, RATE));
    });
}

#[test]
fn a_cancelled_task_pays_the_pods_that_ran() {
    on_chain(|| {
        let before = purses();
        let (task, lease) = running();
        work(HOUR / 2);
        assert_ok!(Tasks::cancel(signed(TENANT), task));
        assert_eq!(escrow(lease).paid, RATE / 2);
        assert_eq!(total_balance(&account(TENANT)), before[0] - RATE / 2);
        let other = submit(spec());
        let pending = assign(other, vec![place(0, 10, &[1])])[0];
        work(HOUR / 2);
        assert_ok!(Tasks::cancel(signed(TENANT), other));
        assert_eq!(
            escrow(pending).paid,
            RATE / 2,
            "a pod that never started costs the time for which it held its host"
        );
        assert_eq!(escrow(pending).fee, RATE / 2, "no host earns by not starting pods");
    });
}

#[test]
fn a_pod_without_a_result_is_not_paid() {
    on_chain(|| {
        let before = total_balance(&account(TENANT));
        let (_, lease) = running();
        work(HOUR);
        work(REPORT_GRACE);
        assert_ok!(Tasks::expire_lease(signed(ANYONE), lease));
        assert_eq!((escrow(lease).paid, escrow(lease).fee), (0, 0));
        assert_eq!(total_balance(&account(TENANT)), before);
    });
}

#[test]
fn a_provider_who_is_its_own_tenant_only_pays_the_fee() {
    on_chain(|| {
        assert_ok!(register(TENANT, 12, hardware()));
        assert_ok!(Hosts::heartbeat(host_origin(12)));
        let before = purses();
        let task = submit(spec());
        let lease = assign(task, vec![place(0, 12, &[0])])[0];
        assert_ok!(Tasks::report_started(host_origin(12), lease));
        work(HOUR);
        assert_ok!(Tasks::report_result(host_origin(12), lease, result(HOUR)));
        settle(task);
        assert_eq!(total_balance(&account(TENANT)), before[0] - RATE / 10);
    });
}

#[test]
fn a_fee_that_the_treasury_cannot_be_credited_with_stays_with_the_tenant() {
    ExtBuilder { treasury: 0, ..Default::default() }.build_and_execute(|| {
        let before = purses();
        // A second costs so little that its fee is below the existential deposit.
        let (task, lease) = reported(1_000);
        settle(task);
        let owed = RATE * 1_000 / u128::from(HOUR);
        let share = owed - owed / 10;
        assert!(owed / 10 < ED);
        assert_eq!((escrow(lease).paid, escrow(lease).fee), (share, 0));
        assert_eq!(purses(), [before[0] - share, before[1] + share, before[2], 0]);
    });
}

#[test]
fn a_provider_who_has_left_blocks_nothing() {
    on_chain(|| {
        // The provider's account ends between the report and the settlement.
        let (task, lease) = reported(1);
        assert_ok!(Hosts::retire(signed(PROVIDER), host(10)));
        advance(HOUR);
        assert_ok!(Hosts::withdraw_bond(signed(PROVIDER), host(10)));
        assert_ok!(Balances::transfer_all(signed(PROVIDER), account(ANYONE), false));
        assert_eq!(total_balance(&account(PROVIDER)), 0);
        let before = total_balance(&account(TENANT));
        settle(task);
        let owed = RATE / u128::from(HOUR);
        assert_eq!(escrow(lease).paid, owed / 10, "only the fee is paid");
        assert_eq!(total_balance(&account(TENANT)), before - owed / 10);
    });
}

#[test]
fn a_lock_on_the_tenants_coins_does_not_keep_the_provider_from_being_paid() {
    on_chain(|| {
        let (task, lease) = reported(HOUR / 2);
        use frame_support::traits::{LockableCurrency, WithdrawReasons};
        let all = total_balance(&account(TENANT));
        Balances::set_lock(*b"vesting!", &account(TENANT), all, WithdrawReasons::all());
        settle(task);
        assert_eq!(escrow(lease).paid, RATE / 2);
    });
}
