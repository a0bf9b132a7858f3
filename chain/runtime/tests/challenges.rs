//! Challenges of hosts with leases, on the real runtime.

#[path = "economics/ballots.rs"]
mod ballots;
mod common;
#[allow(dead_code, reason = "the strategies of economics.rs use the rest")]
#[path = "economics/setup.rs"]
mod setup;

use ballots::*;
use codec::Encode;
use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{
    commitments::seed_subject, registration::hardware_message, ChallengeId, ChallengeOutcome, Device, HardwareSpec,
    HostRecord, HostStatus, LeaseId, Matter, SuspendReason, TaskKind, Vote,
};
use gantry_runtime::{genesis, AccountId, Hosts, Runtime, RuntimeOrigin, System, Tasks, Verification, GTY};
use pallet_gantry_hosts::Error as HostsError;
use pallet_gantry_verification::{draw, Challenges, CurrentParams, Error, VerifierList};
use serde_json::Value;
use setup::*;
use sp_core::{ed25519, Pair};

const TENANT: u8 = 1;
const PROVIDER: u8 = 2;
const HOST: u8 = 12;
/// As few verifiers as a committee needs on the list in production.
const VERIFIERS: core::ops::Range<u8> = 50..71;
const VERIFIER: u8 = 50;
/// Four verifiers of one person.
const ATTACKERS: core::ops::Range<u8> = 50..54;

fn host_record() -> HostRecord {
    Hosts::host(&host(HOST)).expect("it is registered")
}

/// Plays on a chain with verifiers and one host that answers challenges.
fn with_a_host(game: impl FnOnce()) {
    with_verifiers(VERIFIERS, game);
}

/// Plays on a chain with one host that answers challenges, and with these verifiers.
fn with_verifiers(verifiers: core::ops::Range<u8>, game: impl FnOnce()) {
    play(|| {
        join(PROVIDER, HOST);
        let answering = HostRecord { answers_challenges: true, ..host_record() };
        Hosts::store(&host(HOST), &answering);
        for who in verifiers {
            assert_ok!(Verification::bond_verifier(signed(who)));
        }
        // Verifiers are drawn for challenges of later blocks alone.
        System::set_block_number(System::block_number() + 1);
        game();
        check();
    });
}

fn open(who: u8, device: u8, lease: Option<LeaseId>) -> frame_support::dispatch::DispatchResult {
    Verification::open_challenge(signed(who), host(HOST), device, lease)
}

fn is_attacker(who: &AccountId) -> bool {
    ATTACKERS.map(account).any(|attacker| attacker == *who)
}

/// Attackers vote against the host, others for it.
fn judge(challenge: ChallengeId) {
    vote(Matter::Challenge(challenge), |who| Some(if is_attacker(who) { Vote::No } else { Vote::Yes }));
}

/// Randomness by which the attackers have as many seats as they can: all but the opener sit. It stands for an attacker that
/// is a validator and chooses among its blocks.
fn best_randomness(challenge: ChallengeId) -> [u8; 32] {
    let listed = VerifierList::<Runtime>::get();
    let asked_in = Challenges::<Runtime>::get(challenge).expect("it is open").ballot.asked_in;
    let excluded = [host(HOST), account(PROVIDER), account(VERIFIER)];
    let excluded: Vec<&AccountId> = excluded.iter().collect();
    let size = usize::from(CurrentParams::<Runtime>::get().committee_size);
    let subject = seed_subject(Matter::Challenge(challenge), 0);
    let found = (0u32..).map(|number| sp_io::hashing::blake2_256(&number.encode())).find(|randomness| {
        let seed = sp_io::hashing::blake2_256(&[&subject[..], &randomness[..]].concat());
        let drawn = draw::draw(&seed, &listed, size, asked_in, &excluded, |_| false).expect("there are enough");
        drawn.iter().filter(|who| is_attacker(who)).count() == ATTACKERS.len() - 1
    });
    found.expect("one in a hundred is")
}

/// The host does not answer, although it is there. Returns what becomes of the challenge.
fn missed() -> ChallengeOutcome {
    draw_committees();
    pass(CurrentParams::<Runtime>::get().answer_ms + 1, &[HOST]);
    assert_ok!(Verification::advance(signed(39), Matter::Challenge(last_challenge())));
    outcome()
}

