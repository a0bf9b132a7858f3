//! What may happen on the chain, as a table: each call of each pallet, with arguments and callers that make sense as a
//! rule.

use gantry_primitives::{
    registration::hardware_message, DeviceIndices, HostFailure, HostRecord, HostStatus, IndexTag, Lease, LeaseState,
    NoticeState, ServiceChecks, Survival, TaskKind, TaskRecord, TaskSpec, TaskState, Vote,
};
use sp_core::Pair;
use sp_runtime::DispatchResult;

use super::{arguments::*, subjects::*};
use crate::{mock::*, Call};

type HostsCall = pallet_gantry_hosts::Call<Test>;
type LeasesCall = pallet_gantry_leases::Call<Test>;
type BillingCall = pallet_gantry_billing::Call<Test>;
type BalancesCall = pallet_balances::Call<Test>;

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
    pub make: fn(&mut SplitMix64) -> Deed,
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
    "Tasks.submit" 60 |rng| {
        let origin = if rng.one_in(4) { anyone(rng) } else { signed(TENANT) };
        call(Call::submit { spec: random_spec(rng), manifest: manifest() }, origin)
    };
    "Tasks.submit_array" 8 |rng| {
        let count = rng.below(5) as u32;
        call(Call::submit_array { spec: random_spec(rng), manifest: manifest(), count }, anyone(rng))
    };
    "Tasks.assign" 160 |rng| {
        let task = task_to_assign(rng);
        let pods = random_pods(rng, task);
        let own = pods.first().and_then(|pod| Hosts::provider_of(&pod.host).ok());
        let origin = match (rng.below(8), own) {
            (0, _) => anyone(rng),
            // A provider that is a scheduler, too.
            (1 | 2, Some(provider)) => RuntimeOrigin::signed(provider),
            _ => signed(SCHEDULER),
        };
        call(Call::assign { task, pods: pods.try_into().unwrap_or_default() }, origin)
    };
    "Tasks.assign_batch" 30 |rng| {
        let some: Vec<_> = (0..rng.below(5))
            .map(|_| {
                let task = task_to_assign(rng);
                (task, random_pods(rng, task).try_into().unwrap_or_default())
            })
            .collect();
        call(Call::assign_batch { assignments: some.try_into().expect("few") }, signed(SCHEDULER))
    };
    "Tasks.report_started" 140 |rng| {
        let found = any_lease(rng, is_pending);
        call(Call::report_started { lease: found.id }, found.host)
    };
    "Tasks.report_result" 30 |rng| {
        let found = any_lease(rng, is_active);
        call(Call::report_result { lease: found.id, result: result(rng.below(2 * HOUR)) }, found.host)
    };
    "Tasks.report_failed" 12 |rng| {
        let found = any_lease(rng, is_live);
        let reason = rng.pick(&[HostFailure::DriverError, HostFailure::ImageInvalid, HostFailure::InputMissing]);
        call(Call::report_failed { lease: found.id, reason }, found.host)
    };
    "Tasks.report" 60 |rng| {
        let found = any_lease(rng, |_| true);
        let state = Tasks::lease(found.id).map_or(LeaseState::Pending, |(lease, ..)| lease.state);
        call(Call::report { lease: found.id, report: random_report(rng, &state) }, found.host)
    };
    "Tasks.report_batch" 40 |rng| {
        let (reports, origin) = random_reports(rng);
        call(Call::report_batch { reports: reports.try_into().expect("few") }, origin)
    };
    "Tasks.requeue" 20 |rng| {
        call(Call::requeue { lease: any_lease(rng, is_live).id }, anyone(rng))
    };
    "Tasks.expire_lease" 20 |rng| {
        call(Call::expire_lease { lease: any_lease(rng, is_live).id }, anyone(rng))
    };
    "Tasks.cancel" 8 |rng| {
        let (task, tenant) = task_where(rng, |record, _| !record.state.tag().is_final());
        call(Call::cancel { task }, tenant)
    };
    "Tasks.expire" 12 |rng| {
        let (task, _) = task_where(rng, |record, spec| record.state == TaskState::Queued && spec.deadline.is_some());
        call(Call::expire { task }, anyone(rng))
    };
    "Tasks.preempt" 90 |rng| {
        let (wanting, victims) = tasks_to_preempt(rng);
        let pods = placed(pods_instead(rng, wanting, &victims));
        let origin = if rng.one_in(8) { anyone(rng) } else { signed(SCHEDULER) };
        call(Call::preempt { wanting, victims: victims.try_into().expect("few"), pods }, origin)
    };
    "Tasks.finish_preemption" 30 |rng| {
        let (wanting, _) = task_where(rng, |record, _| matches!(record.notice, NoticeState::Standing(_)));
        call(Call::finish_preemption { wanting }, anyone(rng))
    };
    "Tasks.name_standby" 80 |rng| {
        let found = lease_where(rng, |lease, _, spec| lease.state.is_live() && spec.survival == Survival::Standby);
        let (host, devices) = random_place(rng, found.id);
        let origin = if rng.one_in(4) { found.tenant } else { signed(SCHEDULER) };
        call(Call::name_standby { lease: found.id, host, devices, rate_per_hour: random_rate(rng) }, origin)
    };
    "Tasks.move_pod" 40 |rng| {
        let found = lease_where(rng, |lease, _, spec| lease.state.is_live() && spec.moves_pods());
        let (host, devices) = random_place(rng, found.id);
        let origin = if rng.one_in(2) { found.tenant } else { signed(SCHEDULER) };
        call(Call::move_pod { lease: found.id, host, devices, rate_per_hour: random_rate(rng) }, origin)
    };
    "Tasks.accept_result" 15 |rng| {
        let (task, tenant) = task_where(rng, |record, _| record.state == TaskState::Reported);
        call(Call::accept_result { task }, tenant)
    };
    "Tasks.settle" 20 |rng| {
        let payable = |record: &TaskRecord, _: &TaskSpec| {
            matches!(record.state, TaskState::Reported | TaskState::Verified)
        };
        call(Call::settle { task: task_where(rng, payable).0 }, anyone(rng))
    };
    "Tasks.settle_batch" 10 |rng| {
        let tag = rng.pick(&[IndexTag::Reported, IndexTag::Verified]);
        let tasks = Tasks::tasks_in(tag, rng.below(20), 8);
        call(Call::settle_batch { tasks: tasks.try_into().expect("few") }, anyone(rng))
    };
    "Tasks.prune" 15 |rng| {
        let tasks: Vec<_> =
            (0..rng.below(6)).map(|_| task_where(rng, |record, _| record.state.tag().is_final()).0).collect();
        call(Call::prune { tasks: tasks.try_into().expect("few") }, anyone(rng))
    };
    "Tasks.scale" 15 |rng| {
        let (task, tenant) = task_where(rng, |_, spec| spec.kind == TaskKind::Service);
        call(Call::scale { task, pods: rng.below(5) as u8 }, tenant)
    };
    "Tasks.end" 25 |rng| {
        let (task, tenant) = task_where(rng, |record, spec| {
            spec.kind != TaskKind::Job && record.state == TaskState::Running
        });
        call(Call::end { task }, tenant)
    };
    "Tasks.rate" 10 |rng| {
        let found = lease_where(rng, |_, record, _| record.state == TaskState::Settled);
        call(Call::rate { lease: found.id, stars: rng.below(7) as u8 }, found.tenant)
    };
    "Tasks.bond_scheduler" 10 |rng| {
        call(Call::bond_scheduler {}, if rng.one_in(2) { signed(SCHEDULER) } else { anyone(rng) })
    };
    "Tasks.unbond_scheduler" 5 |rng| {
        call(Call::unbond_scheduler {}, if rng.one_in(6) { signed(SCHEDULER) } else { anyone(rng) })
    };
    "Tasks.publish_queues" 5 |rng| {
        let digest = rng.pick(&[None, Some([1; 32])]);
        call(Call::publish_queues { digest }, if rng.one_in(2) { signed(SCHEDULER) } else { anyone(rng) })
    };
    "Tasks.report_self_assignment" 25 |rng| {
        let found = lease_where(rng, |lease, _, _| lease.self_assigned_ppm.is_some());
        let (host, devices) = place_of_proof(rng, found.id);
        call(Call::report_self_assignment { lease: found.id, host, devices }, anyone(rng))
    };
    "Tasks.set_params" 3 |rng| {
        let mut params = crate::CurrentParams::<Test>::get();
        params.max_attempts = rng.below(4) as u8;
        params.deposit_per_task = rng.pick(&[0, 1, DEPOSIT_PER_TASK]);
        params.deposit_per_pod = rng.pick(&[0, 1, DEPOSIT_PER_POD]);
        call(Call::set_params { params }, if rng.one_in(4) { anyone(rng) } else { RuntimeOrigin::root() })
    };

    "dispute" 20 |rng| {
        let (task, _) = task_where(rng, |record, _| record.state == TaskState::Reported);
        let accused = some_leases(rng, task);
        decide(move || Tasks::mark_disputed(task, &accused))
    };
    "resolve" 12 |rng| {
        let (task, _) = task_where(rng, |record, _| record.state == TaskState::Disputed);
        let verdict = rng.pick(&[None, Some(Vote::Yes), Some(Vote::No)]);
        let by_tenant = rng.one_in(2);
        let accused = some_leases(rng, task);
        decide(move || Tasks::resolve_dispute(task, &accused, verdict, by_tenant))
    };
    "complete_pod" 40 |rng| {
        let found = lease_where(rng, |lease, record, spec| {
            spec.is_redundant() && lease.result.is_none() && record.state == TaskState::Running
        });
        decide(move || Tasks::complete_pod(found.id, result(1_000)))
    };
    "want_extra_pod" 6 |rng| {
        let (task, _) = task_where(rng, |record, spec| spec.is_redundant() && record.state == TaskState::Running);
        decide(move || Tasks::request_extra_pod(task))
    };
    "committed" 15 |rng| {
        let found = lease_where(rng, |lease, _, spec| spec.is_redundant() && is_active(&lease.state));
        decide(move || Tasks::end_committed_pod(found.id))
    };
    "void_pod" 25 |rng| {
        let found = lease_where(rng, |lease, record, spec| {
            spec.is_redundant() && !lease.state.is_live() && record.state == TaskState::Running
        });
        decide(move || Tasks::void_pod(found.id))
    };
    "set_checks" 6 |rng| {
        let found = long_lease(rng, is_live);
        let checks = ServiceChecks { spent: rng.below(9).into(), ..Default::default() };
        decide(move || Tasks::set_checks(found.id, checks))
    };
    "end_unserved" 12 |rng| {
        let found = long_lease(rng, is_active);
        let pod_refused = rng.one_in(2);
        decide(move || Tasks::end_unserved(found.id, pod_refused))
    };
    "end_others" 5 |rng| {
        let (task, _) = task_where(rng, |record, spec| spec.is_redundant() && record.state == TaskState::Running);
        decide(move || Tasks::end_other_pods(task, &[]))
    };
    "verified" 15 |rng| {
        let (task, _) = task_where(rng, |record, spec| spec.is_redundant() && record.state == TaskState::Running);
        decide(move || Tasks::mark_verified(task))
    };
    "not_repeated" 10 |rng| {
        let (task, _) = task_where(rng, |record, spec| spec.is_audited() && record.state == TaskState::Running);
        decide(move || Tasks::mark_reported(task))
    };
    "no_agreement" 3 |rng| {
        let (task, _) = task_where(rng, |record, spec| spec.is_redundant() && record.state == TaskState::Running);
        decide(move || Tasks::fail_without_agreement(task))
    };

    "Leases.extend" 15 |rng| {
        let found = long_lease(rng, is_live);
        call(LeasesCall::extend { lease: found.id, ms: rng.pick(&[0, 1, HOUR]) }, found.tenant)
    };
    "Leases.top_up" 10 |rng| {
        let found = long_lease(rng, is_live);
        call(LeasesCall::top_up { lease: found.id, amount: rng.pick(&[0, 1, GTY]) }, found.tenant)
    };
    "Leases.suspend" 30 |rng| {
        let found = rental_lease(rng, is_active);
        call(LeasesCall::suspend { lease: found.id }, found.tenant)
    };
    "Leases.resume" 30 |rng| {
        let found = rental_lease(rng, is_suspended);
        call(LeasesCall::resume { lease: found.id }, found.tenant)
    };
    "Leases.reclaim" 18 |rng| {
        let found = long_lease(rng, is_active);
        call(LeasesCall::reclaim { lease: found.id }, found.provider)
    };
    "Leases.finish_reclaim" 25 |rng| {
        let found = lease_where(rng, |lease, _, _| lease.reclaim_at.is_some() && lease.state.is_live());
        call(LeasesCall::finish_reclaim { lease: found.id }, anyone(rng))
    };
    "Leases.settle" 15 |rng| {
        call(LeasesCall::settle { lease: long_lease(rng, is_live).id }, anyone(rng))
    };
    "Leases.close_depleted" 25 |rng| {
        let depleted = |lease: &Lease, _: &TaskRecord, spec: &TaskSpec| {
            spec.kind != TaskKind::Job && lease.ends_at(0).is_some_and(|ends_at| ends_at <= Hosts::now())
        };
        call(LeasesCall::close_depleted { lease: lease_where(rng, depleted).id }, anyone(rng))
    };
    "Leases.keep" 30 |rng| {
        let found = rental_lease(rng, is_retained);
        call(LeasesCall::keep { lease: found.id, ms: rng.pick(&[0, 1_000, HOUR, HOUR]), max_rate_per_hour: rng.pick(&[0, GTY, GTY]) }, found.tenant)
    };
    "Leases.release_data" 10 |rng| {
        let found = rental_lease(rng, is_retained);
        call(LeasesCall::release_data { lease: found.id }, found.tenant)
    };
    "Leases.crank" 12 |rng| {
        call(LeasesCall::crank { limit: rng.below(5) as u32 }, anyone(rng))
    };
    "Leases.set_params" 2 |rng| {
        let mut params = pallet_gantry_leases::CurrentParams::<Test>::get();
        params.purge_grace_ms = rng.pick(&[0, 1, GRACE]);
        call(LeasesCall::set_params { params }, RuntimeOrigin::root())
    };

    "Hosts.register" 3 |rng| {
        // Made and signed anew; most are registered already.
        let number = HOSTS.end + rng.below(2) as u8;
        let provider = any_account(rng);
        let hardware = random_hardware(rng);
        let (endpoint, region, ask) = (bytes("here"), bytes("eu"), ask());
        let host_signature = registration_signature(provider, number, &hardware, &endpoint, &region, &ask);
        call(HostsCall::register { host: host(number), hardware, endpoint, region, ask, host_signature }, signed(provider))
    };
    "Hosts.heartbeat" 60 |rng| {
        let away = |host: &HostRecord| matches!(host.status, HostStatus::Offline | HostStatus::Verified);
        call(HostsCall::heartbeat {}, host_origin(host_where(rng, away)))
    };
    "Hosts.heartbeat_batch" 10 |rng| {
        let away = |host: &HostRecord| matches!(host.status, HostStatus::Offline | HostStatus::Verified);
        let number = host_where(rng, away);
        let hosts = vec![host(number)].try_into().expect("one fits");
        call(HostsCall::heartbeat_batch { hosts }, signed(provider_of(number)))
    };
    "Hosts.set_endpoint" 5 |rng| {
        let endpoint = bytes(rng.pick(&["here", "there"]));
        call(HostsCall::set_endpoint { endpoint }, host_origin(any_host(rng)))
    };
    "Hosts.set_device_health" 6 |rng| {
        let unhealthy = DeviceIndices::truncate_from(rng.pick(&[vec![], vec![], vec![1], vec![9]]));
        call(HostsCall::set_device_health { unhealthy }, host_origin(any_host(rng)))
    };
    "Hosts.set_network" 6 |rng| {
        let (down_mbps, up_mbps) = (rng.pick(&[0, 100, u32::MAX]), rng.pick(&[0, 100, u32::MAX]));
        let latency_ms = rng.pick(&[0, 1, u16::MAX]);
        call(HostsCall::set_network { down_mbps, up_mbps, latency_ms }, host_origin(any_host(rng)))
    };
    "Hosts.set_ask" 6 |rng| {
        let (host, provider) = host_and_provider(rng, |_| true);
        call(HostsCall::set_ask { host, ask: random_ask(rng) }, provider)
    };
    "Hosts.drain" 5 |rng| {
        let (host, provider) = host_and_provider(rng, |host| host.status == HostStatus::Online);
        call(HostsCall::drain { host }, provider)
    };
    "Hosts.undrain" 10 |rng| {
        let (host, provider) = host_and_provider(rng, |host| host.status == HostStatus::Draining);
        call(HostsCall::undrain { host }, provider)
    };
    "Hosts.retire" 2 |rng| {
        let (host, provider) = host_and_provider(rng, |host| host.live_leases == 0);
        call(HostsCall::retire { host }, provider)
    };
    "Hosts.withdraw_bond" 6 |rng| {
        let (host, provider) = host_and_provider(rng, |host| matches!(host.status, HostStatus::Retiring(_)));
        call(HostsCall::withdraw_bond { host }, provider)
    };
    "Hosts.top_up_bond" 6 |rng| {
        let (host, provider) = host_and_provider(rng, |host| host.bond < host.bond_required);
        call(HostsCall::top_up_bond { host, amount: rng.pick(&[0, 1, GTY]) }, provider)
    };
    "Hosts.change_hardware" 6 |rng| {
        let number = host_where(rng, |host| host.live_leases == 0);
        let hardware = random_hardware(rng);
        let provider = provider_of(number);
        let generation = Hosts::host(&host(number)).map_or(1, |record| record.generation + 1);
        let message = hardware_message(System::block_hash(0).0, &account(provider), generation, &hardware);
        let host_signature = host_pair(number).sign(&message).0;
        call(HostsCall::change_hardware { host: host(number), hardware, host_signature }, signed(provider))
    };
    "Hosts.report_absent" 25 |rng| {
        let silent = |host: &HostRecord| {
            matches!(host.status, HostStatus::Online | HostStatus::Draining) && Hosts::is_silent(host)
        };
        let host = host(host_where(rng, silent));
        call(HostsCall::report_absent { host }, anyone(rng))
    };
    "Hosts.verify" 20 |rng| {
        let host = host(host_where(rng, |host| host.status == HostStatus::Unverified));
        call(HostsCall::verify { host }, RuntimeOrigin::root())
    };
    "Hosts.suspend" 2 |rng| {
        call(HostsCall::suspend { host: host(any_host(rng)) }, RuntimeOrigin::root())
    };
    "Hosts.unsuspend" 20 |rng| {
        let host = host(host_where(rng, |host| matches!(host.status, HostStatus::Suspended(_))));
        call(HostsCall::unsuspend { host }, RuntimeOrigin::root())
    };
    "Hosts.set_params" 5 |rng| {
        let mut params = pallet_gantry_hosts::CurrentParams::<Test>::get();
        params.absence_bounty = rng.pick(&[0, GTY, HOST_BOND]);
        call(HostsCall::set_params { params }, RuntimeOrigin::root())
    };

    "Billing.set_params" 4 |rng| {
        let mut params = pallet_gantry_billing::CurrentParams::<Test>::get();
        params.fee_ppm = rng.pick(&[0, 1, 20_000, 99_999, 100_000, 100_001]);
        params.scheduler_share_ppm = rng.pick(&[0, 1, 200_000, 400_000]);
        params.settler_share_ppm = rng.pick(&[0, 1, 100_000, 100_001]);
        params.credit_period_ms = rng.pick(&[0, HELD_BACK, CREDIT_PERIOD]);
        call(BillingCall::set_params { params }, RuntimeOrigin::root())
    };
    "Balances.transfer_allow_death" 6 |rng| {
        let dest = account(any_account(rng));
        call(BalancesCall::transfer_allow_death { dest, value: rng.below(500) as u128 * GTY }, anyone(rng))
    };
    "Balances.transfer_all" 3 |rng| {
        let dest = account(any_account(rng));
        let from = if rng.one_in(6) { anyone(rng) } else { signed(NOBODY) };
        call(BalancesCall::transfer_all { dest, keep_alive: false }, from)
    };
}
