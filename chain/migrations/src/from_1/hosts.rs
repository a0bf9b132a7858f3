//! A host, its scores and the periods of the hosts pallet, as release 2 keeps them.

use gantry_primitives as now;
use pallet_gantry_hosts::Params;

use crate::v1::{
    hosts::{Ask, Capacity, Device, DeviceSpec, HostRecord, HostStatus, HostsParams, SuspendReason, Vendor},
    reputation::{Beta, HostScore},
    Balance,
};

/// List price: what release 1 asked was asked for every billing unit.
const LIST_PRICE_PPM: u32 = 1_000_000;

/// A host. It counts as a consumer machine with a Docker engine, which is what agents of release 1 ran on. The bond it
/// has is the bond it must have: bounties that were paid from it before are not asked for.
pub(super) fn host(old: HostRecord) -> now::HostRecord {
    now::HostRecord {
        provider: old.provider,
        status: status(old.status),
        tier: now::Tier::Consumer,
        capabilities: now::Capabilities { docker: true, ..Default::default() },
        network_mbps_down: 0,
        network_mbps_up: 0,
        latency_ms: 0,
        total: capacity(old.total),
        free: capacity(old.free),
        devices: now::UpTo::truncate_from(old.devices.into_iter().map(device).collect()),
        ask: ask(old.ask),
        endpoint: old.endpoint,
        region: old.region,
        bond: old.bond,
        bond_required: old.bond,
        generation: 0,
        registered_at: old.registered_at,
        last_heartbeat: old.last_heartbeat,
        downtime_ms: 0,
        live_leases: old.live_leases,
    }
}

fn status(old: HostStatus) -> now::HostStatus {
    match old {
        HostStatus::Unverified => now::HostStatus::Unverified,
        HostStatus::Verified => now::HostStatus::Verified,
        HostStatus::Online => now::HostStatus::Online,
        HostStatus::Offline => now::HostStatus::Offline,
        HostStatus::Draining => now::HostStatus::Draining,
        HostStatus::Suspended(SuspendReason::ByRoot) => now::HostStatus::Suspended(now::SuspendReason::ByRoot),
        HostStatus::Retired => now::HostStatus::Retired,
    }
}

fn capacity(old: Capacity) -> now::Capacity {
    now::Capacity { cpu_milli: old.cpu_milli, memory_mib: old.memory_mib, disk_gib: old.disk_gib }
}

fn device(old: Device) -> now::Device {
    let DeviceSpec { vendor, model, vram_mib, simulated } = old.spec;
    let vendor = match vendor {
        Vendor::Nvidia => now::Vendor::Nvidia,
        Vendor::Amd => now::Vendor::Amd,
        Vendor::Other => now::Vendor::Other,
    };
    now::Device {
        spec: now::DeviceSpec { vendor, model, vram_mib, simulated },
        milli_free: old.milli_free,
        shared_by: None,
        attested: old.attested,
        healthy: true,
    }
}

/// A price list. The disk of a stopped rental costs what disk costs.
fn ask(old: Ask) -> now::Ask {
    now::Ask {
        gpu: Default::default(),
        gpu_per_hour: old.gpu_per_hour,
        cpu_core_per_hour: old.cpu_core_per_hour,
        memory_gib_per_hour: old.memory_gib_per_hour,
        disk_gib_per_hour: old.disk_gib_per_hour,
        network_gib: 0,
        storage_gib_per_hour: old.disk_gib_per_hour,
        second_ppm: LIST_PRICE_PPM,
        hour_ppm: LIST_PRICE_PPM,
        day_ppm: LIST_PRICE_PPM,
    }
}

/// The evidence about a host. What release 1 counted as started in time or not is release 2's promptness.
pub(super) fn score(old: HostScore) -> now::HostScore {
    now::HostScore {
        completed: beta(old.completed),
        uptime: beta(old.uptime),
        start_latency: beta(old.started),
        settled_leases: old.settled_leases,
        updated_at: old.updated_at,
        ..Default::default()
    }
}

fn beta(old: Beta) -> now::Beta {
    now::Beta { positive: old.positive, negative: old.negative }
}

/// The periods and amounts. Bonds of the other tiers are to that of a consumer machine as in the defaults. What
/// release 2 would refuse is brought to the nearest value that it takes.
pub(super) fn params(old: HostsParams) -> Params {
    let default = Params::default();
    let scaled = |tier: Balance| old.bond_per_device.saturating_mul(tier) / default.bond_consumer;
    let mut params = Params {
        bond_consumer: old.bond_per_device,
        bond_professional: scaled(default.bond_professional),
        bond_datacenter: scaled(default.bond_datacenter),
        heartbeat_period_ms: old.heartbeat_period_ms.max(1),
        absence_limit_ms: old.absence_limit_ms.max(old.heartbeat_period_ms.max(1).saturating_mul(2)),
        absence_bounty: old.absence_bounty.min(old.bond_per_device / 2),
        allow_simulated: old.allow_simulated,
        verification_required: old.verification_required,
        ..default
    };
    if params.check().is_err() {
        // Only with periods of years or bonds beyond all coins.
        params = Params {
            allow_simulated: old.allow_simulated,
            verification_required: old.verification_required,
            ..Params::default()
        };
    }
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: HostsParams = HostsParams {
        bond_per_device: 4_000,
        heartbeat_period_ms: 6_000,
        absence_limit_ms: 30_000,
        absence_bounty: 100,
        allow_simulated: true,
        verification_required: true,
    };

    #[test]
    fn sound_params_are_kept() {
        let params = params(PARAMS);
        assert_eq!(params.check(), Ok(()));
        assert_eq!((params.bond_consumer, params.bond_professional, params.bond_datacenter), (4_000, 10_000, 40_000));
        assert_eq!((params.heartbeat_period_ms, params.absence_limit_ms, params.absence_bounty), (6_000, 30_000, 100));
        assert!(params.allow_simulated && params.verification_required);
    }

    #[test]
    fn params_that_release_2_refuses_are_brought_to_what_it_takes() {
        let short = params(HostsParams { absence_limit_ms: 0, heartbeat_period_ms: 0, ..PARAMS });
        assert_eq!((short.heartbeat_period_ms, short.absence_limit_ms), (1, 2));
        assert_eq!(params(HostsParams { absence_bounty: 4_000, ..PARAMS }).absence_bounty, 2_000);
        assert_eq!(params(HostsParams { bond_per_device: 0, ..PARAMS }).absence_bounty, 0);
        for odd in [
            HostsParams { heartbeat_period_ms: u64::MAX, ..PARAMS },
            HostsParams { bond_per_device: Balance::MAX, ..PARAMS },
        ] {
            let params = params(odd);
            assert_eq!(params.check(), Ok(()));
            assert!(params.allow_simulated && params.verification_required);
        }
    }
}
