//! Measures what each call costs: with a full list of verifiers, committees of seven, and disputes at their last appeal.

use alloc::vec::Vec;
use frame_benchmarking::v2::*;
use frame_support::traits::{
    fungible::{MutateHold, Unbalanced},
    tokens::Precision,
};
use frame_system::RawOrigin;
use gantry_primitives::{
    commitments::{result_commitment, result_tag, vote_commitment},
    AccountId, Balance, ChallengePhase, DisputePhase, Evidence, HostId, LeaseId, ListedVerifier, Matter, Moment,
    PodResult, Queue, ResultsPhase, Stake, TaskId, UpTo, Usage, VerifierRecord, VerifierStatus, Vote,
    EVIDENCE_PER_HEARING, MAX_APPEALS, MAX_EVIDENCE, MAX_VERIFIERS,
};

use crate::{
    queues::SEED_DELAY, BenchmarkHelper, Call, Challenges, Config, CurrentParams, Disputes, Ends, HoldReason,
    NextChallengeId, Pallet, Params, Results, Services, Tasks, VerifierList, Verifiers, WeightInfo,
};

/// Enough for every bond and stake here.
const COINS: Balance = 1 << 90;
/// The time at which every benchmark begins.
const START: u64 = 1_000_000;
const SALT: [u8; 32] = [7; 32];

fn rich<T: Config>(name: &'static str, number: u32) -> AccountId {
    let who: AccountId = account(name, number, 0);
    T::Currency::increase_balance(&who, COINS, Precision::Exact).expect("the coins fit");
    who
}

/// The chain has its largest committees, and a full list of bonded verifiers but for one place.
fn ready<T: Config>() -> Vec<AccountId> {
    T::BenchmarkHelper::set_block(1, START, [1; 32]);
    CurrentParams::<T>::put(Params { committee_size: 7, jury_size: 7, appeal_jury_size: 7, ..Params::default() });
    let bond = Params::default().verifier_bond;
    let mut list = UpTo::<ListedVerifier, MAX_VERIFIERS>::default();
    let mut verifiers = Vec::new();
    for number in 1..MAX_VERIFIERS {
        let who = rich::<T>("verifier", number);
        T::Currency::hold(&HoldReason::VerifierBond.into(), &who, bond).expect("it has the coins");
        Verifiers::<T>::insert(&who, VerifierRecord { bond, status: VerifierStatus::Active, duties: 0 });
        list.try_push(ListedVerifier { who: who.clone(), since: 0 }).expect("there is room");
        verifiers.push(who);
    }
    VerifierList::<T>::put(list);
    verifiers
}

/// The clock moves past every period.
fn wait<T: Config>() {
    let number = Pallet::<T>::block().saturating_add(1);
    T::BenchmarkHelper::set_block(number, Pallet::<T>::now() + crate::MAX_PERIOD_MS, [2; 32]);
}

fn after_seed_delay<T: Config>() {
    let number = Pallet::<T>::block().saturating_add(SEED_DELAY);
    T::BenchmarkHelper::set_block(number, Pallet::<T>::now(), [3; 32]);
}

fn opened<T: Config>() -> (u64, HostId) {
    let verifiers = ready::<T>();
    let (host, _) = T::BenchmarkHelper::host();
    Pallet::<T>::do_open_challenge(Some(verifiers[0].clone()), host.clone(), 0, None).expect("it is sound");
    (NextChallengeId::<T>::get() - 1, host)
}

fn drawn<T: Config>() -> (u64, HostId) {
    let (id, host) = opened::<T>();
    after_seed_delay::<T>();
    Pallet::<T>::draw_for_challenge(id).expect("there are enough verifiers");
    (id, host)
}

fn answered<T: Config>() -> (Matter, Vec<AccountId>) {
    let (id, host) = drawn::<T>();
    Pallet::<T>::do_answer(host, id, [1; 32], Moment::MAX).expect("it is asked");
    let record = Challenges::<T>::get(id).expect("it is open");
    (Matter::Challenge(id), record.ballot.seats.into_iter().map(|seat| seat.who).collect())
}

