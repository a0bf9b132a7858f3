use super::*;
use crate::{mock::*, v3};
use frame_support::{assert_noop, assert_ok, weights::Weight};
use gantry_primitives as now;
use std::collections::BTreeMap;

const PLENTY: Weight = Weight::from_parts(u64::MAX / 2, u64::MAX / 2);

/// Every key of the chain with its value.
fn state() -> BTreeMap<Vec<u8>, Vec<u8>> {
    core::iter::successors(sp_io::storage::next_key(&[]), |key| sp_io::storage::next_key(key))
        .map(|key| (key.clone(), sp_io::storage::get(&key).expect("a key has a value").to_vec()))
        .collect()
}

/// Replaces each value of a map of this release by the value of release 3.
fn replace_all<New: Decode, Old: Encode>(prefix: [u8; 32], convert: impl Fn(New) -> Old) {
    for (key, value) in state().into_iter().filter(|(key, _)| key.starts_with(&prefix)) {
        let record = New::decode(&mut &value[..]).expect("a record of this release");
        sp_io::storage::set(&key, &convert(record).encode());
    }
}

fn old_capabilities(new: now::Capabilities) -> v3::hosts::Capabilities {
    let now::Capabilities { docker, kvm, kubernetes, cdi, mig, shares, sandboxed: _ } = new;
    v3::hosts::Capabilities { docker, kvm, kubernetes, cdi, mig, shares }
}

fn old_ask(new: now::Ask) -> v3::hosts::Ask {
    v3::hosts::Ask {
        gpu: new.gpu,
        gpu_per_hour: new.gpu_per_hour,
        cpu_core_per_hour: new.cpu_core_per_hour,
        memory_gib_per_hour: new.memory_gib_per_hour,
        disk_gib_per_hour: new.disk_gib_per_hour,
        network_gib: new.network_gib,
        storage_gib_per_hour: new.storage_gib_per_hour,
        second_ppm: new.second_ppm,
        hour_ppm: new.hour_ppm,
        day_ppm: new.day_ppm,
    }
}

/// A host as its agent of release 3 announced it.
fn old_host(new: now::HostRecord) -> v3::hosts::HostRecord {
    v3::hosts::HostRecord {
        provider: new.provider,
        status: new.status,
        tier: new.tier,
        capabilities: v3::hosts::Capabilities { kvm: true, ..old_capabilities(new.capabilities) },
        network_mbps_down: new.network_mbps_down,
        network_mbps_up: new.network_mbps_up,
        latency_ms: new.latency_ms,
        total: new.total,
        free: new.free,
        devices: new.devices,
        ask: old_ask(new.ask),
        endpoint: new.endpoint,
        region: new.region,
        bond: new.bond,
        bond_required: new.bond_required,
        generation: new.generation,
        registered_at: new.registered_at,
        last_heartbeat: new.last_heartbeat,
        downtime_ms: new.downtime_ms,
        live_leases: new.live_leases,
    }
}

fn old_placement(new: now::Placement) -> v3::tasks::Placement {
    v3::tasks::Placement {
        regions: new.regions,
        hosts: new.hosts,
        providers_allowed: new.providers_allowed,
        providers_denied: new.providers_denied,
        tiers: new.tiers,
        verified_only: new.verified_only,
        allow_simulated: new.allow_simulated,
        min_network_mbps: new.min_network_mbps,
        max_latency_ms: new.max_latency_ms,
        capabilities: old_capabilities(new.capabilities),
        layout: new.layout,
    }
}

fn old_spec_record(new: now::SpecRecord) -> v3::tasks::SpecRecord {
    let spec = v3::tasks::TaskSpec {
        kind: new.spec.kind,
        manifest_digest: new.spec.manifest_digest,
        resources: new.spec.resources,
        pods_min: new.spec.pods_min,
        pods_max: new.spec.pods_max,
        max_rate_per_hour: new.spec.max_rate_per_hour,
        unit: new.spec.unit,
        max_duration_ms: new.spec.max_duration_ms,
        deadline: new.spec.deadline,
        priority: new.spec.priority,
        queue: new.spec.queue,
        verification: new.spec.verification,
        placement: old_placement(new.spec.placement),
        data_from: new.spec.data_from,
        spot: new.spec.spot,
        survival: new.spec.survival,
    };
    v3::tasks::SpecRecord {
        tenant: new.tenant,
        spec,
        count: new.count,
        open: new.open,
        kept: new.kept,
        manifest_deposit: new.manifest_deposit,
        task_deposit: new.task_deposit,
    }
}

