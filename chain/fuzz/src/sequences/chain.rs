//! The chain on which inputs run: its accounts, hosts, genesis and blocks.

use std::cell::OnceCell;

use frame_support::assert_ok;
use gantry_primitives::{
    registration::{hardware_message, registration_message},
    Ask, Balance, Bytes, Capabilities, DeviceSpec, HardwareSpec, HostId, HostRecord, HostStatus, Moment, Tier, Vendor,
};
use gantry_runtime::{
    genesis, AccountId, Billing, Executive, Hosts, Runtime, RuntimeOrigin, System, Timestamp, EXISTENTIAL_DEPOSIT, GTY,
    SLOT_DURATION_MS,
};
use serde_json::json;
use sp_core::{crypto::Ss58Codec, ed25519, Pair};
use sp_io::TestExternalities;
use sp_keyring::{Ed25519Keyring, Sr25519Keyring};

use crate::common;

/// Accounts with plenty of coins.
pub const TENANT: u8 = 1;
pub const SCHEDULER: u8 = 6;
pub const ANYONE: u8 = 7;
/// A tenant whose coins do not suffice for everything.
pub const POOR_TENANT: u8 = 2;
/// An account without coins.
pub const NOBODY: u8 = 8;
/// Account 3, 4 or 5.
const PROVIDERS: u8 = 3;
/// Members of the council.
const COUNCIL: [u8; 3] = [9, 10, 11];
/// Verifiers from the start.
pub const VERIFIERS: core::ops::Range<u8> = 20..32;
/// Hosts that are registered at the start, and two that are not.
pub const HOSTS: core::ops::Range<u8> = 50..60;
const REGISTERED: core::ops::Range<u8> = 50..58;
/// Callers that have no part in what a call is about, as a rule.
pub const ACCOUNTS: [u8; 12] = [ANYONE, TENANT, POOR_TENANT, 3, 4, 5, SCHEDULER, NOBODY, 9, 20, 21, 22];

/// Milliseconds.
pub const MINUTE: u64 = 60_000;
/// Milliseconds.
pub const HOUR: u64 = 60 * MINUTE;
const POOR: Balance = 20 * GTY;

pub fn account(who: u8) -> AccountId {
    AccountId::new([who; 32])
}

pub fn signed(who: u8) -> RuntimeOrigin {
    RuntimeOrigin::signed(account(who))
}

fn pair(number: u8) -> ed25519::Pair {
    ed25519::Pair::from_seed(&[number; 32])
}

thread_local! {
    // Made once: making a key takes longer than most steps.
    static IDS: Vec<HostId> = HOSTS.map(|number| HostId::new(pair(number).public().0)).collect();
}

/// The host of this number.
pub fn host(number: u8) -> HostId {
    IDS.with(|ids| ids[usize::from(number - HOSTS.start)].clone())
}

/// The provider of the host of this number.
pub fn provider_of(number: u8) -> u8 {
    PROVIDERS + number % 3
}

pub fn bytes<const N: u32>(text: &str) -> Bytes<N> {
    text.as_bytes().to_vec().try_into().expect("the text fits")
}

pub fn ask() -> Ask {
    Ask {
        gpu: Default::default(),
        gpu_per_hour: GTY,
        cpu_core_per_hour: GTY / 10,
        memory_gib_per_hour: GTY / 100,
        disk_gib_per_hour: 0,
        network_gib: 0,
        storage_gib_per_hour: GTY / 50,
        second_ppm: 1_000_000,
        hour_ppm: 1_000_000,
        day_ppm: 1_000_000,
        terms: Default::default(),
    }
}

/// A machine with two devices; host 57 has simulated ones, and odd hosts are professional.
pub fn hardware(number: u8) -> HardwareSpec {
    let simulated = number == REGISTERED.end - 1;
    let device = DeviceSpec { vendor: Vendor::Nvidia, model: bytes("L4"), vram_mib: 24_000, simulated };
    HardwareSpec {
        cpu_milli: 4_000,
        memory_mib: 4_096,
        disk_gib: 100,
        devices: vec![device; 2].try_into().expect("two fit"),
        tier: if number.is_multiple_of(2) { Tier::Consumer } else { Tier::Professional },
        capabilities: Capabilities { docker: true, shares: true, ..Default::default() },
        network_mbps_down: 1_000,
        network_mbps_up: 1_000,
        answers_challenges: true,
    }
}

/// What the key of a host signs so that `provider` may register it, in region "eu" with the endpoint "here".
pub fn registration_signature(provider: u8, number: u8, hardware: &HardwareSpec, ask: &Ask) -> [u8; 64] {
    let genesis: [u8; 32] = System::block_hash(0).0;
    let message = registration_message(genesis, &account(provider), hardware, &bytes("here"), &bytes("eu"), ask);
    pair(number).sign(&message).0
}

