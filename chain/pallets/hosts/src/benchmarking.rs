//! Benchmarks, on a host with the most devices and the longest texts.

use alloc::{vec, vec::Vec};
use frame_benchmarking::v2::*;
use frame_support::traits::{fungible::Unbalanced, tokens::Precision, EnsureOrigin, Get};
use frame_system::RawOrigin;
use gantry_primitives::{
    registration::{hardware_message, registration_message},
    AccountId, Ask, Balance, Bytes, Capabilities, DeviceIndices, DeviceSpec, Fault, GpuPrice, HardwareSpec, HostId,
    HostStatus, Moment, SuspendReason, Tier, Vendor, MAX_DEVICES, MAX_GPU_PRICES,
};
use pallet_gantry_reputation as reputation;
use sp_runtime::KeyTypeId;

use crate::{
    Call, Config, CurrentParams, EndpointChangedAt, HealthChangedAt, Hosts, NetworkMeasuredAt, Pallet, Params,
};

const KEY: KeyTypeId = KeyTypeId(*b"gtyh");
/// Longer than any absence limit, and shorter than what costs the greatest part of a bond.
const LONG_MS: Moment = 30 * 24 * 3_600_000;
/// More than any bond.
const COINS: Balance = 1 << 100;

fn text<const N: u32>(letter: u8) -> Bytes<N> {
    vec![letter; N as usize].try_into().expect("it is as long as it may be")
}

fn hardware() -> HardwareSpec {
    let device = DeviceSpec { vendor: Vendor::Nvidia, model: text(b'm'), vram_mib: 24_000, simulated: false };
    HardwareSpec {
        tier: Tier::Datacenter,
        capabilities: Capabilities {
            docker: true,
            kvm: true,
            kubernetes: true,
            cdi: true,
            mig: true,
            shares: true,
            sandboxed: true,
        },
        answers_challenges: true,
        network_mbps_down: 10_000,
        network_mbps_up: 10_000,
        cpu_milli: 64_000,
        memory_mib: 65_536,
        disk_gib: 1_000,
        devices: vec![device; MAX_DEVICES as usize].try_into().expect("there are as many as may be"),
    }
}

/// The most prices, of models whose names differ in the last letter.
fn ask() -> Ask {
    let price = |number| {
        let mut model = vec![b'm'; 63];
        model.push(number);
        GpuPrice { model: model.try_into().expect("it is as long as it may be"), per_hour: 1 }
    };
    let prices: Vec<GpuPrice> = (0u8..).take(MAX_GPU_PRICES as usize).map(price).collect();
    Ask {
        gpu: prices.try_into().expect("there are as many as may be"),
        gpu_per_hour: 1,
        cpu_core_per_hour: 1,
        memory_gib_per_hour: 1,
        disk_gib_per_hour: 1,
        network_gib: 1,
        storage_gib_per_hour: 1,
        second_ppm: 1_000_000,
        hour_ppm: 1_000_000,
        day_ppm: 1_000_000,
        terms: Default::default(),
    }
}

fn all_devices() -> DeviceIndices {
    (0u8..).take(MAX_DEVICES as usize).collect::<Vec<u8>>().try_into().expect("there are as many as may be")
}

fn provider<T: Config>() -> AccountId {
    let provider: AccountId = whitelisted_caller();
    T::Currency::increase_balance(&provider, COINS, Precision::Exact).expect("the coins fit");
    provider
}

fn signed_by(host: &HostId, message: &[u8; 32]) -> [u8; 64] {
    let key: [u8; 32] = host.clone().into();
    sp_io::crypto::ed25519_sign(KEY, &key.into(), message).expect("the key is here").0
}

/// A host's key, and its signature for [`provider`].
fn countersigned<T: Config>(provider: &AccountId) -> (HostId, [u8; 64]) {
    let host = HostId::new(sp_io::crypto::ed25519_generate(KEY, None).0);
    let genesis = Pallet::<T>::genesis_hash();
    let message = registration_message(genesis, provider, &hardware(), &text(b'e'), &text(b'r'), &ask());
    let signature = signed_by(&host, &message);
    (host, signature)
}

/// There is an account that slashes go to, and one host of the provider was at fault before.
fn treasury<T: Config>(provider: &AccountId) {
    T::Currency::increase_balance(&T::Treasury::get(), COINS, Precision::Exact).expect("the coins fit");
    reputation::Pallet::<T>::observe_fault(provider, Fault::Absent, 1, 0);
}

