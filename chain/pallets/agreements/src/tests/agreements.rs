//! Agreements, and who pays when they are broken.

use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{Balance, LeaseId, Survival, TaskKind, TaskSpec};

use crate::{mock::*, *};

fn accepted() -> OfferId {
    assert_ok!(Agreements::propose(signed(TENANT), account(PROVIDER), Box::new(terms()), START + HOUR));
    assert_ok!(Agreements::accept(signed(PROVIDER), last_offer(), Some(place())));
    last_offer()
}

fn begin(offer: OfferId, spec: TaskSpec) -> sp_runtime::DispatchResult {
    Agreements::begin(signed(TENANT), offer, Box::new(spec), manifest())
}

/// An agreement whose lease began, a bucket after the first moment for it; and when both sides are free.
fn begun() -> (OfferId, LeaseId, u64) {
    let offer = accepted();
    wait_past(HOUR);
    assert_ok!(begin(offer, spec()));
    match Offers::<Test>::get(offer).expect("it is kept").state {
        OfferState::Begun { lease, ends_at } => (offer, lease, ends_at),
        state => panic!("{state:?}"),
    }
}

fn end(lease: LeaseId, at: u64, by: Option<Side>) {
    world(|state| state.leases.get_mut(&lease).expect("it began").1 = LeaseStatus::Ended { at, by });
}

fn closed() -> (OfferOutcome, Balance) {
    let find = |event| match event {
        Event::OfferClosed { outcome, compensation, .. } => Some((outcome, compensation)),
        _ => None,
    };
    events().into_iter().rev().find_map(find).expect("an offer was closed")
}

#[test]
fn a_lease_that_begins_by_an_agreement_costs_the_agreed_price() {
    run(|| {
        let (_, lease, ends_at) = begun();
        assert_eq!(world(|state| state.leases[&lease].0), 2 * GTY);
        assert_eq!(world(|state| state.reserved[&account(HOST)]), 0, "the lease holds the place now");
        assert_eq!(ends_at, Agreements::now() + 2 * HOUR);
    });
}

#[test]
fn only_the_tenant_begins_and_only_in_the_agreed_time_and_with_the_agreed_task() {
    run(|| {
        let offer = accepted();
        assert_noop!(begin(offer, spec()), Error::<Test>::NotStartTime);
        wait_past(HOUR);
        let strange = Agreements::begin(signed(ANYONE), offer, Box::new(spec()), manifest());
        assert_eq!(strange, Err(Error::<Test>::NotParty.into()));
        for change in [
            |spec: &mut TaskSpec| spec.kind = TaskKind::Job,
            |spec: &mut TaskSpec| spec.pods_max = 2,
            |spec: &mut TaskSpec| spec.resources.cpu_milli += 1,
            |spec: &mut TaskSpec| spec.max_duration_ms -= 1,
            |spec: &mut TaskSpec| spec.max_rate_per_hour -= 1,
            |spec: &mut TaskSpec| spec.spot = true,
            |spec: &mut TaskSpec| spec.survival = Survival::Move,
        ] {
            let mut changed = spec();
            change(&mut changed);
            assert_noop!(begin(offer, changed), Error::<Test>::TaskDiffers);
        }
        assert_ok!(begin(offer, spec()));
        assert_noop!(begin(offer, spec()), Error::<Test>::OfferNotAccepted);
    });
}

#[test]
fn a_tenant_that_locks_a_place_and_does_not_begin_loses_its_bond_to_the_provider() {
    run(|| {
        accepted();
        wait_past(2 * HOUR);
        assert_eq!(closed(), (OfferOutcome::BrokenBy(Side::Tenant), BOND));
        assert_eq!((worth(TENANT), worth(PROVIDER)), (COINS - BOND, COINS + BOND));
        // Two hours at 2 GTY were reserved.
        const { assert!(BOND >= 2 * 2 * GTY, "the place costs at least what it would have earned by this price") };
        assert_eq!(world(|state| state.reserved[&account(HOST)]), 0);
    });
}

#[test]
fn a_provider_whose_host_cannot_take_the_pod_loses_its_bond_to_the_tenant() {
    run(|| {
        let offer = accepted();
        world(|state| state.unable.push(account(HOST)));
        wait_past(HOUR);
        assert_eq!(begin(offer, spec()), Err(sp_runtime::DispatchError::Unavailable));
        // The test's world takes nothing back; the chain would have.
        world(|state| *state.reserved.get_mut(&account(HOST)).expect("it was reserved") = 1);
        wait_past(HOUR);
        assert_eq!(closed(), (OfferOutcome::BrokenBy(Side::Provider), BOND));
        assert_eq!((worth(TENANT), worth(PROVIDER)), (COINS + BOND, COINS - BOND));
    });
}