fn commitment(matter: Matter, round: u8, vote: Vote, who: &AccountId) -> [u8; 32] {
    vote_commitment(matter, round, vote, &SALT, who)
}

/// A dispute of 16 leases at its last appeal, with every stake and all the evidence; its jury has committed its votes,
/// against the stakes of two of three, and all but the last member revealed.
fn nearly_judged<T: Config>() -> (TaskId, AccountId) {
    ready::<T>();
    let (task, tenant) = disputed::<T>();
    let appellant = rich::<T>("appellant", 0);
    Disputes::<T>::mutate(task, |record| {
        let record = record.as_mut().expect("it is in dispute");
        for level in 1..=MAX_APPEALS {
            let amount = 1 << 60;
            T::Currency::hold(&HoldReason::DisputeStake.into(), &appellant, amount).expect("it has the coins");
            let stake = Stake { who: appellant.clone(), amount, fee_paid: 1 << 50, side: Vote::No };
            record.stakes.try_push(stake).expect("there is room");
            record.level = level;
        }
        fill(&mut record.evidence, &tenant);
        record.verdict = Some(Vote::No);
    });
    wait::<T>();
    Pallet::<T>::end_dispute_phase(task).expect("the hearing is over");
    after_seed_delay::<T>();
    Pallet::<T>::draw_for_dispute(task).expect("there are enough verifiers");
    let matter = Matter::Dispute(task);
    let ballot = Disputes::<T>::get(task).expect("it is in dispute").ballot;
    let members: Vec<AccountId> = ballot.seats.into_iter().map(|seat| seat.who).collect();
    // Four decide even without the last; the others lose some of their bonds.
    let vote = |position: usize| if position == 1 || position == 3 { Vote::No } else { Vote::Yes };
    for (position, who) in members.iter().enumerate() {
        let commitment = commitment(matter, ballot.round, vote(position), who);
        Pallet::<T>::do_commit_vote(who.clone(), matter, commitment).expect("it is time");
    }
    for (position, who) in members.iter().enumerate().take(6) {
        Pallet::<T>::do_reveal_vote(who.clone(), matter, vote(position), SALT).expect("it is time");
    }
    (task, members[6].clone())
}

/// A service check by a verifier whose first committee found against the host; of the second one, all but the last member
/// have revealed the same vote. Returns the lease and that member.
fn nearly_unserved<T: Config>() -> (LeaseId, AccountId) {
    let verifiers = ready::<T>();
    let lease = T::BenchmarkHelper::running_service();
    T::Currency::increase_balance(&T::Treasury::get(), COINS, Precision::Exact).expect("the coins fit");
    wait::<T>();
    Pallet::<T>::do_open_service_check(verifiers[0].clone(), lease).expect("it has run and paid");
    after_seed_delay::<T>();
    Pallet::<T>::draw_for_service(lease).expect("there are enough verifiers");
    let matter = Matter::Service(lease);
    let members = || -> Vec<AccountId> {
        let ballot = Services::<T>::get(lease).expect("it is open").ballot;
        ballot.seats.into_iter().map(|seat| seat.who).collect()
    };
    let first = members();
    commit_all::<T>(matter, 0, &first);
    for who in &first {
        Pallet::<T>::do_reveal_vote(who.clone(), matter, Vote::No, SALT).expect("it is time");
    }
    let second = members();
    commit_all::<T>(matter, 1, &second);
    for who in &second[1..] {
        Pallet::<T>::do_reveal_vote(who.clone(), matter, Vote::No, SALT).expect("it is time");
    }
    (lease, second[0].clone())
}

fn commit_all<T: Config>(matter: Matter, round: u8, members: &[AccountId]) {
    for who in members {
        let commitment = commitment(matter, round, Vote::No, who);
        Pallet::<T>::do_commit_vote(who.clone(), matter, commitment).expect("it is time");
    }
}

