//! Random calls by random accounts. After each call every invariant holds and the sum of coins is unchanged; a call
//! that is free of charge succeeds; and every call succeeds at least once.

use std::collections::BTreeMap;

use frame_support::{
    assert_ok,
    dispatch::CheckIfFeeless,
    traits::{GetCallName, UnfilteredDispatchable},
};
use gantry_primitives::{Balance, Fault, HardwareSpec, HostId, HostRecord, HostStatus, Placement, SuspendReason, Tier};

use crate::{mock::*, Call, Params};

/// Runs that are made in any case.
const RUNS_AT_LEAST: u64 = 16;
/// So many runs are made at most for every call to succeed once.
const RUNS_AT_MOST: u64 = 60;
const STEPS: u8 = 250;
/// How many hosts are about at a time. Now and then one is forgotten and a new one comes, as keys are used once.
const HOSTS: u8 = 4;

fn any_host(rng: &mut SplitMix64, step: u8) -> u8 {
    10 + step / 50 + rng.below(HOSTS.into()) as u8
}

fn any_hardware(rng: &mut SplitMix64) -> HardwareSpec {
    let tier = rng.pick(&[Tier::Consumer, Tier::Professional]);
    HardwareSpec { tier, ..hardware(rng.below(4) as usize) }
}

/// A host that drains: there are too few to come upon one by chance.
fn draining() -> Option<HostId> {
    let drains = |(host, record): (HostId, HostRecord)| (record.status == HostStatus::Draining).then_some(host);
    crate::Hosts::<Test>::iter().find_map(drains)
}

fn random_call(rng: &mut SplitMix64, step: u8, name: &str) -> (Call<Test>, RuntimeOrigin) {
    let number = any_host(rng, step);
    let owner = rng.pick(&[PROVIDER, PROVIDER, SMALL_PROVIDER]);
    let who = if rng.one_in(10) { ANYONE } else { owner };
    let root = if rng.one_in(10) { signed(ANYONE) } else { RuntimeOrigin::root() };
    let host = host(number);
    match name {
        "register" => {
            let hardware = any_hardware(rng);
            let host_signature = signature(owner, number, &hardware);
            let (endpoint, region) = (bytes("here"), bytes("eu"));
            (Call::register { host, hardware, endpoint, region, ask: ask(GTY), host_signature }, signed(who))
        }
        "heartbeat" => (Call::heartbeat {}, by_host(number)),
        "heartbeat_batch" => (Call::heartbeat_batch { hosts: vec![host].try_into().expect("one fits") }, signed(who)),
        "set_endpoint" => (Call::set_endpoint { endpoint: bytes(rng.pick(&["a", "b"])) }, by_host(number)),
        "set_ask" => {
            let mut ask = ask(rng.below(9).into());
            ask.hour_ppm = rng.pick(&[0, 1_000_000, 10_000_001]);
            (Call::set_ask { host, ask }, signed(who))
        }
        "drain" => (Call::drain { host }, signed(who)),
        "undrain" => (Call::undrain { host: draining().unwrap_or(host) }, signed(who)),
        "retire" => (Call::retire { host }, signed(who)),
        "report_absent" => (Call::report_absent { host }, signed(rng.pick(&[ANYONE, NOBODY, PROVIDER]))),
        "verify" => (Call::verify { host }, root),
        "suspend" => (Call::suspend { host }, root),
        "unsuspend" => (Call::unsuspend { host }, root),
        "set_params" => {
            let params = Params {
                bond_consumer: 2 * GTY,
                bond_professional: BOND_PER_DEVICE,
                bond_datacenter: 20 * GTY,
                heartbeat_period_ms: rng.pick(&[0, 1_000, HEARTBEAT_PERIOD]),
                absence_limit_ms: rng.pick(&[1_000, ABSENCE_LIMIT]),
                absence_bounty: rng.pick(&[0, ED - 1, BOUNTY, 2 * GTY]),
                unbonding_ms: rng.pick(&[0, UNBONDING]),
                allow_simulated: false,
                verification_required: rng.one_in(2),
                halt_after_ms: rng.pick(&[0, 1_000]),
                free_weight_us: rng.pick(&[0, 1_000]),
                max_penalty_ppm: rng.pick(&[0, 500_000, 1_000_001]),
                max_notice_ms: 1_000_000_000,
            };
            (Call::set_params { params }, root)
        }
        "withdraw_bond" => (Call::withdraw_bond { host }, signed(who)),
        "top_up_bond" => {
            let amount = rng.pick(&[0, 1, GTY, Balance::MAX]);
            (Call::top_up_bond { host, amount }, signed(who))
        }
        "set_device_health" => {
            let unhealthy = (0..rng.below(3) as u8).collect::<Vec<_>>().try_into().expect("they fit");
            (Call::set_device_health { unhealthy }, by_host(number))
        }
        "set_network" => {
            let (down_mbps, up_mbps) = (rng.pick(&[0, 100, u32::MAX]), rng.pick(&[0, 100, u32::MAX]));
            let latency_ms = rng.pick(&[0, 1, u16::MAX]);
            (Call::set_network { down_mbps, up_mbps, latency_ms }, by_host(number))
        }
        "change_hardware" => {
            let generation = Hosts::host(&host).map_or(0, |record| record.generation);
            let hardware = any_hardware(rng);
            let host_signature = hardware_signature(owner, number, generation + 1, &hardware);
            (Call::change_hardware { host, hardware, host_signature }, signed(who))
        }
        other => panic!("the test makes no call {other}"),
    }
}

