//! Pods of one task that may not share a host, or a provider.

use alloc::vec::Vec;

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    layout::{are_apart, Apart},
    AccountId, HostId,
};

use crate::{
    desk::{Case, Desk},
    Config, Error,
};

impl<T: Config> Desk<T> {
    /// Whether the layout of a task lets pods go to `hosts`, beside its others. The lease in the place `leaving` ends
    /// then. Fails with `HostRepeated` and `ProviderRepeated`.
    pub fn ensure_apart<'a>(
        &mut self,
        case: &Case,
        leaving: Option<usize>,
        hosts: impl IntoIterator<Item = &'a HostId>,
    ) -> DispatchResult {
        let Some(by) = case.spec().apart() else { return Ok(()) };
        let taken = self.of_hosts(by, hosts_beside(case, leaving))?;
        let added = self.of_hosts(by, hosts)?;
        let error = match by {
            Apart::ByHost => Error::<T>::HostRepeated,
            Apart::ByProvider => Error::<T>::ProviderRepeated,
        };
        ensure!(are_apart(&taken, &added), error);
        Ok(())
    }

    /// The hosts themselves, or their providers.
    fn of_hosts<'a>(
        &mut self,
        by: Apart,
        hosts: impl IntoIterator<Item = &'a HostId>,
    ) -> Result<Vec<AccountId>, DispatchError> {
        let of = |host: &HostId| match by {
            Apart::ByHost => Ok(host.clone()),
            Apart::ByProvider => Ok(self.host(host)?.record.provider.clone()),
        };
        hosts.into_iter().map(of).collect()
    }
}

impl Case {
    /// Of how many leases the hosts are looked up when further pods are placed.
    pub fn looked_up(&self) -> u32 {
        match self.spec().apart() {
            Some(Apart::ByProvider) => self.record.leases.len() as u32,
            Some(Apart::ByHost) | None => 0,
        }
    }
}

/// Where the pods of a task are. Replicas that have ended count: their results are compared.
fn hosts_beside(case: &Case, leaving: Option<usize>) -> impl Iterator<Item = &HostId> {
    let leases = case.record.leases.iter().enumerate();
    let stays = move |place| leaving != Some(place);
    let counts =
        leases.filter(move |(place, lease)| stays(*place) && (lease.state.is_live() || case.spec().is_redundant()));
    counts.map(|(_, lease)| &lease.host)
}
