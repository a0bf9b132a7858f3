use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{
    AccountId, DisputeOutcome, DisputePhase, Matter, Misconduct, Queue, Vote, EVIDENCE_PER_HEARING,
};
use sp_runtime::DispatchError;

use crate::{mock::*, Disputes, Ends, Error, Event, HoldReason, Verifiers};

const MATTER: Matter = Matter::Dispute(TASK);

fn open(who: u8) {
    assert_ok!(Verification::open_dispute(signed(who), TASK, accused(&[100]), [1; 32]));
}

/// The hearing passes and a jury is drawn.
fn jury() -> Vec<AccountId> {
    wait_past(HEARING);
    blocks(2);
    members(MATTER)
}

/// A jury is drawn and votes as one.
fn decide(verdict: Vote) -> Vec<AccountId> {
    let members = jury();
    vote(MATTER, &members, &vec![Some(verdict); members.len()]);
    members
}

fn phase() -> DisputePhase {
    Disputes::<Test>::get(TASK).expect("it is in dispute").phase
}

fn outcome() -> Option<DisputeOutcome> {
    events().into_iter().rev().find_map(|event| match event {
        Event::DisputeClosed { outcome, .. } => Some(outcome),
        _ => None,
    })
}

fn stake_of(who: u8) -> u128 {
    held(who, HoldReason::DisputeStake)
}

#[test]
fn an_upheld_complaint_refunds_the_tenant_and_punishes_the_host() {
    on_chain(|| {
        reported();
        open(TENANT);
        assert_eq!((task_state(), stake_of(TENANT)), (MockState::Disputed, STAKE));
        let jury = decide(Vote::Yes);
        assert_eq!(jury.len(), 3);
        assert_eq!(phase(), DisputePhase::Decided);
        assert_eq!(stake_of(TENANT), STAKE - JURY_FEE);
        wait_past(APPEAL);
        assert_eq!((outcome(), task_state()), (Some(DisputeOutcome::Upheld), MockState::Failed));
        assert_eq!(host().punished[0].0, Misconduct::DisputeLost);
        assert_eq!(total_balance(TENANT), COINS, "the host pays the jury");
        assert_eq!(host().bond, 20 * GTY - JURY_FEE);
        assert!(jury.iter().all(|who| total_balance(number_of(who)) == COINS + JURY_FEE / 3));
    });
}

#[test]
fn a_rejected_complaint_costs_the_stake_and_verifies_the_task() {
    on_chain(|| {
        reported();
        open(TENANT);
        let jury = decide(Vote::No);
        wait_past(APPEAL);
        assert_eq!((outcome(), task_state()), (Some(DisputeOutcome::Rejected), MockState::Verified));
        assert_eq!(total_balance(TENANT), COINS - STAKE);
        assert_eq!(total_balance(TREASURY), COINS + STAKE - JURY_FEE);
        assert!(host().punished.is_empty());
        assert!(
            jury.iter().all(|who| total_balance(number_of(who)) == COINS + JURY_FEE / 3),
            "a jury earns the same by either verdict"
        );
    });
}

#[test]
fn a_dispute_is_opened_by_the_tenant_or_an_uninvolved_verifier_within_the_window() {
    on_chain(|| {
        let open = |who, task| Verification::open_dispute(signed(who), task, accused(&[100]), [1; 32]);
        assert_noop!(open(TENANT, TASK), Error::<Test>::NoSuchTask);
        replicated(2);
        assert_noop!(open(TENANT, TASK), DispatchError::Other("refused by the tasks pallet"));
        reported();
        assert_noop!(open(ANYONE, TASK), Error::<Test>::NotTenantNorVerifier);
        assert_ok!(Verification::bond_verifier(signed(PROVIDER)));
        assert_noop!(open(PROVIDER, TASK), Error::<Test>::OpenerIsParty);
        assert_ok!(open(OPENER, TASK));
        assert_noop!(open(TENANT, TASK), Error::<Test>::AlreadyDisputed);
        assert_eq!(stake_of(OPENER), STAKE);
    });
}

