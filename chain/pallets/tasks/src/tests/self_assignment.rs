//! Proof that a scheduler favoured its own host.

use frame_support::{assert_noop, assert_ok, dispatch::DispatchResult};
use gantry_primitives::{
    Ask, Balance, Conduct, DeviceIndices, HostFailure, LeaseId, Moment, Survival, TaskId, TaskSpec, MAX_DEVICES,
};

use crate::{mock::*, Error, Event, LeavingSchedulers, PunishedUntil, Schedulers};

/// What a pod of [`spec`] costs an hour at host 11, which is the cheapest.
const CHEAP: Balance = GTY / 2 + CPU_RATE;
const PENALTY: Balance = SCHEDULER_BOND / 10;

/// [`PROVIDER`] is a scheduler. Host 10 is its own, 11 is another's and cheaper; both have offered that for a while.
fn scene() {
    assert_ok!(Tasks::bond_scheduler(signed(PROVIDER)));
    (10..12).for_each(online_host);
    assert_ok!(Hosts::set_ask(signed(OTHER_PROVIDER), host(11), Ask { gpu_per_hour: GTY / 2, ..ask() }));
    work(OFFER_KNOWN);
}

/// [`PROVIDER`] assigns the task to a device of its own host.
fn assign_to_itself(task: TaskId, device: u8) -> LeaseId {
    assert_ok!(Tasks::assign(signed(PROVIDER), task, placed(vec![place(0, 10, &[device])])));
    leases_of(task)[0]
}

fn devices(places: &[u8]) -> DeviceIndices {
    places.to_vec().try_into().expect("few")
}

/// Anybody names the first device of host 11 as the cheaper place.
fn report(lease: LeaseId) -> DispatchResult {
    Tasks::report_self_assignment(signed(ANYONE), lease, host(11), devices(&[0]))
}

fn bond_of(who: u8) -> Option<Balance> {
    Schedulers::<Test>::get(account(who))
}

#[test]
fn a_scheduler_that_favours_its_own_host_pays_the_tenant_and_the_treasury() {
    on_chain(|| {
        scene();
        let lease_id = assign_to_itself(submit(spec()), 0);
        assert_eq!(lease(lease_id).self_assigned_ppm, Some(500_000));
        let (tenant, treasury) = (account(TENANT), Billing::treasury());
        let before = (total_balance(&tenant), total_balance(&treasury), total_balance(&account(PROVIDER)));
        work(60_000);
        task_events();
        assert_ok!(report(lease_id));
        let (who, cheaper) = (account(PROVIDER), host(11));
        let (to_tenant, to_treasury) = (PENALTY / 2, PENALTY / 2);
        let told = Event::SchedulerPunished { who: who.clone(), lease: lease_id, cheaper, to_tenant, to_treasury };
        assert_eq!(task_events(), [told]);
        assert_eq!(total_balance(&tenant), before.0 + PENALTY / 2);
        assert_eq!(total_balance(&treasury), before.1 + PENALTY / 2);
        assert_eq!(total_balance(&who), before.2 - PENALTY);
        assert_eq!(
            (bond_of(PROVIDER), Tasks::scheduler_bond_held(&who)),
            (Some(SCHEDULER_BOND - PENALTY), SCHEDULER_BOND - PENALTY)
        );
        // The lease goes on as it is, and counts once.
        assert_noop!(report(lease_id), Error::<Test>::NotSelfAssigned);
        assert_ok!(Tasks::report_started(host_origin(10), lease_id));
    });
}

#[test]
fn assignments_of_one_block_count_once_and_later_ones_again() {
    on_chain(|| {
        scene();
        let first = assign_to_itself(submit(spec()), 0);
        let second = assign_to_itself(submit(spec()), 1);
        assert_ok!(report(first));
        // Host 11 had room for one of the two at most, as far as is known.
        assert_noop!(report(second), Error::<Test>::AlreadyPunished);
        work(OFFER_KNOWN);
        let mut without_device = gang(1);
        without_device.resources.cpu_milli = 100;
        assert_ok!(Tasks::assign(signed(PROVIDER), submit(without_device), placed(vec![place(0, 10, &[])])));
        let asks_less = Ask { gpu_per_hour: GTY / 2, cpu_core_per_hour: 0, ..ask() };
        let third = leases_of(2)[0];
        let at_11 = |lease| Tasks::report_self_assignment(signed(ANYONE), lease, host(11), devices(&[]));
        assert_noop!(at_11(third), Error::<Test>::NotCheaper);
        assert_ok!(Hosts::set_ask(signed(OTHER_PROVIDER), host(11), asks_less));
        assert_noop!(at_11(third), Error::<Test>::OfferTooRecent);
        work(OFFER_KNOWN);
        let mut later = gang(1);
        later.resources.cpu_milli = 100;
        assert_ok!(Tasks::assign(signed(PROVIDER), submit(later), placed(vec![place(0, 10, &[])])));
        assert_ok!(at_11(leases_of(3)[0]));
        assert_eq!(bond_of(PROVIDER), Some(SCHEDULER_BOND - 2 * PENALTY));
    });
}

