//! The implementation of the calls.

use frame_support::pallet_prelude::*;
use frame_system::pallet_prelude::BlockNumberFor;
use gantry_primitives::{
    faults::Fault,
    rate::check_ask,
    registration::{hardware_message, registration_message},
    transitions::{allows, HOST_TRANSITIONS},
    AccountId, Ask, Balance, Capacity, Device, DeviceIndices, Endpoint, HardwareSpec, HostId, HostRecord, HostStatus,
    RegionName, SuspendReason, UpTo, MAX_DEVICES, MILLI_PER_DEVICE,
};
use sp_runtime::{traits::Zero, Saturating};

use crate::{
    Config, CurrentParams, EndpointChangedAt, Error, Event, FreeWeightUsed, HealthChangedAt, Hosts, HostsByProvider,
    NetworkMeasuredAt, Pallet, StandbyNamings,
};

impl<T: Config> Pallet<T> {
    pub(crate) fn do_register(
        provider: AccountId,
        host: HostId,
        hardware: HardwareSpec,
        endpoint: Endpoint,
        region: RegionName,
        ask: Ask,
        host_signature: [u8; 64],
    ) -> DispatchResult {
        ensure!(!Hosts::<T>::contains_key(&host), Error::<T>::AlreadyRegistered);
        Self::ensure_sound(&hardware)?;
        Self::ensure_valid_ask(&ask)?;
        let message = registration_message(Self::genesis_hash(), &provider, &hardware, &endpoint, &region, &ask);
        Self::ensure_signed_by_host(&host, &message, host_signature)?;

        let capacity = capacity(&hardware);
        let bond_required = Self::bond_for(&provider, &hardware)?;
        let answers_challenges = hardware.answers_challenges;
        let mut record = HostRecord {
            provider: provider.clone(),
            status: HostStatus::Unverified,
            tier: hardware.tier,
            capabilities: hardware.capabilities,
            network_mbps_down: hardware.network_mbps_down,
            network_mbps_up: hardware.network_mbps_up,
            latency_ms: 0,
            total: capacity,
            free: capacity,
            devices: devices(hardware),
            ask,
            endpoint,
            region,
            bond: 0,
            bond_required,
            generation: 0,
            registered_at: Self::now(),
            last_heartbeat: 0,
            downtime_ms: 0,
            live_leases: 0,
            answers_challenges,
            challenged: None,
            offered_since: Self::now(),
        };
        Self::add_to_bond(&mut record, bond_required)?;
        // The account of a host may have no coins. The provider reference lets it sign calls that are free of charge.
        frame_system::Pallet::<T>::inc_providers(&host);
        Self::deposit_event(Event::Registered { host: host.clone(), provider: provider.clone() });
        if !CurrentParams::<T>::get().verification_required {
            Self::change_status(&host, &mut record, HostStatus::Verified)?;
        }
        HostsByProvider::<T>::insert(provider, &host, ());
        Self::store(&host, &record);
        Ok(())
    }