#[test]
fn a_dispute_names_leases_of_its_task_each_once() {
    on_chain(|| {
        reported_by(&[HOST, HOST + 1]);
        let open = |leases: &[u64]| Verification::open_dispute(signed(TENANT), TASK, accused(leases), [1; 32]);
        assert_noop!(open(&[]), Error::<Test>::NobodyAccused);
        assert_noop!(open(&[100, 101, 100]), Error::<Test>::AccusedTwice);
        assert_noop!(open(&[100, 102]), DispatchError::Other("refused by the tasks pallet"));
        assert_ok!(open(&[101, 100]));
        let record = Disputes::<Test>::get(TASK).expect("it is open");
        assert_eq!(record.accused.to_vec(), [100, 101]);
        assert_eq!(record.providers.to_vec(), [account(PROVIDER), account(OTHER_PROVIDER)]);
    });
}

#[test]
fn only_accused_hosts_are_punished_and_each_once() {
    on_chain(|| {
        // Two leases of one host are wrong; the others of the task are right.
        reported_by(&[HOST, HOST, HOST + 1, HOST]);
        assert_ok!(Verification::open_dispute(signed(TENANT), TASK, accused(&[100, 101]), [1; 32]));
        let other = Verification::add_evidence(signed(OTHER_PROVIDER), TASK, [2; 32]);
        assert_noop!(other, Error::<Test>::NotParty);
        decide(Vote::Yes);
        wait_past(APPEAL);
        assert_eq!((outcome(), task_state()), (Some(DisputeOutcome::Upheld), MockState::Verified));
        assert_eq!(host().punished.len(), 1);
        assert_eq!(host().bond, 20 * GTY - JURY_FEE);
        let innocent = &MockNetwork::get().hosts[&account(HOST + 1)];
        assert_eq!((innocent.punished.len(), innocent.bond), (0, 20 * GTY));
        let states: Vec<_> = (100..104).map(|lease| lease_state(lease).expect("it exists")).collect();
        assert_eq!(states, [MockLease::Void, MockLease::Void, MockLease::Completed, MockLease::Completed]);
    });
}

#[test]
fn who_cannot_pay_the_stake_opens_no_dispute() {
    on_chain(|| {
        reported();
        network(|network| network.tasks.get_mut(&TASK).expect("it exists").tenant = account(NOBODY));
        let open = Verification::open_dispute(signed(NOBODY), TASK, accused(&[100]), [1; 32]);
        assert_noop!(open, Error::<Test>::CannotPayStake);
    });
}

#[test]
fn both_sides_name_evidence_and_neither_crowds_out_the_other() {
    on_chain(|| {
        reported();
        open(OPENER);
        let add = |who, digest| Verification::add_evidence(signed(who), TASK, [digest; 32]);
        assert_noop!(add(ANYONE, 2), Error::<Test>::NotParty);
        assert_noop!(add(OTHER_PROVIDER, 2), Error::<Test>::NotParty);
        assert_ok!(add(OPENER, 2));
        assert_noop!(add(OPENER, 3), Error::<Test>::TooMuchEvidence);
        for who in [TENANT, PROVIDER] {
            for digest in 0..EVIDENCE_PER_HEARING {
                assert_ok!(add(who, digest as u8));
            }
            assert_noop!(add(who, 9), Error::<Test>::TooMuchEvidence);
        }
        pass(HEARING);
        assert_ok!(Verification::do_try_state());
        pass(1);
        assert_noop!(add(PROVIDER, 2), Error::<Test>::TooLate);
        next_block();
        assert_noop!(add(PROVIDER, 2), Error::<Test>::NotHearing);
        blocks(2);
        let members = members(MATTER);
        vote(MATTER, &members, &[Some(Vote::No); 3]);
        assert_ok!(Verification::appeal(signed(TENANT), TASK));
        assert_ok!(add(PROVIDER, 4));
        assert_eq!(Disputes::<Test>::get(TASK).expect("it is open").evidence.len(), 7);
    });
}

