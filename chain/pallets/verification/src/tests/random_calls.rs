//! Random calls by random accounts. After each call every invariant holds and the sum of coins is unchanged; at the
//! end every call of the pallet has succeeded at least once.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use frame_support::{
    dispatch::CheckIfFeeless,
    traits::{GetCallName, UnfilteredDispatchable},
};
use gantry_primitives::{
    commitments::{result_commitment, result_tag, vote_commitment},
    AccountId, ChallengePhase, DisputePhase, DisputeRecord, LeaseId, Matter, Moment, ResultsPhase, ServicePhase,
    TaskId, VerifierRecord, VerifierStatus, Vote,
};
use sp_core::H256;

use crate::{mock::*, Call, Challenges, Disputes, Event, Params, Results, Services, Verifiers};

/// Runs that are made however slow the machine is. No further one begins after the time that GANTRY_RANDOM_SECONDS
/// gives, by default 10 seconds.
const RUNS_AT_LEAST: u64 = 4;
/// So many runs are made at most for every call to succeed once.
const RUNS_AT_MOST: u64 = 20;
const STEPS: usize = 400;

/// Verifiers get their bonds back soon.
fn quick() -> Params {
    Params { unbonding_ms: 20_000, ..params() }
}

fn anybody(rng: &mut SplitMix64) -> AccountId {
    let people = [PROVIDER, OTHER_PROVIDER, TENANT, ANYONE, NOBODY, HOST, HOST + 1, HOST + 2, HOST + 3];
    account(if rng.one_in(2) { 100 + rng.below(20) as u8 } else { rng.pick(&people) })
}

fn matters() -> Vec<Matter> {
    let challenges = Challenges::<Test>::iter_keys().map(Matter::Challenge);
    let disputes = Disputes::<Test>::iter_keys().map(Matter::Dispute);
    let services = Services::<Test>::iter_keys().map(Matter::Service);
    challenges.chain(disputes).chain(services).chain(Results::<Test>::iter_keys().map(Matter::Results)).collect()
}

/// A ballot in the wanted half of its vote, as a rule.
fn votable(rng: &mut SplitMix64, reveals: bool) -> Option<Matter> {
    let fits = |matter: &Matter| match matter {
        Matter::Challenge(id) => Challenges::<Test>::get(id).is_some_and(|record| {
            record.phase == if reveals { ChallengePhase::Revealing } else { ChallengePhase::Committing }
        }),
        Matter::Dispute(task) => Disputes::<Test>::get(task).is_some_and(|record| {
            record.phase == if reveals { DisputePhase::Revealing } else { DisputePhase::Committing }
        }),
        Matter::Service(lease) => Services::<Test>::get(lease).is_some_and(|record| {
            record.phase == if reveals { ServicePhase::Revealing } else { ServicePhase::Committing }
        }),
        Matter::Results(_) => false,
    };
    rng.pick_if_any(&matters().into_iter().filter(fits).collect::<Vec<_>>())
}

fn random_vote(rng: &mut SplitMix64, reveals: bool) -> (Call<Test>, AccountId) {
    let Some(matter) = votable(rng, reveals) else {
        return (Call::commit_vote { matter: Matter::Results(0), commitment: [0; 32] }, anybody(rng));
    };
    let ballot = ballot(matter);
    let seats: Vec<_> = ballot.seats.iter().filter(|seat| seat.commitment.is_some() == reveals).cloned().collect();
    let member = rng.pick_if_any(&seats).map_or_else(|| anybody(rng), |seat| seat.who);
    let who = if rng.one_in(8) { anybody(rng) } else { member };
    // Members vote alike as a rule, by the number of the matter; some lie about what they committed to.
    let alike = match (matter, number(matter) % 3) {
        (Matter::Service(_), 0) => Vote::PodRefused,
        (_, number) if number.is_multiple_of(2) => Vote::Yes,
        _ => Vote::No,
    };
    let lies = <[u8; 32]>::from(who.clone())[0] % 5 == 0;
    let vote = if lies && alike == Vote::Yes { Vote::No } else { alike };
    let call = match reveals {
        true => Call::reveal_vote { matter, vote: if rng.one_in(12) { Vote::Yes } else { vote }, salt: SALT },
        false => {
            let commitment = vote_commitment(matter, ballot.round, vote, &SALT, &who);
            Call::commit_vote { matter, commitment }
        }
    };
    (call, who)
}