    pub(crate) fn do_change_hardware(
        provider: AccountId,
        host: HostId,
        hardware: HardwareSpec,
        host_signature: [u8; 64],
    ) -> DispatchResult {
        let mut record = Self::host_of(&provider, &host)?;
        Self::ensure_not_leaving(&record)?;
        ensure!(record.status != HostStatus::Suspended(SuspendReason::ByRoot), Error::<T>::SuspendedByRoot);
        ensure!(record.live_leases == 0, Error::<T>::HasLiveLeases);
        Self::ensure_sound(&hardware)?;
        let generation = record.generation.checked_add(1).ok_or(Error::<T>::Overflow)?;
        let message = hardware_message(Self::genesis_hash(), &provider, generation, &hardware);
        Self::ensure_signed_by_host(&host, &message, host_signature)?;

        let must_prove_hardware = matches!(
            record.status,
            HostStatus::Suspended(SuspendReason::FailedChallenge | SuspendReason::HardwareChanged)
        );
        Self::slash_for_absence(&host, &mut record);
        record.bond_required = Self::bond_for(&provider, &hardware)?;
        let missing = record.bond_required.saturating_sub(record.bond);
        Self::add_to_bond(&mut record, missing)?;
        record.generation = generation;
        record.tier = hardware.tier;
        record.capabilities = hardware.capabilities;
        record.answers_challenges = hardware.answers_challenges;
        record.network_mbps_down = hardware.network_mbps_down;
        record.network_mbps_up = hardware.network_mbps_up;
        record.total = capacity(&hardware);
        record.free = record.total;
        record.devices = devices(hardware);
        record.offered_since = Self::now();
        if record.status != HostStatus::Unverified {
            Self::change_status(&host, &mut record, HostStatus::Unverified)?;
        }
        // A host that failed a proof of its hardware must prove the new one, even if other hosts need no verification.
        if !CurrentParams::<T>::get().verification_required && !must_prove_hardware {
            Self::change_status(&host, &mut record, HostStatus::Verified)?;
        }
        Self::store(&host, &record);
        Self::deposit_event(Event::HardwareChanged { host, generation, bond_required: record.bond_required });
        Ok(())
    }

    /// Whether a heartbeat of `host` is free of charge now.
    pub(crate) fn heartbeat_is_due(host: &HostId) -> bool {
        let Ok(record) = Self::host_not_leaving(host) else { return false };
        let half_period = CurrentParams::<T>::get().heartbeat_period_ms / 2;
        record.last_heartbeat == 0 || Self::now() >= record.last_heartbeat.saturating_add(half_period)
    }

    /// Returns whether the host was reported absent before.
    pub(crate) fn do_heartbeat(host: HostId) -> Result<bool, DispatchError> {
        let mut record = Self::host_not_leaving(&host)?;
        let was_offline = record.status == HostStatus::Offline;
        if Self::is_overdue(&record) {
            record.offered_since = Self::now();
        }
        record.downtime_ms = Self::downtime_ms(&record);
        Self::slash_for_absence(&host, &mut record);
        record.last_heartbeat = Self::now();
        // The slash may have suspended it.
        if matches!(record.status, HostStatus::Verified | HostStatus::Offline) {
            Self::change_status(&host, &mut record, HostStatus::Online)?;
        }
        Self::store(&host, &record);
        Ok(was_offline)
    }

    /// Whether a heartbeat of each of these hosts is due and `provider` may send it.
    pub(crate) fn heartbeats_are_due(provider: &AccountId, hosts: &[HostId]) -> bool {
        let is_due = |host| {
            let is_own = || HostsByProvider::<T>::contains_key(provider, host);
            is_own() && Self::heartbeat_is_due(host)
        };
        !hosts.is_empty() && is_sorted(hosts) && hosts.iter().all(is_due)
    }

    /// Returns how many of the hosts were present, and how many were reported absent before.
    pub(crate) fn do_heartbeat_batch(provider: &AccountId, hosts: &[HostId]) -> Result<(u64, u64), DispatchError> {
        ensure!(is_sorted(hosts), Error::<T>::HostsNotSorted);
        let (mut present, mut absent) = (0u64, 0u64);
        for host in hosts {
            ensure!(HostsByProvider::<T>::contains_key(provider, host), Error::<T>::NotProviderOfAll);
            let counted = if Self::do_heartbeat(host.clone())? { &mut absent } else { &mut present };
            counted.saturating_inc();
        }
        Ok((present, absent))
    }

    /// Whether `host` may change to `endpoint` free of charge now.
    pub(crate) fn endpoint_change_is_free(host: &HostId, endpoint: &Endpoint) -> bool {
        let Ok(record) = Self::host_not_leaving(host) else { return false };
        record.endpoint != *endpoint && Self::may_change_free(EndpointChangedAt::<T>::get(host))
    }

