//! Macros for mock runtimes. Each macro configures pallets for a runtime with the name `Test`, whose crate depends on
//! these pallets and names them as the runtime does: `System`, `Timestamp`, `Balances`, `Hosts` and so on.

/// Configures the system, with the items that are given instead of the defaults. It comes before the other macros.
#[macro_export]
macro_rules! system {
    ($($instead:tt)*) => {
        // Not a path where it is used: it looks for itself by this name.
        use frame_support::derive_impl;

        pub type Block = frame_system::mocking::MockBlock<Test>;

        #[derive_impl(frame_system::config_preludes::TestDefaultConfig)]
        impl frame_system::Config for Test {
            type Block = Block;
            type AccountId = gantry_primitives::AccountId;
            type Lookup = sp_runtime::traits::IdentityLookup<gantry_primitives::AccountId>;
            type AccountData = pallet_balances::AccountData<gantry_primitives::Balance>;
            $($instead)*
        }
    };
}

/// Configures the clock.
#[macro_export]
macro_rules! clock {
    () => {
        #[derive_impl(pallet_timestamp::config_preludes::TestDefaultConfig)]
        impl pallet_timestamp::Config for Test {
            type MinimumPeriod = frame_support::traits::ConstU64<1>;
        }
    };
}

/// Configures coins that can be held for the reasons of the runtime.
#[macro_export]
macro_rules! balances {
    () => {
        $crate::balances!($crate::ED);
    };
    ($existential_deposit:expr) => {
        #[derive_impl(pallet_balances::config_preludes::TestDefaultConfig)]
        impl pallet_balances::Config for Test {
            type Balance = gantry_primitives::Balance;
            type ExistentialDeposit = frame_support::traits::ConstU128<{ $existential_deposit }>;
            type AccountStore = System;
            type RuntimeHoldReason = RuntimeHoldReason;
            type RuntimeFreezeReason = RuntimeFreezeReason;
            type FreezeIdentifier = RuntimeFreezeReason;
            type MaxFreezes = frame_support::traits::VariantCountOf<RuntimeFreezeReason>;
        }
    };
}

/// Configures billing.
#[macro_export]
macro_rules! billing {
    () => {
        impl pallet_gantry_billing::Config for Test {
            type Currency = Balances;
            type RuntimeHoldReason = RuntimeHoldReason;
            type AdminOrigin = frame_system::EnsureRoot<gantry_primitives::AccountId>;
            type WeightInfo = ();
        }
    };
}

/// Configures hosts; what they lose goes to the account that `$treasury` gets.
#[macro_export]
macro_rules! hosts {
    ($treasury:ty) => {
        frame_support::parameter_types! {
            /// When the slot of the block began; 0: no test of a halt.
            pub static SlotTime: gantry_primitives::Moment = 0;
        }

        impl pallet_gantry_hosts::Config for Test {
            type Currency = Balances;
            type RuntimeHoldReason = RuntimeHoldReason;
            type Time = Timestamp;
            type SlotTime = SlotTime;
            type AdminOrigin = frame_system::EnsureRoot<gantry_primitives::AccountId>;
            type Treasury = $treasury;
            type WeightInfo = ();
        }
    };
}

/// Configures leases that `$lease_store` stores.
#[macro_export]
macro_rules! leases {
    ($lease_store:ty) => {
        impl pallet_gantry_leases::Config for Test {
            type Time = Timestamp;
            type LeaseStore = $lease_store;
            type AdminOrigin = frame_system::EnsureRoot<gantry_primitives::AccountId>;
            type WeightInfo = ();
        }
    };
}

/// Configures hosts, tasks, leases, billing and reputation as they work together, and all that is below them.
#[macro_export]
macro_rules! network {
    () => {
        $crate::system!();
        $crate::clock!();
        $crate::balances!();
        $crate::billing!();
        $crate::hosts!(Treasury);
        $crate::leases!(Tasks);

        /// Where fees and slashed coins go.
        pub struct Treasury;

        impl frame_support::traits::Get<gantry_primitives::AccountId> for Treasury {
            fn get() -> gantry_primitives::AccountId {
                Billing::treasury()
            }
        }

        impl pallet_gantry_reputation::Config for Test {}

        impl pallet_gantry_tasks::Config for Test {
            type Currency = Balances;
            type RuntimeHoldReason = RuntimeHoldReason;
            type AdminOrigin = frame_system::EnsureRoot<gantry_primitives::AccountId>;
            type Reservations = ();
            type WeightInfo = ();
        }

        /// Every pallet's invariants, and that no coin was made or lost.
        pub fn check_everything() {
            Hosts::do_try_state().expect("hosts hold");
            Leases::do_try_state().expect("leases hold");
            Billing::do_try_state().expect("escrows hold");
            Reputation::do_try_state().expect("scores hold");
            Tasks::do_try_state().expect("tasks hold");
            let issued = pallet_balances::TotalIssuance::<Test>::get();
            assert_eq!($crate::coins::<Test>(), issued, "the sum of all accounts is the total issuance");
        }
    };
}