#[test]
fn nobody_else_answers_for_the_host_of_a_lease() {
    on_chain(|| {
        scene();
        let refused = |lease: LeaseId| {
            assert_noop!(report(lease), Error::<Test>::NotSelfAssigned);
        };
        // Another scheduler placed it there.
        refused(assign(submit(spec()), vec![place(0, 10, &[0])])[0]);
        // The tenant did; or the scheduler is the tenant.
        let task = submit(spec());
        assert_ok!(try_assign(signed(TENANT), task, placed(vec![place(0, 10, &[1])])));
        refused(leases_of(task)[0]);
        online_host(12);
        let own = crate::NextTaskId::<Test>::get();
        assert_ok!(Tasks::submit(signed(PROVIDER), spec(), manifest()));
        assert_ok!(try_assign(signed(PROVIDER), own, placed(vec![place(0, 12, &[0])])));
        refused(leases_of(own)[0]);
        // Pods of a gang may need the room of one host together.
        let pair = submit(TaskSpec { resources: gang(2).resources, ..gang(2) });
        assert_ok!(try_assign(signed(PROVIDER), pair, placed(vec![place(0, 12, &[]), place(1, 12, &[])])));
        refused(leases_of(pair)[0]);
        assert_noop!(report(999 << 24), Error::<Test>::NoSuchTask);
    });
}

#[test]
fn a_pod_that_was_moved_to_an_own_host_is_no_proof() {
    on_chain(|| {
        scene();
        online_host(13);
        let task = submit(TaskSpec { survival: Survival::Move, ..spec() });
        let from = assign(task, vec![place(0, 13, &[0])])[0];
        assert_ok!(Tasks::report_started(host_origin(13), from));
        assert_ok!(Hosts::drain(signed(OTHER_PROVIDER), host(13)));
        assert_ok!(Tasks::move_pod(signed(PROVIDER), from, host(10), devices(&[0]), Balance::MAX));
        let moved = leases_of(task)[0];
        assert_eq!(lease(moved).assigned_by, Some(account(PROVIDER)));
        assert_noop!(report(moved), Error::<Test>::NotSelfAssigned);
    });
}

#[test]
fn a_task_that_was_assigned_by_a_notice_is_no_proof() {
    on_chain(|| {
        scene();
        let spot_task = submit(spot());
        let lease = assign(spot_task, vec![place(0, 10, &[0])])[0];
        assert_ok!(Tasks::report_started(host_origin(10), lease));
        let wanting = submit(TaskSpec { priority: 1, ..spec() });
        let (victims, pods) = (vec![spot_task].try_into().expect("one"), placed(vec![place(0, 10, &[0])]));
        assert_ok!(Tasks::preempt(signed(PROVIDER), wanting, victims, pods));
        work(LEAVE_WITHIN);
        assert_ok!(Tasks::finish_preemption(signed(ANYONE), wanting));
        assert_noop!(report(leases_of(wanting)[0]), Error::<Test>::NotSelfAssigned);
    });
}

#[test]
fn the_other_host_is_at_least_a_tenth_cheaper() {
    on_chain(|| {
        scene();
        let price = |rate: Balance| {
            let ask = Ask { gpu_per_hour: rate - CPU_RATE, ..ask() };
            assert_ok!(Hosts::set_ask(signed(OTHER_PROVIDER), host(11), ask));
            work(OFFER_KNOWN);
        };
        price(RATE - RATE / 10 + 1);
        let not_enough = assign_to_itself(submit(spec()), 0);
        assert_noop!(report(not_enough), Error::<Test>::NotCheaper);
        price(RATE - RATE / 10);
        assert_ok!(report(assign_to_itself(submit(spec()), 1)));
        const { assert!(CHEAP < RATE - RATE / 10) };
    });
}

