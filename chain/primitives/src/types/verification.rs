//! Types of verification: challenges, replicated results and disputes.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

use super::{AccountId, Balance, DeviceSpec, Digest, HostId, LeaseId, Moment, PodResult, TaskId, UpTo};

/// Challenges are numbered from 0 in the order they were opened.
pub type ChallengeId = u64;
/// A blake2-256 hash that binds to something not yet shown.
pub type Commitment = [u8; 32];
/// A blake2-256 hash that is equal for equal results of a task: see [`crate::commitments::result_tag`].
pub type ResultTag = [u8; 32];
/// Random bytes that hide the value of a commitment.
pub type Salt = [u8; 32];
/// The randomness by which a committee is drawn.
pub type Seed = [u8; 32];

/// The most verifiers that may be on the list at a time.
pub const MAX_VERIFIERS: u32 = 512;
/// The most members of a committee or jury.
pub const MAX_SEATS: u32 = 7;
/// How often a verdict on a dispute may be appealed.
pub const MAX_APPEALS: u8 = 2;
/// The most members of all earlier committees of one matter: two draws for a dispute and for each appeal, less the
/// present one.
pub const MAX_FORMER: u32 = (2 * (MAX_APPEALS as u32 + 1) - 1) * MAX_SEATS;
/// How many pieces of evidence one party may name in one hearing.
pub const EVIDENCE_PER_HEARING: usize = 2;
/// The most pieces of evidence of one dispute: opener, tenant and 16 providers in each of three hearings.
pub const MAX_EVIDENCE: u32 = 18 * EVIDENCE_PER_HEARING as u32 * (MAX_APPEALS as u32 + 1);
/// The most results of one task that are compared.
pub const MAX_REPLICAS: u32 = 8;

/// A matter that verification decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum Matter {
    /// The challenge of this number.
    Challenge(ChallengeId),
    /// The dispute about this task.
    Dispute(TaskId),
    /// The replicated results of this task.
    Results(TaskId),
    /// The service check of this lease.
    Service(LeaseId),
}

/// An answer to the question of a matter. For a challenge: is the device what its provider says? For a dispute: is
/// the complaint right? For a service check: did the host serve the pod?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum Vote {
    /// Yes.
    Yes,
    /// No.
    No,
    /// For a service check only: the host relayed connections and signed that the pod refused them.
    PodRefused,
}

/// The status of a verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum VerifierStatus {
    /// May be drawn.
    Active,
    /// Is no longer drawn; its bond can be released from then on, if it has no duties left.
    Leaving(Moment),
}

/// An account that judges and has posted a bond.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct VerifierRecord {
    /// Coins held for it.
    pub bond: Balance,
    /// Where it stands.
    pub status: VerifierStatus,
    /// How many open committees and juries it sits on.
    pub duties: u32,
}

/// A verifier that may be drawn.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct ListedVerifier {
    /// The account.
    pub who: AccountId,
    /// The block in which it joined. It is drawn only for what was asked for in a later one.
    pub since: u32,
}

/// Why a verifier left the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum LeaveReason {
    /// It wanted to.
    Unbonded,
    /// Penalties left less than half of the bond that the chain asks for.
    BondTooLow,
}

/// What a verifier is penalised for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum PenaltyReason {
    /// It did not commit a vote, or did not reveal it.
    Absent,
    /// It voted against the majority, or opened a check of a service that the majority had seen served.
    Minority,
}

/// A member of a committee or jury.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Seat {
    /// The verifier.
    pub who: AccountId,
    /// Its commitment to its vote.
    pub commitment: Option<Commitment>,
    /// Its vote, once revealed.
    pub vote: Option<Vote>,
}

/// The vote of a committee or jury.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Ballot {
    /// How many committees this matter has had before the present one.
    pub round: u8,
    /// The block in which the present one was asked for. Its seed is of a later block.
    pub asked_in: u32,
    /// The seed by which the present one was drawn.
    pub seed: Option<Seed>,
    /// The present one; empty while none is drawn.
    pub seats: UpTo<Seat, MAX_SEATS>,
    /// The members of those before it, who are not drawn again.
    pub former: UpTo<AccountId, MAX_FORMER>,
}

