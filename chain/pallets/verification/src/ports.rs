//! The ports to hosts and tasks. The runtime implements them; this pallet depends on neither.
//!
//! A function without a result cannot fail: it does as much as is possible.

use alloc::vec::Vec;
use frame_support::dispatch::DispatchResult;
use gantry_primitives::{
    AccountId, Balance, DeviceSpec, HostId, LeaseId, Misconduct, Moment, PodResult, ServiceChecks, TaskId, Vote,
};

/// The hosts of the network.
pub trait Hosts {
    /// Returns the owner of the host with this account. None if it is no host.
    fn provider_of(host: &HostId) -> Option<AccountId>;
    /// Whether the host may be challenged: it is registered, neither retiring nor retired, not suspended except for a
    /// failed challenge, and was heard of within the absence limit.
    fn is_listed(host: &HostId) -> bool;
    /// Returns this device of the host as its provider described it. None if there is no such device.
    fn device_of(host: &HostId, device: u8) -> Option<DeviceSpec>;
    /// Whether the record of the host says that it answers challenges.
    fn answers_challenges(host: &HostId) -> bool;
    /// Whether a lease has this device of the host, or a share of it, allocated.
    fn is_leased(host: &HostId, device: u8) -> bool;
    /// Excludes this device of the host from new leases; None excludes no device. Present leases continue.
    fn set_challenged(host: &HostId, device: Option<u8>);
    /// Stores whether this device of the host is proved to be genuine.
    fn attest(host: &HostId, device: u8, ok: bool);
    /// Marks a host as verified that is unverified, or suspended for a failed challenge. Does nothing for any other
    /// host.
    fn mark_verified(host: &HostId);
    /// Suspends the host until governance lifts the suspension. Does nothing if it is suspended or gone.
    fn suspend(host: &HostId);
    /// Slashes the host and records the fault in the reputation, by the table of faults. `duration_ms` is the time for
    /// which the network was deceived.
    fn slash_for_misconduct(host: &HostId, why: Misconduct, duration_ms: u64);
    /// Slashes up to `amount` of the bond of the host for a wrong or missing result, and records the fault of its
    /// provider in proportion. The `rewards` are paid in their order, as far as the amount suffices, and the rest goes
    /// to the treasury. Returns the amount paid for each reward.
    fn slash(host: &HostId, why: Misconduct, amount: Balance, rewards: &[(AccountId, Balance)]) -> Vec<Balance>;
    /// Returns the present bond of the host.
    fn bond_of(host: &HostId) -> Balance;
    /// Returns how often the hardware of the host was changed.
    fn generation_of(host: &HostId) -> u32;
    /// Moves up to `amount` from the bond of the host to `to`. Returns the moved amount.
    fn compensate(host: &HostId, to: &AccountId, amount: Balance) -> Balance;
}

/// The running lease of a service or rental.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedLease {
    /// The host.
    pub host: HostId,
    /// Who owns it.
    pub provider: AccountId,
    /// Who pays.
    pub tenant: AccountId,
    /// When its pod started.
    pub started_at: Moment,
    /// The part of its fees that the treasury has got.
    pub treasury_fees: Balance,
    /// Its service checks so far.
    pub checks: ServiceChecks,
}

/// The tasks of the network.
pub trait Tasks {
    /// Returns the account that pays for the task. None if there is no such task.
    fn tenant_of(task: TaskId) -> Option<AccountId>;
    /// Returns the leases of the task's present attempt, at most 16, each with its host; for a reported task, those
    /// that produced the result.
    fn leases_of(task: TaskId) -> Vec<(LeaseId, HostId)>;
    /// The task of a lease.
    fn task_of(lease: LeaseId) -> TaskId;
    /// Whether `tenant` pays for this lease, and the lease has this device of the host allocated now.
    fn holds_device(lease: LeaseId, tenant: &AccountId, host: &HostId, device: u8) -> bool;

