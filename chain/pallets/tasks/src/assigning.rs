//! Placing pods on hosts: all of an assignment or nothing.

use alloc::vec::Vec;

use frame_support::{dispatch::WithPostDispatchInfo, pallet_prelude::*};
use gantry_primitives::{
    lease_id, lease_parts, rate, AccountId, Balance, EndReason, HostId, Lease, LeaseId, LeaseState, NoticeState,
    PodPlacement, TaskId, TaskSpec, TaskState, UpTo, MAX_PODS, MAX_VICTIMS,
};

use crate::{
    desk::{Case, Desk, Hold},
    Config, Error, Event, OpenedLease, Pallet, Schedulers, WeightInfo,
};

/// Who may assign what.
pub(crate) enum Assigner<'a> {
    /// A bonded scheduler: any task.
    Scheduler(&'a AccountId),
    /// The scheduler that named the places of a waiting task in a notice, when it gave the notice.
    Notice(&'a AccountId),
    /// Anyone else: its own tasks.
    Tenant(&'a AccountId),
}

impl Assigner<'_> {
    /// The scheduler that a lease of `tenant` names. None where the tenant assigns its own task.
    fn scheduler_for(&self, tenant: &AccountId) -> Option<AccountId> {
        match self {
            Self::Scheduler(who) | Self::Notice(who) => Some(*who).filter(|who| *who != tenant).cloned(),
            Self::Tenant(_) => None,
        }
    }
}

/// A pod for which room was taken.
struct Placed {
    pod: u8,
    host: HostId,
    devices: UpTo<u8, 16>,
    rate_per_hour: Balance,
    deposit: Balance,
}

/// A lease whose retained data a rental takes over.
struct Source {
    case: Case,
    place: usize,
    id: LeaseId,
}

impl<T: Config> Pallet<T> {
    /// A refusal costs what it took, too.
    pub(crate) fn do_assign(
        who: AccountId,
        task: TaskId,
        pods: UpTo<PodPlacement, MAX_PODS>,
    ) -> DispatchResultWithPostInfo {
        let assigner = match Schedulers::<T>::contains_key(&who) {
            true => Assigner::Scheduler(&who),
            false => Assigner::Tenant(&who),
        };
        let mut desk = Desk::<T>::new();
        let named = pods.len() as u32;
        let assigned = desk.assign(&assigner, task, pods);
        let (_, _, leases) = desk.touched();
        let weight = <T as Config>::WeightInfo::assign(leases.max(named));
        assigned.and_then(|()| desk.commit()).map_err(|error| error.with_weight(weight))?;
        Ok(Some(weight).into())
    }
}

impl<T: Config> Desk<T> {
    /// Opens a lease for each pod. See the call `assign`.
    pub fn assign(&mut self, assigner: &Assigner, task: TaskId, pods: UpTo<PodPlacement, MAX_PODS>) -> DispatchResult {
        let mut case = self.open(task)?;
        if let Assigner::Tenant(who) = assigner {
            ensure!(**who == case.record.tenant, Error::<T>::NotSchedulerOrTenant);
        }
        let is_first = case.record.state == TaskState::Queued;
        ensure!(is_first || case.is_short(), Error::<T>::NotQueued);
        let pods = if is_first { first_pods::<T>(&case, pods)? } else { missing_pods::<T>(&case, pods)? };
        if is_first {
            let deadline = case.deadline();
            ensure!(deadline.is_none_or(|deadline| self.now <= deadline), Error::<T>::DeadlinePassed);
        }
        let told = if matches!(case.record.notice, NoticeState::Standing(_)) { MAX_VICTIMS } else { 0 };
        // Where there were leases before, the first of them has taken the data over.
        let data_from = case.spec().data_from.filter(|_| case.record.generation == 0);
        let others = case.looked_up().saturating_add(told).saturating_add(data_from.is_some().into());
        self.touch(pods.len() as u32, others)?;
        self.ensure_apart(&case, None, pods.iter().map(|pod| &pod.host))?;
        if case.spec().is_redundant() {
            self.ensure_same_models(&case, &pods)?;
        }
        let source = data_from.map(|lease| self.source(&case, lease, &pods)).transpose()?;
        if let Some(source) = &source {
            self.let_go(source);
        }
        let mut placed = Vec::with_capacity(pods.len());
        if let Err(error) = self.take_all(&case, pods, &mut placed) {
            for pod in &placed {
                let id = lease_id(task, pod.pod, case.record.generation);
                self.untake(id, &pod.host, &case.spec().resources, &pod.devices);
            }
            if let Some(source) = &source {
                let disk = source.case.spec().resources.disk_gib;
                self.keep_disk(source.id, &source.case.record.leases[source.place].host, disk);
            }
            return Err(error);
        }

        let assigned_by = assigner.scheduler_for(&case.record.tenant);
        let answers = Self::who_answers(assigner, &case);
        let opened = self.open_leases(&mut case, placed, assigned_by, answers);
        if is_first {
            self.withdraw_notice(&mut case, NoticeState::Absent);
            self.go(&mut case, TaskState::Assigned);
        }
        if let Some(source) = source {
            self.move_data(source, opened.first().map(|(lease, ..)| *lease));
        }
        let (generation, state) = (case.record.generation, case.record.state);
        self.put(case);
        Pallet::<T>::deposit_event(Event::Assigned { task, generation, leases: opened, state });
        Ok(())
    }

    /// Takes room for every pod and the tenant's deposit for all. `placed` tells how far it got.
    fn take_all(&mut self, case: &Case, pods: Vec<PodPlacement>, placed: &mut Vec<Placed>) -> DispatchResult {
        let spec = case.spec();
        let mut sum: Balance = 0;
        for PodPlacement { pod, host, devices, rate_per_hour: planned } in pods {
            ensure!(!case.record.excludes(&host), Error::<T>::HostRefusedTask);
            let id = lease_id(case.task, pod, case.record.generation);
            self.take(id, &host, &case.shared, &devices)?;
            let rate_per_hour = self.rate_at(spec, &host, &devices, planned);
            let rate_per_hour = rate_per_hour.and_then(|rate| self.audited_rate(case, rate, planned));
            placed.push(Placed { pod, host, devices, rate_per_hour: 0, deposit: 0 });
            let rate_per_hour = rate_per_hour?;
            let deposit = rate::deposit(rate_per_hour, spec.max_duration_ms).ok_or(Error::<T>::CostTooHigh)?;
            sum = sum.checked_add(deposit).ok_or(Error::<T>::CostTooHigh)?;
            if let Some(last) = placed.last_mut() {
                (last.rate_per_hour, last.deposit) = (rate_per_hour, deposit);
            }
        }
        self.ledger.hold(&case.record.tenant, sum)
    }

    /// What a pod costs an hour at a place: no more than its task allows, and no more than the rate with which the place
    /// was planned, so that a provider cannot raise its price in between.
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

    /// What a pod costs an hour whose price is `rate`. The host of an audited job gets a surcharge, because it pays those that
    /// repeat its work; and they do not cost more than it gets.
    fn audited_rate(&self, case: &Case, rate: Balance, planned: Balance) -> Result<Balance, DispatchError> {
        let spec = case.spec();
        if !spec.is_audited() {
            return Ok(rate);
        }
        if let Some(first) = case.record.leases.first() {
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
        case: &mut Case,
        placed: Vec<Placed>,
        assigned_by: Option<AccountId>,
        answers: Option<&AccountId>,
    ) -> Vec<OpenedLease> {
        let generation = case.record.generation;
        let unit = case.spec().unit;
        let mut leases = core::mem::take(&mut case.record.leases).into_inner();
        let mut opened = Vec::with_capacity(placed.len());
        for Placed { pod, host, devices, rate_per_hour, deposit } in placed {
            opened.push((lease_id(case.task, pod, generation), host.clone(), rate_per_hour, deposit));
            let escrow = self.new_escrow(deposit, rate_per_hour, unit, assigned_by.is_some());
            let self_assigned_ppm = answers.filter(|who| self.belongs_to(&host, who)).map(|_| self.score_of(&host));
            let lease = Lease::new(pod, generation, host, devices, self.now, escrow);
            leases.push(Lease { assigned_by: assigned_by.clone(), self_assigned_ppm, ..lease });
        }
        leases.sort_by_key(|lease| lease.pod);
        // As many as the pods that are wanted, at most.
        case.record.leases = BoundedVec::truncate_from(leases);
        opened
    }

    /// A replica that comes later has devices of the same models.
    fn ensure_same_models(&mut self, case: &Case, pods: &[PodPlacement]) -> DispatchResult {
        let Some(lease) = case.record.leases.first() else { return Ok(()) };
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
    fn source(&mut self, case: &Case, lease: LeaseId, pods: &[PodPlacement]) -> Result<Source, DispatchError> {
        ensure!(lease_parts(lease).0 != case.task, Error::<T>::NoSuchLease);
        let (from, place) = self.open_lease(lease)?;
        let old = &from.record.leases[place];
        ensure!(from.record.tenant == case.record.tenant, Error::<T>::NotTenant);
        let kept = matches!(old.state, LeaseState::Retained(until) if self.now < until);
        ensure!(kept, Error::<T>::DataNotRetained);
        ensure!(pods.iter().all(|pod| pod.host == old.host), Error::<T>::DataElsewhere);
        Ok(Source { case: from, place, id: lease })
    }

    /// Frees the disk of retained data, so that the lease which takes it over finds it free.
    fn let_go(&mut self, source: &Source) {
        let needs = source.case.spec().resources.disk_only();
        self.give_back(source.id, &source.case.record.leases[source.place].host, &needs, &[]);
    }

    fn move_data(&mut self, source: Source, to: Option<LeaseId>) {
        let Source { mut case, place, id } = source;
        debug_assert_eq!(Hold::of(&case.record.leases[place].state), Hold::Disk);
        self.end_storage(&mut case, place);
        case.record.leases[place].state = LeaseState::Ended(EndReason::DataMoved);
        self.put(case);
        if let Some(to) = to {
            Pallet::<T>::deposit_event(Event::DataMoved { from: id, to });
        }
    }
}

/// The placements of a waiting task, in the order of its pods: as many as it wants, numbered from 0 without gap or
/// repeat.
fn first_pods<T: Config>(case: &Case, pods: UpTo<PodPlacement, MAX_PODS>) -> Result<Vec<PodPlacement>, DispatchError> {
    let count = pods.len();
    let TaskSpec { pods_min, .. } = case.spec();
    // A service that was scaled down may want fewer than its spec.
    let wanted = usize::from(*pods_min)..=usize::from(case.record.pods_wanted);
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

/// The placements of pods that a task misses.
fn missing_pods<T: Config>(
    case: &Case,
    pods: UpTo<PodPlacement, MAX_PODS>,
) -> Result<Vec<PodPlacement>, DispatchError> {
    let pods = pods.into_inner();
    ensure!(!pods.is_empty(), Error::<T>::WrongPodCount);
    for (place, placement) in pods.iter().enumerate() {
        ensure!(placement.pod < case.record.pods_wanted, Error::<T>::PodOutOfRange);
        let is_there = case.record.leases.iter().any(|lease| lease.pod == placement.pod);
        let is_repeated = pods[..place].iter().any(|before| before.pod == placement.pod);
        ensure!(!is_there && !is_repeated, Error::<T>::PodRepeated);
    }
    Ok(pods)
}
