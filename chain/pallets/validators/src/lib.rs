//! # Validators
//!
//! The list of those who make and finalize blocks. The session pallet asks it for the validators of each new session.
//! A change of the list is in force from the start of the session after the next: the next one is already planned.
//! A validator that is proven to have equivocated is disabled at once, as long as less than a third of them is, and
//! leaves the list.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(feature = "runtime-benchmarks")]
mod benchmarking;
mod dispatchables;
mod offences;
mod sessions;
mod try_state;
mod types;
pub mod weights;

#[cfg(test)]
mod mock;
#[cfg(test)]
mod tests;

pub use pallet::*;
pub use sessions::{EpochLength, MinimumPeriod, SlotDuration, UnitIdentification};
pub use types::RemovalReason;
pub use weights::WeightInfo;

/// Slots of a session where genesis says nothing else: ten minutes of 2 s slots.
pub const DEFAULT_EPOCH_SLOTS: u64 = 300;
/// The fewest slots a session may have. Announcing the next session's validators needs blocks of this one.
pub const MIN_EPOCH_SLOTS: u64 = 5;
/// Length of a slot in milliseconds where genesis gives no other.
pub const DEFAULT_SLOT_MS: u64 = 2_000;
/// The shortest slot that genesis may set, in milliseconds. An author needs about 50 ms for a block without load.
pub const MIN_SLOT_MS: u64 = 100;
/// The longest slot that genesis may set, in milliseconds.
pub const MAX_SLOT_MS: u64 = 60_000;

/// Whether a chain may have slots of this length, in milliseconds.
pub(crate) fn is_valid_slot_ms(slot_ms: u64) -> bool {
    (MIN_SLOT_MS..=MAX_SLOT_MS).contains(&slot_ms) && slot_ms.is_multiple_of(2)
}

#[frame_support::pallet]
pub mod pallet {
    use super::*;
    use frame_support::pallet_prelude::*;
    use frame_system::pallet_prelude::*;
    use gantry_primitives::AccountId;

    /// The storage of this pallet is that of this version.
    const STORAGE_VERSION: StorageVersion = StorageVersion::new(1);

    /// What the pallet needs of its runtime.
    #[pallet::config]
    pub trait Config:
        frame_system::Config<AccountId = AccountId, RuntimeEvent: From<Event<Self>>>
        + pallet_session::Config<ValidatorId = AccountId>
        + pallet_session::historical::Config<FullIdentification = ()>
    {
        /// Who may change the list.
        type AdminOrigin: EnsureOrigin<Self::RuntimeOrigin>;
        /// The most validators the list may have.
        #[pallet::constant]
        type MaxValidators: Get<u32>;
        /// The fewest. At least one: a chain without validators stands still for ever.
        #[pallet::constant]
        type MinValidators: Get<u32>;
        /// For how many sessions after it an equivocation may be proven.
        #[pallet::constant]
        type HistorySessions: Get<u32>;
        /// The weight of each call.
        type WeightInfo: WeightInfo;
    }

    /// The list of validators.
    #[pallet::pallet]
    #[pallet::storage_version(STORAGE_VERSION)]
    pub struct Pallet<T>(_);

    /// Who makes and finalizes blocks from the session after the next on, in the order in which they joined.
    #[pallet::storage]
    #[pallet::storage_prefix = "List"]
    pub type Validators<T: Config> = StorageValue<_, BoundedVec<AccountId, T::MaxValidators>, ValueQuery>;

    /// Slots of a session where genesis wrote nothing.
    #[pallet::type_value]
    pub fn DefaultEpochSlots() -> u64 {
        DEFAULT_EPOCH_SLOTS
    }

    /// Slots of a session, which is a BABE epoch. Written at genesis and never again: BABE computes the epoch of a slot
    /// from it.
    #[pallet::storage]
    pub type EpochSlots<T: Config> = StorageValue<_, u64, ValueQuery, DefaultEpochSlots>;

    /// Length of a slot where genesis wrote nothing.
    #[pallet::type_value]
    pub fn DefaultSlotMs() -> u64 {
        DEFAULT_SLOT_MS
    }

