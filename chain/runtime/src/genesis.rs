//! Genesis presets: the chains that this runtime can start.

use crate::{
    configs::consensus::BABE_EPOCH, AccountId, AgreementsConfig, Balance, BalancesConfig, Billing, BillingConfig,
    CouncilConfig, GovernanceConfig, HostsConfig, LeasesConfig, Runtime, RuntimeGenesisConfig, Session, SessionConfig,
    SessionKeys, SudoConfig, TasksConfig, ValidatorsConfig, VerificationConfig, EXISTENTIAL_DEPOSIT, GTY,
    SLOT_DURATION_MS,
};
use alloc::{vec, vec::Vec};
use frame_support::{build_struct_json_patch, genesis_builder_helper::build_state};
use pallet_gantry_validators::DEFAULT_EPOCH_SLOTS;
use serde_json::Value;
use sp_genesis_builder::PresetId;
use sp_keyring::{Ed25519Keyring, Sr25519Keyring};

/// One validator, well-known accounts, short periods: a developer's machine.
pub const DEVELOPMENT: &str = sp_genesis_builder::DEV_RUNTIME_PRESET;
/// Two validators, well-known accounts: a test network on one machine.
pub const LOCAL: &str = sp_genesis_builder::LOCAL_TESTNET_RUNTIME_PRESET;
/// Four validators and a council, well-known accounts, no sudo, periods of some minutes: what production will be, for
/// trying it out.
pub const STAGING: &str = "staging";
/// Periods and amounts of a production network. It contains no accounts: validators, council and coins come from a
/// patch, and without them it does not start.
pub const PRODUCTION: &str = "production";

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Coins of each well-known account.
const ENDOWMENT: Balance = 1_000_000 * GTY;

/// The periods of a preset, and what it allows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// Seconds: a developer waits for it.
    Test,
    /// Minutes: for trying a network out.
    Staging,
    /// Production.
    Production,
}

/// The accounts of a chain from its start.
struct People {
    validators: Vec<(Sr25519Keyring, Ed25519Keyring)>,
    council: Vec<Sr25519Keyring>,
    sudo: Option<Sr25519Keyring>,
    endowed: Vec<Sr25519Keyring>,
}

/// All presets.
pub fn names() -> Vec<PresetId> {
    [DEVELOPMENT, LOCAL, STAGING, PRODUCTION].map(PresetId::from).to_vec()
}

/// A preset's genesis as JSON.
pub fn preset(id: &PresetId) -> Option<Vec<u8>> {
    use {Ed25519Keyring as Ed, Sr25519Keyring as Sr};
    let validators = [(Sr::Alice, Ed::Alice), (Sr::Bob, Ed::Bob), (Sr::Charlie, Ed::Charlie), (Sr::Dave, Ed::Dave)];
    let well_known = |count: usize, sudo| People {
        validators: validators[..count].to_vec(),
        council: vec![Sr::Alice, Sr::Bob, Sr::Charlie],
        sudo,
        endowed: Sr::well_known().collect(),
    };
    let nobody = People { validators: vec![], council: vec![], sudo: None, endowed: vec![] };
    let genesis = match id.as_ref() {
        DEVELOPMENT => chain(Pace::Test, well_known(1, Some(Sr::Alice))),
        LOCAL => chain(Pace::Test, well_known(2, Some(Sr::Alice))),
        STAGING => chain(Pace::Staging, well_known(4, None)),
        PRODUCTION => chain(Pace::Production, nobody),
        _ => return None,
    };
    Some(serde_json::to_vec(&genesis).expect("a JSON value always serialises"))
}

