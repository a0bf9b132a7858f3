//! The invariants of verification. See docs/invariants.md.

use alloc::{collections::BTreeMap, vec::Vec};
use frame_support::{
    ensure,
    traits::{fungible::InspectHold, Get},
};
use gantry_primitives::{
    AccountId, AuditState, Balance, Ballot, ChallengePhase, DisputePhase, Matter, Queue, ResultsPhase, ServicePhase,
    VerifierStatus, Vote, MAX_APPEALS,
};
use sp_runtime::TryRuntimeError;

use crate::{
    services::service_parties, ByHost, Challenges, Config, CurrentParams, Disputes, Ends, HoldReason, NextChallengeId,
    Pallet, Queued, Results, Retries, RetryEnds, Services, VerifierList, Verifiers,
};

type Sums = BTreeMap<AccountId, Balance>;

fn add(sums: &mut Sums, who: &AccountId, amount: Balance) -> Result<(), TryRuntimeError> {
    let sum = sums.entry(who.clone()).or_default();
    *sum = sum.checked_add(amount).ok_or("VERIFY-2: what is held of an account can be added")?;
    Ok(())
}

impl<T: Config> Pallet<T> {
    /// Checks every invariant of this pallet. For tests, the fuzzer and try-runtime.
    pub fn do_try_state() -> Result<(), TryRuntimeError> {
        ensure!(CurrentParams::<T>::get().check().is_ok(), "VERIFY-11: the parameters are sound");
        let mut duties: BTreeMap<AccountId, u32> = BTreeMap::new();
        Self::check_challenges(&mut duties)?;
        Self::check_services(&mut duties)?;
        Self::check_disputes(&mut duties)?;
        Self::check_results()?;
        Self::check_verifiers(&duties)?;
        Self::check_queues()
    }

    fn check_verifiers(duties: &BTreeMap<AccountId, u32>) -> Result<(), TryRuntimeError> {
        let list = VerifierList::<T>::get();
        let mut active = 0usize;
        let mut bonds = Sums::new();
        for (who, record) in Verifiers::<T>::iter() {
            let listed = list.iter().filter(|entry| entry.who == who).count();
            let expected = usize::from(record.status == VerifierStatus::Active);
            ensure!(listed == expected, "VERIFY-1: the list holds exactly the active verifiers, each once");
            active += expected;
            let sits = duties.get(&who).copied().unwrap_or_default();
            ensure!(record.duties == sits, "VERIFY-3: the duties of a verifier are the seats that it has");
            add(&mut bonds, &who, record.bond)?;
        }
        ensure!(list.len() == active, "VERIFY-1: the list holds exactly the active verifiers, each once");
        ensure!(
            duties.keys().all(Verifiers::<T>::contains_key),
            "VERIFY-3: the duties of a verifier are the seats that it has"
        );
        Self::check_held(&bonds, HoldReason::VerifierBond)
    }

    fn check_challenges(duties: &mut BTreeMap<AccountId, u32>) -> Result<(), TryRuntimeError> {
        let mut fees = Sums::new();
        let next = NextChallengeId::<T>::get();
        for (id, record) in Challenges::<T>::iter() {
            ensure!(id < next, "VERIFY-4: challenges are numbered below NextChallengeId");
            let open = ByHost::<T>::get(&record.host).and_then(|of_host| of_host.open);
            ensure!(open == Some(id), "VERIFY-5: a host has one open challenge, or none, and the index knows it");
            if let Some(opener) = &record.opener {
                add(&mut fees, opener, record.fee)?;
            }
            ensure!(record.opener.is_some() || record.fee == 0, "VERIFY-2: only who opened a challenge pays for it");
            let answered = matches!(record.phase, ChallengePhase::Committing | ChallengePhase::Revealing);
            ensure!(record.answer.is_some() == answered, "VERIFY-6: a challenge is judged exactly when it is answered");
            let has_seed = record.phase != ChallengePhase::Waiting;
            let reveals = record.phase == ChallengePhase::Revealing;
            let mut parties: Vec<&AccountId> = alloc::vec![&record.host, &record.provider];
            parties.extend(&record.opener);
            Self::check_ballot(&record.ballot, has_seed, answered, reveals, &parties, duties)?;
            ensure!(record.phase != ChallengePhase::Closed, "VERIFY-6: the chain keeps no closed matter");
        }
        for (_, of_host) in ByHost::<T>::iter() {
            let exists = of_host.open.is_none_or(Challenges::<T>::contains_key);
            ensure!(exists, "VERIFY-5: a host has one open challenge, or none, and the index knows it");
        }
        Self::check_held(&fees, HoldReason::ChallengeFee)
    }

