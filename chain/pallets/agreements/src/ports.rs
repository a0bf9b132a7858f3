//! What this pallet needs of hosts, tasks and reputation. The runtime joins them; the pallet knows none of them.

use frame_support::dispatch::DispatchResult;
use gantry_primitives::{AccountId, Balance, HostId, LeaseId, Manifest, TaskSpec};
use sp_runtime::DispatchError;

use crate::{OfferTerms, Place, Standing};

/// The parties of a lease that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseParties {
    /// Who pays.
    pub tenant: AccountId,
    /// The host.
    pub host: HostId,
    /// Who owns the host.
    pub provider: AccountId,
}

/// The hosts and tasks of the network.
pub trait Network {
    /// Who owns the host of this account; none where it is no host's.
    fn provider_of(host: &HostId) -> Option<AccountId>;
    /// Takes what a pod of `tenant` by these terms needs from an online host.
    fn reserve(place: &Place, terms: &OfferTerms, tenant: &AccountId) -> DispatchResult;
    /// Gives back what [`Self::reserve`] took, whatever the status of the host.
    fn release(place: &Place, terms: &OfferTerms) -> DispatchResult;
    /// Whether the host is online, and the reserved devices are in order, so that a pod could start.
    fn is_able(place: &Place) -> bool;
    /// Submits a task of one pod in the name of `tenant` and opens its lease at this place for `rate_per_hour`.
    fn begin(
        tenant: &AccountId,
        spec: TaskSpec,
        manifest: Manifest,
        place: Place,
        rate_per_hour: Balance,
    ) -> Result<LeaseId, DispatchError>;
    /// What is known of a lease that [`Self::begin`] opened.
    fn standing(lease: LeaseId) -> Standing;
    /// The parties of a lease; none where it has ended or never was.
    fn parties(lease: LeaseId) -> Option<LeaseParties>;
    /// Notes as evidence about the host whether its provider responded in time. It weighs by the fees that the lease has
    /// paid; nothing is noted where tenant and provider are one.
    fn note_response(lease: LeaseId, host: &HostId, in_time: bool);

    /// A place of a provider with these terms, on an online host, for a benchmark.
    #[cfg(feature = "runtime-benchmarks")]
    fn a_place(provider: &AccountId) -> (Place, OfferTerms);
    /// A task that [`Self::begin`] accepts for these terms.
    #[cfg(feature = "runtime-benchmarks")]
    fn a_task(terms: &OfferTerms) -> (TaskSpec, Manifest);
    /// A live lease of `tenant`, and the provider of its host.
    #[cfg(feature = "runtime-benchmarks")]
    fn a_lease(tenant: &AccountId) -> (LeaseId, AccountId);
    /// The clock of the chain moves to this time.
    #[cfg(feature = "runtime-benchmarks")]
    fn set_time(now: gantry_primitives::Moment);
}
