//! What the calls of tenants and schedulers do: read, ensure, write, emit.

use alloc::vec::Vec;
use frame_support::{
    pallet_prelude::*,
    traits::{
        fungible::{InspectHold, MutateHold},
        tokens::Precision,
    },
};
use gantry_primitives::{
    rate, AccountId, Balance, HostId, LeaseId, Manifest, Moment, PodPlacement, TaskId, TaskKind, TaskRecord, TaskSpec,
    TaskState, UpTo, MAX_DEVICES, MAX_PODS, MILLI_PER_DEVICE,
};

use crate::{
    billing, hosts, leases, ByTenant, Config, CurrentParams, Error, Event, HoldReason, Manifests, NextTaskId, Pallet,
    Schedulers, Tasks,
};

impl<T: Config> Pallet<T> {
    pub(crate) fn do_submit(tenant: AccountId, spec: TaskSpec, manifest: Manifest) -> DispatchResult {
        let params = CurrentParams::<T>::get();
        let now = hosts::Pallet::<T>::now();
        Self::ensure_spec_is_sound(&spec, params.max_duration_ms, now)?;
        ensure!(!manifest.is_empty(), Error::<T>::ManifestEmpty);
        let digest = sp_io::hashing::sha2_256(&manifest);
        ensure!(digest == spec.manifest_digest, Error::<T>::ManifestDigestMismatch);
        let task = NextTaskId::<T>::get();
        let next = task.checked_add(1).ok_or(Error::<T>::Overflow)?;
        let deposit = params
            .deposit_per_byte
            .checked_mul(manifest.len() as Balance)
            .and_then(|bytes| bytes.checked_add(params.deposit_base))
            .ok_or(Error::<T>::Overflow)?;
        let highest_cost = rate::deposit(spec.max_rate_per_hour, spec.max_duration_ms)
            .and_then(|pod| pod.checked_mul(Balance::from(spec.pods_max)))
            .ok_or(Error::<T>::CostTooHigh)?;

        if deposit > 0 {
            <T as Config>::Currency::hold(&HoldReason::Deposit.into(), &tenant, deposit)
                .map_err(|_| Error::<T>::TenantCannotPay)?;
        }
        ensure!(billing::Pallet::<T>::can_hold(&tenant, highest_cost), Error::<T>::TenantCannotPay);

        NextTaskId::<T>::put(next);
        Manifests::<T>::insert(task, manifest);
        ByTenant::<T>::insert(&tenant, task, ());
        Self::keep_index(task, None, TaskState::Queued.tag());
        Self::deposit_event(Event::Submitted {
            task,
            tenant: tenant.clone(),
            kind: spec.kind,
            manifest_digest: spec.manifest_digest,
        });
        let record = TaskRecord {
            tenant,
            spec,
            state: TaskState::Queued,
            attempts: 0,
            submitted_at: now,
            leases: BoundedVec::new(),
            pods_started: 0,
            pods_reported: 0,
            reported_at: None,
            deposit,
        };
        Tasks::<T>::insert(task, record);
        Ok(())
    }

    fn ensure_spec_is_sound(spec: &TaskSpec, longest_ms: u64, now: Moment) -> DispatchResult {
        ensure!(spec.kind == TaskKind::Job, Error::<T>::KindNotSupported);
        let needs = &spec.resources;
        ensure!(needs.cpu_milli > 0 && needs.memory_mib > 0, Error::<T>::ResourcesEmpty);
        let gpus = &needs.gpus;
        let share_is_sound = gpus.count == 0 || (1..=MILLI_PER_DEVICE).contains(&gpus.milli);
        ensure!(u32::from(gpus.count) <= MAX_DEVICES && share_is_sound, Error::<T>::GpuRequestInvalid);
        let pods_are_sound =
            1 <= spec.pods_min && spec.pods_min <= spec.pods_max && u32::from(spec.pods_max) <= MAX_PODS;
        ensure!(pods_are_sound, Error::<T>::PodRangeInvalid);
        ensure!((1..=longest_ms).contains(&spec.max_duration_ms), Error::<T>::DurationInvalid);
        ensure!(spec.deadline.is_none_or(|deadline| now <= deadline), Error::<T>::DeadlinePassed);
        Ok(())
    }

    pub(crate) fn do_assign(who: AccountId, task: TaskId, pods: UpTo<PodPlacement, MAX_PODS>) -> DispatchResult {
        let mut record = Self::task(task)?;
        let now = hosts::Pallet::<T>::now();
        ensure!(record.state == TaskState::Queued, Error::<T>::NotQueued);
        ensure!(who == record.tenant || Schedulers::<T>::contains_key(&who), Error::<T>::NotSchedulerOrTenant);
        ensure!(record.spec.deadline.is_none_or(|deadline| now <= deadline), Error::<T>::DeadlinePassed);
        let pods = Self::in_order(&record.spec, pods)?;

        let mut opened: Vec<(LeaseId, HostId)> = Vec::with_capacity(pods.len());
        for pod in pods {
            let host = pod.host.clone();
            let lease = Self::open_pod(task, &record, pod, now)?;
            record.leases.try_push(lease).map_err(|_| Error::<T>::WrongPodCount)?;
            opened.push((lease, host));
        }
        Self::change_state(task, &mut record, TaskState::Assigned)?;
        Self::deposit_event(Event::Assigned { task, attempt: record.attempts, leases: opened });
        Tasks::<T>::insert(task, record);
        Ok(())
    }

