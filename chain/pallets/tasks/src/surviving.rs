//! Pods that go on at another host: standbys named in advance, moves, and the checkpoints from which they go on.

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    lease_id, AccountId, Balance, Billing, Digest, EndReason, Lease, LeaseId, LeaseState, PodCheckpoint, StandbyPlace,
    Survival, TaskRecord,
};

use crate::{
    desk::{Case, Desk},
    hosts, Config, CurrentParams, Error, Event, Pallet, Schedulers,
};

/// Room that was taken for a pod that goes on elsewhere.
pub(crate) struct Room {
    at: StandbyPlace,
    generation: u16,
    rate_per_hour: Balance,
    assigned_by: Option<AccountId>,
}

impl<T: Config> Pallet<T> {
    pub(crate) fn do_name_standby(who: &AccountId, lease: LeaseId, named: StandbyPlace) -> DispatchResult {
        let mut desk = Desk::<T>::new();
        let (mut case, place) = desk.open_lease(lease)?;
        Self::ensure_may_place(who, &case)?;
        ensure!(case.record.leases[place].state.is_live(), Error::<T>::LeaseEnded);
        ensure!(case.spec().survival == Survival::Standby, Error::<T>::NoStandbyWanted);
        if let Some(named) = &case.record.leases[place].standby {
            ensure!(desk.ensure_suits(&case, place, named).is_err(), Error::<T>::StandbyStands);
        }
        let host = named.host.clone();
        let providers = [&host, &case.record.leases[place].host].map(hosts::Pallet::<T>::provider_of);
        let [there, here] = providers;
        ensure!(there? != here?, Error::<T>::StandbyOfSameProvider);
        desk.ensure_suits(&case, place, &named)?;
        case.record.leases[place].standby = Some(named);
        desk.put(case);
        desk.commit()?;
        hosts::Pallet::<T>::note_standby(&host);
        Self::deposit_event(Event::StandbyNamed { lease, host });
        Ok(())
    }

    pub(crate) fn do_move_pod(who: &AccountId, lease: LeaseId, to: StandbyPlace) -> DispatchResult {
        let mut desk = Desk::<T>::new();
        let (case, place) = desk.open_lease(lease)?;
        Self::ensure_may_place(who, &case)?;
        let of = &case.record.leases[place];
        ensure!(of.state.is_live(), Error::<T>::LeaseEnded);
        ensure!(case.spec().moves_pods(), Error::<T>::NotMovable);
        ensure!(!case.is_told_to_leave(), Error::<T>::AlreadyNoticed);
        ensure!(of.host != to.host, Error::<T>::SameHost);
        let in_order = desk.serves_well(of)?;
        ensure!(!in_order || *who == case.record.tenant, Error::<T>::HostInOrder);
        // A host from which a pod is moved for its own sake sells no more than the time that was used.
        let billing = if in_order { EndReason::Moved.billing(case.spec().kind) } else { Billing::ProRata };
        let mut room = desk.room_at(&case, place, to, EndReason::Moved, billing)?;
        room.assigned_by = Some(who.clone()).filter(|who| *who != case.record.tenant);
        desk.go_on(case, place, room, EndReason::Moved, billing);
        desk.commit()
    }

    fn ensure_may_place(who: &AccountId, case: &Case) -> DispatchResult {
        let may = *who == case.record.tenant || Schedulers::<T>::contains_key(who);
        ensure!(may, Error::<T>::NotSchedulerOrTenant);
        Ok(())
    }
}

/// Whether the host of a lease may report a checkpoint of its pod now.
pub(crate) fn check_checkpoint<T: Config>(record: &TaskRecord, place: usize) -> DispatchResult {
    let lease = &record.leases[place];
    ensure!(lease.state == LeaseState::Active, Error::<T>::LeaseNotActive);
    let last = record.checkpoints.iter().find(|checkpoint| checkpoint.pod == lease.pod);
    let min_ms = CurrentParams::<T>::get().checkpoint_min_ms;
    let has_rested = last.is_none_or(|last| hosts::Pallet::<T>::now() >= last.at.saturating_add(min_ms));
    ensure!(has_rested, Error::<T>::CheckpointTooSoon);
    Ok(())
}

