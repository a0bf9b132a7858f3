//! What may happen on the chain, as a table: each call of each pallet, with arguments and callers that make sense as a
//! rule.

use gantry_primitives::{
    fit::first_devices, lease_id, registration::hardware_message, BillingUnit, DeviceIndices, HostFailure, HostId,
    HostRecord, HostStatus, IndexTag, Lease, LeaseId, LeaseState, PodPlacement, Report, TaskId, TaskKey, TaskKind,
    TaskRecord, TaskSpec, TaskState, VerificationPolicy, Vote,
};
use sp_core::Pair;
use sp_runtime::DispatchResult;

use crate::{mock::*, Call};

type HostsCall = pallet_gantry_hosts::Call<Test>;
type LeasesCall = pallet_gantry_leases::Call<Test>;
type BillingCall = pallet_gantry_billing::Call<Test>;
type BalancesCall = pallet_balances::Call<Test>;

/// Marsaglia's xorshift64: a seed gives the same calls on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    fn account(&mut self) -> u8 {
        self.pick(&[TENANT, OTHER_TENANT, PROVIDER, OTHER_PROVIDER, SCHEDULER, ANYONE, NOBODY])
    }

    fn anyone(&mut self) -> RuntimeOrigin {
        signed(self.account())
    }

    fn host(&mut self) -> u8 {
        HOSTS.start + self.below(u64::from(HOSTS.end - HOSTS.start)) as u8
    }
}

/// The hosts that are registered at the start; one more may come.
pub const HOSTS: std::ops::Range<u8> = 10..16;

/// What one step does.
pub enum Deed {
    /// A call, and who makes it.
    Call(Box<RuntimeCall>, RuntimeOrigin),
    /// What another pallet decides.
    Decision(Box<dyn FnOnce() -> DispatchResult>),
}

/// One line of the table.
pub struct Action {
    /// Pallet and call, or what is decided.
    pub name: &'static str,
    /// How often it happens, against the others.
    pub weight: u64,
    /// Makes one.
    pub make: fn(&mut Random) -> Deed,
}

fn all_tasks() -> Vec<(TaskId, TaskRecord, TaskSpec)> {
    let mut all: Vec<_> = crate::Tasks::<Test>::iter()
        .map(|(key, record)| {
            let shared = crate::Specs::<Test>::get(TaskKey::from(record.first)).expect("its spec is kept");
            (key.task(), record, shared.spec)
        })
        .collect();
    all.sort_by_key(|(task, ..)| *task);
    all
}

/// A task that suits, with its tenant, as a rule; sometimes any number.
fn task_where(random: &mut Random, suits: impl Fn(&TaskRecord, &TaskSpec) -> bool) -> (TaskId, RuntimeOrigin) {
    let matching: Vec<_> = all_tasks().into_iter().filter(|(_, record, spec)| suits(record, spec)).collect();
    if matching.is_empty() || random.one_in(12) {
        return (random.below(crate::NextTaskId::<Test>::get() + 1), random.anyone());
    }
    let (task, record, _) = random.pick(&matching);
    let tenant = if random.one_in(12) { random.anyone() } else { RuntimeOrigin::signed(record.tenant) };
    (task, tenant)
}

/// A lease that a call may be about.
struct Found {
    id: LeaseId,
    tenant: RuntimeOrigin,
    host: RuntimeOrigin,
    provider: RuntimeOrigin,
}

