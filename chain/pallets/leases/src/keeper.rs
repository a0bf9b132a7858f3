//! What keeps the leases: the tasks pallet, inside the records of tasks.

use gantry_primitives::{AccountId, EndReason, HostRecord, Lease, LeaseId, TaskSpec};
use sp_runtime::{DispatchError, DispatchResult};

use crate::{billing::Ledger, Config};

/// A lease with what it hangs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The lease.
    pub lease: Lease,
    /// Who pays.
    pub tenant: AccountId,
    /// What was asked for.
    pub spec: TaskSpec,
    /// The host of the lease, whose provider is paid.
    pub host: HostRecord,
    /// For how many milliseconds the host has been absent in all, an absence that goes on included.
    pub downtime_ms: u64,
}

/// Reads and stores leases. They are kept where one read brings the whole task.
pub trait Keeper<T: Config> {
    /// A lease, or the keeper's error where there is none of this number.
    fn read(id: LeaseId) -> Result<Kept, DispatchError>;

    /// Stores a lease that was changed, and commits `ledger`.
    ///
    /// The host gets back what the lease no longer holds (see [`Lease::holds`]) and gives what it holds anew: refused
    /// where the host is not online or it is not free. The list of the host's leases follows. A move that
    /// `LEASE_TRANSITIONS` does not list is refused. Where it fails, some of it may have been written: it is to be
    /// called in a transaction, as every call of a pallet is. No event, and the task's state stays.
    fn write(id: LeaseId, lease: Lease, ledger: Ledger<T>) -> DispatchResult;

    /// Ends a live lease of a service or rental because of `reason`, with all that follows for its task, and says so
    /// in an event of the keeper. `settler`: whose call ends it; None where the agenda does.
    fn end(id: LeaseId, reason: EndReason, settler: Option<AccountId>) -> DispatchResult;

    /// An active lease of a rental for each `number`, with a tenant that can pay and a host that is online.
    #[cfg(feature = "runtime-benchmarks")]
    fn a_rental(number: u32) -> LeaseId;

    /// As [`Self::a_rental`], of a service whose pod goes on elsewhere when its provider has reclaimed the lease.
    #[cfg(feature = "runtime-benchmarks")]
    fn a_guarded_lease(number: u32) -> LeaseId;
}