/// Builds the genesis state from complete JSON. Fails for a chain that could make no block, or that could not be
/// governed.
pub fn build(json: Vec<u8>) -> sp_genesis_builder::Result {
    build_state::<RuntimeGenesisConfig>(json)?;
    if Session::validators().is_empty() {
        return Err(
            "the genesis has no validators: give session.keys, as [[account, account, {babe, grandpa}], …], in \
                    a patch (gantry-node chain-spec --patch)"
                .into(),
        );
    }
    let council = pallet_collective::Members::<Runtime, crate::configs::governance::CouncilInstance>::get();
    if council.is_empty() && pallet_sudo::Key::<Runtime>::get().is_none() {
        return Err(
            "nobody could govern this chain: give council.members in a patch (gantry-node chain-spec --patch)".into()
        );
    }
    Ok(())
}

fn chain(pace: Pace, people: People) -> Value {
    let mut balances: Vec<(AccountId, Balance)> =
        people.endowed.iter().map(|key| (key.to_account_id(), ENDOWMENT)).collect();
    // The treasury exists from the start, so that no fee is too small for it.
    balances.push((Billing::treasury(), EXISTENTIAL_DEPOSIT));
    balances.sort();
    let keys: Vec<_> = people
        .validators
        .iter()
        .map(|(babe, grandpa)| {
            let account: AccountId = babe.to_account_id();
            let keys = SessionKeys { babe: babe.public().into(), grandpa: grandpa.public().into() };
            (account.clone(), account, keys)
        })
        .collect();
    let members: Vec<AccountId> = people.council.iter().map(|key| key.to_account_id()).collect();
    let epoch_slots = match pace {
        Pace::Test => 15,
        Pace::Staging => 90,
        Pace::Production => DEFAULT_EPOCH_SLOTS,
    };
    build_struct_json_patch!(RuntimeGenesisConfig {
        balances: BalancesConfig { balances },
        babe: pallet_babe::GenesisConfig { epoch_config: BABE_EPOCH },
        session: SessionConfig { keys },
        validators: ValidatorsConfig { epoch_slots, slot_ms: SLOT_DURATION_MS },
        sudo: SudoConfig { key: people.sudo.map(|key| key.to_account_id()) },
        council: CouncilConfig { members },
        governance: GovernanceConfig { params: governance(pace) },
        hosts: HostsConfig { params: hosts(pace) },
        tasks: TasksConfig { params: tasks(pace) },
        leases: LeasesConfig { params: leases(pace) },
        billing: BillingConfig { params: billing(pace) },
        verification: VerificationConfig { params: verification(pace), verifiers: vec![] },
        agreements: AgreementsConfig { params: agreements(pace) },
    })
}

fn governance(pace: Pace) -> pallet_gantry_governance::Params {
    let delay = match pace {
        Pace::Test => SLOT_DURATION_MS,
        Pace::Staging => MINUTE,
        Pace::Production => DAY,
    };
    pallet_gantry_governance::Params { delay_blocks: (delay / SLOT_DURATION_MS) as u32 }
}

fn hosts(pace: Pace) -> pallet_gantry_hosts::Params {
    let (heartbeat_period_ms, absence_limit_ms) = match pace {
        Pace::Test => (6 * SECOND, 30 * SECOND),
        Pace::Staging => (30 * SECOND, 2 * MINUTE),
        // The heartbeats of 100,000 hosts are a tenth of the transactions that the chain can take.
        Pace::Production => (12 * MINUTE, 15 * MINUTE),
    };
    pallet_gantry_hosts::Params {
        bond_consumer: if pace == Pace::Production { 100 * GTY } else { 10 * GTY },
        bond_professional: if pace == Pace::Production { 250 * GTY } else { 25 * GTY },
        bond_datacenter: if pace == Pace::Production { 1_000 * GTY } else { 100 * GTY },
        heartbeat_period_ms,
        absence_limit_ms,
        absence_bounty: GTY / 10,
        unbonding_ms: match pace {
            Pace::Test => MINUTE,
            Pace::Staging => HOUR,
            Pace::Production => 14 * DAY,
        },
        allow_simulated: pace != Pace::Production,
        verification_required: pace == Pace::Production,
        halt_after_ms: if pace == Pace::Test { 10 * SECOND } else { 30 * SECOND },
        // Five milliseconds are twenty reports.
        free_weight_us: if pace == Pace::Production { 5_000 } else { 1_000_000 },
        max_penalty_ppm: 500_000,
        max_notice_ms: 30 * DAY,
    }
}