/// A lease that suits, as a rule; sometimes any number and anyone.
fn lease_where(random: &mut Random, suits: impl Fn(&Lease, &TaskRecord, &TaskSpec) -> bool) -> Found {
    let mut matching = Vec::new();
    for (task, record, spec) in all_tasks() {
        for lease in record.leases.iter().filter(|lease| suits(lease, &record, &spec)) {
            let id = lease_id(task, lease.pod, lease.generation);
            let provider = Hosts::provider_of(&lease.host).expect("the host of a lease exists");
            matching.push((id, record.tenant.clone(), lease.host.clone(), provider));
        }
    }
    if matching.is_empty() || random.one_in(12) {
        let any = random.below(crate::NextTaskId::<Test>::get() + 1);
        let id = lease_id(any, random.below(3) as u8, random.below(3) as u16);
        return Found { id, tenant: random.anyone(), host: host_origin(random.host()), provider: random.anyone() };
    }
    let (id, tenant, host, provider) = random.pick(&matching);
    Found {
        id,
        tenant: RuntimeOrigin::signed(tenant),
        host: RuntimeOrigin::signed(host),
        provider: RuntimeOrigin::signed(provider),
    }
}

fn any_lease(random: &mut Random, state: fn(&LeaseState) -> bool) -> Found {
    lease_where(random, |lease, _, _| state(&lease.state))
}

fn rental_lease(random: &mut Random, state: fn(&LeaseState) -> bool) -> Found {
    lease_where(random, |lease, _, spec| spec.kind == TaskKind::Rental && state(&lease.state))
}

fn long_lease(random: &mut Random, state: fn(&LeaseState) -> bool) -> Found {
    lease_where(random, |lease, _, spec| spec.kind != TaskKind::Job && state(&lease.state))
}

fn is_pending(state: &LeaseState) -> bool {
    *state == LeaseState::Pending
}

fn is_active(state: &LeaseState) -> bool {
    *state == LeaseState::Active
}

fn is_suspended(state: &LeaseState) -> bool {
    *state == LeaseState::Suspended
}

fn is_retained(state: &LeaseState) -> bool {
    matches!(state, LeaseState::Retained(_))
}

fn is_live(state: &LeaseState) -> bool {
    state.is_live()
}

fn random_spec(random: &mut Random) -> TaskSpec {
    let mut spec = spec();
    spec.kind = random.pick(&[TaskKind::Job, TaskKind::Job, TaskKind::Service, TaskKind::Rental, TaskKind::Rental]);
    spec.pods_min = 1 + random.below(2) as u16;
    spec.pods_max = spec.pods_min + random.below(3) as u16;
    spec.resources.gpus.count = random.below(2) as u8;
    spec.resources.gpus.milli = random.pick(&[250, 500, 1_000]);
    spec.resources.cpu_milli = random.pick(&[100, 500, 1_000]);
    spec.resources.disk_gib = random.pick(&[0, 1, 10]);
    spec.unit = random.pick(&[BillingUnit::Second, BillingUnit::Hour, BillingUnit::Day]);
    spec.max_duration_ms = random.pick(&[1, 1_000, HOUR, HOUR, 24 * HOUR]);
    spec.max_rate_per_hour = 4 * GTY;
    spec.placement.allow_simulated = !random.one_in(4);
    match spec.kind {
        TaskKind::Rental => {
            (spec.pods_min, spec.pods_max) = (1, 1);
            let retained = |lease: &Lease, _: &TaskRecord, _: &TaskSpec| is_retained(&lease.state);
            spec.data_from = random.one_in(3).then(|| lease_where(random, retained).id);
        }
        TaskKind::Job if random.one_in(3) => {
            let replicas = 2 + random.below(2) as u8;
            (spec.pods_min, spec.pods_max) = (replicas.into(), replicas.into());
            spec.verification = VerificationPolicy::Redundant { replicas };
        }
        _ => {}
    }
    if random.one_in(5) {
        spec.deadline = Some(Hosts::now() + random.below(3 * START_TIMEOUT));
    }
    if random.one_in(10) {
        spec.placement.hosts = vec![host(random.host())].try_into().expect("one fits");
    }
    spec
}

