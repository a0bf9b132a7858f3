//! Assignment of pods to hosts: all pods that are named or none.

use alloc::vec::Vec;

use frame_support::{dispatch::WithPostDispatchInfo, pallet_prelude::*};
use gantry_primitives::{
    lease_id, lease_parts, rate, AccountId, Balance, EndReason, HostId, Lease, LeaseId, LeaseSla, LeaseState,
    NoticeState, PodPlacement, TaskId, TaskKind, TaskSpec, TaskState, UpTo, MAX_PODS, MAX_VICTIMS,
};

use crate::{
    changes::{Allocation, LoadedTask, TaskChanges},
    Config, Error, Event, OpenedLease, Pallet, Schedulers, WeightInfo,
};

/// The caller that assigns a task.
pub(crate) enum Assigner<'a> {
    /// A bonded scheduler: any task.
    Scheduler(&'a AccountId),
    /// The scheduler that gave a preemption notice and named the hosts of the waiting task in it.
    Notice(&'a AccountId),
    /// Any other account: its own tasks.
    Tenant(&'a AccountId),
    /// The tenant of a task that starts by an agreement with the provider: at the rate that the placement names.
    Agreement(&'a AccountId),
}

impl Assigner<'_> {
    /// Returns the scheduler that a lease of `tenant` names. None if the tenant assigns its own task.
    fn scheduler_for(&self, tenant: &AccountId) -> Option<AccountId> {
        match self {
            Self::Scheduler(who) | Self::Notice(who) => Some(*who).filter(|who| *who != tenant).cloned(),
            Self::Tenant(_) | Self::Agreement(_) => None,
        }
    }
}

/// A pod whose resources are allocated.
struct AllocatedPod {
    pod: u8,
    host: HostId,
    devices: UpTo<u8, 16>,
    rate_per_hour: Balance,
    deposit: Balance,
}

/// A lease whose retained data a rental takes over.
struct DataSource {
    loaded: LoadedTask,
    position: usize,
    id: LeaseId,
}

impl<T: Config> Pallet<T> {
    /// A refused call pays for the work that was done.
    pub(crate) fn do_assign(
        who: AccountId,
        task: TaskId,
        pods: UpTo<PodPlacement, MAX_PODS>,
    ) -> DispatchResultWithPostInfo {
        let assigner = match Schedulers::<T>::contains_key(&who) {
            true => Assigner::Scheduler(&who),
            false => Assigner::Tenant(&who),
        };
        let mut changes = TaskChanges::<T>::new();
        let named = pods.len() as u32;
        let assigned = changes.assign(&assigner, task, pods);
        let (_, _, leases) = changes.access_counts();
        let weight = <T as Config>::WeightInfo::assign(leases.max(named));
        assigned.and_then(|()| changes.commit()).map_err(|error| error.with_weight(weight))?;
        Ok(Some(weight).into())
    }
}

impl<T: Config> TaskChanges<T> {
    /// Opens a lease for each pod. See the call `assign`.
    pub fn assign(&mut self, assigner: &Assigner, task: TaskId, pods: UpTo<PodPlacement, MAX_PODS>) -> DispatchResult {
        let mut loaded = self.load(task)?;
        if let Assigner::Tenant(who) | Assigner::Agreement(who) = assigner {
            ensure!(**who == loaded.record.tenant, Error::<T>::NotSchedulerOrTenant);
        }
        let is_first = loaded.record.state == TaskState::Queued;
        ensure!(is_first || loaded.is_short(), Error::<T>::NotQueued);
        let pods = if is_first { first_pods::<T>(&loaded, pods)? } else { missing_pods::<T>(&loaded, pods)? };
        if is_first {
            let deadline = loaded.deadline();
            ensure!(deadline.is_none_or(|deadline| self.now <= deadline), Error::<T>::DeadlinePassed);
        }
        let victims = if matches!(loaded.record.notice, NoticeState::Standing(_)) { MAX_VICTIMS } else { 0 };
        // If the task had leases before, the first of them has taken the data over.
        let data_from = loaded.spec().data_from.filter(|_| loaded.record.generation == 0);
        let others = loaded.topology_lookups().saturating_add(victims).saturating_add(data_from.is_some().into());
        self.count_leases(pods.len() as u32, others)?;
        self.ensure_anti_affinity(&loaded, None, pods.iter().map(|pod| &pod.host))?;
        if loaded.spec().is_redundant() {
            self.ensure_same_models(&loaded, &pods)?;
        }
        let source = data_from.map(|lease| self.data_source(&loaded, lease, &pods)).transpose()?;
        if let Some(source) = &source {
            self.release_source(source);
        }
        let mut allocated = Vec::with_capacity(pods.len());
        if let Err(error) = self.allocate_all(assigner, &loaded, pods, &mut allocated) {
            for pod in &allocated {
                let id = lease_id(task, pod.pod, loaded.record.generation);
                self.undo_allocation(id, &pod.host, &loaded.spec().resources, &pod.devices);
            }
            if let Some(source) = &source {
                let disk = source.loaded.spec().resources.disk_gib;
                self.allocate_disk(source.id, &source.loaded.record.leases[source.position].host, disk);
            }
            return Err(error);
        }

        let assigned_by = assigner.scheduler_for(&loaded.record.tenant);
        let accountable = Self::accountable_scheduler(assigner, &loaded);
        let opened = self.open_leases(&mut loaded, allocated, assigned_by, accountable);
        if is_first {
            self.withdraw_notice(&mut loaded, NoticeState::Absent);
            self.transition(&mut loaded, TaskState::Assigned);
        }
        if let Some(source) = source {
            self.move_data(source, opened.first().map(|(lease, ..)| *lease));
        }
        let (generation, state) = (loaded.record.generation, loaded.record.state);
        self.store(loaded);
        Pallet::<T>::deposit_event(Event::Assigned { task, generation, leases: opened, state });
        Ok(())
    }

    /// Allocates the resources of every pod, and holds the tenant's deposit for all. `allocated` contains the pods up
    /// to a failure.
    fn allocate_all(
        &mut self,
        assigner: &Assigner,
        loaded: &LoadedTask,
        pods: Vec<PodPlacement>,
        allocated: &mut Vec<AllocatedPod>,
    ) -> DispatchResult {
        let spec = loaded.spec();
        let is_agreed = matches!(assigner, Assigner::Agreement(_));
        let mut sum: Balance = 0;
        for PodPlacement { pod, host, devices, rate_per_hour: planned } in pods {
            ensure!(!loaded.record.excludes(&host), Error::<T>::HostRefusedTask);
            let id = lease_id(loaded.task, pod, loaded.record.generation);
            self.allocate(id, &host, &loaded.spec_record, &devices)?;
            let rate_per_hour = match is_agreed {
                true => Ok(planned),
                false => self
                    .rate_at(spec, &host, &devices, planned)
                    .and_then(|rate| self.audited_rate(loaded, rate, planned)),
            };
            allocated.push(AllocatedPod { pod, host, devices, rate_per_hour: 0, deposit: 0 });
            let rate_per_hour = rate_per_hour?;
            let deposit = rate::deposit(rate_per_hour, spec.max_duration_ms).ok_or(Error::<T>::CostTooHigh)?;
            sum = sum.checked_add(deposit).ok_or(Error::<T>::CostTooHigh)?;
            if let Some(last) = allocated.last_mut() {
                (last.rate_per_hour, last.deposit) = (rate_per_hour, deposit);
            }
        }
        self.ledger.hold(&loaded.record.tenant, sum)
    }

    /// Returns the rate of a pod on a host in base units per hour. Fails if it is above the task's limit, or above the
    /// `planned` rate: a provider cannot raise its price between the plan and the assignment.
    pub(crate) fn rate_at(
        &mut self,
        spec: &TaskSpec,
        host: &HostId,
        devices: &[u8],
        planned: Balance,
    ) -> Result<Balance, DispatchError> {
        let record = &self.host(host)?.record;
        let rate = rate::rate_per_hour(&spec.resources, &record.devices, devices, &record.ask, spec.unit);
        let rate_per_hour = rate.map_err(Error::<T>::from)?;
        ensure!(rate_per_hour <= spec.max_rate_per_hour, Error::<T>::RateTooHigh);
        ensure!(rate_per_hour <= planned, Error::<T>::RateAbovePlan);
        Ok(rate_per_hour)
    }

    /// Returns the rate in base units per hour of a pod whose list rate is `rate`. The host of an audited job gets a
    /// surcharge, because it pays the hosts that repeat its work; their rate is at most its own.
    fn audited_rate(&self, loaded: &LoadedTask, rate: Balance, planned: Balance) -> Result<Balance, DispatchError> {
        let spec = loaded.spec();
        if !spec.is_audited() {
            return Ok(rate);
        }
        if let Some(first) = loaded.record.leases.first() {
            ensure!(rate <= first.escrow.rate_per_hour, Error::<T>::AuditTooExpensive);
            return Ok(rate);
        }
        let factor = rate::PPM.saturating_add(self.params.audit_surcharge_ppm.into());
        let rate = rate.checked_mul(factor).ok_or(Error::<T>::CostTooHigh)? / rate::PPM;
        ensure!(rate <= spec.max_rate_per_hour, Error::<T>::RateTooHigh);
        ensure!(rate <= planned, Error::<T>::RateAbovePlan);
        Ok(rate)
    }

    fn open_leases(
        &mut self,
        loaded: &mut LoadedTask,
        allocated: Vec<AllocatedPod>,
        assigned_by: Option<AccountId>,
        accountable: Option<&AccountId>,
    ) -> Vec<OpenedLease> {
        let generation = loaded.record.generation;
        let unit = loaded.spec().unit;
        let mut leases = core::mem::take(&mut loaded.record.leases).into_inner();
        let mut opened = Vec::with_capacity(allocated.len());
        for AllocatedPod { pod, host, devices, rate_per_hour, deposit } in allocated {
            opened.push((lease_id(loaded.task, pod, generation), host.clone(), rate_per_hour, deposit));
            let escrow = self.new_escrow(deposit, rate_per_hour, unit, assigned_by.is_some());
            let self_assigned_ppm =
                accountable.filter(|who| self.is_owned_by(&host, who)).map(|_| self.score_of(&host));
            let sla = self.terms_at(loaded, &host);
            let lease = Lease::new(pod, generation, host, devices, self.now, escrow);
            leases.push(Lease { assigned_by: assigned_by.clone(), self_assigned_ppm, sla, ..lease });
        }
        leases.sort_by_key(|lease| lease.pod);
        // There are at most as many leases as pods that are wanted.
        loaded.record.leases = BoundedVec::truncate_from(leases);
        opened
    }

    /// Returns the terms for a lease of a task on a host. A job is paid for its result only, and a tenant on its own host
    /// is credited nothing.
    pub(crate) fn terms_at(&mut self, loaded: &LoadedTask, host: &HostId) -> Option<LeaseSla> {
        let record = &self.leased_host(host)?.record;
        let counts = loaded.spec().kind != TaskKind::Job && record.provider != loaded.record.tenant;
        LeaseSla::new(record.ask.terms).filter(|_| counts)
    }

    /// Checks that further replicas run on devices of the same models.
    fn ensure_same_models(&mut self, loaded: &LoadedTask, pods: &[PodPlacement]) -> DispatchResult {
        let Some(lease) = loaded.record.leases.first() else { return Ok(()) };
        let models = self.models_of(&lease.host, &lease.devices)?;
        for pod in pods {
            ensure!(self.models_of(&pod.host, &pod.devices)? == models, Error::<T>::ModelDiffers);
        }
        Ok(())
    }

    fn models_of(&mut self, host: &HostId, devices: &[u8]) -> Result<Vec<gantry_primitives::ModelName>, DispatchError> {
        let all = &self.host(host)?.record.devices;
        let mut models: Vec<_> = devices
            .iter()
            .filter_map(|index| all.get(usize::from(*index)))
            .map(|device| device.spec.model.clone())
            .collect();
        models.sort();
        Ok(models)
    }

    /// The lease whose data a rental takes over: of the same tenant, retained, on the host where the rental is placed.
    /// Once the retention has run out the host may have deleted them, and has not yet said so.
    fn data_source(
        &mut self,
        loaded: &LoadedTask,
        lease: LeaseId,
        pods: &[PodPlacement],
    ) -> Result<DataSource, DispatchError> {
        ensure!(lease_parts(lease).0 != loaded.task, Error::<T>::NoSuchLease);
        let (from, position) = self.load_lease(lease)?;
        let old = &from.record.leases[position];
        ensure!(from.record.tenant == loaded.record.tenant, Error::<T>::NotTenant);
        let kept = matches!(old.state, LeaseState::Retained(until) if self.now < until);
        ensure!(kept, Error::<T>::DataNotRetained);
        ensure!(pods.iter().all(|pod| pod.host == old.host), Error::<T>::DataElsewhere);
        Ok(DataSource { loaded: from, position, id: lease })
    }

    /// Releases the disk of retained data, so that the lease which takes the data over can allocate it.
    fn release_source(&mut self, source: &DataSource) {
        let needs = source.loaded.spec().resources.disk_only();
        self.release(source.id, &source.loaded.record.leases[source.position].host, &needs, &[]);
    }

    fn move_data(&mut self, source: DataSource, to: Option<LeaseId>) {
        let DataSource { mut loaded, position, id } = source;
        debug_assert_eq!(Allocation::in_state(&loaded.record.leases[position].state), Allocation::Disk);
        self.end_storage(&mut loaded, position);
        loaded.record.leases[position].state = LeaseState::Ended(EndReason::DataMoved);
        self.store(loaded);
        if let Some(to) = to {
            Pallet::<T>::deposit_event(Event::DataMoved { from: id, to });
        }
    }
}

/// Returns the placements of a queued task in the order of its pods. Their pods must be numbered from 0 without gaps.
fn first_pods<T: Config>(
    loaded: &LoadedTask,
    pods: UpTo<PodPlacement, MAX_PODS>,
) -> Result<Vec<PodPlacement>, DispatchError> {
    let count = pods.len();
    let TaskSpec { pods_min, .. } = loaded.spec();
    // A service that was scaled down may want fewer pods than the minimum of its spec.
    let wanted = usize::from(*pods_min)..=usize::from(loaded.record.pods_wanted);
    ensure!(wanted.contains(&count), Error::<T>::WrongPodCount);
    let mut pods = pods.into_inner();
    pods.sort_by_key(|placement| placement.pod);
    for (position, placement) in pods.iter().enumerate() {
        ensure!(usize::from(placement.pod) < count, Error::<T>::PodOutOfRange);
        // The pods have as many distinct numbers below `count` as there are positions, so each number equals its
        // position.
        ensure!(usize::from(placement.pod) == position, Error::<T>::PodRepeated);
    }
    Ok(pods)
}

/// Returns the placements of pods that have no lease.
fn missing_pods<T: Config>(
    loaded: &LoadedTask,
    pods: UpTo<PodPlacement, MAX_PODS>,
) -> Result<Vec<PodPlacement>, DispatchError> {
    let pods = pods.into_inner();
    ensure!(!pods.is_empty(), Error::<T>::WrongPodCount);
    for (position, placement) in pods.iter().enumerate() {
        ensure!(placement.pod < loaded.record.pods_wanted, Error::<T>::PodOutOfRange);
        let is_there = loaded.record.leases.iter().any(|lease| lease.pod == placement.pod);
        let is_repeated = pods[..position].iter().any(|before| before.pod == placement.pod);
        ensure!(!is_there && !is_repeated, Error::<T>::PodRepeated);
    }
    Ok(pods)
}
