//! Benchmarks, on rentals that the lease store creates. The end of a reclaimed lease is measured on services whose pods
//! migrate to a standby, which is the most expensive end.

use alloc::vec::Vec;
use frame_benchmarking::v2::*;
use frame_system::RawOrigin;
use gantry_primitives::{AccountId, Balance, EndReason, LeaseId, LeaseState, Moment};

use crate::{
    billing, AgendaEmptied, Bucket, Call, Config, CurrentParams, LeaseStore, Pallet, Params, StoredLease, BUCKET_MS,
    MAX_CRANK, PAGE_ENTRIES,
};

const HOUR: u64 = 3_600_000;
/// The time at which every benchmark begins.
const BEGIN: Moment = 1_000_000_000;
/// Longer than any rental of the benchmarks.
const LATER: u64 = 400 * 24 * HOUR;
/// Shorter than any lease of the benchmarks.
const NOTICE: u64 = HOUR / 2;

fn begin<T: Config + pallet_timestamp::Config<Moment = Moment>>() {
    pallet_timestamp::Now::<T>::put(BEGIN);
    CurrentParams::<T>::put(Params { reclaim_notice_ms: NOTICE, ..Params::default() });
    // Longer than the period that is held back, so that there is something to pay.
    billing::CurrentParams::<T>::mutate(|params| params.held_back_ms = 0);
}

fn advance<T: Config + pallet_timestamp::Config<Moment = Moment>>(ms: u64) {
    pallet_timestamp::Now::<T>::mutate(|now| *now += ms);
}

fn stored_lease<T: Config>(id: LeaseId) -> StoredLease {
    T::LeaseStore::read(id).unwrap_or_else(|error| panic!("{id}: {error:?}"))
}

fn tenant<T: Config>(id: LeaseId) -> RawOrigin<AccountId> {
    RawOrigin::Signed(stored_lease::<T>(id).tenant)
}

fn provider<T: Config>(id: LeaseId) -> RawOrigin<AccountId> {
    RawOrigin::Signed(stored_lease::<T>(id).host.provider)
}

fn anyone() -> AccountId {
    account("anyone", 0, 0)
}

/// A rental that has ended just now.
fn ended<T: Config + pallet_timestamp::Config<Moment = Moment>>() -> LeaseId {
    let id = T::LeaseStore::create_rental(0);
    T::LeaseStore::end(id, EndReason::Expired, None).expect("it runs");
    assert!(matches!(stored_lease::<T>(id).lease.state, LeaseState::Retained(_)));
    id
}

/// The lease of a service for each number, whose pod migrates when the notice of its provider is over.
fn reclaimed<T: Config>(number: u32) -> LeaseId {
    let id = T::LeaseStore::create_lease_with_standby(number);
    Pallet::<T>::do_reclaim(stored_lease::<T>(id).host.provider, id).expect("it runs");
    id
}

fn is_live<T: Config>(id: LeaseId) -> bool {
    T::LeaseStore::read(id).is_ok_and(|stored| stored.lease.state.is_live())
}

#[benchmarks(where T: pallet_timestamp::Config<Moment = Moment>)]
mod benchmarks {
    use super::*;

    #[benchmark]
    fn extend() {
        begin::<T>();
        let id = T::LeaseStore::create_rental(0);
        let deposit = stored_lease::<T>(id).lease.escrow.deposit;
        #[extrinsic_call]
        _(tenant::<T>(id), id, HOUR);
        assert!(stored_lease::<T>(id).lease.escrow.deposit > deposit);
    }

    #[benchmark]
    fn top_up() {
        begin::<T>();
        let id = T::LeaseStore::create_rental(0);
        let deposit = stored_lease::<T>(id).lease.escrow.deposit;
        #[extrinsic_call]
        _(tenant::<T>(id), id, 1_000_000);
        assert_eq!(stored_lease::<T>(id).lease.escrow.deposit, deposit + 1_000_000);
    }

    #[benchmark]
    fn suspend() {
        begin::<T>();
        let id = T::LeaseStore::create_rental(0);
        #[extrinsic_call]
        _(tenant::<T>(id), id);
        assert_eq!(stored_lease::<T>(id).lease.state, LeaseState::Suspended);
    }

    #[benchmark]
    fn resume() {
        begin::<T>();
        let id = T::LeaseStore::create_rental(0);
        Pallet::<T>::do_suspend(stored_lease::<T>(id).tenant, id).expect("it is a rental");
        #[extrinsic_call]
        _(tenant::<T>(id), id);
        assert_eq!(stored_lease::<T>(id).lease.state, LeaseState::Active);
    }

