//! The configuration of the agreements pallet, and its port to hosts, tasks and reputation.

use super::{governance::AdminOrigin, network::Treasury, system::RuntimeBlockWeights};
use crate::{coins::Coins, AccountId, Agreements, Balance, Runtime, RuntimeHoldReason, Timestamp};
use alloc::vec::Vec;
use frame_support::{dispatch::DispatchResult, parameter_types, weights::Weight};
use gantry_primitives::{
    lease_parts, Conduct, EndReason, HostId, HostStatus, Lease, LeaseId, LeaseState, Manifest, Placement, TaskRecord,
    TaskSpec,
};
use pallet_gantry_agreements::{LeaseParties, LeaseStatus, Network, OfferTerms, Place, Side};
use pallet_gantry_hosts::Pallet as Hosts;
use pallet_gantry_reputation::Pallet as Reputation;
use pallet_gantry_tasks::{Pallet as Tasks, Reservation, Reservations};
use sp_runtime::{DispatchError, Perbill};

parameter_types! {
    /// The weight of the hook: a fiftieth of a block. Entries beyond it wait for the next block.
    pub HookWeight: Weight = Perbill::from_percent(2) * RuntimeBlockWeights::get().max_block;
}

impl pallet_gantry_agreements::Config for Runtime {
    type Currency = Coins;
    type RuntimeHoldReason = RuntimeHoldReason;
    type Time = Timestamp;
    type Network = AgreementNetwork;
    type Treasury = Treasury;
    type AdminOrigin = AdminOrigin;
    type HookWeight = HookWeight;
    type WeightInfo = pallet_gantry_agreements::weights::SubstrateWeight<Runtime>;
}

/// The places that are reserved by agreements.
pub struct ReservedPlaces;

impl Reservations for ReservedPlaces {
    fn all() -> Vec<Reservation> {
        let reservation = |record: pallet_gantry_agreements::OfferRecord| {
            let Place { host, devices } = record.place?;
            Some(Reservation { host, tenant: record.tenant, resources: record.terms.resources, devices })
        };
        Agreements::reservations().filter_map(reservation).collect()
    }
}

/// The port of agreements to hosts, tasks and reputation.
pub struct AgreementNetwork;

/// Returns the record of the task of a lease, and the lease if the record still contains it.
fn find(lease: LeaseId) -> Option<(TaskRecord, Option<Lease>)> {
    let (task, pod, generation) = lease_parts(lease);
    let record = Tasks::<Runtime>::record(task).ok()?;
    let found = record.leases.iter().find(|known| (known.pod, known.generation) == (pod, generation)).cloned();
    Some((record, found))
}

/// Whether a host lost a pod of this task after the pod had started.
fn has_lost_pod(record: &TaskRecord, host: &HostId) -> bool {
    record.attempts.iter().any(|attempt| attempt.host == *host && !attempt.refused)
}

/// Returns the side that ended a lease, or whose fault its end was.
///
/// A notice of reclaim is the act of the provider, whoever ends the lease before its time is over. An attempt that a host
/// refused or did not start is nobody's fault: the host writes the reason.
fn side_at_fault(record: &TaskRecord, lease: &Lease) -> Option<Side> {
    if lease.reclaim_at.is_some() {
        return Some(Side::Provider);
    }
    match lease.state {
        LeaseState::Pending | LeaseState::Active => None,
        // The tenant has stopped the machine: its resources are free for others.
        LeaseState::Suspended => Some(Side::Tenant),
        LeaseState::Ended(reason) if reason.is_tenants_act() => Some(Side::Tenant),
        LeaseState::Ended(EndReason::HostLost | EndReason::NotServed | EndReason::DisputeLost) => Some(Side::Provider),
        LeaseState::Ended(EndReason::HostRefused(_)) if lease.started_at.is_some() => Some(Side::Provider),
        _ if lease.checks.is_some_and(|checks| checks.pod_refused) => None,
        // The lease of a rental that has started, whose state no longer contains the reason. If it was not its host, its
        // tenant ended it, or its time was over.
        LeaseState::Retained(_) | LeaseState::Purged | LeaseState::Ended(EndReason::DataMoved) => {
            Some(if has_lost_pod(record, &lease.host) { Side::Provider } else { Side::Tenant })
        }
        LeaseState::Ended(_) => None,
    }
}

