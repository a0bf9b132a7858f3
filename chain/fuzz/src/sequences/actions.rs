//! What a step may do, as a table: each call of Gantry's pallets, some calls of others, and the next block; with arguments
//! and callers that make sense as a rule.

use gantry_primitives::{
    commitments::result_commitment, HostFailure, HostRecord, HostStatus, IndexTag, Lease, LeaseState, Survival,
    TaskKind, TaskRecord, TaskSpec, TaskState, VerifierStatus,
};
use gantry_runtime::{Hosts, Runtime, RuntimeCall, RuntimeOrigin, Tasks, GTY, SLOT_DURATION_MS};
use pallet_gantry_verification::{Challenges, Disputes, Results, Verifiers};
use sp_keyring::Sr25519Keyring;

use super::{arguments::*, choices::Choices, subjects::*, world::*};

type HostsCall = pallet_gantry_hosts::Call<Runtime>;
type TasksCall = pallet_gantry_tasks::Call<Runtime>;
type LeasesCall = pallet_gantry_leases::Call<Runtime>;
type BillingCall = pallet_gantry_billing::Call<Runtime>;
type VerificationCall = pallet_gantry_verification::Call<Runtime>;
type GovernanceCall = pallet_gantry_governance::Call<Runtime>;
type ValidatorsCall = pallet_gantry_validators::Call<Runtime>;
type BalancesCall = pallet_balances::Call<Runtime>;

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;

/// What a step does.
pub enum Deed {
    /// A call, and who makes it.
    Call(Box<RuntimeCall>, RuntimeOrigin),
    /// The next block.
    Block(Pass),
}

/// One line of the table.
pub struct Action {
    /// Pallet and call, or `Block.next`.
    pub name: &'static str,
    /// How often mutations insert it, against the others.
    pub weight: u32,
    /// Makes one.
    pub make: fn(&mut Choices) -> Deed,
}

fn call(call: impl Into<RuntimeCall>, origin: RuntimeOrigin) -> Deed {
    Deed::Call(Box::new(call.into()), origin)
}

fn signed_by(who: gantry_runtime::AccountId) -> RuntimeOrigin {
    RuntimeOrigin::signed(who)
}

/// A scheduler, as a rule.
fn scheduler(choices: &mut Choices) -> RuntimeOrigin {
    by(choices, account(SCHEDULER))
}

/// The host of a lease, as a rule.
fn host_of(choices: &mut Choices, found: &Found) -> RuntimeOrigin {
    by(choices, found.host.clone())
}

/// When something is due next, if that is later than now: the next bucket of the agenda.
fn next_due() -> Option<u64> {
    let first = pallet_gantry_leases::AgendaPages::<Runtime>::iter_keys().next()?;
    (u64::from_be_bytes(first) * 6_000).checked_sub(now())
}

macro_rules! actions {
    ($($name:literal $weight:literal $make:expr;)*) => {
        /// Every action. Inputs in bytes name an action by its place, those in text by its name.
        pub const ACTIONS: &[Action] = &[$(Action { name: $name, weight: $weight, make: $make },)*];
    };
}