#[test]
fn a_host_that_asks_for_nothing_has_no_cheaper_one() {
    on_chain(|| {
        scene();
        let nothing = Ask { gpu_per_hour: 0, cpu_core_per_hour: 0, memory_gib_per_hour: 0, ..ask() };
        for (provider, number) in [(PROVIDER, 10), (OTHER_PROVIDER, 11)] {
            assert_ok!(Hosts::set_ask(signed(provider), host(number), nothing.clone()));
        }
        work(OFFER_KNOWN);
        let lease_id = assign_to_itself(submit(spec()), 0);
        assert_noop!(report(lease_id), Error::<Test>::NotCheaper);
    });
}

#[test]
fn the_pod_fits_on_the_other_host_by_the_same_rule() {
    on_chain(|| {
        scene();
        let lease_id = assign_to_itself(submit(spec()), 0);
        let at = |number, devices: DeviceIndices| {
            Tasks::report_self_assignment(signed(ANYONE), lease_id, host(number), devices)
        };
        assert_noop!(at(10, devices(&[1])), Error::<Test>::SameHost);
        assert_noop!(at(99, devices(&[0])), pallet_gantry_hosts::Error::<Test>::NoSuchHost);
        assert_noop!(at(11, devices(&[0, 1])), pallet_gantry_hosts::Error::<Test>::WrongDeviceCount);
        assign(submit(spec()), vec![place(0, 11, &[0])]);
        assert_noop!(report(lease_id), pallet_gantry_hosts::Error::<Test>::DeviceBusy);
        // Room that leases took since was there at the assignment; the other device still is.
        assert_ok!(at(11, devices(&[1])));
    });
}

#[test]
fn a_host_that_refused_the_task_or_is_silent_is_no_other_place() {
    on_chain(|| {
        scene();
        let lease_id = assign_to_itself(submit(spec()), 1);
        advance(2 * HEARTBEAT_PERIOD + 1);
        assert_noop!(report(lease_id), Error::<Test>::HostDeteriorates);
        // A host that was overdue in between may not have been there at the assignment.
        assert_ok!(Hosts::heartbeat(host_origin(11)));
        assert_noop!(report(lease_id), Error::<Test>::OfferTooRecent);

        let task = submit(spec());
        let refusing = assign(task, vec![place(0, 11, &[0])])[0];
        assert_ok!(Tasks::report_failed(host_origin(11), refusing, HostFailure::DriverError));
        work(OFFER_KNOWN);
        let again = assign_to_itself(task, 0);
        assert_noop!(report(again), Error::<Test>::HostRefusedTask);
    });
}

#[test]
fn what_has_changed_since_the_assignment_proves_nothing() {
    on_chain(|| {
        scene();
        let busy = [0, 1].map(|device| assign(submit(spec()), vec![place(0, 11, &[device])])[0]);
        work(OFFER_KNOWN);
        let lease_id = assign_to_itself(submit(spec()), 0);
        work(OFFER_KNOWN);
        assert_noop!(report(lease_id), pallet_gantry_hosts::Error::<Test>::DeviceBusy);
        assert_ok!(Tasks::cancel(signed(TENANT), gantry_primitives::lease_parts(busy[0]).0));
        assert_noop!(report(lease_id), Error::<Test>::OfferTooRecent);
    });
}

#[test]
fn a_refused_assignment_does_not_spoil_the_proof() {
    on_chain(|| {
        scene();
        let lease_id = assign_to_itself(submit(spec()), 0);
        work(OFFER_KNOWN);
        // The first pod is taken and given back, because the second does not fit.
        let pair = submit(gang(2));
        let pods = placed(vec![place(0, 11, &[]), place(1, 11, &[0])]);
        assert_ok!(Tasks::assign_batch(signed(PROVIDER), vec![(pair, pods)].try_into().expect("one fits")));
        assert_ok!(report(lease_id));
    });
}

