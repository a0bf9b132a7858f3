//! # Billing
//!
//! One escrow per lease: coins of the tenant held on its own account when the lease opens, paid or given back when it
//! closes. Escrows are opened, started and closed by the tasks pallet. Nothing is touched in between.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(feature = "runtime-benchmarks")]
mod benchmarking;
mod escrows;
mod try_state;
mod types;
pub mod weights;

#[cfg(test)]
mod mock;
#[cfg(test)]
mod tests;

pub use pallet::*;
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
    use gantry_primitives::{rate::PPM, AccountId, Balance, Escrow, LeaseId, Moment};

    /// What the pallet needs of its runtime.
    #[pallet::config]
    pub trait Config: frame_system::Config<AccountId = AccountId, RuntimeEvent: From<Event<Self>>> {
        /// The coins that are held and paid.
        type Currency: MutateHold<AccountId, Balance = Balance, Reason = Self::RuntimeHoldReason>;
        /// The runtime's reasons to hold coins.
        type RuntimeHoldReason: From<HoldReason>;
        /// The weight of each call.
        type WeightInfo: WeightInfo;
    }

    /// One escrow per lease.
    #[pallet::pallet]
    pub struct Pallet<T>(_);

    /// The escrow of every lease that was ever opened.
    #[pallet::storage]
    pub type Escrows<T: Config> = StorageMap<_, Twox64Concat, LeaseId, Escrow>;

    /// What is held for all open escrows together.
    #[pallet::storage]
    pub type TotalEscrowed<T: Config> = StorageValue<_, Balance, ValueQuery>;

    /// The amounts in force.
    #[pallet::storage]
    #[pallet::storage_prefix = "Params"]
    pub type CurrentParams<T: Config> = StorageValue<_, Params, ValueQuery>;

    /// Why coins are held.
    #[pallet::composite_enum]
    pub enum HoldReason {
        /// What leases may come to cost.
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

    /// What the chain starts with.
    #[pallet::genesis_config]
    #[derive(frame_support::DefaultNoBound)]
    pub struct GenesisConfig<T: Config> {
        /// The amounts.
        pub params: Params,
        /// Nothing.
        #[serde(skip)]
        pub _config: core::marker::PhantomData<T>,
    }

    #[pallet::genesis_build]
    impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
        fn build(&self) {
            assert!(u128::from(self.params.fee_ppm) <= PPM, "billing.params.feePpm must be at most 1000000");
            CurrentParams::<T>::put(&self.params);
        }
    }

    /// What happened.
    #[pallet::event]
    #[pallet::generate_deposit(pub(crate) fn deposit_event)]
    pub enum Event<T: Config> {
        /// Coins of a tenant are held for a lease.
        EscrowOpened {
            /// The lease.
            lease: LeaseId,
            /// Whose coins they are.
            tenant: AccountId,
            /// How many.
            deposit: Balance,
            /// What the lease costs, in base units an hour.
            rate_per_hour: Balance,
        },
        /// Billing of a lease began.
        EscrowStarted {
            /// The lease.
            lease: LeaseId,
            /// When it has used what was deposited.
            depletes_at: Moment,
        },
        /// A lease is paid and its coins are no longer held.
        EscrowClosed {
            /// The lease.
            lease: LeaseId,
            /// What left the tenant, the fee included.
            paid: Balance,
            /// The part of it that went to the treasury.
            fee: Balance,
            /// What went back to the tenant.
            refunded: Balance,
        },
        /// The amounts of this pallet were changed.
        ParamsChanged,
    }

    /// Why a call was refused.
    #[pallet::error]
    pub enum Error<T> {
        /// The lease has no escrow.
        NoSuchEscrow,
        /// The lease has an escrow already.
        EscrowExists,
        /// The escrow is closed.
        EscrowIsClosed,
        /// The escrow has started already.
        EscrowHasStarted,
        /// The tenant cannot pay the deposit of a lease.
        TenantCannotPay,
        /// The fee would be more than all that is paid.
        FeeTooHigh,
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
        /// Change the amounts of this pallet. By root.
        #[pallet::call_index(0)]
        #[pallet::weight(T::WeightInfo::set_params())]
        pub fn set_params(origin: OriginFor<T>, params: Params) -> DispatchResult {
            ensure_root(origin)?;
            ensure!(u128::from(params.fee_ppm) <= PPM, Error::<T>::FeeTooHigh);
            CurrentParams::<T>::put(params);
            Self::deposit_event(Event::ParamsChanged);
            Ok(())
        }
    }
}