    fn check_services(duties: &mut BTreeMap<AccountId, u32>) -> Result<(), TryRuntimeError> {
        let mut fees = Sums::new();
        for (_, record) in Services::<T>::iter() {
            add(&mut fees, &record.payer, record.fee)?;
            ensure!(
                record.payer == record.opener || record.payer == T::Treasury::get(),
                "VERIFY-13: a service check is paid by the tenant that opened it, or by the treasury"
            );
            ensure!(
                record.payer != record.opener || record.opener == record.tenant,
                "VERIFY-13: a service check is paid by the tenant that opened it, or by the treasury"
            );
            if record.payer != record.opener {
                let kept = duties.entry(record.opener.clone()).or_default();
                *kept = kept.saturating_add(1);
            }
            let is_seated = record.phase != ServicePhase::Waiting;
            let reveals = record.phase == ServicePhase::Revealing;
            let parties = service_parties(&record);
            let parties: Vec<&AccountId> = parties.iter().collect();
            Self::check_ballot(&record.ballot, is_seated, is_seated, reveals, &parties, duties)?;
            ensure!(
                record.verdict != Some(Vote::Yes) && (record.verdict.is_none() || is_seated),
                "VERIFY-14: a committee confirms only a verdict against the host"
            );
            ensure!(record.phase != ServicePhase::Closed, "VERIFY-6: the chain keeps no closed matter");
        }
        Self::check_held(&fees, HoldReason::ServiceFee)
    }

    fn check_disputes(duties: &mut BTreeMap<AccountId, u32>) -> Result<(), TryRuntimeError> {
        let mut stakes = Sums::new();
        for (_, record) in Disputes::<T>::iter() {
            for stake in &record.stakes {
                add(&mut stakes, &stake.who, stake.amount)?;
            }
            ensure!(record.level <= MAX_APPEALS, "VERIFY-7: a verdict is appealed at most twice");
            ensure!(
                record.stakes.len() == usize::from(record.level) + 1,
                "VERIFY-7: each level of a dispute has its stake"
            );
            let decided = record.level > 0 || record.phase == DisputePhase::Decided;
            ensure!(record.verdict.is_some() == decided, "VERIFY-7: there is a verdict once a jury gave one");
            let commits = matches!(record.phase, DisputePhase::Committing | DisputePhase::Revealing);
            let reveals = record.phase == DisputePhase::Revealing;
            let mut parties: Vec<&AccountId> = alloc::vec![&record.opener, &record.tenant];
            parties.extend(&record.providers);
            Self::check_ballot(&record.ballot, commits, commits, reveals, &parties, duties)?;
            ensure!(record.phase != DisputePhase::Closed, "VERIFY-6: the chain keeps no closed matter");
        }
        Self::check_held(&stakes, HoldReason::DisputeStake)
    }

    fn check_results() -> Result<(), TryRuntimeError> {
        for (_, record) in Results::<T>::iter() {
            ensure!(record.phase != ResultsPhase::Closed, "VERIFY-6: the chain keeps no closed matter");
            ensure!(!record.replicas.is_empty(), "VERIFY-8: results are compared from the first commitment on");
            let is_single = matches!(record.audit, AuditState::Awaited | AuditState::Single);
            ensure!(record.wanted >= 2 || is_single, "VERIFY-8: at least two results are compared, or one is audited");
            ensure!(
                (record.phase != ResultsPhase::Drawing || record.audit == AuditState::Awaited)
                    && (record.audit != AuditState::Single || record.phase == ResultsPhase::Revealing),
                "VERIFY-12: an audit is drawn once, and a result that is not repeated is revealed at once"
            );
            let revealed = record.replicas.iter().filter(|replica| replica.result.is_some()).count();
            let tagged = record.replicas.iter().filter(|replica| replica.tag.is_some()).count();
            let shown = match record.phase {
                ResultsPhase::Tagging => tagged,
                ResultsPhase::Revealing => revealed,
                ResultsPhase::Committing | ResultsPhase::Drawing | ResultsPhase::Closed => 0,
            };
            ensure!(shown < record.replicas.len(), "VERIFY-8: tags and results are compared as soon as all are there");
            ensure!(
                record.phase == ResultsPhase::Revealing || revealed == 0 || record.extended,
                "VERIFY-8: no result is known before those that are wanted are committed"
            );
            ensure!(
                record.phase != ResultsPhase::Committing || tagged == 0 || record.extended,
                "VERIFY-8: no tag is known before those that are wanted are committed"
            );
            for (position, replica) in record.replicas.iter().enumerate() {
                let twice = record.replicas[..position].iter().any(|other| other.lease == replica.lease);
                ensure!(!twice, "VERIFY-8: a lease commits once");
            }
        }
        Ok(())
    }

