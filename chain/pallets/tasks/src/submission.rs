//! Submission of tasks.

use frame_support::{
    pallet_prelude::*,
    traits::fungible::{InspectHold, MutateHold},
};
use gantry_primitives::{
    ids::TASK_IDS_END, rate, AccountId, Balance, IndexTag, Manifest, Moment, SpecRecord, TaskId, TaskKey, TaskKind,
    TaskRecord, TaskSpec, TaskState, VerificationPolicy, MAX_ARRAY, MAX_DEVICES, MAX_PODS, MILLI_PER_DEVICE,
};

use crate::{
    billing, hosts, index::Index, types::MAX_REPLICAS, ByTenant, Config, CurrentParams, Error, Event, HoldReason,
    Manifests, NextTaskId, Pallet, Params, Specs, Tasks,
};

impl<T: Config> Pallet<T> {
    /// Submits `count` tasks of one spec. Returns the number of the first.
    pub(crate) fn do_submit(
        tenant: AccountId,
        spec: TaskSpec,
        manifest: Manifest,
        count: u32,
    ) -> Result<TaskId, DispatchError> {
        let params = CurrentParams::<T>::get();
        let now = hosts::Pallet::<T>::now();
        ensure!((1..=MAX_ARRAY).contains(&count), Error::<T>::CountInvalid);
        ensure!(count == 1 || spec.kind == TaskKind::Job, Error::<T>::OnlyJobsInArrays);
        Self::ensure_spec_is_sound(&spec, &params, now)?;
        ensure!(!manifest.is_empty(), Error::<T>::ManifestEmpty);
        ensure!(sp_io::hashing::sha2_256(&manifest) == spec.manifest_digest, Error::<T>::ManifestDigestMismatch);
        let first = NextTaskId::<T>::get();
        let next = first.checked_add(u64::from(count)).ok_or(Error::<T>::Overflow)?;
        ensure!(next <= TASK_IDS_END, Error::<T>::NoTaskIdsLeft);
        let manifest_deposit = params
            .deposit_per_byte
            .checked_mul(manifest.len() as Balance)
            .and_then(|bytes| bytes.checked_add(params.deposit_base))
            .ok_or(Error::<T>::Overflow)?;
        let task_deposit = params.task_deposit(spec.pods_max).ok_or(Error::<T>::Overflow)?;
        let deposit = task_deposit
            .checked_mul(Balance::from(count))
            .and_then(|tasks| tasks.checked_add(manifest_deposit))
            .ok_or(Error::<T>::Overflow)?;
        // For an array, the maximum cost of one task: its tasks need not run at once, and each assignment is checked.
        let highest_cost = rate::deposit(spec.max_rate_per_hour, spec.max_duration_ms)
            .and_then(|pod| pod.checked_mul(Balance::from(spec.pods_max)))
            .ok_or(Error::<T>::CostTooHigh)?;

        if deposit > 0 {
            <T as Config>::Currency::hold(&HoldReason::Deposit.into(), &tenant, deposit)
                .map_err(|_| Error::<T>::TenantCannotPay)?;
        }
        ensure!(billing::Pallet::<T>::can_hold(&tenant, highest_cost), Error::<T>::TenantCannotPay);

        NextTaskId::<T>::put(next);
        // A service starts with the minimum and is scaled; a job wants the maximum. At most 16, by
        // `ensure_spec_is_sound`.
        let pods_wanted = if spec.kind == TaskKind::Service { spec.pods_min } else { spec.pods_max } as u8;
        let record = TaskRecord {
            first,
            tenant: tenant.clone(),
            state: TaskState::Queued,
            generation: 0,
            attempts: Default::default(),
            pods_wanted,
            submitted_at: now,
            changed_at: now,
            preemption: None,
            notice: Default::default(),
            leases: BoundedVec::new(),
            checkpoints: BoundedVec::new(),
        };
        let mut index = Index::<T>::new();
        for task in first..next {
            Tasks::<T>::insert(TaskKey::from(task), &record);
            index.put(IndexTag::Queued, task, true);
        }
        index.commit();
        let key = TaskKey::from(first);
        Manifests::<T>::insert(key, manifest);
        ByTenant::<T>::insert(&tenant, key, count);
        let TaskSpec { kind, manifest_digest, .. } = spec;
        let spec_record = SpecRecord {
            tenant: tenant.clone(),
            spec,
            count,
            open: count,
            kept: count,
            manifest_deposit,
            task_deposit,
        };
        Specs::<T>::insert(key, spec_record);
        Self::deposit_event(Event::Submitted { first, count, tenant, kind, manifest_digest });
        Ok(first)
    }

    fn ensure_spec_is_sound(spec: &TaskSpec, params: &Params, now: Moment) -> DispatchResult {
        let needs = &spec.resources;
        ensure!(needs.cpu_milli > 0 && needs.memory_mib > 0, Error::<T>::ResourcesEmpty);
        let gpus = &needs.gpus;
        let share_is_sound = gpus.count == 0 || (1..=MILLI_PER_DEVICE).contains(&gpus.milli);
        ensure!(u32::from(gpus.count) <= MAX_DEVICES && share_is_sound, Error::<T>::GpuRequestInvalid);
        let wants_shares = gpus.count > 0 && gpus.milli < MILLI_PER_DEVICE;
        ensure!(!wants_shares || spec.placement.capabilities.shares, Error::<T>::SharesNotAskedFor);
        let pods_are_sound =
            1 <= spec.pods_min && spec.pods_min <= spec.pods_max && u32::from(spec.pods_max) <= MAX_PODS;
        ensure!(pods_are_sound, Error::<T>::PodRangeInvalid);
        ensure!(spec.kind != TaskKind::Rental || spec.pods_max == 1, Error::<T>::RentalHasOnePod);
        ensure!(spec.kind == TaskKind::Rental || spec.data_from.is_none(), Error::<T>::OnlyRentalsTakeData);
        if let VerificationPolicy::Redundant { replicas } = spec.verification {
            let replicas_are_sound = spec.kind == TaskKind::Job
                && (2..=MAX_REPLICAS).contains(&replicas)
                && [spec.pods_min, spec.pods_max] == [u16::from(replicas); 2];
            ensure!(replicas_are_sound, Error::<T>::ReplicasInvalid);
            ensure!(replicas <= params.max_replicas, Error::<T>::ReplicasNotOffered);
        }
        if spec.is_audited() {
            let is_sound = spec.kind == TaskKind::Job && [spec.pods_min, spec.pods_max] == [1; 2];
            ensure!(is_sound, Error::<T>::ReplicasInvalid);
            ensure!(params.max_replicas >= 2, Error::<T>::ReplicasNotOffered);
        }
        ensure!(!(spec.spot && spec.is_redundant()), Error::<T>::ReplicasNotSpot);
        let may_move = spec.kind != TaskKind::Rental && !spec.is_redundant();
        ensure!(may_move || !spec.moves_pods(), Error::<T>::SurvivalInvalid);
        let durations = params.min_charge_ms.max(1)..=params.max_duration_ms;
        ensure!(durations.contains(&spec.max_duration_ms), Error::<T>::DurationInvalid);
        ensure!(spec.deadline.is_none_or(|deadline| now <= deadline), Error::<T>::DeadlinePassed);
        Ok(())
    }

    /// Returns the amount on hold of `who` for stored manifests and tasks.
    pub(crate) fn deposit_held(who: &AccountId) -> Balance {
        <T as Config>::Currency::balance_on_hold(&HoldReason::Deposit.into(), who)
    }
}
