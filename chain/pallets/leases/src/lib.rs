//! # Leases
//!
//! The right of one pod to resources of one host. A lease is stored inside the record of its task ([`LeaseStore`]) and
//! is opened, started and ended with it. This pallet contains the calls of tenants and providers for leases that run or
//! have ended, the list of each host's leases, and the agenda that ends leases and purges data when they are due.
//!
//! `dispatchables.rs` implements the calls, `agenda.rs` the agenda, `due_leases.rs` the processing of its entries,
//! `host_leases.rs` the lists of hosts, and `retention.rs` the payment for retained data.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod agenda;
#[cfg(feature = "runtime-benchmarks")]
mod benchmarking;
mod dispatchables;
mod due_leases;
mod host_leases;
mod lease_store;
mod retention;
mod try_state;
mod types;
pub mod weights;

#[cfg(test)]
mod mock;
#[cfg(test)]
mod tests;

pub use agenda::{BUCKET_MS, PAGE_ENTRIES};
pub use lease_store::{LeaseStore, StoredLease};
pub use pallet::*;
pub use types::Params;
pub use weights::WeightInfo;

use gantry_primitives::{LeaseId, UpTo};
use pallet_gantry_billing as billing;

/// The most leases on one host.
pub const MAX_LEASES_PER_HOST: u32 = 1_024;
/// The most entries of the agenda that one call of `crank` processes.
pub const MAX_CRANK: u32 = 256;
/// The most entries of the agenda that `on_idle` processes in a block. It is bounded by the remaining weight, but not
/// by the clock of the author.
pub const MAX_IDLE: u32 = 256;
/// The leases of one host, in the order of their numbers.
pub type HostLeases = UpTo<LeaseId, MAX_LEASES_PER_HOST>;
/// The number of a bucket of the agenda, big-endian: the time in units of [`BUCKET_MS`], rounded up.
pub type Bucket = [u8; 8];
/// The number of a page of a bucket, big-endian, counted from 0.
pub type Page = [u8; 4];

#[frame_support::pallet]
pub mod pallet {
    use super::*;
    use frame_support::{migrations::MultiStepMigrator, pallet_prelude::*, traits::Time};
    use frame_system::pallet_prelude::*;
    use gantry_primitives::{AccountId, Balance, HostId, Moment};

    /// The version of the storage of this pallet.
    const STORAGE_VERSION: StorageVersion = StorageVersion::new(1);

    /// The types that the runtime provides.
    #[pallet::config]
    pub trait Config:
        frame_system::Config<AccountId = AccountId, RuntimeEvent: From<Event<Self>>> + billing::Config
    {
        /// The clock.
        type Time: Time<Moment = Moment>;
        /// Where leases are stored.
        type LeaseStore: LeaseStore<Self>;
        /// Who may change the periods.
        type AdminOrigin: EnsureOrigin<Self::RuntimeOrigin>;
        /// The weight of each call.
        type WeightInfo: WeightInfo;
    }

    /// The right of one pod to resources of one host.
    #[pallet::pallet]
    #[pallet::storage_version(STORAGE_VERSION)]
    pub struct Pallet<T>(_);

    /// The leases of each host: those pending, active or suspended, and those whose data is retained.
    #[pallet::storage]
    pub type ByHost<T: Config> = StorageMap<_, Blake2_128Concat, HostId, HostLeases, ValueQuery>;

    /// The leases that are due, by bucket of time and page.
    #[pallet::storage]
    pub type Agenda<T: Config> =
        StorageDoubleMap<_, Identity, Bucket, Identity, Page, UpTo<LeaseId, PAGE_ENTRIES>, ValueQuery>;

    /// How many pages each bucket of the agenda has.
    #[pallet::storage]
    pub type AgendaPages<T: Config> = StorageMap<_, Identity, Bucket, u32, ValueQuery>;

    /// The bucket of the agenda that was emptied last: neither it nor an earlier one has entries.
    #[pallet::storage]
    pub type AgendaEmptied<T: Config> = StorageValue<_, Bucket>;

    /// The periods in force.
    #[pallet::storage]
    #[pallet::whitelist_storage]
    #[pallet::storage_prefix = "Params"]
    pub type CurrentParams<T: Config> = StorageValue<_, Params, ValueQuery>;