fn number(matter: Matter) -> u64 {
    match matter {
        Matter::Challenge(number) | Matter::Dispute(number) => number,
        Matter::Results(number) | Matter::Service(number) => number,
    }
}

/// A lease of a task whose results are in this phase, with its host and what it works out.
fn random_replica(rng: &mut SplitMix64, wanted: ResultsPhase) -> (LeaseId, AccountId, u8) {
    let state = if wanted == ResultsPhase::Committing { MockLease::Running } else { MockLease::Committed };
    let all: Vec<_> = MockNetwork::get()
        .tasks
        .iter()
        .filter(|(task, _)| {
            let phase = Results::<Test>::get(task).map_or(ResultsPhase::Committing, |record| record.phase);
            phase == wanted
        })
        .flat_map(|(_, task)| task.leases.clone())
        .filter(|(_, _, of)| *of == state)
        .collect();
    let (lease, host, _) = rng.pick_if_any(&all).unwrap_or((1, account(HOST), MockLease::Running));
    (lease, host, (lease % 3 / 2) as u8)
}

/// A dispute of this phase, as a rule; else any, or none.
fn random_dispute(rng: &mut SplitMix64, phase: DisputePhase) -> TaskId {
    let fits = |(task, record): (TaskId, DisputeRecord)| (record.phase == phase).then_some(task);
    let fitting: Vec<_> = Disputes::<Test>::iter().filter_map(fits).collect();
    rng.pick_if_any(&fitting).filter(|_| !rng.one_in(8)).unwrap_or(1 + rng.below(30))
}

fn random_call(rng: &mut SplitMix64) -> (Call<Test>, Option<AccountId>) {
    let anyone = anybody(rng);
    let host = account(HOST + rng.below(4) as u8);
    let judge = account(100 + rng.below(20) as u8);
    if rng.one_in(4) && Disputes::<Test>::iter_values().any(|record| record.phase == DisputePhase::Decided) {
        let who = [account(TENANT), account(PROVIDER), account(OTHER_PROVIDER), anyone];
        let task = random_dispute(rng, DisputePhase::Decided);
        return (Call::appeal { task }, rng.pick_if_any(&who));
    }
    match rng.below(100) {
        0..=3 => (Call::bond_verifier {}, Some(anyone)),
        4..=5 => (Call::unbond_verifier {}, Some(anyone)),
        6..=9 => {
            let leaves = |(who, record): (AccountId, VerifierRecord)| {
                matches!(record.status, VerifierStatus::Leaving(_)).then_some(who)
            };
            let leavers: Vec<_> = Verifiers::<Test>::iter().filter_map(leaves).collect();
            (Call::withdraw_verifier_bond {}, rng.pick_if_any(&leavers).or(Some(anyone)))
        }
        10..=12 => {
            let open = MockNetwork::get().services.into_keys().collect::<Vec<_>>();
            let lease = rng.pick_if_any(&open).unwrap_or(9_999);
            let opener = if rng.one_in(4) { account(TENANT) } else { judge };
            (Call::open_service_check { lease }, Some(if rng.one_in(6) { anyone } else { opener }))
        }
        13..=17 => {
            let device = rng.below(3) as u8;
            let opener = if rng.one_in(8) { None } else { Some(if rng.one_in(4) { anyone } else { judge }) };
            let leased = MockNetwork::get().hosts[&host].leased.get(&device).cloned();
            match leased.filter(|_| !rng.one_in(4)) {
                Some((lease, tenant)) => {
                    let tenant = if rng.one_in(4) { opener } else { Some(tenant) };
                    (Call::open_challenge { host, device, lease: Some(lease) }, tenant)
                }
                None => (Call::open_challenge { host, device, lease: None }, opener),
            }
        }
        18..=24 => {
            let open = Challenges::<Test>::iter().collect::<Vec<_>>();
            let (challenge, host) = rng.pick_if_any(&open).map_or((9_999, host), |(id, record)| (id, record.host));
            let not_after = if rng.one_in(6) { Verification::now() - 1 } else { Moment::MAX };
            (Call::answer { challenge, digest: [1; 32], not_after }, Some(if rng.one_in(6) { anyone } else { host }))
        }
        25..=44 => {
            let (call, who) = random_vote(rng, false);
            (call, Some(who))
        }
        45..=64 => {
            let (call, who) = random_vote(rng, true);
            (call, Some(who))
        }
        65..=71 => {
            let (lease, host, digest) = random_replica(rng, ResultsPhase::Committing);
            let commitment = result_commitment(&result(digest), &SALT, &host);
            (Call::commit_result { lease, commitment }, Some(host))
        }
        72..=75 => {
            let (lease, host, digest) = random_replica(rng, ResultsPhase::Tagging);
            let digest = if rng.one_in(10) { 9 } else { digest };
            let tag = result_tag(<MockNetwork as crate::Tasks>::task_of(lease), &result(digest));
            (Call::tag_result { lease, tag }, Some(host))
        }
        76..=79 => {
            let (lease, host, digest) = random_replica(rng, ResultsPhase::Revealing);
            let digest = if rng.one_in(10) { 9 } else { digest };
            (Call::reveal_result { lease, result: result(digest), salt: SALT }, Some(host))
        }
        80..=83 => {
            let reported: Vec<_> = MockNetwork::get()
                .tasks
                .into_iter()
                .filter(|(_, task)| task.state == MockState::Reported)
                .map(|(number, _)| number)
                .collect();
            let task = rng.pick_if_any(&reported).unwrap_or(9_999);
            let opener = if rng.one_in(3) { anyone } else { account(TENANT) };
            let mut leases: Vec<_> =
                <MockNetwork as crate::Tasks>::leases_of(task).into_iter().map(|(lease, _)| lease).collect();
            if rng.one_in(3) {
                leases.truncate(1);
            }
            (Call::open_dispute { task, accused: accused(&leases), evidence: [2; 32] }, Some(opener))
        }
        84..=86 => {
            let who = [account(TENANT), account(PROVIDER), anyone];
            let task = random_dispute(rng, DisputePhase::Hearing);
            (Call::add_evidence { task, digest: [3; 32] }, rng.pick_if_any(&who))
        }
        87..=98 => {
            let matter = rng.pick_if_any(&matters()).unwrap_or(Matter::Dispute(9_999));
            (Call::advance { matter }, Some(anyone))
        }
        _ => {
            let sizes = [1, 3, 5, 7, 8];
            let size = sizes[rng.below(5) as usize];
            let params = Params {
                committee_size: size,
                jury_fee: rng.below(2) as u128 * JURY_FEE,
                miss_period_ms: REST + rng.below(2) * MISS_PERIOD,
                min_verifiers: 1 + 2 * rng.below(9) as u16,
                replica_slash_deposits: rng.below(5) as u16,
                audit_valid_results: rng.below(9) as u32,
                ..quick()
            };
            (Call::set_params { params }, None)
        }
    }
}

