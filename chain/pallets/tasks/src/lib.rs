//! # Tasks
//!
//! The tasks that tenants submit, and the tables by which tasks and their leases change. A task is one record that
//! contains its leases and their escrows; the values that tasks submitted together share are stored once.
//!
//! This file declares the pallet. `submission.rs`, `schedulers.rs`, `self_assignment.rs`, `assignment.rs`,
//! `anti_affinity.rs`, `reports.rs`, `termination.rs`, `preemption.rs`, `migration.rs`, `settlement.rs`,
//! `reservations.rs` and `verdicts.rs` implement the calls and ports about one task, and `batches.rs` those about many. All of them change
//! tasks through `TaskChanges` (`changes.rs`), which reads shared values once and writes them once. `index.rs` contains
//! the lists of tasks by state, `lease_store.rs` the port of the leases pallet, `views.rs` the view functions, and
//! `errors.rs` the conversion of errors of the pure rules.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod anti_affinity;
mod assignment;
mod batches;
#[cfg(feature = "runtime-benchmarks")]
pub mod benchmarking;
mod changes;
mod errors;
mod index;
mod lease_store;
mod migration;
mod preemption;
mod reports;
mod reservations;
mod schedulers;
mod self_assignment;
mod settlement;
mod submission;
mod termination;
mod try_state;
mod types;
mod verdicts;
mod views;
pub mod weights;

#[cfg(test)]
mod mock;
#[cfg(test)]
mod tests;

pub use index::Page;
pub use pallet::*;
pub use reservations::{Reservation, Reservations};
pub use types::{ArchivePage, LeavingScheduler, Params};
pub use views::MAX_LISTED;
pub use weights::WeightInfo;

use gantry_primitives::{Balance, HostId, LeaseId};
use pallet_gantry_billing as billing;
use pallet_gantry_hosts as hosts;
use pallet_gantry_leases as leases;
use pallet_gantry_reputation as reputation;

/// A lease as it was opened: its number, its host, its rate in base units per hour, and its deposit.
pub type OpenedLease = (LeaseId, HostId, Balance, Balance);

#[frame_support::pallet]
pub mod pallet {
    use super::*;
    use alloc::vec::Vec;
    use frame_support::{pallet_prelude::*, traits::fungible::MutateHold};
    use frame_system::pallet_prelude::*;
    use gantry_primitives::{
        AccountId, Balance, DeviceIndices, Digest, EndReason, HostFailure, HostId, IndexTag, Lease, LeaseBill, LeaseId,
        Manifest, Moment, PageKey, PodPlacement, PodResult, PreemptionNotice, Report, RequeueReason, Resources,
        SpecRecord, StandbyPlace, TaskId, TaskKey, TaskKind, TaskRecord, TaskSpec, TaskState, UpTo, MAX_ASSIGNMENTS,
        MAX_BATCH, MAX_PODS, MAX_VICTIMS,
    };

    /// The version of the storage of this pallet.
    const STORAGE_VERSION: StorageVersion = StorageVersion::new(2);

    /// The types that the runtime provides. The pallet is coupled to the other pallets of Gantry: an attempt allocates
    /// resources of hosts, leases and escrows, all or none.
    #[pallet::config]
    pub trait Config:
        frame_system::Config<AccountId = AccountId, RuntimeEvent: From<Event<Self>>>
        + hosts::Config
        + leases::Config
        + billing::Config
        + reputation::Config
    {
        /// The coins in which deposits and bonds are held.
        type Currency: MutateHold<AccountId, Balance = Balance, Reason = <Self as Config>::RuntimeHoldReason>;
        /// The runtime's reasons to hold coins.
        type RuntimeHoldReason: From<HoldReason>;
        /// Who may change the periods and amounts.
        type AdminOrigin: EnsureOrigin<Self::RuntimeOrigin>;
        /// The resources of hosts that are reserved without a lease.
        type Reservations: Reservations;
        /// The weight of each call.
        type WeightInfo: WeightInfo;
    }

    /// The tasks that tenants submit.
    #[pallet::pallet]
    #[pallet::storage_version(STORAGE_VERSION)]
    pub struct Pallet<T>(_);

    /// The number of the next task.
    #[pallet::storage]
    #[pallet::whitelist_storage]
    pub type NextTaskId<T: Config> = StorageValue<_, TaskId, ValueQuery>;

    /// Every task that was submitted and not pruned, with its leases.
    #[pallet::storage]
    pub type Tasks<T: Config> = StorageMap<_, Identity, TaskKey, TaskRecord>;

    /// The values that tasks submitted together share, under the number of the first, until the last is pruned.
    #[pallet::storage]
    pub type Specs<T: Config> = StorageMap<_, Identity, TaskKey, SpecRecord>;

    /// The manifest of tasks submitted together, under the number of the first, until all are final.
    #[pallet::storage]
    pub type Manifests<T: Config> = StorageMap<_, Identity, TaskKey, Manifest>;

    /// The lists of tasks by state, in pages of 256: bit `task % 8` of byte `task % 256 / 8` is set if a task is on the
    /// list.
    #[pallet::storage]
    pub type ByState<T: Config> = StorageDoubleMap<_, Identity, IndexTag, Identity, PageKey, Page>;

    /// The submissions of each tenant: the first of the tasks submitted together, and their number. Until the last is
    /// pruned.
    #[pallet::storage]
    pub type ByTenant<T: Config> = StorageDoubleMap<_, Blake2_128Concat, AccountId, Identity, TaskKey, u32>;

