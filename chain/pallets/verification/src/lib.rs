//! # Verification
//!
//! Verification of hosts: timed challenges of their devices, comparison of replicated results, and disputes before a
//! jury. The judges are bonded verifiers, drawn by randomness that was unknown when the draw was requested.
//!
//! This file declares the pallet. `verifiers.rs` manages the list of verifiers, and `committees.rs` draws and pays
//! committees. `challenges.rs`, `services.rs`, `results.rs` (with `audits.rs`) and `disputes.rs` implement the kinds of matters,
//! `queues.rs` processes those that are due, and `ports.rs` declares the ports to hosts and tasks. `ballot.rs`,
//! `draw.rs`, `shares.rs`, `agreement.rs` and `slashes.rs` contain the pure rules, and `errors.rs` the conversion of
//! their errors. docs/verification.md describes the protocol.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod agreement;
mod audits;
mod ballot;
#[cfg(feature = "runtime-benchmarks")]
mod benchmarking;
mod challenges;
mod committees;
mod disputes;
pub mod draw;
mod errors;
mod ports;
mod queues;
mod results;
mod services;
mod shares;
mod slashes;
mod try_state;
mod types;
mod verifiers;
pub mod weights;

#[cfg(test)]
mod mock;
#[cfg(test)]
mod tests;

pub use pallet::*;
#[cfg(feature = "runtime-benchmarks")]
pub use ports::BenchmarkHelper;
pub use ports::{Hosts, ServedLease, Tasks};
pub use types::{Params, ParamsError, MAX_PERIOD_MS};
pub use weights::WeightInfo;

#[frame_support::pallet]
pub mod pallet {
    use super::*;
    use alloc::vec::Vec;
    use frame_support::{
        migrations::MultiStepMigrator,
        pallet_prelude::*,
        traits::{fungible::MutateHold, EnsureOrigin, Randomness, Time},
    };
    use frame_system::pallet_prelude::*;
    use gantry_primitives::{
        AccountId, Balance, ChallengeId, ChallengeOutcome, ChallengeRecord, Commitment, DeviceSpec, Digest,
        DisputeOutcome, DisputeRecord, HostChallenges, HostId, LeaseId, LeaveReason, ListedVerifier, Matter,
        Misconduct, Moment, PenaltyReason, PodResult, Queue, QueueEnds, QueueEntry, ResultTag, ResultsOutcome,
        ResultsRecord, Salt, Seed, ServiceOutcome, ServiceRecord, TaskId, UpTo, ValidResults, VerifierRecord, Vote,
        MAX_VERIFIERS,
    };
    use sp_core::H256;

    /// The version of the storage of this pallet.
    const STORAGE_VERSION: StorageVersion = StorageVersion::new(1);

    /// The types that the runtime provides.
    #[pallet::config]
    pub trait Config:
        frame_system::Config<AccountId = AccountId, Hash = H256, RuntimeEvent: From<Event<Self>>>
    {
        /// The coins in which bonds, fees and stakes are held.
        type Currency: MutateHold<AccountId, Balance = Balance, Reason = Self::RuntimeHoldReason>;
        /// The runtime's reasons to hold coins.
        type RuntimeHoldReason: From<HoldReason>;
        /// The chain's clock, in milliseconds.
        type Time: Time<Moment = Moment>;
        /// The randomness of the block before the present one, and the number of that block.
        type Randomness: Randomness<Option<H256>, BlockNumberFor<Self>>;
        /// The hosts of the network.
        type Hosts: Hosts;
        /// The tasks of the network.
        type Tasks: Tasks;
        /// Where lost stakes and penalties go that no verifier gets.
        type Treasury: Get<AccountId>;
        /// Who may change the parameters.
        type AdminOrigin: EnsureOrigin<Self::RuntimeOrigin>;
        /// How much of a block may be spent on what is due.
        type HookWeight: Get<Weight>;
        /// The weight of each call.
        type WeightInfo: WeightInfo;
        /// What benchmarks need to exist.
        #[cfg(feature = "runtime-benchmarks")]
        type BenchmarkHelper: BenchmarkHelper;
    }

    /// Verification of hosts: challenges, comparison of results, and disputes.
    #[pallet::pallet]
    #[pallet::storage_version(STORAGE_VERSION)]
    pub struct Pallet<T>(_);

