//! Verification of release 3.

use codec::{Decode, Encode};
use gantry_primitives::{
    AccountId, Balance, Ballot, ChallengeId, Commitment, DisputePhase, Evidence, HostId, LeaseId, Moment, PodResult,
    ResultsPhase, Stake, UpTo, Vote, MAX_EVIDENCE, MAX_REPLICAS,
};

/// See `pallet_gantry_verification::Params`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Params {
    /// Coins held for a verifier.
    pub verifier_bond: Balance,
    /// How long the bond of a verifier that leaves is held.
    pub unbonding_ms: u64,
    /// What an absent verifier loses.
    pub absence_penalty: Balance,
    /// What a verifier loses that votes against the majority.
    pub minority_penalty: Balance,
    /// The members of a committee.
    pub committee_size: u8,
    /// The fee for a challenge.
    pub challenge_fee: Balance,
    /// The time between two challenges of a host.
    pub challenge_rest_ms: u64,
    /// The time for an answer.
    pub answer_ms: u64,
    /// The time to commit votes on a challenge.
    pub challenge_commit_ms: u64,
    /// The time to reveal them.
    pub challenge_reveal_ms: u64,
    /// The time to commit a replicated result.
    pub result_commit_ms: u64,
    /// The time to reveal it.
    pub result_reveal_ms: u64,
    /// The members of a first jury.
    pub jury_size: u8,
    /// The members of the jury of an appeal.
    pub appeal_jury_size: u8,
    /// The stake of a dispute.
    pub dispute_stake: Balance,
    /// The part of a stake that goes to the jury.
    pub jury_fee: Balance,
    /// The time of a hearing.
    pub hearing_ms: u64,
    /// The time to commit votes on a dispute.
    pub dispute_commit_ms: u64,
    /// The time to reveal them.
    pub dispute_reveal_ms: u64,
    /// The time for an appeal.
    pub appeal_ms: u64,
}

/// See `gantry_primitives::HostChallenges`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct HostChallenges {
    /// The open challenge.
    pub open: Option<ChallengeId>,
    /// When a verifier last opened one.
    pub by_verifier_at: Option<Moment>,
    /// When the provider last opened one.
    pub by_provider_at: Option<Moment>,
}

/// See `gantry_primitives::DisputeRecord`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DisputeRecord {
    /// Who opened it.
    pub opener: AccountId,
    /// Who pays for the task.
    pub tenant: AccountId,
    /// Who owns the hosts that worked on the task.
    pub providers: UpTo<AccountId, 16>,
    /// When it was opened.
    pub opened_at: Moment,
    /// The phase.
    pub phase: DisputePhase,
    /// The last moment of the phase.
    pub until: Moment,
    /// How often a verdict was appealed.
    pub level: u8,
    /// Whether a second jury of this level was asked for.
    pub retried: bool,
    /// The last verdict.
    pub verdict: Option<Vote>,
    /// The stakes.
    pub stakes: UpTo<Stake, 3>,
    /// The evidence.
    pub evidence: UpTo<Evidence, MAX_EVIDENCE>,
    /// The jury and its votes.
    pub ballot: Ballot,
}

/// See `gantry_primitives::Replica`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Replica {
    /// The lease of the pod.
    pub lease: LeaseId,
    /// The host.
    pub host: HostId,
    /// The commitment to the result.
    pub commitment: Commitment,
    /// The result, once revealed.
    pub result: Option<PodResult>,
}

/// See `gantry_primitives::ResultsRecord`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ResultsRecord {
    /// The phase.
    pub phase: ResultsPhase,
    /// The last moment of the phase.
    pub until: Moment,
    /// When the first host committed.
    pub opened_at: Moment,
    /// How many results are compared.
    pub wanted: u8,
    /// Whether a further host was asked for.
    pub extended: bool,
    /// The results that were committed.
    pub replicas: UpTo<Replica, MAX_REPLICAS>,
}