    /// Returns a lease that its host must serve. None unless it is the active lease of a service or rental on the host of
    /// another account than the tenant.
    fn served_lease(lease: LeaseId) -> Option<ServedLease>;
    /// Stores the service checks of a lease. Does nothing if there is no such lease.
    fn set_checks(lease: LeaseId, checks: ServiceChecks);
    /// Ends a lease whose host did not serve the pod, or whose pod refused connections; its service continues on another
    /// host. The last period that billing keeps unpaid is not paid to the host. If its pod refused connections, the
    /// treasury gets that amount from the tenant.
    fn end_unserved(lease: LeaseId, pod_refused: bool);

    /// Returns how many replicas the task wants. None if its results are not compared, or it does not run.
    fn replicas_of(task: TaskId) -> Option<u8>;
    /// Whether the chain draws if another host repeats the work of the task.
    fn is_audited(task: TaskId) -> bool;
    /// Whether the pod of this lease runs on this host and may commit a result that is compared with others.
    fn can_commit(lease: LeaseId, host: &HostId) -> DispatchResult;
    /// The pod of this lease has ended and committed its result: it is billed no further.
    fn end_committed_pod(lease: LeaseId);
    /// Whether the lease is still of its task's present attempt: neither failed nor replaced.
    fn is_current(lease: LeaseId) -> bool;
    /// Whether a pod of the task other than those of `committed` runs or is pending, within its paid time.
    fn has_other_pods(task: TaskId, committed: &[LeaseId]) -> bool;
    /// Ends the pods of the task that still run, other than those of `committed`, without payment.
    fn end_other_pods(task: TaskId, committed: &[LeaseId]);
    /// Stores the result of the pod of this lease. The state of the task does not change before
    /// [`Self::mark_verified`].
    fn complete_pod(lease: LeaseId, result: PodResult) -> DispatchResult;
    /// Returns the deposit of this lease, including top-ups: the most that it can pay. 0 if there is no such lease.
    fn deposit_of(lease: LeaseId) -> Balance;
    /// Returns the part of the task's protocol fee that goes to the treasury, whoever settles the task, if the results
    /// of the leases `right` are right and no others are paid.
    fn treasury_fees(task: TaskId, right: &[LeaseId]) -> Balance;
    /// Forfeits the payment of the lease of a wrong or missing result.
    fn void_pod(lease: LeaseId);
    /// Requests one more pod of the task, on a host with the same device models and another provider.
    fn request_extra_pod(task: TaskId) -> DispatchResult;
    /// Reports the revealed result of a task whose work no other host repeats.
    fn mark_reported(task: TaskId) -> DispatchResult;
    /// Verifies a task whose results agree.
    fn mark_verified(task: TaskId) -> DispatchResult;
    /// Fails a task whose results do not agree; no host is paid.
    fn fail_without_agreement(task: TaskId) -> DispatchResult;

    /// Marks the task as disputed because of the results of these leases. Fails unless it is reported, its dispute
    /// window is open, and all of them are its leases.
    fn mark_disputed(task: TaskId, accused: &[LeaseId]) -> DispatchResult;
    /// Ends the dispute about these leases. If it is upheld, they are not paid, and the task fails if it has no others.
    /// Else, and without a verdict, the task is verified. `by_tenant`: whether the tenant opened the dispute.
    fn resolve_dispute(task: TaskId, accused: &[LeaseId], verdict: Option<Vote>, by_tenant: bool) -> DispatchResult;
}

/// Set-up for benchmarks.
#[cfg(feature = "runtime-benchmarks")]
pub trait BenchmarkHelper {
    /// Creates an unverified host that answers challenges, with a device. Returns it and its provider.
    fn host() -> (HostId, AccountId);
    /// Creates a reported task of `tenant` with 16 leases and an open dispute window.
    fn reported_task(tenant: &AccountId) -> TaskId;
    /// Creates the running lease of a service, which has paid fees that cover a service check.
    fn running_service() -> LeaseId;
    /// Creates a running task with replicas. Returns it with its leases (at least two) and their hosts; all pods run.
    fn replicated_task() -> (TaskId, Vec<(LeaseId, HostId)>);
    /// Sets the block number, the clock in milliseconds and the randomness of the chain.
    fn set_block(number: u32, now: u64, randomness: [u8; 32]);
}
