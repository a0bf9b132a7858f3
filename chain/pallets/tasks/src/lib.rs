//! # Tasks
//!
//! What tenants want run, and the one table by which it changes. This file declares; `dispatchables.rs` has the calls
//! of tenants and schedulers, `reports.rs` those of hosts, `endings.rs` those that end an attempt or a task, and
//! `lifecycle.rs` the one function by which a task changes its state.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(feature = "runtime-benchmarks")]
mod benchmarking;
mod dispatchables;
mod endings;
mod lifecycle;
mod reports;
mod try_state;
mod types;
pub mod weights;

#[cfg(test)]
mod mock;
#[cfg(test)]
mod tests;

pub use pallet::*;
pub use types::Params;
pub use weights::WeightInfo;

use pallet_gantry_billing as billing;
use pallet_gantry_hosts as hosts;
use pallet_gantry_leases as leases;
use pallet_gantry_reputation as reputation;

#[frame_support::pallet]
pub mod pallet {
    use super::*;
    use alloc::vec::Vec;
    use frame_support::{pallet_prelude::*, traits::fungible::MutateHold};
    use frame_system::pallet_prelude::*;
    use gantry_primitives::{
        AccountId, Balance, Digest, HostFailure, HostId, LeaseId, Manifest, PodPlacement, PodResult, RequeueReason,
        TaskId, TaskKind, TaskRecord, TaskSpec, TaskState, TaskStateTag, UpTo, MAX_PODS,
    };