    /// Length of a slot, and so the time between two blocks, in milliseconds. Written at genesis and never again: BABE
    /// computes the slot of a block from it.
    #[pallet::storage]
    pub type SlotMs<T: Config> = StorageValue<_, u64, ValueQuery, DefaultSlotMs>;

    /// What the chain starts with. Its first validators are the accounts that have session keys at genesis.
    #[pallet::genesis_config]
    pub struct GenesisConfig<T: Config> {
        /// Slots of a session.
        pub epoch_slots: u64,
        /// Length of a slot in milliseconds: even, because BABE takes half of it as the minimum period between blocks.
        pub slot_ms: u64,
        /// Marker of the runtime.
        #[serde(skip)]
        pub _config: core::marker::PhantomData<T>,
    }

    impl<T: Config> Default for GenesisConfig<T> {
        fn default() -> Self {
            Self { epoch_slots: DEFAULT_EPOCH_SLOTS, slot_ms: DEFAULT_SLOT_MS, _config: Default::default() }
        }
    }

    #[pallet::genesis_build]
    impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
        fn build(&self) {
            assert!(self.epoch_slots >= MIN_EPOCH_SLOTS, "validators.epochSlots must be at least {MIN_EPOCH_SLOTS}");
            assert!(
                is_valid_slot_ms(self.slot_ms),
                "validators.slotMs must be an even number from {MIN_SLOT_MS} to {MAX_SLOT_MS}"
            );
            EpochSlots::<T>::put(self.epoch_slots);
            SlotMs::<T>::put(self.slot_ms);
            let list = pallet_session::Pallet::<T>::validators();
            Validators::<T>::put(BoundedVec::try_from(list).expect("session.keys has at most MaxValidators entries"));
        }
    }

    /// The events of the pallet.
    #[pallet::event]
    #[pallet::generate_deposit(pub(crate) fn deposit_event)]
    pub enum Event<T: Config> {
        /// A validator joined the list.
        Added {
            /// Whose session keys will be used.
            validator: AccountId,
        },
        /// A validator left the list.
        Removed {
            /// Who.
            validator: AccountId,
            /// Why.
            reason: RemovalReason,
        },
        /// A validator equivocated, but the list has no more than the fewest validators, so that it stays.
        EquivocatorKept {
            /// Who.
            validator: AccountId,
        },
    }

    /// The errors of the pallet's calls.
    #[pallet::error]
    pub enum Error<T> {
        /// The account is on the list of validators already.
        AlreadyListed,
        /// The account is not on the list of validators.
        NotListed,
        /// The account has set no session keys. It does so with session.setKeys.
        NoSessionKeys,
        /// The list of validators is full.
        TooManyValidators,
        /// The list of validators would become shorter than it may be.
        TooFewValidators,
    }

    #[pallet::hooks]
    impl<T: Config> Hooks<BlockNumberFor<T>> for Pallet<T> {
        fn integrity_test() {
            assert!(T::MinValidators::get() >= 1, "a chain needs a validator");
            assert!(T::MaxValidators::get() >= T::MinValidators::get(), "the list must be able to hold the fewest");
            assert!(T::HistorySessions::get() >= 2, "the present and the planned session are needed");
        }

        #[cfg(feature = "try-runtime")]
        fn try_state(_now: BlockNumberFor<T>) -> Result<(), sp_runtime::TryRuntimeError> {
            Self::do_try_state()
        }
    }

    #[pallet::call]
    impl<T: Config> Pallet<T> {
        /// Add an account that has session keys to the list. It validates from the session after the next on.
        #[pallet::call_index(0)]
        #[pallet::weight(<T as Config>::WeightInfo::add(T::MaxValidators::get()))]
        pub fn add(origin: OriginFor<T>, who: AccountId) -> DispatchResult {
            T::AdminOrigin::ensure_origin(origin)?;
            Self::do_add(who)
        }

        /// Remove an account from the list. It validates until the session after the next begins.
        #[pallet::call_index(1)]
        #[pallet::weight(<T as Config>::WeightInfo::remove(T::MaxValidators::get()))]
        pub fn remove(origin: OriginFor<T>, who: AccountId) -> DispatchResult {
            T::AdminOrigin::ensure_origin(origin)?;
            Self::do_remove(who)
        }
    }
}