#[test]
fn a_host_with_a_lower_score_is_not_as_good() {
    on_chain(|| {
        scene();
        let observe = |number, conduct| {
            pallet_gantry_reputation::Pallet::<Test>::observe_host(&host(number), conduct, 1, 100 * GTY, Hosts::now());
        };
        observe(11, Conduct::NotStarted);
        work(OFFER_KNOWN);
        let lease_id = assign_to_itself(submit(spec()), 0);
        assert_noop!(report(lease_id), Error::<Test>::NotAsGood);
        // It is better by now, and was not then.
        observe(11, Conduct::Rated(5));
        (0..20).for_each(|_| observe(11, Conduct::Started));
        assert_noop!(report(lease_id), Error::<Test>::NotAsGood);
        // What becomes of the own host afterwards does not matter.
        work(OFFER_KNOWN);
        let later = assign_to_itself(submit(spec()), 1);
        observe(10, Conduct::Rated(5));
        assert_ok!(report(later));
    });
}

#[test]
fn a_proof_comes_within_its_time() {
    on_chain(|| {
        scene();
        let [first, second] = [0, 1].map(|device| assign_to_itself(submit(spec()), device));
        work(EVIDENCE);
        assert_ok!(report(first));
        work(1);
        assert_noop!(report(second), Error::<Test>::EvidenceTooOld);
    });
}

#[test]
fn the_bond_of_a_scheduler_that_leaves_answers_too() {
    on_chain(|| {
        scene();
        let lease_id = assign_to_itself(submit(spec()), 0);
        assert_ok!(Tasks::unbond_scheduler(signed(PROVIDER)));
        assert_ok!(report(lease_id));
        let who = account(PROVIDER);
        assert_eq!(LeavingSchedulers::<Test>::get(&who).map(|leaving| leaving.bond), Some(SCHEDULER_BOND - PENALTY));
        work(SCHEDULER_UNBONDING);
        assert_ok!(Tasks::unbond_scheduler(signed(PROVIDER)));
        assert_eq!((Tasks::scheduler_bond_held(&who), PunishedUntil::<Test>::get(&who)), (0, None));
    });
}

#[test]
fn a_scheduler_with_less_than_half_of_the_bond_is_none_any_more() {
    on_chain(|| {
        scene();
        let mut params = crate::CurrentParams::<Test>::get();
        params.scheduler_penalty_ppm = 500_001;
        assert_ok!(Tasks::set_params(RuntimeOrigin::root(), params));
        let lease_id = assign_to_itself(submit(spec()), 0);
        task_events();
        assert_ok!(report(lease_id));
        let until: Moment = Hosts::now() + SCHEDULER_UNBONDING;
        assert!(task_events().contains(&Event::SchedulerLeaving { who: account(PROVIDER), until }));
        assert_eq!(bond_of(PROVIDER), None);
        let (task, pods) = (submit(spec()), placed(vec![place(0, 10, &[1])]));
        assert_noop!(try_assign(signed(PROVIDER), task, pods), Error::<Test>::NotSchedulerOrTenant);
        // It may pay what is missing, and go on.
        assert_ok!(Tasks::bond_scheduler(signed(PROVIDER)));
        assert_eq!(bond_of(PROVIDER), Some(SCHEDULER_BOND));
    });
}

#[test]
fn a_penalty_is_at_most_the_bond() {
    on_chain(|| {
        scene();
        let mut params = crate::CurrentParams::<Test>::get();
        params.scheduler_bond = 100 * SCHEDULER_BOND;
        assert_ok!(Tasks::set_params(RuntimeOrigin::root(), params));
        let lease_id = assign_to_itself(submit(spec()), 0);
        assert_ok!(report(lease_id));
        let who = account(PROVIDER);
        assert_eq!((bond_of(PROVIDER), Tasks::scheduler_bond_held(&who)), (None, 0));
        assert!(devices(&[]).len() < MAX_DEVICES as usize);
    });
}

#[test]
fn an_offer_that_the_scheduler_may_not_have_known_is_no_proof() {
    on_chain(|| {
        scene();
        assert_ok!(Hosts::set_ask(signed(OTHER_PROVIDER), host(11), Ask { gpu_per_hour: GTY / 3, ..ask() }));
        work(OFFER_KNOWN - 1);
        let lease_id = assign_to_itself(submit(spec()), 0);
        assert_noop!(report(lease_id), Error::<Test>::OfferTooRecent);
        work(1);
        let later = assign_to_itself(submit(spec()), 1);
        assert_ok!(report(later));
    });
}