    /// What the pallet needs of its runtime. It is coupled tightly with the other pallets of Gantry: an attempt of a
    /// task is resources of hosts, leases and escrows, all taken or none.
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
        /// The weight of each call.
        type WeightInfo: WeightInfo;
    }

    /// What tenants want run.
    #[pallet::pallet]
    pub struct Pallet<T>(_);

    /// The number of the next task.
    #[pallet::storage]
    pub type NextTaskId<T: Config> = StorageValue<_, TaskId, ValueQuery>;

    /// Every task that was ever submitted.
    #[pallet::storage]
    pub type Tasks<T: Config> = StorageMap<_, Twox64Concat, TaskId, TaskRecord>;

    /// The manifest of every task that is not final.
    #[pallet::storage]
    pub type Manifests<T: Config> = StorageMap<_, Twox64Concat, TaskId, Manifest>;

    /// The tasks in each state.
    #[pallet::storage]
    pub type ByState<T: Config> = StorageDoubleMap<_, Twox64Concat, TaskStateTag, Twox64Concat, TaskId, ()>;

    /// The tasks of each tenant.
    #[pallet::storage]
    pub type ByTenant<T: Config> = StorageDoubleMap<_, Blake2_128Concat, AccountId, Twox64Concat, TaskId, ()>;

    /// Who may assign tasks of others, each with the bond that is held for it.
    #[pallet::storage]
    pub type Schedulers<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, Balance>;

    /// The periods and amounts in force.
    #[pallet::storage]
    #[pallet::storage_prefix = "Params"]
    pub type CurrentParams<T: Config> = StorageValue<_, Params, ValueQuery>;

    /// Why coins are held.
    #[pallet::composite_enum]
    pub enum HoldReason {
        /// The chain keeps the manifest of a task.
        Deposit,
        /// The bond of a scheduler.
        SchedulerBond,
    }

    /// What the chain starts with.
    #[pallet::genesis_config]
    #[derive(frame_support::DefaultNoBound)]
    pub struct GenesisConfig<T: Config> {
        /// The periods and amounts.
        pub params: Params,
        /// Accounts that are bonded as schedulers from the start.
        pub schedulers: Vec<AccountId>,
        /// Nothing.
        #[serde(skip)]
        pub _config: core::marker::PhantomData<T>,
    }

    #[pallet::genesis_build]
    impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
        fn build(&self) {
            assert!(self.params.max_attempts > 0, "tasks.params.maxAttempts must be at least 1");
            CurrentParams::<T>::put(&self.params);
            for who in &self.schedulers {
                Pallet::<T>::do_bond_scheduler(who.clone())
                    .expect("each of tasks.schedulers is named once and its balance covers tasks.params.schedulerBond");
            }
        }
    }

    /// What happened.
    #[pallet::event]
    #[pallet::generate_deposit(pub(crate) fn deposit_event)]
    pub enum Event<T: Config> {
        /// A tenant submitted a task.
        Submitted {
            /// The task.
            task: TaskId,
            /// Who pays.
            tenant: AccountId,
            /// The sort of work.
            kind: TaskKind,
            /// SHA-256 of its manifest.
            manifest_digest: Digest,
        },
        /// A task has a lease for each pod.
        Assigned {
            /// The task.
            task: TaskId,
            /// Which attempt this is, counted from 0.
            attempt: u8,
            /// The leases in the order of the pods, each with its host.
            leases: Vec<(LeaseId, HostId)>,
        },
        /// A pod started.
        PodStarted {
            /// The task.
            task: TaskId,
            /// The lease of the pod.
            lease: LeaseId,
        },
        /// A pod reported its result.
        PodReported {
            /// The task.
            task: TaskId,
            /// The lease of the pod.
            lease: LeaseId,
            /// What it ended with.
            result: PodResult,
        },
        /// A task changed its state.
        StateChanged {
            /// The task.
            task: TaskId,
            /// What it was.
            from: TaskState,
            /// What it is.
            to: TaskState,
        },
        /// An attempt came to nothing and the task waits again.
        Requeued {
            /// The task.
            task: TaskId,
            /// How many attempts have come to nothing.
            attempts: u8,
            /// Why.
            reason: RequeueReason,
        },
        /// A task is settled and everyone is paid.
        Settled {
            /// The task.
            task: TaskId,
            /// What its leases cost the tenant, fees included.
            paid: Balance,
        },
        /// An account may assign tasks of others.
        SchedulerBonded {
            /// The account.
            who: AccountId,
        },
        /// An account may no longer assign tasks of others and has its bond back.
        SchedulerUnbonded {
            /// The account.
            who: AccountId,
        },
        /// The periods and amounts of this pallet were changed.
        ParamsChanged,
    }

    /// Why a call was refused.
    #[pallet::error]
    pub enum Error<T> {
        /// No such task was submitted.
        NoSuchTask,
        /// A task in this state cannot go to the wanted one.
        TransitionNotAllowed,
        /// Only jobs are supported for now.
        KindNotSupported,
        /// The SHA-256 of the manifest is not the digest in the spec.
        ManifestDigestMismatch,
        /// The manifest is empty.
        ManifestEmpty,
        /// A pod needs some processor and some memory.
        ResourcesEmpty,
        /// A pod may need at most 16 devices, and 1 to 1000 thousandths of each.
        GpuRequestInvalid,
        /// A task has 1 to 16 pods, at most as many as at least.
        PodRangeInvalid,
        /// The duration is zero or longer than the chain allows.
        DurationInvalid,
        /// The deadline has passed.
        DeadlinePassed,
        /// The deadline has not passed, or there is none.
        DeadlineNotPassed,
        /// The tenant cannot pay the deposits for the task and for its pods at the highest rate.
        TenantCannotPay,
        /// The cost is greater than any number of coins.
        CostTooHigh,
        /// The caller is neither a bonded scheduler nor the tenant of the task.
        NotSchedulerOrTenant,
        /// The caller is not the tenant of the task.
        NotTenant,
        /// The caller is not the host of the lease.
        NotHostOfLease,
        /// The task does not wait for hosts: another scheduler may have been faster.
        NotQueued,
        /// The task has no result that waits to be accepted.
        NotReported,
        /// The task cannot be settled in its state.
        NotSettleable,
        /// The dispute window has not passed.
        DisputeWindowOpen,
        /// There are fewer or more pods than the task wants.
        WrongPodCount,
        /// Pods must be numbered from 0 without a gap.
        PodOutOfRange,
        /// A pod is placed twice.
        PodRepeated,
        /// The task does not want this host.
        HostNotWanted,
        /// The task does not want the region of this host.
        RegionNotWanted,
        /// The host asks for more than the task's highest rate.
        RateTooHigh,
        /// The pod of this lease has started already, or the lease has ended.
        LeaseNotPending,
        /// The pod of this lease has not started, or the lease has ended.
        LeaseNotActive,
        /// The lease has ended.
        LeaseEnded,
        /// The pod of this lease is not late, and its host is not lost.
        LeaseNotStuck,
        /// The lease has not used its duration yet.
        LeaseNotDepleted,
        /// The host of the lease is lost: requeue it.
        HostIsLost,
        /// The account is bonded as a scheduler already.
        AlreadyScheduler,
        /// The account is not bonded as a scheduler.
        NotScheduler,
        /// The account cannot pay the bond of a scheduler.
        SchedulerCannotPay,
        /// A task must be allowed at least one attempt.
        ParamsInvalid,
        /// A sum or product does not fit its type.
        Overflow,
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
        /// Submit a task. A deposit is held until it is final; what its pods may cost must be there, too.
        #[pallet::call_index(0)]
        #[pallet::weight(<T as Config>::WeightInfo::submit(manifest.len() as u32))]
        pub fn submit(origin: OriginFor<T>, spec: TaskSpec, manifest: Manifest) -> DispatchResult {
            let tenant = ensure_signed(origin)?;
            Self::do_submit(tenant, spec, manifest)
        }

        /// Place every pod of a waiting task on a host: all or nothing. By a bonded scheduler, or by the tenant.
        #[pallet::call_index(1)]
        #[pallet::weight(<T as Config>::WeightInfo::assign(pods.len() as u32))]
        pub fn assign(origin: OriginFor<T>, task: TaskId, pods: UpTo<PodPlacement, MAX_PODS>) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_assign(who, task, pods)
        }

        /// The calling host started the pod of a lease. Free of charge when valid.
        #[pallet::call_index(2)]
        #[pallet::weight(<T as Config>::WeightInfo::report_started())]
        #[pallet::feeless_if(|origin: &OriginFor<T>, lease: &LeaseId| -> bool {
            ensure_signed(origin.clone()).is_ok_and(|host| Pallet::<T>::startable(&host, *lease).is_ok())
        })]
        pub fn report_started(origin: OriginFor<T>, lease: LeaseId) -> DispatchResult {
            let host = ensure_signed(origin)?;
            Self::do_report_started(host, lease)
        }

        /// The pod of a lease on the calling host ended with a result. Free of charge when valid.
        #[pallet::call_index(3)]
        #[pallet::weight(<T as Config>::WeightInfo::report_result())]
        #[pallet::feeless_if(|origin: &OriginFor<T>, lease: &LeaseId, _result: &PodResult| -> bool {
            ensure_signed(origin.clone()).is_ok_and(|host| Pallet::<T>::reportable(&host, *lease).is_ok())
        })]
        pub fn report_result(origin: OriginFor<T>, lease: LeaseId, result: PodResult) -> DispatchResult {
            let host = ensure_signed(origin)?;
            Self::do_report_result(host, lease, result)
        }

        /// The calling host cannot run the pod of a lease. The attempt ends. Free of charge when valid.
        #[pallet::call_index(4)]
        #[pallet::weight(<T as Config>::WeightInfo::report_failed(MAX_PODS))]
        #[pallet::feeless_if(|origin: &OriginFor<T>, lease: &LeaseId, _reason: &HostFailure| -> bool {
            ensure_signed(origin.clone()).is_ok_and(|host| Pallet::<T>::failable(&host, *lease).is_ok())
        })]
        pub fn report_failed(origin: OriginFor<T>, lease: LeaseId, reason: HostFailure) -> DispatchResultWithPostInfo {
            let host = ensure_signed(origin)?;
            let pods = Self::do_report_failed(host, lease, reason)?;
            Ok(Some(<T as Config>::WeightInfo::report_failed(pods)).into())
        }

        /// End the attempt that a lease belongs to, because its pod did not start in time or its host is lost. By
        /// anyone.
        #[pallet::call_index(5)]
        #[pallet::weight(<T as Config>::WeightInfo::requeue(MAX_PODS))]
        pub fn requeue(origin: OriginFor<T>, lease: LeaseId) -> DispatchResultWithPostInfo {
            ensure_signed(origin)?;
            let pods = Self::do_requeue(lease)?;
            Ok(Some(<T as Config>::WeightInfo::requeue(pods)).into())
        }

        /// End the task of a lease whose pod ran for longer than the task allows. By anyone.
        #[pallet::call_index(6)]
        #[pallet::weight(<T as Config>::WeightInfo::expire_lease(MAX_PODS))]
        pub fn expire_lease(origin: OriginFor<T>, lease: LeaseId) -> DispatchResultWithPostInfo {
            ensure_signed(origin)?;
            let pods = Self::do_expire_lease(lease)?;
            Ok(Some(<T as Config>::WeightInfo::expire_lease(pods)).into())
        }

        /// Call off a task of the caller. Pods that ran are paid.
        #[pallet::call_index(7)]
        #[pallet::weight(<T as Config>::WeightInfo::cancel(MAX_PODS))]
        pub fn cancel(origin: OriginFor<T>, task: TaskId) -> DispatchResultWithPostInfo {
            let tenant = ensure_signed(origin)?;
            let pods = Self::do_cancel(tenant, task)?;
            Ok(Some(<T as Config>::WeightInfo::cancel(pods)).into())
        }

        /// End a task that still waits after its deadline. By anyone.
        #[pallet::call_index(8)]
        #[pallet::weight(<T as Config>::WeightInfo::expire())]
        pub fn expire(origin: OriginFor<T>, task: TaskId) -> DispatchResult {
            ensure_signed(origin)?;
            Self::do_expire(task)
        }

        /// Accept the result of a task of the caller before the dispute window passes.
        #[pallet::call_index(9)]
        #[pallet::weight(<T as Config>::WeightInfo::accept_result())]
        pub fn accept_result(origin: OriginFor<T>, task: TaskId) -> DispatchResult {
            let tenant = ensure_signed(origin)?;
            Self::do_accept_result(tenant, task)
        }

        /// Pay everyone of a task whose result is accepted, or whose dispute window has passed. By anyone.
        #[pallet::call_index(10)]
        #[pallet::weight(<T as Config>::WeightInfo::settle(MAX_PODS))]
        pub fn settle(origin: OriginFor<T>, task: TaskId) -> DispatchResultWithPostInfo {
            ensure_signed(origin)?;
            let pods = Self::do_settle(task)?;
            Ok(Some(<T as Config>::WeightInfo::settle(pods)).into())
        }

        /// Become a scheduler: the bond is held, and the caller may assign tasks of others.
        #[pallet::call_index(11)]
        #[pallet::weight(<T as Config>::WeightInfo::bond_scheduler())]
        pub fn bond_scheduler(origin: OriginFor<T>) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_bond_scheduler(who)
        }

        /// Cease to be a scheduler and get the bond back.
        #[pallet::call_index(12)]
        #[pallet::weight(<T as Config>::WeightInfo::unbond_scheduler())]
        pub fn unbond_scheduler(origin: OriginFor<T>) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_unbond_scheduler(who)
        }

        /// Change the periods and amounts of this pallet. By root.
        #[pallet::call_index(13)]
        #[pallet::weight(<T as Config>::WeightInfo::set_params())]
        pub fn set_params(origin: OriginFor<T>, params: Params) -> DispatchResult {
            ensure_root(origin)?;
            ensure!(params.max_attempts > 0, Error::<T>::ParamsInvalid);
            CurrentParams::<T>::put(params);
            Self::deposit_event(Event::ParamsChanged);
            Ok(())
        }
    }
}
