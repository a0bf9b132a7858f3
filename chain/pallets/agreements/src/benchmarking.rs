//! Benchmarks. The runtime creates the hosts, tasks and leases.

use alloc::{boxed::Box, vec, vec::Vec};
use frame_benchmarking::v2::*;
use frame_support::{
    assert_ok,
    traits::{fungible::Unbalanced, tokens::Precision},
};
use frame_system::RawOrigin;
use gantry_primitives::{AccountId, Balance, Bytes, Moment};

use crate::{Pallet as Agreements, *};

const COINS: Balance = 1_000_000_000_000_000_000;
const HOUR: u64 = 3_600_000;

fn rich<T: Config>(name: &'static str) -> AccountId {
    let who = account(name, 0, 0);
    assert_ok!(T::Currency::increase_balance(&who, COINS, Precision::Exact));
    who
}

fn signed(who: &AccountId) -> RawOrigin<AccountId> {
    RawOrigin::Signed(who.clone())
}

/// Terms whose time for the begin is the next hours.
fn terms_from(terms: OfferTerms, now: Moment) -> OfferTerms {
    OfferTerms { start_from: now, start_until: now + 4 * HOUR, ..terms }
}

/// An open offer, with its parties, its place and its terms.
fn create_offer<T: Config>() -> (OfferId, AccountId, AccountId, Place, OfferTerms) {
    let (tenant, provider) = (rich::<T>("tenant"), rich::<T>("provider"));
    let (place, terms) = T::Network::create_place(&provider);
    let now = Agreements::<T>::now();
    let terms = terms_from(terms, now);
    assert_ok!(Agreements::<T>::do_propose(tenant.clone(), provider.clone(), terms.clone(), now + HOUR));
    (NextOfferId::<T>::get() - 1, tenant, provider, place, terms)
}

/// An offer that is accepted.
fn create_agreement<T: Config>() -> (OfferId, AccountId, OfferTerms) {
    let (offer, tenant, provider, place, terms) = create_offer::<T>();
    assert_ok!(Agreements::<T>::do_accept(provider, offer, Some(place)));
    (offer, tenant, terms)
}

/// An agreement whose lease began.
fn create_begun_agreement<T: Config>() -> (OfferId, AccountId) {
    let (offer, tenant, terms) = create_agreement::<T>();
    let (spec, manifest) = T::Network::create_task(&terms);
    assert_ok!(Agreements::<T>::do_begin(tenant.clone(), offer, spec, manifest));
    (offer, tenant)
}

/// A ticket, its tenant and its provider.
fn create_ticket<T: Config>() -> (TicketId, AccountId, AccountId) {
    let tenant = rich::<T>("tenant");
    let (lease, provider) = T::Network::create_lease(&tenant);
    for _ in 0..MAX_TICKETS_PER_LEASE {
        assert_ok!(Agreements::<T>::do_open_ticket(tenant.clone(), lease, [1; 32]));
    }
    (0, tenant, provider)
}

fn attribute() -> Attribute {
    Attribute::Certificate(Bytes::truncate_from(vec![b'x'; 64]))
}

/// As many attestations about a provider as are kept; the first auditor has the first of them.
fn attestations<T: Config>(count: u32) -> (AccountId, Subject) {
    let subject = Subject::Provider(account("audited", 0, 0));
    let expires_at = Agreements::<T>::now() + HOUR;
    for number in 0..count {
        let auditor: AccountId = account("auditor", number / MAX_ATTESTATIONS_OF_AUDITOR, 0);
        if number % MAX_ATTESTATIONS_OF_AUDITOR == 0 {
            assert_ok!(T::Currency::increase_balance(&auditor, COINS, Precision::Exact));
            assert_ok!(Agreements::<T>::do_bond_auditor(auditor.clone()));
        }
        let (about, what) = (subject.clone(), attribute());
        assert_ok!(Agreements::<T>::do_attest(auditor, about, what, [1; 32], expires_at));
    }
    (account("auditor", 0, 0), subject)
}

/// Every kept attestation about a provider; the first is contested.
fn create_contest<T: Config>() {
    attestations::<T>(MAX_ATTESTATIONS);
    let who = rich::<T>("contester");
    assert_ok!(Agreements::<T>::do_contest(who, 0, [2; 32]));
}

#[benchmarks]
mod calls {
    use super::*;

    #[benchmark]
    fn propose() {
        let (tenant, provider) = (rich::<T>("tenant"), rich::<T>("provider"));
        let now = Agreements::<T>::now();
        let terms = Box::new(terms_from(T::Network::create_place(&provider).1, now));
        #[extrinsic_call]
        _(signed(&tenant), provider, terms, now + HOUR);
    }

    #[benchmark]
    fn counter() {
        let (offer, _, provider, place, terms) = create_offer::<T>();
        let until = Agreements::<T>::now() + HOUR;
        #[extrinsic_call]
        _(signed(&provider), offer, Box::new(terms), Some(place), until);
    }

