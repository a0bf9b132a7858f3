//! What this pallet needs of hosts and tasks. The runtime joins them; the pallet knows neither.
//!
//! What returns nothing cannot fail: it does what it can and leaves the rest.

use alloc::vec::Vec;
use frame_support::dispatch::DispatchResult;
use gantry_primitives::{AccountId, Balance, DeviceSpec, HostId, LeaseId, Misconduct, PodResult, TaskId, Vote};

/// The hosts of the network.
pub trait Hosts {
    /// Who owns the host of this account; none where it is no host's.
    fn provider_of(host: &HostId) -> Option<AccountId>;
    /// Whether the host may be challenged: it is registered, neither retired nor on its way out, suspended for nothing
    /// but a failed challenge, and was heard of within the absence limit.
    fn is_listed(host: &HostId) -> bool;
    /// What its provider says about this device of the host; none where there is no such device.
    fn device_of(host: &HostId, device: u8) -> Option<DeviceSpec>;
    /// Whether the record of the host says that it answers challenges.
    fn answers_challenges(host: &HostId) -> bool;
    /// Whether a lease holds some of this device of the host.
    fn is_leased(host: &HostId, device: u8) -> bool;
    /// This device of the host takes no new lease; none: every device may. A lease that holds it goes on.
    fn set_challenged(host: &HostId, device: Option<u8>);
    /// Notes whether this device of the host is proved to be what its provider says.
    fn attest(host: &HostId, device: u8, ok: bool);
    /// A host that is unverified, or suspended for a failed challenge, becomes verified. Nothing happens to any other.
    fn mark_verified(host: &HostId);
    /// The host takes no leases until governance lets it. Nothing happens to one that is suspended or gone.
    fn suspend(host: &HostId);
    /// Slashes and writes reputation by the table of faults; `duration_ms` is for how long the network was deceived.
    fn punish(host: &HostId, why: Misconduct, duration_ms: u64);
    /// Takes up to `amount` of the bond of the host for a wrong or missing result, and holds it against its provider in
    /// proportion to the bond. The `rewards` are paid of it in their order, as far as it goes, and the rest goes to the
    /// treasury. Returns what each reward came to.
    fn slash(host: &HostId, why: Misconduct, amount: Balance, rewards: &[(AccountId, Balance)]) -> Vec<Balance>;
    /// What the bond of the host is now.
    fn bond_of(host: &HostId) -> Balance;
    /// How often the hardware of the host was changed.
    fn generation_of(host: &HostId) -> u32;
    /// Moves up to `amount` from the bond of the host to `to`, and says how much.
    fn compensate(host: &HostId, to: &AccountId, amount: Balance) -> Balance;
}

/// The tasks of the network.
pub trait Tasks {
    /// Who pays for the task; none where there is no such task.
    fn tenant_of(task: TaskId) -> Option<AccountId>;
    /// The leases of the task's present attempt, at most 16, each with its host. Of a task that is reported, those that
    /// worked on the result.
    fn leases_of(task: TaskId) -> Vec<(LeaseId, HostId)>;
    /// The task of a lease.
    fn task_of(lease: LeaseId) -> TaskId;
    /// Whether `tenant` pays for this lease, and the lease holds some of this device of the host now.
    fn holds_device(lease: LeaseId, tenant: &AccountId, host: &HostId, device: u8) -> bool;

    /// How many hosts work on the task for their results to be compared; none where they are not compared or the task
    /// has no pod that runs or waits for the others.
    fn replicas_of(task: TaskId) -> Option<u8>;
    /// Whether the chain draws if another host repeats the work of the task.
    fn is_audited(task: TaskId) -> bool;
    /// Whether the pod of this lease runs on this host and may commit a result that is compared with others.
    fn can_commit(lease: LeaseId, host: &HostId) -> DispatchResult;
    /// The pod of this lease has ended and committed its result: it is billed no further.
    fn committed(lease: LeaseId);
    /// Whether the lease is still of its task's present attempt: neither failed nor replaced.
    fn is_current(lease: LeaseId) -> bool;
    /// Whether any pod of the task other than those of `committed` still runs within the time that is paid for.
    fn runs_on(task: TaskId, committed: &[LeaseId]) -> bool;
    /// The pods of the task that still run, other than those of `committed`, end unpaid: nobody waits for them any more.
    fn end_others(task: TaskId, committed: &[LeaseId]);
    /// The pod of this lease ended with this result. The task goes no further before [`Self::verified`].
    fn complete_pod(lease: LeaseId, result: PodResult) -> DispatchResult;
    /// The coins that were held for this lease when it was opened, and since: the most that it can pay. 0 where there is no
    /// such lease.
    fn deposit_of(lease: LeaseId) -> Balance;
    /// What the treasury gets of the protocol fee of the task, whoever settles it, where the results of these leases are
    /// right and no others are paid.
    fn treasury_fees(task: TaskId, right: &[LeaseId]) -> Balance;
    /// The lease of a wrong or missing result is not paid.
    fn void_pod(lease: LeaseId);
    /// The task wants one more pod, on a host of the same model and of a provider that it does not have yet.
    fn want_extra_pod(task: TaskId) -> DispatchResult;
    /// Nobody repeats the work of the task: the result that was revealed is reported.
    fn not_repeated(task: TaskId) -> DispatchResult;
    /// The results of the task agree: it is verified.
    fn verified(task: TaskId) -> DispatchResult;
    /// No two results agree and no further host is asked: the task fails and nobody is paid.
    fn no_agreement(task: TaskId) -> DispatchResult;

    /// The results of these leases of the task are in dispute from now on; refused unless it is reported, its dispute
    /// window is open, and all of them are its leases.
    fn dispute(task: TaskId, accused: &[LeaseId]) -> DispatchResult;
    /// The dispute about these leases is over. Where the complaint is right they are not paid, and the task fails if it
    /// has no others. Else, and without a verdict, it is verified. `by_tenant`: whether it was the tenant who
    /// complained.
    fn resolve(task: TaskId, accused: &[LeaseId], verdict: Option<Vote>, by_tenant: bool) -> DispatchResult;
}

/// What benchmarks need to exist.
#[cfg(feature = "runtime-benchmarks")]
pub trait BenchmarkHelper {
    /// An unverified host that answers challenges, with a device, and its provider.
    fn host() -> (HostId, AccountId);
    /// A reported task of `tenant` with 16 leases, its dispute window open.
    fn reported_task(tenant: &AccountId) -> TaskId;
    /// A running task whose results are compared, with each of its leases (at least two) and their hosts; all pods run.
    fn replicated_task() -> (TaskId, Vec<(LeaseId, HostId)>);
    /// The block number, the clock (in milliseconds) and the randomness of the chain move to these.
    fn set_block(number: u32, now: u64, randomness: [u8; 32]);
}
