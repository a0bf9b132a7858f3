//! A runtime with this pallet only, and accounts and calls for tests.

use frame_support::{
    assert_ok,
    dispatch::DispatchResult,
    traits::{
        fungible::{Inspect, InspectHold},
        Get, OnInitialize,
    },
};
pub use gantry_mock::{account, bytes, host, host_pair, SplitMix64, ED, GTY};
use gantry_primitives::{
    registration::{hardware_message, registration_message},
    *,
};
use sp_core::Pair;

use crate as pallet_gantry_hosts;

frame_support::construct_runtime!(
    pub enum Test {
        System: frame_system,
        Timestamp: pallet_timestamp,
        Balances: pallet_balances,
        Reputation: pallet_gantry_reputation,
        Hosts: pallet_gantry_hosts,
    }
);

gantry_mock::system!();
gantry_mock::clock!();
gantry_mock::balances!();
gantry_mock::hosts!(Treasury);

impl pallet_gantry_reputation::Config for Test {}

/// The account of the treasury.
pub struct Treasury;

impl Get<AccountId> for Treasury {
    fn get() -> AccountId {
        account(TREASURY)
    }
}

/// The time at which every test begins.
pub const START: Moment = 1_000_000;
pub const HEARTBEAT_PERIOD: u64 = 60_000;
pub const ABSENCE_LIMIT: u64 = 180_000;
pub const HALT_AFTER: u64 = 30_000;
pub const UNBONDING: u64 = 86_400_000;
/// For each device of a professional host, which [`hardware`] is.
pub const BOND_PER_DEVICE: Balance = 5 * GTY;
pub const BOUNTY: Balance = GTY / 2;

pub const PROVIDER: u8 = 1;
pub const ANYONE: u8 = 2;
/// A provider with little more than the bond of a host.
pub const SMALL_PROVIDER: u8 = 4;
pub const TREASURY: u8 = 9;
/// Someone who has no coins.
pub const NOBODY: u8 = 3;
/// The number of the host that most tests are about.
pub const HOST: u8 = 10;

pub fn signed(who: u8) -> RuntimeOrigin {
    RuntimeOrigin::signed(account(who))
}

pub fn by_host(number: u8) -> RuntimeOrigin {
    RuntimeOrigin::signed(host(number))
}

pub fn ask(gpu_per_hour: Balance) -> Ask {
    Ask {
        gpu: Default::default(),
        gpu_per_hour,
        cpu_core_per_hour: 0,
        memory_gib_per_hour: 0,
        disk_gib_per_hour: 0,
        network_gib: 0,
        storage_gib_per_hour: 0,
        second_ppm: 1_000_000,
        hour_ppm: 1_000_000,
        day_ppm: 1_000_000,
        terms: Default::default(),
    }
}

/// A machine with this many devices.
pub fn hardware(devices: usize) -> HardwareSpec {
    let device = DeviceSpec { vendor: Vendor::Nvidia, model: bytes("L4"), vram_mib: 24_000, simulated: false };
    HardwareSpec {
        tier: Tier::Professional,
        capabilities: Capabilities { docker: true, ..Default::default() },
        answers_challenges: true,
        network_mbps_down: 1_000,
        network_mbps_up: 1_000,
        cpu_milli: 4_000,
        memory_mib: 4_096,
        disk_gib: 100,
        devices: vec![device; devices].try_into().expect("they fit"),
    }
}

fn genesis() -> [u8; 32] {
    System::block_hash(0).0
}

/// What the host signs for [`register`].
pub fn signature(provider: u8, number: u8, hardware: &HardwareSpec) -> [u8; 64] {
    let (endpoint, region) = (bytes("here"), bytes("eu"));
    let message = registration_message(genesis(), &account(provider), hardware, &endpoint, &region, &ask(GTY));
    host_pair(number).sign(&message).0
}

pub fn register_with(provider: u8, number: u8, hardware: HardwareSpec, signature: [u8; 64]) -> DispatchResult {
    Hosts::register(signed(provider), host(number), hardware, bytes("here"), bytes("eu"), ask(GTY), signature)
}

pub fn register(provider: u8, number: u8, hardware: HardwareSpec) -> DispatchResult {
    let signature = signature(provider, number, &hardware);
    register_with(provider, number, hardware, signature)
}

/// What the host signs for [`change_hardware`].
pub fn hardware_signature(provider: u8, number: u8, generation: u32, hardware: &HardwareSpec) -> [u8; 64] {
    let message = hardware_message(genesis(), &account(provider), generation, hardware);
    host_pair(number).sign(&message).0
}

/// [`HOST`] has other hardware from now on.
pub fn change_hardware(hardware: HardwareSpec) -> DispatchResult {
    let signature = hardware_signature(PROVIDER, HOST, record().generation + 1, &hardware);
    Hosts::change_hardware(signed(PROVIDER), host(HOST), hardware, signature)
}