    pub(crate) fn do_set_endpoint(host: HostId, endpoint: Endpoint) -> DispatchResult {
        let mut record = Self::host_not_leaving(&host)?;
        record.endpoint = endpoint;
        Self::store(&host, &record);
        EndpointChangedAt::<T>::insert(&host, Self::now());
        Self::deposit_event(Event::EndpointChanged { host });
        Ok(())
    }

    /// Whether `host` may report free of charge now that exactly these devices are unhealthy.
    pub(crate) fn health_change_is_free(host: &HostId, unhealthy: &DeviceIndices) -> bool {
        let Ok(record) = Self::host_not_leaving(host) else { return false };
        let all_exist = unhealthy.iter().all(|index| usize::from(*index) < record.devices.len());
        let mut devices = (0u8..).zip(&record.devices);
        let differs = devices.any(|(index, device)| device.healthy == unhealthy.contains(&index));
        all_exist && differs && Self::may_change_free(HealthChangedAt::<T>::get(host))
    }

    pub(crate) fn do_set_device_health(host: HostId, unhealthy: DeviceIndices) -> DispatchResult {
        let mut record = Self::host_not_leaving(&host)?;
        let all_exist = unhealthy.iter().all(|index| usize::from(*index) < record.devices.len());
        ensure!(all_exist, Error::<T>::NoSuchDevice);
        for (index, device) in (0u8..).zip(record.devices.iter_mut()) {
            device.healthy = !unhealthy.contains(&index);
        }
        record.offered_since = Self::now();
        Self::store(&host, &record);
        HealthChangedAt::<T>::insert(&host, Self::now());
        Self::deposit_event(Event::DeviceHealthChanged { host, unhealthy });
        Ok(())
    }

    /// Whether `host` may report this speed of its network free of charge now.
    pub(crate) fn network_change_is_free(host: &HostId, down_mbps: u32, up_mbps: u32, latency_ms: u16) -> bool {
        let Ok(record) = Self::host_not_leaving(host) else { return false };
        let differs = differs_by_a_tenth(record.network_mbps_down, down_mbps)
            || differs_by_a_tenth(record.network_mbps_up, up_mbps)
            || differs_by_a_tenth(record.latency_ms.into(), latency_ms.into());
        differs && Self::may_change_free(NetworkMeasuredAt::<T>::get(host))
    }

    pub(crate) fn do_set_network(host: HostId, down_mbps: u32, up_mbps: u32, latency_ms: u16) -> DispatchResult {
        let mut record = Self::host_not_leaving(&host)?;
        record.network_mbps_down = down_mbps;
        record.network_mbps_up = up_mbps;
        record.latency_ms = latency_ms;
        record.offered_since = Self::now();
        Self::store(&host, &record);
        NetworkMeasuredAt::<T>::insert(&host, Self::now());
        Self::deposit_event(Event::NetworkMeasured { host, down_mbps, up_mbps, latency_ms });
        Ok(())
    }

    /// Checks a price list, and its terms against the bounds in force.
    fn ensure_valid_ask(ask: &Ask) -> DispatchResult {
        check_ask(ask).map_err(Error::<T>::from)?;
        ensure!(CurrentParams::<T>::get().allow_terms(&ask.terms), Error::<T>::TermsInvalid);
        Ok(())
    }

    pub(crate) fn do_set_ask(provider: AccountId, host: HostId, ask: Ask) -> DispatchResult {
        let mut record = Self::host_of(&provider, &host)?;
        Self::ensure_not_leaving(&record)?;
        Self::ensure_valid_ask(&ask)?;
        record.ask = ask.clone();
        record.offered_since = Self::now();
        Self::store(&host, &record);
        Self::deposit_event(Event::AskChanged { host, ask });
        Ok(())
    }

