//! The runtime as a whole: genesis presets, feeless host calls, proxies, limits.

mod common;

use codec::Encode;
use common::{signed, started};
use frame_support::{
    assert_ok,
    dispatch::GetDispatchInfo,
    traits::{Hooks, InstanceFilter},
};
use gantry_primitives::{registration::registration_message, Ask, HardwareSpec, Tier};
use gantry_runtime::{
    charging::{FREE_LONGEVITY, FREE_PRIORITY, FREE_SHARE},
    genesis, AccountId, Balances, Executive, Hosts, Runtime, RuntimeCall, RuntimeOrigin, Session, System, Timestamp,
    UncheckedExtrinsic, EXISTENTIAL_DEPOSIT, GTY,
};
use sp_core::{ed25519, Pair};
use sp_keyring::Sr25519Keyring;
use sp_runtime::{
    generic::ExtrinsicFormat,
    traits::Zero,
    transaction_validity::{InvalidTransaction, TransactionSource, TransactionValidityError, ValidTransaction},
    MultiAddress, MultiSignature,
};

fn registered_host() -> (ed25519::Pair, AccountId) {
    let pair = ed25519::Pair::from_seed(&[7; 32]);
    let host = AccountId::from(pair.public().0);
    let provider = Sr25519Keyring::Bob.to_account_id();
    let hardware = HardwareSpec {
        cpu_milli: 4_000,
        memory_mib: 8_192,
        disk_gib: 100,
        devices: Default::default(),
        tier: Tier::Consumer,
        capabilities: Default::default(),
        answers_challenges: false,
        network_mbps_down: 0,
        network_mbps_up: 0,
    };
    let ask = Ask {
        gpu: Default::default(),
        gpu_per_hour: GTY,
        cpu_core_per_hour: GTY,
        memory_gib_per_hour: 0,
        disk_gib_per_hour: 0,
        network_gib: 0,
        storage_gib_per_hour: 0,
        second_ppm: 1_000_000,
        hour_ppm: 1_000_000,
        day_ppm: 1_000_000,
        terms: Default::default(),
    };
    let message = registration_message(
        System::block_hash(0).into(),
        &provider,
        &hardware,
        &Default::default(),
        &Default::default(),
        &ask,
    );
    assert_ok!(Hosts::register(
        RuntimeOrigin::signed(provider),
        host.clone(),
        hardware,
        Default::default(),
        Default::default(),
        ask,
        pair.sign(&message).0,
    ));
    (pair, host)
}

#[test]
fn every_preset_with_people_in_it_starts_a_chain_with_validators_coins_and_a_treasury() {
    for (preset, validators) in [(genesis::DEVELOPMENT, 1), (genesis::LOCAL, 2), (genesis::STAGING, 4)] {
        started(preset).execute_with(|| {
            assert_eq!(Session::validators().len(), validators, "{preset}");
            let treasury = pallet_gantry_billing::Pallet::<Runtime>::treasury();
            assert_eq!(Balances::free_balance(treasury), EXISTENTIAL_DEPOSIT);
            assert!(Balances::free_balance(Sr25519Keyring::Charlie.to_account_id()) > GTY);
            assert_eq!(Timestamp::get(), 20_000);
        });
    }
}

#[test]
fn a_host_without_coins_sends_a_due_heartbeat_and_no_second_one() {
    started(genesis::DEVELOPMENT).execute_with(|| {
        let (pair, host) = registered_host();
        assert_eq!(System::account(&host).data.free, 0);
        let heartbeat = || RuntimeCall::Hosts(pallet_gantry_hosts::Call::heartbeat {});
        let sign = |payload: &[u8]| MultiSignature::from(pair.sign(payload));
        assert_ok!(Executive::apply_extrinsic(signed(host.clone(), sign, 0, heartbeat())).expect("valid"));
        assert_eq!(
            Executive::apply_extrinsic(signed(host.clone(), sign, 1, heartbeat())),
            Err(TransactionValidityError::Invalid(InvalidTransaction::Payment))
        );
        assert_eq!(System::account(&host).data.free, 0);
    });
}

