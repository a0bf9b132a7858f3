//! What may happen on the chain, as a table: each call of each pallet, with arguments and callers that make sense as a
//! rule.

use gantry_primitives::{
    registration::hardware_message, DeviceIndices, HostFailure, HostRecord, HostStatus, IndexTag, Lease, LeaseState,
    NoticeState, Survival, TaskKind, TaskRecord, TaskSpec, TaskState, Vote,
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
    pub make: fn(&mut Dice) -> Deed,
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
    "Tasks.submit" 60 |dice| {
        let origin = if dice.one_in(4) { anyone(dice) } else { signed(TENANT) };
        call(Call::submit { spec: random_spec(dice), manifest: manifest() }, origin)
    };
    "Tasks.submit_array" 8 |dice| {
        let count = dice.below(5) as u32;
        call(Call::submit_array { spec: random_spec(dice), manifest: manifest(), count }, anyone(dice))
    };
    "Tasks.assign" 160 |dice| {
        let task = task_to_assign(dice);
        let pods = random_pods(dice, task);
        let own = pods.first().and_then(|pod| Hosts::provider_of(&pod.host).ok());
        let origin = match (dice.below(8), own) {
            (0, _) => anyone(dice),
            // A provider that is a scheduler, too.
            (1 | 2, Some(provider)) => RuntimeOrigin::signed(provider),
            _ => signed(SCHEDULER),
        };
        call(Call::assign { task, pods: pods.try_into().unwrap_or_default() }, origin)
    };
    "Tasks.assign_batch" 30 |dice| {
        let some: Vec<_> = (0..dice.below(5))
            .map(|_| {
                let task = task_to_assign(dice);
                (task, random_pods(dice, task).try_into().unwrap_or_default())
            })
            .collect();
        call(Call::assign_batch { assignments: some.try_into().expect("few") }, signed(SCHEDULER))
    };
    "Tasks.report_started" 140 |dice| {
        let found = any_lease(dice, is_pending);
        call(Call::report_started { lease: found.id }, found.host)
    };
    "Tasks.report_result" 30 |dice| {
        let found = any_lease(dice, is_active);
        call(Call::report_result { lease: found.id, result: result(dice.below(2 * HOUR)) }, found.host)
    };
    "Tasks.report_failed" 12 |dice| {
        let found = any_lease(dice, is_live);
        let reason = dice.pick(&[HostFailure::DriverError, HostFailure::ImageInvalid, HostFailure::InputMissing]);
        call(Call::report_failed { lease: found.id, reason }, found.host)
    };
    "Tasks.report" 60 |dice| {
        let found = any_lease(dice, |_| true);
        let state = Tasks::lease(found.id).map_or(LeaseState::Pending, |(lease, ..)| lease.state);
        call(Call::report { lease: found.id, report: random_report(dice, &state) }, found.host)
    };
    "Tasks.report_batch" 40 |dice| {
        let (reports, origin) = random_reports(dice);
        call(Call::report_batch { reports: reports.try_into().expect("few") }, origin)
    };
    "Tasks.requeue" 20 |dice| {
        call(Call::requeue { lease: any_lease(dice, is_live).id }, anyone(dice))
    };
    "Tasks.expire_lease" 20 |dice| {
        call(Call::expire_lease { lease: any_lease(dice, is_live).id }, anyone(dice))
    };
    "Tasks.cancel" 8 |dice| {
        let (task, tenant) = task_where(dice, |record, _| !record.state.tag().is_final());
        call(Call::cancel { task }, tenant)
    };
    "Tasks.expire" 12 |dice| {
        let (task, _) = task_where(dice, |record, spec| record.state == TaskState::Queued && spec.deadline.is_some());
        call(Call::expire { task }, anyone(dice))
    };
    "Tasks.preempt" 90 |dice| {
        let (wanting, victims) = tasks_to_preempt(dice);
        let pods = placed(pods_instead(dice, wanting, &victims));
        let origin = if dice.one_in(8) { anyone(dice) } else { signed(SCHEDULER) };
        call(Call::preempt { wanting, victims: victims.try_into().expect("few"), pods }, origin)
    };
    "Tasks.finish_preemption" 30 |dice| {
        let (wanting, _) = task_where(dice, |record, _| matches!(record.notice, NoticeState::Standing(_)));
        call(Call::finish_preemption { wanting }, anyone(dice))
    };
    "Tasks.name_standby" 80 |dice| {
        let found = lease_where(dice, |lease, _, spec| lease.state.is_live() && spec.survival == Survival::Standby);
        let (host, devices) = random_place(dice, found.id);
        let origin = if dice.one_in(4) { found.tenant } else { signed(SCHEDULER) };
        call(Call::name_standby { lease: found.id, host, devices, rate_per_hour: random_rate(dice) }, origin)
    };
    "Tasks.move_pod" 40 |dice| {
        let found = lease_where(dice, |lease, _, spec| lease.state.is_live() && spec.moves_pods());
        let (host, devices) = random_place(dice, found.id);
        let origin = if dice.one_in(2) { found.tenant } else { signed(SCHEDULER) };
        call(Call::move_pod { lease: found.id, host, devices, rate_per_hour: random_rate(dice) }, origin)
    };
    "Tasks.accept_result" 15 |dice| {
        let (task, tenant) = task_where(dice, |record, _| record.state == TaskState::Reported);
        call(Call::accept_result { task }, tenant)
    };
    "Tasks.settle" 20 |dice| {
        let payable = |record: &TaskRecord, _: &TaskSpec| {
            matches!(record.state, TaskState::Reported | TaskState::Verified)
        };
        call(Call::settle { task: task_where(dice, payable).0 }, anyone(dice))
    };
    "Tasks.settle_batch" 10 |dice| {
        let tag = dice.pick(&[IndexTag::Reported, IndexTag::Verified]);
        let tasks = Tasks::tasks_in(tag, dice.below(20), 8);
        call(Call::settle_batch { tasks: tasks.try_into().expect("few") }, anyone(dice))
    };
    "Tasks.prune" 15 |dice| {
        let tasks: Vec<_> =
            (0..dice.below(6)).map(|_| task_where(dice, |record, _| record.state.tag().is_final()).0).collect();
        call(Call::prune { tasks: tasks.try_into().expect("few") }, anyone(dice))
    };
    "Tasks.scale" 15 |dice| {
        let (task, tenant) = task_where(dice, |_, spec| spec.kind == TaskKind::Service);
        call(Call::scale { task, pods: dice.below(5) as u8 }, tenant)
    };
    "Tasks.end" 25 |dice| {
        let (task, tenant) = task_where(dice, |record, spec| {
            spec.kind != TaskKind::Job && record.state == TaskState::Running
        });
        call(Call::end { task }, tenant)
    };
    "Tasks.rate" 10 |dice| {
        let found = lease_where(dice, |_, record, _| record.state == TaskState::Settled);
        call(Call::rate { lease: found.id, stars: dice.below(7) as u8 }, found.tenant)
    };
    "Tasks.bond_scheduler" 10 |dice| {
        call(Call::bond_scheduler {}, if dice.one_in(2) { signed(SCHEDULER) } else { anyone(dice) })
    };
    "Tasks.unbond_scheduler" 5 |dice| {
        call(Call::unbond_scheduler {}, if dice.one_in(6) { signed(SCHEDULER) } else { anyone(dice) })
    };
    "Tasks.publish_queues" 5 |dice| {
        let digest = dice.pick(&[None, Some([1; 32])]);
        call(Call::publish_queues { digest }, if dice.one_in(2) { signed(SCHEDULER) } else { anyone(dice) })
    };
    "Tasks.report_self_assignment" 25 |dice| {
        let found = lease_where(dice, |lease, _, _| lease.self_assigned_ppm.is_some());
        let (host, devices) = place_of_proof(dice, found.id);
        call(Call::report_self_assignment { lease: found.id, host, devices }, anyone(dice))
    };
    "Tasks.set_params" 3 |dice| {
        let mut params = crate::CurrentParams::<Test>::get();
        params.max_attempts = dice.below(4) as u8;
        params.deposit_per_task = dice.pick(&[0, 1, DEPOSIT_PER_TASK]);
        params.deposit_per_pod = dice.pick(&[0, 1, DEPOSIT_PER_POD]);
        call(Call::set_params { params }, if dice.one_in(4) { anyone(dice) } else { RuntimeOrigin::root() })
    };

    "dispute" 20 |dice| {
        let (task, _) = task_where(dice, |record, _| record.state == TaskState::Reported);
        let accused = some_leases(dice, task);
        decide(move || Tasks::dispute(task, &accused))
    };
    "resolve" 12 |dice| {
        let (task, _) = task_where(dice, |record, _| record.state == TaskState::Disputed);
        let verdict = dice.pick(&[None, Some(Vote::Yes), Some(Vote::No)]);
        let by_tenant = dice.one_in(2);
        let accused = some_leases(dice, task);
        decide(move || Tasks::resolve(task, &accused, verdict, by_tenant))
    };
    "complete_pod" 40 |dice| {
        let found = lease_where(dice, |lease, record, spec| {
            spec.is_redundant() && lease.result.is_none() && record.state == TaskState::Running
        });
        decide(move || Tasks::complete_pod(found.id, result(1_000)))
    };
    "want_extra_pod" 6 |dice| {
        let (task, _) = task_where(dice, |record, spec| spec.is_redundant() && record.state == TaskState::Running);
        decide(move || Tasks::want_extra_pod(task))
    };
    "committed" 15 |dice| {
        let found = lease_where(dice, |lease, _, spec| spec.is_redundant() && is_active(&lease.state));
        decide(move || Tasks::committed(found.id))
    };
    "void_pod" 25 |dice| {
        let found = lease_where(dice, |lease, record, spec| {
            spec.is_redundant() && !lease.state.is_live() && record.state == TaskState::Running
        });
        decide(move || Tasks::void_pod(found.id))
    };
    "end_others" 5 |dice| {
        let (task, _) = task_where(dice, |record, spec| spec.is_redundant() && record.state == TaskState::Running);
        decide(move || Tasks::end_others(task, &[]))
    };
    "verified" 15 |dice| {
        let (task, _) = task_where(dice, |record, spec| spec.is_redundant() && record.state == TaskState::Running);
        decide(move || Tasks::verified(task))
    };
    "not_repeated" 10 |dice| {
        let (task, _) = task_where(dice, |record, spec| spec.is_audited() && record.state == TaskState::Running);
        decide(move || Tasks::not_repeated(task))
    };
    "no_agreement" 3 |dice| {
        let (task, _) = task_where(dice, |record, spec| spec.is_redundant() && record.state == TaskState::Running);
        decide(move || Tasks::no_agreement(task))
    };

    "Leases.extend" 15 |dice| {
        let found = long_lease(dice, is_live);
        call(LeasesCall::extend { lease: found.id, ms: dice.pick(&[0, 1, HOUR]) }, found.tenant)
    };
    "Leases.top_up" 10 |dice| {
        let found = long_lease(dice, is_live);
        call(LeasesCall::top_up { lease: found.id, amount: dice.pick(&[0, 1, GTY]) }, found.tenant)
    };
    "Leases.suspend" 30 |dice| {
        let found = rental_lease(dice, is_active);
        call(LeasesCall::suspend { lease: found.id }, found.tenant)
    };
    "Leases.resume" 30 |dice| {
        let found = rental_lease(dice, is_suspended);
        call(LeasesCall::resume { lease: found.id }, found.tenant)
    };
    "Leases.reclaim" 18 |dice| {
        let found = long_lease(dice, is_active);
        call(LeasesCall::reclaim { lease: found.id }, found.provider)
    };
    "Leases.finish_reclaim" 25 |dice| {
        let found = lease_where(dice, |lease, _, _| lease.reclaim_at.is_some() && lease.state.is_live());
        call(LeasesCall::finish_reclaim { lease: found.id }, anyone(dice))
    };
    "Leases.settle" 15 |dice| {
        call(LeasesCall::settle { lease: long_lease(dice, is_live).id }, anyone(dice))
    };
    "Leases.close_depleted" 25 |dice| {
        let depleted = |lease: &Lease, _: &TaskRecord, spec: &TaskSpec| {
            spec.kind != TaskKind::Job && lease.ends_at(0).is_some_and(|ends_at| ends_at <= Hosts::now())
        };
        call(LeasesCall::close_depleted { lease: lease_where(dice, depleted).id }, anyone(dice))
    };
    "Leases.keep" 30 |dice| {
        let found = rental_lease(dice, is_retained);
        call(LeasesCall::keep { lease: found.id, ms: dice.pick(&[0, 1_000, HOUR, HOUR]), max_rate_per_hour: dice.pick(&[0, GTY, GTY]) }, found.tenant)
    };
    "Leases.release_data" 10 |dice| {
        let found = rental_lease(dice, is_retained);
        call(LeasesCall::release_data { lease: found.id }, found.tenant)
    };
    "Leases.crank" 12 |dice| {
        call(LeasesCall::crank { limit: dice.below(5) as u32 }, anyone(dice))
    };
    "Leases.set_params" 2 |dice| {
        let mut params = pallet_gantry_leases::CurrentParams::<Test>::get();
        params.purge_grace_ms = dice.pick(&[0, 1, GRACE]);
        call(LeasesCall::set_params { params }, RuntimeOrigin::root())
    };

    "Hosts.register" 3 |dice| {
        // Made and signed anew; most are registered already.
        let number = HOSTS.end + dice.below(2) as u8;
        let provider = any_account(dice);
        let hardware = random_hardware(dice);
        let (endpoint, region, ask) = (bytes("here"), bytes("eu"), ask());
        let host_signature = registration_signature(provider, number, &hardware, &endpoint, &region, &ask);
        call(HostsCall::register { host: host(number), hardware, endpoint, region, ask, host_signature }, signed(provider))
    };
    "Hosts.heartbeat" 60 |dice| {
        let away = |host: &HostRecord| matches!(host.status, HostStatus::Offline | HostStatus::Verified);
        call(HostsCall::heartbeat {}, host_origin(host_where(dice, away)))
    };
    "Hosts.heartbeat_batch" 10 |dice| {
        let away = |host: &HostRecord| matches!(host.status, HostStatus::Offline | HostStatus::Verified);
        let number = host_where(dice, away);
        let hosts = vec![host(number)].try_into().expect("one fits");
        call(HostsCall::heartbeat_batch { hosts }, signed(provider_of(number)))
    };
    "Hosts.set_endpoint" 5 |dice| {
        let endpoint = bytes(dice.pick(&["here", "there"]));
        call(HostsCall::set_endpoint { endpoint }, host_origin(any_host(dice)))
    };
    "Hosts.set_device_health" 6 |dice| {
        let unhealthy = DeviceIndices::truncate_from(dice.pick(&[vec![], vec![], vec![1], vec![9]]));
        call(HostsCall::set_device_health { unhealthy }, host_origin(any_host(dice)))
    };
    "Hosts.set_network" 6 |dice| {
        let (down_mbps, up_mbps) = (dice.pick(&[0, 100, u32::MAX]), dice.pick(&[0, 100, u32::MAX]));
        let latency_ms = dice.pick(&[0, 1, u16::MAX]);
        call(HostsCall::set_network { down_mbps, up_mbps, latency_ms }, host_origin(any_host(dice)))
    };
    "Hosts.set_ask" 6 |dice| {
        let (host, provider) = host_and_provider(dice, |_| true);
        call(HostsCall::set_ask { host, ask: random_ask(dice) }, provider)
    };
    "Hosts.drain" 5 |dice| {
        let (host, provider) = host_and_provider(dice, |host| host.status == HostStatus::Online);
        call(HostsCall::drain { host }, provider)
    };
    "Hosts.undrain" 10 |dice| {
        let (host, provider) = host_and_provider(dice, |host| host.status == HostStatus::Draining);
        call(HostsCall::undrain { host }, provider)
    };
    "Hosts.retire" 2 |dice| {
        let (host, provider) = host_and_provider(dice, |host| host.live_leases == 0);
        call(HostsCall::retire { host }, provider)
    };
    "Hosts.withdraw_bond" 6 |dice| {
        let (host, provider) = host_and_provider(dice, |host| matches!(host.status, HostStatus::Retiring(_)));
        call(HostsCall::withdraw_bond { host }, provider)
    };
    "Hosts.top_up_bond" 6 |dice| {
        let (host, provider) = host_and_provider(dice, |host| host.bond < host.bond_required);
        call(HostsCall::top_up_bond { host, amount: dice.pick(&[0, 1, GTY]) }, provider)
    };
    "Hosts.change_hardware" 6 |dice| {
        let number = host_where(dice, |host| host.live_leases == 0);
        let hardware = random_hardware(dice);
        let provider = provider_of(number);
        let generation = Hosts::host(&host(number)).map_or(1, |record| record.generation + 1);
        let message = hardware_message(System::block_hash(0).0, &account(provider), generation, &hardware);
        let host_signature = host_pair(number).sign(&message).0;
        call(HostsCall::change_hardware { host: host(number), hardware, host_signature }, signed(provider))
    };
    "Hosts.report_absent" 25 |dice| {
        let silent = |host: &HostRecord| {
            matches!(host.status, HostStatus::Online | HostStatus::Draining) && Hosts::is_silent(host)
        };
        let host = host(host_where(dice, silent));
        call(HostsCall::report_absent { host }, anyone(dice))
    };
    "Hosts.verify" 20 |dice| {
        let host = host(host_where(dice, |host| host.status == HostStatus::Unverified));
        call(HostsCall::verify { host }, RuntimeOrigin::root())
    };
    "Hosts.suspend" 2 |dice| {
        call(HostsCall::suspend { host: host(any_host(dice)) }, RuntimeOrigin::root())
    };
    "Hosts.unsuspend" 20 |dice| {
        let host = host(host_where(dice, |host| matches!(host.status, HostStatus::Suspended(_))));
        call(HostsCall::unsuspend { host }, RuntimeOrigin::root())
    };
    "Hosts.set_params" 5 |dice| {
        let mut params = pallet_gantry_hosts::CurrentParams::<Test>::get();
        params.absence_bounty = dice.pick(&[0, GTY, HOST_BOND]);
        call(HostsCall::set_params { params }, RuntimeOrigin::root())
    };

    "Billing.set_params" 4 |dice| {
        let mut params = pallet_gantry_billing::CurrentParams::<Test>::get();
        params.fee_ppm = dice.pick(&[0, 1, 20_000, 99_999, 100_000, 100_001]);
        params.scheduler_share_ppm = dice.pick(&[0, 1, 200_000, 400_000]);
        params.settler_share_ppm = dice.pick(&[0, 1, 100_000, 100_001]);
        call(BillingCall::set_params { params }, RuntimeOrigin::root())
    };
    "Balances.transfer_allow_death" 6 |dice| {
        let dest = account(any_account(dice));
        call(BalancesCall::transfer_allow_death { dest, value: dice.below(500) as u128 * GTY }, anyone(dice))
    };
    "Balances.transfer_all" 3 |dice| {
        let dest = account(any_account(dice));
        let from = if dice.one_in(6) { anyone(dice) } else { signed(NOBODY) };
        call(BalancesCall::transfer_all { dest, keep_alive: false }, from)
    };
}