/// The phase of a challenge. Changes only along `verification_tables::CHALLENGE_TRANSITIONS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum ChallengePhase {
    /// Waits for its seed.
    Waiting,
    /// The host must answer.
    Answering,
    /// The committee commits its votes.
    Committing,
    /// The committee reveals its votes.
    Revealing,
    /// Decided. The chain stores no record of it.
    Closed,
}

/// The answer of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct ChallengeAnswer {
    /// SHA-256 of the proof, which the committee fetches from the host.
    pub digest: Digest,
    /// When it came.
    pub at: Moment,
}

/// The role of a committee of a challenge.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub enum CommitteeRole {
    /// The first.
    #[default]
    First,
    /// The second, after a first one without a verdict.
    Second,
    /// A committee that judges the same answer after a verdict against the host.
    Confirming {
        /// Coins of the opener that the committee before was paid.
        paid: Balance,
    },
}

/// A host that must prove that a device of it is real.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct ChallengeRecord {
    /// The host.
    pub host: HostId,
    /// Who owns it.
    pub provider: AccountId,
    /// Which of its devices.
    pub device: u8,
    /// What its provider says about the device.
    pub claim: DeviceSpec,
    /// Who opened it and pays the committee; none where the chain's governance did.
    pub opener: Option<AccountId>,
    /// Coins of the opener held for the committees.
    pub fee: Balance,
    /// Where it stands.
    pub phase: ChallengePhase,
    /// The last moment of this phase; 0 while it waits for its seed.
    pub until: Moment,
    /// When it was opened.
    pub opened_at: Moment,
    /// What the host answered to the present seed.
    pub answer: Option<ChallengeAnswer>,
    /// Which committee the ballot is of.
    pub role: CommitteeRole,
    /// The committee and its votes.
    pub ballot: Ballot,
}

/// When a host was challenged.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub struct HostChallenges {
    /// The challenge that is open.
    pub open: Option<ChallengeId>,
    /// When a verifier last opened one.
    pub by_verifier_at: Option<Moment>,
    /// When its own provider last opened one.
    pub by_provider_at: Option<Moment>,
    /// When a tenant last opened one, of a device that it leases.
    pub by_tenant_at: Option<Moment>,
    /// When the host last missed one, unless it was slashed for that.
    pub missed_at: Option<Moment>,
}

/// The outcome of a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum ChallengeOutcome {
    /// The device is what its provider says.
    Passed,
    /// No.
    Failed,
    /// The host did not answer in time, and had missed another challenge shortly before.
    NotAnswered,
    /// Neither of two committees came to a verdict, or one found against the host and the confirming one did not.
    NoVerdict,
    /// There were not enough verifiers for a committee.
    TooFewVerifiers,
    /// The host passed, but its hardware was changed meanwhile.
    HardwareChanged,
    /// The host did not answer in time. It is punished only if it misses another challenge soon.
    Missed,
}

/// The phase of a service check. Changes only along `verification_tables::SERVICE_TRANSITIONS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum ServicePhase {
    /// Waits for its seed.
    Waiting,
    /// The committee commits its votes.
    Committing,
    /// The committee reveals its votes.
    Revealing,
    /// Decided. The chain stores no record of it.
    Closed,
}

/// A check whether a host served the pod of a lease.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct ServiceRecord {
    /// The host.
    pub host: HostId,
    /// Who owns it.
    pub provider: AccountId,
    /// Who pays for the lease.
    pub tenant: AccountId,
    /// Who opened it.
    pub opener: AccountId,
    /// Who pays the committees: the tenant that opened it, or the treasury.
    pub payer: AccountId,
    /// Coins of the payer held for the committees.
    pub fee: Balance,
    /// Coins of the payer that committees were paid.
    pub paid: Balance,
    /// Where it stands.
    pub phase: ServicePhase,
    /// The last moment of this phase; 0 while it waits for its seed.
    pub until: Moment,
    /// The beginning of the time that the votes are about.
    pub since: Moment,
    /// When it was opened: the end of that time.
    pub opened_at: Moment,
    /// The verdict against the host that the present committee is to confirm.
    pub verdict: Option<Vote>,
    /// The committee and its votes.
    pub ballot: Ballot,
}

/// The outcome of a service check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum ServiceOutcome {
    /// The host served the pod.
    Served,
    /// Two committees found that the host failed. The lease has ended.
    NotServed,
    /// Two committees found that the pod was not served, and not both that the host failed. The lease has ended.
    PodRefused,
    /// A committee came to no verdict, or one found against the host and the next did not.
    NoVerdict,
    /// There were not enough verifiers for a committee.
    TooFewVerifiers,
    /// The lease ended meanwhile.
    Overtaken,
}

