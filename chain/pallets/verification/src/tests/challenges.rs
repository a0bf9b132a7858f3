use frame_support::{assert_noop, assert_ok, dispatch::CheckIfFeeless};
use gantry_primitives::{
    commitments::seed_subject, AccountId, ChallengeOutcome, ChallengePhase, Matter, Misconduct, Moment, VerifierRecord,
    Vote,
};
use sp_core::H256;

use crate::{
    draw, mock::*, ByHost, Call, Challenges, CurrentParams, Error, Event, HoldReason, VerifierList, Verifiers,
};

fn phase(matter: Matter) -> ChallengePhase {
    let Matter::Challenge(id) = matter else { panic!("it is a challenge") };
    Challenges::<Test>::get(id).expect("it is open").phase
}

#[test]
fn a_host_that_convinces_its_committee_is_attested_and_verified() {
    on_chain(|| {
        let (matter, members) = answered();
        assert_eq!(held(OPENER, HoldReason::ChallengeFee), 2 * FEE);
        vote(matter, &members, &[Some(Vote::Yes); 3]);
        assert_eq!(outcome(), ChallengeOutcome::Passed);
        assert!(host().attested && host().verified && !host().suspended);
        assert!(host().punished.is_empty());
        assert_eq!(total_balance(OPENER), COINS - FEE);
        for who in &members {
            assert_eq!(total_balance(number_of(who)), COINS + FEE / 3);
            assert_eq!(Verifiers::<Test>::get(who).expect("it is bonded").duties, 0);
        }
        assert_eq!(Challenges::<Test>::iter().count(), 0);
        assert_eq!(ByHost::<Test>::get(account(HOST)).expect("it was challenged").open, None);
    });
}

/// A challenge by `opener` that the host does not answer. Returns the committee.
fn missed(opener: u8) -> Vec<AccountId> {
    let id = open_challenge(opener);
    blocks(2);
    let members = members(Matter::Challenge(id));
    pass(ANSWER);
    assert_ok!(Verification::advance(signed(ANYONE), Matter::Challenge(id)));
    members
}

fn missed_at() -> Option<u64> {
    ByHost::<Test>::get(account(HOST)).and_then(|of_host| of_host.missed_at)
}

#[test]
fn a_first_missed_challenge_is_noted_and_its_opener_pays_the_committee() {
    on_chain(|| {
        let id = open_challenge(OPENER);
        blocks(2);
        assert_noop!(Verification::advance(signed(ANYONE), Matter::Challenge(id)), Error::<Test>::NotDue);
        let members = members(Matter::Challenge(id));
        pass(ANSWER);
        assert_ok!(Verification::advance(signed(ANYONE), Matter::Challenge(id)));
        assert_eq!(outcome(), ChallengeOutcome::Missed);
        assert_eq!(missed_at(), Some(Verification::now()));
        assert!(!host().suspended && host().punished.is_empty());
        assert_eq!((total_balance(PROVIDER), total_balance(OPENER)), (COINS, COINS - FEE));
        assert_eq!(held(OPENER, HoldReason::ChallengeFee), 0);
        for who in members {
            assert_eq!(total_balance(number_of(&who)), COINS + FEE / 3);
            let record = Verifiers::<Test>::get(who).map(|VerifierRecord { bond, duties, .. }| (bond, duties));
            assert_eq!(record, Some((BOND, 0)));
        }
    });
}

#[test]
fn a_first_missed_challenge_withdraws_no_attestation() {
    on_chain(|| {
        change_host(|host| host.attested = true);
        missed(OPENER);
        assert!(host().attested);
        pass(REST);
        missed(OPENER);
        assert!(!host().attested);
    });
}

#[test]
fn a_second_missed_challenge_within_the_period_suspends_and_punishes() {
    on_chain(|| {
        missed(OPENER);
        pass(REST);
        missed(OPENER + 1);
        assert_eq!(outcome(), ChallengeOutcome::NotAnswered);
        assert!(host().suspended);
        assert_eq!(host().punished[0].0, Misconduct::ChallengeNotAnswered);
        let returned = events().into_iter().filter_map(|event| match event {
            Event::ChallengeClosed { returned, .. } => Some(returned),
            _ => None,
        });
        assert!(returned.eq([FEE, FEE]), "each opener pays its committee, and no confirming one");
        assert_eq!(total_balance(PROVIDER), COINS);
        assert_eq!(missed_at(), None, "the punishment uses up the miss before");
        change_host(|host| host.suspended = false);
        pass(REST);
        missed(OPENER);
        assert_eq!(outcome(), ChallengeOutcome::Missed);
        assert_eq!(host().punished.len(), 1);
    });
}