fn old_escrow(new: now::Escrow) -> v3::tasks::Escrow {
    v3::tasks::Escrow {
        deposit: new.deposit,
        rate_per_hour: new.rate_per_hour,
        unit: new.unit,
        accrued: new.accrued,
        since: new.since,
        downtime_mark: new.downtime_mark,
        until: new.until,
        paid: new.paid,
        fee: new.fee,
        open: new.open,
    }
}

fn old_lease(new: now::Lease) -> v3::tasks::Lease {
    let standby = |new: now::StandbyPlace| v3::tasks::StandbyPlace { host: new.host, devices: new.devices };
    v3::tasks::Lease {
        pod: new.pod,
        generation: new.generation,
        host: new.host,
        devices: new.devices,
        state: new.state,
        created_at: new.created_at,
        started_at: new.started_at,
        ended_at: new.ended_at,
        escrow: old_escrow(new.escrow),
        resume_rate: new.resume_rate,
        reclaim_at: new.reclaim_at,
        due_at: new.due_at,
        result: new.result,
        rated: new.rated,
        standby: new.standby.map(standby),
    }
}

fn old_task(new: now::TaskRecord) -> v3::tasks::TaskRecord {
    v3::tasks::TaskRecord {
        first: new.first,
        tenant: new.tenant,
        state: new.state,
        generation: new.generation,
        failures: 2,
        pods_wanted: new.pods_wanted,
        submitted_at: new.submitted_at,
        changed_at: new.changed_at,
        preemption: new.preemption,
        leases: BoundedVec::truncate_from(new.leases.into_iter().map(old_lease).collect()),
        checkpoints: new.checkpoints,
    }
}

fn old_dispute(new: now::DisputeRecord) -> v3::verification::DisputeRecord {
    v3::verification::DisputeRecord {
        opener: new.opener,
        tenant: new.tenant,
        providers: new.providers,
        opened_at: new.opened_at,
        phase: new.phase,
        until: new.until,
        level: new.level,
        retried: new.retried,
        verdict: new.verdict,
        stakes: new.stakes,
        evidence: new.evidence,
        ballot: new.ballot,
    }
}

fn old_challenges(new: now::HostChallenges) -> v3::verification::HostChallenges {
    let now::HostChallenges { open, by_verifier_at, by_provider_at, .. } = new;
    v3::verification::HostChallenges { open, by_verifier_at, by_provider_at }
}

fn old_results(new: now::ResultsRecord) -> v3::verification::ResultsRecord {
    let replica = |new: now::Replica| v3::verification::Replica {
        lease: new.lease,
        host: new.host,
        commitment: new.commitment,
        result: new.result,
    };
    v3::verification::ResultsRecord {
        phase: new.phase,
        until: new.until,
        opened_at: new.opened_at,
        wanted: new.wanted,
        extended: new.extended,
        replicas: BoundedVec::truncate_from(new.replicas.into_iter().map(replica).collect()),
    }
}

/// Results of a task, of which the first replica has revealed its result and the second has not.
fn results(task: TaskId) -> now::ResultsRecord {
    let usage = now::Usage { wall_ms: 1, cpu_ms: 1, memory_peak_mib: 1 };
    let result = now::PodResult { digest: [9; 32], exit_code: 0, usage };
    let replica = |lease, result: Option<now::PodResult>| now::Replica {
        lease,
        host: gantry_mock::host(100),
        commitment: [1; 32],
        tag: result.map(|result| now::commitments::result_tag(task, &result)),
        result,
    };
    now::ResultsRecord {
        phase: now::ResultsPhase::Revealing,
        until: START,
        opened_at: START,
        wanted: 2,
        extended: false,
        audit: now::AuditState::NotDrawn,
        replicas: vec![replica(1, Some(result)), replica(2, None)].try_into().expect("two fit"),
    }
}

