//! Random calls by random accounts, on all pallets at once. After each, every invariant holds and no coin was made or
//! lost; and a report is accepted exactly when it is free of charge.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use frame_support::{assert_ok, dispatch::CheckIfFeeless, traits::UnfilteredDispatchable};
use gantry_primitives::{BillingUnit, HostFailure, PodPlacement, TaskId, TaskSpec};
use sp_runtime::DispatchError;

use crate::{mock::*, Call};

type HostsCall = pallet_gantry_hosts::Call<Test>;
type BalancesCall = pallet_balances::Call<Test>;

/// Runs that are made however slow the machine is. No further one begins after the time that GANTRY_RANDOM_SECONDS
/// gives, by default 15 seconds.
const RUNS_AT_LEAST: u64 = 6;
const STEPS: usize = 400;

/// Marsaglia's xorshift64: a seed gives the same calls on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    fn account(&mut self) -> u8 {
        self.pick(&[TENANT, OTHER_TENANT, PROVIDER, OTHER_PROVIDER, SCHEDULER, ANYONE, NOBODY])
    }

    fn host(&mut self) -> u8 {
        10 + self.below(5) as u8
    }
}

const HOSTS: std::ops::Range<u8> = 10..15;

fn random_spec(random: &mut Random) -> TaskSpec {
    let mut spec = spec();
    spec.pods_min = 1 + random.below(3) as u16;
    spec.pods_max = spec.pods_min + random.below(2) as u16;
    spec.resources.gpus.count = random.below(3) as u8;
    spec.resources.gpus.milli = random.pick(&[250, 500, 1_000]);
    spec.unit = random.pick(&[BillingUnit::Second, BillingUnit::Hour, BillingUnit::Day]);
    spec.max_duration_ms = random.pick(&[1, 1_000, HOUR, 24 * HOUR]);
    spec.placement.allow_simulated = random.one_in(2);
    if random.one_in(4) {
        spec.deadline = Some(Hosts::now() + random.below(3 * START_TIMEOUT));
    }
    if random.one_in(8) {
        spec.placement.hosts = vec![host(random.host())].try_into().expect("one fits");
    }
    spec
}

/// A task that waits, as a rule; sometimes any number.
fn random_task(random: &mut Random, state: gantry_primitives::TaskStateTag) -> TaskId {
    let matching: Vec<_> = crate::ByState::<Test>::iter_key_prefix(state).collect();
    if matching.is_empty() || random.one_in(8) {
        return random.below(crate::NextTaskId::<Test>::get() + 1);
    }
    random.pick(&matching)
}

/// Places a task where it fits, as a rule; sometimes anywhere.
fn random_placement(random: &mut Random, task: TaskId) -> Vec<PodPlacement> {
    let Some(record) = crate::Tasks::<Test>::get(task) else { return vec![place(0, random.host(), &[])] };
    let wild = random.one_in(6);
    let gpus = &record.spec.resources.gpus;
    (0..record.spec.pods_min)
        .map(|pod| {
            let number = random.host();
            let any = || (0..gpus.count).collect::<Vec<_>>();
            let devices = match pallet_gantry_hosts::Hosts::<Test>::get(host(number)) {
                Some(of_host) if !wild => {
                    gantry_primitives::fit::first_devices(&of_host.devices, gpus, true).unwrap_or_else(any)
                }
                _ => any(),
            };
            place(pod, number, &devices)
        })
        .collect()
}

/// A live lease with its host, as a rule; sometimes any.
fn random_lease(random: &mut Random) -> (u64, RuntimeOrigin) {
    let live: Vec<_> = pallet_gantry_leases::ByHost::<Test>::iter_keys().collect();
    if live.is_empty() || random.one_in(8) {
        let any = random.below(pallet_gantry_leases::NextLeaseId::<Test>::get() + 1);
        return (any, host_origin(random.host()));
    }
    let (host, lease) = random.pick(&live);
    (lease, RuntimeOrigin::signed(host))
}