actions! {
    "Block.next" 300 |choices| {
        const TIMES: [u64; 12] = [
            SLOT_DURATION_MS, 6_000, 12_000, 30_000, MINUTE + 2_000, 2 * MINUTE, 5 * MINUTE, 12 * MINUTE, HOUR,
            24 * HOUR, 0, 30 * 24 * HOUR,
        ];
        let ms = match choices.pick(&TIMES) {
            0 => next_due().unwrap_or(SLOT_DURATION_MS),
            ms => ms,
        };
        let silent = match choices.byte() {
            0..=159 => vec![],
            number @ 160..=249 => vec![HOSTS.start + number % 10],
            _ => HOSTS.collect(),
        };
        let halted = choices.usually(false, |_| true);
        let seed = choices.usually(Some(0), |number| (number < 8).then_some(number));
        Deed::Block(Pass { ms: ms.div_ceil(SLOT_DURATION_MS) * SLOT_DURATION_MS, silent, halted, seed })
    };

    "Tasks.submit" 120 |choices| {
        let tenant = choices.pick(&[TENANT, TENANT, POOR_TENANT, 3]);
        call(TasksCall::submit { spec: spec(choices), manifest: manifest() }, signed(tenant))
    };
    "Tasks.submit_array" 10 |choices| {
        let count = choices.pick(&[2, 3, 0, 5]);
        let tenant = choices.pick(&[TENANT, POOR_TENANT]);
        call(TasksCall::submit_array { spec: spec(choices), manifest: manifest(), count }, signed(tenant))
    };
    "Tasks.assign" 220 |choices| {
        let task = task_to_assign(choices);
        let pods = pods(choices, task).try_into().unwrap_or_default();
        call(TasksCall::assign { task, pods }, scheduler(choices))
    };
    "Tasks.assign_batch" 20 |choices| {
        let count = 1 + choices.below(3);
        let some: Vec<_> = (0..count)
            .map(|_| {
                let task = task_to_assign(choices);
                (task, pods(choices, task).try_into().unwrap_or_default())
            })
            .collect();
        call(TasksCall::assign_batch { assignments: some.try_into().expect("few") }, scheduler(choices))
    };
    "Tasks.report_started" 200 |choices| {
        let found = any_lease(choices, is_pending);
        call(TasksCall::report_started { lease: found.id }, host_of(choices, &found))
    };
    "Tasks.report_result" 60 |choices| {
        let found = lease_where(choices, |lease, _, spec| is_active(&lease.state) && spec.kind == TaskKind::Job);
        let origin = host_of(choices, &found);
        call(TasksCall::report_result { lease: found.id, result: result(choices) }, origin)
    };
    "Tasks.report_failed" 25 |choices| {
        let found = any_lease(choices, is_live);
        let reasons = [
            HostFailure::DriverError, HostFailure::ImageInvalid, HostFailure::InputMissing,
            HostFailure::ResourcesUnavailable, HostFailure::ImageUnavailable, HostFailure::ManifestInvalid,
            HostFailure::ImageCannotRun, HostFailure::ImageTooSlow,
        ];
        let origin = host_of(choices, &found);
        call(TasksCall::report_failed { lease: found.id, reason: choices.pick(&reasons) }, origin)
    };
    "Tasks.report" 40 |choices| {
        let found = any_lease(choices, |state| !matches!(state, LeaseState::Ended(_) | LeaseState::Purged));
        let origin = host_of(choices, &found);
        let state = Tasks::lease(found.id).map_or(LeaseState::Pending, |(lease, ..)| lease.state);
        call(TasksCall::report { lease: found.id, report: report(choices, &state) }, origin)
    };
    "Tasks.report_batch" 40 |choices| {
        let busy = host_where(choices, |record| record.live_leases > 0);
        let reports = reports(choices, &host(busy));
        call(TasksCall::report_batch { reports: reports.try_into().expect("few") }, by(choices, host(busy)))
    };
    "Tasks.requeue" 30 |choices| {
        call(TasksCall::requeue { lease: any_lease(choices, is_live).id }, anyone(choices))
    };
    "Tasks.expire_lease" 30 |choices| {
        call(TasksCall::expire_lease { lease: any_lease(choices, is_live).id }, anyone(choices))
    };
    "Tasks.cancel" 15 |choices| {
        let (task, tenant) = task_where(choices, |record, _| !record.state.tag().is_final());
        call(TasksCall::cancel { task }, tenant)
    };
    "Tasks.expire" 15 |choices| {
        let (task, _) = task_where(choices, |record, spec| {
            record.state == TaskState::Queued && spec.deadline.is_some()
        });
        call(TasksCall::expire { task }, anyone(choices))
    };
    "Tasks.accept_result" 30 |choices| {
        let (task, tenant) = task_where(choices, |record, _| record.state == TaskState::Reported);
        call(TasksCall::accept_result { task }, tenant)
    };
    "Tasks.settle" 40 |choices| {
        let (task, _) = task_where(choices, |record, _| {
            matches!(record.state, TaskState::Reported | TaskState::Verified)
        });
        call(TasksCall::settle { task }, anyone(choices))
    };
    "Tasks.settle_batch" 15 |choices| {
        let tag = choices.pick(&[IndexTag::Verified, IndexTag::Reported]);
        let tasks = Tasks::tasks_in(tag, choices.byte().into(), 8);
        call(TasksCall::settle_batch { tasks: tasks.try_into().expect("few") }, anyone(choices))
    };
    "Tasks.prune" 20 |choices| {
        let tasks = tasks_where(choices, 4, |record, _| record.state.tag().is_final());
        call(TasksCall::prune { tasks: tasks.try_into().expect("few") }, anyone(choices))
    };
    "Tasks.preempt" 50 |choices| {
        let (wanting, _) = task_where(choices, |record, spec| {
            record.state == TaskState::Queued && spec.priority > 0
        });
        let victims = tasks_where(choices, 2, |record, spec| record.state == TaskState::Running && spec.spot);
        call(TasksCall::preempt { wanting, victims: victims.try_into().expect("few") }, scheduler(choices))
    };
    "Tasks.finish_preemption" 30 |choices| {
        let (task, _) = task_where(choices, |record, _| record.preemption.is_some());
        call(TasksCall::finish_preemption { task }, anyone(choices))
    };
    "Tasks.name_standby" 50 |choices| {
        let found = lease_where(choices, |lease, _, spec| lease.state.is_live() && spec.survival == Survival::Standby);
        let (host, devices) = place(choices, found.id);
        let origin = if choices.byte() < 200 { signed(SCHEDULER) } else { signed_by(found.tenant) };
        call(TasksCall::name_standby { lease: found.id, host, devices }, origin)
    };
    "Tasks.move_pod" 40 |choices| {
        let found = lease_where(choices, |lease, _, spec| lease.state.is_live() && spec.moves_pods());
        let (host, devices) = place(choices, found.id);
        let origin = if choices.byte() < 160 { signed_by(found.tenant) } else { signed(SCHEDULER) };
        call(TasksCall::move_pod { lease: found.id, host, devices }, origin)
    };
    "Tasks.report_checkpoint" 30 |choices| {
        let found = any_lease(choices, is_active);
        let origin = host_of(choices, &found);
        let (digest, bytes) = ([choices.byte(); 32], choices.pick(&[1, 0, u64::MAX]));
        call(TasksCall::report_checkpoint { lease: found.id, digest, bytes }, origin)
    };
    "Tasks.scale" 25 |choices| {
        let (task, tenant) = task_where(choices, |record, spec| {
            spec.kind == TaskKind::Service && !record.state.tag().is_final()
        });
        call(TasksCall::scale { task, pods: choices.pick(&[2, 1, 3, 0, 17]) }, tenant)
    };
    "Tasks.end" 40 |choices| {
        let (task, tenant) = task_where(choices, |record, spec| {
            spec.kind != TaskKind::Job && record.state == TaskState::Running
        });
        call(TasksCall::end { task }, tenant)
    };
    "Tasks.rate" 15 |choices| {
        let found = lease_where(choices, |lease, record, _| record.state == TaskState::Settled && !lease.rated);
        let origin = by(choices, found.tenant);
        call(TasksCall::rate { lease: found.id, stars: choices.pick(&[5, 1, 3, 0, 6]) }, origin)
    };
    "Tasks.bond_scheduler" 8 |choices| {
        call(TasksCall::bond_scheduler {}, anyone(choices))
    };
    "Tasks.unbond_scheduler" 5 |choices| {
        call(TasksCall::unbond_scheduler {}, scheduler(choices))
    };
    "Tasks.set_params" 8 |choices| {
        let mut params = pallet_gantry_tasks::CurrentParams::<Runtime>::get();
        params.max_attempts = choices.pick(&[3, 1, 2, 16]);
        params.max_refusals = choices.pick(&[2, 1, 3]);
        params.deposit_per_task = choices.pick(&[GTY / 1_000, 0, GTY]);
        params.refusal_fee = choices.pick(&[GTY / 1_000, 0, 6 * GTY]);
        params.refused_item_fine = choices.pick(&[GTY / 1_000, 6 * GTY, 1]);
        params.scheduler_bond = choices.pick(&[100 * GTY, 0]);
        params.min_charge_ms = choices.pick(&[10_000, 0, HOUR]);
        params.poor_ppm = choices.pick(&[300_000, 1_000_000, 1_000_001]);
        params.start_timeout_ms = choices.pick(&[MINUTE, 1, HOUR]);
        params.dispute_window_ms = choices.pick(&[6_000, 1, HOUR]);
        call(TasksCall::set_params { params }, admin(choices))
    };

    "Leases.extend" 25 |choices| {
        let found = long_lease(choices, is_live);
        let origin = by(choices, found.tenant);
        call(LeasesCall::extend { lease: found.id, ms: choices.pick(&[MINUTE, 1, HOUR, 0, u64::MAX]) }, origin)
    };
    "Leases.top_up" 15 |choices| {
        let found = long_lease(choices, is_live);
        let origin = by(choices, found.tenant);
        call(LeasesCall::top_up { lease: found.id, amount: choices.pick(&[GTY, 1, 0, u128::MAX]) }, origin)
    };
    "Leases.suspend" 35 |choices| {
        let found = rental_lease(choices, is_active);
        call(LeasesCall::suspend { lease: found.id }, by(choices, found.tenant))
    };
    "Leases.resume" 35 |choices| {
        let found = rental_lease(choices, is_suspended);
        call(LeasesCall::resume { lease: found.id }, by(choices, found.tenant))
    };
    "Leases.reclaim" 30 |choices| {
        let found = long_lease(choices, |state| matches!(state, LeaseState::Active | LeaseState::Suspended));
        call(LeasesCall::reclaim { lease: found.id }, by(choices, found.provider))
    };
    "Leases.finish_reclaim" 30 |choices| {
        let found = lease_where(choices, |lease, _, _| lease.reclaim_at.is_some() && lease.state.is_live());
        call(LeasesCall::finish_reclaim { lease: found.id }, anyone(choices))
    };
    "Leases.settle" 25 |choices| {
        call(LeasesCall::settle { lease: long_lease(choices, is_live).id }, anyone(choices))
    };
    "Leases.close_depleted" 30 |choices| {
        let depleted = |lease: &Lease, _: &TaskRecord, spec: &TaskSpec| {
            spec.kind != TaskKind::Job && lease.ends_at(0).is_some_and(|ends_at| ends_at <= now())
        };
        call(LeasesCall::close_depleted { lease: lease_where(choices, depleted).id }, anyone(choices))
    };
    "Leases.keep" 30 |choices| {
        let found = rental_lease(choices, is_retained);
        let origin = by(choices, found.tenant);
        call(LeasesCall::keep { lease: found.id, ms: choices.pick(&[MINUTE, 1, HOUR, 0, u64::MAX]) }, origin)
    };
    "Leases.release_data" 15 |choices| {
        let found = rental_lease(choices, is_retained);
        call(LeasesCall::release_data { lease: found.id }, by(choices, found.tenant))
    };
    "Leases.crank" 15 |choices| {
        let limit = choices.pick(&[1, 2, 256, 0, 10_000]);
        call(LeasesCall::crank { limit }, anyone(choices))
    };
    "Leases.set_params" 6 |choices| {
        let mut params = pallet_gantry_leases::CurrentParams::<Runtime>::get();
        params.reclaim_notice_ms = choices.pick(&[30_000, 1, HOUR, 0]);
        params.retention_ms = choices.pick(&[2 * MINUTE, 1, HOUR]);
        params.purge_grace_ms = choices.pick(&[MINUTE, 1, 0]);
        call(LeasesCall::set_params { params }, admin(choices))
    };

    "Hosts.register" 10 |choices| {
        let number = HOSTS.end - 1 - choices.pick(&[1, 0, 2]);
        let hardware = hardware_of(choices, number);
        let provider = choices.pick(&[provider_of(number), POOR_TENANT, NOBODY]);
        let host_signature = registration_signature(provider, number, &hardware, &ask());
        let (endpoint, region, ask) = (bytes("here"), bytes("eu"), ask());
        let call_of = HostsCall::register { host: host(number), hardware, endpoint, region, ask, host_signature };
        call(call_of, signed(provider))
    };
    "Hosts.heartbeat" 60 |choices| {
        let away = |host: &HostRecord| matches!(host.status, HostStatus::Offline | HostStatus::Verified);
        let number = host_where(choices, away);
        call(HostsCall::heartbeat {}, by(choices, host(number)))
    };
    "Hosts.set_endpoint" 6 |choices| {
        let number = any_host(choices);
        let endpoint = bytes(choices.pick(&["there", "here"]));
        call(HostsCall::set_endpoint { endpoint }, by(choices, host(number)))
    };
    "Hosts.set_device_health" 12 |choices| {
        let number = any_host(choices);
        call(HostsCall::set_device_health { unhealthy: unhealthy(choices) }, by(choices, host(number)))
    };
    "Hosts.set_network" 6 |choices| {
        let number = any_host(choices);
        let [down_mbps, up_mbps] = [choices.pick(&[100, 0, u32::MAX]), choices.pick(&[100, 0, u32::MAX])];
        let latency_ms = choices.pick(&[1, 0, u16::MAX]);
        call(HostsCall::set_network { down_mbps, up_mbps, latency_ms }, by(choices, host(number)))
    };
    "Hosts.set_ask" 12 |choices| {
        let (host, provider) = host_and_provider(choices, |_| true);
        let mut ask = ask();
        ask.gpu_per_hour = choices.pick(&[2 * GTY, 0, 1, 8 * GTY]);
        ask.storage_gib_per_hour = choices.pick(&[GTY / 50, 0, 3, 4 * GTY]);
        ask.second_ppm = choices.pick(&[1_000_000, 0, 500_000, 10_000_001]);
        ask.hour_ppm = choices.pick(&[1_000_000, 0]);
        call(HostsCall::set_ask { host, ask }, provider)
    };
    "Hosts.drain" 10 |choices| {
        let (host, provider) = host_and_provider(choices, |host| host.status == HostStatus::Online);
        call(HostsCall::drain { host }, provider)
    };
    "Hosts.undrain" 12 |choices| {
        let (host, provider) = host_and_provider(choices, |host| host.status == HostStatus::Draining);
        call(HostsCall::undrain { host }, provider)
    };
    "Hosts.retire" 8 |choices| {
        let (host, provider) = host_and_provider(choices, |host| host.live_leases == 0);
        call(HostsCall::retire { host }, provider)
    };
    "Hosts.withdraw_bond" 10 |choices| {
        let (host, provider) = host_and_provider(choices, |host| matches!(host.status, HostStatus::Retiring(_)));
        call(HostsCall::withdraw_bond { host }, provider)
    };
    "Hosts.top_up_bond" 10 |choices| {
        let (host, provider) = host_and_provider(choices, |host| host.bond < host.bond_required);
        call(HostsCall::top_up_bond { host, amount: choices.pick(&[10 * GTY, 1, 0, u128::MAX]) }, provider)
    };
    "Hosts.change_hardware" 10 |choices| {
        let number = host_where(choices, |host| host.live_leases == 0);
        let hardware = hardware_of(choices, number);
        let generation = Hosts::host(&host(number)).map_or(1, |record| record.generation + 1);
        let host_signature = hardware_signature(number, generation, &hardware);
        let origin = by(choices, account(provider_of(number)));
        call(HostsCall::change_hardware { host: host(number), hardware, host_signature }, origin)
    };
    "Hosts.report_absent" 30 |choices| {
        let silent = |host: &HostRecord| {
            matches!(host.status, HostStatus::Online | HostStatus::Draining) && Hosts::is_silent(host)
        };
        let host = host(host_where(choices, silent));
        call(HostsCall::report_absent { host }, anyone(choices))
    };
    "Hosts.verify" 15 |choices| {
        let host = host(host_where(choices, |host| host.status == HostStatus::Unverified));
        call(HostsCall::verify { host }, admin(choices))
    };
    "Hosts.suspend" 6 |choices| {
        call(HostsCall::suspend { host: host(any_host(choices)) }, admin(choices))
    };
    "Hosts.unsuspend" 15 |choices| {
        let host = host(host_where(choices, |host| matches!(host.status, HostStatus::Suspended(_))));
        call(HostsCall::unsuspend { host }, admin(choices))
    };
    "Hosts.set_params" 6 |choices| {
        let mut params = pallet_gantry_hosts::CurrentParams::<Runtime>::get();
        params.absence_bounty = choices.pick(&[GTY / 10, 0, 5 * GTY, 50 * GTY]);
        params.verification_required = choices.pick(&[true, false]);
        params.bond_consumer = choices.pick(&[10 * GTY, 20 * GTY, 0]);
        params.unbonding_ms = choices.pick(&[MINUTE, 0, 365 * 24 * HOUR]);
        params.allow_simulated = choices.pick(&[true, false]);
        call(HostsCall::set_params { params }, admin(choices))
    };

    "Billing.set_params" 8 |choices| {
        let mut params = pallet_gantry_billing::CurrentParams::<Runtime>::get();
        params.fee_ppm = choices.pick(&[20_000, 0, 1, 999_999, 1_000_000, 1_000_001]);
        params.held_back_ms = choices.pick(&[MINUTE, 0, HOUR]);
        params.depletion_bounty = choices.pick(&[GTY / 100, 0, 100 * GTY]);
        call(BillingCall::set_params { params }, admin(choices))
    };

    "Verification.bond_verifier" 10 |choices| {
        call(VerificationCall::bond_verifier {}, anyone(choices))
    };
    "Verification.unbond_verifier" 8 |choices| {
        let who = VERIFIERS.start + choices.below(12);
        call(VerificationCall::unbond_verifier {}, by(choices, account(who)))
    };
    "Verification.withdraw_verifier_bond" 10 |choices| {
        let leaving: Vec<_> = Verifiers::<Runtime>::iter()
            .filter(|(_, record)| matches!(record.status, VerifierStatus::Leaving(_)))
            .map(|(who, _)| who)
            .collect();
        let who = choices.suitable(&leaving).unwrap_or_else(|| account(ANYONE));
        call(VerificationCall::withdraw_verifier_bond {}, signed_by(who))
    };
    "Verification.open_challenge" 50 |choices| {
        let number = any_host(choices);
        let device = choices.pick(&[0, 1, 2]);
        let opener = match choices.byte() {
            0..=149 => signed(VERIFIERS.start + 8),
            150..=199 => signed(provider_of(number)),
            200..=239 => RuntimeOrigin::root(),
            _ => anyone(choices),
        };
        call(VerificationCall::open_challenge { host: host(number), device }, opener)
    };
    "Verification.answer" 50 |choices| {
        let mut open: Vec<_> = Challenges::<Runtime>::iter().map(|(id, record)| (id, record.host)).collect();
        open.sort();
        let (challenge, host) = choices.suitable(&open).unwrap_or_else(|| (0, host(HOSTS.start)));
        call(VerificationCall::answer { challenge, digest: [1; 32] }, by(choices, host))
    };
    "Verification.commit_vote" 120 |choices| {
        let voting = voting(choices, false);
        let origin = by(choices, voting.who);
        call(VerificationCall::commit_vote { matter: voting.matter, commitment: voting.commitment }, origin)
    };
    "Verification.reveal_vote" 120 |choices| {
        let voting = voting(choices, true);
        let vote = choices.usually(committed_vote(&voting), |_| voting.vote);
        let origin = by(choices, voting.who);
        call(VerificationCall::reveal_vote { matter: voting.matter, vote, salt: SALT }, origin)
    };
    "Verification.commit_result" 70 |choices| {
        let found = lease_where(choices, |lease, _, spec| spec.is_redundant() && is_active(&lease.state));
        let origin = by(choices, found.host.clone());
        let commitment = result_commitment(&result(choices), &SALT, &found.host);
        call(VerificationCall::commit_result { lease: found.id, commitment }, origin)
    };
    "Verification.reveal_result" 70 |choices| {
        let replicas: Vec<_> = Results::<Runtime>::iter_values()
            .flat_map(|record| record.replicas)
            .filter(|replica| replica.result.is_none())
            .collect();
        let (lease, host, result) = match choices.suitable(&replicas) {
            Some(replica) => (replica.lease, replica.host.clone(), committed_result(&replica)),
            None => (0, host(HOSTS.start), result(choices)),
        };
        call(VerificationCall::reveal_result { lease, result, salt: SALT }, by(choices, host))
    };
    "Verification.open_dispute" 50 |choices| {
        let (task, tenant) = task_where(choices, |record, _| record.state == TaskState::Reported);
        let mut accused: Vec<_> = Tasks::leases_of(task).unwrap_or_default().into_iter().map(|(id, _)| id).collect();
        accused.truncate(choices.pick(&[1, 16, 0]));
        let opener = if choices.byte() < 180 { tenant } else { signed(VERIFIERS.start + 9) };
        call(VerificationCall::open_dispute { task, accused: accused.try_into().expect("few"), evidence: [2; 32] }, opener)
    };
    "Verification.add_evidence" 15 |choices| {
        let (task, who) = dispute(choices);
        call(VerificationCall::add_evidence { task, digest: [choices.byte(); 32] }, signed_by(who))
    };
    "Verification.appeal" 30 |choices| {
        let (task, who) = dispute(choices);
        call(VerificationCall::appeal { task }, signed_by(who))
    };
    "Verification.advance" 30 |choices| {
        let matter = choices.suitable(&matters()).unwrap_or(gantry_primitives::Matter::Dispute(0));
        call(VerificationCall::advance { matter }, anyone(choices))
    };
    "Verification.set_params" 6 |choices| {
        let mut params = pallet_gantry_verification::CurrentParams::<Runtime>::get();
        params.committee_size = choices.pick(&[3, 1, 7, 2]);
        params.jury_size = choices.pick(&[3, 1, 7]);
        params.appeal_jury_size = choices.pick(&[7, 3]);
        params.jury_fee = choices.pick(&[2 * GTY, 0, 10 * GTY, 11 * GTY]);
        params.verifier_bond = choices.pick(&[100 * GTY, 10 * GTY, 1_000 * GTY, 0]);
        params.absence_penalty = choices.pick(&[2 * GTY, 5 * GTY, 50 * GTY]);
        params.minority_penalty = choices.pick(&[GTY, 0, 5 * GTY]);
        params.challenge_fee = choices.pick(&[GTY, 0, 1]);
        call(VerificationCall::set_params { params }, admin(choices))
    };

    "Governance.enact" 12 |choices| {
        let number = any_host(choices);
        let inner: RuntimeCall = match choices.below(5) {
            0 => HostsCall::suspend { host: host(number) }.into(),
            1 => HostsCall::unsuspend { host: host(number) }.into(),
            2 => GovernanceCall::cancel { id: 0 }.into(),
            3 => GovernanceCall::set_params { params: pallet_gantry_governance::Params { delay_blocks: 3 } }.into(),
            _ => BalancesCall::force_transfer {
                source: account(TENANT).into(),
                dest: account(ANYONE).into(),
                value: GTY,
            }
            .into(),
        };
        call(GovernanceCall::enact { call: Box::new(inner) }, admin(choices))
    };
    "Governance.cancel" 6 |choices| {
        let next = pallet_gantry_governance::NextEnactmentId::<Runtime>::get();
        let id = next.saturating_sub(1 + u32::from(choices.byte()));
        call(GovernanceCall::cancel { id }, admin(choices))
    };
    "Governance.set_params" 4 |choices| {
        let delay_blocks = choices.pick(&[1, 0, 5, u32::MAX]);
        call(GovernanceCall::set_params { params: pallet_gantry_governance::Params { delay_blocks } }, admin(choices))
    };
    "Validators.add" 6 |choices| {
        let who = choices.pick(&[Sr25519Keyring::Bob, Sr25519Keyring::Alice, Sr25519Keyring::Eve]).to_account_id();
        call(ValidatorsCall::add { who }, admin(choices))
    };
    "Validators.remove" 6 |choices| {
        let who = choices.pick(&[Sr25519Keyring::Bob, Sr25519Keyring::Eve]).to_account_id();
        call(ValidatorsCall::remove { who }, admin(choices))
    };

    "Balances.transfer_allow_death" 10 |choices| {
        let value = u128::from(choices.byte()) * GTY;
        let dest = account(choices.pick(&[NOBODY, TENANT, ANYONE])).into();
        let from = choices.pick(&[ANYONE, POOR_TENANT, NOBODY]);
        call(BalancesCall::transfer_allow_death { dest, value }, signed(from))
    };
    "Balances.transfer_all" 6 |choices| {
        let from = choices.pick(&[NOBODY, POOR_TENANT, VERIFIERS.start, 3]);
        let dest = account(ANYONE).into();
        call(BalancesCall::transfer_all { dest, keep_alive: false }, signed(from))
    };
}

/// A dispute, and one of its parties; the accused provider first.
fn dispute(choices: &mut Choices) -> (u64, gantry_runtime::AccountId) {
    let mut open: Vec<_> = Disputes::<Runtime>::iter().collect();
    open.sort_by_key(|(task, _)| *task);
    let Some((task, record)) = choices.suitable(&open) else { return (0, account(TENANT)) };
    let parties: Vec<_> = record.providers.into_iter().chain([record.tenant, record.opener]).collect();
    (task, choices.suitable(&parties).unwrap_or_else(|| account(ANYONE)))
}
