//! # Leases
//!
//! The right of one pod to resources of one host. Leases are opened, started and ended by the tasks pallet, which
//! also takes their resources from the hosts; this pallet keeps the book and its one table of states.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod book;
mod try_state;

#[cfg(test)]
mod mock;
#[cfg(test)]
mod tests;

pub use book::Draft;
pub use pallet::*;

#[frame_support::pallet]
pub mod pallet {
    use frame_support::pallet_prelude::*;
    use frame_system::pallet_prelude::*;
    use gantry_primitives::{AccountId, EndReason, HostId, LeaseId, LeaseRecord, TaskId};

    /// What the pallet needs of its runtime.
    #[pallet::config]
    pub trait Config: frame_system::Config<AccountId = AccountId, RuntimeEvent: From<Event<Self>>> {}

    /// The right of one pod to resources of one host.
    #[pallet::pallet]
    pub struct Pallet<T>(_);

    /// The number of the next lease.
    #[pallet::storage]
    pub type NextLeaseId<T: Config> = StorageValue<_, LeaseId, ValueQuery>;

    /// Every lease that was ever opened.
    #[pallet::storage]
    pub type Leases<T: Config> = StorageMap<_, Twox64Concat, LeaseId, LeaseRecord>;

    /// The live leases of a host: those pending, active or suspended.
    #[pallet::storage]
    pub type ByHost<T: Config> = StorageDoubleMap<_, Blake2_128Concat, HostId, Twox64Concat, LeaseId, ()>;

    /// What happened.
    #[pallet::event]
    #[pallet::generate_deposit(pub(crate) fn deposit_event)]
    pub enum Event<T: Config> {
        /// A lease was opened.
        Opened {
            /// The lease.
            lease: LeaseId,
            /// The task it is for.
            task: TaskId,
            /// The host it is on.
            host: HostId,
        },
        /// The pod of a lease started.
        Started {
            /// The lease.
            lease: LeaseId,
        },
        /// A lease ended.
        Ended {
            /// The lease.
            lease: LeaseId,
            /// Why.
            reason: EndReason,
        },
    }

    /// Why a call was refused.
    #[pallet::error]
    pub enum Error<T> {
        /// No such lease was opened.
        NoSuchLease,
        /// A lease in this state cannot go to the wanted one.
        TransitionNotAllowed,
        /// There are no more numbers for leases.
        Overflow,
    }

    #[pallet::hooks]
    impl<T: Config> Hooks<BlockNumberFor<T>> for Pallet<T> {
        #[cfg(feature = "try-runtime")]
        fn try_state(_now: BlockNumberFor<T>) -> Result<(), sp_runtime::TryRuntimeError> {
            Pallet::<T>::do_try_state()
        }
    }
}