fn tasks(pace: Pace) -> pallet_gantry_tasks::Params {
    let (start_timeout_ms, dispute_window_ms, preemption_notice_ms) = match pace {
        Pace::Test => (MINUTE, 6 * SECOND, 10 * SECOND),
        Pace::Staging => (5 * MINUTE, 2 * MINUTE, 30 * SECOND),
        Pace::Production => (15 * MINUTE, HOUR, 2 * MINUTE),
    };
    pallet_gantry_tasks::Params {
        start_timeout_ms,
        dispute_window_ms,
        max_attempts: 3,
        scheduler_bond: if pace == Pace::Production { 1_000 * GTY } else { 100 * GTY },
        deposit_base: GTY / 10,
        deposit_per_byte: GTY / 10_000,
        // At the price of a byte of a manifest: a task has some 100 bytes, and a pod some 500 with its lease and checkpoint.
        deposit_per_task: if pace == Pace::Production { GTY / 100 } else { GTY / 1_000 },
        deposit_per_pod: if pace == Pace::Production { GTY / 20 } else { GTY / 1_000 },
        max_duration_ms: 30 * DAY,
        archive_after_ms: match pace {
            Pace::Test => 10 * MINUTE,
            Pace::Staging => HOUR,
            Pace::Production => 7 * DAY,
        },
        refused_item_fine: GTY / 1_000,
        preemption_notice_ms,
        poor_ppm: 300_000,
        checkpoint_min_ms: if pace == Pace::Test { SECOND } else { MINUTE },
        min_charge_ms: if pace == Pace::Test { 10 * SECOND } else { MINUTE },
        // No scheduler places replicas and no agent runs them yet.
        max_replicas: 0,
        // Longer than the absence limit, so that a host that is gone is reported absent first.
        report_grace_ms: hosts(pace).absence_limit_ms * 3 / 2,
        // A developer's machine is often the only host: what it refuses fails at once.
        max_refusals: if pace == Pace::Test { 1 } else { 3 },
        refusal_fee: if pace == Pace::Production { GTY / 100 } else { GTY / 1_000 },
        scheduler_unbonding_ms: match pace {
            Pace::Test => 30 * SECOND,
            Pace::Staging => HOUR,
            Pace::Production => 7 * DAY,
        },
        scheduler_penalty_ppm: 100_000,
        offer_known_ms: match pace {
            Pace::Test => 10 * SECOND,
            Pace::Staging => MINUTE,
            Pace::Production => 2 * MINUTE,
        },
        evidence_ms: match pace {
            Pace::Test => 30 * SECOND,
            Pace::Staging => 10 * MINUTE,
            Pace::Production => HOUR,
        },
        audit_surcharge_ppm: 50_000,
    }
}

fn leases(pace: Pace) -> pallet_gantry_leases::Params {
    let (reclaim_notice_ms, retention_ms, purge_grace_ms) = match pace {
        Pace::Test => (30 * SECOND, 2 * MINUTE, MINUTE),
        Pace::Staging => (5 * MINUTE, HOUR, 10 * MINUTE),
        Pace::Production => (DAY, 10 * DAY, DAY),
    };
    pallet_gantry_leases::Params { reclaim_notice_ms, retention_ms, purge_grace_ms, max_kept_ms: 90 * DAY }
}

