//! Random calls by random accounts in any order: every invariant holds after each call, and a refused call changes
//! nothing.

use frame_support::storage::with_storage_layer;
use gantry_primitives::{
    BillingUnit::{Hour, Second},
    HostStatus, LeaseId,
    TaskKind::{Rental, Service},
};
use sp_runtime::DispatchResult;
use std::collections::BTreeMap;

use crate::mock::*;

/// What it is called, who may make it, and the call.
type Call = (&'static str, u8, fn(RuntimeOrigin, LeaseId, u64) -> DispatchResult);

const CALLS: &[Call] = &[
    ("extend", TENANT, |who, lease, ms| Leases::extend(who, lease, ms)),
    ("top_up", TENANT, |who, lease, ms| Leases::top_up(who, lease, u128::from(ms) * 100_000)),
    ("suspend", TENANT, |who, lease, _| Leases::suspend(who, lease)),
    ("resume", TENANT, |who, lease, _| Leases::resume(who, lease)),
    ("reclaim", PROVIDER, |who, lease, _| Leases::reclaim(who, lease)),
    ("finish_reclaim", ANYONE, |who, lease, _| Leases::finish_reclaim(who, lease)),
    ("settle", ANYONE, |who, lease, _| Leases::settle(who, lease)),
    ("close_depleted", ANYONE, |who, lease, _| Leases::close_depleted(who, lease)),
    ("keep", TENANT, |who, lease, ms| Leases::keep(who, lease, ms, RATE)),
    ("release_data", TENANT, |who, lease, _| Leases::release_data(who, lease)),
    ("crank", ANYONE, |who, _, ms| Leases::crank(who, (ms % 3) as u32).map(|_| ()).map_err(|refusal| refusal.error)),
];

#[test]
fn any_calls_in_any_order_keep_every_invariant() {
    let mut made: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 0..12 {
        let mut rng = SplitMix64(seed);
        on_chain(|| {
            let mut opened = 0;
            for _ in 0..150 {
                match rng.below(20) {
                    0 => {
                        let kind = if rng.below(3) == 0 { Service } else { Rental };
                        let unit = if rng.below(2) == 0 { Second } else { Hour };
                        let longest = [3 * HOUR, 50 * HOUR][rng.below(2) as usize];
                        open(opened, kind, unit, 1 + rng.below(longest));
                        opened += 1;
                    }
                    // No block begins: what is due is left to the calls.
                    1 | 2 => advance(rng.below(3 * HOUR)),
                    3 => {
                        let most = [1, 1, 1, 1, 1, 12 * DAY][rng.below(6) as usize];
                        advance(rng.below(most));
                        next_block();
                    }
                    4 => {
                        let now = Leases::now();
                        change_host(|host| match host.status {
                            HostStatus::Offline => {
                                host.status = HostStatus::Online;
                                host.downtime_ms += now - host.last_heartbeat;
                            }
                            _ => {
                                host.status = HostStatus::Offline;
                                host.last_heartbeat = now;
                            }
                        });
                    }
                    _ => {
                        let (name, party, call) = &CALLS[rng.below(CALLS.len() as u64) as usize];
                        let who = signed([TENANT, PROVIDER, NOBODY, *party, *party, *party][rng.below(6) as usize]);
                        let lease = opened.saturating_sub(rng.below(4));
                        let ms = [0, 1, HOUR, 3 * HOUR][rng.below(4) as usize] + rng.below(100);
                        if with_storage_layer(|| call(who, lease, ms)).is_ok() {
                            *made.entry(*name).or_default() += 1;
                        }
                    }
                }
                check_everything();
            }
        });
    }
    for (name, ..) in CALLS {
        assert!(made.contains_key(name), "{name} was never made successfully");
    }
}