    /// The accounts with a verifier's bond.
    #[pallet::storage]
    pub type Verifiers<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, VerifierRecord>;

    /// The verifiers that may be drawn.
    #[pallet::storage]
    pub type VerifierList<T: Config> = StorageValue<_, UpTo<ListedVerifier, MAX_VERIFIERS>, ValueQuery>;

    /// The number of the next challenge.
    #[pallet::storage]
    pub type NextChallengeId<T: Config> = StorageValue<_, ChallengeId, ValueQuery>;

    /// The challenges that are open.
    #[pallet::storage]
    pub type Challenges<T: Config> = StorageMap<_, Twox64Concat, ChallengeId, ChallengeRecord>;

    /// When each host was challenged.
    #[pallet::storage]
    pub type ByHost<T: Config> = StorageMap<_, Blake2_128Concat, HostId, HostChallenges>;

    /// The leases whose service is being checked.
    #[pallet::storage]
    pub type Services<T: Config> = StorageMap<_, Twox64Concat, LeaseId, ServiceRecord>;

    /// The tasks whose results are being compared.
    #[pallet::storage]
    pub type Results<T: Config> = StorageMap<_, Twox64Concat, TaskId, ResultsRecord>;

    /// How many results of each host were valid one after the other, with its present hardware or some before.
    #[pallet::storage]
    pub type Valid<T: Config> = StorageMap<_, Blake2_128Concat, HostId, ValidResults>;

    /// The tasks that are in dispute.
    #[pallet::storage]
    pub type Disputes<T: Config> = StorageMap<_, Twox64Concat, TaskId, DisputeRecord>;

    /// The entries of the queues, by queue and position.
    #[pallet::storage]
    pub type Queued<T: Config> = StorageMap<_, Twox64Concat, (Queue, u64), QueueEntry>;

    /// The positions of the entries of each queue, in the order of [`Queue::ALL`].
    #[pallet::storage]
    pub type Ends<T: Config> = StorageValue<_, [QueueEnds; 10], ValueQuery>;

    /// The failed entries that are retried, by their position, with their queue. All entries wait equally long.
    #[pallet::storage]
    pub type Retries<T: Config> = StorageMap<_, Twox64Concat, u64, (Queue, QueueEntry)>;

    /// The positions of the entries of [`Retries`].
    #[pallet::storage]
    pub type RetryEnds<T: Config> = StorageValue<_, QueueEnds, ValueQuery>;

    /// The randomness that was there when a block began, and that block's number. Kept while a matter waits for a seed,
    /// to tell randomness of the block before from older.
    #[pallet::storage]
    pub type SeenRandomness<T: Config> = StorageValue<_, (H256, u32)>;

    /// The periods, sizes and amounts in force.
    #[pallet::storage]
    #[pallet::whitelist_storage]
    #[pallet::storage_prefix = "Params"]
    pub type CurrentParams<T: Config> = StorageValue<_, Params, ValueQuery>;

    /// The reasons for which the pallet holds coins.
    #[pallet::composite_enum]
    pub enum HoldReason {
        /// The bond of a verifier.
        VerifierBond,
        /// What the opener of a challenge pays its committee.
        ChallengeFee,
        /// The stake of a side of a dispute.
        DisputeStake,
        /// What the tenant or the treasury pays the committees of a service check.
        ServiceFee,
    }

    /// The genesis configuration.
    #[pallet::genesis_config]
    #[derive(frame_support::DefaultNoBound)]
    pub struct GenesisConfig<T: Config> {
        /// The periods, sizes and amounts.
        pub params: Params,
        /// Accounts that are bonded as verifiers from the start.
        pub verifiers: Vec<AccountId>,
        /// Marker of the runtime.
        #[serde(skip)]
        pub _config: core::marker::PhantomData<T>,
    }