/// Parameters of verification whose answer time is `answer_ms`, as release 3 stored them.
fn store_old_verification_params(answer_ms: u64) {
    let params = verification::Params { answer_ms, ..Default::default() };
    VerificationParams::put(&params);
    let of_challenges = (params.miss_period_ms, params.min_verifiers);
    let of_results = (params.replica_slash_deposits, params.slash_to_tenant_ppm, params.slash_to_hosts_ppm);
    let of_audits = (params.audit_valid_results, params.audit_min_ppm, params.audit_slash_deposits);
    let of_services = (params.service_fee, params.service_share_ppm, params.service_window_ms, params.service_rest_ms);
    let added = (of_challenges, of_results, of_audits, of_services).encoded_size();
    truncate(VerificationParams::hashed_key(), added);
}

/// The parameters of billing with a fee of `fee_ppm`, as release 3 stored them.
fn store_old_billing_params(fee_ppm: u32) {
    let billing::Params { held_back_ms, depletion_bounty, .. } = billing::CurrentParams::<Test>::get();
    let old = v3::billing::Params { fee_ppm, held_back_ms, depletion_bounty };
    sp_io::storage::set(&billing::CurrentParams::<Test>::hashed_key(), &old.encode());
}

/// Removes the last bytes of a value.
fn truncate(key: [u8; 32], bytes: usize) {
    let mut value = sp_io::storage::get(&key).expect("genesis stores parameters").to_vec();
    value.truncate(value.len() - bytes);
    sp_io::storage::set(&key, &value);
}

/// Brings the state of this release into the form of release 3.
fn downgrade() {
    replace_all(hosts::Hosts::<Test>::final_prefix(), old_host);
    replace_all(tasks::Specs::<Test>::final_prefix(), old_spec_record);
    replace_all(tasks::Tasks::<Test>::final_prefix(), old_task);
    replace_all(Disputes::final_prefix(), old_dispute);
    replace_all(Challenged::final_prefix(), old_challenges);
    replace_all(Compared::final_prefix(), old_results);
    store_old_verification_params(verification::Params::default().answer_ms);
    let hosts::Params { halt_after_ms, free_weight_us, max_penalty_ppm, max_notice_ms, .. } = Default::default();
    let added = (halt_after_ms, free_weight_us, max_penalty_ppm, max_notice_ms).encoded_size();
    truncate(hosts::CurrentParams::<Test>::hashed_key(), added);
    let new = tasks::Params::default();
    let of_tasks = (new.max_replicas, new.report_grace_ms, new.max_refusals, new.refusal_fee);
    let of_schedulers = (
        new.scheduler_unbonding_ms,
        new.scheduler_penalty_ppm,
        new.evidence_ms,
        new.offer_known_ms,
        new.deposit_per_pod,
        new.audit_surcharge_ppm,
    );
    truncate(tasks::CurrentParams::<Test>::hashed_key(), (of_tasks, of_schedulers).encoded_size());
    store_old_billing_params(billing::CurrentParams::<Test>::get().fee_ppm);
    StorageVersion::new(1).put::<hosts::Pallet<Test>>();
    StorageVersion::new(1).put::<tasks::Pallet<Test>>();
}

/// Brings leases and hosts into the form that the migration gives them.
fn forget_what_release_3_did_not_store() {
    replace_all(hosts::Hosts::<Test>::final_prefix(), |host: now::HostRecord| now::HostRecord {
        offered_since: Hosts::now(),
        ..host
    });
    replace_all(tasks::Tasks::<Test>::final_prefix(), |mut task: now::TaskRecord| {
        for lease in &mut task.leases {
            (lease.assigned_by, lease.self_assigned_ppm) = (None, None);
            let of = &mut lease.escrow;
            (of.scheduler_ppm, of.scheduler_fee, of.settler_fee) = (0, 0, 0);
        }
        task
    });
}

