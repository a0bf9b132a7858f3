//! Migration of pods to other hosts: standbys that are named in advance, moves, and checkpoints.

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    lease_id, AccountId, Balance, Billing, Digest, EndReason, Lease, LeaseId, LeaseState, PodCheckpoint, StandbyPlace,
    Survival, TaskRecord,
};

use crate::{
    changes::{LoadedTask, TaskChanges},
    hosts, Config, CurrentParams, Error, Event, Pallet, Schedulers,
};

/// The host to which a pod migrates, with its resources allocated.
pub(crate) struct MigrationTarget {
    at: StandbyPlace,
    generation: u16,
    rate_per_hour: Balance,
    assigned_by: Option<AccountId>,
}

impl<T: Config> Pallet<T> {
    pub(crate) fn do_name_standby(who: &AccountId, lease: LeaseId, named: StandbyPlace) -> DispatchResult {
        let mut changes = TaskChanges::<T>::new();
        let (mut loaded, position) = changes.load_lease(lease)?;
        Self::ensure_scheduler_or_tenant(who, &loaded)?;
        ensure!(loaded.record.leases[position].state.is_live(), Error::<T>::LeaseEnded);
        ensure!(loaded.spec().survival == Survival::Standby, Error::<T>::NoStandbyWanted);
        if let Some(named) = &loaded.record.leases[position].standby {
            ensure!(changes.ensure_can_migrate(&loaded, position, named).is_err(), Error::<T>::StandbyStands);
        }
        let host = named.host.clone();
        let providers = [&host, &loaded.record.leases[position].host].map(hosts::Pallet::<T>::provider_of);
        let [standby_provider, own_provider] = providers;
        ensure!(standby_provider? != own_provider?, Error::<T>::StandbyOfSameProvider);
        changes.ensure_can_migrate(&loaded, position, &named)?;
        loaded.record.leases[position].standby = Some(named);
        changes.store(loaded);
        changes.commit()?;
        hosts::Pallet::<T>::note_standby(&host);
        Self::deposit_event(Event::StandbyNamed { lease, host });
        Ok(())
    }

    pub(crate) fn do_move_pod(who: &AccountId, lease: LeaseId, to: StandbyPlace) -> DispatchResult {
        let mut changes = TaskChanges::<T>::new();
        let (loaded, position) = changes.load_lease(lease)?;
        Self::ensure_scheduler_or_tenant(who, &loaded)?;
        let lease_record = &loaded.record.leases[position];
        ensure!(lease_record.state.is_live(), Error::<T>::LeaseEnded);
        ensure!(loaded.spec().moves_pods(), Error::<T>::NotMovable);
        ensure!(!loaded.has_preemption_notice(), Error::<T>::AlreadyNoticed);
        ensure!(lease_record.host != to.host, Error::<T>::SameHost);
        let is_healthy = changes.has_healthy_host(lease_record)?;
        ensure!(!is_healthy || *who == loaded.record.tenant, Error::<T>::HostInOrder);
        // A host from which a pod is moved because of the host is paid for the used time only.
        let billing = if is_healthy { EndReason::Moved.billing(loaded.spec().kind) } else { Billing::ProRata };
        let mut target = changes.allocate_target(&loaded, position, to, EndReason::Moved, billing)?;
        target.assigned_by = Some(who.clone()).filter(|who| *who != loaded.record.tenant);
        changes.migrate(loaded, position, target, EndReason::Moved, billing);
        changes.commit()
    }

    fn ensure_scheduler_or_tenant(who: &AccountId, loaded: &LoadedTask) -> DispatchResult {
        let may = *who == loaded.record.tenant || Schedulers::<T>::contains_key(who);
        ensure!(may, Error::<T>::NotSchedulerOrTenant);
        Ok(())
    }
}

/// Checks whether the host of a lease may report a checkpoint of its pod now.
pub(crate) fn check_checkpoint<T: Config>(record: &TaskRecord, position: usize) -> DispatchResult {
    let lease = &record.leases[position];
    ensure!(lease.state == LeaseState::Active, Error::<T>::LeaseNotActive);
    let last = record.checkpoints.iter().find(|checkpoint| checkpoint.pod == lease.pod);
    let min_ms = CurrentParams::<T>::get().checkpoint_min_ms;
    let is_due = last.is_none_or(|last| hosts::Pallet::<T>::now() >= last.at.saturating_add(min_ms));
    ensure!(is_due, Error::<T>::CheckpointTooSoon);
    Ok(())
}

impl<T: Config> TaskChanges<T> {
    /// Stores a checkpoint of the pod of an active lease. Fails with `ResultsAreCompared` for a replica: a result that
    /// continues from the checkpoint of another host would prove nothing.
    pub(crate) fn checkpoint(
        &mut self,
        mut loaded: LoadedTask,
        position: usize,
        digest: Digest,
        bytes: u64,
    ) -> DispatchResult {
        ensure!(!loaded.spec().is_redundant(), Error::<T>::ResultsAreCompared);
        let Lease { pod, ref host, .. } = loaded.record.leases[position];
        let checkpoint = PodCheckpoint { pod, digest, bytes, host: host.clone(), at: self.now };
        let known = &mut loaded.record.checkpoints;
        match known.binary_search_by_key(&pod, |checkpoint| checkpoint.pod) {
            Ok(found) => known[found] = checkpoint,
            // There is room: a task has at most as many pods as checkpoints.
            Err(free) => known.try_insert(free, checkpoint).map_err(|_| Error::<T>::Overflow)?,
        }
        let lease = loaded.lease_id_at(position);
        self.store(loaded);
        Pallet::<T>::deposit_event(Event::Checkpointed { lease, digest, bytes });
        Ok(())
    }