#[test]
fn an_appeal_doubles_the_stake_and_asks_seven_others() {
    on_chain(|| {
        reported();
        open(TENANT);
        let first = decide(Vote::No);
        assert_noop!(Verification::appeal(signed(PROVIDER), TASK), Error::<Test>::NotLosingSide);
        assert_noop!(Verification::appeal(signed(ANYONE), TASK), Error::<Test>::NotLosingSide);
        assert_ok!(Verification::appeal(signed(TENANT), TASK));
        assert_eq!(stake_of(TENANT), STAKE - JURY_FEE + 2 * STAKE);
        let second = decide(Vote::Yes);
        assert_eq!(second.len(), 7);
        assert!(second.iter().all(|who| !first.contains(who)));
        assert_noop!(Verification::appeal(signed(TENANT), TASK), Error::<Test>::NotLosingSide);
        assert_ok!(Verification::appeal(signed(PROVIDER), TASK));
        assert_eq!(stake_of(PROVIDER), 4 * STAKE);
        let third = decide(Vote::Yes);
        assert!(third.iter().all(|who| !first.contains(who) && !second.contains(who)));
        // The third verdict is the last, and executed at once.
        assert_eq!((outcome(), task_state()), (Some(DisputeOutcome::Upheld), MockState::Failed));
        assert_eq!(total_balance(TENANT), COINS, "both its stakes and both its juries' fees come back");
        assert_eq!(total_balance(PROVIDER), COINS - 4 * STAKE);
        assert_eq!(host().bond, 20 * GTY, "what the provider staked is enough");
        let treasury = total_balance(TREASURY);
        let dust = |members: u128| JURY_FEE % members;
        assert_eq!(treasury, COINS + 4 * STAKE - 3 * JURY_FEE + 2 * dust(7));
    });
}

#[test]
fn a_verdict_stands_once_its_time_to_appeal_has_passed() {
    on_chain(|| {
        reported();
        open(TENANT);
        assert_noop!(Verification::appeal(signed(TENANT), TASK), Error::<Test>::NotAppealable);
        decide(Vote::No);
        assert_noop!(Verification::advance(signed(ANYONE), MATTER), Error::<Test>::NotDue);
        pass(APPEAL + 1);
        assert_noop!(Verification::appeal(signed(TENANT), TASK), Error::<Test>::TooLate);
        assert_ok!(Verification::advance(signed(ANYONE), MATTER));
        assert_noop!(Verification::appeal(signed(TENANT), TASK), Error::<Test>::NoSuchDispute);
        assert_noop!(Verification::advance(signed(ANYONE), MATTER), Error::<Test>::NoSuchDispute);
    });
}

#[test]
fn no_juror_is_involved() {
    on_chain(|| {
        for who in [TENANT, PROVIDER, OTHER_PROVIDER] {
            assert_ok!(Verification::bond_verifier(signed(who)));
        }
        next_block();
        // A verifier whose account becomes a host of the provider later.
        network(|network| {
            let of_provider = network.hosts[&account(HOST)].clone();
            for judge in 101..120 {
                network.hosts.insert(account(judge), of_provider.clone());
            }
        });
        reported();
        open(OPENER);
        let mut seen = Vec::new();
        seen.extend(jury().iter().map(number_of));
        // Nobody votes, so another jury is drawn.
        wait_past(COMMIT);
        blocks(2);
        seen.extend(members(MATTER).iter().map(number_of));
        assert_eq!(seen.len(), 6);
        let involved = |who: &u8| [TENANT, PROVIDER, OPENER].contains(who) || (101..120).contains(who);
        assert!(!seen.iter().any(involved), "{seen:?}");
        network(|network| network.hosts.retain(|host, _| number_of(host) < 100));
    });
}