/// What the key of a host signs so that its provider may change its hardware.
pub fn hardware_signature(number: u8, generation: u32, hardware: &HardwareSpec) -> [u8; 64] {
    let genesis: [u8; 32] = System::block_hash(0).0;
    pair(number).sign(&hardware_message(genesis, &account(provider_of(number)), generation, hardware)).0
}

pub fn now() -> Moment {
    Timestamp::get()
}

/// The genesis of a test network with periods of minutes, with replicas, and with the accounts above.
fn patch() -> serde_json::Value {
    let rich = [TENANT, SCHEDULER, ANYONE, 3, 4, 5].into_iter().chain(COUNCIL).chain(VERIFIERS);
    let treasury = (Billing::treasury(), EXISTENTIAL_DEPOSIT);
    let balances = rich.map(|who| (account(who), 1_000_000 * GTY)).chain([(account(POOR_TENANT), POOR), treasury]);
    // One who may become a validator.
    let keys = json!({ "babe": Sr25519Keyring::Eve.public().to_ss58check(), "grandpa": Ed25519Keyring::Eve.public().to_ss58check() });
    let eve = Sr25519Keyring::Eve.to_account_id();
    json!({
        "balances": { "balances": balances.collect::<Vec<_>>() },
        "session": { "nonAuthorityKeys": [[eve, eve, keys]] },
        "council": { "members": COUNCIL.map(account) },
        "hosts": { "params": { "heartbeatPeriodMs": MINUTE, "absenceLimitMs": 3 * MINUTE } },
        "tasks": { "params": { "maxReplicas": 3, "maxRefusals": 2 }, "schedulers": [account(SCHEDULER)] },
        "verification": { "verifiers": VERIFIERS.map(account).collect::<Vec<_>>() },
    })
}

thread_local! {
    static START: OnceCell<TestExternalities> = const { OnceCell::new() };
}

/// The chain that every input begins on: in its third block, with hosts that are online.
pub fn start() -> TestExternalities {
    START.with(|start| {
        let ready = start.get_or_init(|| {
            let mut externalities = common::started_with(genesis::LOCAL, &patch());
            externalities.execute_with(|| {
                for number in REGISTERED {
                    let hardware = hardware(number);
                    let signature = registration_signature(provider_of(number), number, &hardware, &ask());
                    let (provider, endpoint, region) = (signed(provider_of(number)), bytes("here"), bytes("eu"));
                    assert_ok!(Hosts::register(provider, host(number), hardware, endpoint, region, ask(), signature));
                    assert_ok!(Hosts::heartbeat(RuntimeOrigin::signed(host(number))));
                }
                NextBlock::default().apply();
                NextBlock::default().apply();
                System::reset_events();
            });
            externalities.commit_all().expect("no transaction is open");
            externalities
        });
        let mut copy = TestExternalities::new_empty();
        copy.backend = ready.backend.clone();
        copy
    })
}

/// How the next block follows the present one.
#[derive(Clone, Debug)]
pub struct NextBlock {
    /// Milliseconds until the next block, a multiple of a slot.
    pub ms: u64,
    /// Hosts that are silent meanwhile. All others that are online give their heartbeats.
    pub silent: Vec<u8>,
    /// Whether the chain made no blocks meanwhile. Otherwise it made blocks in which nothing happened but heartbeats.
    pub halted: bool,
    /// What the randomness of the block is made of; none where its author gave none.
    pub seed: Option<u8>,
}

impl Default for NextBlock {
    fn default() -> Self {
        Self { ms: SLOT_DURATION_MS, silent: Vec::new(), halted: false, seed: Some(0) }
    }
}

impl NextBlock {
    /// Closes the open block and opens the next one.
    pub fn apply(&self) {
        let until = now() / SLOT_DURATION_MS * SLOT_DURATION_MS + self.ms.max(SLOT_DURATION_MS);
        let parent = Executive::finalize_block();
        let number = parent.number + 1;
        let random = self.seed.map(|seed| sp_io::hashing::blake2_256(&[&number.to_le_bytes()[..], &[seed]].concat()));
        pallet_babe::AuthorVrfRandomness::<Runtime>::put(random);
        if !self.halted && self.ms > SLOT_DURATION_MS {
            let last = until - SLOT_DURATION_MS;
            pallet_timestamp::Now::<Runtime>::put(last);
            for number in HOSTS {
                let Ok(record) = Hosts::host(&host(number)) else { continue };
                let present = matches!(record.status, HostStatus::Online | HostStatus::Draining);
                if present && !self.silent.contains(&number) {
                    Hosts::store(&host(number), &HostRecord { last_heartbeat: last, ..record });
                }
            }
        }
        common::open_in(until / SLOT_DURATION_MS, until, number, parent, 0);
    }
}
