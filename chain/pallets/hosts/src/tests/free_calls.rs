use frame_support::{assert_noop, assert_ok, dispatch::DispatchResult};
use gantry_primitives::{AccountId, Balance, HostStatus};

use super::is_free;
use crate::{mock::*, Call, Error, FreeCall, FreeWeightUsed, Hosts as HostsOf};

/// The `ref_time` of a microsecond.
const US: u64 = 1_000_000;
const FEE: Balance = GTY / 100;
const SHARE: u64 = 100_000 * US;

fn use_call(ref_time: u64) -> Option<FreeCall> {
    let call = Hosts::free_call(&host(HOST), ref_time, FEE);
    if let Some(call) = call {
        assert_ok!(Hosts::use_free_call(&host(HOST), call, ref_time, SHARE));
    }
    call
}

fn is_allowed(call: Option<FreeCall>) -> bool {
    matches!(call, Some(FreeCall::Allowance(Some(_))))
}

/// A free call within the allowance, in a block of which free calls may use 4 µs.
fn use_of_block(who: &AccountId, ref_time: u64) -> DispatchResult {
    let call = Hosts::free_call(who, ref_time, FEE).expect("within the allowance");
    Hosts::use_free_call(who, call, ref_time, 4 * US)
}

#[test]
fn beyond_its_allowance_of_a_period_a_host_pays_from_its_bond() {
    on_chain(|| {
        online();
        let allowance = Hosts::allowance(&record());
        // `free_weight_us` for each 2 GTY, `bond_consumer`.
        assert_eq!(u128::from(allowance), record().bond * 1_000 * u128::from(US) / (2 * GTY));
        let (bond, treasury) = (record().bond, Balances::free_balance(account(TREASURY)));
        assert!(is_allowed(use_call(allowance - US)));
        assert_eq!(Hosts::used_weight(&host(HOST)), allowance - US);
        assert!(is_allowed(use_call(US)));
        assert_eq!(record().bond, bond);
        assert_eq!(use_call(1), Some(FreeCall::Bond(FEE)));
        assert_eq!((record().bond, Balances::free_balance(account(TREASURY))), (bond - FEE, treasury + FEE));
        advance(HEARTBEAT_PERIOD);
        assert_eq!(Hosts::used_weight(&host(HOST)), 0, "another period has begun");
        assert!(is_allowed(use_call(1)));
    });
}

#[test]
fn a_host_without_bond_reports_within_a_quarter_and_no_more() {
    on_chain(|| {
        online();
        let whole = Hosts::allowance(&record());
        let mut slashed = record();
        let taken = slashed.bond;
        assert_eq!(Hosts::charge_bond(&host(HOST), &mut slashed, taken, &account(TREASURY)), taken);
        Hosts::store(&host(HOST), &slashed);
        assert_eq!((record().bond, Hosts::allowance(&record())), (0, whole / 4));
        assert!(is_allowed(Hosts::free_call(&host(HOST), whole / 4, FEE)));
        assert_eq!(Hosts::free_call(&host(HOST), whole / 4 + 1, FEE), None);
    });
}

#[test]
fn free_calls_share_a_part_of_each_block() {
    on_chain(|| {
        online();
        let who = host(HOST);
        assert_ok!(use_of_block(&who, 3 * US));
        assert_noop!(use_of_block(&who, 2 * US), Error::<Test>::NoRoomForFreeCalls);
        assert_ok!(use_of_block(&account(PROVIDER), US));
        assert_noop!(use_of_block(&account(PROVIDER), 1), Error::<Test>::NoRoomForFreeCalls);
        assert_ok!(Hosts::use_free_call(&who, FreeCall::Bond(FEE), 2 * US, 4 * US));
        System::set_block_number(System::block_number() + 1);
        assert_ok!(use_of_block(&who, 4 * US));
        assert_eq!(Hosts::used_weight(&who), 7 * US);
        assert!(!FreeWeightUsed::<Test>::contains_key(account(PROVIDER)), "only hosts have an allowance");
    });
}

#[test]
fn weight_that_a_free_call_did_not_use_is_given_back() {
    on_chain(|| {
        online();
        let who = host(HOST);
        assert_ok!(use_of_block(&who, 4 * US));
        assert_noop!(use_of_block(&who, 1), Error::<Test>::NoRoomForFreeCalls);
        Hosts::refund_free_weight(&who, 3 * US);
        assert_eq!(Hosts::used_weight(&who), US);
        assert_ok!(use_of_block(&who, 3 * US));
    });
}

#[test]
fn a_provider_sends_the_heartbeats_of_all_its_hosts_at_once() {
    on_chain(|| {
        let mut hosts = vec![host(HOST), host(11)];
        hosts.sort();
        let batch = |hosts: &[gantry_primitives::HostId]| hosts.to_vec().try_into().expect("few");
        let free = |who, hosts: &[_]| is_free(Call::heartbeat_batch { hosts: batch(hosts) }, signed(who));
        for number in [HOST, 11] {
            assert_ok!(register(PROVIDER, number, hardware(1)));
        }
        assert!(free(PROVIDER, &hosts) && !free(ANYONE, &hosts) && !free(PROVIDER, &[]));
        assert_noop!(Hosts::heartbeat_batch(signed(ANYONE), batch(&hosts)), Error::<Test>::NotProviderOfAll);
        let turned = [hosts[1].clone(), hosts[0].clone()];
        assert!(!free(PROVIDER, &turned));
        assert_noop!(Hosts::heartbeat_batch(signed(PROVIDER), batch(&turned)), Error::<Test>::HostsNotSorted);
        let twice = [hosts[0].clone(), hosts[0].clone()];
        assert_noop!(Hosts::heartbeat_batch(signed(PROVIDER), batch(&twice)), Error::<Test>::HostsNotSorted);
        assert_ok!(Hosts::heartbeat_batch(signed(PROVIDER), batch(&hosts)));
        for one in &hosts {
            let record = HostsOf::<Test>::get(one).expect("it is registered");
            assert_eq!((record.status, record.last_heartbeat), (HostStatus::Online, START));
        }
        assert!(!free(PROVIDER, &hosts));
        advance(HEARTBEAT_PERIOD / 2);
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert!(!free(PROVIDER, &hosts), "one of them is not due");
        assert!(free(PROVIDER, &[host(11)]));
    });
}