/// The provider changes whether the host answers challenges, and nothing else.
fn register_again(answers_challenges: bool) {
    let record = host_record();
    let hardware = HardwareSpec {
        tier: record.tier,
        capabilities: record.capabilities,
        answers_challenges,
        cpu_milli: record.total.cpu_milli,
        memory_mib: record.total.memory_mib,
        disk_gib: record.total.disk_gib,
        network_mbps_down: record.network_mbps_down,
        network_mbps_up: record.network_mbps_up,
        devices: record
            .devices
            .into_iter()
            .map(|Device { spec, .. }| spec)
            .collect::<Vec<_>>()
            .try_into()
            .expect("they fit"),
    };
    let genesis: [u8; 32] = System::block_hash(0).0;
    let message = hardware_message(genesis, &account(PROVIDER), record.generation + 1, &hardware);
    let signature = ed25519::Pair::from_seed(&[HOST; 32]).sign(&message).0;
    assert_ok!(Hosts::change_hardware(signed(PROVIDER), host(HOST), hardware, signature));
}

fn rest() {
    pass(CurrentParams::<Runtime>::get().challenge_rest_ms, &[HOST]);
}

#[test]
fn a_host_that_does_not_answer_challenges_is_neither_challenged_nor_punished() {
    with_a_host(|| {
        register_again(false);
        let before = host_record();
        assert_noop!(open(VERIFIER, 0, None), Error::<Runtime>::ChallengesNotAnswered);
        assert_noop!(open(PROVIDER, 0, None), Error::<Runtime>::ChallengesNotAnswered);
        let by_root = Verification::open_challenge(RuntimeOrigin::root(), host(HOST), 0, None);
        assert_noop!(by_root, Error::<Runtime>::ChallengesNotAnswered);
        assert_eq!(host_record(), before);
    });
}

#[test]
fn a_host_is_punished_for_the_second_of_two_missed_challenges() {
    with_a_host(|| {
        let bond = host_record().bond;
        assert_ok!(open(VERIFIER, 0, None));
        assert_eq!(missed(), ChallengeOutcome::Missed);
        assert_eq!((host_record().status, host_record().bond), (HostStatus::Online, bond));
        rest();
        assert_ok!(open(VERIFIER, 1, None));
        assert_eq!(missed(), ChallengeOutcome::NotAnswered);
        assert_eq!(host_record().status, HostStatus::Suspended(SuspendReason::FailedChallenge));
        assert_eq!(host_record().bond, bond - bond / 10);
    });
}

#[test]
fn a_host_does_not_escape_a_challenge_by_registering_again() {
    with_a_host(|| {
        let bond = host_record().bond;
        assert_ok!(open(VERIFIER, 0, None));
        assert_eq!(missed(), ChallengeOutcome::Missed);
        rest();
        assert_ok!(open(VERIFIER, 0, None));
        register_again(false);
        assert_eq!(missed(), ChallengeOutcome::NotAnswered);
        assert_eq!(host_record().bond, bond - bond / 10);
        assert_eq!(host_record().status, HostStatus::Suspended(SuspendReason::FailedChallenge));
    });
}

#[test]
fn a_challenged_device_takes_no_lease_until_the_host_has_answered() {
    with_a_host(|| {
        assert_ok!(open(VERIFIER, 0, None));
        let task = submit(TENANT, job());
        let refused = try_assign(TENANT, task, &[HOST]);
        assert_eq!(refused, Err(HostsError::<Runtime>::DeviceChallenged.into()));
        draw_committees();
        let challenge = last_challenge();
        assert_ok!(Verification::answer(by_host(HOST), challenge, [1; 32], u64::MAX));
        assert_ok!(try_assign(TENANT, task, &[HOST]));
        assert!(Challenges::<Runtime>::contains_key(challenge), "the committee judges the answer meanwhile");
    });
}

#[test]
fn a_leased_device_is_challenged_by_its_tenant_alone() {
    with_a_host(|| {
        let (_, leases) = start(TENANT, spec(TaskKind::Rental, 1), &[HOST]);
        let lease = Some(leases[0]);
        for who in [VERIFIER, PROVIDER] {
            assert_noop!(open(who, 0, None), Error::<Runtime>::DeviceLeased);
            assert_noop!(open(who, 0, lease), Error::<Runtime>::NotTenantOfLease);
        }
        assert_noop!(open(TENANT, 1, lease), Error::<Runtime>::NotTenantOfLease);
        assert_ok!(open(TENANT, 0, lease));
        draw_committees();
        assert_ok!(Verification::answer(by_host(HOST), last_challenge(), [1; 32], u64::MAX));
    });
}