impl Network for AgreementNetwork {
    fn provider_of(host: &HostId) -> Option<AccountId> {
        Hosts::<Runtime>::provider_of(host).ok()
    }

    fn reserve(place: &Place, terms: &OfferTerms, tenant: &AccountId) -> DispatchResult {
        let mut record = Hosts::<Runtime>::host(&place.host)?;
        let placement = Placement { allow_simulated: terms.allow_simulated, ..Default::default() };
        let Place { host, devices } = place;
        Hosts::<Runtime>::allocate_in(&mut record, host, &terms.resources, devices, &placement, tenant)?;
        Hosts::<Runtime>::store(host, &record);
        Ok(())
    }

    fn release(place: &Place, terms: &OfferTerms) -> DispatchResult {
        let mut record = Hosts::<Runtime>::host(&place.host)?;
        let now = Hosts::<Runtime>::now();
        Hosts::<Runtime>::release_in(&mut record, &terms.resources, &place.devices, now)?;
        Hosts::<Runtime>::store(&place.host, &record);
        Ok(())
    }

    fn is_available(place: &Place) -> bool {
        let Ok(record) = Hosts::<Runtime>::host(&place.host) else { return false };
        let is_healthy = |index: &u8| record.devices.get(usize::from(*index)).is_some_and(|device| device.healthy);
        record.status == HostStatus::Online
            && !Hosts::<Runtime>::is_silent(&record)
            && place.devices.iter().all(is_healthy)
    }

    fn begin(
        tenant: &AccountId,
        spec: TaskSpec,
        manifest: Manifest,
        place: Place,
        rate_per_hour: Balance,
    ) -> Result<LeaseId, DispatchError> {
        let Place { host, devices } = place;
        Tasks::<Runtime>::submit_at_rate(tenant, spec, manifest, host, devices, rate_per_hour)
    }

    fn lease_status(lease: LeaseId, host: &HostId) -> LeaseStatus {
        let now = Hosts::<Runtime>::now();
        match find(lease) {
            Some((record, Some(lease))) => {
                let is_given_up = lease.reclaim_at.is_some() || lease.state == LeaseState::Suspended;
                if lease.state.is_live() && !is_given_up {
                    return LeaseStatus::Live;
                }
                // A machine that was stopped is billed at another rate since then.
                let at = lease.ended_at.or(lease.reclaim_at).or(lease.escrow.since).unwrap_or(now);
                LeaseStatus::Ended { at, by: side_at_fault(&record, &lease) }
            }
            // The service waits for another host, or has a lease on one.
            Some((record, None)) => {
                let by = has_lost_pod(&record, host).then_some(Side::Provider);
                LeaseStatus::Ended { at: now, by }
            }
            None => LeaseStatus::Ended { at: now, by: None },
        }
    }

    fn parties(lease: LeaseId) -> Option<LeaseParties> {
        let (record, lease) = find(lease)?;
        let host = lease.filter(|lease| lease.state.is_live())?.host;
        let provider = Self::provider_of(&host)?;
        Some(LeaseParties { tenant: record.tenant, host, provider })
    }

    fn note_response(lease: LeaseId, host: &HostId, in_time: bool) {
        let Some((record, Some(lease))) = find(lease) else { return };
        let fee = lease.escrow.treasury_fee();
        if fee > 0 && Self::provider_of(host).is_some_and(|provider| provider != record.tenant) {
            let now = Hosts::<Runtime>::now();
            Reputation::<Runtime>::observe_host(host, Conduct::Responded(in_time), 1, fee, now);
        }
    }

    #[cfg(feature = "runtime-benchmarks")]
    fn create_place(provider: &AccountId) -> (Place, OfferTerms) {
        crate::benches::create_place(provider)
    }

    #[cfg(feature = "runtime-benchmarks")]
    fn create_task(terms: &OfferTerms) -> (TaskSpec, Manifest) {
        crate::benches::create_task(terms)
    }

    #[cfg(feature = "runtime-benchmarks")]
    fn create_lease(tenant: &AccountId) -> (LeaseId, AccountId) {
        crate::benches::create_lease(tenant)
    }

    #[cfg(feature = "runtime-benchmarks")]
    fn set_time(now: gantry_primitives::Moment) {
        pallet_timestamp::Now::<Runtime>::put(now);
    }
}
