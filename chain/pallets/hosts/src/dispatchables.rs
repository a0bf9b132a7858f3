//! What the calls do: read, ensure, write, emit.

use frame_support::{
    pallet_prelude::*,
    traits::{
        fungible::{Inspect, InspectHold, MutateHold},
        tokens::{DepositConsequence, Fortitude, Precision, Provenance, Restriction},
    },
};
use gantry_primitives::{
    registration::registration_message,
    transitions::{allows, HOST_TRANSITIONS},
    AccountId, Ask, Balance, Capacity, Device, Endpoint, HardwareSpec, HostId, HostRecord, HostStatus, RegionName,
    SuspendReason, MILLI_PER_DEVICE,
};
use sp_runtime::traits::Zero;

use crate::{Config, CurrentParams, EndpointChangedAt, Error, Event, HoldReason, Hosts, HostsByProvider, Pallet};

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
        let params = CurrentParams::<T>::get();
        ensure!(!Hosts::<T>::contains_key(&host), Error::<T>::AlreadyRegistered);
        ensure!(hardware.cpu_milli > 0 && hardware.memory_mib > 0, Error::<T>::HardwareEmpty);
        ensure!(
            params.allow_simulated || hardware.devices.iter().all(|device| !device.simulated),
            Error::<T>::SimulatedDevicesRefused
        );
        Self::ensure_signed_by_host(&provider, &host, &hardware, &endpoint, &region, &ask, host_signature)?;

        let counted = hardware.devices.len().max(1) as Balance;
        let bond = params.bond_per_device.checked_mul(counted).ok_or(Error::<T>::Overflow)?;
        if !bond.is_zero() {
            T::Currency::hold(&HoldReason::Bond.into(), &provider, bond).map_err(|_| Error::<T>::ProviderCannotPay)?;
        }
        // The host's account may hold no coins; this lets it sign calls that cost nothing.
        frame_system::Pallet::<T>::inc_providers(&host);

        let capacity =
            Capacity { cpu_milli: hardware.cpu_milli, memory_mib: hardware.memory_mib, disk_gib: hardware.disk_gib };
        let mut devices = BoundedVec::new();
        for spec in hardware.devices {
            let device = Device { spec, milli_free: MILLI_PER_DEVICE, attested: false };
            devices.try_push(device).map_err(|_| Error::<T>::Overflow)?;
        }
        let mut record = HostRecord {
            provider: provider.clone(),
            status: HostStatus::Unverified,
            total: capacity,
            free: capacity,
            devices,
            ask,
            endpoint,
            region,
            bond,
            registered_at: Self::now(),
            last_heartbeat: 0,
            live_leases: 0,
        };
        Self::deposit_event(Event::Registered { host: host.clone(), provider: provider.clone() });
        if !params.verification_required {
            Self::change_status(&host, &mut record, HostStatus::Verified)?;
        }
        HostsByProvider::<T>::insert(provider, &host, ());
        Hosts::<T>::insert(host, record);
        Ok(())
    }

    /// Whether a heartbeat of `host` would be free of charge now.
    pub(crate) fn heartbeat_is_due(host: &HostId) -> bool {
        let Some(record) = Hosts::<T>::get(host) else { return false };
        let half_period = CurrentParams::<T>::get().heartbeat_period_ms / 2;
        let first = record.last_heartbeat == 0;
        record.status != HostStatus::Retired
            && (first || Self::now() >= record.last_heartbeat.saturating_add(half_period))
    }

    pub(crate) fn do_heartbeat(host: HostId) -> DispatchResult {
        let mut record = Self::active_host(&host)?;
        record.last_heartbeat = Self::now();
        if matches!(record.status, HostStatus::Verified | HostStatus::Offline) {
            Self::change_status(&host, &mut record, HostStatus::Online)?;
        }
        Hosts::<T>::insert(host, record);
        Ok(())
    }

    /// Whether `host` could change to `endpoint` free of charge now.
    pub(crate) fn endpoint_change_is_free(host: &HostId, endpoint: &Endpoint) -> bool {
        let Some(record) = Hosts::<T>::get(host) else { return false };
        let period = CurrentParams::<T>::get().heartbeat_period_ms;
        let rested =
            EndpointChangedAt::<T>::get(host).is_none_or(|changed_at| Self::now() >= changed_at.saturating_add(period));
        record.status != HostStatus::Retired && record.endpoint != *endpoint && rested
    }

    pub(crate) fn do_set_endpoint(host: HostId, endpoint: Endpoint) -> DispatchResult {
        let mut record = Self::active_host(&host)?;
        record.endpoint = endpoint;
        Hosts::<T>::insert(&host, record);
        EndpointChangedAt::<T>::insert(&host, Self::now());
        Self::deposit_event(Event::EndpointChanged { host });
        Ok(())
    }

    pub(crate) fn do_set_ask(provider: AccountId, host: HostId, ask: Ask) -> DispatchResult {
        let mut record = Self::host_of(&provider, &host)?;
        ensure!(record.status != HostStatus::Retired, Error::<T>::HostRetired);
        record.ask = ask;
        Hosts::<T>::insert(&host, record);
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
        ensure!(record.live_leases == 0, Error::<T>::HasLiveLeases);
        Self::change_status(&host, &mut record, HostStatus::Retired)?;
        let bond = core::mem::take(&mut record.bond);
        if !bond.is_zero() {
            T::Currency::release(&HoldReason::Bond.into(), &provider, bond, Precision::Exact)?;
        }
        HostsByProvider::<T>::remove(&provider, &host);
        EndpointChangedAt::<T>::remove(&host);
        Hosts::<T>::insert(&host, record);
        // Refused only while something else still needs the account; then it simply stays.
        let _ = frame_system::Pallet::<T>::dec_providers(&host);
        Ok(())
    }

    pub(crate) fn do_report_absent(reporter: AccountId, host: HostId) -> DispatchResult {
        let mut record = Self::host(&host)?;
        ensure!(matches!(record.status, HostStatus::Online | HostStatus::Draining), Error::<T>::HostNotOnline);
        ensure!(Self::is_silent(&record), Error::<T>::NotAbsent);
        Self::change_status(&host, &mut record, HostStatus::Offline)?;
        let bounty = CurrentParams::<T>::get().absence_bounty.min(record.bond);
        let takes = T::Currency::can_deposit(&reporter, bounty, Provenance::Extant);
        // A reporter who cannot be credited gets nothing, and the bond stays whole.
        if !bounty.is_zero() && takes == DepositConsequence::Success {
            T::Currency::transfer_on_hold(
                &HoldReason::Bond.into(),
                &record.provider,
                &reporter,
                bounty,
                Precision::Exact,
                Restriction::Free,
                Fortitude::Force,
            )?;
            record.bond = record.bond.checked_sub(bounty).ok_or(Error::<T>::Overflow)?;
        }
        Hosts::<T>::insert(host, record);
        Ok(())
    }

    pub(crate) fn do_verify(host: HostId) -> DispatchResult {
        let record = Self::host(&host)?;
        // A suspended host also may go to Verified, but only by `unsuspend`.
        ensure!(record.status == HostStatus::Unverified, Error::<T>::TransitionNotAllowed);
        Self::store_status(host, record, HostStatus::Verified)
    }

    pub(crate) fn do_suspend(host: HostId) -> DispatchResult {
        let record = Self::host(&host)?;
        Self::store_status(host, record, HostStatus::Suspended(SuspendReason::ByRoot))
    }

    pub(crate) fn do_unsuspend(host: HostId) -> DispatchResult {
        let record = Self::host(&host)?;
        ensure!(matches!(record.status, HostStatus::Suspended(_)), Error::<T>::TransitionNotAllowed);
        Self::store_status(host, record, HostStatus::Verified)
    }

    /// What the bond of a provider's hosts amounts to on its account.
    pub(crate) fn bond_held(provider: &AccountId) -> Balance {
        T::Currency::balance_on_hold(&HoldReason::Bond.into(), provider)
    }

    /// The one way in which a host changes its status; the caller stores the record.
    fn change_status(host: &HostId, record: &mut HostRecord, to: HostStatus) -> DispatchResult {
        ensure!(allows(HOST_TRANSITIONS, record.status.tag(), to.tag()), Error::<T>::TransitionNotAllowed);
        let from = core::mem::replace(&mut record.status, to);
        Self::deposit_event(Event::StatusChanged { host: host.clone(), from, to });
        Ok(())
    }

    fn store_status(host: HostId, mut record: HostRecord, to: HostStatus) -> DispatchResult {
        Self::change_status(&host, &mut record, to)?;
        Hosts::<T>::insert(host, record);
        Ok(())
    }

    fn active_host(host: &HostId) -> Result<HostRecord, DispatchError> {
        let record = Self::host(host)?;
        ensure!(record.status != HostStatus::Retired, Error::<T>::HostRetired);
        Ok(record)
    }

    fn host_of(provider: &AccountId, host: &HostId) -> Result<HostRecord, DispatchError> {
        let record = Self::host(host)?;
        ensure!(record.provider == *provider, Error::<T>::NotProvider);
        Ok(record)
    }

    fn ensure_signed_by_host(
        provider: &AccountId,
        host: &HostId,
        hardware: &HardwareSpec,
        endpoint: &Endpoint,
        region: &RegionName,
        ask: &Ask,
        signature: [u8; 64],
    ) -> DispatchResult {
        let genesis = frame_system::Pallet::<T>::block_hash(frame_system::pallet_prelude::BlockNumberFor::<T>::zero());
        let mut genesis_hash = [0u8; 32];
        let bytes: &[u8] = genesis.as_ref();
        ensure!(bytes.len() == genesis_hash.len(), Error::<T>::BadHostSignature);
        genesis_hash.copy_from_slice(bytes);
        let message = registration_message(genesis_hash, provider, hardware, endpoint, region, ask);
        let key: [u8; 32] = host.clone().into();
        let signed = sp_io::crypto::ed25519_verify(&signature.into(), &message, &key.into());
        ensure!(signed, Error::<T>::BadHostSignature);
        Ok(())
    }
}