/// Places what a task misses where it fits, as a rule; sometimes anywhere.
fn random_pods(random: &mut Random, task: TaskId) -> Vec<PodPlacement> {
    let Some((record, spec)) = Tasks::task(task) else { return vec![place(0, random.host(), &[])] };
    let gpus = &spec.resources.gpus;
    let wild = random.one_in(8);
    let has = |pod: u8| record.leases.iter().any(|lease| lease.pod == pod);
    let wanted = match record.state {
        TaskState::Queued => spec.pods_min as u8..=random.pick(&[spec.pods_min as u8, record.pods_wanted]),
        _ => record.pods_wanted..=record.pods_wanted,
    };
    let retained_on = spec.data_from.and_then(Tasks::lease).map(|(lease, ..)| lease.host);
    let mut number = random.host();
    (0..*wanted.end())
        .filter(|pod| !has(*pod))
        .map(|pod| {
            // Neighbours belong to different providers.
            number = if number + 1 < HOSTS.end { number + 1 } else { HOSTS.start };
            let on = retained_on.clone().unwrap_or_else(|| host(number));
            let any = || (0..gpus.count).collect::<Vec<_>>();
            let devices = match pallet_gantry_hosts::Hosts::<Test>::get(&on) {
                Some(record) if !wild => first_devices(&record.devices, gpus, &spec.placement).unwrap_or_else(any),
                _ => any(),
            };
            PodPlacement { pod, host: on, devices: DeviceIndices::truncate_from(devices) }
        })
        .collect()
}

fn task_to_assign(random: &mut Random) -> TaskId {
    let tag = random.pick(&[IndexTag::Queued, IndexTag::Queued, IndexTag::Short]);
    let listed = Tasks::tasks_in(tag, 0, 256);
    if listed.is_empty() {
        return random.below(crate::NextTaskId::<Test>::get() + 1);
    }
    random.pick(&listed)
}

fn random_report(random: &mut Random, of: &LeaseState) -> Report {
    if random.one_in(8) {
        return random.pick(&[Report::Started, Report::Purged { receipt: [1; 32] }, Report::DataLost]);
    }
    match of {
        LeaseState::Pending => Report::Started,
        LeaseState::Retained(_) => Report::Purged { receipt: [1; 32] },
        _ => Report::Result(result(random.below(2 * HOUR))),
    }
}

/// Some leases of one host, each with what the host may say of it.
fn random_reports(random: &mut Random) -> (Vec<(LeaseId, Report)>, RuntimeOrigin) {
    let of = host(random.host());
    let listed: Vec<LeaseId> = Leases::leases_of(&of).into_inner();
    let mut reports = Vec::new();
    for id in listed {
        let Some((lease, ..)) = Tasks::lease(id) else { continue };
        if random.one_in(2) {
            reports.push((id, random_report(random, &lease.state)));
        }
    }
    (reports, RuntimeOrigin::signed(of))
}

fn random_ask(random: &mut Random) -> gantry_primitives::Ask {
    let mut ask = ask();
    ask.gpu_per_hour = random.pick(&[0, 1, GTY, 3 * GTY]);
    ask.cpu_core_per_hour = random.pick(&[0, 7, GTY / 10]);
    ask.storage_gib_per_hour = random.pick(&[0, 3, STORAGE_RATE]);
    ask.second_ppm = random.pick(&[0, 500_000, 1_000_000, 1_000_000]);
    ask
}

fn random_hardware(random: &mut Random) -> gantry_primitives::HardwareSpec {
    let mut hardware = hardware();
    hardware.devices[1].simulated = random.one_in(2);
    hardware
}

/// A host that suits, as a rule; sometimes any.
fn host_where(random: &mut Random, suits: impl Fn(&HostRecord) -> bool) -> u8 {
    let matching: Vec<_> = HOSTS.filter(|number| Hosts::host(&host(*number)).is_ok_and(|host| suits(&host))).collect();
    if matching.is_empty() || random.one_in(12) {
        return random.host();
    }
    random.pick(&matching)
}

/// A host that suits and its provider, as a rule; sometimes anyone.
fn host_and_provider(random: &mut Random, suits: impl Fn(&HostRecord) -> bool) -> (HostId, RuntimeOrigin) {
    let number = host_where(random, suits);
    let provider = if random.one_in(8) { random.anyone() } else { signed(provider_of(number)) };
    (host(number), provider)
}

