//! The fee, which is fixed when a lease is opened, and the shares of schedulers and settlers.

use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{score, Balance, LeaseId, Survival, TaskId, TaskKind, TaskSpec};

use crate::{mock::*, Error};

/// Mock fees are a tenth of what is paid; of the fee a fifth is the scheduler's, and a tenth the settler's.
fn with_shares(test: impl FnOnce()) {
    let mut builder = ExtBuilder::default();
    (builder.billing.scheduler_share_ppm, builder.billing.settler_share_ppm) = (200_000, 100_000);
    builder.build_and_execute(test);
}

fn set_billing(change: impl FnOnce(&mut pallet_gantry_billing::Params)) {
    let mut params = pallet_gantry_billing::CurrentParams::<Test>::get();
    change(&mut params);
    assert_ok!(Billing::set_params(RuntimeOrigin::root(), params));
}

/// The shares of a lease's fee: scheduler, settler, treasury.
fn shares(lease: LeaseId) -> (u128, u128, u128) {
    let of = escrow(lease);
    (of.scheduler_fee, of.settler_fee, of.treasury_fee())
}

/// A job of [`TENANT`] that ran for an hour on a host of [`PROVIDER`], assigned by `assigner` and settled by `settler`.
fn with_settler(assigner: u8, settler: RuntimeOrigin) -> (TaskId, LeaseId) {
    let task = submit(gang(1));
    assert_ok!(try_assign(signed(assigner), task, placed(vec![place(0, 10, &[])])));
    let lease = leases_of(task)[0];
    assert_ok!(Tasks::report_started(host_origin(10), lease));
    work(HOUR);
    assert_ok!(Tasks::report_result(host_origin(10), lease, result(HOUR)));
    work(DISPUTE_WINDOW);
    assert_ok!(Tasks::settle(settler, task));
    (task, lease)
}

const FEE: u128 = CPU_RATE / 10;

#[test]
fn the_scheduler_and_the_settler_of_a_lease_have_shares_of_its_fee() {
    with_shares(|| {
        online_host(10);
        let [scheduler, anyone, treasury] = [account(SCHEDULER), account(ANYONE), Billing::treasury()];
        let before = [total_balance(&scheduler), total_balance(&anyone), total_balance(&treasury)];
        let (_, lease) = with_settler(SCHEDULER, signed(ANYONE));
        assert_eq!(shares(lease), (FEE / 5, FEE / 10, FEE * 7 / 10));
        let after = [total_balance(&scheduler), total_balance(&anyone), total_balance(&treasury)];
        assert_eq!(after, [before[0] + FEE / 5, before[1] + FEE / 10, before[2] + FEE * 7 / 10]);
        let told = bill(lease);
        assert_eq!((told.fee, told.scheduler_fee, told.settler_fee), (FEE, FEE / 5, FEE / 10));
        assert_eq!(told.treasury_fee(), FEE * 7 / 10);
    });
}

#[test]
fn no_party_of_a_lease_gets_a_part_of_its_fee_back() {
    with_shares(|| {
        online_host(10);
        for party in [TENANT, PROVIDER] {
            assert_eq!(shares(with_settler(SCHEDULER, signed(party)).1), (FEE / 5, 0, FEE * 4 / 5));
        }
        assert_eq!(shares(with_settler(SCHEDULER, host_origin(10)).1), (FEE / 5, 0, FEE * 4 / 5));
        assert_eq!(shares(with_settler(TENANT, signed(ANYONE)).1), (0, FEE / 10, FEE * 9 / 10));
        for party in [TENANT, PROVIDER] {
            assert_ok!(Tasks::bond_scheduler(signed(party)));
            assert_eq!(shares(with_settler(party, signed(ANYONE)).1), (0, FEE / 10, FEE * 9 / 10));
        }
    });
}

#[test]
fn a_batch_pays_its_caller_for_the_leases_of_others_alone() {
    with_shares(|| {
        online_host(10);
        online_host(11);
        let tasks = [submit(gang(1)), submit(gang(1))];
        let leases = [start_on(tasks[0], &[10])[0], start_on(tasks[1], &[11])[0]];
        work(HOUR / 2);
        for (lease, number) in leases.into_iter().zip([10, 11]) {
            assert_ok!(Tasks::report_result(host_origin(number), lease, result(HOUR / 2)));
        }
        work(DISPUTE_WINDOW);
        assert_ok!(Tasks::settle_batch(signed(PROVIDER), tasks.to_vec().try_into().expect("two fit")));
        let fee = FEE / 2;
        assert_eq!(shares(leases[0]), (fee / 5, 0, fee * 4 / 5), "its own lease");
        assert_eq!(shares(leases[1]), (fee / 5, fee / 10, fee * 7 / 10));
    });
}

/// A service of one pod that has run for two hours on host 10, of which one is held back as the end of a failure.
fn running_service(spec: TaskSpec) -> (TaskId, LeaseId) {
    online_host(10);
    online_host(11);
    let task = submit(TaskSpec { max_duration_ms: 20 * HOUR, ..spec });
    let lease = start_on(task, &[10])[0];
    work(2 * HOUR);
    (task, lease)
}