fn fill(evidence: &mut UpTo<Evidence, MAX_EVIDENCE>, by: &AccountId) {
    while evidence.len() + EVIDENCE_PER_HEARING < MAX_EVIDENCE as usize {
        let one = Evidence { by: by.clone(), digest: [1; 32], level: 9 };
        evidence.try_push(one).expect("there is room");
    }
}

fn all_leases<T: Config>(task: TaskId) -> UpTo<LeaseId, 16> {
    let leases: Vec<LeaseId> = T::Tasks::leases_of(task).into_iter().map(|(lease, _)| lease).collect();
    leases.try_into().expect("a task has at most 16 leases")
}

fn disputed<T: Config>() -> (TaskId, AccountId) {
    let tenant = rich::<T>("tenant", 0);
    let task = T::BenchmarkHelper::reported_task(&tenant);
    let accused = all_leases::<T>(task);
    Pallet::<T>::do_open_dispute(tenant.clone(), task, accused, [1; 32]).expect("it is reported");
    (task, tenant)
}

fn result(digest: u8) -> PodResult {
    PodResult { digest: [digest; 32], exit_code: 0, usage: Usage { wall_ms: 1, cpu_ms: 1, memory_peak_mib: 1 } }
}

/// Returns the result of the replica at this position: the first is wrong if there are more than two.
fn result_of(position: usize, leases: &[(LeaseId, HostId)]) -> PodResult {
    result(if position == 0 && leases.len() > 2 { 9 } else { 1 })
}

/// A task whose hosts have all committed results, and all but the last have shown their tags; returns that one.
fn nearly_tagged<T: Config>() -> (TaskId, Vec<(LeaseId, HostId)>) {
    T::BenchmarkHelper::set_block(1, START, [1; 32]);
    let (task, leases) = T::BenchmarkHelper::replicated_task();
    for (position, (lease, host)) in leases.iter().enumerate() {
        let commitment = result_commitment(&result_of(position, &leases), &SALT, host);
        Pallet::<T>::do_commit_result(host.clone(), *lease, commitment).expect("it runs");
    }
    for (position, (lease, host)) in leases.iter().enumerate().take(leases.len() - 1) {
        let tag = result_tag(task, &result_of(position, &leases));
        Pallet::<T>::do_tag_result(host.clone(), *lease, tag).expect("it is time");
    }
    (task, leases)
}

/// A task whose hosts have all shown the tags of their results, and all but the last have revealed them; returns that one.
fn nearly_compared<T: Config>() -> (TaskId, LeaseId, HostId) {
    let (task, leases) = nearly_tagged::<T>();
    let last = leases.len() - 1;
    let (lease, host) = leases[last].clone();
    Pallet::<T>::do_tag_result(host.clone(), lease, result_tag(task, &result(1))).expect("it is time");
    for (position, (lease, host)) in leases.iter().enumerate().take(last) {
        Pallet::<T>::do_reveal_result(host.clone(), *lease, result_of(position, &leases), SALT).expect("it is time");
    }
    (task, lease, host)
}

#[benchmarks]
mod benchmarks {
    use super::*;

    #[benchmark]
    fn bond_verifier() {
        ready::<T>();
        let who = rich::<T>("new", 0);
        #[extrinsic_call]
        _(RawOrigin::Signed(who.clone()));
        assert!(Verifiers::<T>::contains_key(&who));
    }

    #[benchmark]
    fn unbond_verifier() {
        let verifiers = ready::<T>();
        #[extrinsic_call]
        _(RawOrigin::Signed(verifiers[0].clone()));
        assert_eq!(VerifierList::<T>::get().len() as u32, MAX_VERIFIERS - 2);
    }

    #[benchmark]
    fn withdraw_verifier_bond() {
        let who = ready::<T>()[0].clone();
        Pallet::<T>::do_unbond_verifier(who.clone()).expect("it is bonded");
        wait::<T>();
        #[extrinsic_call]
        _(RawOrigin::Signed(who.clone()));
        assert!(!Verifiers::<T>::contains_key(&who));
    }