impl<T: Config> Desk<T> {
    /// Notes a checkpoint of the pod of an active lease. Fails with `ResultsAreCompared` where replicas run the pod: one
    /// that went on from what another host has kept would be no proof.
    pub(crate) fn checkpoint(&mut self, mut case: Case, place: usize, digest: Digest, bytes: u64) -> DispatchResult {
        ensure!(!case.spec().is_redundant(), Error::<T>::ResultsAreCompared);
        let Lease { pod, ref host, .. } = case.record.leases[place];
        let checkpoint = PodCheckpoint { pod, digest, bytes, host: host.clone(), at: self.now };
        let known = &mut case.record.checkpoints;
        match known.binary_search_by_key(&pod, |checkpoint| checkpoint.pod) {
            Ok(found) => known[found] = checkpoint,
            // There is room: pods are as many as checkpoints may be.
            Err(free) => known.try_insert(free, checkpoint).map_err(|_| Error::<T>::Overflow)?,
        }
        let lease = case.id(place);
        self.put(case);
        Pallet::<T>::deposit_event(Event::Checkpointed { lease, digest, bytes });
        Ok(())
    }

    /// Whether the host of a lease is in order, with all that the pod uses of it, and is to remain its host.
    fn serves_well(&mut self, lease: &Lease) -> Result<bool, DispatchError> {
        let is_in_order = self.is_in_order(&lease.host)?;
        let all = &self.host(&lease.host)?.record.devices;
        let is_healthy = |index: &u8| all.get(usize::from(*index)).is_some_and(|device| device.healthy);
        Ok(is_in_order && lease.reclaim_at.is_none() && lease.devices.iter().all(is_healthy))
    }

    /// Whether the pod of a lease could go on at a place now. Takes nothing.
    fn ensure_suits(&mut self, case: &Case, place: usize, at: &StandbyPlace) -> DispatchResult {
        ensure!(!case.record.excludes(&at.host), Error::<T>::HostRefusedTask);
        ensure!(self.is_in_order(&at.host)?, Error::<T>::HostDeteriorates);
        self.ensure_apart(case, Some(place), [&at.host])?;
        self.ensure_fits(case.id(place), &at.host, &case.shared, &at.devices)?;
        self.rate_at(case.spec(), &at.host, &at.devices, at.rate_per_hour)?;
        Ok(())
    }

    /// Takes room at a place for the pod of a lease, for the time when that lease ends for this reason. Fails, and takes
    /// nothing, where the place does not suit or nothing would be left of the deposit.
    fn room_at(
        &mut self,
        case: &Case,
        place: usize,
        at: StandbyPlace,
        reason: EndReason,
        billing: Billing,
    ) -> Result<Room, DispatchError> {
        let generation = case.record.generation.checked_add(1).ok_or(Error::<T>::Overflow)?;
        let mut after = case.record.leases[place].clone();
        let away = self.downtime_of(&after.host)?;
        after.end_billed(reason, billing, case.spec().kind, self.now, away, self.billing.held_back_ms);
        self.ensure_suits(case, place, &at)?;
        let rate_per_hour = self.rate_at(case.spec(), &at.host, &at.devices, at.rate_per_hour)?;
        let is_covered = after.escrow.accrued < after.escrow.deposit || rate_per_hour == 0;
        ensure!(is_covered, Error::<T>::DepositUsedUp);
        let id = lease_id(case.task, after.pod, generation);
        self.take(id, &at.host, &case.shared, &at.devices)?;
        Ok(Room { at, generation, rate_per_hour, assigned_by: after.assigned_by })
    }

    /// Takes room at the standby of a lease that is lost; none where it has none, or has been told to leave.
    pub fn room_at_standby(&mut self, case: &Case, place: usize, reason: EndReason) -> Option<Room> {
        let at = case.record.leases[place].standby.clone().filter(|_| !case.is_told_to_leave())?;
        self.room_at(case, place, at, reason, reason.billing(case.spec().kind)).ok()
    }

    /// The pod of a live lease goes on where room was taken for it: the lease ends and is paid, and what is left of its
    /// deposit is that of the new one.
    pub fn go_on(&mut self, mut case: Case, place: usize, room: Room, reason: EndReason, billing: Billing) {
        let (task, from) = (case.task, case.id(place));
        let Room { at: StandbyPlace { host, devices, .. }, generation, rate_per_hour, assigned_by } = room;
        self.leave(&mut case, place, reason, billing);
        let (bill, deposit) = self.carry_on(&mut case, place);
        let pod = case.record.leases[place].pod;
        let escrow = self.new_escrow(deposit, rate_per_hour, case.spec().unit, assigned_by.is_some());
        case.record.generation = generation;
        let lease = Lease::new(pod, generation, host.clone(), devices, self.now, escrow);
        case.record.leases[place] = Lease { assigned_by, ..lease };
        let to = case.id(place);
        self.put(case);
        Pallet::<T>::deposit_event(Event::LeaseMoved { task, from, to, host, rate_per_hour, deposit, bill, reason });
    }
}