fn billing(pace: Pace) -> pallet_gantry_billing::Params {
    let held_back_ms = match pace {
        Pace::Test => MINUTE,
        Pace::Staging => 10 * MINUTE,
        Pace::Production => DAY,
    };
    pallet_gantry_billing::Params {
        fee_ppm: 20_000,
        held_back_ms,
        depletion_bounty: GTY / 100,
        scheduler_share_ppm: 200_000,
        settler_share_ppm: 100_000,
        credit_period_ms: match pace {
            Pace::Test => 5 * MINUTE,
            Pace::Staging => HOUR,
            Pace::Production => 7 * DAY,
        },
    }
}

fn verification(pace: Pace) -> pallet_gantry_verification::Params {
    // What takes hours where coins depend on it takes as many minutes in staging and half as many seconds in tests.
    let production = pallet_gantry_verification::Params::default();
    let scaled = |ms: u64| match pace {
        Pace::Test => (ms / 7_200).max(2 * SLOT_DURATION_MS),
        Pace::Staging => (ms / 60).max(2 * SLOT_DURATION_MS),
        Pace::Production => ms,
    };
    pallet_gantry_verification::Params {
        unbonding_ms: scaled(production.unbonding_ms),
        committee_size: if pace == Pace::Production { production.committee_size } else { 3 },
        challenge_rest_ms: scaled(production.challenge_rest_ms),
        // Half as much again as the absence limit.
        answer_ms: hosts(pace).absence_limit_ms * 3 / 2,
        miss_period_ms: scaled(production.miss_period_ms),
        // Elsewhere two committees of three and the opener.
        min_verifiers: if pace == Pace::Production { production.min_verifiers } else { 7 },
        challenge_commit_ms: if pace == Pace::Test { 10 * SECOND } else { production.challenge_commit_ms },
        challenge_reveal_ms: if pace == Pace::Test { 10 * SECOND } else { production.challenge_reveal_ms },
        // With two committees a day at most, and in tests a minute: what billing keeps unpaid.
        service_window_ms: scaled(production.service_window_ms).max(10 * SECOND),
        service_rest_ms: scaled(production.service_rest_ms),
        result_commit_ms: if pace == Pace::Test { MINUTE } else { scaled(production.result_commit_ms) },
        result_reveal_ms: if pace == Pace::Test { 20 * SECOND } else { production.result_reveal_ms },
        hearing_ms: scaled(production.hearing_ms),
        dispute_commit_ms: if pace == Pace::Test { 10 * SECOND } else { scaled(production.dispute_commit_ms) },
        dispute_reveal_ms: if pace == Pace::Test { 10 * SECOND } else { scaled(production.dispute_reveal_ms) },
        appeal_ms: if pace == Pace::Test { 10 * SECOND } else { scaled(production.appeal_ms) },
        ..production
    }
}

fn agreements(pace: Pace) -> pallet_gantry_agreements::Params {
    // What takes days in production takes as many hours in staging, and minutes in tests.
    let production = pallet_gantry_agreements::Params::default();
    let scaled = |ms: u64| match pace {
        Pace::Test => ms / 1_440,
        Pace::Staging => ms / 24,
        Pace::Production => ms,
    };
    pallet_gantry_agreements::Params {
        max_offer_ms: scaled(production.max_offer_ms),
        max_lead_ms: scaled(production.max_lead_ms),
        // Longer than a challenge of a device takes, during which no lease begins on it.
        min_start_ms: if pace == Pace::Production { production.min_start_ms } else { 2 * verification(pace).answer_ms },
        bond_ms: scaled(production.bond_ms),
        // Shorter than a notice of reclaim, and than final tasks are kept.
        watch_ms: leases(pace).reclaim_notice_ms.min(tasks(pace).archive_after_ms).min(production.watch_ms * 3) / 3,
        response_ms: scaled(production.response_ms),
        ticket_kept_ms: scaled(production.ticket_kept_ms),
        auditor_bond: if pace == Pace::Production { production.auditor_bond } else { 50 * GTY },
        auditor_unbonding_ms: scaled(production.auditor_unbonding_ms),
        contest_ms: scaled(production.contest_ms),
        ..production
    }
}