#[test]
fn a_second_missed_challenge_after_the_period_is_a_first_one() {
    on_chain(|| {
        for _ in 0..3 {
            missed(OPENER);
            assert_eq!(outcome(), ChallengeOutcome::Missed);
            pass(MISS_PERIOD + 1);
        }
        assert!(host().punished.is_empty());
    });
}

#[test]
fn passing_a_challenge_of_its_own_provider_does_not_undo_a_miss() {
    on_chain(|| {
        missed(OPENER);
        let (matter, members) = answered_by(PROVIDER);
        vote(matter, &members, &[Some(Vote::Yes); 3]);
        assert_eq!(outcome(), ChallengeOutcome::Passed);
        pass(REST);
        missed(OPENER);
        assert_eq!(outcome(), ChallengeOutcome::NotAnswered);
    });
}

#[test]
fn a_host_that_does_not_say_that_it_answers_is_not_challenged() {
    on_chain(|| {
        change_host(|host| host.answers = false);
        let openers = [RuntimeOrigin::root(), signed(OPENER), signed(PROVIDER)];
        for opener in openers {
            let open = Verification::open_challenge(opener, account(HOST), 0, None);
            assert_noop!(open, Error::<Test>::ChallengesNotAnswered);
        }
        assert!(!host().suspended && host().punished.is_empty());
    });
}

#[test]
fn a_host_does_not_escape_an_open_challenge_by_taking_back_that_it_answers() {
    on_chain(|| {
        missed(OPENER);
        pass(REST);
        let id = open_challenge(OPENER);
        change_host(|host| host.answers = false);
        blocks(2);
        assert_eq!(phase(Matter::Challenge(id)), ChallengePhase::Answering);
        wait_past(ANSWER);
        assert_eq!(outcome(), ChallengeOutcome::NotAnswered);
        assert!(host().suspended && !host().punished.is_empty());
    });
}

#[test]
fn a_leased_device_is_challenged_by_its_tenant_alone() {
    on_chain(|| {
        let lease = 7;
        change_host(|host| {
            host.leased.insert(0, (lease, account(TENANT)));
        });
        let open = |who, device, lease| Verification::open_challenge(signed(who), account(HOST), device, lease);
        for who in [OPENER, PROVIDER] {
            assert_noop!(open(who, 0, None), Error::<Test>::DeviceLeased);
            assert_noop!(open(who, 0, Some(lease)), Error::<Test>::NotTenantOfLease);
        }
        let by_root = |lease| Verification::open_challenge(RuntimeOrigin::root(), account(HOST), 0, lease);
        assert_noop!(by_root(None), Error::<Test>::DeviceLeased);
        assert_noop!(by_root(Some(lease)), Error::<Test>::NotTenantOfLease);
        assert_noop!(open(TENANT, 0, Some(lease + 1)), Error::<Test>::NotTenantOfLease);
        assert_noop!(open(TENANT, 1, Some(lease)), Error::<Test>::NotTenantOfLease);
        assert_noop!(open(TENANT, 1, None), Error::<Test>::NotVerifierNorProvider);
        assert_ok!(open(TENANT, 0, Some(lease)));
        assert_eq!(total_balance(TENANT), COINS);
        assert_eq!(held(TENANT, HoldReason::ChallengeFee), 2 * FEE);
        missed_now();
        assert_eq!(total_balance(TENANT), COINS - FEE);
        assert_noop!(open(TENANT, 0, Some(lease)), Error::<Test>::ChallengedLately);
        // The turn of verifiers is not used up, and other devices of the host may be challenged.
        assert_ok!(open(OPENER, 1, None));
    });
}

/// The host does not answer the challenge that is open.
fn missed_now() {
    blocks(2);
    wait_past(ANSWER);
    assert_eq!(outcome(), ChallengeOutcome::Missed);
}

