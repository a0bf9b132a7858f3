//! Transaction fees by the load of the chain, and their receivers.

mod common;

use codec::Encode;
use common::{next_block, signed_with, started, Terms};
use frame_support::{
    assert_ok,
    dispatch::{DispatchClass, GetDispatchInfo},
    weights::Weight,
};
use gantry_runtime::{
    fees::PaidLoad, genesis, Authorship, Balance, Balances, Billing, Executive, Hosts, Runtime, RuntimeCall, System,
    TransactionPayment, GTY,
};
use pallet_gantry_hosts::FreeCall;
use pallet_transaction_payment::Multiplier;
use sp_keyring::Sr25519Keyring;
use sp_runtime::{traits::Convert, FixedPointNumber};

const ONE: Multiplier = Multiplier::from_u32(1);
const HUNDRED: Multiplier = Multiplier::from_u32(100);

fn limit() -> Weight {
    let weights = <Runtime as frame_system::Config>::BlockWeights::get();
    weights.get(DispatchClass::Normal).max_total.expect("normal calls are limited")
}

/// Closes so many blocks, with calls of this class in each that weigh this percentage of the room for normal ones, and
/// returns the multiplier of the next.
fn blocks_of(count: u32, class: DispatchClass, percent: u64) -> Multiplier {
    for _ in 0..count {
        let weight = Weight::from_parts(limit().ref_time() / 100 * percent, 0);
        System::register_extra_weight_unchecked(weight, class);
        next_block();
    }
    TransactionPayment::next_fee_multiplier()
}

/// The multiplier after so many blocks with calls that weigh this percentage of the room for normal ones.
fn after(from: Multiplier, count: u32, percent: u64) -> Multiplier {
    System::set_block_consumed_resources(Weight::from_parts(limit().ref_time() / 100 * percent, 0), 0);
    (0..count).fold(from, |multiplier, _| PaidLoad::convert(multiplier))
}

/// A remark of Ferdie, as an extrinsic of this nonce, and what it costs.
fn remark(terms: Terms) -> (gantry_runtime::UncheckedExtrinsic, Balance) {
    let ferdie = Sr25519Keyring::Ferdie;
    let call = RuntimeCall::System(frame_system::Call::remark { remark: vec![1; 100] });
    let extrinsic = signed_with(ferdie.to_account_id(), |payload| ferdie.sign(payload).into(), terms, call);
    let fee = TransactionPayment::compute_fee(extrinsic.encoded_size() as u32, &extrinsic.get_dispatch_info(), 0);
    (extrinsic, fee)
}

#[test]
fn a_chain_with_room_costs_what_the_calls_weigh() {
    started(genesis::DEVELOPMENT).execute_with(|| {
        assert_eq!(TransactionPayment::next_fee_multiplier(), ONE, "genesis");
        assert_eq!(blocks_of(5, DispatchClass::Normal, 0), ONE);
        assert_eq!(blocks_of(5, DispatchClass::Normal, 24), ONE);
        assert!(blocks_of(1, DispatchClass::Normal, 26) > ONE);
    });
}

#[test]
fn fees_double_in_ten_minutes_of_full_blocks_and_halve_in_half_an_hour_of_empty_ones() {
    started(genesis::DEVELOPMENT).execute_with(|| {
        let doubled = after(ONE, 310, 100);
        assert!(doubled >= ONE + ONE && doubled < Multiplier::saturating_from_rational(21, 10));
        assert!(after(doubled, 925, 0) <= doubled / (ONE + ONE));
        assert_eq!(after(doubled, 1_025, 0), ONE, "and never fall below one");
    });
}

#[test]
fn fees_rise_among_several_validators_whose_blocks_are_half_full() {
    started(genesis::DEVELOPMENT).execute_with(|| assert!(after(ONE, 1_200, 45) > ONE + ONE));
}

#[test]
fn fees_stop_at_a_hundred_times_what_calls_weigh() {
    started(genesis::DEVELOPMENT).execute_with(|| {
        assert_eq!(after(HUNDRED, 2, 100), HUNDRED);
        let (_, before) = remark(Terms::default());
        pallet_transaction_payment::NextFeeMultiplier::<Runtime>::put(HUNDRED);
        let (_, after) = remark(Terms::default());
        assert!(before < after && after < before * 100, "bytes and the base fee keep their price");
    });
}

#[test]
fn operational_calls_and_hooks_do_not_raise_fees() {
    started(genesis::DEVELOPMENT).execute_with(|| {
        assert_eq!(blocks_of(3, DispatchClass::Operational, 100), ONE);
        assert_eq!(blocks_of(3, DispatchClass::Mandatory, 100), ONE);
    });
}

#[test]
fn free_calls_do_not_raise_the_fees_of_others() {
    started(genesis::DEVELOPMENT).execute_with(|| {
        let free = limit().ref_time() / 100 * 40;
        let whole = limit().ref_time();
        let who = Sr25519Keyring::Eve.to_account_id();
        assert_ok!(Hosts::use_free_call(&who, FreeCall::Allowance(None), free, whole));
        assert_eq!(blocks_of(1, DispatchClass::Normal, 40 + 20), ONE, "20 % pay");
        assert_ok!(Hosts::use_free_call(&who, FreeCall::Allowance(None), free, whole));
        let risen = blocks_of(1, DispatchClass::Normal, 40 + 30);
        assert!(risen > ONE, "30 % pay");
        assert!(
            blocks_of(1, DispatchClass::Normal, 30) > risen,
            "what was free in another block says nothing of this one"
        );
    });
}

/// Runs two transactions with this tip in a block, and returns the fees of both together, and what treasury and author have
/// got when the block is closed.
fn shares(tip: Balance) -> (Balance, Balance, Balance) {
    let treasury = Billing::treasury();
    let author = Authorship::author().expect("each block has an author");
    let sender = Sr25519Keyring::Ferdie.to_account_id();
    assert_ne!(author, sender);
    let read = || [&treasury, &author, &sender].map(Balances::free_balance);
    let [treasury_before, author_before, sender_before] = read();
    for _ in 0..2 {
        let nonce = System::account_nonce(&sender);
        assert_ok!(Executive::apply_extrinsic(remark(Terms { tip, nonce, ..Default::default() }).0).expect("valid"));
    }
    next_block();
    let [treasury_after, author_after, sender_after] = read();
    (sender_before - sender_after, treasury_after - treasury_before, author_after - author_before)
}

#[test]
fn treasury_and_author_are_paid_once_in_a_block_a_fifth_of_the_fees_and_the_rest_with_the_tips() {
    started(genesis::DEVELOPMENT).execute_with(|| {
        let issuance = Balances::total_issuance();
        let (fee, to_treasury, to_author) = shares(0);
        assert_eq!((to_treasury, to_author), (fee / 5, fee - fee / 5));
        assert!(fee > 0);
        let tip = 3 * GTY;
        let (paid, to_treasury, to_author) = shares(tip);
        assert_eq!((to_treasury, to_author), ((paid - 2 * tip) / 5, paid - (paid - 2 * tip) / 5));
        assert!(paid > 2 * tip);
        assert_eq!(Balances::total_issuance(), issuance, "no coin is made or lost");
    });
}
