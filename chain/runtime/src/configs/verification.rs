//! The configuration of the verification pallet, and its ports to hosts and tasks.

use super::{governance::AdminOrigin, network::Treasury, system::RuntimeBlockWeights};
use crate::{coins::Coins, AccountId, Balance, Runtime, RuntimeHoldReason, Timestamp};
use alloc::vec::Vec;
use frame_support::{
    dispatch::DispatchResult, parameter_types, storage::with_storage_layer, traits::Defensive, weights::Weight,
};
use gantry_primitives::{
    faults::Fault, lease_parts, score::FEE_UNIT, Conduct, DeviceSpec, HostId, HostRecord, HostStatus, Lease, LeaseId,
    LeaseState, Misconduct, PodResult, ServiceChecks, SuspendReason, TaskId, Vote, MILLI_PER_DEVICE,
};
use pallet_gantry_hosts::Pallet as Hosts;
use pallet_gantry_reputation::Pallet as Reputation;
use pallet_gantry_tasks::Pallet as Tasks;
use pallet_gantry_verification as ports;
use sp_runtime::Perbill;

parameter_types! {
    /// The weight of the hook: a twentieth of a block. Entries beyond it wait for the next block.
    pub HookWeight: Weight = Perbill::from_percent(5) * RuntimeBlockWeights::get().max_block;
}

impl pallet_gantry_verification::Config for Runtime {
    type Currency = Coins;
    type RuntimeHoldReason = RuntimeHoldReason;
    type Time = Timestamp;
    type Randomness = pallet_babe::ParentBlockRandomness<Runtime>;
    type Hosts = NetworkHosts;
    type Tasks = NetworkTasks;
    type Treasury = Treasury;
    type AdminOrigin = AdminOrigin;
    type HookWeight = HookWeight;
    type WeightInfo = pallet_gantry_verification::weights::SubstrateWeight<Runtime>;
    #[cfg(feature = "runtime-benchmarks")]
    type BenchmarkHelper = crate::benches::BenchmarkSetup;
}

/// Runs `work` in a storage transaction. A failure would be a bug, because the conditions were checked before.
fn do_or_defensive(work: impl FnOnce() -> DispatchResult) {
    let _ = with_storage_layer(work).defensive();
}

/// The port of verification to the hosts pallet.
pub struct NetworkHosts;

impl NetworkHosts {
    /// Changes the record of a host. Does nothing if there is no such host.
    fn change<R: Default>(host: &HostId, work: impl FnOnce(&mut HostRecord) -> R) -> R {
        let Ok(mut record) = Hosts::<Runtime>::host(host) else { return R::default() };
        let result = work(&mut record);
        Hosts::<Runtime>::store(host, &record);
        result
    }
}

impl ports::Hosts for NetworkHosts {
    fn provider_of(host: &HostId) -> Option<AccountId> {
        Hosts::<Runtime>::provider_of(host).ok()
    }

    fn is_listed(host: &HostId) -> bool {
        let Ok(record) = Hosts::<Runtime>::host(host) else { return false };
        let in_service = match record.status {
            HostStatus::Suspended(reason) => reason == SuspendReason::FailedChallenge,
            HostStatus::Retiring(_) | HostStatus::Retired => false,
            HostStatus::Unverified
            | HostStatus::Verified
            | HostStatus::Online
            | HostStatus::Offline
            | HostStatus::Draining => true,
        };
        in_service && !Hosts::<Runtime>::is_silent(&record)
    }

    fn device_of(host: &HostId, device: u8) -> Option<DeviceSpec> {
        let record = Hosts::<Runtime>::host(host).ok()?;
        record.devices.get(usize::from(device)).map(|found| found.spec.clone())
    }

    fn answers_challenges(host: &HostId) -> bool {
        Hosts::<Runtime>::host(host).is_ok_and(|record| record.answers_challenges)
    }

    fn is_leased(host: &HostId, device: u8) -> bool {
        let Ok(record) = Hosts::<Runtime>::host(host) else { return false };
        record.devices.get(usize::from(device)).is_some_and(|found| found.milli_free < MILLI_PER_DEVICE)
    }

    fn set_challenged(host: &HostId, device: Option<u8>) {
        do_or_defensive(|| Hosts::<Runtime>::set_challenged(host, device));
    }

    fn attest(host: &HostId, device: u8, ok: bool) {
        do_or_defensive(|| Hosts::<Runtime>::set_attested(host, device, ok));
    }

    fn mark_verified(host: &HostId) {
        // Fails if the bond has become too low or the host is leaving; then its status does not change.
        let _ = with_storage_layer(|| Hosts::<Runtime>::mark_verified(host));
    }

    fn suspend(host: &HostId) {
        // Fails if it is suspended or gone already.
        let _ = with_storage_layer(|| Hosts::<Runtime>::suspend_for(host, SuspendReason::FailedChallenge));
    }

    fn slash_for_misconduct(host: &HostId, why: Misconduct, duration_ms: u64) {
        let now = Hosts::<Runtime>::now();
        let fault = match why {
            Misconduct::FailedChallenge | Misconduct::ChallengeNotAnswered => {
                // The tasks pallet records the conduct in its own leases. A challenge concerns no lease and has no fee
                // of one: it weighs as much as a lease with a fee of FEE_UNIT.
                Reputation::<Runtime>::observe_host(host, Conduct::NotVerified, 1, FEE_UNIT, now);
                Fault::FailedChallenge
            }
            Misconduct::WrongResult | Misconduct::ResultNotRevealed | Misconduct::DisputeLost => Fault::WrongResult,
        };
        Self::change(host, |record| Hosts::<Runtime>::slash_for_fault(host, record, fault, duration_ms, now));
    }