#[test]
fn a_challenged_device_takes_no_lease_until_the_host_has_answered() {
    on_chain(|| {
        let (matter, members) = answered();
        assert_eq!(host().challenged, None, "it has answered");
        vote(matter, &members, &[Some(Vote::Yes); 3]);
        pass(REST);
        let id = open_challenge(OPENER);
        assert_eq!(host().challenged, Some(0));
        blocks(2);
        assert_eq!(host().challenged, Some(0));
        assert_ok!(Verification::answer(signed(HOST), id, [8; 32], Moment::MAX));
        let matter = Matter::Challenge(id);
        let members = crate::mock::members(matter);
        vote(matter, &members, &[Some(Vote::Yes), Some(Vote::No), None]);
        assert_eq!((phase(matter), host().challenged), (ChallengePhase::Waiting, Some(0)), "it is asked again");
        blocks(2);
        wait_past(ANSWER);
        assert_eq!((outcome(), host().challenged), (ChallengeOutcome::Missed, None));
    });
}

#[test]
fn a_device_that_was_leased_after_the_answer_is_not_asked_for_again() {
    on_chain(|| {
        let (matter, members) = answered();
        change_host(|host| {
            host.leased.insert(0, (7, account(TENANT)));
        });
        vote(matter, &members, &[Some(Vote::Yes), Some(Vote::No), None]);
        assert_eq!(outcome(), ChallengeOutcome::NoVerdict);
        assert_eq!((total_balance(OPENER), host().challenged), (COINS, None));
        assert!(!host().suspended && host().punished.is_empty());
    });
}

#[test]
fn only_the_challenged_host_answers_and_only_in_time() {
    on_chain(|| {
        let id = open_challenge(OPENER);
        let answer = |who| Verification::answer(signed(who), id, [8; 32], Moment::MAX);
        assert_noop!(answer(HOST), Error::<Test>::NotAnswering);
        blocks(2);
        assert_noop!(answer(HOST + 1), Error::<Test>::NotChallengedHost);
        assert_noop!(answer(PROVIDER), Error::<Test>::NotChallengedHost);
        assert_noop!(Verification::answer(signed(HOST), id + 1, [8; 32], Moment::MAX), Error::<Test>::NoSuchChallenge);
        pass(ANSWER);
        assert_noop!(answer(HOST), Error::<Test>::TooLate);
    });
}

#[test]
fn an_answer_that_waited_beyond_the_moment_of_its_host_is_refused_and_the_challenge_missed() {
    on_chain(|| {
        let id = open_challenge(OPENER);
        blocks(2);
        let not_after = Verification::now() + ANSWER / 2;
        let free =
            || RuntimeCall::from(Call::answer { challenge: id, digest: [8; 32], not_after }).is_feeless(&signed(HOST));
        assert!(free());
        pass(ANSWER / 2 + 1);
        assert!(!free());
        let waited = Verification::answer(signed(HOST), id, [8; 32], not_after);
        assert_eq!(waited, Err(Error::<Test>::AnswerExpired.into()));
        assert_eq!(phase(Matter::Challenge(id)), ChallengePhase::Answering, "nothing changed");
        wait_past(ANSWER);
        assert_eq!(outcome(), ChallengeOutcome::Missed);
        assert!(!host().suspended && host().punished.is_empty());
    });
}

#[test]
fn an_answer_is_accepted_at_the_last_moment_that_its_host_gave() {
    on_chain(|| {
        let id = open_challenge(OPENER);
        blocks(2);
        let now = Verification::now();
        assert_noop!(Verification::answer(signed(HOST), id, [8; 32], now - 1), Error::<Test>::AnswerExpired);
        assert_ok!(Verification::answer(signed(HOST), id, [8; 32], now));
    });
}

#[test]
fn an_answer_is_free_of_charge_exactly_when_it_is_valid() {
    on_chain(|| {
        let free = |who, challenge| {
            let call = RuntimeCall::from(Call::answer { challenge, digest: [8; 32], not_after: Moment::MAX });
            call.is_feeless(&signed(who))
        };
        let id = open_challenge(OPENER);
        assert!(!free(HOST, id));
        blocks(2);
        assert!(free(HOST, id) && !free(HOST + 1, id) && !free(HOST, id + 1));
        assert_ok!(Verification::answer(signed(HOST), id, [8; 32], Moment::MAX));
        assert!(!free(HOST, id));
        assert_noop!(Verification::answer(signed(HOST), id, [9; 32], Moment::MAX), Error::<Test>::NotAnswering);
    });
}