/// Runs the migration with `share` for each block, in which `block_ms` pass. Returns the number of blocks.
fn migrate(share: Weight, block_ms: u64) -> u32 {
    ExtendParams::<Test, VerificationParams>::on_runtime_upgrade();
    let (mut cursor, mut blocks) = (None, 0);
    loop {
        let mut meter = WeightMeter::with_limit(share);
        cursor = From3::<Test, Disputes, Challenged, Compared>::transactional_step(cursor, &mut meter)
            .expect("no step fails");
        assert!(meter.consumed().all_lte(share), "a block takes more than its share");
        blocks += 1;
        if cursor.is_none() {
            return blocks;
        }
        advance(block_ms);
    }
}

#[test]
fn any_history_is_migrated_in_blocks_of_any_size_and_nothing_else_changes() {
    for seed in 0..16 {
        chain().execute_with(|| {
            let mut rng = SplitMix64(seed);
            history(&mut rng, 500);
            for number in 100..106 {
                let _ = Hosts::heartbeat(by_host(number));
            }
            (0..pallet_gantry_tasks::NextTaskId::<Test>::get()).filter(|task| task % 3 == 0).for_each(open_dispute);
            for number in 100..106 {
                let at = rng.below(2).eq(&0).then(Hosts::now);
                let challenges = now::HostChallenges { by_verifier_at: at, ..Default::default() };
                Challenged::insert(gantry_mock::host(number), challenges);
            }
            (0..5).for_each(|task| Compared::insert(task, results(task)));
            VerificationParams::put(verification::Params::default());
            forget_what_release_3_did_not_store();
            let expected = state();
            downgrade();
            assert_ne!(state(), expected);
            migrate(weights::largest_item().saturating_mul(1 + rng.below(20)), 0);
            assert!(state() == expected, "seed {seed}: each record is what this release would have stored");
            check_everything();
        });
    }
}

#[test]
fn a_step_asks_for_the_weight_of_the_heaviest_item_and_progresses_with_it() {
    chain().execute_with(|| {
        history(&mut SplitMix64(1), 100);
        downgrade();
        let required = weights::largest_item();
        let mut meter = WeightMeter::with_limit(required - Weight::from_parts(1, 0));
        assert_eq!(
            From3::<Test, Disputes, Challenged, Compared>::step(None, &mut meter),
            Err(SteppedMigrationError::InsufficientWeight { required })
        );
        assert!(migrate(required, 0) > 3);
    });
}

#[test]
fn a_migrated_chain_is_not_migrated_again() {
    chain().execute_with(|| {
        history(&mut SplitMix64(2), 100);
        let before = state();
        assert_eq!(migrate(PLENTY, 0), 1);
        assert!(state() == before);
    });
}

#[test]
fn a_host_is_not_absent_because_of_the_pause() {
    chain().execute_with(|| {
        online_host(101);
        advance(ABSENCE_LIMIT_MS + 1);
        online_host(100);
        submit_tasks(100);
        downgrade();
        let blocks = migrate(weights::largest_item(), ABSENCE_LIMIT_MS / 4);
        assert!(blocks > 8, "the migration took {blocks} blocks, not longer than the absence limit");
        assert_noop!(
            Hosts::report_absent(signed(ANYONE), gantry_mock::host(100)),
            pallet_gantry_hosts::Error::<Test>::NotAbsent
        );
        // Host 101 was silent for too long before the migration.
        assert_ok!(Hosts::report_absent(signed(ANYONE), gantry_mock::host(101)));
    });
}

#[test]
fn a_record_that_cannot_be_decoded_is_left_and_the_others_are_migrated() {
    chain().execute_with(|| {
        online_host(100);
        online_host(101);
        downgrade();
        let broken = hosts::Hosts::<Test>::hashed_key_for(gantry_mock::host(100));
        sp_io::storage::set(&broken, b"broken");
        migrate(PLENTY, 0);
        assert_eq!(sp_io::storage::get(&broken).map(|value| value.to_vec()), Some(b"broken".to_vec()));
        assert!(hosts::Hosts::<Test>::get(gantry_mock::host(101)).is_some());
    });
}

