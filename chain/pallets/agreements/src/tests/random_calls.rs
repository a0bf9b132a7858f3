//! Any calls in any order break nothing.

use std::collections::BTreeMap;

use sp_runtime::DispatchResult;

use crate::{mock::*, *};

const STEPS: u32 = 4_000;

fn some_terms(rng: &mut SplitMix64) -> OfferTerms {
    let now = Agreements::now();
    let start_from = now + rng.below(HOUR);
    OfferTerms {
        hosts: vec![account(rng.pick(&[HOST, HOST, OTHER_HOST, STRANGE_HOST]))].try_into().expect("one fits"),
        rate_per_hour: u128::from(rng.below(5)) * GTY,
        duration_ms: 2 * HOUR,
        start_from,
        start_until: start_from + HOUR,
        ..terms()
    }
}

fn some_place(rng: &mut SplitMix64) -> Option<Place> {
    (!rng.one_in(4)).then(|| Place { host: account(rng.pick(&[HOST, OTHER_HOST])), ..place() })
}

/// One of the records that are kept, as a rule; else one that is not.
fn one_of(rng: &mut SplitMix64, mut kept: Vec<u64>) -> u64 {
    kept.sort();
    if rng.one_in(10) {
        1_000_000
    } else {
        rng.pick_if_any(&kept).unwrap_or(0)
    }
}

/// Makes a call. Returns its name, and whether it was accepted.
fn step(rng: &mut SplitMix64) -> (&'static str, DispatchResult) {
    let who = rng.pick(&[TENANT, PROVIDER, TENANT, PROVIDER, ANYONE, AUDITOR]);
    let offer = one_of(rng, Offers::<Test>::iter_keys().collect());
    let ticket = one_of(rng, Tickets::<Test>::iter_keys().collect());
    let attestation = one_of(rng, Attestations::<Test>::iter_keys().collect());
    let until = Agreements::now() + rng.below(HOUR);
    match rng.below(17) {
        0 => ("propose", Agreements::propose(signed(who), account(PROVIDER), Box::new(some_terms(rng)), until)),
        1 => {
            let (terms, place) = (some_terms(rng), some_place(rng));
            ("counter", Agreements::counter(signed(who), offer, Box::new(terms), place, until))
        }
        2 | 3 => ("accept", Agreements::accept(signed(who), offer, some_place(rng))),
        4 => ("decline", Agreements::decline(signed(who), offer)),
        5 | 6 => {
            let rates = gantry_primitives::TaskSpec { max_rate_per_hour: 9 * GTY, ..spec() };
            ("begin", Agreements::begin(signed(TENANT), offer, Box::new(rates), manifest()))
        }
        7 => ("report_unavailable", Agreements::report_unavailable(signed(TENANT), offer)),
        8 => ("conclude", Agreements::conclude(signed(who), offer)),
        9 => ("open_ticket", Agreements::open_ticket(signed(who), rng.pick(&[LEASE, 78]), [1; 32])),
        10 => ("answer_ticket", Agreements::answer_ticket(signed(who), ticket, [2; 32])),
        11 => ("close_ticket", Agreements::close_ticket(signed(who), ticket)),
        12 => match rng.below(3) {
            0 => ("bond_auditor", Agreements::bond_auditor(signed(who))),
            1 => ("unbond_auditor", Agreements::unbond_auditor(signed(who))),
            _ => ("withdraw_auditor_bond", Agreements::withdraw_auditor_bond(signed(who))),
        },
        13 => {
            let subject = match rng.below(2) {
                0 => Subject::Host(account(HOST)),
                _ => Subject::Provider(account(PROVIDER)),
            };
            let attribute = Attribute::Region { region: bytes("eu"), max_latency_ms: 20 };
            ("attest", Agreements::attest(signed(who), subject, attribute, [1; 32], until))
        }
        14 => ("revoke", Agreements::revoke(signed(who), attestation)),
        15 => ("contest", Agreements::contest(signed(who), attestation, [1; 32])),
        _ => ("decide_contest", Agreements::decide_contest(RuntimeOrigin::root(), attestation, rng.one_in(2))),
    }
}

/// What happens besides calls: hosts fail and return, and leases end.
fn change_world(rng: &mut SplitMix64) {
    world(|state| {
        state.unable = if rng.one_in(3) { vec![account(HOST)] } else { Vec::new() };
        let live: Vec<_> = state.leases.keys().copied().collect();
        if let Some(lease) = rng.pick_if_any(&live) {
            let by = rng.pick(&[None, Some(Side::Tenant), Some(Side::Provider)]);
            state.leases.get_mut(&lease).expect("it is there").1 = LeaseStatus::Ended { at: Agreements::now(), by };
        }
    });
}

#[test]
fn random_calls_break_nothing() {
    run(|| {
        let mut rng = SplitMix64(7);
        let mut accepted: BTreeMap<&str, u32> = BTreeMap::new();
        for _ in 0..STEPS {
            // As on a chain: a refused call leaves no trace, in the test's world neither.
            let before = world(|state| state.reserved.clone());
            let (name, done) = frame_support::storage::with_storage_layer(|| {
                let (name, done) = step(&mut rng);
                done.map(|()| (name, true))
            })
            .unwrap_or(("", false));
            if done {
                *accepted.entry(name).or_default() += 1;
            } else {
                world(|state| state.reserved = before);
            }
            if rng.one_in(12) {
                change_world(&mut rng);
                wait_past(rng.below(HOUR / 2));
            }
            assert_eq!(Agreements::do_try_state(), Ok(()));
            System::reset_events();
        }
        // Every call but set_params was accepted at least once.
        assert_eq!(accepted.len(), 17, "{accepted:?}");
    });
}
