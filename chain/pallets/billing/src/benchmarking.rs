//! Measures what each call costs.

use frame_benchmarking::v2::*;
use frame_system::RawOrigin;

use crate::{Call, Config, CurrentParams, Pallet, Params};

#[benchmarks]
mod benchmarks {
    use super::*;

    #[benchmark]
    fn set_params() {
        let params = Params { fee_ppm: 1, ..Params::default() };
        #[extrinsic_call]
        _(RawOrigin::Root, params.clone());
        assert_eq!(CurrentParams::<T>::get(), params);
    }

    impl_benchmark_test_suite!(Pallet, crate::mock::new_chain(crate::mock::ED), crate::mock::Test);
}