/// The phase of replicated results. Changes only along `verification_tables::RESULTS_TRANSITIONS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum ResultsPhase {
    /// Hosts commit.
    Committing,
    /// Hosts whose results are equal reveal them.
    Revealing,
    /// Decided. The chain stores no record of it.
    Closed,
    /// Hosts that committed show the tags of their results.
    Tagging,
    /// One host has committed, and waits for the seed that says whether another repeats its work.
    Drawing,
}

/// Whether another host repeats the work of a job whose policy is [`super::VerificationPolicy::Audit`].
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub enum AuditState {
    /// The task has replicas: nothing is drawn.
    #[default]
    NotDrawn,
    /// It is not drawn yet.
    Awaited,
    /// Another does.
    Repeated {
        /// The lease whose result is audited.
        lease: LeaseId,
    },
    /// None does: it was not drawn, or no other host came.
    Single,
}

/// The results of a host that agreed with others or, once it is audited now and then, were not repeated; one after the other.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub struct ValidResults {
    /// The generation of the hardware with which it made them.
    pub generation: u32,
    /// How many.
    pub count: u32,
}

/// The result of one replica.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Replica {
    /// The lease of the pod.
    pub lease: LeaseId,
    /// Its host.
    pub host: HostId,
    /// The commitment of the host to its result.
    pub commitment: Commitment,
    /// The tag of the result, once shown.
    pub tag: Option<ResultTag>,
    /// The result, once revealed.
    pub result: Option<PodResult>,
}

/// The results of a task's replicas on hosts of different providers.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct ResultsRecord {
    /// Where they stand.
    pub phase: ResultsPhase,
    /// While hosts commit: when the chain next looks whether any pod still runs; afterwards: the last moment of the phase.
    pub until: Moment,
    /// When the first host committed.
    pub opened_at: Moment,
    /// How many results are compared.
    pub wanted: u8,
    /// True once a further host was asked for.
    pub extended: bool,
    /// Whether another host repeats the work of the first, where the chain draws it.
    pub audit: AuditState,
    /// Those that committed, in that order.
    pub replicas: UpTo<Replica, MAX_REPLICAS>,
}

/// The outcome of replicated results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum ResultsOutcome {
    /// More than half agree on this result.
    Agreed {
        /// SHA-256 of the result.
        digest: Digest,
        /// What the first container returned.
        exit_code: i32,
    },
    /// No two results agree.
    NoAgreement,
    /// The task was ended, or every host that committed was replaced, meanwhile.
    Overtaken,
    /// The work was not repeated: the one result is that of the task.
    NotRepeated,
}

/// The phase of a dispute. Changes only along `verification_tables::DISPUTE_TRANSITIONS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum DisputePhase {
    /// Both sides name their evidence.
    Hearing,
    /// Waits for the seed of its jury.
    Waiting,
    /// The jury commits its votes.
    Committing,
    /// The jury reveals its votes.
    Revealing,
    /// Has a verdict that may be appealed.
    Decided,
    /// The verdict is final. The chain stores no record of it.
    Closed,
}

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Evidence {
    /// Who names it.
    pub by: AccountId,
    /// SHA-256 of it.
    pub digest: Digest,
    /// In which hearing: 0, or the number of the appeal.
    pub level: u8,
}

/// The stake of a party in a dispute.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Stake {
    /// The account.
    pub who: AccountId,
    /// Coins held.
    pub amount: Balance,
    /// Coins that went to the jury that this stake asked for.
    pub fee_paid: Balance,
    /// The verdict that the stake is for.
    pub side: Vote,
}

/// A dispute about the result of a task.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct DisputeRecord {
    /// Who opened it.
    pub opener: AccountId,
    /// Who pays for the task.
    pub tenant: AccountId,
    /// The leases whose results are disputed, in ascending order; at least one.
    pub accused: UpTo<LeaseId, 16>,
    /// Who owns the hosts of those leases.
    pub providers: UpTo<AccountId, 16>,
    /// When it was opened.
    pub opened_at: Moment,
    /// Where it stands.
    pub phase: DisputePhase,
    /// The last moment of this phase; 0 while it waits for a seed.
    pub until: Moment,
    /// How often a verdict was appealed.
    pub level: u8,
    /// True after a jury of this level gave no verdict and another was requested.
    pub retried: bool,
    /// The last verdict.
    pub verdict: Option<Vote>,
    /// One of the opener and one of each appellant.
    pub stakes: UpTo<Stake, 3>,
    /// What both sides named.
    pub evidence: UpTo<Evidence, MAX_EVIDENCE>,
    /// The jury and its votes.
    pub ballot: Ballot,
}