    #[benchmark]
    fn open_challenge() {
        let who = ready::<T>()[0].clone();
        let (host, _) = T::BenchmarkHelper::host();
        #[extrinsic_call]
        _(RawOrigin::Signed(who), host, 0, None);
        assert_eq!(Challenges::<T>::iter().count(), 1);
    }

    #[benchmark]
    fn open_service_check() {
        let who = ready::<T>()[0].clone();
        let lease = T::BenchmarkHelper::running_service();
        T::Currency::increase_balance(&T::Treasury::get(), COINS, Precision::Exact).expect("the coins fit");
        wait::<T>();
        #[extrinsic_call]
        _(RawOrigin::Signed(who), lease);
        assert!(Services::<T>::contains_key(lease));
    }

    #[benchmark]
    fn end_service() {
        let (lease, last) = nearly_unserved::<T>();
        let matter = Matter::Service(lease);
        #[block]
        {
            Pallet::<T>::do_reveal_vote(last, matter, Vote::No, SALT).expect("it is time");
        }
        assert!(!Services::<T>::contains_key(lease));
        assert!(T::Tasks::served_lease(lease).is_none());
    }

    #[benchmark]
    fn answer() {
        let (id, host) = drawn::<T>();
        #[extrinsic_call]
        _(RawOrigin::Signed(host), id, [1; 32], Moment::MAX);
        assert_eq!(Challenges::<T>::get(id).expect("it is open").phase, ChallengePhase::Committing);
    }

    #[benchmark]
    fn commit_vote() {
        let (matter, members) = answered::<T>();
        for who in &members[1..] {
            let commitment = commitment(matter, 0, Vote::Yes, who);
            Pallet::<T>::do_commit_vote(who.clone(), matter, commitment).expect("it is time");
        }
        let last = commitment(matter, 0, Vote::Yes, &members[0]);
        #[extrinsic_call]
        _(RawOrigin::Signed(members[0].clone()), matter, last);
        assert_eq!(Pallet::<T>::queue_and_deadline(matter).expect("it is open").0, Queue::ChallengeReveal);
    }

    #[benchmark]
    fn reveal_vote() {
        let (task, last) = nearly_judged::<T>();
        #[extrinsic_call]
        _(RawOrigin::Signed(last), Matter::Dispute(task), Vote::Yes, SALT);
        assert!(!Disputes::<T>::contains_key(task));
    }

    #[benchmark]
    fn commit_result() {
        T::BenchmarkHelper::set_block(1, START, [1; 32]);
        let (task, leases) = T::BenchmarkHelper::replicated_task();
        let last = leases.len() - 1;
        for (lease, host) in &leases[..last] {
            Pallet::<T>::do_commit_result(host.clone(), *lease, [1; 32]).expect("it runs");
        }
        let (lease, host) = leases[last].clone();
        #[extrinsic_call]
        _(RawOrigin::Signed(host), lease, [1; 32]);
        assert_eq!(Results::<T>::get(task).expect("they are compared").replicas.len(), last + 1);
    }

    #[benchmark]
    fn tag_result() {
        let (task, leases) = nearly_tagged::<T>();
        let (lease, host) = leases[leases.len() - 1].clone();
        let tag = result_tag(task, &result(1));
        #[extrinsic_call]
        _(RawOrigin::Signed(host), lease, tag);
        assert_eq!(Results::<T>::get(task).expect("they are compared").phase, ResultsPhase::Revealing);
    }

    #[benchmark]
    fn reveal_result() {
        let (task, lease, host) = nearly_compared::<T>();
        #[extrinsic_call]
        _(RawOrigin::Signed(host), lease, result(1), SALT);
        assert!(!Results::<T>::contains_key(task));
    }

