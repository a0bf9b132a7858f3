//! # Reputation
//!
//! Scores of hosts and tenants from their conduct in leases, and the faults of providers. Other pallets write it;
//! schedulers read it, and so does the calculation of bonds. It has no calls.

#![cfg_attr(not(feature = "std"), no_std)]

mod scores;
mod try_state;

#[cfg(test)]
mod mock;
#[cfg(test)]
mod tests;

pub use pallet::*;

#[frame_support::pallet]
pub mod pallet {
    use frame_support::pallet_prelude::*;
    use frame_system::pallet_prelude::*;
    use gantry_primitives::{score::HALF_LIFE_MS, AccountId, FaultRecord, HostId, HostScore, TenantScore};

    /// The version of the storage of this pallet; that of release 1 is 0.
    const STORAGE_VERSION: StorageVersion = StorageVersion::new(1);

    /// The types that the runtime provides.
    #[pallet::config]
    pub trait Config: frame_system::Config<AccountId = AccountId, RuntimeEvent: From<Event<Self>>> {}

    /// What is known about the conduct of hosts, tenants and providers.
    #[pallet::pallet]
    #[pallet::storage_version(STORAGE_VERSION)]
    pub struct Pallet<T>(_);

    /// The evidence about each host that ever had a lease.
    #[pallet::storage]
    pub type HostScores<T: Config> = StorageMap<_, Blake2_128Concat, HostId, HostScore>;

    /// The evidence about each tenant that ever had a lease.
    #[pallet::storage]
    pub type TenantScores<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, TenantScore>;

    /// What is held against each provider that was ever slashed.
    #[pallet::storage]
    pub type ProviderFaults<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, FaultRecord>;

    #[pallet::extra_constants]
    impl<T: Config> Pallet<T> {
        /// After so many milliseconds evidence weighs half.
        #[pallet::constant_name(HalfLifeMs)]
        fn half_life_ms() -> u64 {
            HALF_LIFE_MS
        }
    }

    /// The events of the pallet.
    #[pallet::event]
    #[pallet::generate_deposit(pub(crate) fn deposit_event)]
    pub enum Event<T: Config> {
        /// A host has new evidence for or against it.
        Scored {
            /// The host.
            host: HostId,
            /// Its score now, in parts per million.
            score_ppm: u32,
        },
        /// A tenant has new evidence for or against it.
        TenantScored {
            /// The tenant.
            tenant: AccountId,
            /// Its score now, in parts per million.
            score_ppm: u32,
        },
    }

    #[pallet::hooks]
    impl<T: Config> Hooks<BlockNumberFor<T>> for Pallet<T> {
        #[cfg(feature = "try-runtime")]
        fn try_state(_now: BlockNumberFor<T>) -> Result<(), sp_runtime::TryRuntimeError> {
            Pallet::<T>::do_try_state()
        }
    }

    #[pallet::view_functions]
    impl<T: Config> Pallet<T> {
        /// The score of a host in parts per million, by which schedulers may prefer it; 500,000 where nothing is known.
        pub fn priority_of_host(host: HostId) -> u32 {
            Self::host_priority_ppm(&host)
        }

        /// How a tenant stands in a queue among others of the same priority: 0 (last) to 9 (first), 5 where nothing is
        /// known.
        pub fn priority_of_tenant(tenant: AccountId) -> u8 {
            Self::tenant_priority(&tenant)
        }
    }
}
