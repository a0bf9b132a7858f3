//! Measures what each call costs: on a host with as many devices and as long texts as there may be.

use alloc::vec;
use frame_benchmarking::v2::*;
use frame_support::traits::{fungible::Unbalanced, tokens::Precision};
use frame_system::RawOrigin;
use gantry_primitives::{
    registration::registration_message, AccountId, Ask, Balance, Bytes, DeviceSpec, HardwareSpec, HostId, HostStatus,
    Moment, SuspendReason, Vendor, MAX_DEVICES,
};
use sp_runtime::KeyTypeId;

use crate::{Call, Config, CurrentParams, Hosts, Pallet, Params};

const KEY: KeyTypeId = KeyTypeId(*b"gtyh");
/// More than any bond.
const COINS: Balance = 1 << 100;

fn text<const N: u32>(letter: u8) -> Bytes<N> {
    vec![letter; N as usize].try_into().expect("it is as long as it may be")
}

fn hardware() -> HardwareSpec {
    let device = DeviceSpec { vendor: Vendor::Nvidia, model: text(b'm'), vram_mib: 24_000, simulated: false };
    HardwareSpec {
        cpu_milli: 64_000,
        memory_mib: 65_536,
        disk_gib: 1_000,
        devices: vec![device; MAX_DEVICES as usize].try_into().expect("there are as many as may be"),
    }
}

fn ask() -> Ask {
    Ask { gpu_per_hour: 1, cpu_core_per_hour: 1, memory_gib_per_hour: 1, disk_gib_per_hour: 1 }
}

fn provider<T: Config>() -> AccountId {
    let provider: AccountId = whitelisted_caller();
    T::Currency::increase_balance(&provider, COINS, Precision::Exact).expect("the coins fit");
    provider
}

/// A host's key, and its signature for [`provider`].
fn countersigned<T: Config>(provider: &AccountId) -> (HostId, [u8; 64]) {
    let key = sp_io::crypto::ed25519_generate(KEY, None);
    let hash = frame_system::Pallet::<T>::block_hash(frame_system::pallet_prelude::BlockNumberFor::<T>::default());
    let genesis: [u8; 32] = hash.as_ref().try_into().expect("a hash has 32 bytes");
    let message = registration_message(genesis, provider, &hardware(), &text(b'e'), &text(b'r'), &ask());
    let signature = sp_io::crypto::ed25519_sign(KEY, &key, &message).expect("the key is here");
    (HostId::new(key.0), signature.0)
}

fn registered<T: Config>() -> (AccountId, HostId) {
    let provider = provider::<T>();
    let (host, signature) = countersigned::<T>(&provider);
    Pallet::<T>::do_register(provider.clone(), host.clone(), hardware(), text(b'e'), text(b'r'), ask(), signature)
        .expect("it is sound");
    (provider, host)
}

fn in_status<T: Config>(status: HostStatus) -> (AccountId, HostId) {
    let (provider, host) = registered::<T>();
    Hosts::<T>::mutate(&host, |record| {
        record.as_mut().expect("it is registered").status = status;
    });
    (provider, host)
}

fn status<T: Config>(host: &HostId) -> HostStatus {
    Pallet::<T>::host(host).expect("it is registered").status
}

#[benchmarks(where T: pallet_timestamp::Config<Moment = Moment>)]
mod benchmarks {
    use super::*;

    #[benchmark]
    fn register() {
        let provider = provider::<T>();
        let (host, signature) = countersigned::<T>(&provider);
        #[extrinsic_call]
        _(RawOrigin::Signed(provider), host.clone(), hardware(), text(b'e'), text(b'r'), ask(), signature);
        assert!(Hosts::<T>::contains_key(&host));
    }

    #[benchmark]
    fn heartbeat() {
        let (_, host) = in_status::<T>(HostStatus::Verified);
        #[extrinsic_call]
        _(RawOrigin::Signed(host.clone()));
        assert_eq!(status::<T>(&host), HostStatus::Online);
    }

    #[benchmark]
    fn set_endpoint() {
        let (_, host) = in_status::<T>(HostStatus::Online);
        #[extrinsic_call]
        _(RawOrigin::Signed(host.clone()), text(b'n'));
        assert_eq!(Pallet::<T>::host(&host).expect("it exists").endpoint, text::<256>(b'n'));
    }

    #[benchmark]
    fn set_ask() {
        let (provider, host) = in_status::<T>(HostStatus::Online);
        let new = Ask { gpu_per_hour: 2, ..ask() };
        #[extrinsic_call]
        _(RawOrigin::Signed(provider), host.clone(), new);
        assert_eq!(Pallet::<T>::host(&host).expect("it exists").ask, new);
    }

    #[benchmark]
    fn drain() {
        let (provider, host) = in_status::<T>(HostStatus::Online);
        #[extrinsic_call]
        _(RawOrigin::Signed(provider), host.clone());
        assert_eq!(status::<T>(&host), HostStatus::Draining);
    }

    #[benchmark]
    fn undrain() {
        let (provider, host) = in_status::<T>(HostStatus::Draining);
        #[extrinsic_call]
        _(RawOrigin::Signed(provider), host.clone());
        assert_eq!(status::<T>(&host), HostStatus::Online);
    }

    #[benchmark]
    fn retire() {
        let (provider, host) = in_status::<T>(HostStatus::Online);
        #[extrinsic_call]
        _(RawOrigin::Signed(provider), host.clone());
        assert_eq!(status::<T>(&host), HostStatus::Retired);
    }

    #[benchmark]
    fn report_absent() {
        let (_, host) = in_status::<T>(HostStatus::Online);
        let limit = CurrentParams::<T>::get().absence_limit_ms;
        pallet_timestamp::Now::<T>::put(limit + 1);
        let reporter: AccountId = account("reporter", 0, 0);
        T::Currency::increase_balance(&reporter, COINS, Precision::Exact).expect("the coins fit");
        #[extrinsic_call]
        _(RawOrigin::Signed(reporter), host.clone());
        assert_eq!(status::<T>(&host), HostStatus::Offline);
    }

    #[benchmark]
    fn verify_host() {
        // The macro has a name of its own for `verify`.
        let (_, host) = in_status::<T>(HostStatus::Unverified);
        #[extrinsic_call]
        verify(RawOrigin::Root, host.clone());
        assert_eq!(status::<T>(&host), HostStatus::Verified);
    }

    #[benchmark]
    fn suspend() {
        let (_, host) = in_status::<T>(HostStatus::Online);
        #[extrinsic_call]
        _(RawOrigin::Root, host.clone());
        assert_eq!(status::<T>(&host), HostStatus::Suspended(SuspendReason::ByRoot));
    }

    #[benchmark]
    fn unsuspend() {
        let (_, host) = in_status::<T>(HostStatus::Suspended(SuspendReason::ByRoot));
        #[extrinsic_call]
        _(RawOrigin::Root, host.clone());
        assert_eq!(status::<T>(&host), HostStatus::Verified);
    }

    #[benchmark]
    fn set_params() {
        let params = Params { heartbeat_period_ms: 1, ..Params::default() };
        #[extrinsic_call]
        _(RawOrigin::Root, params.clone());
        assert_eq!(CurrentParams::<T>::get(), params);
    }

    impl_benchmark_test_suite!(Pallet, crate::mock::new_chain_with_keystore(), crate::mock::Test);
}