#[test]
fn a_provider_that_comes_back_at_the_last_moment_gains_nothing() {
    run(|| {
        let offer = accepted();
        wait_past(HOUR);
        let report = || Agreements::report_unavailable(signed(TENANT), offer);
        assert_noop!(report(), Error::<Test>::HostAvailable);
        world(|state| state.unable.push(account(HOST)));
        assert_ok!(report());
        world(|state| state.unable.clear());
        wait_past(HOUR);
        assert_eq!(closed(), (OfferOutcome::NotBegun, 0));
        assert_eq!((worth(TENANT), worth(PROVIDER)), (COINS, COINS));
    });
}

#[test]
fn who_ends_the_lease_early_loses_the_part_of_the_bond_that_the_rest_is() {
    run(|| {
        for (by, tenants) in [(Side::Tenant, COINS - BOND / 4), (Side::Provider, COINS)] {
            pallet_timestamp::Now::<Test>::put(START);
            AgendaTaken::<Test>::kill();
            let (offer, lease, ends_at) = begun();
            assert_noop!(Agreements::conclude(signed(ANYONE), offer), Error::<Test>::LeaseLives);
            end(lease, ends_at - HOUR / 2, Some(by));
            assert_ok!(Agreements::conclude(signed(ANYONE), offer));
            assert_eq!(closed(), (OfferOutcome::BrokenBy(by), BOND / 4));
            assert_eq!(worth(TENANT), tenants);
        }
    });
}

#[test]
fn a_lease_that_ends_by_nobodys_fault_costs_nobody_a_bond() {
    run(|| {
        let (offer, lease, _) = begun();
        end(lease, Agreements::now(), None);
        assert_ok!(Agreements::conclude(signed(ANYONE), offer));
        assert_eq!(closed(), (OfferOutcome::Kept, 0));
        assert_eq!((worth(TENANT), worth(PROVIDER)), (COINS, COINS));
    });
}

#[test]
fn the_agenda_watches_a_lease_and_frees_both_sides_when_the_time_is_over() {
    run(|| {
        let (offer, ..) = begun();
        wait_past(HOUR / 2);
        assert!(Offers::<Test>::contains_key(offer), "it is looked at and goes on");
        wait_past(HOUR / 2);
        assert!(Offers::<Test>::contains_key(offer));
        wait_past(2 * HOUR);
        assert_eq!(closed(), (OfferOutcome::Kept, 0));
        assert_eq!((worth(TENANT), held(PROVIDER, HoldReason::AgreementBond)), (COINS, 0));
    });
}

#[test]
fn the_agenda_closes_a_broken_agreement_that_nobody_concludes() {
    run(|| {
        let (_, lease, ends_at) = begun();
        end(lease, ends_at - 2 * HOUR, Some(Side::Provider));
        wait_past(HOUR / 2);
        assert_eq!(closed(), (OfferOutcome::BrokenBy(Side::Provider), BOND));
    });
}

#[test]
fn what_does_not_fit_into_a_block_waits_for_the_next() {
    run(|| {
        for _ in 0..2 {
            assert_ok!(Agreements::propose(signed(TENANT), account(PROVIDER), Box::new(terms()), START + HOUR));
        }
        let one = <() as WeightInfo>::agenda_base().saturating_add(<() as WeightInfo>::due_entry());
        HookWeight::set(&one);
        wait_past(HOUR);
        assert_eq!(Offers::<Test>::iter().count(), 1);
        wait_past(0);
        assert_eq!((Offers::<Test>::iter().count(), Agenda::<Test>::iter().count()), (0, 0));
    });
}

#[test]
fn what_fails_is_tried_again_later() {
    run(|| {
        let offer = accepted();
        // A mistake elsewhere: the reservation is gone.
        world(|state| state.reserved.clear());
        wait_past(2 * HOUR);
        assert!(matches!(events().last(), Some(Event::DueFailed { due, .. }) if *due == Due::Offer(offer)));
        assert_eq!(Agreements::do_try_state(), Ok(()));
        world(|state| state.reserved.insert(account(HOST), 1));
        wait_past(RETRY_MS);
        assert_eq!(closed().0, OfferOutcome::BrokenBy(Side::Tenant));
    });
}