    #[benchmark]
    fn reclaim() {
        begin::<T>();
        let id = T::LeaseStore::create_rental(0);
        #[extrinsic_call]
        _(provider::<T>(id), id);
        assert!(stored_lease::<T>(id).lease.reclaim_at.is_some());
    }

    #[benchmark]
    fn finish_reclaim() {
        begin::<T>();
        let id = reclaimed::<T>(0);
        advance::<T>(NOTICE);
        #[extrinsic_call]
        _(RawOrigin::Signed(anyone()), id);
        assert!(!is_live::<T>(id));
    }

    #[benchmark]
    fn settle() {
        begin::<T>();
        let id = T::LeaseStore::create_rental(0);
        advance::<T>(LATER);
        #[extrinsic_call]
        _(RawOrigin::Signed(anyone()), id);
        assert!(stored_lease::<T>(id).lease.escrow.paid > 0);
    }

    #[benchmark]
    fn close_depleted() {
        begin::<T>();
        let id = T::LeaseStore::create_rental(0);
        advance::<T>(LATER);
        #[extrinsic_call]
        _(RawOrigin::Signed(anyone()), id);
        assert!(stored_lease::<T>(id).lease.escrow.paid > 0, "there was a bounty");
    }

    #[benchmark]
    fn keep() {
        begin::<T>();
        let id = ended::<T>();
        let LeaseState::Retained(until) = stored_lease::<T>(id).lease.state else { panic!("it is retained") };
        #[extrinsic_call]
        _(tenant::<T>(id), id, HOUR, Balance::MAX);
        assert_eq!(stored_lease::<T>(id).lease.state, LeaseState::Retained(until + HOUR));
    }

    #[benchmark]
    fn release_data() {
        begin::<T>();
        let id = ended::<T>();
        Pallet::<T>::do_keep(stored_lease::<T>(id).tenant, id, HOUR, Balance::MAX).expect("it is retained");
        let LeaseState::Retained(until) = stored_lease::<T>(id).lease.state else { panic!("it is retained") };
        let now = until - HOUR / 2;
        advance::<T>(now - BEGIN);
        #[extrinsic_call]
        _(tenant::<T>(id), id);
        assert_eq!(stored_lease::<T>(id).lease.state, LeaseState::Retained(now));
        assert_eq!(stored_lease::<T>(id).lease.escrow.storage, None);
    }

    #[benchmark]
    fn crank(e: Linear<1, MAX_CRANK>) {
        begin::<T>();
        // Each in a bucket of its own, so that each is searched for after buckets that this call emptied.
        let each = |number| {
            advance::<T>(BUCKET_MS);
            reclaimed::<T>(number)
        };
        let leases: Vec<LeaseId> = (0..e).map(each).collect();
        advance::<T>(NOTICE + BUCKET_MS);
        #[extrinsic_call]
        _(RawOrigin::Signed(anyone()), e);
        assert!(!leases.into_iter().any(is_live::<T>));
    }

    #[benchmark]
    fn agenda_base() {
        begin::<T>();
        T::LeaseStore::create_rental(0);
        #[block]
        {
            Pallet::<T>::due_bucket(Pallet::<T>::now());
        }
    }

    #[benchmark]
    fn due_entry() {
        begin::<T>();
        let id = reclaimed::<T>(0);
        advance::<T>(NOTICE + BUCKET_MS);
        let now = BEGIN + NOTICE + BUCKET_MS;
        let bucket: Bucket = Pallet::<T>::due_bucket(now).expect("it is due");
        // A full page with the lease on top of it, after a bucket that is emptied.
        Pallet::<T>::agenda_take(bucket);
        AgendaEmptied::<T>::put((u64::from_be_bytes(bucket) - 1).to_be_bytes());
        for other in 1..u64::from(PAGE_ENTRIES) {
            Pallet::<T>::agenda_add(u64::from_be_bytes(bucket) * BUCKET_MS, LeaseId::MAX - other);
        }
        Pallet::<T>::agenda_add(u64::from_be_bytes(bucket) * BUCKET_MS, id);
        #[block]
        {
            let bucket = Pallet::<T>::due_bucket(now).expect("it is due");
            Pallet::<T>::process_next_entry(bucket, now);
        }
        assert!(!is_live::<T>(id));
    }

    #[benchmark]
    fn set_params() {
        let params = Params { retention_ms: 1, ..Params::default() };
        #[extrinsic_call]
        _(RawOrigin::Root, params.clone());
        assert_eq!(CurrentParams::<T>::get(), params);
    }

    impl_benchmark_test_suite!(Pallet, crate::mock::new_chain(), crate::mock::Test);
}
