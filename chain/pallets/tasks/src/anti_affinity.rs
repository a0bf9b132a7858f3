//! Anti-affinity: pods of one task that must not share a host, or a provider.

use alloc::vec::Vec;

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    layout::{satisfies_anti_affinity, AntiAffinity},
    AccountId, HostId,
};

use crate::{
    changes::{LoadedTask, TaskChanges},
    Config, Error,
};

impl<T: Config> TaskChanges<T> {
    /// Checks that pods may be placed on `hosts` beside the other pods of the task. The lease at the position
    /// `replaced` ends then. Fails with `HostRepeated` and `ProviderRepeated`.
    pub fn ensure_anti_affinity<'a>(
        &mut self,
        loaded: &LoadedTask,
        replaced: Option<usize>,
        hosts: impl IntoIterator<Item = &'a HostId>,
    ) -> DispatchResult {
        let Some(rule) = loaded.spec().anti_affinity() else { return Ok(()) };
        let existing = self.topology_keys(rule, occupied_hosts(loaded, replaced))?;
        let added = self.topology_keys(rule, hosts)?;
        let error = match rule {
            AntiAffinity::ByHost => Error::<T>::HostRepeated,
            AntiAffinity::ByProvider => Error::<T>::ProviderRepeated,
        };
        ensure!(satisfies_anti_affinity(&existing, &added), error);
        Ok(())
    }

    /// Returns the values that must differ: the hosts themselves, or their providers.
    fn topology_keys<'a>(
        &mut self,
        rule: AntiAffinity,
        hosts: impl IntoIterator<Item = &'a HostId>,
    ) -> Result<Vec<AccountId>, DispatchError> {
        let key_of = |host: &HostId| match rule {
            AntiAffinity::ByHost => Ok(host.clone()),
            AntiAffinity::ByProvider => Ok(self.host(host)?.record.provider.clone()),
        };
        hosts.into_iter().map(key_of).collect()
    }
}

impl LoadedTask {
    /// Returns how many leases' hosts are read when further pods are placed.
    pub fn topology_lookups(&self) -> u32 {
        match self.spec().anti_affinity() {
            Some(AntiAffinity::ByProvider) => self.record.leases.len() as u32,
            Some(AntiAffinity::ByHost) | None => 0,
        }
    }
}

/// Returns the hosts on which pods of a task are. Replicas that have ended count, because their results are compared.
fn occupied_hosts(loaded: &LoadedTask, replaced: Option<usize>) -> impl Iterator<Item = &HostId> {
    let leases = loaded.record.leases.iter().enumerate();
    let stays = move |position| replaced != Some(position);
    let counts = leases
        .filter(move |(position, lease)| stays(*position) && (lease.state.is_live() || loaded.spec().is_redundant()));
    counts.map(|(_, lease)| &lease.host)
}
