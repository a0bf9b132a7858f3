//! The port by which leases are read and stored. The tasks pallet implements it: leases are inside the records of
//! tasks.

use gantry_primitives::{AccountId, Balance, EndReason, HostRecord, Lease, LeaseId, TaskSpec};
use sp_runtime::{DispatchError, DispatchResult};

use crate::{billing::Ledger, Config};

/// A lease with the values that its rules need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLease {
    /// The lease.
    pub lease: Lease,
    /// The account that pays.
    pub tenant: AccountId,
    /// The spec of its task.
    pub spec: TaskSpec,
    /// The host of the lease, whose provider is paid.
    pub host: HostRecord,
    /// The total downtime of the host in milliseconds, including a present absence.
    pub downtime_ms: u64,
}

/// Reads and stores leases. They are stored in the record of their task, so that one read returns all of them.
pub trait LeaseStore<T: Config> {
    /// Returns a lease. Fails with the error of the implementation if there is none with this number.
    fn read(id: LeaseId) -> Result<StoredLease, DispatchError>;

    /// Stores a changed lease, and commits `ledger`.
    ///
    /// Resources that the lease no longer holds (see [`Lease::holds`]) are released on its host, and those that it
    /// holds in addition are allocated: this fails if the host is not online or they are not free. The list of the
    /// host's leases is updated. A transition that `LEASE_TRANSITIONS` does not list is refused. A failure may leave
    /// partial changes, so callers run in a transaction, as every call of a pallet does. No event is emitted, and the
    /// state of the task does not change.
    fn write(id: LeaseId, lease: Lease, ledger: Ledger<T>) -> DispatchResult;

    /// Pays up to `amount` of the bond of the lease's host to its tenant. Returns the paid amount.
    fn compensate(stored: &StoredLease, amount: Balance) -> Result<Balance, DispatchError>;

    /// Ends a live lease of a service or rental because of `reason`, with all consequences for its task, and emits an
    /// event of the implementation. `settler` is the account whose call ends it; None if the agenda does.
    fn end(id: LeaseId, reason: EndReason, settler: Option<AccountId>) -> DispatchResult;

    /// Creates an active lease of a rental for each `number`, with a tenant that can pay and a host that is online.
    #[cfg(feature = "runtime-benchmarks")]
    fn create_rental(number: u32) -> LeaseId;

    /// As [`Self::create_rental`], for a service whose pod migrates when its provider has reclaimed the lease.
    #[cfg(feature = "runtime-benchmarks")]
    fn create_lease_with_standby(number: u32) -> LeaseId;
}