/// What a host signs with a nonce.
fn by_host(pair: &ed25519::Pair, nonce: u32, call: RuntimeCall) -> UncheckedExtrinsic {
    signed(AccountId::from(pair.public().0), |payload| pair.sign(payload).into(), nonce, call)
}

fn heartbeat() -> RuntimeCall {
    RuntimeCall::Hosts(pallet_gantry_hosts::Call::heartbeat {})
}

fn validity(extrinsic: UncheckedExtrinsic) -> Result<ValidTransaction, TransactionValidityError> {
    Executive::validate_transaction(TransactionSource::External, extrinsic, System::block_hash(0))
}

fn paid_call() -> UncheckedExtrinsic {
    let rich = Sr25519Keyring::Ferdie;
    let remark = RuntimeCall::System(frame_system::Call::remark { remark: vec![1; 100] });
    signed(rich.to_account_id(), |payload| MultiSignature::Sr25519(rich.sign(payload)), 0, remark)
}

/// A chain on which hosts may use so much weight free of charge.
fn with_allowance(free_weight_us: u32) -> sp_io::TestExternalities {
    let params = serde_json::json!({ "freeWeightUs": free_weight_us });
    let patch = serde_json::json!({ "hosts": { "params": params } });
    common::started_with(genesis::STAGING, &patch)
}

#[test]
fn a_free_call_goes_before_paid_ones_has_the_next_nonce_and_leaves_the_pool_soon() {
    started(genesis::DEVELOPMENT).execute_with(|| {
        let (pair, _) = registered_host();
        let free = validity(by_host(&pair, 0, heartbeat())).expect("it is due");
        assert_eq!((free.priority, free.longevity), (FREE_PRIORITY, FREE_LONGEVITY));
        assert!(validity(paid_call()).expect("it pays").priority < FREE_PRIORITY);
        // In the present state a heartbeat is due, whatever its nonce: the pool must not take thousands of them.
        let future = TransactionValidityError::Invalid(InvalidTransaction::Future);
        assert_eq!(validity(by_host(&pair, 1, heartbeat())), Err(future));
    });
}

#[test]
fn paid_calls_may_follow_each_other_in_the_pool() {
    started(genesis::DEVELOPMENT).execute_with(|| {
        let rich = Sr25519Keyring::Ferdie;
        let remark = RuntimeCall::System(frame_system::Call::remark { remark: vec![1; 100] });
        let second = signed(rich.to_account_id(), |payload| MultiSignature::Sr25519(rich.sign(payload)), 7, remark);
        assert_eq!(validity(second).expect("it waits for six others").requires.len(), 1);
    });
}

#[test]
fn beyond_its_allowance_a_host_pays_the_ordinary_fee_from_its_bond() {
    with_allowance(1).execute_with(|| {
        let (pair, host) = registered_host();
        let bond = || Hosts::host(&host).expect("it is registered").bond;
        let (before, extrinsic) = (bond(), by_host(&pair, 0, heartbeat()));
        let info = heartbeat().get_dispatch_info();
        let found = validity(extrinsic.clone()).expect("the bond covers it");
        assert!(found.priority < FREE_PRIORITY, "it waits like other calls that pay");
        let length = extrinsic.encode().len() as u32;
        assert_ok!(Executive::apply_extrinsic(extrinsic).expect("valid"));
        let fee = before - bond();
        assert!(fee > gantry_runtime::TransactionPayment::compute_fee(length, &info, 0), "with its extensions");
        assert!(fee < GTY / 100);
        assert_eq!(System::account(&host).data.free, 0);
    });
}