    /// The genesis configuration.
    #[pallet::genesis_config]
    #[derive(frame_support::DefaultNoBound)]
    pub struct GenesisConfig<T: Config> {
        /// The periods.
        pub params: Params,
        /// Marker of the runtime.
        #[serde(skip)]
        pub _config: core::marker::PhantomData<T>,
    }

    #[pallet::genesis_build]
    impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
        fn build(&self) {
            Pallet::<T>::ensure_sound(&self.params)
                .expect("leases.params: a period is zero or retentionMs is too long");
            CurrentParams::<T>::put(&self.params);
        }
    }

    /// The events of the pallet. The pallet that stores the leases emits those for opened, started and ended leases.
    #[pallet::event]
    #[pallet::generate_deposit(pub(crate) fn deposit_event)]
    pub enum Event<T: Config> {
        /// A tenant bought more time.
        Extended {
            /// The lease.
            lease: LeaseId,
            /// How many coins were deposited.
            amount: Balance,
            /// When the lease ends now.
            ends_at: Moment,
        },
        /// A tenant deposited more coins.
        ToppedUp {
            /// The lease.
            lease: LeaseId,
            /// How many.
            amount: Balance,
            /// When the deposit is used up now.
            depletes_at: Moment,
        },
        /// A tenant stopped the machine of its rental; the disk is kept.
        Suspended {
            /// The lease.
            lease: LeaseId,
            /// The new rate in base units per hour.
            rate_per_hour: Balance,
            /// The amount owed for the time before.
            owed: Balance,
            /// When the lease ends now.
            ends_at: Moment,
        },
        /// A tenant started the machine of its rental again.
        Resumed {
            /// The lease.
            lease: LeaseId,
            /// The new rate in base units per hour.
            rate_per_hour: Balance,
            /// The amount owed for the time before.
            owed: Balance,
            /// When the lease ends now.
            ends_at: Moment,
        },
        /// A provider gave notice that it reclaims its resources.
        ReclaimNoticed {
            /// The lease.
            lease: LeaseId,
            /// When it ends.
            reclaim_at: Moment,
        },
        /// A tenant was credited for broken terms of a running lease.
        SlaCredited {
            /// The lease.
            lease: LeaseId,
            /// The amount that is no longer owed.
            unpaid: Balance,
            /// The amount that the bond of the host paid to the tenant.
            from_bond: Balance,
        },
        /// A running lease was paid for.
        Paid {
            /// The lease.
            lease: LeaseId,
            /// The time until which it was paid.
            until: Moment,
            /// The amount that the provider got.
            share: Balance,
            /// The protocol fee, the shares of scheduler and settler included.
            fee: Balance,
            /// The scheduler's share of the fee.
            scheduler_fee: Balance,
            /// The settler's share of the fee.
            settler_fee: Balance,
        },
        /// A lease whose deposit is used up was closed by an account that is none of its parties.
        BountyPaid {
            /// The lease.
            lease: LeaseId,
            /// Who closed it.
            who: AccountId,
            /// The bounty, out of the provider's share.
            bounty: Balance,
            /// The protocol fee for it, the shares of scheduler and settler included.
            fee: Balance,
            /// The scheduler's share of the fee.
            scheduler_fee: Balance,
            /// The part of the fee that the closer got as the settler.
            settler_fee: Balance,
        },
        /// A tenant paid for a longer retention of the data of a rental.
        DataKept {
            /// The lease.
            lease: LeaseId,
            /// The new end of the retention.
            until: Moment,
            /// The price of the added time, in base units an hour.
            rate_per_hour: Balance,
            /// How many coins are held for it.
            amount: Balance,
        },
        /// A host was paid for the retention of data, or the coins held for it were released to the tenant.
        StoragePaid {
            /// The lease.
            lease: LeaseId,
            /// The amount that the provider got.
            share: Balance,
            /// The protocol fee, the shares of scheduler and settler included.
            fee: Balance,
            /// The scheduler's share of the fee.
            scheduler_fee: Balance,
            /// The settler's share of the fee.
            settler_fee: Balance,
            /// The amount released to the tenant.
            refunded: Balance,
        },
        /// A tenant no longer needs the data of a rental.
        DataReleased {
            /// The lease.
            lease: LeaseId,
        },
        /// The time for a receipt of the purge is over, and the resources of the lease are released.
        PurgedWithoutReceipt {
            /// The lease.
            lease: LeaseId,
        },
        /// The processing of a due lease failed; it is retried.
        DueFailed {
            /// The lease.
            lease: LeaseId,
            /// Why.
            error: DispatchError,
            /// When it is retried.
            again_at: Moment,
        },
        /// An account had entries of the agenda processed.
        Cranked {
            /// How many.
            entries: u32,
        },
        /// The periods of this pallet were changed.
        ParamsChanged,
    }

    /// The errors of the pallet's calls.
    #[pallet::error]
    pub enum Error<T> {
        /// The caller is not the tenant of the lease.
        NotTenant,
        /// The caller is not the provider of the lease's host.
        NotProvider,
        /// The lease is that of a job: it ends with its result, and its deposit covers its longest duration.
        LeaseOfJob,
        /// The lease is not that of a rental.
        NotRental,
        /// The lease has not started, or has ended.
        LeaseNotRunning,
        /// The lease is not active.
        LeaseNotActive,
        /// The lease is not suspended.
        LeaseNotSuspended,
        /// No data is retained for this lease.
        LeaseNotRetained,
        /// The provider has given notice already: the lease gets no more time.
        ReclaimNoticed,
        /// The provider has given no notice.
        ReclaimNotNoticed,
        /// The provider's notice is not over.
        NoticeNotOver,
        /// The lease has not used up what was paid for.
        LeaseNotDepleted,
        /// What is deposited does not cover any time at the full rate: top it up first.
        DepositUsedUp,
        /// The duration is zero.
        DurationIsZero,
        /// The amount is zero.
        AmountIsZero,
        /// The data would be retained for longer than the chain allows.
        KeptTooLong,
        /// The host does not offer storage in the billing unit of this lease.
        StorageNotOffered,
        /// The host asks for more for storage than the caller accepts, or than the tenant pays at most for the machine.
        StorageTooDear,
        /// Nothing is due that could be paid now.
        NothingDue,
        /// No entry of the agenda is due.
        NothingOnAgenda,
        /// The host has the most leases that the chain stores for one.
        TooManyLeasesOnHost,
        /// The cost does not fit its type.
        CostTooHigh,
        /// The period of notice must not be zero.
        ReclaimNoticeIsZero,
        /// The period for which data is kept must not be zero.
        RetentionIsZero,
        /// The period for a receipt of a purge must not be zero.
        PurgeGraceIsZero,
        /// The free period of retention is longer than the longest one.
        RetentionTooLong,
    }

    #[pallet::hooks]
    impl<T: Config> Hooks<BlockNumberFor<T>> for Pallet<T> {
        /// A tenth of the block is for the agenda. Not while a migration runs: it changes the form of the tasks.
        fn on_initialize(_now: BlockNumberFor<T>) -> Weight {
            if T::MultiBlockMigrator::ongoing() {
                return T::DbWeight::get().reads(1);
            }
            Self::run_agenda(T::BlockWeights::get().max_block / 10, u32::MAX)
        }

        /// What else is free is for it, too, up to [`MAX_IDLE`] entries.
        fn on_idle(_now: BlockNumberFor<T>, rest: Weight) -> Weight {
            Self::run_agenda(rest, MAX_IDLE)
        }

        #[cfg(feature = "try-runtime")]
        fn try_state(_now: BlockNumberFor<T>) -> Result<(), sp_runtime::TryRuntimeError> {
            Self::do_try_state()
        }
    }

    #[pallet::call]
    impl<T: Config> Pallet<T> {
        /// Buy `ms` milliseconds more for a service or rental of the caller, at its present rate.
        #[pallet::call_index(0)]
        #[pallet::weight(<T as Config>::WeightInfo::extend())]
        pub fn extend(origin: OriginFor<T>, lease: LeaseId, ms: u64) -> DispatchResult {
            let tenant = ensure_signed(origin)?;
            Self::do_extend(tenant, lease, ms)
        }

        /// Deposit more coins for a service or rental of the caller. It continues until they are used up.
        #[pallet::call_index(1)]
        #[pallet::weight(<T as Config>::WeightInfo::top_up())]
        pub fn top_up(origin: OriginFor<T>, lease: LeaseId, amount: Balance) -> DispatchResult {
            let tenant = ensure_signed(origin)?;
            Self::do_top_up(tenant, lease, amount)
        }

        /// Stop the machine of a rental of the caller. Its disk is retained at the host's storage price; its other
        /// resources are released.
        #[pallet::call_index(2)]
        #[pallet::weight(<T as Config>::WeightInfo::suspend())]
        pub fn suspend(origin: OriginFor<T>, lease: LeaseId) -> DispatchResult {
            let tenant = ensure_signed(origin)?;
            Self::do_suspend(tenant, lease)
        }

        /// Start the machine of a suspended rental of the caller again, at its former rate. Fails if the resources of
        /// the host are not free.
        #[pallet::call_index(3)]
        #[pallet::weight(<T as Config>::WeightInfo::resume())]
        pub fn resume(origin: OriginFor<T>, lease: LeaseId) -> DispatchResult {
            let tenant = ensure_signed(origin)?;
            Self::do_resume(tenant, lease)
        }

        /// Give notice that the provider reclaims the resources of a service or rental. By the provider of its host.
        #[pallet::call_index(4)]
        #[pallet::weight(<T as Config>::WeightInfo::reclaim())]
        pub fn reclaim(origin: OriginFor<T>, lease: LeaseId) -> DispatchResult {
            let provider = ensure_signed(origin)?;
            Self::do_reclaim(provider, lease)
        }

        /// End a lease whose provider's notice is over. By any account. The agenda does it, too.
        #[pallet::call_index(5)]
        #[pallet::weight(<T as Config>::WeightInfo::finish_reclaim())]
        pub fn finish_reclaim(origin: OriginFor<T>, lease: LeaseId) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_finish_reclaim(who, lease)
        }

        /// Pay the amount that a running service or rental owes, or the amount due for its retained data, except for
        /// the last period, which is held back. By any account.
        #[pallet::call_index(6)]
        #[pallet::weight(<T as Config>::WeightInfo::settle())]
        pub fn settle(origin: OriginFor<T>, lease: LeaseId) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_settle(who, lease)
        }

        /// End a service or rental whose deposit is used up. By any account; there is a bounty if the agenda had a
        /// minute to do it and the caller is none of the parties.
        #[pallet::call_index(7)]
        #[pallet::weight(<T as Config>::WeightInfo::close_depleted())]
        pub fn close_depleted(origin: OriginFor<T>, lease: LeaseId) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_close_depleted(who, lease)
        }

        /// Extend the retention of the data of an ended rental of the caller by `ms` milliseconds, at the host's
        /// present storage price, which must be at most `max_rate_per_hour`. The coins are held, and paid as the time
        /// passes.
        #[pallet::call_index(8)]
        #[pallet::weight(<T as Config>::WeightInfo::keep())]
        pub fn keep(origin: OriginFor<T>, lease: LeaseId, ms: u64, max_rate_per_hour: Balance) -> DispatchResult {
            let tenant = ensure_signed(origin)?;
            Self::do_keep(tenant, lease, ms, max_rate_per_hour)
        }

        /// The data of an ended rental of the caller is no longer needed: the host may purge it.
        #[pallet::call_index(9)]
        #[pallet::weight(<T as Config>::WeightInfo::release_data())]
        pub fn release_data(origin: OriginFor<T>, lease: LeaseId) -> DispatchResult {
            let tenant = ensure_signed(origin)?;
            Self::do_release_data(tenant, lease)
        }

        /// Process up to `limit` due entries of the agenda, at most 256. By any account.
        #[pallet::call_index(10)]
        #[pallet::weight(<T as Config>::WeightInfo::crank((*limit).min(MAX_CRANK)))]
        pub fn crank(origin: OriginFor<T>, limit: u32) -> DispatchResultWithPostInfo {
            ensure_signed(origin)?;
            let entries = Self::do_crank(limit.min(MAX_CRANK))?;
            Ok(Some(<T as Config>::WeightInfo::crank(entries)).into())
        }

        /// Change the periods of this pallet. By the admin origin.
        #[pallet::call_index(11)]
        #[pallet::weight(<T as Config>::WeightInfo::set_params())]
        pub fn set_params(origin: OriginFor<T>, params: Params) -> DispatchResult {
            <T as Config>::AdminOrigin::ensure_origin(origin)?;
            Self::do_set_params(params)
        }
    }
}
