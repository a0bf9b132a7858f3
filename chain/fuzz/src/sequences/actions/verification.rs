//! The calls of the verification pallet.

use gantry_primitives::{
    commitments::{result_commitment, result_tag},
    lease_parts, Lease, LeaseState, Matter, Moment, TaskId, TaskState, VerifierStatus,
};
use gantry_runtime::{AccountId, Runtime, RuntimeOrigin, Tasks, GTY};
use pallet_gantry_verification::{Call, Challenges, CurrentParams, Disputes, Results, Verifiers};

use super::{actions, call, signed_by};
use crate::sequences::{arguments::*, chain::*, choices::Choices, subjects::*};

type VerificationCall = Call<Runtime>;

/// A dispute, and one of its parties; the accused provider first.
fn dispute(choices: &mut Choices) -> (TaskId, AccountId) {
    let mut open: Vec<_> = Disputes::<Runtime>::iter().collect();
    open.sort_by_key(|(task, _)| *task);
    let Some((task, record)) = choices.suitable(&open) else { return (0, account(TENANT)) };
    let parties: Vec<_> = record.providers.into_iter().chain([record.tenant, record.opener]).collect();
    (task, choices.suitable(&parties).unwrap_or_else(|| account(ANYONE)))
}

actions! {
    "Verification.bond_verifier" 10 |choices| {
        call(VerificationCall::bond_verifier {}, anyone(choices))
    };
    "Verification.unbond_verifier" 8 |choices| {
        let who = VERIFIERS.start + choices.below(12);
        call(VerificationCall::unbond_verifier {}, by(choices, account(who)))
    };
    "Verification.withdraw_verifier_bond" 10 |choices| {
        let leaving: Vec<_> = Verifiers::<Runtime>::iter()
            .filter(|(_, record)| matches!(record.status, VerifierStatus::Leaving(_)))
            .map(|(who, _)| who)
            .collect();
        let who = choices.suitable(&leaving).unwrap_or_else(|| account(ANYONE));
        call(VerificationCall::withdraw_verifier_bond {}, signed_by(who))
    };
    "Verification.open_challenge" 50 |choices| {
        let number = any_host(choices);
        let device = choices.pick(&[0, 1, 2]);
        let opener = match choices.byte() {
            0..=149 => signed(VERIFIERS.start + 8),
            150..=199 => signed(provider_of(number)),
            200..=239 => RuntimeOrigin::root(),
            _ => anyone(choices),
        };
        let of_host = |lease: &Lease| lease.host == host(number) && lease.state == LeaseState::Active;
        let leased = lease_where(choices, |lease, _, _| of_host(lease));
        let (lease, opener) = match choices.byte() {
            240.. => (Some(leased.id), signed_by(leased.tenant)),
            _ => (None, opener),
        };
        call(VerificationCall::open_challenge { host: host(number), device, lease }, opener)
    };
    "Verification.answer" 50 |choices| {
        let mut open: Vec<_> = Challenges::<Runtime>::iter().map(|(id, record)| (id, record.host)).collect();
        open.sort();
        let (challenge, host) = choices.suitable(&open).unwrap_or_else(|| (0, host(HOSTS.start)));
        let origin = by(choices, host);
        let not_after = choices.usually(Moment::MAX, |_| now().saturating_sub(1));
        call(VerificationCall::answer { challenge, digest: [1; 32], not_after }, origin)
    };
    "Verification.open_service_check" 40 |choices| {
        let served = long_lease(choices, is_active);
        let opener = if choices.byte() < 128 { served.tenant } else { account(VERIFIERS.start + 8) };
        call(VerificationCall::open_service_check { lease: served.id }, by(choices, opener))
    };
    "Verification.commit_vote" 120 |choices| {
        let voting = voting(choices, false);
        let origin = by(choices, voting.who);
        call(VerificationCall::commit_vote { matter: voting.matter, commitment: voting.commitment }, origin)
    };
    "Verification.reveal_vote" 120 |choices| {
        let voting = voting(choices, true);
        let vote = choices.usually(committed_vote(&voting), |_| voting.vote);
        let origin = by(choices, voting.who);
        call(VerificationCall::reveal_vote { matter: voting.matter, vote, salt: SALT }, origin)
    };
    "Verification.commit_result" 70 |choices| {
        let found = lease_where(choices, |lease, _, spec| spec.is_redundant() && is_active(&lease.state));
        let origin = by(choices, found.host.clone());
        let commitment = result_commitment(&result(choices), &SALT, &found.host);
        call(VerificationCall::commit_result { lease: found.id, commitment }, origin)
    };
    "Verification.reveal_result" 70 |choices| {
        let replicas: Vec<_> = Results::<Runtime>::iter_values()
            .flat_map(|record| record.replicas)
            .filter(|replica| replica.result.is_none())
            .collect();
        let (lease, host, result) = match choices.suitable(&replicas) {
            Some(replica) => (replica.lease, replica.host.clone(), committed_result(&replica)),
            None => (0, host(HOSTS.start), result(choices)),
        };
        call(VerificationCall::reveal_result { lease, result, salt: SALT }, by(choices, host))
    };
    "Verification.tag_result" 70 |choices| {
        let replicas: Vec<_> = Results::<Runtime>::iter_values()
            .flat_map(|record| record.replicas)
            .filter(|replica| replica.tag.is_none())
            .collect();
        let (lease, host, result) = match choices.suitable(&replicas) {
            Some(replica) => (replica.lease, replica.host.clone(), committed_result(&replica)),
            None => (0, host(HOSTS.start), result(choices)),
        };
        let tag = choices.usually(result_tag(lease_parts(lease).0, &result), |number| [number; 32]);
        call(VerificationCall::tag_result { lease, tag }, by(choices, host))
    };
    "Verification.open_dispute" 50 |choices| {
        let (task, tenant) = task_where(choices, |record, _| record.state == TaskState::Reported);
        let mut accused: Vec<_> = Tasks::leases_of(task).unwrap_or_default().into_iter().map(|(id, _)| id).collect();
        accused.truncate(choices.pick(&[1, 16, 0]));
        let opener = if choices.byte() < 180 { tenant } else { signed(VERIFIERS.start + 9) };
        call(VerificationCall::open_dispute { task, accused: accused.try_into().expect("few"), evidence: [2; 32] }, opener)
    };
    "Verification.add_evidence" 15 |choices| {
        let (task, who) = dispute(choices);
        call(VerificationCall::add_evidence { task, digest: [choices.byte(); 32] }, signed_by(who))
    };
    "Verification.appeal" 30 |choices| {
        let (task, who) = dispute(choices);
        call(VerificationCall::appeal { task }, signed_by(who))
    };
    "Verification.advance" 30 |choices| {
        let matter = choices.suitable(&matters()).unwrap_or(Matter::Dispute(0));
        call(VerificationCall::advance { matter }, anyone(choices))
    };
    "Verification.set_params" 6 |choices| {
        let mut params = CurrentParams::<Runtime>::get();
        params.committee_size = choices.pick(&[3, 1, 7, 2]);
        params.min_verifiers = choices.pick(&[7, 3, 15, 21, 2]);
        params.jury_size = choices.pick(&[3, 1, 7]);
        params.appeal_jury_size = choices.pick(&[7, 3]);
        params.jury_fee = choices.pick(&[2 * GTY, 0, 10 * GTY, 11 * GTY]);
        params.verifier_bond = choices.pick(&[100 * GTY, 10 * GTY, 1_000 * GTY, 0]);
        params.absence_penalty = choices.pick(&[2 * GTY, 5 * GTY, 50 * GTY]);
        params.minority_penalty = choices.pick(&[GTY, 0, 5 * GTY]);
        params.challenge_fee = choices.pick(&[GTY, 0, 1]);
        params.replica_slash_deposits = choices.pick(&[3, 1, 1_000, 0]);
        params.slash_to_tenant_ppm = choices.pick(&[250_000, 0, 500_000]);
        params.service_fee = choices.pick(&[GTY / 10, 0, 1, GTY]);
        params.service_share_ppm = choices.pick(&[500_000, 0, 1_000_000, 1_000_001]);
        call(VerificationCall::set_params { params }, admin(choices))
    };
}