/// A pod that needs so much; `milli` thousandths of each of `count` devices.
pub fn pod(cpu_milli: u32, count: u8, milli: u16) -> Resources {
    let gpus = GpuRequest { count, milli, min_vram_mib: 0, models: Default::default() };
    Resources { cpu_milli, memory_mib: 1, disk_gib: 1, gpus }
}

/// Takes resources of a host for a lease, as the tasks pallet does.
pub fn reserve(number: u8, resources: &Resources, devices: &[u8], placement: &Placement) -> DispatchResult {
    let mut record = Hosts::host(&host(number))?;
    Hosts::allocate_in(&mut record, &host(number), resources, devices, placement, &account(ANYONE))?;
    Hosts::store(&host(number), &record);
    Ok(())
}

/// Gives them back.
pub fn release(number: u8, resources: &Resources, devices: &[u8]) -> DispatchResult {
    let mut record = Hosts::host(&host(number))?;
    Hosts::release_in(&mut record, resources, devices, Hosts::now())?;
    Hosts::store(&host(number), &record);
    Ok(())
}

/// [`HOST`] pays for a fault. Returns what was taken.
pub fn slash_for_fault(fault: Fault, duration_ms: u64) -> Balance {
    let mut record = record();
    let taken = Hosts::slash_for_fault(&host(HOST), &mut record, fault, duration_ms, Hosts::now());
    Hosts::store(&host(HOST), &record);
    taken
}

/// What is held of an account for its hosts.
pub fn held(who: u8) -> Balance {
    Balances::balance_on_hold(&crate::HoldReason::Bond.into(), &account(who))
}

/// All coins of an account.
pub fn wealth(who: u8) -> Balance {
    Balances::total_balance(&account(who))
}

/// Registers [`HOST`] with two devices and brings it online.
pub fn online() {
    assert_ok!(register(PROVIDER, HOST, hardware(2)));
    assert_ok!(Hosts::heartbeat(by_host(HOST)));
}

pub fn record() -> HostRecord {
    Hosts::host(&host(HOST)).expect("the host exists")
}

pub fn status() -> HostStatus {
    record().status
}

/// The clock moves; nobody says anything.
pub fn advance(ms: u64) {
    pallet_timestamp::Now::<Test>::put(Hosts::now() + ms);
}

/// The chain makes no blocks for so long; then one begins.
pub fn halt(ms: u64) {
    let resumed_at = Hosts::now() + ms;
    SlotTime::set(resumed_at);
    Hosts::on_initialize(1);
    pallet_timestamp::Now::<Test>::put(resumed_at);
}

pub struct ExtBuilder {
    pub params: crate::Params,
}

impl Default for ExtBuilder {
    fn default() -> Self {
        let params = crate::Params {
            bond_consumer: 2 * GTY,
            bond_professional: BOND_PER_DEVICE,
            bond_datacenter: 20 * GTY,
            heartbeat_period_ms: HEARTBEAT_PERIOD,
            absence_limit_ms: ABSENCE_LIMIT,
            absence_bounty: BOUNTY,
            unbonding_ms: UNBONDING,
            allow_simulated: false,
            verification_required: false,
            halt_after_ms: HALT_AFTER,
            free_weight_us: 1_000,
            max_penalty_ppm: 500_000,
            max_notice_ms: 1_000_000_000,
        };
        Self { params }
    }
}

impl ExtBuilder {
    fn build(self) -> sp_io::TestExternalities {
        let balances = vec![
            (account(PROVIDER), 1_000 * GTY),
            (account(ANYONE), GTY),
            (account(SMALL_PROVIDER), BOND_PER_DEVICE + ED),
            (account(TREASURY), ED),
        ];
        let genesis = RuntimeGenesisConfig {
            balances: pallet_balances::GenesisConfig { balances, ..Default::default() },
            hosts: crate::GenesisConfig { params: self.params, ..Default::default() },
            ..Default::default()
        };
        gantry_mock::begin_at::<Test>(genesis, START)
    }

    pub fn build_and_execute(self, test: impl FnOnce()) {
        self.build().execute_with(|| {
            let issued = pallet_balances::TotalIssuance::<Test>::get();
            test();
            assert_ok!(Hosts::do_try_state());
            assert_ok!(Reputation::do_try_state());
            assert_eq!(gantry_mock::coins::<Test>(), issued, "no coin was made or lost");
        });
    }
}

/// Runs a test on the default chain.
pub fn on_chain(test: impl FnOnce()) {
    ExtBuilder::default().build_and_execute(test);
}

/// The default chain with a place for keys, for the benchmarks.
#[cfg(feature = "runtime-benchmarks")]
pub fn new_chain_with_keystore() -> sp_io::TestExternalities {
    let mut externalities = ExtBuilder::default().build();
    let keystore = sp_keystore::testing::MemoryKeystore::new();
    externalities.register_extension(sp_keystore::KeystoreExt::new(keystore));
    externalities
}