#[test]
fn who_ends_a_lease_that_is_over_is_its_settler_and_the_agenda_is_not() {
    with_shares(|| {
        let (_, lease) = running_service(service(1));
        assert_ok!(Leases::reclaim(signed(PROVIDER), lease));
        work(NOTICE);
        assert_ok!(Leases::finish_reclaim(signed(ANYONE), lease));
        let told = bill(lease);
        assert!(told.fee > 0);
        assert_eq!((told.scheduler_fee, told.settler_fee), (told.fee / 5, told.fee / 10));
    });
    for cranked in [false, true] {
        with_shares(|| {
            let (_, lease) = running_service(service(1));
            assert_ok!(Leases::reclaim(signed(PROVIDER), lease));
            work(NOTICE + 6_000);
            if cranked {
                assert_ok!(Leases::crank(signed(ANYONE), 10));
            } else {
                run_hooks();
            }
            let told = bill(lease);
            assert!(told.fee > 0);
            assert_eq!((told.scheduler_fee, told.settler_fee), (told.fee / 5, 0), "the agenda needs nobody");
        });
    }
}

#[test]
fn a_running_lease_names_the_shares_when_it_is_settled() {
    with_shares(|| {
        let (_, lease) = running_service(service(1));
        assert_ok!(Leases::settle(signed(ANYONE), lease));
        let (scheduler_fee, settler_fee, treasury_fee) = shares(lease);
        let fee = escrow(lease).fee;
        assert_eq!((scheduler_fee, settler_fee, treasury_fee), (fee / 5, fee / 10, fee - fee / 5 - fee / 10));
        let paid = System::events().into_iter().find_map(|record| match record.event {
            RuntimeEvent::Leases(pallet_gantry_leases::Event::Paid { fee, scheduler_fee, settler_fee, .. }) => {
                Some((fee, scheduler_fee, settler_fee))
            }
            _ => None,
        });
        assert_eq!(paid, Some((fee, scheduler_fee, settler_fee)));
    });
}

#[test]
fn a_lease_at_a_standby_goes_on_for_the_same_scheduler_and_a_moved_one_for_its_new_one() {
    with_shares(|| {
        let spec = TaskSpec { survival: Survival::Move, ..service(1) };
        let (task, lease) = running_service(spec);
        assert_ok!(Tasks::move_pod(signed(TENANT), lease, host(11), Default::default(), Balance::MAX));
        let told = bill(lease);
        assert_eq!((told.scheduler_fee, told.settler_fee), (told.fee / 5, 0), "its tenant ended it");
        let of = escrow(leases_of(task)[0]);
        assert_eq!((of.scheduler_ppm, of.fee_ppm), (0, 100_000));
    });
}

#[test]
fn governance_cannot_take_what_open_leases_earn() {
    with_shares(|| {
        online_host(10);
        set_billing(|params| params.fee_ppm = 20_000);
        let task = submit(TaskSpec { kind: TaskKind::Job, ..gang(1) });
        let lease = start_on(task, &[10])[0];
        assert_eq!((escrow(lease).fee_ppm, escrow(lease).scheduler_ppm), (20_000, 200_000));
        set_billing(|params| (params.fee_ppm, params.scheduler_share_ppm) = (100_000, 0));
        let before = total_balance(&account(PROVIDER));
        work(HOUR);
        assert_ok!(Tasks::report_result(host_origin(10), lease, result(HOUR)));
        work(DISPUTE_WINDOW);
        assert_ok!(Tasks::settle(signed(ANYONE), task));
        let fee = CPU_RATE / 50;
        assert_eq!(total_balance(&account(PROVIDER)), before + CPU_RATE - fee);
        assert_eq!(shares(lease), (fee / 5, fee / 10, fee * 7 / 10));
        let later = submit(gang(1));
        assert_eq!(escrow(start_on(later, &[10])[0]).fee_ppm, 100_000, "a lease that is opened later has the new fee");
    });
}

#[test]
fn evidence_weighs_by_the_treasurys_part_of_the_fee_alone() {
    let completed = |scheduler_share_ppm, settler_share_ppm| {
        let mut weight = 0;
        let mut builder = ExtBuilder::default();
        builder.billing.scheduler_share_ppm = scheduler_share_ppm;
        builder.billing.settler_share_ppm = settler_share_ppm;
        builder.build_and_execute(|| {
            online_host(10);
            let (_, lease) = with_settler(SCHEDULER, signed(ANYONE));
            let score = pallet_gantry_reputation::HostScores::<Test>::get(host(10)).expect("it is scored");
            weight = score.completed.positive;
            assert_eq!(weight, score::weight(escrow(lease).treasury_fee()));
            // What is observed before the payment weighs no more than what the treasury gets.
            assert!(score.start_latency.positive + score.start_latency.negative <= weight);
        });
        weight
    };
    let (alone, shared) = (completed(0, 0), completed(300_000, 200_000));
    assert!(shared > 0 && shared < alone, "a tenant whose other accounts schedule and settle gains {shared}");
}

#[test]
fn a_lease_that_ends_before_its_start_pays_its_charge_to_the_treasury_alone() {
    with_shares(|| {
        let (task, lease) = assigned();
        assert_ok!(Tasks::cancel(signed(TENANT), task));
        let told = bill(lease);
        assert!(told.fee > 0);
        assert_eq!((told.fee, told.scheduler_fee, told.settler_fee), (told.paid, 0, 0));
        assert_noop!(Tasks::requeue(signed(ANYONE), lease), Error::<Test>::LeaseEnded);
    });
}
