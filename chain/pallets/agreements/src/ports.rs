//! The port to hosts, tasks and reputation. The runtime implements it; the pallet depends on none of them.

use frame_support::dispatch::DispatchResult;
use gantry_primitives::{AccountId, Balance, HostId, LeaseId, Manifest, TaskSpec};
use sp_runtime::DispatchError;

use crate::{LeaseStatus, OfferTerms, Place};

/// The parties of a lease that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseParties {
    /// The account that pays.
    pub tenant: AccountId,
    /// The host.
    pub host: HostId,
    /// The owner of the host.
    pub provider: AccountId,
}

/// The hosts and tasks of the network.
pub trait Network {
    /// Returns the owner of a host. None if there is no such host.
    fn provider_of(host: &HostId) -> Option<AccountId>;
    /// Reserves on an online host the resources that a pod of `tenant` needs by these terms.
    fn reserve(place: &Place, terms: &OfferTerms, tenant: &AccountId) -> DispatchResult;
    /// Releases what [`Self::reserve`] reserved, whatever the status of the host.
    fn release(place: &Place, terms: &OfferTerms) -> DispatchResult;
    /// Whether a pod could start at a reserved place: the host is online and not silent, and the devices are healthy.
    fn is_available(place: &Place) -> bool;
    /// Submits a task of one pod in the name of `tenant`, and opens its lease at this place for `rate_per_hour` base units
    /// per hour.
    fn begin(
        tenant: &AccountId,
        spec: TaskSpec,
        manifest: Manifest,
        place: Place,
        rate_per_hour: Balance,
    ) -> Result<LeaseId, DispatchError>;
    /// Returns the status of a lease that [`Self::begin`] opened on `host`.
    fn lease_status(lease: LeaseId, host: &HostId) -> LeaseStatus;
    /// Returns the parties of a lease. None if it has ended or never existed.
    fn parties(lease: LeaseId) -> Option<LeaseParties>;
    /// Records as evidence about a host whether its provider responded in time. It weighs by the fees that the lease has
    /// paid. Nothing is recorded if tenant and provider are one account.
    fn note_response(lease: LeaseId, host: &HostId, in_time: bool);

    /// Creates an online host of a provider, and returns a place on it and terms of which it is one. For benchmarks.
    #[cfg(feature = "runtime-benchmarks")]
    fn create_place(provider: &AccountId) -> (Place, OfferTerms);
    /// Returns a task that [`Self::begin`] accepts for these terms.
    #[cfg(feature = "runtime-benchmarks")]
    fn create_task(terms: &OfferTerms) -> (TaskSpec, Manifest);
    /// Creates a live lease of `tenant`. Returns it and the provider of its host.
    #[cfg(feature = "runtime-benchmarks")]
    fn create_lease(tenant: &AccountId) -> (LeaseId, AccountId);
    /// Sets the time of the chain.
    #[cfg(feature = "runtime-benchmarks")]
    fn set_time(now: gantry_primitives::Moment);
}