    fn slash(host: &HostId, _why: Misconduct, amount: Balance, rewards: &[(AccountId, Balance)]) -> Vec<Balance> {
        let now = Hosts::<Runtime>::now();
        Self::change(host, |record| Hosts::<Runtime>::slash_for_result(host, record, amount, rewards, now))
    }

    fn bond_of(host: &HostId) -> Balance {
        Hosts::<Runtime>::host(host).map_or(0, |record| record.bond)
    }

    fn generation_of(host: &HostId) -> u32 {
        Hosts::<Runtime>::host(host).map_or(0, |record| record.generation)
    }

    fn compensate(host: &HostId, to: &AccountId, amount: Balance) -> Balance {
        Self::change(host, |record| Hosts::<Runtime>::charge_bond(host, record, amount, to))
    }
}

/// The port of verification to the tasks pallet.
pub struct NetworkTasks;

impl ports::Tasks for NetworkTasks {
    fn tenant_of(task: TaskId) -> Option<AccountId> {
        Tasks::<Runtime>::tenant_of(task).ok()
    }

    fn leases_of(task: TaskId) -> Vec<(LeaseId, HostId)> {
        Tasks::<Runtime>::leases_of(task).unwrap_or_default()
    }

    fn task_of(lease: LeaseId) -> TaskId {
        lease_parts(lease).0
    }

    fn holds_device(lease: LeaseId, tenant: &AccountId, host: &HostId, device: u8) -> bool {
        let (task, pod, generation) = lease_parts(lease);
        let Ok(record) = Tasks::<Runtime>::record(task) else { return false };
        let holds = |known: &Lease| {
            (known.pod, known.generation) == (pod, generation)
                && matches!(known.state, LeaseState::Pending | LeaseState::Active)
                && known.host == *host
                && known.devices.contains(&device)
        };
        record.tenant == *tenant && record.leases.iter().any(holds)
    }

    fn served_lease(lease: LeaseId) -> Option<ports::ServedLease> {
        let (lease, provider, tenant) = Tasks::<Runtime>::served_lease(lease)?;
        Some(ports::ServedLease {
            provider,
            tenant,
            started_at: lease.started_at?,
            treasury_fees: lease.escrow.treasury_fee(),
            checks: lease.checks.unwrap_or_default(),
            host: lease.host,
        })
    }

    fn set_checks(lease: LeaseId, checks: ServiceChecks) {
        do_or_defensive(|| Tasks::<Runtime>::set_checks(lease, checks));
    }

    fn end_unserved(lease: LeaseId, pod_refused: bool) {
        do_or_defensive(|| Tasks::<Runtime>::end_unserved(lease, pod_refused));
    }

    fn replicas_of(task: TaskId) -> Option<u8> {
        Tasks::<Runtime>::replicas_of(task)
    }

    fn is_audited(task: TaskId) -> bool {
        Tasks::<Runtime>::is_audited(task)
    }

    fn can_commit(lease: LeaseId, host: &HostId) -> DispatchResult {
        Tasks::<Runtime>::can_commit(lease, host)
    }

    fn end_committed_pod(lease: LeaseId) {
        do_or_defensive(|| Tasks::<Runtime>::end_committed_pod(lease));
    }

    fn is_current(lease: LeaseId) -> bool {
        Tasks::<Runtime>::is_current(lease)
    }

    fn has_other_pods(task: TaskId, committed: &[LeaseId]) -> bool {
        Tasks::<Runtime>::has_other_pods(task, committed)
    }

    fn end_other_pods(task: TaskId, committed: &[LeaseId]) {
        do_or_defensive(|| Tasks::<Runtime>::end_other_pods(task, committed));
    }

    fn complete_pod(lease: LeaseId, result: PodResult) -> DispatchResult {
        Tasks::<Runtime>::complete_pod(lease, result)
    }

    fn deposit_of(lease: LeaseId) -> Balance {
        Tasks::<Runtime>::deposit_of(lease)
    }

    fn treasury_fees(task: TaskId, right: &[LeaseId]) -> Balance {
        Tasks::<Runtime>::treasury_fees(task, right)
    }

    fn void_pod(lease: LeaseId) {
        do_or_defensive(|| Tasks::<Runtime>::void_pod(lease));
    }

    fn request_extra_pod(task: TaskId) -> DispatchResult {
        with_storage_layer(|| Tasks::<Runtime>::request_extra_pod(task))
    }

    fn mark_reported(task: TaskId) -> DispatchResult {
        with_storage_layer(|| Tasks::<Runtime>::mark_reported(task))
    }

    fn mark_verified(task: TaskId) -> DispatchResult {
        with_storage_layer(|| Tasks::<Runtime>::mark_verified(task))
    }

    fn fail_without_agreement(task: TaskId) -> DispatchResult {
        with_storage_layer(|| Tasks::<Runtime>::fail_without_agreement(task))
    }

    fn mark_disputed(task: TaskId, accused: &[LeaseId]) -> DispatchResult {
        Tasks::<Runtime>::mark_disputed(task, accused)
    }

    fn resolve_dispute(task: TaskId, accused: &[LeaseId], verdict: Option<Vote>, by_tenant: bool) -> DispatchResult {
        with_storage_layer(|| Tasks::<Runtime>::resolve_dispute(task, accused, verdict, by_tenant))
    }
}