    #[pallet::genesis_build]
    impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
        fn build(&self) {
            if let Err(error) = self.params.check() {
                panic!("verification.params are unsound: {error:?}");
            }
            CurrentParams::<T>::put(&self.params);
            for who in &self.verifiers {
                Pallet::<T>::do_bond_verifier(who.clone()).expect(
                    "each of verification.verifiers is named once and its balance covers verification.params.verifierBond",
                );
            }
        }
    }

    /// The events of the pallet.
    #[pallet::event]
    #[pallet::generate_deposit(pub(crate) fn deposit_event)]
    pub enum Event<T: Config> {
        /// An account may be drawn as a verifier, or brought its bond up to what is asked for.
        VerifierBonded {
            /// The account.
            who: AccountId,
            /// What is held of it now.
            bond: Balance,
        },
        /// A verifier is not drawn any more.
        VerifierLeaving {
            /// The account.
            who: AccountId,
            /// Until when its bond is kept at least.
            until: Moment,
            /// Why.
            reason: LeaveReason,
        },
        /// A verifier has its bond back.
        VerifierLeft {
            /// The account.
            who: AccountId,
            /// What it got back.
            bond: Balance,
        },
        /// A verifier lost some of its bond.
        VerifierPenalised {
            /// The account.
            who: AccountId,
            /// The committee or jury of this matter it was on.
            matter: Matter,
            /// Why.
            reason: PenaltyReason,
            /// How much it lost.
            amount: Balance,
        },
        /// A verifier was paid for having voted with the majority, or for a challenge that the host did not answer.
        VerifierRewarded {
            /// The account.
            who: AccountId,
            /// The committee or jury of this matter it was on.
            matter: Matter,
            /// How much it got.
            amount: Balance,
        },
        /// A committee or jury was drawn.
        CommitteeDrawn {
            /// What it judges.
            matter: Matter,
            /// How many were drawn for this matter before.
            round: u8,
            /// What it was drawn by.
            seed: Seed,
            /// The block whose randomness the seed is of.
            block: u32,
            /// Its members.
            members: Vec<AccountId>,
        },
        /// A committee found against a host. Another one, drawn by the same seed, judges the same answer.
        ConfirmationAwaited {
            /// The challenge.
            challenge: ChallengeId,
            /// How many committees were drawn for the challenge before.
            round: u8,
            /// The members of the confirming committee.
            members: Vec<AccountId>,
            /// Until when they may commit their votes.
            until: Moment,
        },
        /// There were not enough verifiers for a committee or jury.
        CommitteeNotDrawn {
            /// What it was to judge.
            matter: Matter,
            /// How many were drawn for this matter before.
            round: u8,
            /// What it was to be drawn by.
            seed: Seed,
            /// The block whose randomness the seed is of.
            block: u32,
        },
        /// A member of a committee or jury is bound to a vote.
        VoteCommitted {
            /// What it judges.
            matter: Matter,
            /// The member.
            who: AccountId,
            /// What binds it.
            commitment: Commitment,
        },
        /// The members of a committee or jury may reveal their votes.
        RevealsOpened {
            /// What it judges.
            matter: Matter,
            /// The last moment for it.
            until: Moment,
        },
        /// A member of a committee or jury showed its vote.
        VoteRevealed {
            /// What it judges.
            matter: Matter,
            /// The member.
            who: AccountId,
            /// The vote.
            vote: Vote,
        },
        /// A committee or jury is done.
        BallotClosed {
            /// What it judged.
            matter: Matter,
            /// How many were drawn for this matter before.
            round: u8,
            /// The vote of more than half of its members, if there is one.
            verdict: Option<Vote>,
        },
        /// A challenge was opened.
        ChallengeOpened {
            /// The challenge.
            challenge: ChallengeId,
            /// The host.
            host: HostId,
            /// Which of its devices.
            device: u8,
            /// What its provider says about the device.
            claim: DeviceSpec,
            /// Who opened it; none where the chain's governance did.
            opener: Option<AccountId>,
            /// What the opener pays the committee.
            fee: Balance,
        },
        /// A challenge has a committee and its host must answer.
        AnswerAwaited {
            /// The challenge.
            challenge: ChallengeId,
            /// The last moment for it.
            until: Moment,
        },
        /// A host answered a challenge.
        Answered {
            /// The challenge.
            challenge: ChallengeId,
            /// SHA-256 of the proof.
            digest: Digest,
            /// Until when the committee commits its votes.
            until: Moment,
        },
        /// A challenge is over.
        ChallengeClosed {
            /// The challenge.
            challenge: ChallengeId,
            /// The host.
            host: HostId,
            /// Which of its devices.
            device: u8,
            /// What became of it.
            outcome: ChallengeOutcome,
            /// What of the fee the opener got back.
            returned: Balance,
        },
        /// A check of the service of a lease was opened.
        ServiceCheckOpened {
            /// The lease.
            lease: LeaseId,
            /// Its host.
            host: HostId,
            /// Who opened it: a verifier or the tenant.
            opener: AccountId,
            /// The beginning of the time that the votes are about; it ends with this block.
            since: Moment,
            /// What is held for the committees, of the tenant or the treasury.
            fee: Balance,
        },
        /// The committee of a service check may commit its votes. A `verdict` of an earlier committee is to be confirmed.
        ServiceVotesAwaited {
            /// The lease.
            lease: LeaseId,
            /// The verdict against the host that was given before.
            verdict: Option<Vote>,
            /// The members.
            members: Vec<AccountId>,
            /// Until when they may commit their votes.
            until: Moment,
        },
        /// A service check is over.
        ServiceCheckClosed {
            /// The lease.
            lease: LeaseId,
            /// Its host.
            host: HostId,
            /// What became of it.
            outcome: ServiceOutcome,
            /// What its committees were paid.
            paid: Balance,
        },
        /// A host is bound to a result.
        ResultCommitted {
            /// The task.
            task: TaskId,
            /// The lease of the pod.
            lease: LeaseId,
            /// What binds it.
            commitment: Commitment,
        },
        /// The chain drew whether another host repeats the work of one that has committed its result.
        AuditDrawn {
            /// The task.
            task: TaskId,
            /// The lease of the pod.
            lease: LeaseId,
            /// How many results of the host were valid before, one after the other.
            valid: u32,
            /// The probability of a repetition in parts per million.
            probability_ppm: u32,
            /// What it was drawn by.
            seed: Seed,
            /// The block whose randomness the seed is of.
            block: u32,
            /// Whether it is repeated.
            repeated: bool,
        },
        /// The hosts that committed may show the tags of their results.
        TagsOpened {
            /// The task.
            task: TaskId,
            /// The last moment for it.
            until: Moment,
        },
        /// A host showed the tag of its result.
        ResultTagged {
            /// The task.
            task: TaskId,
            /// The lease of the pod.
            lease: LeaseId,
            /// The tag: equal results of a task have equal tags.
            tag: ResultTag,
        },
        /// The tags agree, or there is one result only, and the hosts may reveal their results.
        ResultsOpened {
            /// The task.
            task: TaskId,
            /// The last moment for it.
            until: Moment,
        },
        /// A host showed its result.
        ResultRevealed {
            /// The task.
            task: TaskId,
            /// The lease of the pod.
            lease: LeaseId,
            /// The result.
            result: PodResult,
        },
        /// A host's result was wrong or missing.
        ReplicaRejected {
            /// The task.
            task: TaskId,
            /// The lease of the pod.
            lease: LeaseId,
            /// The host.
            host: HostId,
            /// Why.
            reason: Misconduct,
        },
        /// Somebody got a part of what a host lost for a wrong or missing result: the tenant of the task, or the provider of
        /// a host whose result is that of the majority.
        SlashShared {
            /// The task.
            task: TaskId,
            /// The lease of the pod whose host was slashed.
            lease: LeaseId,
            /// Who got it.
            who: AccountId,
            /// How much.
            amount: Balance,
        },
        /// One more host is asked, because results do not agree or one is audited.
        ExtraPodWanted {
            /// The task.
            task: TaskId,
            /// How many results are compared then.
            wanted: u8,
        },
        /// The results of a task were compared.
        ResultsClosed {
            /// The task.
            task: TaskId,
            /// What became of them.
            outcome: ResultsOutcome,
        },
        /// A task is in dispute.
        DisputeOpened {
            /// The task.
            task: TaskId,
            /// Who opened it.
            by: AccountId,
            /// The leases whose results are disputed.
            accused: UpTo<LeaseId, 16>,
            /// What it staked.
            stake: Balance,
            /// SHA-256 of its first piece of evidence.
            evidence: Digest,
            /// Until when both sides may name evidence.
            until: Moment,
        },
        /// A side of a dispute named evidence.
        EvidenceAdded {
            /// The task.
            task: TaskId,
            /// Who named it.
            by: AccountId,
            /// SHA-256 of it.
            digest: Digest,
        },
        /// A jury was asked for.
        JuryAwaited {
            /// The task.
            task: TaskId,
            /// How often a verdict was appealed.
            level: u8,
        },
        /// A jury may commit its votes.
        JuryCommits {
            /// The task.
            task: TaskId,
            /// The last moment for it.
            until: Moment,
        },
        /// A jury has a verdict.
        DisputeDecided {
            /// The task.
            task: TaskId,
            /// How often a verdict was appealed before.
            level: u8,
            /// Whether the dispute is upheld.
            verdict: Vote,
            /// Until when it may be appealed; none where it may not.
            appeal_until: Option<Moment>,
        },
        /// A verdict was appealed.
        Appealed {
            /// The task.
            task: TaskId,
            /// Who appealed.
            by: AccountId,
            /// What it staked.
            stake: Balance,
            /// How often a verdict was appealed.
            level: u8,
            /// Until when both sides may name evidence.
            until: Moment,
        },
        /// A stake was returned.
        StakeReturned {
            /// The task.
            task: TaskId,
            /// Its owner.
            who: AccountId,
            /// How much.
            amount: Balance,
        },
        /// A stake was lost.
        StakeLost {
            /// The task.
            task: TaskId,
            /// Its former owner.
            who: AccountId,
            /// How much.
            amount: Balance,
        },
        /// The fee of a jury was refunded to a winning party by the losing ones.
        FeeRefunded {
            /// The task.
            task: TaskId,
            /// Who got it.
            who: AccountId,
            /// How much.
            amount: Balance,
        },
        /// A dispute is over.
        DisputeClosed {
            /// The task.
            task: TaskId,
            /// What became of it.
            outcome: DisputeOutcome,
        },
        /// The processing of an entry failed; nothing changed, and it is retried. A bug: please report it.
        StepFailed {
            /// The matter of the entry.
            matter: Matter,
            /// Why.
            error: DispatchError,
        },
        /// The parameters of this pallet were changed.
        ParamsChanged,
    }

    /// The errors of the pallet's calls.
    #[pallet::error]
    pub enum Error<T> {
        /// The caller is not a verifier that may be drawn.
        NotVerifier,
        /// The caller has the whole bond of a verifier already.
        AlreadyBonded,
        /// A host's account cannot be a verifier.
        HostCannotVerify,
        /// There are as many verifiers as there may be.
        TooManyVerifiers,
        /// The caller cannot pay the bond of a verifier.
        CannotPayBond,
        /// The verifier has not left, or must wait for its bond.
        StillBonded,
        /// The verifier sits on a committee or jury that is not done.
        OnDuty,
        /// The caller is neither a verifier nor the provider of the host, and names no lease.
        NotVerifierNorProvider,
        /// The host is not there, or may not be challenged in its status.
        HostNotListed,
        /// The host has no such device.
        NoSuchDevice,
        /// A challenge of the host is open.
        ChallengeOpen,
        /// The host was challenged too short a time ago.
        ChallengedLately,
        /// The caller cannot pay the committee.
        CannotPayFee,
        /// No such challenge is open.
        NoSuchChallenge,
        /// The caller is not the host that is challenged.
        NotChallengedHost,
        /// The challenge does not wait for an answer.
        NotAnswering,
        /// No votes are committed now.
        NotCommitting,
        /// Nothing is revealed now.
        NotRevealing,
        /// The last moment for it has passed.
        TooLate,
        /// The caller is not a member of the committee or jury.
        NotOnCommittee,
        /// It was committed already; a commitment cannot be changed.
        AlreadyCommitted,
        /// Nothing was committed that could be revealed.
        NotCommitted,
        /// It was revealed already.
        AlreadyRevealed,
        /// What is revealed is not what was committed to.
        CommitmentMismatch,
        /// Nobody votes on the results of a task.
        NoVoteOnResults,
        /// The results of the task are not compared.
        NotReplicated,
        /// As many results as are wanted were committed.
        CommitmentsClosed,
        /// The results of the task are not being compared.
        NoSuchResults,
        /// The caller is not the host of the lease.
        NotHostOfLease,
        /// The lease was replaced or has failed.
        LeaseNotCurrent,
        /// No such task was submitted.
        NoSuchTask,
        /// The task is in dispute already.
        AlreadyDisputed,
        /// The task is not in dispute.
        NoSuchDispute,
        /// The caller is neither the tenant of the task nor a verifier.
        NotTenantNorVerifier,
        /// A provider cannot dispute a task that its own hosts worked on.
        OpenerIsParty,
        /// A dispute is about at least one lease.
        NobodyAccused,
        /// A dispute names each lease once.
        AccusedTwice,
        /// The caller cannot pay the stake.
        CannotPayStake,
        /// The caller is no party of the dispute.
        NotParty,
        /// The dispute takes no evidence now.
        NotHearing,
        /// The caller has named as much evidence as it may in one hearing.
        TooMuchEvidence,
        /// The dispute has no verdict that may be appealed.
        NotAppealable,
        /// Only those against whom a verdict is may appeal it.
        NotLosingSide,
        /// It waits for randomness, which the chain alone draws.
        WaitsForSeed,
        /// Its time has not passed.
        NotDue,
        /// A phase does not follow the present one. A bug: please report it.
        TransitionNotAllowed,
        /// The size of a committee or jury must be odd and at most 7.
        SeatsInvalid,
        /// The jury of an appeal must not be smaller than the first.
        AppealJuryTooSmall,
        /// The bond of a verifier and the stake of a dispute must not be zero.
        BondOrStakeZero,
        /// A penalty must not be more than half of a verifier's bond.
        PenaltyTooHigh,
        /// The penalty for absence must not be lower than that for voting against the majority.
        AbsenceTooCheap,
        /// The fee of a jury must not be more than the stake.
        JuryFeeTooHigh,
        /// Four times the stake does not fit its type.
        StakeTooHigh,
        /// A period must be 1 millisecond to 366 days.
        PeriodInvalid,
        /// A sum or product does not fit its type.
        Overflow,
        /// The host does not answer challenges, as its record says (`answers_challenges`).
        ChallengesNotAnswered,
        /// A lease holds some of the device. Only the tenant of that lease may have it challenged, and names the lease.
        DeviceLeased,
        /// The caller is not the tenant of the lease, or the lease does not hold the device now.
        NotTenantOfLease,
        /// The period of missed challenges must not be shorter than the rest between challenges.
        MissPeriodTooShort,
        /// The list must have more verifiers than two committees, or no verdict against a host could be confirmed.
        MinVerifiersTooLow,
        /// More verifiers are asked for than the list can have.
        MinVerifiersTooHigh,
        /// The answer waited beyond the moment up to which its host wanted it judged (`not_after`). Nothing changed.
        AnswerExpired,
        /// A wrong result must cost its host at least one deposit of its lease.
        ResultSlashZero,
        /// The parts of a slash that do not go to the treasury must not be more than half of it.
        RewardsTooHigh,
        /// The hosts do not show the tags of their results now.
        NotTagging,
        /// The tag of the result was shown already.
        AlreadyTagged,
        /// The result is not that whose tag was shown.
        TagMismatch,
        /// The least probability of an audit must be 1 to 1,000,000 parts per million.
        AuditProbabilityInvalid,
        /// No service check of the lease is open.
        NoSuchCheck,
        /// A service check of the lease is open.
        CheckOpen,
        /// Not the active lease of a service or rental on the host of another account.
        LeaseNotServed,
        /// The pod has run for less than the time that the votes would be about.
        StartedLately,
        /// The lease was checked too short a time ago.
        CheckedLately,
        /// The lease has not paid enough fees for a check that a verifier opens.
        FeesTooLow,
        /// The vote is no answer to the question of the matter.
        VoteInvalid,
        /// The share of fees for service checks must not be more than the whole.
        ServiceShareTooHigh,
    }

    #[pallet::hooks]
    impl<T: Config> Hooks<BlockNumberFor<T>> for Pallet<T> {
        /// Not while a migration runs: it changes the form of hosts and tasks.
        fn on_initialize(_now: BlockNumberFor<T>) -> Weight {
            if T::MultiBlockMigrator::ongoing() {
                return T::DbWeight::get().reads(1);
            }
            Self::run_queues(T::HookWeight::get())
        }

        #[cfg(feature = "try-runtime")]
        fn try_state(_now: BlockNumberFor<T>) -> Result<(), sp_runtime::TryRuntimeError> {
            Self::do_try_state()
        }
    }

    #[pallet::call]
    impl<T: Config> Pallet<T> {
        /// Become a verifier, come back as one, or bring the caller's bond up to what is asked for.
        #[pallet::call_index(0)]
        #[pallet::weight(T::WeightInfo::bond_verifier())]
        pub fn bond_verifier(origin: OriginFor<T>) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_bond_verifier(who)
        }

        /// Leave the list of verifiers. The present duties of the caller continue.
        #[pallet::call_index(1)]
        #[pallet::weight(T::WeightInfo::unbond_verifier())]
        pub fn unbond_verifier(origin: OriginFor<T>) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_unbond_verifier(who)
        }

        /// Release the bond, after its period has passed and if no duties are left.
        #[pallet::call_index(2)]
        #[pallet::weight(T::WeightInfo::withdraw_verifier_bond())]
        pub fn withdraw_verifier_bond(origin: OriginFor<T>) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_withdraw_verifier_bond(who)
        }

        /// Ask a host that answers challenges to prove that a device of it is real. By a verifier or by the host's
        /// provider, who pays the committee, or by root. A device that is leased is challenged only by the tenant, who
        /// names the `lease` and agrees that the host takes the device away from the pod while it computes its proof.
        #[pallet::call_index(3)]
        #[pallet::weight(T::WeightInfo::open_challenge())]
        pub fn open_challenge(
            origin: OriginFor<T>,
            host: HostId,
            device: u8,
            lease: Option<LeaseId>,
        ) -> DispatchResult {
            let opener = ensure_signed_or_root(origin)?;
            Self::do_open_challenge(opener, host, device, lease)
        }

        /// The calling host answers a challenge with the SHA-256 of its proof. Free of charge when valid. Refused after
        /// `not_after`, in milliseconds of the chain's clock: so a call that waited for too long is a missed challenge, and
        /// not an answer that is judged as late.
        #[pallet::call_index(4)]
        #[pallet::weight(T::WeightInfo::answer())]
        #[pallet::feeless_if(
            |origin: &OriginFor<T>, challenge: &ChallengeId, _digest: &Digest, not_after: &Moment| -> bool {
                ensure_signed(origin.clone())
                    .is_ok_and(|host| Pallet::<T>::answerable(&host, *challenge, *not_after).is_ok())
            }
        )]
        pub fn answer(
            origin: OriginFor<T>,
            challenge: ChallengeId,
            digest: Digest,
            not_after: Moment,
        ) -> DispatchResult {
            let host = ensure_signed(origin)?;
            Self::do_answer(host, challenge, digest, not_after)
        }

        /// A member of the committee of a challenge or of the jury of a dispute binds itself to a vote.
        #[pallet::call_index(5)]
        #[pallet::weight(T::WeightInfo::commit_vote())]
        pub fn commit_vote(origin: OriginFor<T>, matter: Matter, commitment: Commitment) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_commit_vote(who, matter, commitment)
        }

        /// A member of a committee or jury reveals its vote. The last one to do so closes the ballot.
        #[pallet::call_index(6)]
        #[pallet::weight(T::WeightInfo::reveal_vote().max(T::WeightInfo::end_service()))]
        pub fn reveal_vote(origin: OriginFor<T>, matter: Matter, vote: Vote, salt: Salt) -> DispatchResultWithPostInfo {
            let who = ensure_signed(origin)?;
            Self::do_reveal_vote(who, matter, vote, salt)?;
            let waits_for_others =
                matches!(Self::queue_and_deadline(matter), Ok((Queue::ChallengeReveal | Queue::DisputeReveal, _)));
            // It then took no more than to bind a vote, and reading the matter once more.
            let early = T::WeightInfo::commit_vote().saturating_add(T::DbWeight::get().reads(1));
            Ok(waits_for_others.then_some(early).into())
        }

        /// The calling host binds itself to the result of a pod that is compared with others. Free of charge when
        /// valid.
        #[pallet::call_index(7)]
        #[pallet::weight(T::WeightInfo::commit_result())]
        #[pallet::feeless_if(|origin: &OriginFor<T>, lease: &LeaseId, _commitment: &Commitment| -> bool {
            ensure_signed(origin.clone()).is_ok_and(|host| Pallet::<T>::committable(&host, *lease).is_ok())
        })]
        pub fn commit_result(origin: OriginFor<T>, lease: LeaseId, commitment: Commitment) -> DispatchResult {
            let host = ensure_signed(origin)?;
            Self::do_commit_result(host, lease, commitment)
        }

        /// The calling host reveals the result that it has committed to. Free of charge when valid.
        #[pallet::call_index(8)]
        #[pallet::weight(T::WeightInfo::reveal_result())]
        #[pallet::feeless_if(|origin: &OriginFor<T>, lease: &LeaseId, result: &PodResult, salt: &Salt| -> bool {
            ensure_signed(origin.clone())
                .is_ok_and(|host| Pallet::<T>::revealable(&host, *lease, result, salt).is_ok())
        })]
        pub fn reveal_result(origin: OriginFor<T>, lease: LeaseId, result: PodResult, salt: Salt) -> DispatchResult {
            let host = ensure_signed(origin)?;
            Self::do_reveal_result(host, lease, result, salt)
        }

        /// Open a dispute about the results of these leases of a reported task. By its tenant, or by a verifier whose
        /// hosts had no part in the task. The caller stakes coins on it.
        #[pallet::call_index(9)]
        #[pallet::weight(T::WeightInfo::open_dispute())]
        pub fn open_dispute(
            origin: OriginFor<T>,
            task: TaskId,
            accused: UpTo<LeaseId, 16>,
            evidence: Digest,
        ) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_open_dispute(who, task, accused, evidence)
        }

        /// Name a piece of evidence in a dispute. By its opener, the tenant, or a provider of an accused host.
        #[pallet::call_index(10)]
        #[pallet::weight(T::WeightInfo::add_evidence())]
        pub fn add_evidence(origin: OriginFor<T>, task: TaskId, digest: Digest) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_add_evidence(who, task, digest)
        }

        /// Ask another jury, with twice the stake. By the side that the verdict is against.
        #[pallet::call_index(11)]
        #[pallet::weight(T::WeightInfo::appeal())]
        pub fn appeal(origin: OriginFor<T>, task: TaskId) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_appeal(who, task)
        }

        /// Execute the due steps of a matter that the chain has not executed yet. By anyone.
        #[pallet::call_index(12)]
        #[pallet::weight(T::WeightInfo::advance().max(T::WeightInfo::end_service()))]
        pub fn advance(origin: OriginFor<T>, matter: Matter) -> DispatchResult {
            ensure_signed(origin)?;
            Self::do_advance(matter)
        }

        /// Change the parameters of this pallet.
        #[pallet::call_index(13)]
        #[pallet::weight(T::WeightInfo::set_params())]
        pub fn set_params(origin: OriginFor<T>, params: Params) -> DispatchResult {
            T::AdminOrigin::ensure_origin(origin)?;
            params.check().map_err(Error::<T>::from)?;
            CurrentParams::<T>::put(params);
            Self::deposit_event(Event::ParamsChanged);
            Ok(())
        }

        /// The calling host shows the tag of the result that it is bound to, once all have committed. Free of charge when
        /// valid.
        #[pallet::call_index(14)]
        #[pallet::weight(T::WeightInfo::tag_result())]
        #[pallet::feeless_if(|origin: &OriginFor<T>, lease: &LeaseId, _tag: &ResultTag| -> bool {
            ensure_signed(origin.clone()).is_ok_and(|host| Pallet::<T>::taggable(&host, *lease).is_ok())
        })]
        pub fn tag_result(origin: OriginFor<T>, lease: LeaseId, tag: ResultTag) -> DispatchResult {
            let host = ensure_signed(origin)?;
            Self::do_tag_result(host, lease, tag)
        }

        /// Ask verifiers whether the host served the pod of this lease in the last `service_window_ms`. By a verifier that
        /// saw it fail, at the cost of the treasury and within the fees of the lease; or by the tenant, who pays.
        #[pallet::call_index(15)]
        #[pallet::weight(T::WeightInfo::open_service_check())]
        pub fn open_service_check(origin: OriginFor<T>, lease: LeaseId) -> DispatchResult {
            let opener = ensure_signed(origin)?;
            Self::do_open_service_check(opener, lease)
        }
    }
}
