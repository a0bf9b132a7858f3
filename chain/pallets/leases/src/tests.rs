use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{EndReason, GpuRequest, LeaseId, LeaseState, PodResult, Resources, Usage};

use crate::{mock::*, ByHost, Draft, Error, Event, Leases as Records};

fn open(host: u8) -> LeaseId {
    let gpus = GpuRequest { count: 0, milli: 0, min_vram_mib: 0, models: Default::default() };
    let draft = Draft {
        task: 3,
        pod: 1,
        attempt: 2,
        host: account(host),
        provider: account(100),
        tenant: account(101),
        devices: Default::default(),
        resources: Resources { cpu_milli: 1, memory_mib: 1, disk_gib: 1, gpus },
        rate_per_hour: 5,
    };
    Leases::open(draft, 10).expect("it opens")
}

fn result() -> PodResult {
    PodResult { digest: [1; 32], exit_code: 3, usage: Usage { wall_ms: 1, cpu_ms: 1, memory_peak_mib: 1 } }
}

fn on_host(host: u8) -> Vec<LeaseId> {
    let mut leases: Vec<_> = ByHost::<Test>::iter_key_prefix(account(host)).collect();
    leases.sort_unstable();
    leases
}

#[test]
fn leases_are_numbered_in_the_order_they_are_opened() {
    on_chain(|| {
        assert_eq!([open(1), open(2), open(1)], [0, 1, 2]);
        assert_eq!((on_host(1), on_host(2)), (vec![0, 2], vec![1]));
        System::assert_last_event(Event::Opened { lease: 2, task: 3, host: account(1) }.into());
    });
}

#[test]
fn a_lease_is_opened_started_and_ended() {
    on_chain(|| {
        let lease = open(1);
        assert_eq!(Leases::lease(lease).expect("it exists").state, LeaseState::Pending);
        assert_ok!(Leases::start(lease, 20));
        let active = Leases::lease(lease).expect("it exists");
        assert_eq!((active.state, active.created_at, active.started_at), (LeaseState::Active, 10, Some(20)));
        let ended = Leases::end(lease, EndReason::Completed, Some(result()), 30).expect("it ends");
        assert_eq!(ended.state, LeaseState::Ended(EndReason::Completed));
        assert_eq!((ended.ended_at, ended.result), (Some(30), Some(result())));
        assert_eq!(on_host(1), Vec::<LeaseId>::new());
        System::assert_last_event(Event::Ended { lease, reason: EndReason::Completed }.into());
    });
}

#[test]
fn a_lease_ends_before_its_pod_has_started() {
    on_chain(|| {
        let lease = open(1);
        assert_ok!(Leases::end(lease, EndReason::StartTimeout, None, 30));
        assert_eq!(Leases::lease(lease).expect("it exists").started_at, None);
    });
}

#[test]
fn a_move_that_the_table_does_not_list_changes_nothing() {
    on_chain(|| {
        let lease = open(1);
        assert_ok!(Leases::start(lease, 20));
        assert_noop!(Leases::start(lease, 21), Error::<Test>::TransitionNotAllowed);
        assert_ok!(Leases::end(lease, EndReason::Cancelled, None, 30));
        assert_noop!(Leases::end(lease, EndReason::HostLost, None, 31), Error::<Test>::TransitionNotAllowed);
        assert_noop!(Leases::start(lease, 31), Error::<Test>::TransitionNotAllowed);
        assert_noop!(Leases::start(99, 31), Error::<Test>::NoSuchLease);
    });
}

#[test]
fn the_check_of_all_leases_finds_a_wrong_one() {
    on_chain(|| {
        let lease = open(1);
        ByHost::<Test>::remove(account(1), lease);
        assert!(Leases::do_try_state().is_err());
        ByHost::<Test>::insert(account(1), lease, ());
        let good = Leases::lease(lease).expect("it exists");
        let mut wrong = good.clone();
        wrong.started_at = Some(20);
        Records::<Test>::insert(lease, wrong);
        assert!(Leases::do_try_state().is_err());
        Records::<Test>::insert(lease, good);
    });
}