#[test]
fn free_calls_have_a_part_of_a_block_and_the_others_wait() {
    with_allowance(1_000_000).execute_with(|| {
        let (pair, host) = registered_host();
        let share = FREE_SHARE * <Runtime as frame_system::Config>::BlockWeights::get().max_block.ref_time();
        assert_ok!(Hosts::use_free_call(&host, pallet_gantry_hosts::FreeCall::Allowance(None), share - 1, share));
        let extrinsic = by_host(&pair, 0, heartbeat());
        assert_eq!(
            Executive::apply_extrinsic(extrinsic),
            Err(TransactionValidityError::Invalid(InvalidTransaction::ExhaustsResources))
        );
    });
}

#[test]
fn a_stranger_without_coins_cannot_send_even_a_feeless_call() {
    started(genesis::DEVELOPMENT).execute_with(|| {
        let pair = ed25519::Pair::from_seed(&[8; 32]);
        let heartbeat = RuntimeCall::Hosts(pallet_gantry_hosts::Call::heartbeat {});
        let extrinsic = signed(AccountId::from(pair.public().0), |p| pair.sign(p).into(), 0, heartbeat);
        assert!(matches!(Executive::apply_extrinsic(extrinsic), Err(TransactionValidityError::Invalid(_))));
    });
}

#[test]
fn a_tenants_proxy_may_cancel_but_not_withdraw() {
    use gantry_runtime::proxies::ProxyType;
    let cancel = RuntimeCall::Tasks(pallet_gantry_tasks::Call::cancel { task: 0 });
    let withdraw = RuntimeCall::Balances(pallet_balances::Call::transfer_all {
        dest: MultiAddress::Id(Sr25519Keyring::Eve.to_account_id()),
        keep_alive: false,
    });
    let retire = RuntimeCall::Hosts(pallet_gantry_hosts::Call::retire { host: Sr25519Keyring::Eve.to_account_id() });
    assert!(ProxyType::Tenant.filter(&cancel) && !ProxyType::Tenant.filter(&withdraw));
    assert!(!ProxyType::Tenant.filter(&retire) && ProxyType::Provider.filter(&retire));
    assert!(!ProxyType::Provider.filter(&cancel) && !ProxyType::NonTransfer.filter(&withdraw));
    // No hiding inside a batch: the filter sees inner calls again, and a tenant's proxy may not batch at all.
    let batch = RuntimeCall::Utility(pallet_utility::Call::batch { calls: vec![withdraw] });
    assert!(!ProxyType::Tenant.filter(&batch));
}

#[test]
fn a_proxy_that_may_not_transfer_can_neither_spend_nor_reach_another_account() {
    use gantry_runtime::proxies::ProxyType;
    let eve = Sr25519Keyring::Eve.to_account_id();
    let remark = || RuntimeCall::System(frame_system::Call::remark { remark: vec![] });
    let through_another = RuntimeCall::Proxy(pallet_proxy::Call::proxy {
        real: MultiAddress::Id(eve.clone()),
        force_proxy_type: None,
        call: Box::new(remark()),
    });
    let with_others = RuntimeCall::Multisig(pallet_multisig::Call::as_multi_threshold_1 {
        other_signatories: vec![eve.clone()],
        call: Box::new(remark()),
    });
    // To an accomplice: as the rent of its host, as stakes that it wins, as a bond that it has slashed.
    let rent = RuntimeCall::Tasks(pallet_gantry_tasks::Call::assign { task: 0, pods: Default::default() });
    let longer = RuntimeCall::Leases(pallet_gantry_leases::Call::extend { lease: 0, ms: 1 });
    let stake = RuntimeCall::Verification(pallet_gantry_verification::Call::appeal { task: 0 });
    let bond = RuntimeCall::Verification(pallet_gantry_verification::Call::bond_verifier {});
    for call in [through_another, with_others, rent, longer, stake, bond] {
        assert!(!ProxyType::NonTransfer.filter(&call), "{call:?}");
    }
    let cancel = RuntimeCall::Tasks(pallet_gantry_tasks::Call::cancel { task: 0 });
    let withdraw = RuntimeCall::Hosts(pallet_gantry_hosts::Call::withdraw_bond { host: eve });
    for call in [cancel, withdraw, RuntimeCall::Utility(pallet_utility::Call::batch { calls: vec![] })] {
        assert!(ProxyType::NonTransfer.filter(&call), "{call:?}");
    }
    assert!(ProxyType::Any.is_superset(&ProxyType::NonTransfer));
    assert!(!ProxyType::NonTransfer.is_superset(&ProxyType::Tenant), "a tenant's proxy spends");
}