    /// Whether the host of a lease and the devices of the lease are healthy, and the provider has not reclaimed the
    /// lease.
    fn has_healthy_host(&mut self, lease: &Lease) -> Result<bool, DispatchError> {
        let host_is_healthy = self.is_healthy(&lease.host)?;
        let all = &self.host(&lease.host)?.record.devices;
        let is_healthy = |index: &u8| all.get(usize::from(*index)).is_some_and(|device| device.healthy);
        Ok(host_is_healthy && lease.reclaim_at.is_none() && lease.devices.iter().all(is_healthy))
    }

    /// Checks whether the pod of a lease could migrate to a host now. Changes nothing.
    fn ensure_can_migrate(&mut self, loaded: &LoadedTask, position: usize, at: &StandbyPlace) -> DispatchResult {
        ensure!(!loaded.record.excludes(&at.host), Error::<T>::HostRefusedTask);
        ensure!(self.is_healthy(&at.host)?, Error::<T>::HostDeteriorates);
        self.ensure_anti_affinity(loaded, Some(position), [&at.host])?;
        self.ensure_fits(loaded.lease_id_at(position), &at.host, &loaded.spec_record, &at.devices)?;
        self.rate_at(loaded.spec(), &at.host, &at.devices, at.rate_per_hour)?;
        Ok(())
    }

    /// Allocates resources on a host for the pod of a lease, which will end for `reason`. Fails, and changes nothing,
    /// if the host is not suitable or nothing would be left of the deposit.
    fn allocate_target(
        &mut self,
        loaded: &LoadedTask,
        position: usize,
        at: StandbyPlace,
        reason: EndReason,
        billing: Billing,
    ) -> Result<MigrationTarget, DispatchError> {
        let generation = loaded.record.generation.checked_add(1).ok_or(Error::<T>::Overflow)?;
        let mut after = loaded.record.leases[position].clone();
        let downtime_ms = self.downtime_of(&after.host)?;
        after.end_billed(reason, billing, loaded.spec().kind, self.now, downtime_ms, self.billing.held_back_ms);
        self.ensure_can_migrate(loaded, position, &at)?;
        let rate_per_hour = self.rate_at(loaded.spec(), &at.host, &at.devices, at.rate_per_hour)?;
        let is_covered = after.escrow.accrued < after.escrow.deposit || rate_per_hour == 0;
        ensure!(is_covered, Error::<T>::DepositUsedUp);
        let id = lease_id(loaded.task, after.pod, generation);
        self.allocate(id, &at.host, &loaded.spec_record, &at.devices)?;
        Ok(MigrationTarget { at, generation, rate_per_hour, assigned_by: after.assigned_by })
    }

    /// Allocates resources on the standby of a failed lease. None if the lease has no standby, or the task has a
    /// preemption notice.
    pub fn allocate_standby(
        &mut self,
        loaded: &LoadedTask,
        position: usize,
        reason: EndReason,
    ) -> Option<MigrationTarget> {
        let at = loaded.record.leases[position].standby.clone().filter(|_| !loaded.has_preemption_notice())?;
        self.allocate_target(loaded, position, at, reason, reason.billing(loaded.spec().kind)).ok()
    }

    /// Migrates the pod of a live lease to `target`: the lease ends and is paid, and the rest of its deposit becomes
    /// the deposit of the new lease.
    pub fn migrate(
        &mut self,
        mut loaded: LoadedTask,
        position: usize,
        target: MigrationTarget,
        reason: EndReason,
        billing: Billing,
    ) {
        let (task, from) = (loaded.task, loaded.lease_id_at(position));
        let MigrationTarget { at: StandbyPlace { host, devices, .. }, generation, rate_per_hour, assigned_by } = target;
        self.end_for_migration(&mut loaded, position, reason, billing);
        let (bill, deposit) = self.roll_over(&mut loaded, position);
        let pod = loaded.record.leases[position].pod;
        let escrow = self.new_escrow(deposit, rate_per_hour, loaded.spec().unit, assigned_by.is_some());
        loaded.record.generation = generation;
        let sla = self.terms_at(&loaded, &host);
        let lease = Lease::new(pod, generation, host.clone(), devices, self.now, escrow);
        loaded.record.leases[position] = Lease { assigned_by, sla, ..lease };
        let to = loaded.lease_id_at(position);
        self.store(loaded);
        Pallet::<T>::deposit_event(Event::LeaseMoved { task, from, to, host, rate_per_hour, deposit, bill, reason });
    }
}