#[test]
fn a_lease_that_has_ended_is_no_consent() {
    with_a_host(|| {
        let (task, leases) = start(TENANT, job(), &[HOST]);
        finish(HOST, leases[0], MINUTE);
        assert_noop!(open(TENANT, 0, Some(leases[0])), Error::<Runtime>::NotTenantOfLease);
        assert_ok!(open(VERIFIER, 0, None));
        assert_ok!(Tasks::accept_result(signed(TENANT), task));
    });
}

#[test]
fn an_answer_that_is_kept_out_of_blocks_for_too_long_is_a_missed_challenge() {
    with_a_host(|| {
        let before = host_record();
        assert_ok!(open(VERIFIER, 0, None));
        draw_committees();
        let (challenge, not_after) = (last_challenge(), Hosts::now() + MINUTE);
        pass(MINUTE + 1, &[HOST]);
        let late = Verification::answer(by_host(HOST), challenge, [1; 32], not_after);
        assert_eq!(late, Err(Error::<Runtime>::AnswerExpired.into()));
        pass(CurrentParams::<Runtime>::get().answer_ms, &[HOST]);
        assert_ok!(Verification::advance(signed(39), Matter::Challenge(challenge)));
        assert_eq!(outcome(), ChallengeOutcome::Missed);
        let after = host_record();
        assert_eq!((after.status, after.bond), (before.status, before.bond), "nobody is punished");
    });
}

#[test]
fn a_missed_challenge_costs_its_opener_the_fee() {
    with_a_host(|| {
        let (_, leases) = start(TENANT, spec(TaskKind::Rental, 1), &[HOST]);
        let before = total_balance(TENANT);
        assert_ok!(open(TENANT, 0, Some(leases[0])));
        assert_eq!(missed(), ChallengeOutcome::Missed);
        assert_eq!(before - total_balance(TENANT), GTY);
    });
}

/// With randomness of their choice, four accounts have the majority of the first committee, and nothing more.
#[test]
fn four_bonded_accounts_try_to_suspend_a_host_and_fail() {
    with_a_host(|| {
        let (before, attackers) = (host_record(), wealth(&ATTACKERS.collect::<Vec<_>>()));
        assert_ok!(open(VERIFIER, 0, None));
        let challenge = last_challenge();
        let matter = Matter::Challenge(challenge);
        let randomness = best_randomness(challenge);
        begin_block([1; 32]);
        begin_block(randomness);
        begin_block(randomness);
        assert_eq!(members(matter).iter().filter(|who| is_attacker(who)).count(), 3);
        assert_ok!(Verification::answer(by_host(HOST), challenge, [1; 32], u64::MAX));
        judge(challenge);
        assert_eq!(host_record().status, HostStatus::Online, "the verdict against the host is not final");
        assert!(!members(matter).iter().any(is_attacker), "none of them may confirm it");
        judge(challenge);
        assert_eq!(outcome(), ChallengeOutcome::NoVerdict);
        assert_eq!((host_record().status, host_record().bond), (HostStatus::Online, before.bond));
        // The fee of the first committee went to them but for what three cannot divide, that of the confirming one to others.
        let lost = attackers - wealth(&ATTACKERS.collect::<Vec<_>>());
        assert!((GTY as i128..=GTY as i128 + 2).contains(&lost), "{lost}");
    });
}

/// The four accounts are the only verifiers yet.
#[test]
fn four_accounts_that_are_the_whole_list_suspend_nobody() {
    with_verifiers(ATTACKERS, || {
        assert_ok!(open(VERIFIER, 0, None));
        draw_committees();
        assert_eq!(outcome(), ChallengeOutcome::TooFewVerifiers);
        assert_eq!((host_record().status, host_record().challenged), (HostStatus::Online, None));
    });
}

#[test]
fn a_host_has_more_time_to_answer_than_it_may_be_absent_in_every_preset() {
    for preset in [genesis::DEVELOPMENT, genesis::LOCAL, genesis::STAGING, genesis::PRODUCTION] {
        let of = |pallet: &str, name: &str| -> u64 {
            let all: Value = common::preset(preset);
            all[pallet]["params"][name].as_u64().expect("it is a number")
        };
        let (answer_ms, absence_ms) = (of("verification", "answerMs"), of("hosts", "absenceLimitMs"));
        assert!(answer_ms > absence_ms, "{preset}: {answer_ms} ms to answer, {absence_ms} ms of absence");
        assert!(of("verification", "missPeriodMs") >= of("verification", "challengeRestMs"), "{preset}");
    }
}
