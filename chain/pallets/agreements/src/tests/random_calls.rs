//! Any calls in any order break nothing.

use std::collections::BTreeMap;

use sp_runtime::DispatchResult;

use crate::{mock::*, *};

const STEPS: u32 = 4_000;

fn some_terms(dice: &mut Dice) -> OfferTerms {
    let now = Agreements::now();
    let start_from = now + dice.below(HOUR);
    OfferTerms {
        hosts: vec![account(dice.pick(&[HOST, HOST, OTHER_HOST, STRANGE_HOST]))].try_into().expect("one fits"),
        rate_per_hour: u128::from(dice.below(5)) * GTY,
        duration_ms: 2 * HOUR,
        start_from,
        start_until: start_from + HOUR,
        ..terms()
    }
}

fn some_place(dice: &mut Dice) -> Option<Place> {
    (!dice.one_in(4)).then(|| Place { host: account(dice.pick(&[HOST, OTHER_HOST])), ..place() })
}

/// One of the records that are kept, as a rule; else one that is not.
fn one_of(dice: &mut Dice, mut kept: Vec<u64>) -> u64 {
    kept.sort();
    if dice.one_in(10) {
        1_000_000
    } else {
        dice.pick_if_any(&kept).unwrap_or(0)
    }
}

/// Makes a call. Returns its name, and whether it was accepted.
fn step(dice: &mut Dice) -> (&'static str, DispatchResult) {
    let who = dice.pick(&[TENANT, PROVIDER, TENANT, PROVIDER, ANYONE, AUDITOR]);
    let offer = one_of(dice, Offers::<Test>::iter_keys().collect());
    let ticket = one_of(dice, Tickets::<Test>::iter_keys().collect());
    let attestation = one_of(dice, Attestations::<Test>::iter_keys().collect());
    let until = Agreements::now() + dice.below(HOUR);
    match dice.below(17) {
        0 => ("propose", Agreements::propose(signed(who), account(PROVIDER), Box::new(some_terms(dice)), until)),
        1 => {
            let (terms, place) = (some_terms(dice), some_place(dice));
            ("counter", Agreements::counter(signed(who), offer, Box::new(terms), place, until))
        }
        2 | 3 => ("accept", Agreements::accept(signed(who), offer, some_place(dice))),
        4 => ("decline", Agreements::decline(signed(who), offer)),
        5 | 6 => {
            let rates = gantry_primitives::TaskSpec { max_rate_per_hour: 9 * GTY, ..spec() };
            ("begin", Agreements::begin(signed(TENANT), offer, Box::new(rates), manifest()))
        }
        7 => ("report_unavailable", Agreements::report_unavailable(signed(TENANT), offer)),
        8 => ("conclude", Agreements::conclude(signed(who), offer)),
        9 => ("open_ticket", Agreements::open_ticket(signed(who), dice.pick(&[LEASE, 78]), [1; 32])),
        10 => ("answer_ticket", Agreements::answer_ticket(signed(who), ticket, [2; 32])),
        11 => ("close_ticket", Agreements::close_ticket(signed(who), ticket)),
        12 => match dice.below(3) {
            0 => ("bond_auditor", Agreements::bond_auditor(signed(who))),
            1 => ("unbond_auditor", Agreements::unbond_auditor(signed(who))),
            _ => ("withdraw_auditor_bond", Agreements::withdraw_auditor_bond(signed(who))),
        },
        13 => {
            let subject = match dice.below(2) {
                0 => Subject::Host(account(HOST)),
                _ => Subject::Provider(account(PROVIDER)),
            };
            let attribute = Attribute::Region { region: bytes("eu"), max_latency_ms: 20 };
            ("attest", Agreements::attest(signed(who), subject, attribute, [1; 32], until))
        }
        14 => ("revoke", Agreements::revoke(signed(who), attestation)),
        15 => ("contest", Agreements::contest(signed(who), attestation, [1; 32])),
        _ => ("decide_contest", Agreements::decide_contest(RuntimeOrigin::root(), attestation, dice.one_in(2))),
    }
}

/// What happens besides calls: hosts fail and return, and leases end.
fn change_world(dice: &mut Dice) {
    world(|state| {
        state.unable = if dice.one_in(3) { vec![account(HOST)] } else { Vec::new() };
        let live: Vec<_> = state.leases.keys().copied().collect();
        if let Some(lease) = dice.pick_if_any(&live) {
            let by = dice.pick(&[None, Some(Side::Tenant), Some(Side::Provider)]);
            state.leases.get_mut(&lease).expect("it is there").1 = Standing::Ended { at: Agreements::now(), by };
        }
    });
}

#[test]
fn random_calls_break_nothing() {
    run(|| {
        let mut dice = Dice(7);
        let mut accepted: BTreeMap<&str, u32> = BTreeMap::new();
        for _ in 0..STEPS {
            // As on a chain: a refused call leaves no trace, in the test's world neither.
            let before = world(|state| state.reserved.clone());
            let (name, done) = frame_support::storage::with_storage_layer(|| {
                let (name, done) = step(&mut dice);
                done.map(|()| (name, true))
            })
            .unwrap_or(("", false));
            if done {
                *accepted.entry(name).or_default() += 1;
            } else {
                world(|state| state.reserved = before);
            }
            if dice.one_in(12) {
                change_world(&mut dice);
                wait_past(dice.below(HOUR / 2));
            }
            assert_eq!(Agreements::do_try_state(), Ok(()));
            System::reset_events();
        }
        // Every call but set_params was accepted at least once.
        assert_eq!(accepted.len(), 17, "{accepted:?}");
    });
}