#[test]
fn a_challenge_is_opened_by_a_verifier_the_provider_or_root() {
    on_chain(|| {
        let open = |who, host, device| Verification::open_challenge(signed(who), account(host), device, None);
        assert_noop!(open(ANYONE, HOST, 0), Error::<Test>::NotVerifierNorProvider);
        assert_noop!(open(OTHER_PROVIDER, HOST, 0), Error::<Test>::NotVerifierNorProvider);
        assert_noop!(open(OPENER, HOST, 2), Error::<Test>::NoSuchDevice);
        assert_noop!(open(OPENER, ANYONE, 0), Error::<Test>::HostNotListed);
        assert_ok!(open(PROVIDER, HOST, 1));
        assert_noop!(open(OPENER, HOST, 0), Error::<Test>::ChallengeOpen);
        assert_ok!(Verification::open_challenge(RuntimeOrigin::root(), account(HOST + 1), 0, None));
        assert_eq!(Challenges::<Test>::get(1).expect("it is open").fee, 0);
        network(|network| network.hosts.get_mut(&account(HOST + 2)).expect("it exists").listed = false);
        assert_noop!(open(OPENER, HOST + 2, 0), Error::<Test>::HostNotListed);
    });
}

#[test]
fn an_opener_must_be_able_to_pay() {
    on_chain(|| {
        CurrentParams::<Test>::mutate(|params| params.challenge_fee = COINS);
        let open = Verification::open_challenge(signed(OPENER), account(HOST), 0, None);
        assert_noop!(open, Error::<Test>::CannotPayFee);
    });
}

#[test]
fn a_host_rests_between_challenges_and_its_provider_cannot_use_up_that_of_verifiers() {
    on_chain(|| {
        let pass_one = |opener| {
            let id = open_challenge(opener);
            blocks(2);
            assert_ok!(Verification::answer(signed(HOST), id, [8; 32], Moment::MAX));
            let matter = Matter::Challenge(id);
            vote(matter, &members(matter), &[Some(Vote::Yes); 3]);
        };
        let again = |who| Verification::open_challenge(signed(who), account(HOST), 0, None);
        pass_one(PROVIDER);
        assert_noop!(again(PROVIDER), Error::<Test>::ChallengedLately);
        pass_one(OPENER);
        assert_noop!(again(OPENER + 1), Error::<Test>::ChallengedLately);
        assert_ok!(Verification::open_challenge(RuntimeOrigin::root(), account(HOST), 0, None));
        blocks(2);
        wait_past(ANSWER);
        pass(REST);
        assert_ok!(again(OPENER + 1));
    });
}

#[test]
fn anyone_can_draw_the_committee_again() {
    on_chain(|| {
        let id = open_challenge(OPENER);
        let matter = Matter::Challenge(id);
        blocks(2);
        let ballot = ballot(matter);
        let subject = seed_subject(matter, 0);
        let randomness = Random::get().expect("there is some");
        let seed = sp_io::hashing::blake2_256(&[&subject[..], randomness.as_bytes()].concat());
        assert_eq!(ballot.seed, Some(seed));
        let excluded = [&account(OPENER), &account(PROVIDER), &account(HOST)];
        let again = draw::draw(&seed, &VerifierList::<Test>::get(), 3, ballot.asked_in, &excluded, |_| false);
        assert_eq!(again, Some(members(matter)));
        System::assert_has_event(
            Event::CommitteeDrawn { matter, round: 0, seed, block: 2, members: members(matter) }.into(),
        );
    });
}

