//! Measures what each call costs.

use frame_benchmarking::v2::*;
use frame_support::{pallet_prelude::*, traits::EnsureOrigin};
use gantry_primitives::AccountId;
use sp_runtime::traits::TrailingZeroInput;

use crate::{Call, Config, Pallet, Validators};

fn listed<T: Config>(count: u32) {
    let list = (0..count).map(|seed| account::<AccountId>("validator", seed, 0)).collect::<alloc::vec::Vec<_>>();
    Validators::<T>::put(BoundedVec::truncate_from(list));
}

/// An account with some session keys. Nobody will use them.
fn keyed<T: Config>() -> AccountId {
    let who: AccountId = account("new", 0, 0);
    let keys = T::Keys::decode(&mut TrailingZeroInput::new(&[7; 512])).expect("keys are bytes");
    pallet_session::NextKeys::<T>::insert(&who, keys);
    who
}

#[benchmarks]
mod benchmarks {
    use super::*;

    #[benchmark]
    fn add(v: Linear<1, { T::MaxValidators::get() - 1 }>) {
        listed::<T>(v);
        let who = keyed::<T>();
        let origin = T::AdminOrigin::try_successful_origin().expect("there is an admin");
        #[extrinsic_call]
        _(origin as T::RuntimeOrigin, who.clone());
        assert!(Validators::<T>::get().contains(&who));
    }

    #[benchmark]
    fn remove(v: Linear<{ T::MinValidators::get() + 1 }, { T::MaxValidators::get() }>) {
        listed::<T>(v);
        let who: AccountId = account("validator", 0, 0);
        let origin = T::AdminOrigin::try_successful_origin().expect("there is an admin");
        #[extrinsic_call]
        _(origin as T::RuntimeOrigin, who.clone());
        assert!(!Validators::<T>::get().contains(&who));
    }

    impl_benchmark_test_suite!(Pallet, crate::mock::new_chain(), crate::mock::Test);
}