/// A host that was reported absent, long ago.
fn long_offline<T: Config + pallet_timestamp::Config<Moment = Moment>>() -> (AccountId, HostId) {
    let (provider, host) = in_status::<T>(HostStatus::Offline);
    treasury::<T>(&provider);
    pallet_timestamp::Now::<T>::put(LONG_MS);
    (provider, host)
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

fn admin<T: Config>() -> T::RuntimeOrigin {
    T::AdminOrigin::try_successful_origin().expect("somebody administers hosts")
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
    fn heartbeat_after_absence() {
        let (_, host) = long_offline::<T>();
        #[extrinsic_call]
        heartbeat(RawOrigin::Signed(host.clone()));
        assert_eq!(status::<T>(&host), HostStatus::Online);
    }

    #[benchmark]
    fn use_allowance() {
        let (_, host) = in_status::<T>(HostStatus::Online);
        #[block]
        {
            let call = Pallet::<T>::free_call(&host, 2, 1).expect("the allowance covers it");
            Pallet::<T>::use_free_call(&host, call, 2, 2).expect("there is room");
            Pallet::<T>::refund_free_weight(&host, 1);
        }
        assert_eq!(Pallet::<T>::used_weight(&host), 1);
    }

    #[benchmark]
    fn pay_by_bond() {
        let (_, host) = in_status::<T>(HostStatus::Online);
        let fee = Hosts::<T>::get(&host).expect("it is registered").bond / 1_000;
        #[block]
        {
            assert_eq!(Pallet::<T>::free_call(&host, u64::MAX, fee), Some(crate::FreeCall::Bond(fee)));
            Pallet::<T>::use_free_call(&host, crate::FreeCall::Bond(fee), u64::MAX, 0).expect("the bond covers it");
        }
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
        _(RawOrigin::Signed(provider), host.clone(), new.clone());
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
        let (provider, host) = long_offline::<T>();
        EndpointChangedAt::<T>::insert(&host, 0);
        HealthChangedAt::<T>::insert(&host, 0);
        NetworkMeasuredAt::<T>::insert(&host, 0);
        #[extrinsic_call]
        _(RawOrigin::Signed(provider), host.clone());
        assert!(matches!(status::<T>(&host), HostStatus::Retiring(_)));
    }

    #[benchmark]
    fn report_absent() {
        let (provider, host) = in_status::<T>(HostStatus::Online);
        treasury::<T>(&provider);
        pallet_timestamp::Now::<T>::put(LONG_MS);
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
        verify(admin::<T>() as T::RuntimeOrigin, host.clone());
        assert_eq!(status::<T>(&host), HostStatus::Verified);
    }

    #[benchmark]
    fn suspend() {
        let (_, host) = in_status::<T>(HostStatus::Online);
        #[extrinsic_call]
        _(admin::<T>() as T::RuntimeOrigin, host.clone());
        assert_eq!(status::<T>(&host), HostStatus::Suspended(SuspendReason::ByRoot));
    }

    #[benchmark]
    fn unsuspend() {
        let (_, host) = in_status::<T>(HostStatus::Suspended(SuspendReason::ByRoot));
        #[extrinsic_call]
        _(admin::<T>() as T::RuntimeOrigin, host.clone());
        assert_eq!(status::<T>(&host), HostStatus::Verified);
    }

    #[benchmark]
    fn set_params() {
        let params = Params { heartbeat_period_ms: 1, ..Params::default() };
        #[extrinsic_call]
        _(admin::<T>() as T::RuntimeOrigin, params.clone());
        assert_eq!(CurrentParams::<T>::get(), params);
    }

    #[benchmark]
    fn withdraw_bond() {
        let (provider, host) = in_status::<T>(HostStatus::Retiring(0));
        #[extrinsic_call]
        _(RawOrigin::Signed(provider), host.clone());
        assert_eq!(status::<T>(&host), HostStatus::Retired);
    }

    #[benchmark]
    fn top_up_bond() {
        let (provider, host) = in_status::<T>(HostStatus::Suspended(SuspendReason::Slashed));
        #[extrinsic_call]
        _(RawOrigin::Signed(provider), host.clone(), 1);
        assert_eq!(status::<T>(&host), HostStatus::Verified);
    }

    #[benchmark]
    fn set_device_health() {
        let (_, host) = in_status::<T>(HostStatus::Online);
        #[extrinsic_call]
        _(RawOrigin::Signed(host.clone()), all_devices());
        let record = Pallet::<T>::host(&host).expect("it exists");
        assert!(record.devices.iter().all(|device| !device.healthy));
    }

    #[benchmark]
    fn set_network() {
        let (_, host) = in_status::<T>(HostStatus::Online);
        #[extrinsic_call]
        _(RawOrigin::Signed(host.clone()), u32::MAX, u32::MAX, u16::MAX);
        assert_eq!(Pallet::<T>::host(&host).expect("it exists").network_mbps_up, u32::MAX);
    }

    #[benchmark]
    fn change_hardware() {
        let (provider, host) = long_offline::<T>();
        let hardware = hardware();
        let message = hardware_message(Pallet::<T>::genesis_hash(), &provider, 1, &hardware);
        let signature = signed_by(&host, &message);
        #[extrinsic_call]
        _(RawOrigin::Signed(provider), host.clone(), hardware, signature);
        assert_eq!(Pallet::<T>::host(&host).expect("it exists").generation, 1);
    }

    impl_benchmark_test_suite!(Pallet, crate::mock::new_chain_with_keystore(), crate::mock::Test);
}