    #[benchmark]
    fn accept() {
        let (offer, _, provider, place, _) = create_offer::<T>();
        #[extrinsic_call]
        _(signed(&provider), offer, Some(place));
    }

    #[benchmark]
    fn decline() {
        let (offer, tenant, ..) = create_offer::<T>();
        #[extrinsic_call]
        _(signed(&tenant), offer);
    }

    #[benchmark]
    fn begin() {
        let (offer, tenant, terms) = create_agreement::<T>();
        let (spec, manifest) = T::Network::create_task(&terms);
        #[extrinsic_call]
        _(signed(&tenant), offer, Box::new(spec), manifest);
    }

    #[benchmark]
    fn report_unavailable() {
        let (offer, tenant, terms) = create_agreement::<T>();
        // Without a heartbeat the host is silent by then.
        T::Network::set_time(terms.start_until);
        #[block]
        {
            // Refused where the host still counts as online; what it reads is the same.
            let _ = Agreements::<T>::do_report_unavailable(tenant, offer);
        }
    }

    #[benchmark]
    fn conclude() {
        let (offer, tenant) = create_begun_agreement::<T>();
        T::Network::set_time(Agreements::<T>::now() + MAX_PERIOD_MS);
        #[extrinsic_call]
        _(signed(&tenant), offer);
    }

    #[benchmark]
    fn open_ticket() {
        let tenant = rich::<T>("tenant");
        let (lease, _) = T::Network::create_lease(&tenant);
        for _ in 1..MAX_TICKETS_PER_LEASE {
            assert_ok!(Agreements::<T>::do_open_ticket(tenant.clone(), lease, [1; 32]));
        }
        #[extrinsic_call]
        _(signed(&tenant), lease, [1; 32]);
    }

    #[benchmark]
    fn answer_ticket() {
        let (ticket, _, provider) = create_ticket::<T>();
        #[extrinsic_call]
        _(signed(&provider), ticket, [2; 32]);
    }

    #[benchmark]
    fn close_ticket() {
        let (ticket, _, provider) = create_ticket::<T>();
        #[extrinsic_call]
        _(signed(&provider), ticket);
    }

    #[benchmark]
    fn bond_auditor() {
        let who = rich::<T>("auditor");
        #[extrinsic_call]
        _(signed(&who));
    }

    #[benchmark]
    fn unbond_auditor() {
        let (auditor, _) = attestations::<T>(1);
        #[extrinsic_call]
        _(signed(&auditor));
    }

    #[benchmark]
    fn withdraw_auditor_bond() {
        let who = rich::<T>("auditor");
        assert_ok!(Agreements::<T>::do_bond_auditor(who.clone()));
        assert_ok!(Agreements::<T>::do_unbond_auditor(who.clone()));
        T::Network::set_time(Agreements::<T>::now() + MAX_PERIOD_MS + 1);
        #[extrinsic_call]
        _(signed(&who));
    }

    #[benchmark]
    fn attest() {
        let (_, subject) = attestations::<T>(MAX_ATTESTATIONS - 1);
        let auditor = account("auditor", (MAX_ATTESTATIONS - 1) / MAX_ATTESTATIONS_OF_AUDITOR, 0);
        let expires_at = Agreements::<T>::now() + HOUR;
        #[extrinsic_call]
        _(signed(&auditor), subject, attribute(), [1; 32], expires_at);
    }

    #[benchmark]
    fn revoke() {
        let (auditor, _) = attestations::<T>(MAX_ATTESTATIONS);
        #[extrinsic_call]
        _(signed(&auditor), 0);
    }

    #[benchmark]
    fn contest() {
        attestations::<T>(MAX_ATTESTATIONS);
        let who = rich::<T>("contester");
        #[extrinsic_call]
        _(signed(&who), 0, [2; 32]);
    }

    #[benchmark]
    fn decide_contest() {
        create_contest::<T>();
        #[extrinsic_call]
        _(RawOrigin::Root, 0, true);
    }

    #[benchmark]
    fn set_params() {
        #[extrinsic_call]
        _(RawOrigin::Root, Params::default());
    }

    /// A block in which nothing is due.
    #[benchmark]
    fn agenda_base() {
        create_contest::<T>();
        let one = T::WeightInfo::agenda_base();
        #[block]
        {
            Agreements::<T>::run_agenda(one);
        }
    }

    /// The heaviest entry of the agenda: an agreement that nobody began.
    #[benchmark]
    fn due_entry() {
        let (offer, _, terms) = create_agreement::<T>();
        T::Network::set_time(terms.start_until + BUCKET_MS);
        let keys: Vec<AgendaKey> = Agenda::<T>::iter_keys().collect();
        #[block]
        {
            keys.into_iter().for_each(Agreements::<T>::process_entry);
        }
        assert!(!Offers::<T>::contains_key(offer));
    }

    impl_benchmark_test_suite!(Agreements, crate::mock::new_chain(Params::default()), crate::mock::Test);
}