    pub(crate) fn do_drain(provider: AccountId, host: HostId) -> DispatchResult {
        let record = Self::host_of(&provider, &host)?;
        Self::store_status(host, record, HostStatus::Draining)
    }

    pub(crate) fn do_undrain(provider: AccountId, host: HostId) -> DispatchResult {
        let record = Self::host_of(&provider, &host)?;
        // An offline host also may go to Online, but only by its own heartbeat.
        ensure!(record.status == HostStatus::Draining, Error::<T>::TransitionNotAllowed);
        Self::store_status(host, record, HostStatus::Online)
    }

    pub(crate) fn do_retire(provider: AccountId, host: HostId) -> DispatchResult {
        let mut record = Self::host_of(&provider, &host)?;
        ensure!(record.status != HostStatus::Suspended(SuspendReason::ByRoot), Error::<T>::SuspendedByRoot);
        ensure!(record.live_leases == 0, Error::<T>::HasLiveLeases);
        Self::slash_for_absence(&host, &mut record);
        let until = Self::now().saturating_add(CurrentParams::<T>::get().unbonding_ms);
        Self::change_status(&host, &mut record, HostStatus::Retiring(until))?;
        EndpointChangedAt::<T>::remove(&host);
        HealthChangedAt::<T>::remove(&host);
        NetworkMeasuredAt::<T>::remove(&host);
        Self::store(&host, &record);
        Ok(())
    }

    pub(crate) fn do_withdraw_bond(provider: AccountId, host: HostId) -> DispatchResult {
        let mut record = Self::host_of(&provider, &host)?;
        let HostStatus::Retiring(until) = record.status else { return Err(Error::<T>::TransitionNotAllowed.into()) };
        ensure!(Self::now() >= until, Error::<T>::StillUnbonding);
        Self::change_status(&host, &mut record, HostStatus::Retired)?;
        let bond = record.bond;
        Self::release_bond(&mut record)?;
        HostsByProvider::<T>::remove(&provider, &host);
        FreeWeightUsed::<T>::remove(&host);
        StandbyNamings::<T>::remove(&host);
        Self::store(&host, &record);
        // Fails only while other references to the account exist; then it stays.
        let _ = frame_system::Pallet::<T>::dec_providers(&host);
        Self::deposit_event(Event::BondWithdrawn { host, amount: bond });
        Ok(())
    }

    pub(crate) fn do_top_up_bond(provider: AccountId, host: HostId, amount: Balance) -> DispatchResult {
        let mut record = Self::host_of(&provider, &host)?;
        Self::ensure_not_leaving(&record)?;
        ensure!(!amount.is_zero(), Error::<T>::AmountZero);
        Self::add_to_bond(&mut record, amount)?;
        let whole = record.bond >= record.bond_required;
        if whole && record.status == HostStatus::Suspended(SuspendReason::Slashed) {
            Self::change_status(&host, &mut record, HostStatus::Verified)?;
        }
        Self::store(&host, &record);
        Self::deposit_event(Event::BondToppedUp { host, amount });
        Ok(())
    }

    pub(crate) fn do_report_absent(reporter: AccountId, host: HostId) -> DispatchResult {
        let mut record = Self::host(&host)?;
        ensure!(matches!(record.status, HostStatus::Online | HostStatus::Draining), Error::<T>::HostNotOnline);
        ensure!(Self::is_silent(&record), Error::<T>::NotAbsent);
        Self::change_status(&host, &mut record, HostStatus::Offline)?;
        let amount = CurrentParams::<T>::get().absence_bounty;
        // The provider loses twice the bounty, whoever reports: letting hosts be reported by an accomplice is a loss.
        let forfeited = Self::charge_bond(&host, &mut record, amount, &T::Treasury::get());
        let bounty =
            if reporter == record.provider { 0 } else { Self::charge_bond(&host, &mut record, amount, &reporter) };
        Self::store(&host, &record);
        Self::deposit_event(Event::AbsenceReported { host, reporter, bounty, forfeited });
        Ok(())
    }