    /// The archive of pruned tasks, by their number divided by 4,096.
    #[pallet::storage]
    pub type Archive<T: Config> = StorageMap<_, Twox64Concat, u64, ArchivePage, ValueQuery>;

    /// The accounts that may assign tasks of others, each with its bond on hold.
    #[pallet::storage]
    pub type Schedulers<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, Balance>;

    /// Schedulers that have left, each with its bond, which is still on hold, and the time of its release.
    #[pallet::storage]
    pub type LeavingSchedulers<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, LeavingScheduler>;

    /// The digest of the queue definitions by which a scheduler orders tasks, if it has published one.
    #[pallet::storage]
    pub type QueueDigests<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, Digest>;

    /// For schedulers that were penalised: the time of the assignment. Their assignments until then cannot be penalised
    /// again.
    #[pallet::storage]
    pub type PunishedUntil<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, Moment>;

    /// The preemption notices, by the queued task in whose favour they were given. While that task is queued.
    #[pallet::storage]
    pub type PreemptionNotices<T: Config> = StorageMap<_, Identity, TaskKey, PreemptionNotice>;

    /// The periods and amounts in force.
    #[pallet::storage]
    #[pallet::whitelist_storage]
    #[pallet::storage_prefix = "Params"]
    pub type CurrentParams<T: Config> = StorageValue<_, Params, ValueQuery>;

    /// The reasons for which the pallet holds coins.
    #[pallet::composite_enum]
    pub enum HoldReason {
        /// Deposits for stored tasks and manifests.
        Deposit,
        /// The bond of a scheduler.
        SchedulerBond,
    }

    /// The genesis configuration.
    #[pallet::genesis_config]
    #[derive(frame_support::DefaultNoBound)]
    pub struct GenesisConfig<T: Config> {
        /// The periods and amounts.
        pub params: Params,
        /// Accounts that are bonded as schedulers from the start.
        pub schedulers: Vec<AccountId>,
        /// Marker of the runtime.
        #[serde(skip)]
        pub _config: core::marker::PhantomData<T>,
    }