#[test]
fn a_committee_without_verdict_is_replaced_once_by_another() {
    on_chain(|| {
        let (matter, first) = answered();
        vote(matter, &first, &[Some(Vote::Yes), Some(Vote::No), None]);
        assert_eq!(phase(matter), ChallengePhase::Waiting);
        assert_eq!(held(OPENER, HoldReason::ChallengeFee), 2 * FEE, "the fee is for those who decide");
        assert_eq!(total_balance(number_of(&first[0])), COINS);
        assert_eq!(total_balance(number_of(&first[2])), COINS - ABSENCE);
        assert_eq!(total_balance(TREASURY), COINS + ABSENCE);
        blocks(2);
        let Matter::Challenge(id) = matter else { unreachable!() };
        assert_noop!(commit(matter, &first[0], Vote::Yes), Error::<Test>::NotCommitting);
        assert_ok!(Verification::answer(signed(HOST), id, [9; 32], Moment::MAX));
        let second = members(matter);
        assert!(second.iter().all(|who| !first.contains(who)));
        assert_noop!(commit(matter, &first[0], Vote::Yes), Error::<Test>::NotOnCommittee);
        wait_past(COMMIT);
        assert_eq!(outcome(), ChallengeOutcome::NoVerdict);
        assert_eq!(total_balance(OPENER), COINS, "the fee comes back");
        assert!(!host().suspended && !host().attested);
        assert!(second.iter().all(|who| total_balance(number_of(who)) == COINS - ABSENCE));
    });
}

#[test]
fn who_commits_and_does_not_reveal_is_absent() {
    on_chain(|| {
        let (matter, members) = answered();
        for who in &members {
            assert_ok!(commit(matter, who, Vote::Yes));
        }
        assert_eq!(phase(matter), ChallengePhase::Revealing, "nobody is left who could commit");
        assert_ok!(reveal(matter, &members[0], Vote::Yes));
        assert_ok!(reveal(matter, &members[1], Vote::Yes));
        assert_eq!(phase(matter), ChallengePhase::Revealing);
        wait_past(REVEAL);
        assert_eq!(outcome(), ChallengeOutcome::Passed);
        assert_eq!(total_balance(number_of(&members[2])), COINS - ABSENCE);
        assert_eq!(total_balance(number_of(&members[0])), COINS + (FEE + ABSENCE) / 2);
    });
}

#[test]
fn without_enough_verifiers_a_challenge_says_nothing() {
    let fewest = usize::from(params().min_verifiers);
    for (verifiers, enough) in [(3, false), (fewest - 1, false), (fewest, true)] {
        ExtBuilder { verifiers, ..Default::default() }.build_and_execute(|| {
            let id = open_challenge(OPENER);
            blocks(2);
            assert_eq!(Challenges::<Test>::contains_key(id), enough, "{verifiers} verifiers");
            if !enough {
                assert_eq!(outcome(), ChallengeOutcome::TooFewVerifiers);
                assert_eq!(total_balance(OPENER), COINS);
                assert!(!host().suspended && !host().attested && host().challenged.is_none());
            }
        });
    }
}

#[test]
fn a_verdict_on_hardware_that_was_changed_says_nothing() {
    on_chain(|| {
        let (matter, members) = answered();
        network(|network| network.hosts.get_mut(&account(HOST)).expect("it exists").devices[0] = model("H100"));
        vote(matter, &members, &[Some(Vote::Yes); 3]);
        assert_eq!(outcome(), ChallengeOutcome::HardwareChanged);
        assert!(!host().attested && !host().verified && !host().suspended);
    });
}

#[test]
fn the_story_of_a_challenge_is_told_by_its_events() {
    on_chain(|| {
        let (matter, members) = answered();
        vote(matter, &members, &[Some(Vote::Yes); 3]);
        let names: Vec<String> = events()
            .iter()
            .map(|event| format!("{event:?}").replace("Event::", "").split(' ').next().unwrap_or_default().into())
            .collect();
        let expected =
            "ChallengeOpened CommitteeDrawn AnswerAwaited Answered VoteCommitted VoteCommitted VoteCommitted \
                        RevealsOpened VoteRevealed VoteRevealed VoteRevealed VerifierRewarded VerifierRewarded \
                        VerifierRewarded BallotClosed ChallengeClosed";
        assert_eq!(names.join(" "), expected);
    });
}

#[test]
fn a_seed_waits_for_a_block_that_has_randomness() {
    on_chain(|| {
        let matter = Matter::Challenge(open_challenge(OPENER));
        for _ in 0..5 {
            begin_block(None);
            assert_eq!(phase(matter), ChallengePhase::Waiting);
        }
        begin_block(Some(H256::repeat_byte(4)));
        assert_eq!(phase(matter), ChallengePhase::Waiting, "it may be older than the block before");
        begin_block(Some(H256::repeat_byte(5)));
        assert_eq!(phase(matter), ChallengePhase::Answering);
    });
}