fn votes_are_open(rng: &mut SplitMix64) -> bool {
    votable(rng, false).or(votable(rng, true)).is_some()
}

/// What happens outside of this pallet: time, blocks, tasks and hosts.
fn something_else(rng: &mut SplitMix64) {
    match rng.below(14) {
        0..=5 => {
            let fresh = Some(H256(sp_io::hashing::blake2_256(&rng.next_u64().to_le_bytes())));
            let slots = [fresh, fresh, fresh, Random::get(), None];
            begin_block(slots[rng.below(5) as usize]);
        }
        // Votes need their time; a jump in the midst of them is rare.
        6 if votes_are_open(rng) && !rng.one_in(10) => {}
        6 => pass(rng.below(2 * APPEAL)),
        7 => {
            let number = MockNetwork::get().tasks.last_key_value().map_or(1, |(number, _)| number + 1);
            // What has ended is forgotten, so that the world stays small.
            let goes_on = |task: TaskId| Disputes::<Test>::contains_key(task) || Results::<Test>::contains_key(task);
            let ended = [MockState::Verified, MockState::Failed, MockState::Cancelled];
            network(|network| network.tasks.retain(|number, task| goes_on(*number) || !ended.contains(&task.state)));
            let audited = rng.one_in(4);
            let replicas = (audited || rng.one_in(2)).then(|| if audited { 1 } else { 2 + rng.below(2) as u8 });
            let state = if replicas.is_some() { MockState::Running } else { MockState::Reported };
            let lease = if replicas.is_some() { MockLease::Running } else { MockLease::Completed };
            let pod = |pod: u8| (number * 100 + u64::from(pod), account(HOST + pod), lease.clone());
            let leases = (0..replicas.unwrap_or(1)).map(pod).collect();
            network(|network| network.tasks.insert(number, MockTask { leases, audited, ..task(state, replicas) }));
        }
        8 => {
            let extra: Vec<_> = MockNetwork::get()
                .tasks
                .into_iter()
                .filter(|(_, task)| task.extra_wanted && task.leases.len() < 4)
                .collect();
            if let Some((number, _)) = rng.pick_if_any(&extra) {
                network(|network| {
                    let task = network.tasks.get_mut(&number).expect("it exists");
                    let pod = task.leases.len() as u8;
                    task.leases.push((number * 100 + u64::from(pod), account(HOST + pod), MockLease::Running));
                });
            }
        }
        9 => {
            let numbers: Vec<_> = MockNetwork::get().tasks.into_keys().collect();
            let number = rng.pick_if_any(&numbers).unwrap_or(0);
            network(|network| {
                if let Some(task) = network.tasks.get_mut(&number).filter(|task| task.state == MockState::Running) {
                    task.state = MockState::Cancelled;
                }
            });
        }
        10 => network(|network| {
            for host in network.hosts.values_mut() {
                host.suspended = false;
            }
        }),
        11 => network(|network| {
            // Leases of devices begin, but not of one that is challenged, and end.
            let host = network.hosts.get_mut(&account(HOST + rng.below(4) as u8)).expect("it exists");
            let device = rng.below(2) as u8;
            if host.leased.remove(&device).is_none() && host.challenged != Some(device) {
                host.leased.insert(device, (rng.below(9), account(TENANT)));
            }
            host.answers = !rng.one_in(4);
            host.generation += u32::from(rng.one_in(4));
        }),
        12 => network(|network| {
            // A service begins, another ends.
            let lease = SERVED + rng.below(6);
            if network.services.remove(&lease).is_none() {
                let host = account(HOST + rng.below(4) as u8);
                let treasury_fees = rng.below(20) as u128 * SERVICE_FEE;
                let service = MockService { host, started_at: START, treasury_fees, checks: Default::default() };
                network.services.insert(lease, service);
            }
        }),
        _ => pass(rng.below(BLOCK_MS)),
    }
}