#[test]
fn juries_without_verdict_leave_the_result_as_it_is_and_the_stake_to_its_owner() {
    on_chain(|| {
        reported();
        open(TENANT);
        let first = jury();
        vote(MATTER, &first, &[Some(Vote::Yes), Some(Vote::No), None]);
        assert_eq!(phase(), DisputePhase::Waiting);
        blocks(2);
        let second = members(MATTER);
        assert_ok!(commit(MATTER, &second[0], Vote::Yes));
        wait_past(COMMIT);
        assert_eq!((outcome(), task_state()), (Some(DisputeOutcome::NoVerdict), MockState::Verified));
        assert_eq!(total_balance(TENANT), COINS);
        assert_eq!(total_balance(TREASURY), COINS + 3 * ABSENCE);
        assert_eq!(total_balance(number_of(&second[0])), COINS, "too few committed, and it could not reveal");
        assert!(host().punished.is_empty());
        assert!(first.iter().chain(&second).all(|who| Verifiers::<Test>::get(who).expect("it is bonded").duties == 0));
    });
}

#[test]
fn an_appeal_without_verdict_leaves_the_one_before() {
    on_chain(|| {
        reported();
        open(TENANT);
        decide(Vote::Yes);
        assert_ok!(Verification::appeal(signed(PROVIDER), TASK));
        jury();
        wait_past(COMMIT);
        blocks(2);
        wait_past(COMMIT);
        assert_eq!((outcome(), task_state()), (Some(DisputeOutcome::Upheld), MockState::Failed));
        assert_eq!(total_balance(PROVIDER), COINS - JURY_FEE, "the stake comes back; its host pays the first jury");
        assert_eq!(total_balance(TENANT), COINS);
    });
}

#[test]
fn too_few_verifiers_for_a_jury_leave_what_was_before() {
    let builder = ExtBuilder { verifiers: 7, ..Default::default() };
    builder.build_and_execute(|| {
        reported();
        open(TENANT);
        decide(Vote::Yes);
        assert_ok!(Verification::appeal(signed(PROVIDER), TASK));
        wait_past(HEARING);
        blocks(2);
        assert_eq!(outcome(), Some(DisputeOutcome::Upheld));
        reported();
        network(|network| network.tasks.get_mut(&TASK).expect("it exists").tenant = account(ANYONE));
        for judge in 100..103 {
            assert_ok!(Verification::unbond_verifier(signed(judge)));
        }
        open(ANYONE);
        wait_past(HEARING);
        blocks(2);
        assert_eq!((outcome(), total_balance(ANYONE)), (Some(DisputeOutcome::NoVerdict), COINS));
    });
}

#[test]
fn a_step_that_cannot_be_done_changes_nothing_and_is_tried_again() {
    on_chain(|| {
        reported();
        open(TENANT);
        decide(Vote::No);
        network(|network| network.broken = true);
        let before = total_balance(TREASURY);
        wait_past(APPEAL);
        assert_eq!((phase(), total_balance(TREASURY)), (DisputePhase::Decided, before));
        let failed = |event: &Event<Test>| matches!(event, Event::StepFailed { matter: MATTER, .. });
        assert!(events().iter().any(failed));
        network(|network| network.broken = false);
        // What falls due in the same queue meanwhile does not wait for it.
        let taken = || Ends::<Test>::get()[Queue::Appeal as usize].head;
        let before = taken();
        Verification::schedule(Queue::Appeal, Matter::Dispute(TASK + 1), Verification::now());
        blocks(2);
        assert_eq!((taken(), phase()), (before + 1, DisputePhase::Decided));
        wait_past(crate::queues::RETRY_MS);
        assert_eq!(outcome(), Some(DisputeOutcome::Rejected));
    });
}
