//! The calls of the leases pallet.

use gantry_primitives::{Lease, LeaseState, TaskKind, TaskRecord, TaskSpec};
use gantry_runtime::{Runtime, GTY};
use pallet_gantry_leases::{Call, CurrentParams};

use super::{actions, call};
use crate::sequences::{chain::*, subjects::*};

type LeasesCall = Call<Runtime>;

actions! {
    "Leases.extend" 25 |choices| {
        let found = long_lease(choices, is_live);
        let origin = by(choices, found.tenant);
        call(LeasesCall::extend { lease: found.id, ms: choices.pick(&[MINUTE, 1, HOUR, 0, u64::MAX]) }, origin)
    };
    "Leases.top_up" 15 |choices| {
        let found = long_lease(choices, is_live);
        let origin = by(choices, found.tenant);
        call(LeasesCall::top_up { lease: found.id, amount: choices.pick(&[GTY, 1, 0, u128::MAX]) }, origin)
    };
    "Leases.suspend" 35 |choices| {
        let found = rental_lease(choices, is_active);
        call(LeasesCall::suspend { lease: found.id }, by(choices, found.tenant))
    };
    "Leases.resume" 35 |choices| {
        let found = rental_lease(choices, is_suspended);
        call(LeasesCall::resume { lease: found.id }, by(choices, found.tenant))
    };
    "Leases.reclaim" 30 |choices| {
        let found = long_lease(choices, |state| matches!(state, LeaseState::Active | LeaseState::Suspended));
        call(LeasesCall::reclaim { lease: found.id }, by(choices, found.provider))
    };
    "Leases.finish_reclaim" 30 |choices| {
        let found = lease_where(choices, |lease, _, _| lease.reclaim_at.is_some() && lease.state.is_live());
        call(LeasesCall::finish_reclaim { lease: found.id }, anyone(choices))
    };
    "Leases.settle" 25 |choices| {
        call(LeasesCall::settle { lease: long_lease(choices, is_live).id }, anyone(choices))
    };
    "Leases.close_depleted" 30 |choices| {
        let depleted = |lease: &Lease, _: &TaskRecord, spec: &TaskSpec| {
            spec.kind != TaskKind::Job && lease.ends_at(0).is_some_and(|ends_at| ends_at <= now())
        };
        call(LeasesCall::close_depleted { lease: lease_where(choices, depleted).id }, anyone(choices))
    };
    "Leases.keep" 30 |choices| {
        let found = rental_lease(choices, is_retained);
        let origin = by(choices, found.tenant);
        let ms = choices.pick(&[MINUTE, 1, HOUR, 0, u64::MAX]);
        let max_rate_per_hour = choices.pick(&[GTY, 0, u128::MAX]);
        call(LeasesCall::keep { lease: found.id, ms, max_rate_per_hour }, origin)
    };
    "Leases.release_data" 15 |choices| {
        let found = rental_lease(choices, is_retained);
        call(LeasesCall::release_data { lease: found.id }, by(choices, found.tenant))
    };
    "Leases.crank" 15 |choices| {
        let limit = choices.pick(&[1, 2, 256, 0, 10_000]);
        call(LeasesCall::crank { limit }, anyone(choices))
    };
    "Leases.set_params" 6 |choices| {
        let mut params = CurrentParams::<Runtime>::get();
        params.reclaim_notice_ms = choices.pick(&[30_000, 1, HOUR, 0]);
        params.retention_ms = choices.pick(&[2 * MINUTE, 1, HOUR]);
        params.purge_grace_ms = choices.pick(&[MINUTE, 1, 0]);
        call(LeasesCall::set_params { params }, admin(choices))
    };
}