fn random_call(random: &mut Random) -> (RuntimeCall, RuntimeOrigin) {
    use gantry_primitives::TaskStateTag::*;
    let anyone = signed(random.account());
    let number = random.host();
    let host = host(number);
    let provider = if random.one_in(8) { anyone.clone() } else { signed(provider_of(number)) };
    match random.below(100) {
        0..=8 => (Call::submit { spec: random_spec(random), manifest: manifest() }.into(), anyone),
        9..=28 => {
            let task = random_task(random, Queued);
            let pods = random_placement(random, task).try_into().unwrap_or_default();
            let origin = if random.one_in(8) { anyone } else { signed(SCHEDULER) };
            (Call::assign { task, pods }.into(), origin)
        }
        29..=46 => {
            let (lease, origin) = random_lease(random);
            (Call::report_started { lease }.into(), origin)
        }
        47..=57 => {
            let (lease, origin) = random_lease(random);
            (Call::report_result { lease, result: result(random.below(2 * HOUR)) }.into(), origin)
        }
        58..=59 => {
            let (lease, origin) = random_lease(random);
            let reason = random.pick(&[HostFailure::DriverError, HostFailure::ImageInvalid]);
            (Call::report_failed { lease, reason }.into(), origin)
        }
        60..=63 => (Call::requeue { lease: random_lease(random).0 }.into(), anyone),
        64..=66 => (Call::expire_lease { lease: random_lease(random).0 }.into(), anyone),
        67..=68 => {
            let task = random_task(random, random_state(random.0));
            let tenant = crate::Tasks::<Test>::get(task).map_or(anyone, |task| RuntimeOrigin::signed(task.tenant));
            (Call::cancel { task }.into(), tenant)
        }
        69..=70 => (Call::expire { task: random_task(random, Queued) }.into(), anyone),
        71..=74 => {
            let task = random_task(random, Reported);
            let tenant = crate::Tasks::<Test>::get(task).map_or(anyone, |task| RuntimeOrigin::signed(task.tenant));
            (Call::accept_result { task }.into(), tenant)
        }
        75..=80 => {
            let state = random.pick(&[Reported, Verified]);
            (Call::settle { task: random_task(random, state) }.into(), anyone)
        }
        81 => (Call::bond_scheduler {}.into(), if random.one_in(2) { signed(SCHEDULER) } else { anyone }),
        82 => (Call::unbond_scheduler {}.into(), if random.one_in(12) { signed(SCHEDULER) } else { anyone }),
        83..=88 => (HostsCall::heartbeat {}.into(), RuntimeOrigin::signed(host)),
        89 => (HostsCall::set_endpoint { endpoint: bytes("there") }.into(), RuntimeOrigin::signed(host)),
        90 => (HostsCall::set_ask { host, ask: random_ask(random) }.into(), provider),
        91 => (HostsCall::drain { host }.into(), provider),
        92 => (HostsCall::undrain { host }.into(), provider),
        93 => (HostsCall::retire { host }.into(), if random.one_in(4) { provider } else { anyone }),
        94..=95 => (HostsCall::report_absent { host }.into(), anyone),
        96 => {
            let call = match random.below(3) {
                0 => HostsCall::verify { host },
                1 => HostsCall::suspend { host },
                _ => HostsCall::unsuspend { host },
            };
            (call.into(), RuntimeOrigin::root())
        }
        97 => {
            let call = BalancesCall::transfer_allow_death {
                dest: account(random.account()),
                value: random.below(2_000) as u128 * GTY,
            };
            (call.into(), anyone)
        }
        98 => {
            let call = BalancesCall::transfer_all { dest: account(random.account()), keep_alive: false };
            (call.into(), if random.one_in(4) { anyone } else { signed(NOBODY) })
        }
        _ => {
            let fee_ppm = random.pick(&[0, 1, 20_000, 999_999, 1_000_000]);
            let call =
                pallet_gantry_billing::Call::<Test>::set_params { params: pallet_gantry_billing::Params { fee_ppm } };
            (call.into(), RuntimeOrigin::root())
        }
    }
}

