//! # Governance
//!
//! The council's way to root. What it decides with `enact` is carried out as root after a delay in which everybody can
//! see it, and in which it can be cancelled.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(feature = "runtime-benchmarks")]
mod benchmarking;
mod dispatchables;
mod try_state;
mod types;
pub mod weights;

#[cfg(test)]
mod mock;
#[cfg(test)]
mod tests;

pub use pallet::*;
pub use types::{EnactmentId, Params};
pub use weights::WeightInfo;

/// The call type of the runtime.
pub type CallOf<T> = <T as Config>::RuntimeCall;
/// The runtime's origins as stored data.
pub type PalletsOriginOf<T> =
    <<T as frame_system::Config>::RuntimeOrigin as frame_support::traits::OriginTrait>::PalletsOrigin;

#[frame_support::pallet]
pub mod pallet {
    use super::*;
    use alloc::boxed::Box;
    use frame_support::{
        dispatch::GetDispatchInfo,
        pallet_prelude::*,
        traits::{schedule::v3::Named, StorePreimage},
    };
    use frame_system::pallet_prelude::*;
    use sp_runtime::traits::Dispatchable;

    /// The storage of this pallet is that of this version.
    const STORAGE_VERSION: StorageVersion = StorageVersion::new(1);

    /// What the pallet needs of its runtime.
    #[pallet::config]
    pub trait Config: frame_system::Config<RuntimeEvent: From<Event<Self>>> {
        /// The runtime's calls.
        type RuntimeCall: Parameter
            + Dispatchable<RuntimeOrigin = Self::RuntimeOrigin>
            + GetDispatchInfo
            + From<frame_system::Call<Self>>;
        /// Carries the calls out when their time has come.
        type Scheduler: Named<BlockNumberFor<Self>, CallOf<Self>, PalletsOriginOf<Self>, Hasher = Self::Hashing>;
        /// Keeps the calls until then.
        type Preimages: StorePreimage<H = Self::Hashing>;
        /// The heaviest call that the scheduler would carry out.
        #[pallet::constant]
        type MaxCallWeight: Get<Weight>;
        /// Who may decide that a call is carried out as root.
        type EnactOrigin: EnsureOrigin<Self::RuntimeOrigin>;
        /// Who may stop it before.
        type CancelOrigin: EnsureOrigin<Self::RuntimeOrigin>;
        /// The weight of each call.
        type WeightInfo: WeightInfo;
    }

    /// Calls that wait to be carried out as root.
    #[pallet::pallet]
    #[pallet::storage_version(STORAGE_VERSION)]
    pub struct Pallet<T>(_);

    /// The id of the next enactment.
    #[pallet::storage]
    pub type NextEnactmentId<T: Config> = StorageValue<_, EnactmentId, ValueQuery>;

    /// The periods in force.
    #[pallet::storage]
    #[pallet::storage_prefix = "Params"]
    pub type CurrentParams<T: Config> = StorageValue<_, Params, ValueQuery>;

    /// What the chain starts with.
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
            CurrentParams::<T>::put(&self.params);
        }
    }

    /// The events of the pallet.
    #[pallet::event]
    #[pallet::generate_deposit(pub(crate) fn deposit_event)]
    pub enum Event<T: Config> {
        /// A call will be carried out as root. Its result will be in an event of the scheduler.
        Enacting {
            /// The id to cancel it by.
            id: EnactmentId,
            /// The hash of the encoded call.
            call_hash: T::Hash,
            /// The block that will carry it out.
            at: BlockNumberFor<T>,
        },
        /// A call that waited will not be carried out.
        Cancelled {
            /// Its id.
            id: EnactmentId,
        },
        /// The periods of this pallet were changed.
        ParamsChanged,
    }

    /// The errors of the pallet's calls.
    #[pallet::error]
    pub enum Error<T> {
        /// No call of this id waits: it was carried out, cancelled, or never was.
        NotPending,
        /// The call is too heavy to be carried out in one block.
        CallTooHeavy,
        /// There are no ids left.
        Overflow,
    }

    #[pallet::hooks]
    impl<T: Config> Hooks<BlockNumberFor<T>> for Pallet<T> {
        #[cfg(feature = "try-runtime")]
        fn try_state(_now: BlockNumberFor<T>) -> Result<(), sp_runtime::TryRuntimeError> {
            Self::do_try_state()
        }
    }

    #[pallet::call]
    impl<T: Config> Pallet<T> {
        /// Have a call carried out as root once the delay is over.
        #[pallet::call_index(0)]
        #[pallet::weight(T::WeightInfo::enact(call.encoded_size() as u32))]
        pub fn enact(origin: OriginFor<T>, call: Box<CallOf<T>>) -> DispatchResult {
            T::EnactOrigin::ensure_origin(origin)?;
            Self::do_enact(*call)
        }

        /// Stop a call that waits.
        #[pallet::call_index(1)]
        #[pallet::weight(T::WeightInfo::cancel())]
        pub fn cancel(origin: OriginFor<T>, id: EnactmentId) -> DispatchResult {
            T::CancelOrigin::ensure_origin(origin)?;
            Self::do_cancel(id)
        }

        /// Change the periods of this pallet. By root alone, so that the delay cannot be shortened without waiting for it.
        #[pallet::call_index(2)]
        #[pallet::weight(T::WeightInfo::set_params())]
        pub fn set_params(origin: OriginFor<T>, params: Params) -> DispatchResult {
            ensure_root(origin)?;
            CurrentParams::<T>::put(params);
            Self::deposit_event(Event::ParamsChanged);
            Ok(())
        }
    }
}