    #[pallet::genesis_build]
    impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
        fn build(&self) {
            self.params.check::<T>().expect("tasks.params are sound: the error names the one that is not");
            CurrentParams::<T>::put(&self.params);
            for who in &self.schedulers {
                Pallet::<T>::do_bond_scheduler(who.clone())
                    .expect("each of tasks.schedulers is named once and its balance covers tasks.params.schedulerBond");
            }
        }
    }

    /// The events of the pallet.
    #[pallet::event]
    #[pallet::generate_deposit(pub(crate) fn deposit_event)]
    pub enum Event<T: Config> {
        /// A tenant submitted tasks.
        Submitted {
            /// The first of them; the others have the next numbers.
            first: TaskId,
            /// How many.
            count: u32,
            /// The account that pays.
            tenant: AccountId,
            /// The kind of the tasks.
            kind: TaskKind,
            /// SHA-256 of their manifest.
            manifest_digest: Digest,
        },
        /// Pods of a task were assigned.
        Assigned {
            /// The task.
            task: TaskId,
            /// The generation of the leases.
            generation: u16,
            /// The leases that were opened, in the order of the pods: each with its host, its rate an hour and its
            /// deposit.
            leases: Vec<OpenedLease>,
            /// The new state of the task.
            state: TaskState,
        },
        /// A tenant was credited for broken terms of a lease, which has ended.
        SlaCredited {
            /// The lease.
            lease: LeaseId,
            /// The amount that is no longer owed.
            unpaid: Balance,
            /// The amount that the bond of the host paid to the tenant.
            from_bond: Balance,
        },
        /// A rental took over the retained data of a lease, which has ended for good.
        DataMoved {
            /// The lease that had the data.
            from: LeaseId,
            /// The lease that has it.
            to: LeaseId,
        },
        /// A pod started.
        PodStarted {
            /// The task.
            task: TaskId,
            /// The lease of the pod.
            lease: LeaseId,
            /// When the lease ends.
            depletes_at: Moment,
            /// The new state of the task.
            state: TaskState,
        },
        /// A pod reported its result.
        PodReported {
            /// The task.
            task: TaskId,
            /// The lease of the pod.
            lease: LeaseId,
            /// Its result.
            result: PodResult,
            /// The new state of the task.
            state: TaskState,
        },
        /// An attempt failed: the task is queued again, or has failed.
        Requeued {
            /// The task.
            task: TaskId,
            /// The lease that failed.
            lease: LeaseId,
            /// Why.
            reason: RequeueReason,
            /// How the leases of the attempt were paid.
            bills: Vec<LeaseBill>,
            /// The number of failed attempts.
            failures: u8,
            /// The new state of the task.
            state: TaskState,
        },
        /// A pod of a service, a rental or a task with replicas failed.
        PodLost {
            /// The task.
            task: TaskId,
            /// The lease of the pod.
            lease: LeaseId,
            /// Why.
            reason: RequeueReason,
            /// How the leases that ended were paid.
            bills: Vec<LeaseBill>,
            /// The number of failed attempts; for services and rentals, of consecutive ones.
            failures: u8,
            /// The new state of the task.
            state: TaskState,
        },
        /// A lease ended because its time is over, its provider reclaimed it, or its deposit is used up.
        LeaseEnded {
            /// The task.
            task: TaskId,
            /// The lease.
            lease: LeaseId,
            /// Why.
            reason: EndReason,
            /// How the leases that were paid at once were paid. Those of services and rentals are paid when the task
            /// is settled.
            bills: Vec<LeaseBill>,
            /// The new state of the task.
            state: TaskState,
        },
        /// A spot task received a preemption notice in favour of a queued task of higher priority.
        PreemptionNoticed {
            /// The spot task.
            task: TaskId,
            /// The queued task.
            wanting: TaskId,
            /// The spot task may continue until then.
            ends_at: Moment,
        },
        /// The preemption notice of a spot task was withdrawn: the queued task is no longer queued, or its pods did not
        /// fit at the end of the notice.
        PreemptionWithdrawn {
            /// The spot task.
            task: TaskId,
            /// The task that was queued.
            wanting: TaskId,
        },
        /// A preemption notice is over, and the queued task could not be assigned: no task is evicted.
        PreemptionFailed {
            /// The queued task.
            task: TaskId,
            /// Why it could not be assigned.
            error: DispatchError,
        },
        /// A spot task was preempted by a queued task of higher priority, which was assigned. A rental has ended, and
        /// its data is retained; others are queued again.
        Preempted {
            /// The spot task.
            task: TaskId,
            /// The queued task.
            wanting: TaskId,
            /// How its leases were paid; that of a rental is paid at its settlement.
            bills: Vec<LeaseBill>,
            /// Where the spot task stands now.
            state: TaskState,
        },
        /// A host was named as the standby of a lease.
        StandbyNamed {
            /// The lease.
            lease: LeaseId,
            /// The standby.
            host: HostId,
        },
        /// A pod migrates to another host, by a new lease that is pending.
        LeaseMoved {
            /// The task.
            task: TaskId,
            /// The lease that ended.
            from: LeaseId,
            /// The new lease.
            to: LeaseId,
            /// The host of that lease.
            host: HostId,
            /// The rate of that lease in base units per hour.
            rate_per_hour: Balance,
            /// Its deposit: the rest of the deposit of the lease that ended.
            deposit: Balance,
            /// How the lease that ended was paid.
            bill: LeaseBill,
            /// Why it ended: the pod was moved, or it was lost and its standby took over.
            reason: EndReason,
        },
        /// A host stored a new checkpoint of a pod.
        Checkpointed {
            /// The lease of the pod.
            lease: LeaseId,
            /// SHA-256 of the file.
            digest: Digest,
            /// How long the file is, in bytes.
            bytes: u64,
        },
        /// A tenant cancelled a task.
        Cancelled {
            /// The task.
            task: TaskId,
            /// How its leases were paid.
            bills: Vec<LeaseBill>,
        },
        /// A task was not assigned before its deadline.
        Expired {
            /// The task.
            task: TaskId,
        },
        /// A tenant ended a service or rental.
        Stopped {
            /// The task.
            task: TaskId,
            /// The new state of the task.
            state: TaskState,
        },
        /// A service was scaled, or a further replica was requested.
        Scaled {
            /// The task.
            task: TaskId,
            /// How many.
            pods: u8,
            /// How the leases of pods that are no longer wanted were paid.
            bills: Vec<LeaseBill>,
            /// The new state of the task.
            state: TaskState,
        },
        /// The tenant accepted the result of a task.
        ResultAccepted {
            /// The task.
            task: TaskId,
        },
        /// The results of a task's replicas were compared and agree.
        Verified {
            /// The task.
            task: TaskId,
        },
        /// The results of a task's replicas were compared and do not agree: the task has failed.
        NotVerified {
            /// The task.
            task: TaskId,
            /// How its leases were closed.
            bills: Vec<LeaseBill>,
        },
        /// No other host repeats the work of an audited job: the result that was revealed is that of the task, and may be
        /// accepted or disputed.
        NotRepeated {
            /// The task.
            task: TaskId,
        },
        /// The result of a task is disputed.
        Disputed {
            /// The task.
            task: TaskId,
        },
        /// A dispute is decided.
        DisputeResolved {
            /// The task.
            task: TaskId,
            /// Whether the dispute was upheld: then the result does not count and is not paid.
            upheld: bool,
            /// How the leases were closed where it was upheld.
            bills: Vec<LeaseBill>,
            /// The new state of the task.
            state: TaskState,
        },
        /// A task is settled and everyone is paid.
        Settled {
            /// The task.
            task: TaskId,
            /// How its leases were paid.
            bills: Vec<LeaseBill>,
        },
        /// A tenant rated a lease of a settled task.
        Rated {
            /// The task.
            task: TaskId,
            /// The lease.
            lease: LeaseId,
            /// How well, 1 to 5.
            stars: u8,
        },
        /// The data of an ended rental was deleted.
        Purged {
            /// The task.
            task: TaskId,
            /// The lease.
            lease: LeaseId,
            /// SHA-256 of the receipt of its host.
            receipt: Digest,
        },
        /// A host lost the data of an ended rental that it was to keep.
        DataLost {
            /// The task.
            task: TaskId,
            /// The lease.
            lease: LeaseId,
        },
        /// A final task was pruned.
        Pruned {
            /// The task.
            task: TaskId,
            /// The digest of its page of the archive, this task folded in.
            digest: Digest,
        },
        /// An item of a batch was refused. It changed nothing and did not affect the others.
        ItemRefused {
            /// Which item, counted from 0.
            index: u32,
            /// The task it is about.
            task: TaskId,
            /// Why.
            error: DispatchError,
        },
        /// A batch is done.
        BatchDone {
            /// How many of its items took effect.
            accepted: u32,
            /// How many were refused.
            refused: u32,
        },
        /// An account may assign tasks of others.
        SchedulerBonded {
            /// The account.
            who: AccountId,
        },
        /// An account may no longer assign tasks of others. Its bond is still held.
        SchedulerLeaving {
            /// The account.
            who: AccountId,
            /// The time from which its bond can be released.
            until: Moment,
        },
        /// A scheduler lost a part of its bond, because it placed a pod on a host of its own although another was cheaper.
        SchedulerPunished {
            /// The scheduler.
            who: AccountId,
            /// The lease of the pod.
            lease: LeaseId,
            /// The host that was cheaper.
            cheaper: HostId,
            /// What went to the tenant.
            to_tenant: Balance,
            /// What went to the treasury.
            to_treasury: Balance,
        },
        /// The bond of an account that has left the schedulers was released.
        SchedulerUnbonded {
            /// The account.
            who: AccountId,
        },
        /// The periods and amounts of this pallet were changed.
        ParamsChanged,
        /// A scheduler has published the digest of its queue definitions, or withdrawn it.
        QueuesPublished {
            /// The account.
            who: AccountId,
            /// SHA-256 of the definitions as canonical JSON.
            digest: Option<Digest>,
        },
    }

    /// The errors of the pallet's calls.
    #[pallet::error]
    pub enum Error<T> {
        /// There is no such task: it was not submitted, or it is pruned.
        NoSuchTask,
        /// The task has no such lease now.
        NoSuchLease,
        /// A task in this state cannot change to the requested one.
        TransitionNotAllowed,
        /// A lease in this state cannot change to the requested one.
        LeaseTransitionNotAllowed,
        /// One call submits 1 to 4,096 tasks.
        CountInvalid,
        /// Only jobs can be submitted many at a time.
        OnlyJobsInArrays,
        /// The chain has run out of numbers for tasks.
        NoTaskIdsLeft,
        /// The SHA-256 of the manifest is not the digest in the spec.
        ManifestDigestMismatch,
        /// The manifest is empty.
        ManifestEmpty,
        /// A pod needs some processor and some memory.
        ResourcesEmpty,
        /// A pod may need at most 16 devices, and 1 to 1000 thousandths of each.
        GpuRequestInvalid,
        /// A task has 1 to 16 pods, and its minimum is not above its maximum; a service scales between the two.
        PodRangeInvalid,
        /// A rental has exactly one pod.
        RentalHasOnePod,
        /// Only rentals take over the data of another lease.
        OnlyRentalsTakeData,
        /// Results are compared of jobs only, with 2 or 3 replicas and as many pods; audited jobs have one pod.
        ReplicasInvalid,
        /// A task whose results are compared cannot be spot.
        ReplicasNotSpot,
        /// Pods of rentals, and of tasks whose results are compared, do not migrate.
        SurvivalInvalid,
        /// The duration is shorter than `min_charge_ms`, or longer than the chain allows.
        DurationInvalid,
        /// The deadline has passed.
        DeadlinePassed,
        /// The deadline has not passed, or there is none.
        DeadlineNotPassed,
        /// The tenant cannot pay the deposits for the task and for its pods at the highest rate.
        TenantCannotPay,
        /// The cost does not fit its type.
        CostTooHigh,
        /// The caller is neither a bonded scheduler nor the tenant of the task.
        NotSchedulerOrTenant,
        /// The caller is not the tenant of the task.
        NotTenant,
        /// The caller is not the host of the lease.
        NotHostOfLease,
        /// The task is not queued: another scheduler may have been faster.
        NotQueued,
        /// The task does not run.
        NotRunning,
        /// The task has no result that waits to be accepted.
        NotReported,
        /// The task cannot be settled in its state.
        NotSettleable,
        /// The task is not settled.
        NotSettled,
        /// The task is not final.
        NotFinal,
        /// The task became final too short a time ago to be pruned.
        TooEarlyToPrune,
        /// A host still retains data of the task.
        DataRetained,
        /// The result of the task is not disputed.
        NotDisputed,
        /// The dispute window has not passed.
        DisputeWindowOpen,
        /// The dispute window has passed.
        DisputeWindowClosed,
        /// The task is no service.
        NotService,
        /// A job is not ended but cancelled.
        JobsAreCancelled,
        /// The results of this task are compared: they are committed and revealed, not reported.
        ResultsAreCompared,
        /// The results of this task are not compared.
        NotRedundant,
        /// There is no right result.
        NothingRight,
        /// A replica still runs, or waits for its start.
        PodsStillRun,
        /// There are fewer or more pods than the task wants.
        WrongPodCount,
        /// Pods must be numbered from 0 without a gap.
        PodOutOfRange,
        /// A pod is placed twice, or has a lease already.
        PodRepeated,
        /// The layout of the task requires a separate host for each pod, and another of its pods is on this one.
        HostRepeated,
        /// Replicas must be on hosts of different providers, and so must pods whose layout says so.
        ProviderRepeated,
        /// A further replica must have devices of the same models as the others.
        ModelDiffers,
        /// The host asks for more than the task's highest rate.
        RateTooHigh,
        /// The host does not offer leases in this billing unit.
        UnitNotOffered,
        /// The lease has no retained data.
        DataNotRetained,
        /// The data that the rental is to take over is on another host.
        DataElsewhere,
        /// The data must be retained until the end of its period, or until the tenant releases it.
        DataStillKept,
        /// The pod of this lease has started already, or the lease has ended.
        LeaseNotPending,
        /// The pod of this lease has not started, or the lease has ended.
        LeaseNotActive,
        /// The lease has ended.
        LeaseEnded,
        /// The pod of this lease is not late, and its host is not lost.
        LeaseNotStuck,
        /// The lease has not used its duration yet, or the host of a job may still report its result.
        LeaseNotDepleted,
        /// The host of the lease is lost: requeue it.
        HostIsLost,
        /// A lease is rated with 1 to 5 stars.
        StarsInvalid,
        /// The pod of this lease never started.
        NeverStarted,
        /// The lease is rated already.
        AlreadyRated,
        /// The caller owns the host of the lease.
        OwnHost,
        /// The batch touches more leases than were paid for: send tasks of several pods one by one.
        BatchTooHeavy,
        /// The account is bonded as a scheduler already.
        AlreadyScheduler,
        /// The account is not bonded as a scheduler.
        NotScheduler,
        /// The account cannot pay the bond of a scheduler.
        SchedulerCannotPay,
        /// A preemption notice names 1 to 16 tasks, each once.
        VictimsInvalid,
        /// The task is not spot: it is not preempted.
        NotSpot,
        /// The priority of the task is not below that of the queued task.
        PriorityNotLower,
        /// The task has a preemption notice already.
        AlreadyNoticed,
        /// The task was preempted itself, and preempts no others until it runs again.
        WasPreempted,
        /// There is no preemption notice in favour of the task.
        NotNoticed,
        /// The notice is not over.
        NoticeNotOver,
        /// The task does not allow that its pods migrate.
        NotMovable,
        /// The task wants no standbys.
        NoStandbyWanted,
        /// The lease has a standby that is healthy and has free resources.
        StandbyStands,
        /// The standby of a pod must belong to another provider than the host of its lease.
        StandbyOfSameProvider,
        /// The pod is on that host already.
        SameHost,
        /// The host of the lease is healthy: only the tenant may move the pod.
        HostInOrder,
        /// The new host is not healthy: it is not online, is silent, or has a poor score.
        HostDeteriorates,
        /// Nothing is left of the deposit of the lease.
        DepositUsedUp,
        /// The last checkpoint of the pod is too short a time ago.
        CheckpointTooSoon,
        /// A pod must have some time to start.
        StartTimeoutZero,
        /// There must be some time for disputes.
        DisputeWindowZero,
        /// A task must be allowed at least one attempt.
        MaxAttemptsZero,
        /// A task must be allowed some duration.
        MaxDurationZero,
        /// Final tasks must be kept for some time.
        ArchiveAfterZero,
        /// A refused report of a batch must cost something.
        RefusedItemFineZero,
        /// The notice of a preemption must have some length.
        PreemptionNoticeZero,
        /// A score is at most 1,000,000 parts per million.
        PoorPpmTooHigh,
        /// There must be some time between the checkpoints of a pod.
        CheckpointMinZero,
        /// A sum or product does not fit its type.
        Overflow,
        /// A task that needs shares of devices must ask for hosts that hand them out: `placement.capabilities.shares`.
        SharesNotAskedFor,
        /// The chain lets no task have the results of so many replicas compared: `Params.max_replicas`.
        ReplicasNotOffered,
        /// Results of more than 3 replicas cannot be compared.
        MaxReplicasTooHigh,
        /// Hosts must have some time to report results after the time of their pods was over.
        ReportGraceZero,
        /// A task must be allowed at least one refusal.
        MaxRefusalsZero,
        /// A task stores at most 16 attempts.
        TooManyAttempts,
        /// This host has refused a pod of the task, or has not started it in time.
        HostRefusedTask,
        /// The host asks for more than the rate with which the pod was to be placed there.
        RateAbovePlan,
        /// The account has left the schedulers, and its bond is held until the unbonding period is over.
        StillUnbonding,
        /// There is a preemption notice in favour of the task already.
        NoticeStands,
        /// The pods of the task did not fit at the end of its preemption notice: it may preempt others later.
        NoticeTooSoon,
        /// A task that would be preempted has no pod on the hosts of the placement.
        VictimElsewhere,
        /// The queued task fits there without preemption.
        FitsWithoutVictims,
        /// The unbonding period of schedulers is longer than a year.
        SchedulerUnbondingTooLong,
        /// A scheduler loses at most its bond.
        SchedulerPenaltyTooHigh,
        /// The bond of a scheduler could be released before the time for evidence is over.
        EvidenceOutlivesBond,
        /// The lease was not opened by a scheduler that placed the only pod of a task of another on a host of its own.
        NotSelfAssigned,
        /// The assignment is too long ago for evidence.
        EvidenceTooOld,
        /// The scheduler was punished for this assignment, or for a later one.
        AlreadyPunished,
        /// The other host is not at least a tenth cheaper.
        NotCheaper,
        /// The score of the other host is lower than that of the host was at the assignment, or has changed since.
        NotAsGood,
        /// What the other host offers has changed since the assignment, or capacity has become free.
        OfferTooRecent,
        /// The surcharge for audits must not be more than the price.
        AuditSurchargeTooHigh,
        /// A host that repeats the work of another must not ask for more than that one is paid.
        AuditTooExpensive,
    }

    #[pallet::hooks]
    impl<T: Config> Hooks<BlockNumberFor<T>> for Pallet<T> {
        #[cfg(feature = "try-runtime")]
        fn try_state(_now: BlockNumberFor<T>) -> Result<(), sp_runtime::TryRuntimeError> {
            Self::do_try_state()
        }
    }

    #[pallet::call]
    impl<T: Config> Pallet<T> {
        /// Submit a task. Deposits are held for its manifest until it is final and for itself until it is pruned; what
        /// its pods may cost must be there, too.
        #[pallet::call_index(0)]
        #[pallet::weight(<T as Config>::WeightInfo::submit(manifest.len() as u32))]
        pub fn submit(origin: OriginFor<T>, spec: TaskSpec, manifest: Manifest) -> DispatchResult {
            let tenant = ensure_signed(origin)?;
            Self::do_submit(tenant, spec, manifest, 1)?;
            Ok(())
        }

        /// Assign pods to hosts: all of a queued task, or any that a service or replicas miss. All that are named are
        /// assigned or none, and none at a higher rate than its placement names. By a bonded scheduler, or by the
        /// tenant.
        #[pallet::call_index(1)]
        #[pallet::weight(<T as Config>::WeightInfo::assign(MAX_PODS + MAX_VICTIMS))]
        pub fn assign(
            origin: OriginFor<T>,
            task: TaskId,
            pods: UpTo<PodPlacement, MAX_PODS>,
        ) -> DispatchResultWithPostInfo {
            let who = ensure_signed(origin)?;
            Self::do_assign(who, task, pods)
        }

        /// The calling host started the pod of a lease. Free of charge when valid.
        #[pallet::call_index(2)]
        #[pallet::weight(<T as Config>::WeightInfo::report_started())]
        #[pallet::feeless_if(|origin: &OriginFor<T>, lease: &LeaseId| -> bool {
            Pallet::<T>::report_is_free(origin, *lease, &Report::Started)
        })]
        pub fn report_started(origin: OriginFor<T>, lease: LeaseId) -> DispatchResult {
            let host = ensure_signed(origin)?;
            Self::do_report(host, lease, Report::Started)?;
            Ok(())
        }

        /// The pod of a lease on the calling host ended with a result. Free of charge when valid.
        #[pallet::call_index(3)]
        #[pallet::weight(<T as Config>::WeightInfo::report_result())]
        #[pallet::feeless_if(|origin: &OriginFor<T>, lease: &LeaseId, result: &PodResult| -> bool {
            Pallet::<T>::report_is_free(origin, *lease, &Report::Result(*result))
        })]
        pub fn report_result(origin: OriginFor<T>, lease: LeaseId, result: PodResult) -> DispatchResult {
            let host = ensure_signed(origin)?;
            Self::do_report(host, lease, Report::Result(result))?;
            Ok(())
        }

        /// The calling host cannot run the pod of a lease. Free of charge when valid.
        #[pallet::call_index(4)]
        #[pallet::weight(termination::refusal_weight::<T>(MAX_PODS))]
        #[pallet::feeless_if(|origin: &OriginFor<T>, lease: &LeaseId, reason: &HostFailure| -> bool {
            Pallet::<T>::report_is_free(origin, *lease, &Report::Failed(*reason))
        })]
        pub fn report_failed(origin: OriginFor<T>, lease: LeaseId, reason: HostFailure) -> DispatchResultWithPostInfo {
            let host = ensure_signed(origin)?;
            let pods = Self::do_report(host, lease, Report::Failed(reason))?;
            Ok(Some(termination::refusal_weight::<T>(pods)).into())
        }

        /// Requeue the pod of a lease that did not start in time or whose host is lost. By any account.
        #[pallet::call_index(5)]
        #[pallet::weight(termination::requeue_weight::<T>(MAX_PODS))]
        pub fn requeue(origin: OriginFor<T>, lease: LeaseId) -> DispatchResultWithPostInfo {
            let who = ensure_signed(origin)?;
            let pods = Self::do_requeue(who, lease)?;
            Ok(Some(termination::requeue_weight::<T>(pods)).into())
        }

        /// End a lease that has used its duration or its deposit. By any account. The pod of a job then has no result
        /// and is not paid, and the call is possible only after `report_grace_ms`.
        #[pallet::call_index(6)]
        #[pallet::weight(<T as Config>::WeightInfo::expire_lease(MAX_PODS))]
        pub fn expire_lease(origin: OriginFor<T>, lease: LeaseId) -> DispatchResultWithPostInfo {
            let who = ensure_signed(origin)?;
            let pods = Self::do_expire_lease(who, lease)?;
            Ok(Some(<T as Config>::WeightInfo::expire_lease(pods)).into())
        }

        /// Cancel a task of the caller. Pods that ran are paid.
        #[pallet::call_index(7)]
        #[pallet::weight(<T as Config>::WeightInfo::cancel(MAX_PODS))]
        pub fn cancel(origin: OriginFor<T>, task: TaskId) -> DispatchResultWithPostInfo {
            let tenant = ensure_signed(origin)?;
            let pods = Self::do_cancel(tenant, task)?;
            Ok(Some(<T as Config>::WeightInfo::cancel(pods)).into())
        }

        /// End a task that is still queued after its deadline. By any account.
        #[pallet::call_index(8)]
        #[pallet::weight(<T as Config>::WeightInfo::expire(MAX_VICTIMS))]
        pub fn expire(origin: OriginFor<T>, task: TaskId) -> DispatchResultWithPostInfo {
            ensure_signed(origin)?;
            let victims = Self::do_expire(task)?;
            Ok(Some(<T as Config>::WeightInfo::expire(victims)).into())
        }

        /// Accept the result of a task of the caller before the dispute window passes.
        #[pallet::call_index(9)]
        #[pallet::weight(<T as Config>::WeightInfo::accept_result())]
        pub fn accept_result(origin: OriginFor<T>, task: TaskId) -> DispatchResult {
            let tenant = ensure_signed(origin)?;
            Self::do_accept_result(tenant, task)
        }

        /// Settle a task whose result is accepted, or whose dispute window has passed: all parties are paid. By any
        /// account.
        #[pallet::call_index(10)]
        #[pallet::weight(<T as Config>::WeightInfo::settle(MAX_PODS))]
        pub fn settle(origin: OriginFor<T>, task: TaskId) -> DispatchResultWithPostInfo {
            let who = ensure_signed(origin)?;
            let pods = Self::do_settle(who, task)?;
            Ok(Some(<T as Config>::WeightInfo::settle(pods)).into())
        }

        /// Become a scheduler: the bond is held, and the caller may assign tasks of others. A scheduler that is leaving
        /// becomes active again.
        #[pallet::call_index(11)]
        #[pallet::weight(<T as Config>::WeightInfo::bond_scheduler())]
        pub fn bond_scheduler(origin: OriginFor<T>) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_bond_scheduler(who)
        }

        /// Cease to be a scheduler. The bond stays held for the unbonding period; the same call releases it afterwards.
        #[pallet::call_index(12)]
        #[pallet::weight(<T as Config>::WeightInfo::unbond_scheduler())]
        pub fn unbond_scheduler(origin: OriginFor<T>) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_unbond_scheduler(who)
        }

        /// Change the periods and amounts of this pallet. By whoever governs the chain.
        #[pallet::call_index(13)]
        #[pallet::weight(<T as Config>::WeightInfo::set_params())]
        pub fn set_params(origin: OriginFor<T>, params: Params) -> DispatchResult {
            <T as Config>::AdminOrigin::ensure_origin(origin)?;
            params.check::<T>()?;
            CurrentParams::<T>::put(params);
            Self::deposit_event(Event::ParamsChanged);
            Ok(())
        }

        /// Submit `count` jobs of one spec and manifest, 1 to 4,096. They get numbers that follow one another; each is
        /// a task of its own.
        #[pallet::call_index(14)]
        #[pallet::weight(<T as Config>::WeightInfo::submit_array(manifest.len() as u32, *count))]
        pub fn submit_array(origin: OriginFor<T>, spec: TaskSpec, manifest: Manifest, count: u32) -> DispatchResult {
            let tenant = ensure_signed(origin)?;
            Self::do_submit(tenant, spec, manifest, count)?;
            Ok(())
        }

        /// Assign the pods of many tasks. Each task succeeds or is refused independently. By a bonded scheduler.
        #[pallet::call_index(15)]
        #[pallet::weight(batches::assign_batch_weight::<T>(assignments))]
        pub fn assign_batch(
            origin: OriginFor<T>,
            assignments: UpTo<(TaskId, UpTo<PodPlacement, MAX_PODS>), MAX_ASSIGNMENTS>,
        ) -> DispatchResultWithPostInfo {
            let who = ensure_signed(origin)?;
            Self::do_assign_batch(who, assignments)
        }

        /// Reports of the calling host about many of its leases. Each report succeeds or is refused independently; a
        /// refused one is fined. Free of charge if the batch is not longer than the list of the host's leases and its
        /// bond covers the fines for all.
        #[pallet::call_index(16)]
        #[pallet::weight(batches::report_batch_weight::<T>(reports))]
        #[pallet::feeless_if(|origin: &OriginFor<T>, reports: &UpTo<(LeaseId, Report), MAX_BATCH>| -> bool {
            ensure_signed(origin.clone()).is_ok_and(|host| Pallet::<T>::batch_is_free(&host, reports.len() as u32))
        })]
        pub fn report_batch(
            origin: OriginFor<T>,
            reports: UpTo<(LeaseId, Report), MAX_BATCH>,
        ) -> DispatchResultWithPostInfo {
            let host = ensure_signed(origin)?;
            Self::do_report_batch(host, reports)
        }

        /// Settle many tasks. Each task succeeds or is refused independently. By any account.
        #[pallet::call_index(17)]
        #[pallet::weight(batches::settle_batch_weight::<T>(tasks.len() as u32))]
        pub fn settle_batch(origin: OriginFor<T>, tasks: UpTo<TaskId, MAX_BATCH>) -> DispatchResultWithPostInfo {
            let who = ensure_signed(origin)?;
            Self::do_settle_batch(who, tasks)
        }

        /// Prune final tasks: only a digest of them remains, and their deposits are released. Each task succeeds or is
        /// refused independently. By any account.
        #[pallet::call_index(18)]
        #[pallet::weight(<T as Config>::WeightInfo::prune(tasks.len() as u32, tasks.len() as u32))]
        pub fn prune(origin: OriginFor<T>, tasks: UpTo<TaskId, MAX_BATCH>) -> DispatchResultWithPostInfo {
            ensure_signed(origin)?;
            Self::do_prune(tasks)
        }

        /// Scale a service of the caller to another number of pods, within the limits of its spec.
        #[pallet::call_index(19)]
        #[pallet::weight(<T as Config>::WeightInfo::scale(MAX_PODS))]
        pub fn scale(origin: OriginFor<T>, task: TaskId, pods: u8) -> DispatchResultWithPostInfo {
            let tenant = ensure_signed(origin)?;
            let leases = Self::do_scale(tenant, task, pods)?;
            Ok(Some(<T as Config>::WeightInfo::scale(leases)).into())
        }

        /// End a running service or rental of the caller. It is paid for after the dispute window; the data of a rental
        /// is retained for a while.
        #[pallet::call_index(20)]
        #[pallet::weight(<T as Config>::WeightInfo::end(MAX_PODS))]
        pub fn end(origin: OriginFor<T>, task: TaskId) -> DispatchResultWithPostInfo {
            let tenant = ensure_signed(origin)?;
            let leases = Self::do_end(tenant, task)?;
            Ok(Some(<T as Config>::WeightInfo::end(leases)).into())
        }

        /// Rate a lease of a settled task of the caller with 1 to 5 stars, once.
        #[pallet::call_index(21)]
        #[pallet::weight(<T as Config>::WeightInfo::rate())]
        pub fn rate(origin: OriginFor<T>, lease: LeaseId, stars: u8) -> DispatchResult {
            let tenant = ensure_signed(origin)?;
            Self::do_rate(tenant, lease, stars)
        }

        /// A report of the calling host about a lease of its own. Free of charge when valid.
        #[pallet::call_index(22)]
        #[pallet::weight(reports::report_weight::<T>(report, MAX_PODS))]
        #[pallet::feeless_if(|origin: &OriginFor<T>, lease: &LeaseId, report: &Report| -> bool {
            Pallet::<T>::report_is_free(origin, *lease, report)
        })]
        pub fn report(origin: OriginFor<T>, lease: LeaseId, report: Report) -> DispatchResultWithPostInfo {
            let host = ensure_signed(origin)?;
            let pods = Self::do_report(host, lease, report)?;
            Ok(Some(reports::report_weight::<T>(&report, pods)).into())
        }

        /// Give running spot tasks of lower priority a preemption notice in favour of a queued task, whose pods fit in
        /// their place. They continue until the notice is over. By a bonded scheduler.
        #[pallet::call_index(23)]
        #[pallet::weight(<T as Config>::WeightInfo::preempt(preemption::max_leases(victims.len())))]
        pub fn preempt(
            origin: OriginFor<T>,
            wanting: TaskId,
            victims: UpTo<TaskId, MAX_VICTIMS>,
            pods: UpTo<PodPlacement, MAX_PODS>,
        ) -> DispatchResultWithPostInfo {
            let who = ensure_signed(origin)?;
            Self::do_preempt(who, wanting, victims, pods)
        }

        /// Finish a preemption whose notice is over: the victims are paid until now and queued again, and the queued
        /// task is assigned in their place. If its pods do not fit, the notice is void and no task is evicted. By any
        /// account.
        #[pallet::call_index(24)]
        #[pallet::weight(<T as Config>::WeightInfo::finish_preemption(preemption::max_leases(MAX_VICTIMS as usize)))]
        pub fn finish_preemption(origin: OriginFor<T>, wanting: TaskId) -> DispatchResultWithPostInfo {
            let who = ensure_signed(origin)?;
            Self::do_finish_preemption(who, wanting)
        }

        /// Name the standby of a live lease, to which its pod migrates if its host fails: a host of another provider,
        /// where it fits now at no higher rate than is named. By a bonded scheduler, or by the tenant.
        #[pallet::call_index(25)]
        // And the count of the host's namings.
        #[pallet::weight(<T as Config>::WeightInfo::name_standby().saturating_add(T::DbWeight::get().reads_writes(1, 1)))]
        pub fn name_standby(
            origin: OriginFor<T>,
            lease: LeaseId,
            host: HostId,
            devices: DeviceIndices,
            #[pallet::compact] rate_per_hour: Balance,
        ) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_name_standby(&who, lease, StandbyPlace { host, devices, rate_per_hour })
        }

        /// Move the pod of a live lease to another host: the lease is paid, and the rest of its deposit becomes that of
        /// a new one. By the tenant; or by a bonded scheduler while the host is not healthy. The rate of the other host
        /// must not be above that which is named.
        #[pallet::call_index(26)]
        #[pallet::weight(<T as Config>::WeightInfo::move_pod())]
        pub fn move_pod(
            origin: OriginFor<T>,
            lease: LeaseId,
            host: HostId,
            devices: DeviceIndices,
            #[pallet::compact] rate_per_hour: Balance,
        ) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_move_pod(&who, lease, StandbyPlace { host, devices, rate_per_hour })
        }

        /// Prove that the scheduler of a lease placed the only pod of a task on a host of its own although it would have
        /// fitted on another, on these devices, where it costs at least a tenth less and the score is no lower. The
        /// scheduler loses a part of its bond: half of it goes to the tenant. By anyone.
        #[pallet::call_index(27)]
        #[pallet::weight(<T as Config>::WeightInfo::report_self_assignment())]
        pub fn report_self_assignment(
            origin: OriginFor<T>,
            lease: LeaseId,
            host: HostId,
            devices: DeviceIndices,
        ) -> DispatchResult {
            ensure_signed(origin)?;
            Self::do_report_self_assignment(lease, &host, &devices)
        }

        /// Publish the digest of the queue definitions by which the caller orders tasks, or withdraw it. By a bonded
        /// scheduler.
        #[pallet::call_index(28)]
        // It reads and writes a part of what `bond_scheduler` does.
        #[pallet::weight(<T as Config>::WeightInfo::bond_scheduler())]
        pub fn publish_queues(origin: OriginFor<T>, digest: Option<Digest>) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_publish_queues(who, digest)
        }
    }

    #[pallet::view_functions]
    impl<T: Config> Pallet<T> {
        /// Returns a task and its spec.
        pub fn task(id: TaskId) -> Option<(TaskRecord, TaskSpec)> {
            Self::view_task(id)
        }

        /// Up to `limit` tasks of a list, at most 256, from `from_task` on, in their order.
        pub fn tasks_in(tag: IndexTag, from_task: TaskId, limit: u32) -> Vec<TaskId> {
            Self::view_list(tag, from_task, limit)
        }

        /// A lease, what its pod needs, and who is paid for it.
        pub fn lease(id: LeaseId) -> Option<(Lease, Resources, AccountId)> {
            Self::view_lease(id)
        }
    }
}
