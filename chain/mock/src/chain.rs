//! Externalities of a new chain, and the total of its coins.

use frame_system::{Account, Pallet as System};
use gantry_primitives::{Balance, Moment};
use pallet_balances::AccountData;
use pallet_timestamp::Pallet as Timestamp;
use sp_io::TestExternalities;
use sp_runtime::{traits::One, BuildStorage};

/// A chain from its genesis, at block 1.
pub fn begin<T: frame_system::Config>(genesis: impl BuildStorage) -> TestExternalities {
    let mut externalities = TestExternalities::from(genesis.build_storage().expect("genesis is sound"));
    externalities.execute_with(|| System::<T>::set_block_number(One::one()));
    externalities
}

/// A chain from its genesis, at block 1, whose clock shows `now`.
pub fn begin_at<T: pallet_timestamp::Config<Moment = Moment>>(
    genesis: impl BuildStorage,
    now: Moment,
) -> TestExternalities {
    let mut externalities = begin::<T>(genesis);
    externalities.execute_with(|| Timestamp::<T>::set_timestamp(now));
    externalities
}

/// Returns the sum of all balances, which always equals the total issuance.
pub fn coins<T: frame_system::Config<AccountData = AccountData<Balance>>>() -> Balance {
    Account::<T>::iter_values().map(|account| account.data.free + account.data.reserved).sum()
}
