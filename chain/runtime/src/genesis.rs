//! Genesis presets: the chains that this runtime can start.

use crate::{
    configs::consensus::BABE_EPOCH, AccountId, Balance, BalancesConfig, Billing, BillingConfig, HostsConfig,
    RuntimeGenesisConfig, SessionConfig, SessionKeys, SudoConfig, TasksConfig, EXISTENTIAL_DEPOSIT, GTY,
};
use alloc::{vec, vec::Vec};
use frame_support::build_struct_json_patch;
use serde_json::Value;
use sp_genesis_builder::PresetId;
use sp_keyring::{Ed25519Keyring, Sr25519Keyring};

/// One validator, well-known accounts, short periods: a developer's machine.
pub const DEVELOPMENT: &str = sp_genesis_builder::DEV_RUNTIME_PRESET;
/// Two validators, well-known accounts: a test network on one machine.
pub const LOCAL: &str = sp_genesis_builder::LOCAL_TESTNET_RUNTIME_PRESET;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;

/// Coins of each well-known account.
const ENDOWMENT: Balance = 1_000_000 * GTY;

/// All presets.
pub fn names() -> Vec<PresetId> {
    vec![PresetId::from(DEVELOPMENT), PresetId::from(LOCAL)]
}

/// A preset's genesis as JSON.
pub fn preset(id: &PresetId) -> Option<Vec<u8>> {
    let genesis = match id.as_ref() {
        DEVELOPMENT => well_known(&[(Sr25519Keyring::Alice, Ed25519Keyring::Alice)]),
        LOCAL => {
            well_known(&[(Sr25519Keyring::Alice, Ed25519Keyring::Alice), (Sr25519Keyring::Bob, Ed25519Keyring::Bob)])
        }
        _ => return None,
    };
    Some(serde_json::to_vec(&genesis).expect("a JSON value always serialises"))
}

fn well_known(validators: &[(Sr25519Keyring, Ed25519Keyring)]) -> Value {
    let mut balances: Vec<(AccountId, Balance)> =
        Sr25519Keyring::well_known().map(|key| (key.to_account_id(), ENDOWMENT)).collect();
    // The treasury exists from the start, so that no fee is too small for it.
    balances.push((Billing::treasury(), EXISTENTIAL_DEPOSIT));
    balances.sort();
    build_struct_json_patch!(RuntimeGenesisConfig {
        balances: BalancesConfig { balances },
        babe: pallet_babe::GenesisConfig { epoch_config: BABE_EPOCH },
        session: SessionConfig {
            keys: validators
                .iter()
                .map(|(babe, grandpa)| {
                    let account: AccountId = babe.to_account_id();
                    let keys = SessionKeys { babe: babe.public().into(), grandpa: grandpa.public().into() };
                    (account.clone(), account, keys)
                })
                .collect::<Vec<_>>(),
        },
        sudo: SudoConfig { key: Some(Sr25519Keyring::Alice.to_account_id()) },
        hosts: HostsConfig {
            params: pallet_gantry_hosts::Params {
                bond_consumer: 10 * GTY,
                bond_professional: 25 * GTY,
                bond_datacenter: 100 * GTY,
                heartbeat_period_ms: 6 * SECOND,
                absence_limit_ms: 30 * SECOND,
                absence_bounty: GTY / 10,
                unbonding_ms: MINUTE,
                allow_simulated: true,
                verification_required: false,
            },
        },
        tasks: TasksConfig {
            params: pallet_gantry_tasks::Params {
                start_timeout_ms: MINUTE,
                dispute_window_ms: 6 * SECOND,
                max_attempts: 3,
                scheduler_bond: 100 * GTY,
                deposit_base: GTY / 10,
                deposit_per_byte: GTY / 10_000,
                deposit_per_task: GTY / 1_000,
                max_duration_ms: 30 * 24 * 60 * MINUTE,
                archive_after_ms: 10 * MINUTE,
                refused_item_fine: GTY / 1_000,
            },
        },
        billing: BillingConfig {
            params: pallet_gantry_billing::Params {
                fee_ppm: 20_000,
                held_back_ms: MINUTE,
                depletion_bounty: GTY / 100,
            },
        },
    })
}