/// What the other pallets do to hosts.
fn act_of_another_pallet(rng: &mut SplitMix64, step: u8) {
    let number = any_host(rng, step);
    let host = host(number);
    let Ok(mut record) = Hosts::host(&host) else { return };
    match rng.below(7) {
        0 => drop(reserve(number, &pod(1_000, 1, 500), &[0], &Placement::default())),
        1 => drop(release(number, &pod(1_000, 1, 500), &[0])),
        2 => {
            let fault = rng.pick(&[Fault::StartTimeout, Fault::LostPod, Fault::FailedChallenge, Fault::WrongResult]);
            let duration_ms = rng.pick(&[0, 3_600_000, u64::MAX]);
            let bond = record.bond;
            let taken = Hosts::slash_for_fault(&host, &mut record, fault, duration_ms, Hosts::now());
            assert_eq!(record.bond, bond - taken);
            Hosts::store(&host, &record);
        }
        3 => drop(Hosts::mark_verified(&host)),
        4 => {
            let fee = rng.pick(&[0, 1, GTY]);
            if let Some(call) = Hosts::free_call(&host, rng.pick(&[0, 1_000, u64::MAX]), fee) {
                let _ = Hosts::use_free_call(&host, call, rng.below(1_000), 10_000);
            }
        }
        5 => drop(Hosts::suspend_for(&host, SuspendReason::FailedChallenge)),
        _ => drop(Hosts::set_attested(&host, rng.below(2) as u8, rng.one_in(2))),
    }
}

#[test]
fn no_order_of_calls_breaks_an_invariant() {
    let mut succeeded: BTreeMap<&str, usize> = BTreeMap::new();
    let missing = |succeeded: &BTreeMap<&str, usize>| {
        Call::<Test>::get_call_names().iter().any(|name| !succeeded.contains_key(name))
    };
    let mut seed = 0;
    while seed < RUNS_AT_LEAST || (missing(&succeeded) && seed < RUNS_AT_MOST) {
        seed += 1;
        let mut rng = SplitMix64(seed);
        on_chain(|| {
            let issued = pallet_balances::TotalIssuance::<Test>::get();
            for step in 0..STEPS {
                let at = format!("seed {seed}, step {step}");
                if rng.one_in(4) {
                    act_of_another_pallet(&mut rng, step);
                }
                let pass = if rng.one_in(6) { halt } else { advance };
                pass(rng.pick(&[0, 1_000, HEARTBEAT_PERIOD, ABSENCE_LIMIT, UNBONDING]));
                // What is seldom wanted, so that hosts live for a while.
                let seldom = ["retire", "suspend"];
                let mut name = rng.pick(Call::<Test>::get_call_names());
                if seldom.contains(&name) && !rng.one_in(8) {
                    name = "heartbeat";
                }
                let (call, origin) = random_call(&mut rng, step, name);
                let call = RuntimeCall::from(call);
                let free = call.is_feeless(&origin);
                let done = frame_support::storage::with_storage_layer(|| {
                    call.dispatch_bypass_filter(origin).map(drop).map_err(|refused| refused.error)
                });
                assert!(done.is_ok() || !free, "{at}: {name} is free and fails: {done:?}");
                if done.is_ok() {
                    *succeeded.entry(name).or_default() += 1;
                }
                Hosts::do_try_state().unwrap_or_else(|error| panic!("{at}: after {name}: {error:?}"));
                assert_ok!(Reputation::do_try_state());
                assert_eq!(pallet_balances::TotalIssuance::<Test>::get(), issued, "{at}: after {name}");
            }
        });
    }
    assert!(!missing(&succeeded), "a call never succeeds in {seed} runs: {succeeded:?}");
}
