//! # Billing
//!
//! The coins of leases: they are held on the tenant's own account when a lease opens, and paid or released later.
//! `gantry_primitives::escrow` computes the amount owed, and each escrow is stored inside its lease; this pallet moves
//! the coins, all those of an extrinsic at once, through [`Ledger`].

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(feature = "runtime-benchmarks")]
mod benchmarking;
mod impls;
mod ledger;
mod payees;
mod storage;
mod try_state;
mod types;
pub mod weights;

#[cfg(test)]
mod mock;
#[cfg(test)]
mod tests;

pub use ledger::Ledger;
pub use pallet::*;
pub use payees::{Payees, Settler};
pub use types::Params;
pub use weights::WeightInfo;

use frame_support::PalletId;

/// The account of the treasury is derived from this.
pub const TREASURY: PalletId = PalletId(*b"gty/trsy");

#[frame_support::pallet]
pub mod pallet {
    use super::*;
    use frame_support::{pallet_prelude::*, traits::fungible::MutateHold};
    use frame_system::pallet_prelude::*;
    use gantry_primitives::{AccountId, Balance};

    /// The version of the storage of this pallet.
    const STORAGE_VERSION: StorageVersion = StorageVersion::new(1);

    /// The types that the runtime provides.
    #[pallet::config]
    pub trait Config: frame_system::Config<AccountId = AccountId, RuntimeEvent: From<Event<Self>>> {
        /// The coins that are held and paid.
        type Currency: MutateHold<AccountId, Balance = Balance, Reason = Self::RuntimeHoldReason>;
        /// The runtime's reasons to hold coins.
        type RuntimeHoldReason: From<HoldReason>;
        /// Who may change the amounts and periods.
        type AdminOrigin: EnsureOrigin<Self::RuntimeOrigin>;
        /// The weight of each call.
        type WeightInfo: WeightInfo;
    }

    /// The coins of leases.
    #[pallet::pallet]
    #[pallet::storage_version(STORAGE_VERSION)]
    pub struct Pallet<T>(_);

    /// The total amount on hold for all open escrows.
    #[pallet::storage]
    #[pallet::whitelist_storage]
    pub type TotalEscrowed<T: Config> = StorageValue<_, Balance, ValueQuery>;

    /// The amounts and periods in force.
    #[pallet::storage]
    #[pallet::whitelist_storage]
    #[pallet::storage_prefix = "Params"]
    pub type CurrentParams<T: Config> = StorageValue<_, Params, ValueQuery>;

    /// The reasons for which the pallet holds coins.
    #[pallet::composite_enum]
    pub enum HoldReason {
        /// The escrows of leases.
        Escrow,
    }

    #[pallet::extra_constants]
    impl<T: Config> Pallet<T> {
        /// The account to which the protocol fee goes.
        #[pallet::constant_name(TreasuryAccount)]
        fn treasury_constant() -> AccountId {
            Self::treasury()
        }
    }

    /// The genesis configuration.
    #[pallet::genesis_config]
    #[derive(frame_support::DefaultNoBound)]
    pub struct GenesisConfig<T: Config> {
        /// The amounts and periods.
        pub params: Params,
        /// Marker of the runtime.
        #[serde(skip)]
        pub _config: core::marker::PhantomData<T>,
    }

    #[pallet::genesis_build]
    impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
        fn build(&self) {
            self.params.check::<T>().expect("billing.params: feePpm is above 100000, or the shares are above 500000");
            CurrentParams::<T>::put(&self.params);
        }
    }

    /// The events of the pallet.
    #[pallet::event]
    #[pallet::generate_deposit(pub(crate) fn deposit_event)]
    pub enum Event<T: Config> {
        /// The amounts and periods of this pallet were changed.
        ParamsChanged,
    }

    /// The errors of the pallet's calls.
    #[pallet::error]
    pub enum Error<T> {
        /// The tenant cannot pay the deposits of its leases.
        TenantCannotPay,
        /// The fee would be more than a tenth of what is paid.
        FeeTooHigh,
        /// The shares of scheduler and settler would be more than half of the fee.
        SharesTooHigh,
        /// A sum or product does not fit its type.
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
        /// Change the amounts and periods of this pallet. By the admin origin.
        #[pallet::call_index(0)]
        #[pallet::weight(T::WeightInfo::set_params())]
        pub fn set_params(origin: OriginFor<T>, params: Params) -> DispatchResult {
            T::AdminOrigin::ensure_origin(origin)?;
            params.check::<T>()?;
            CurrentParams::<T>::put(params);
            Self::deposit_event(Event::ParamsChanged);
            Ok(())
        }
    }
}
