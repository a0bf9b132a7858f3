//! Recording of evidence, and the scores computed from it.

use gantry_primitives::{
    faults::Fault,
    score::{self, host_ppm, tenant_ppm, with_host_conduct, with_tenant_conduct},
    AccountId, Balance, Conduct, HostId, Moment, TenantConduct,
};

use crate::{Config, Event, HostScores, Pallet, ProviderFaults, TenantScores};

/// The number of priority classes of tenants.
const PRIORITIES: u32 = 10;

impl<T: Config> Pallet<T> {
    /// Records that `host` showed `conduct` at `now`, `count` times, in leases whose fees sum up to `fees` base units.
    /// One read, one write, one event.
    pub fn observe_host(host: &HostId, conduct: Conduct, count: u32, fees: Balance, now: Moment) {
        let score = with_host_conduct(&HostScores::<T>::get(host).unwrap_or_default(), conduct, count, fees, now);
        HostScores::<T>::insert(host, score);
        Self::deposit_event(Event::Scored { host: host.clone(), score_ppm: host_ppm(&score) });
    }

    /// Records that `tenant` showed `conduct` at `now`, in leases whose fees sum up to `fees` base units. One read, one
    /// write, one event.
    pub fn observe_tenant(tenant: &AccountId, conduct: TenantConduct, fees: Balance, now: Moment) {
        let score = with_tenant_conduct(&TenantScores::<T>::get(tenant).unwrap_or_default(), conduct, fees, now);
        TenantScores::<T>::insert(tenant, score);
        Self::deposit_event(Event::TenantScored { tenant: tenant.clone(), score_ppm: tenant_ppm(&score) });
    }

    /// Records a `fault` at `now` of a host that has `share_ppm` of the bonds of `provider`. One read, one write.
    pub fn observe_fault(provider: &AccountId, fault: Fault, share_ppm: u32, now: Moment) {
        let record = ProviderFaults::<T>::get(provider).unwrap_or_default();
        ProviderFaults::<T>::insert(provider, score::with_fault(&record, fault, share_ppm, now));
    }

    /// The score of a host in parts per million, by which schedulers may prefer it; one half where nothing is known.
    pub fn host_priority_ppm(host: &HostId) -> u32 {
        host_ppm(&HostScores::<T>::get(host).unwrap_or_default())
    }

    /// When the score of a host last changed; 0 where nothing is known.
    pub fn host_scored_at(host: &HostId) -> Moment {
        HostScores::<T>::get(host).unwrap_or_default().updated_at
    }

    /// How a tenant stands in a queue among others of the same priority: 0 (last) to 9 (first), 5 where nothing is
    /// known.
    pub fn tenant_priority(tenant: &AccountId) -> u8 {
        let score = tenant_ppm(&TenantScores::<T>::get(tenant).unwrap_or_default());
        // A score is below one million, so this is below PRIORITIES.
        (score * PRIORITIES / 1_000_000) as u8
    }

    /// The factor on the bonds that a provider posts at `now`, in parts per million: 1,000,000 to 3,000,000.
    pub fn bond_factor_ppm(provider: &AccountId, now: Moment) -> u32 {
        score::bond_factor_ppm(&ProviderFaults::<T>::get(provider).unwrap_or_default(), now)
    }
}