    pub(crate) fn do_verify(host: HostId) -> DispatchResult {
        let record = Self::host(&host)?;
        // A suspended host also may go to Verified, but only by `unsuspend`.
        ensure!(record.status == HostStatus::Unverified, Error::<T>::TransitionNotAllowed);
        Self::store_verified(host, record)
    }

    pub(crate) fn do_unsuspend(host: HostId) -> DispatchResult {
        let record = Self::host(&host)?;
        ensure!(matches!(record.status, HostStatus::Suspended(_)), Error::<T>::TransitionNotAllowed);
        Self::store_verified(host, record)
    }

    /// Stores whether a challenge proved that the device of `host` with this index is genuine.
    ///
    /// Fails with `NoSuchHost` or `NoSuchDevice`.
    pub fn set_attested(host: &HostId, device: u8, attested: bool) -> DispatchResult {
        let mut record = Self::host(host)?;
        let found = record.devices.get_mut(usize::from(device)).ok_or(Error::<T>::NoSuchDevice)?;
        found.attested = attested;
        record.offered_since = Self::now();
        Self::store(host, &record);
        Self::deposit_event(Event::DeviceAttested { host: host.clone(), device, attested });
        Ok(())
    }

    /// Excludes a device of `host` from new leases while a challenge of it waits for the host's answer; None excludes
    /// no device.
    ///
    /// Fails with `NoSuchHost`.
    pub fn set_challenged(host: &HostId, device: Option<u8>) -> DispatchResult {
        let mut record = Self::host(host)?;
        if record.challenged == device {
            return Ok(());
        }
        record.challenged = device;
        record.offered_since = Self::now();
        Self::store(host, &record);
        Self::deposit_event(Event::DeviceChallenged { host: host.clone(), device });
        Ok(())
    }

    /// Marks a host as verified. A host that is unverified, or suspended for a failed challenge, may come online with
    /// its next heartbeat. Does nothing if it is verified already.
    ///
    /// Fails with `NoSuchHost`, with `BondTooLow`, or with `TransitionNotAllowed` if the host is leaving or is
    /// suspended for another reason.
    pub fn mark_verified(host: &HostId) -> DispatchResult {
        let record = Self::host(host)?;
        match record.status {
            HostStatus::Verified | HostStatus::Online | HostStatus::Offline | HostStatus::Draining => Ok(()),
            HostStatus::Unverified | HostStatus::Suspended(SuspendReason::FailedChallenge) => {
                Self::store_verified(host.clone(), record)
            }
            HostStatus::Suspended(_) | HostStatus::Retiring(_) | HostStatus::Retired => {
                Err(Error::<T>::TransitionNotAllowed.into())
            }
        }
    }

    /// Suspends a host for `reason`: it takes no new leases, and its present leases continue.
    ///
    /// Fails with `NoSuchHost`, or with `TransitionNotAllowed` if the host is unverified, suspended already, or
    /// leaving.
    pub fn suspend_for(host: &HostId, reason: SuspendReason) -> DispatchResult {
        let record = Self::host(host)?;
        Self::store_status(host.clone(), record, HostStatus::Suspended(reason))
    }

    /// Changes the status of a host. No other function does. The caller stores the record.
    pub(crate) fn change_status(host: &HostId, record: &mut HostRecord, to: HostStatus) -> DispatchResult {
        ensure!(allows(HOST_TRANSITIONS, record.status.tag(), to.tag()), Error::<T>::TransitionNotAllowed);
        let from = core::mem::replace(&mut record.status, to);
        record.offered_since = Self::now();
        Self::deposit_event(Event::StatusChanged { host: host.clone(), from, to });
        Ok(())
    }

    fn store_status(host: HostId, mut record: HostRecord, to: HostStatus) -> DispatchResult {
        Self::change_status(&host, &mut record, to)?;
        Self::store(&host, &record);
        Ok(())
    }