    #[benchmark]
    fn open_dispute() {
        T::BenchmarkHelper::set_block(1, START, [1; 32]);
        let tenant = rich::<T>("tenant", 0);
        let task = T::BenchmarkHelper::reported_task(&tenant);
        let accused = all_leases::<T>(task);
        #[extrinsic_call]
        _(RawOrigin::Signed(tenant), task, accused, [1; 32]);
        assert!(Disputes::<T>::contains_key(task));
    }

    #[benchmark]
    fn add_evidence() {
        T::BenchmarkHelper::set_block(1, START, [1; 32]);
        let (task, tenant) = disputed::<T>();
        Disputes::<T>::mutate(task, |record| fill(&mut record.as_mut().expect("it is open").evidence, &tenant));
        let before = Disputes::<T>::get(task).expect("it is open").evidence.len();
        #[extrinsic_call]
        _(RawOrigin::Signed(tenant), task, [1; 32]);
        assert_eq!(Disputes::<T>::get(task).expect("it is open").evidence.len(), before + 1);
    }

    #[benchmark]
    fn appeal() {
        T::BenchmarkHelper::set_block(1, START, [1; 32]);
        let (task, tenant) = disputed::<T>();
        Disputes::<T>::mutate(task, |record| {
            let record = record.as_mut().expect("it is open");
            fill(&mut record.evidence, &tenant);
            record.phase = DisputePhase::Decided;
            record.verdict = Some(Vote::No);
        });
        #[extrinsic_call]
        _(RawOrigin::Signed(tenant), task);
        assert_eq!(Disputes::<T>::get(task).expect("it is open").level, 1);
    }

    #[benchmark]
    fn advance() {
        let (task, _) = nearly_judged::<T>();
        wait::<T>();
        let caller: AccountId = whitelisted_caller();
        #[extrinsic_call]
        _(RawOrigin::Signed(caller), Matter::Dispute(task));
        assert!(!Disputes::<T>::contains_key(task));
    }

    #[benchmark]
    fn set_params() {
        let params = Params { answer_ms: 1, ..Params::default() };
        #[extrinsic_call]
        _(RawOrigin::Root, params.clone());
        assert_eq!(CurrentParams::<T>::get(), params);
    }

    #[benchmark]
    fn draw_seed() {
        let (id, _) = opened::<T>();
        after_seed_delay::<T>();
        #[block]
        {
            Pallet::<T>::draw_for_challenge(id).expect("there are enough verifiers");
        }
        assert_eq!(Challenges::<T>::get(id).expect("it is open").ballot.seats.len(), 7);
    }

    #[benchmark]
    fn stale_entry() {
        // The vote of a dispute, whose record is the largest, has ended before its time.
        T::BenchmarkHelper::set_block(1, START, [1; 32]);
        let (task, tenant) = disputed::<T>();
        Disputes::<T>::mutate(task, |record| fill(&mut record.as_mut().expect("it is open").evidence, &tenant));
        let before = Ends::<T>::get()[Queue::Appeal as usize];
        Pallet::<T>::schedule(Queue::Appeal, Matter::Dispute(task), 0);
        let limit = T::WeightInfo::stale_entry();
        #[block]
        {
            let mut meter = frame_support::weights::WeightMeter::with_limit(limit);
            Pallet::<T>::run_queue(Queue::Appeal, &mut meter).expect("the entry is out of date");
        }
        assert_eq!(Ends::<T>::get()[Queue::Appeal as usize].head, before.head + 1);
    }

    #[benchmark]
    fn hook() {
        // Something waits in a queue of each kind that this can be had in at once, and nothing is due.
        let (matter, _) = answered::<T>();
        disputed::<T>();
        let limit = frame_support::weights::Weight::MAX;
        #[block]
        {
            Pallet::<T>::run_queues(limit);
        }
        assert!(Pallet::<T>::queue_and_deadline(matter).is_ok());
    }

    impl_benchmark_test_suite!(Pallet, crate::mock::ExtBuilder::default().build(), crate::mock::Test);
}