#[test]
fn a_halt_is_never_longer_than_the_absence_limit() {
    chain().execute_with(|| {
        downgrade();
        let key = hosts::CurrentParams::<Test>::hashed_key();
        let params = hosts::Params { absence_limit_ms: 20_000, heartbeat_period_ms: 10_000, ..Default::default() };
        sp_io::storage::set(&key, &params.encode());
        truncate(key, 24);
        migrate(PLENTY, 0);
        let migrated = hosts::CurrentParams::<Test>::get();
        assert_eq!((migrated.halt_after_ms, migrated.check()), (20_000, Ok(())));
    });
}

#[test]
fn a_host_has_more_time_to_answer_than_it_may_be_absent() {
    chain().execute_with(|| {
        downgrade();
        store_old_verification_params(60_000);
        migrate(PLENTY, 0);
        let migrated = VerificationParams::get();
        assert_eq!((migrated.answer_ms, migrated.check()), (3 * ABSENCE_LIMIT_MS / 2, Ok(())));
        assert_eq!(migrated.miss_period_ms, verification::Params::default().miss_period_ms);
        assert_eq!(migrated.min_verifiers, verification::Params::default().min_verifiers);
    });
}

#[test]
fn a_migrated_host_does_not_answer_challenges() {
    chain().execute_with(|| {
        let host = online_host(100);
        downgrade();
        migrate(PLENTY, 0);
        let record = hosts::Hosts::<Test>::get(host).expect("it is registered");
        assert!(!record.answers_challenges && record.challenged.is_none());
    });
}

#[test]
fn open_leases_keep_the_fee_of_the_chain_that_is_upgraded_up_to_its_bound() {
    for (before, after) in [(20_000, 20_000), (1_000_000, now::fees::MAX_FEE_PPM)] {
        chain().execute_with(|| {
            history(&mut SplitMix64(3), 100);
            downgrade();
            store_old_billing_params(before);
            migrate(PLENTY, 0);
            let migrated = billing::CurrentParams::<Test>::get();
            assert_eq!((migrated.fee_ppm, migrated.check::<Test>().is_ok()), (after, true));
            let leases: Vec<_> = tasks::Tasks::<Test>::iter_values().flat_map(|task| task.leases).collect();
            assert!(!leases.is_empty());
            assert!(leases.iter().all(|lease| lease.escrow.fee_ppm == after && lease.assigned_by.is_none()));
        });
    }
}

#[test]
fn a_running_task_that_was_told_to_leave_runs_on_and_one_that_has_left_waits() {
    chain().execute_with(|| {
        let host = online_host(100);
        submit_tasks(2);
        let pod = now::PodPlacement { pod: 0, host, devices: Default::default(), rate_per_hour: u128::MAX };
        assert_ok!(Tasks::assign(signed(SCHEDULER), 0, vec![pod].try_into().expect("one fits")));
        let lease = Tasks::leases_of(0).expect("it exists")[0].0;
        assert_ok!(Tasks::report_started(by_host(100), lease));
        let told = now::Preemption { wanting: 1, ends_at: START };
        for task in [0, 1] {
            tasks::Tasks::<Test>::mutate(now::TaskKey::from(task), |record| {
                record.as_mut().expect("it exists").preemption = Some(told);
            });
        }
        downgrade();
        migrate(PLENTY, 0);
        assert_eq!((record(0).state, record(0).preemption), (now::TaskState::Running, None));
        assert_eq!((record(1).state, record(1).preemption), (now::TaskState::Queued, Some(told)));
    });
}

/// What `pallet_migrations` does around a migration in a runtime with the feature try-runtime.
#[cfg(feature = "try-runtime")]
#[test]
fn the_checks_of_try_runtime_hold_unless_a_record_cannot_be_read() {
    type Migration = From3<Test, Disputes, Challenged, Compared>;
    for broken in [false, true] {
        chain().execute_with(|| {
            history(&mut SplitMix64(3), 200);
            for number in 100..106 {
                let _ = Hosts::heartbeat(by_host(number));
            }
            downgrade();
            if broken {
                sp_io::storage::set(&hosts::Hosts::<Test>::hashed_key_for(gantry_mock::host(100)), b"broken");
            }
            let before = Migration::pre_upgrade().expect("records can be counted");
            migrate(weights::largest_item(), 0);
            assert_eq!(Migration::post_upgrade(before).is_err(), broken);
        });
    }
}