/// Makes random calls; counts which of them were made successfully.
fn run(seed: u64, made: &mut BTreeMap<&'static str, u32>) {
    ExtBuilder { params: quick(), verifiers: 20 }.build().execute_with(|| {
        let issued = pallet_balances::TotalIssuance::<Test>::get();
        let mut rng = SplitMix64(seed);
        for step in 0..STEPS {
            if rng.one_in(3) {
                something_else(&mut rng);
            } else {
                let (call, who) = random_call(&mut rng);
                let origin = who.map_or(RuntimeOrigin::root(), RuntimeOrigin::signed);
                let name = call.get_call_name();
                let feeless = RuntimeCall::from(call.clone()).is_feeless(&origin);
                let done = frame_support::storage::with_storage_layer(|| {
                    call.clone().dispatch_bypass_filter(origin).map_err(|error| error.error)
                });
                if done.is_ok() {
                    *made.entry(name).or_default() += 1;
                }
                let may_be_free = ["answer", "commit_result", "tag_result", "reveal_result"].contains(&name);
                assert_eq!(feeless, may_be_free && done.is_ok(), "seed {seed}, step {step}: {call:?} {done:?}");
            }
            assert_eq!(gantry_mock::coins::<Test>(), issued, "seed {seed}, step {step}");
            let sound = Verification::do_try_state();
            assert!(sound.is_ok(), "seed {seed}, step {step}: {sound:?}");
            let failed = events().into_iter().find(|event| matches!(event, Event::StepFailed { .. }));
            assert_eq!(failed, None, "seed {seed}, step {step}");
            System::reset_events();
        }
    });
}

#[test]
fn whatever_is_called_every_invariant_holds() {
    let seconds = std::env::var("GANTRY_RANDOM_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
    let (begin, limit) = (Instant::now(), Duration::from_secs(seconds));
    let mut made = BTreeMap::new();
    let mut runs = 0;
    let all: BTreeSet<_> = Call::<Test>::get_call_names().iter().copied().collect();
    let missing = |made: &BTreeMap<&'static str, u32>| all.iter().any(|name| !made.contains_key(name));
    while runs < RUNS_AT_LEAST || begin.elapsed() < limit || (missing(&made) && runs < RUNS_AT_MOST) {
        runs += 1;
        run(runs, &mut made);
    }
    let once: BTreeSet<_> = made.keys().copied().collect();
    assert_eq!(once, all, "every call is made successfully at least once in {runs} runs: {made:?}");
}