    fn store_verified(host: HostId, record: HostRecord) -> DispatchResult {
        ensure!(Self::is_bonded(&record), Error::<T>::BondTooLow);
        Self::store_status(host, record, HostStatus::Verified)
    }

    /// Slashes a host that was reported absent for the time of its absence.
    fn slash_for_absence(host: &HostId, record: &mut HostRecord) {
        if record.status == HostStatus::Offline {
            let now = Self::now();
            Self::slash_for_fault(host, record, Fault::Absent, Self::elapsed_ms(record.last_heartbeat), now);
        }
    }

    /// Whether a value that a host changed last at `changed_at` may be changed again free of charge.
    fn may_change_free(changed_at: Option<u64>) -> bool {
        let period = CurrentParams::<T>::get().heartbeat_period_ms;
        changed_at.is_none_or(|changed_at| Self::now() >= changed_at.saturating_add(period))
    }

    /// Whether a host is retiring or retired.
    pub(crate) fn is_leaving(record: &HostRecord) -> bool {
        matches!(record.status, HostStatus::Retiring(_) | HostStatus::Retired)
    }

    fn ensure_not_leaving(record: &HostRecord) -> DispatchResult {
        ensure!(!Self::is_leaving(record), Error::<T>::HostRetired);
        Ok(())
    }

    /// Returns the record of a host that is neither retiring nor retired.
    fn host_not_leaving(host: &HostId) -> Result<HostRecord, DispatchError> {
        let record = Self::host(host)?;
        Self::ensure_not_leaving(&record)?;
        Ok(record)
    }

    fn host_of(provider: &AccountId, host: &HostId) -> Result<HostRecord, DispatchError> {
        let record = Self::host(host)?;
        ensure!(record.provider == *provider, Error::<T>::NotProvider);
        Ok(record)
    }

    fn ensure_sound(hardware: &HardwareSpec) -> DispatchResult {
        ensure!(hardware.cpu_milli > 0 && hardware.memory_mib > 0, Error::<T>::HardwareEmpty);
        let real = hardware.devices.iter().all(|device| !device.simulated);
        ensure!(real || CurrentParams::<T>::get().allow_simulated, Error::<T>::SimulatedDevicesRefused);
        Ok(())
    }

    fn ensure_signed_by_host(host: &HostId, message: &[u8; 32], signature: [u8; 64]) -> DispatchResult {
        let key: [u8; 32] = host.clone().into();
        let signed = sp_io::crypto::ed25519_verify(&signature.into(), message, &key.into());
        ensure!(signed, Error::<T>::BadHostSignature);
        Ok(())
    }

    pub(crate) fn genesis_hash() -> [u8; 32] {
        let hash = frame_system::Pallet::<T>::block_hash(BlockNumberFor::<T>::zero());
        hash.into()
    }
}

fn capacity(hardware: &HardwareSpec) -> Capacity {
    Capacity { cpu_milli: hardware.cpu_milli, memory_mib: hardware.memory_mib, disk_gib: hardware.disk_gib }
}

/// Returns the devices of new hardware: free, healthy, not attested.
fn devices(hardware: HardwareSpec) -> UpTo<Device, MAX_DEVICES> {
    let new = |spec| Device { spec, milli_free: MILLI_PER_DEVICE, shared_by: None, attested: false, healthy: true };
    UpTo::truncate_from(hardware.devices.into_iter().map(new).collect())
}

/// Whether two numbers differ by more than a tenth of the first.
fn differs_by_a_tenth(known: u32, new: u32) -> bool {
    u64::from(known.abs_diff(new)).saturating_mul(10) > u64::from(known)
}

/// Whether the hosts are in strictly ascending order.
fn is_sorted(hosts: &[HostId]) -> bool {
    hosts.windows(2).all(|pair| pair[0] < pair[1])
}