    /// Checks a ballot. `seated`: it must have a seed and a committee; `commits`: it may have commitments; `reveals`:
    /// it may have votes.
    fn check_ballot(
        ballot: &Ballot,
        seated: bool,
        commits: bool,
        reveals: bool,
        parties: &[&AccountId],
        duties: &mut BTreeMap<AccountId, u32>,
    ) -> Result<(), TryRuntimeError> {
        ensure!(
            ballot.seed.is_some() == seated && ballot.seats.is_empty() != seated,
            "VERIFY-9: there is a committee exactly while one is needed, and it has a seed"
        );
        for (position, seat) in ballot.seats.iter().enumerate() {
            let twice = ballot.seats[..position].iter().any(|other| other.who == seat.who);
            let former = ballot.former.contains(&seat.who);
            ensure!(!twice && !former, "VERIFY-9: nobody sits twice in one matter");
            ensure!(!parties.contains(&&seat.who), "VERIFY-9: nobody judges a matter of its own");
            ensure!(seat.commitment.is_none() || commits, "VERIFY-9: votes are committed when it is time");
            ensure!(
                seat.vote.is_none() || (reveals && seat.commitment.is_some()),
                "VERIFY-9: votes are revealed when it is time, and only committed ones"
            );
            let sits = duties.entry(seat.who.clone()).or_default();
            *sits = sits.saturating_add(1);
        }
        Ok(())
    }

    fn check_queues() -> Result<(), TryRuntimeError> {
        let ends = Ends::<T>::get();
        let mut length = 0u64;
        for queue in Queue::ALL {
            let end = ends[queue as usize];
            ensure!(end.head <= end.tail, "VERIFY-10: a queue ends after it begins");
            length = length.saturating_add(end.tail.saturating_sub(end.head));
            for position in end.head..end.tail {
                ensure!(Queued::<T>::contains_key((queue, position)), "VERIFY-10: every place of a queue is taken");
            }
        }
        let mut queued: Vec<(Queue, Matter)> =
            Queued::<T>::iter().map(|((queue, _), entry)| (queue, entry.matter)).collect();
        ensure!(queued.len() as u64 == length, "VERIFY-10: nothing is outside of the queues");
        let end = RetryEnds::<T>::get();
        let retries: Vec<u64> = Retries::<T>::iter_keys().collect();
        let taken = |position: &u64| (end.head..end.tail).contains(position);
        ensure!(
            retries.iter().all(taken) && retries.len() as u64 == end.tail.saturating_sub(end.head),
            "VERIFY-10: every place of the retries is taken"
        );
        queued.extend(Retries::<T>::iter_values().map(|(queue, entry)| (queue, entry.matter)));
        let challenges = Challenges::<T>::iter_keys().map(Matter::Challenge);
        let disputes = Disputes::<T>::iter_keys().map(Matter::Dispute);
        let results = Results::<T>::iter_keys().map(Matter::Results);
        let services = Services::<T>::iter_keys().map(Matter::Service);
        for matter in challenges.chain(disputes).chain(results).chain(services) {
            let (queue, _) = Self::queue_and_deadline(matter)?;
            ensure!(queued.contains(&(queue, matter)), "VERIFY-10: every open matter waits in the queue of its phase");
        }
        Ok(())
    }

    /// Checks the amounts on hold for `reason` of each account in `sums`, and that of all other verifiers, which must
    /// be 0.
    fn check_held(sums: &Sums, reason: HoldReason) -> Result<(), TryRuntimeError> {
        let verifiers = Verifiers::<T>::iter_keys().filter(|who| !sums.contains_key(who)).map(|who| (who, 0));
        for (who, sum) in sums.clone().into_iter().chain(verifiers) {
            ensure!(
                T::Currency::balance_on_hold(&reason.into(), &who) == sum,
                "VERIFY-2: what is held of an account is its bond, its fees and its stakes"
            );
        }
        Ok(())
    }
}