/// The outcome of a dispute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum DisputeOutcome {
    /// The complaint is right.
    Upheld,
    /// The complaint is wrong.
    Rejected,
    /// There was no verdict: the result stands and no stake is lost.
    NoVerdict,
}

/// A misconduct of a host that verification detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum Misconduct {
    /// Its device is not what its provider says.
    FailedChallenge,
    /// It missed two challenges within a period.
    ChallengeNotAnswered,
    /// Its result differs from that of the majority.
    WrongResult,
    /// It committed a result and did not show its tag, or did not reveal it.
    ResultNotRevealed,
    /// A jury found its result wrong.
    DisputeLost,
}

/// A queue of entries that become due. All entries of one queue wait for the same time, so they become due in the order
/// in which they were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum Queue {
    /// Matters that wait for a seed; due are block numbers.
    Seed,
    /// Challenges that wait for an answer.
    Answer,
    /// Challenges and service checks that wait for commitments.
    ChallengeCommit,
    /// Challenges and service checks that wait for votes.
    ChallengeReveal,
    /// Disputes that wait for evidence.
    Hearing,
    /// Disputes that wait for commitments.
    DisputeCommit,
    /// Disputes that wait for votes.
    DisputeReveal,
    /// Disputes that wait for an appeal.
    Appeal,
    /// Results that wait for commitments.
    ResultCommit,
    /// Results whose tags, or which themselves, wait to be shown.
    ResultReveal,
}

impl Queue {
    /// Every queue, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::Seed,
        Self::Answer,
        Self::ChallengeCommit,
        Self::ChallengeReveal,
        Self::Hearing,
        Self::DisputeCommit,
        Self::DisputeReveal,
        Self::Appeal,
        Self::ResultCommit,
        Self::ResultReveal,
    ];
}

/// An entry of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct QueueEntry {
    /// What falls due.
    pub matter: Matter,
    /// After which moment; for seeds: from which block on.
    pub due: u64,
}

/// Which places of a queue are taken: from `head` to before `tail`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub struct QueueEnds {
    /// The place of the first entry.
    pub head: u64,
    /// The place of the next entry to come.
    pub tail: u64,
}

impl ChallengePhase {
    /// The queue in which a challenge of this phase waits.
    pub const fn queue(self) -> Option<Queue> {
        match self {
            Self::Waiting => Some(Queue::Seed),
            Self::Answering => Some(Queue::Answer),
            Self::Committing => Some(Queue::ChallengeCommit),
            Self::Revealing => Some(Queue::ChallengeReveal),
            Self::Closed => None,
        }
    }
}

impl ServicePhase {
    /// The queue in which a service check of this phase waits: for as long as a challenge.
    pub const fn queue(self) -> Option<Queue> {
        match self {
            Self::Waiting => Some(Queue::Seed),
            Self::Committing => Some(Queue::ChallengeCommit),
            Self::Revealing => Some(Queue::ChallengeReveal),
            Self::Closed => None,
        }
    }
}

impl DisputePhase {
    /// The queue in which a dispute of this phase waits.
    pub const fn queue(self) -> Option<Queue> {
        match self {
            Self::Hearing => Some(Queue::Hearing),
            Self::Waiting => Some(Queue::Seed),
            Self::Committing => Some(Queue::DisputeCommit),
            Self::Revealing => Some(Queue::DisputeReveal),
            Self::Decided => Some(Queue::Appeal),
            Self::Closed => None,
        }
    }
}

impl ResultsPhase {
    /// The queue in which results of this phase wait.
    pub const fn queue(self) -> Option<Queue> {
        match self {
            Self::Committing => Some(Queue::ResultCommit),
            Self::Tagging | Self::Revealing => Some(Queue::ResultReveal),
            Self::Drawing => Some(Queue::Seed),
            Self::Closed => None,
        }
    }
}
