//! Measures what each call costs.

use alloc::{boxed::Box, vec};
use frame_benchmarking::v2::*;
use frame_support::traits::EnsureOrigin;
use frame_system::{Call as SystemCall, RawOrigin};

use crate::{Call, CallOf, Config, CurrentParams, NextEnactmentId, Pallet, Params};

fn remark<T: Config>(length: u32) -> Box<CallOf<T>> {
    Box::new(SystemCall::<T>::remark { remark: vec![7; length as usize] }.into())
}

#[benchmarks]
mod benchmarks {
    use super::*;

    #[benchmark]
    fn enact(l: Linear<1, 100_000>) {
        let origin = T::EnactOrigin::try_successful_origin().expect("somebody may enact");
        let call = remark::<T>(l);
        #[extrinsic_call]
        _(origin as T::RuntimeOrigin, call);
        assert_eq!(NextEnactmentId::<T>::get(), 1);
    }

    #[benchmark]
    fn cancel() {
        let origin = T::EnactOrigin::try_successful_origin().expect("somebody may enact");
        Pallet::<T>::enact(origin, remark::<T>(1_000)).expect("it can be enacted");
        let origin = T::CancelOrigin::try_successful_origin().expect("somebody may cancel");
        #[extrinsic_call]
        _(origin as T::RuntimeOrigin, 0);
        assert_eq!(NextEnactmentId::<T>::get(), 1);
    }

    #[benchmark]
    fn set_params() {
        let params = Params { delay_blocks: 9 };
        #[extrinsic_call]
        _(RawOrigin::Root, params.clone());
        assert_eq!(CurrentParams::<T>::get(), params);
    }

    impl_benchmark_test_suite!(Pallet, crate::mock::new_chain(), crate::mock::Test);
}