    /// The placements in the order of their pods: as many as the task wants, numbered from 0 without gap or repeat.
    fn in_order(spec: &TaskSpec, pods: UpTo<PodPlacement, MAX_PODS>) -> Result<Vec<PodPlacement>, DispatchError> {
        let count = pods.len();
        let wanted = usize::from(spec.pods_min)..=usize::from(spec.pods_max);
        ensure!(wanted.contains(&count), Error::<T>::WrongPodCount);
        let mut pods = pods.into_inner();
        pods.sort_by_key(|placement| placement.pod);
        for (place, placement) in pods.iter().enumerate() {
            ensure!(usize::from(placement.pod) < count, Error::<T>::PodOutOfRange);
            // As many distinct numbers below the count as there are places: each is at its own place.
            ensure!(usize::from(placement.pod) == place, Error::<T>::PodRepeated);
        }
        Ok(pods)
    }

    /// Takes a pod's resources from its host, and opens its lease and its escrow.
    fn open_pod(task: TaskId, record: &TaskRecord, pod: PodPlacement, now: Moment) -> Result<LeaseId, DispatchError> {
        let TaskSpec { resources, placement, .. } = &record.spec;
        let wanted = placement.hosts.is_empty() || placement.hosts.contains(&pod.host);
        ensure!(wanted, Error::<T>::HostNotWanted);
        let host = hosts::Pallet::<T>::reserve(&pod.host, resources, &pod.devices, placement.allow_simulated)?;
        let wanted = placement.regions.is_empty() || placement.regions.contains(&host.region);
        ensure!(wanted, Error::<T>::RegionNotWanted);
        let rate_per_hour = rate::rate_per_hour(resources, &host.ask).ok_or(Error::<T>::CostTooHigh)?;
        ensure!(rate_per_hour <= record.spec.max_rate_per_hour, Error::<T>::RateTooHigh);
        let deposit = rate::deposit(rate_per_hour, record.spec.max_duration_ms).ok_or(Error::<T>::CostTooHigh)?;

        let draft = leases::Draft {
            task,
            pod: pod.pod,
            attempt: record.attempts,
            host: pod.host,
            provider: host.provider.clone(),
            tenant: record.tenant.clone(),
            devices: pod.devices,
            resources: resources.clone(),
            rate_per_hour,
        };
        let lease = leases::Pallet::<T>::open(draft, now)?;
        let (tenant, unit) = (record.tenant.clone(), record.spec.unit);
        billing::Pallet::<T>::open(lease, tenant, host.provider, deposit, rate_per_hour, unit)?;
        Ok(lease)
    }

    pub(crate) fn do_accept_result(tenant: AccountId, task: TaskId) -> DispatchResult {
        let mut record = Self::task(task)?;
        ensure!(record.tenant == tenant, Error::<T>::NotTenant);
        ensure!(record.state == TaskState::Reported, Error::<T>::NotReported);
        Self::change_state(task, &mut record, TaskState::Verified)?;
        Tasks::<T>::insert(task, record);
        Ok(())
    }

    pub(crate) fn do_bond_scheduler(who: AccountId) -> DispatchResult {
        ensure!(!Schedulers::<T>::contains_key(&who), Error::<T>::AlreadyScheduler);
        let bond = CurrentParams::<T>::get().scheduler_bond;
        if bond > 0 {
            <T as Config>::Currency::hold(&HoldReason::SchedulerBond.into(), &who, bond)
                .map_err(|_| Error::<T>::SchedulerCannotPay)?;
        }
        Schedulers::<T>::insert(&who, bond);
        Self::deposit_event(Event::SchedulerBonded { who });
        Ok(())
    }

    pub(crate) fn do_unbond_scheduler(who: AccountId) -> DispatchResult {
        let bond = Schedulers::<T>::take(&who).ok_or(Error::<T>::NotScheduler)?;
        if bond > 0 {
            <T as Config>::Currency::release(&HoldReason::SchedulerBond.into(), &who, bond, Precision::Exact)?;
        }
        Self::deposit_event(Event::SchedulerUnbonded { who });
        Ok(())
    }

    /// What is held of `who` for tasks that are not final.
    pub(crate) fn deposit_held(who: &AccountId) -> Balance {
        <T as Config>::Currency::balance_on_hold(&HoldReason::Deposit.into(), who)
    }

    /// What is held of `who` as the bond of a scheduler.
    pub(crate) fn scheduler_bond_held(who: &AccountId) -> Balance {
        <T as Config>::Currency::balance_on_hold(&HoldReason::SchedulerBond.into(), who)
    }
}