fn call(call: impl Into<RuntimeCall>, origin: RuntimeOrigin) -> Deed {
    Deed::Call(Box::new(call.into()), origin)
}

fn decide(decision: impl FnOnce() -> DispatchResult + 'static) -> Deed {
    Deed::Decision(Box::new(decision))
}

macro_rules! actions {
    ($($name:literal $weight:literal $make:expr;)*) => {
        /// Every call of every pallet of Gantry, and every decision.
        pub const ACTIONS: &[Action] = &[$(Action { name: $name, weight: $weight, make: $make },)*];
    };
}

actions! {
    "Tasks.submit" 60 |random| {
        let origin = if random.one_in(4) { random.anyone() } else { signed(TENANT) };
        call(Call::submit { spec: random_spec(random), manifest: manifest() }, origin)
    };
    "Tasks.submit_array" 8 |random| {
        let count = random.below(5) as u32;
        call(Call::submit_array { spec: random_spec(random), manifest: manifest(), count }, random.anyone())
    };
    "Tasks.assign" 160 |random| {
        let task = task_to_assign(random);
        let pods = random_pods(random, task).try_into().unwrap_or_default();
        let origin = if random.one_in(8) { random.anyone() } else { signed(SCHEDULER) };
        call(Call::assign { task, pods }, origin)
    };
    "Tasks.assign_batch" 30 |random| {
        let some: Vec<_> = (0..random.below(5))
            .map(|_| {
                let task = task_to_assign(random);
                (task, random_pods(random, task).try_into().unwrap_or_default())
            })
            .collect();
        call(Call::assign_batch { assignments: some.try_into().expect("few") }, signed(SCHEDULER))
    };
    "Tasks.report_started" 140 |random| {
        let found = any_lease(random, is_pending);
        call(Call::report_started { lease: found.id }, found.host)
    };
    "Tasks.report_result" 30 |random| {
        let found = any_lease(random, is_active);
        call(Call::report_result { lease: found.id, result: result(random.below(2 * HOUR)) }, found.host)
    };
    "Tasks.report_failed" 12 |random| {
        let found = any_lease(random, is_live);
        let reason = random.pick(&[HostFailure::DriverError, HostFailure::ImageInvalid]);
        call(Call::report_failed { lease: found.id, reason }, found.host)
    };
    "Tasks.report" 25 |random| {
        let found = any_lease(random, |_| true);
        let state = Tasks::lease(found.id).map_or(LeaseState::Pending, |(lease, ..)| lease.state);
        call(Call::report { lease: found.id, report: random_report(random, &state) }, found.host)
    };
    "Tasks.report_batch" 40 |random| {
        let (reports, origin) = random_reports(random);
        call(Call::report_batch { reports: reports.try_into().expect("few") }, origin)
    };
    "Tasks.requeue" 20 |random| {
        call(Call::requeue { lease: any_lease(random, is_live).id }, random.anyone())
    };
    "Tasks.expire_lease" 20 |random| {
        call(Call::expire_lease { lease: any_lease(random, is_live).id }, random.anyone())
    };
    "Tasks.cancel" 8 |random| {
        let (task, tenant) = task_where(random, |record, _| !record.state.tag().is_final());
        call(Call::cancel { task }, tenant)
    };
    "Tasks.expire" 12 |random| {
        let (task, _) = task_where(random, |record, spec| record.state == TaskState::Queued && spec.deadline.is_some());
        call(Call::expire { task }, random.anyone())
    };
    "Tasks.accept_result" 15 |random| {
        let (task, tenant) = task_where(random, |record, _| record.state == TaskState::Reported);
        call(Call::accept_result { task }, tenant)
    };
    "Tasks.settle" 20 |random| {
        let payable = |record: &TaskRecord, _: &TaskSpec| {
            matches!(record.state, TaskState::Reported | TaskState::Verified)
        };
        call(Call::settle { task: task_where(random, payable).0 }, random.anyone())
    };
    "Tasks.settle_batch" 10 |random| {
        let tag = random.pick(&[IndexTag::Reported, IndexTag::Verified]);
        let tasks = Tasks::tasks_in(tag, random.below(20), 8);
        call(Call::settle_batch { tasks: tasks.try_into().expect("few") }, random.anyone())
    };
    "Tasks.prune" 15 |random| {
        let tasks: Vec<_> =
            (0..random.below(6)).map(|_| task_where(random, |record, _| record.state.tag().is_final()).0).collect();
        call(Call::prune { tasks: tasks.try_into().expect("few") }, random.anyone())
    };
    "Tasks.scale" 15 |random| {
        let (task, tenant) = task_where(random, |_, spec| spec.kind == TaskKind::Service);
        call(Call::scale { task, pods: random.below(5) as u8 }, tenant)
    };
    "Tasks.end" 25 |random| {
        let (task, tenant) = task_where(random, |record, spec| {
            spec.kind != TaskKind::Job && record.state == TaskState::Running
        });
        call(Call::end { task }, tenant)
    };
    "Tasks.rate" 10 |random| {
        let found = lease_where(random, |_, record, _| record.state == TaskState::Settled);
        call(Call::rate { lease: found.id, stars: random.below(7) as u8 }, found.tenant)
    };
    "Tasks.bond_scheduler" 10 |random| {
        call(Call::bond_scheduler {}, if random.one_in(2) { signed(SCHEDULER) } else { random.anyone() })
    };
    "Tasks.unbond_scheduler" 5 |random| {
        call(Call::unbond_scheduler {}, if random.one_in(6) { signed(SCHEDULER) } else { random.anyone() })
    };
    "Tasks.set_params" 3 |random| {
        let mut params = crate::CurrentParams::<Test>::get();
        params.max_attempts = random.below(4) as u8;
        params.deposit_per_task = random.pick(&[0, 1, DEPOSIT_PER_TASK]);
        call(Call::set_params { params }, if random.one_in(4) { random.anyone() } else { RuntimeOrigin::root() })
    };

    "dispute" 20 |random| {
        let (task, _) = task_where(random, |record, _| record.state == TaskState::Reported);
        decide(move || Tasks::dispute(task))
    };
    "resolve" 12 |random| {
        let (task, _) = task_where(random, |record, _| record.state == TaskState::Disputed);
        let verdict = random.pick(&[None, Some(Vote::Yes), Some(Vote::No)]);
        let by_tenant = random.one_in(2);
        decide(move || Tasks::resolve(task, verdict, by_tenant))
    };
    "complete_pod" 40 |random| {
        let found = lease_where(random, |lease, record, spec| {
            spec.is_redundant() && lease.result.is_none() && record.state == TaskState::Running
        });
        decide(move || Tasks::complete_pod(found.id, result(1_000)))
    };
    "want_extra_pod" 6 |random| {
        let (task, _) = task_where(random, |record, spec| spec.is_redundant() && record.state == TaskState::Running);
        decide(move || Tasks::want_extra_pod(task))
    };
    "committed" 15 |random| {
        let found = lease_where(random, |lease, _, spec| spec.is_redundant() && is_active(&lease.state));
        decide(move || Tasks::committed(found.id))
    };
    "void_pod" 5 |random| {
        let found = lease_where(random, |lease, record, spec| {
            spec.is_redundant() && !lease.state.is_live() && record.state == TaskState::Running
        });
        decide(move || Tasks::void_pod(found.id))
    };
    "end_others" 5 |random| {
        let (task, _) = task_where(random, |record, spec| spec.is_redundant() && record.state == TaskState::Running);
        decide(move || Tasks::end_others(task, &[]))
    };
    "verified" 15 |random| {
        let (task, _) = task_where(random, |record, spec| spec.is_redundant() && record.state == TaskState::Running);
        decide(move || Tasks::verified(task))
    };
    "no_agreement" 3 |random| {
        let (task, _) = task_where(random, |record, spec| spec.is_redundant() && record.state == TaskState::Running);
        decide(move || Tasks::no_agreement(task))
    };

    "Leases.extend" 15 |random| {
        let found = long_lease(random, is_live);
        call(LeasesCall::extend { lease: found.id, ms: random.pick(&[0, 1, HOUR]) }, found.tenant)
    };
    "Leases.top_up" 10 |random| {
        let found = long_lease(random, is_live);
        call(LeasesCall::top_up { lease: found.id, amount: random.pick(&[0, 1, GTY]) }, found.tenant)
    };
    "Leases.suspend" 30 |random| {
        let found = rental_lease(random, is_active);
        call(LeasesCall::suspend { lease: found.id }, found.tenant)
    };
    "Leases.resume" 30 |random| {
        let found = rental_lease(random, is_suspended);
        call(LeasesCall::resume { lease: found.id }, found.tenant)
    };
    "Leases.reclaim" 18 |random| {
        let found = long_lease(random, is_active);
        call(LeasesCall::reclaim { lease: found.id }, found.provider)
    };
    "Leases.finish_reclaim" 25 |random| {
        let found = lease_where(random, |lease, _, _| lease.reclaim_at.is_some() && lease.state.is_live());
        call(LeasesCall::finish_reclaim { lease: found.id }, random.anyone())
    };
    "Leases.settle" 15 |random| {
        call(LeasesCall::settle { lease: long_lease(random, is_live).id }, random.anyone())
    };
    "Leases.close_depleted" 25 |random| {
        let depleted = |lease: &Lease, _: &TaskRecord, spec: &TaskSpec| {
            spec.kind != TaskKind::Job && lease.ends_at(0).is_some_and(|ends_at| ends_at <= Hosts::now())
        };
        call(LeasesCall::close_depleted { lease: lease_where(random, depleted).id }, random.anyone())
    };
    "Leases.keep" 30 |random| {
        let found = rental_lease(random, is_retained);
        call(LeasesCall::keep { lease: found.id, ms: random.pick(&[0, 1_000, HOUR, HOUR]) }, found.tenant)
    };
    "Leases.release_data" 10 |random| {
        let found = rental_lease(random, is_retained);
        call(LeasesCall::release_data { lease: found.id }, found.tenant)
    };
    "Leases.crank" 12 |random| {
        call(LeasesCall::crank { limit: random.below(5) as u32 }, random.anyone())
    };
    "Leases.set_params" 2 |random| {
        let mut params = pallet_gantry_leases::CurrentParams::<Test>::get();
        params.purge_grace_ms = random.pick(&[0, 1, GRACE]);
        call(LeasesCall::set_params { params }, RuntimeOrigin::root())
    };

    "Hosts.register" 3 |random| {
        // Made and signed anew; most are registered already.
        let number = HOSTS.end + random.below(2) as u8;
        let provider = random.account();
        let hardware = random_hardware(random);
        let (endpoint, region, ask) = (bytes("here"), bytes("eu"), ask());
        let host_signature = registration_signature(provider, number, &hardware, &endpoint, &region, &ask);
        call(HostsCall::register { host: host(number), hardware, endpoint, region, ask, host_signature }, signed(provider))
    };
    "Hosts.heartbeat" 60 |random| {
        let away = |host: &HostRecord| matches!(host.status, HostStatus::Offline | HostStatus::Verified);
        call(HostsCall::heartbeat {}, host_origin(host_where(random, away)))
    };
    "Hosts.set_endpoint" 5 |random| {
        let endpoint = bytes(random.pick(&["here", "there"]));
        call(HostsCall::set_endpoint { endpoint }, host_origin(random.host()))
    };
    "Hosts.set_device_health" 6 |random| {
        let unhealthy = DeviceIndices::truncate_from(random.pick(&[vec![], vec![], vec![1], vec![9]]));
        call(HostsCall::set_device_health { unhealthy }, host_origin(random.host()))
    };
    "Hosts.set_ask" 6 |random| {
        let (host, provider) = host_and_provider(random, |_| true);
        call(HostsCall::set_ask { host, ask: random_ask(random) }, provider)
    };
    "Hosts.drain" 5 |random| {
        let (host, provider) = host_and_provider(random, |host| host.status == HostStatus::Online);
        call(HostsCall::drain { host }, provider)
    };
    "Hosts.undrain" 10 |random| {
        let (host, provider) = host_and_provider(random, |host| host.status == HostStatus::Draining);
        call(HostsCall::undrain { host }, provider)
    };
    "Hosts.retire" 2 |random| {
        let (host, provider) = host_and_provider(random, |host| host.live_leases == 0);
        call(HostsCall::retire { host }, provider)
    };
    "Hosts.withdraw_bond" 6 |random| {
        let (host, provider) = host_and_provider(random, |host| matches!(host.status, HostStatus::Retiring(_)));
        call(HostsCall::withdraw_bond { host }, provider)
    };
    "Hosts.top_up_bond" 6 |random| {
        let (host, provider) = host_and_provider(random, |host| host.bond < host.bond_required);
        call(HostsCall::top_up_bond { host, amount: random.pick(&[0, 1, GTY]) }, provider)
    };
    "Hosts.change_hardware" 6 |random| {
        let number = host_where(random, |host| host.live_leases == 0);
        let hardware = random_hardware(random);
        let provider = provider_of(number);
        let generation = Hosts::host(&host(number)).map_or(1, |record| record.generation + 1);
        let message = hardware_message(System::block_hash(0).0, &account(provider), generation, &hardware);
        let host_signature = host_pair(number).sign(&message).0;
        call(HostsCall::change_hardware { host: host(number), hardware, host_signature }, signed(provider))
    };
    "Hosts.report_absent" 25 |random| {
        let silent = |host: &HostRecord| {
            matches!(host.status, HostStatus::Online | HostStatus::Draining) && Hosts::is_silent(host)
        };
        let host = host(host_where(random, silent));
        call(HostsCall::report_absent { host }, random.anyone())
    };
    "Hosts.verify" 20 |random| {
        let host = host(host_where(random, |host| host.status == HostStatus::Unverified));
        call(HostsCall::verify { host }, RuntimeOrigin::root())
    };
    "Hosts.suspend" 2 |random| {
        call(HostsCall::suspend { host: host(random.host()) }, RuntimeOrigin::root())
    };
    "Hosts.unsuspend" 20 |random| {
        let host = host(host_where(random, |host| matches!(host.status, HostStatus::Suspended(_))));
        call(HostsCall::unsuspend { host }, RuntimeOrigin::root())
    };
    "Hosts.set_params" 5 |random| {
        let mut params = pallet_gantry_hosts::CurrentParams::<Test>::get();
        params.absence_bounty = random.pick(&[0, GTY, HOST_BOND]);
        call(HostsCall::set_params { params }, RuntimeOrigin::root())
    };

    "Billing.set_params" 4 |random| {
        let fee_ppm = random.pick(&[0, 1, 20_000, 999_999, 1_000_000, 1_000_001]);
        let params = pallet_gantry_billing::Params { fee_ppm, ..pallet_gantry_billing::CurrentParams::<Test>::get() };
        call(BillingCall::set_params { params }, RuntimeOrigin::root())
    };
    "Balances.transfer_allow_death" 6 |random| {
        let dest = account(random.account());
        call(BalancesCall::transfer_allow_death { dest, value: random.below(500) as u128 * GTY }, random.anyone())
    };
    "Balances.transfer_all" 3 |random| {
        let dest = account(random.account());
        let from = if random.one_in(6) { random.anyone() } else { signed(NOBODY) };
        call(BalancesCall::transfer_all { dest, keep_alive: false }, from)
    };
}