#[test]
fn a_tenants_proxy_may_do_all_that_a_tenant_does_with_its_tasks() {
    use gantry_runtime::proxies::ProxyType;
    let host = Sr25519Keyring::Eve.to_account_id();
    let devices = gantry_primitives::DeviceIndices::default();
    let accused = Default::default();
    let calls = [
        RuntimeCall::Tasks(pallet_gantry_tasks::Call::move_pod {
            lease: 0,
            host: host.clone(),
            devices: devices.clone(),
            rate_per_hour: 0,
        }),
        RuntimeCall::Tasks(pallet_gantry_tasks::Call::name_standby { lease: 0, host, devices, rate_per_hour: 0 }),
        RuntimeCall::Verification(pallet_gantry_verification::Call::open_dispute {
            task: 0,
            accused,
            evidence: [1; 32],
        }),
        RuntimeCall::Verification(pallet_gantry_verification::Call::appeal { task: 0 }),
    ];
    for call in calls {
        assert!(ProxyType::Tenant.filter(&call), "{call:?}");
        assert!(!ProxyType::Provider.filter(&call), "{call:?}");
    }
}

#[test]
fn every_call_of_ours_fits_many_times_into_a_block() {
    let limit = <Runtime as frame_system::Config>::BlockWeights::get()
        .get(frame_support::dispatch::DispatchClass::Normal)
        .max_extrinsic
        .expect("normal extrinsics are limited");
    let host = Sr25519Keyring::Eve.to_account_id();
    let calls: Vec<RuntimeCall> = vec![
        RuntimeCall::Tasks(pallet_gantry_tasks::Call::settle { task: 0 }),
        RuntimeCall::Tasks(pallet_gantry_tasks::Call::requeue { lease: 0 }),
        RuntimeCall::Tasks(pallet_gantry_tasks::Call::assign { task: 0, pods: Default::default() }),
        RuntimeCall::Hosts(pallet_gantry_hosts::Call::report_absent { host }),
    ];
    for call in calls {
        let weight = call.get_dispatch_info().call_weight;
        assert!(weight.saturating_mul(20).all_lte(limit), "{call:?} weighs {weight:?}");
    }
}

#[test]
fn hooks_of_tasks_and_hosts_read_a_few_values_at_most() {
    started(genesis::DEVELOPMENT).execute_with(|| {
        assert!(pallet_gantry_tasks::Pallet::<Runtime>::on_initialize(2).is_zero());
        let values = <Runtime as frame_system::Config>::DbWeight::get().reads(4);
        assert_eq!(Hosts::on_initialize(2), values, "a halt of the chain is noted where there was one");
    });
}

#[test]
fn extrinsics_of_format_four_are_accepted() {
    started(genesis::DEVELOPMENT).execute_with(|| {
        let alice = Sr25519Keyring::Alice;
        let remark = RuntimeCall::System(frame_system::Call::remark { remark: vec![] });
        let extrinsic = signed(alice.to_account_id(), |p| alice.sign(p).into(), 0, remark);
        // The first byte after the length: the signed bit and the version.
        let encoded = extrinsic.encode();
        assert_eq!(encoded[2] & 0b0111_1111, 4, "{:?}", ExtrinsicFormat::<(), ()>::Bare);
        assert_ok!(Executive::apply_extrinsic(extrinsic).expect("valid"));
    });
}
