//! `Coins` does to balances what the balances pallet does, whatever is done in whatever order.

mod common;
#[allow(dead_code, reason = "the pallets' tests use the rest")]
#[path = "../../mock/src/rng.rs"]
mod rng;

use common::started;
use frame_support::traits::{
    fungible::{Balanced, InspectHold, Mutate, MutateHold, Unbalanced, UnbalancedHold},
    tokens::{Fortitude, Precision, Preservation, Provenance, Restriction},
    LockableCurrency, WithdrawReasons,
};
use gantry_runtime::{
    coins::Coins, genesis, AccountId, Balance, Balances, RuntimeHoldReason, System, EXISTENTIAL_DEPOSIT, GTY,
};
use rng::SplitMix64;
use sp_keyring::Sr25519Keyring;
use sp_runtime::StateVersion;

const STEPS: usize = 400;
const SEEDS: u64 = 24;
const REASONS: [RuntimeHoldReason; 2] = [
    RuntimeHoldReason::Billing(pallet_gantry_billing::HoldReason::Escrow),
    RuntimeHoldReason::Hosts(pallet_gantry_hosts::HoldReason::Bond),
];

/// What both have in common.
trait Fungible:
    Balanced<AccountId, Balance = Balance>
    + Unbalanced<AccountId, Balance = Balance>
    + UnbalancedHold<AccountId, Reason = RuntimeHoldReason, Balance = Balance>
    + InspectHold<AccountId, Reason = RuntimeHoldReason, Balance = Balance>
    + MutateHold<AccountId, Reason = RuntimeHoldReason, Balance = Balance>
{
}
impl Fungible for Coins {}
impl Fungible for Balances {}

fn accounts() -> [AccountId; 4] {
    let [alice, ferdie] = [Sr25519Keyring::Alice, Sr25519Keyring::Ferdie].map(|key| key.to_account_id());
    [alice, ferdie, AccountId::new([7; 32]), AccountId::new([8; 32])]
}

/// Amounts about the limits that matter, and any others.
fn amount(rng: &mut SplitMix64) -> Balance {
    let near = rng.pick(&[0, 1, EXISTENTIAL_DEPOSIT - 1, EXISTENTIAL_DEPOSIT, EXISTENTIAL_DEPOSIT + 1, GTY, 100 * GTY]);
    match rng.below(12) {
        0 => Balance::MAX - near,
        1 => Balance::from(rng.next_u64()) * GTY,
        2..=4 => Balance::from(rng.next_u64()) % (3 * GTY),
        _ => near,
    }
}

/// Does something to some account, and tells what came of it.
fn step<L: Fungible>(rng: &mut SplitMix64) -> String {
    let who = rng.pick(&accounts());
    let other = rng.pick(&accounts());
    let reason = rng.pick(&REASONS);
    let precision = rng.pick(&[Precision::Exact, Precision::BestEffort]);
    let preservation = rng.pick(&[Preservation::Preserve, Preservation::Protect, Preservation::Expendable]);
    let force = rng.pick(&[Fortitude::Polite, Fortitude::Force]);
    let mut amount = amount(rng);
    // What is there, or nearly: else hardly anything of an account could ever be taken.
    if rng.one_in(3) {
        let present = if rng.one_in(2) { L::balance(&who) } else { L::balance_on_hold(&reason, &who) };
        amount = present.saturating_sub(amount % (2 * EXISTENTIAL_DEPOSIT));
    }
    match rng.below(16) {
        0 | 1 => format!("credit {:?}", L::increase_balance(&who, amount, precision)),
        2 | 3 => format!("debit {:?}", L::decrease_balance(&who, amount, precision, preservation, force)),
        4 => format!("can debit {:?}", L::can_withdraw(&who, amount)),
        5 => format!("can credit {:?}", L::can_deposit(&who, amount, Provenance::Extant)),
        6 => format!("withdraw {:?}", L::withdraw(&who, amount, precision, preservation, force).map(drop)),
        7 => {
            let kept = L::withdraw(&who, amount, precision, preservation, force);
            format!("move {:?}", kept.map(|credit| L::resolve(&other, credit).map_err(drop)))
        }
        8 | 9 => format!("hold {:?}", L::hold(&reason, &who, amount)),
        10 => format!("release {:?}", L::release(&reason, &who, amount, precision)),
        11 => format!("set on hold {:?}", L::set_balance_on_hold(&reason, &who, amount)),
        12 => format!("burn held {:?}", L::burn_held(&reason, &who, amount, precision, force)),
        13 => {
            let mode = rng.pick(&[Restriction::Free, Restriction::OnHold]);
            format!("transfer held {:?}", L::transfer_on_hold(&reason, &who, &other, amount, precision, mode, force))
        }
        14 if System::providers(&who) > 0 => {
            let at_most = L::balance(&who).saturating_add(GTY);
            Balances::set_lock(*b"a lock  ", &who, amount % at_most, WithdrawReasons::all());
            "lock".into()
        }
        _ => match rng.below(6) {
            0 => format!("provide {:?}", System::inc_providers(&who)),
            1 => format!("provide less {:?}", System::dec_providers(&who)),
            2 => format!("use {:?}", System::inc_consumers(&who)),
            3 if System::consumers(&who) > 0 => {
                System::dec_consumers(&who);
                "use less".into()
            }
            3 | 4 => format!("mint {:?}", Balances::mint_into(&who, amount % (1_000 * GTY))),
            _ => {
                Balances::remove_lock(*b"a lock  ", &who);
                "unlock".into()
            }
        },
    }
}

/// What came of each step, with the state and the number of events after it.
fn history<L: Fungible>(seed: u64) -> Vec<(String, Vec<u8>, u32)> {
    started(genesis::DEVELOPMENT).execute_with(|| {
        let mut rng = SplitMix64(seed);
        let mut next = || {
            // What accounts are credited with here was never issued.
            <Balances as Unbalanced<_>>::set_total_issuance(Balance::MAX);
            (step::<L>(&mut rng), sp_io::storage::root(StateVersion::V1), System::event_count())
        };
        (0..STEPS).map(|_| next()).collect()
    })
}

#[test]
fn coins_and_the_balances_pallet_come_to_the_same_state() {
    for seed in 0..SEEDS {
        let (ours, theirs) = (history::<Coins>(seed), history::<Balances>(seed));
        let apart = (0..STEPS).find(|step| ours[*step] != theirs[*step]);
        assert!(
            apart.is_none(),
            "seed {seed} step {apart:?}: {:?}, and the pallet: {:?}",
            &ours[apart.unwrap_or(0)].0,
            &theirs[apart.unwrap_or(0)].0
        );
        let done = ours.iter().filter(|(told, ..)| told.contains("Ok(")).count();
        assert!(done > STEPS / 5, "seed {seed}: only {done} steps did something");
    }
}