fn random_state(seed: u64) -> gantry_primitives::TaskStateTag {
    use gantry_primitives::TaskStateTag::*;
    [Queued, Assigned, Running, Reported][(seed % 4) as usize]
}

fn random_ask(random: &mut Random) -> gantry_primitives::Ask {
    let mut ask = ask();
    ask.gpu_per_hour = random.pick(&[0, 1, GTY, 3 * GTY]);
    ask.cpu_core_per_hour = random.pick(&[0, 7, GTY / 10]);
    ask
}

/// One run. Counts, by call, how often it succeeded.
fn make_run(run: u64, succeeded: &mut BTreeMap<String, u32>) {
    let mut random = Random(run.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let treasury = random.pick(&[0, ED]);
    let mut builder = ExtBuilder { treasury, ..Default::default() };
    builder.tasks.max_attempts = 1 + random.below(3) as u8;
    builder.hosts.verification_required = random.one_in(8);
    builder.build_and_execute(|| {
        for number in HOSTS {
            let mut hardware = hardware();
            hardware.devices[1].simulated = random.one_in(2);
            assert_ok!(register(provider_of(number), number, hardware));
            let _ = Hosts::verify(RuntimeOrigin::root(), host(number));
            assert_ok!(Hosts::heartbeat(host_origin(number)));
        }
        for step in 0..STEPS {
            if random.one_in(4) {
                advance(random.pick(&[1, 1_000, 20_000, START_TIMEOUT + 1, DISPUTE_WINDOW]));
            }
            if random.one_in(60) {
                advance(random.pick(&[ABSENCE_LIMIT + 1, HOUR, 25 * HOUR]));
            }
            let (call, origin) = random_call(&mut random);
            let told = format!("run {run}, step {step}: {call:?}");
            let is_report = matches!(
                call,
                RuntimeCall::Tasks(
                    Call::report_started { .. } | Call::report_result { .. } | Call::report_failed { .. }
                )
            );
            let free = call.is_feeless(&origin);
            let name = name_of(&call);
            match call.dispatch_bypass_filter(origin) {
                Ok(_) => {
                    *succeeded.entry(name).or_default() += 1;
                    assert!(free || !is_report, "{told} succeeded and was not free");
                }
                Err(error) => {
                    assert!(!free, "{told} was free and yet refused: {error:?}");
                    assert_ne!(error.error, DispatchError::Corruption, "{told}");
                }
            }
            let complaint = std::panic::catch_unwind(check_everything);
            assert!(complaint.is_ok(), "{told} broke an invariant");
        }
    });
}

fn name_of(call: &RuntimeCall) -> String {
    use frame_support::traits::GetCallMetadata;
    let metadata = call.get_call_metadata();
    format!("{}.{}", metadata.pallet_name, metadata.function_name)
}

#[test]
fn random_calls_break_nothing() {
    let seconds = std::env::var("GANTRY_RANDOM_SECONDS").map_or(Ok(15), |text| text.parse());
    let limit = Duration::from_secs(seconds.expect("GANTRY_RANDOM_SECONDS is a number"));
    let begin = Instant::now();
    let mut succeeded = BTreeMap::new();
    for run in 1.. {
        if run > RUNS_AT_LEAST && begin.elapsed() > limit {
            break;
        }
        make_run(run, &mut succeeded);
    }
    // A run that never gets anywhere proves nothing.
    let calls_of_tasks = [
        "submit",
        "assign",
        "report_started",
        "report_result",
        "report_failed",
        "requeue",
        "expire_lease",
        "cancel",
        "expire",
        "accept_result",
        "settle",
        "bond_scheduler",
        "unbond_scheduler",
    ];
    println!("{succeeded:#?}");
    for name in calls_of_tasks {
        assert!(succeeded.contains_key(&format!("Tasks.{name}")), "{name} never succeeded: {succeeded:?}");
    }
}
