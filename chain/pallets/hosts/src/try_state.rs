//! The invariants of hosts. See docs/invariants.md.

use alloc::collections::BTreeMap;
use frame_support::ensure;
use gantry_primitives::{rate::check_ask, AccountId, Balance, HostRecord, HostStatus, MILLI_PER_DEVICE};
use sp_runtime::TryRuntimeError;

use crate::{
    Config, CountedHalts, CurrentParams, EndpointChangedAt, HealthChangedAt, Hosts, HostsByProvider, NetworkMeasuredAt,
    Pallet,
};

impl<T: Config> Pallet<T> {
    /// Checks every invariant of this pallet. For tests, the fuzzer and try-runtime.
    pub fn do_try_state() -> Result<(), TryRuntimeError> {
        let mut bonds: BTreeMap<AccountId, Balance> = BTreeMap::new();
        let mut listed = 0usize;
        let params = CurrentParams::<T>::get();
        ensure!(params.check().is_ok(), "HOST-9: the parameters in force would be accepted");
        let halts = CountedHalts::<T>::get().0;
        ensure!(
            halts.iter().all(|halt| halt.ms > 0) && halts.is_sorted_by(|a, b| a.end < b.end),
            "HOST-13: halts took time and are in their order"
        );
        let remembered = EndpointChangedAt::<T>::iter_keys()
            .chain(HealthChangedAt::<T>::iter_keys())
            .chain(NetworkMeasuredAt::<T>::iter_keys());
        for host in remembered {
            let is_staying = Hosts::<T>::get(host).is_some_and(|record| !Self::is_leaving(&record));
            ensure!(is_staying, "HOST-10: changes are remembered only of hosts that stay");
        }
        for (host, record) in Hosts::<T>::iter() {
            Self::check_record(&record)?;
            let retired = record.status == HostStatus::Retired;
            let in_index = HostsByProvider::<T>::contains_key(&record.provider, &host);
            ensure!(in_index != retired, "HOST-1: the index by provider holds exactly the hosts that are not retired");
            listed += usize::from(in_index);
            if !retired {
                let providers = frame_system::Pallet::<T>::providers(&host);
                ensure!(providers > 0, "HOST-2: the account of a host can sign without coins");
            }
            let sum = bonds.entry(record.provider).or_default();
            *sum = sum.checked_add(record.bond).ok_or("HOST-3: the bonds of a provider can be added")?;
        }
        ensure!(
            HostsByProvider::<T>::iter_keys().count() == listed,
            "HOST-1: the index by provider holds exactly the hosts that are not retired"
        );
        for (provider, bond) in bonds {
            ensure!(Self::bond_held(&provider) == bond, "HOST-3: what is held for a provider is the sum of its bonds");
        }
        Ok(())
    }

    fn check_record(record: &HostRecord) -> Result<(), TryRuntimeError> {
        let (free, total) = (record.free, record.total);
        ensure!(
            free.cpu_milli <= total.cpu_milli
                && free.memory_mib <= total.memory_mib
                && free.disk_gib <= total.disk_gib
                && record.devices.iter().all(|device| device.milli_free <= MILLI_PER_DEVICE),
            "HOST-4: no more is free on a host than it has"
        );
        if record.live_leases == 0 {
            ensure!(
                free == total && record.devices.iter().all(|device| device.milli_free == MILLI_PER_DEVICE),
                "HOST-5: a host without live leases is free as a whole"
            );
        }
        if record.status == HostStatus::Unverified || Self::is_leaving(record) {
            ensure!(record.live_leases == 0, "HOST-6: an unverified, retiring or retired host has no live leases");
        }
        if record.status == HostStatus::Retired {
            ensure!(record.bond == 0, "HOST-7: a retired host has no bond");
        }
        let may_take_leases = matches!(
            record.status,
            HostStatus::Verified | HostStatus::Online | HostStatus::Offline | HostStatus::Draining
        );
        if may_take_leases {
            ensure!(Self::is_bonded(record), "HOST-8: a host that may take leases has half of its bond at least");
        }
        ensure!(check_ask(&record.ask).is_ok(), "HOST-11: a price list in force would be accepted");
        let now = Self::now();
        ensure!(
            record.registered_at <= now
                && record.last_heartbeat <= now
                && record.downtime_ms <= record.last_heartbeat.saturating_sub(record.registered_at),
            "HOST-12: a host was away for no longer than it is registered"
        );
        Ok(())
    }
}
