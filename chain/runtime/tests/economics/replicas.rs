//! Strategies of hosts and tenants about results that are compared. As in strategies.rs, a strategy plays one round and
//! returns the cost of the work that it did.

use frame_support::assert_ok;
use gantry_primitives::{
    commitments::{result_commitment, result_tag},
    LeaseId, PodResult, TaskId, TaskKind, TaskSpec, TaskState, Usage, VerificationPolicy,
};
use gantry_runtime::{Runtime, Tasks, Verification};
use pallet_gantry_verification::{Results, Valid};

use super::{ballots::draw_committees, setup::*, strategies::*};

const SALT: [u8; 32] = [7; 32];
/// What honest hosts work out, and what cheats invent.
const RIGHT: u8 = 1;
const WRONG: u8 = 9;
/// A host of an honest provider beside [`HONEST`].
const WITNESS: u8 = 15;
const SECOND_WITNESS: u8 = 16;

/// The replica of a task on a host, with its result.
#[derive(Clone, Copy)]
struct Pod {
    lease: LeaseId,
    number: u8,
    digest: u8,
}

impl Pod {
    fn result(self) -> PodResult {
        let usage = Usage { wall_ms: LONG, cpu_ms: 1, memory_peak_mib: 1 };
        PodResult { digest: [self.digest; 32], exit_code: 0, usage }
    }

    fn commit(self) {
        let commitment = result_commitment(&self.result(), &SALT, &host(self.number));
        assert_ok!(Verification::commit_result(by_host(self.number), self.lease, commitment));
    }

    fn tag(self, task: TaskId) {
        assert_ok!(Verification::tag_result(by_host(self.number), self.lease, result_tag(task, &self.result())));
    }

    fn reveal(self) {
        assert_ok!(Verification::reveal_result(by_host(self.number), self.lease, self.result(), SALT));
    }
}

/// A job with replicas on these hosts, each with its result. It is settled.
fn compare(tenant: u8, replicas: &[(u8, u8)]) {
    let mut spec = spec(TaskKind::Job, replicas.len() as u16);
    spec.verification = VerificationPolicy::Redundant { replicas: replicas.len() as u8 };
    let hosts: Vec<u8> = replicas.iter().map(|(number, _)| *number).collect();
    let (task, leases) = start(tenant, spec, &hosts);
    pass(LONG, &HOSTS);
    let pods = leases.into_iter().zip(replicas).map(|(lease, (number, digest))| Pod {
        lease,
        number: *number,
        digest: *digest,
    });
    let pods: Vec<Pod> = pods.collect();
    pods.iter().for_each(|pod| pod.commit());
    pods.iter().for_each(|pod| pod.tag(task));
    pods.iter().for_each(|pod| pod.reveal());
    settle(task);
}

/// Works on nothing and shows any result, as one of three replicas.
pub fn lie_as_a_replica() -> i128 {
    compare(TENANT, &[(HONEST, RIGHT), (WITNESS, RIGHT), (CHEAT, WRONG)]);
    0
}

/// A tenant has an own host lie, to get a part of what that host loses.
pub fn slash_an_own_host() -> i128 {
    compare(CHEATS[1], &[(HONEST, RIGHT), (WITNESS, RIGHT), (CHEAT, WRONG)]);
    0
}

/// A tenant has two own hosts agree on a wrong result, to get a part of what an honest third host loses.
pub fn outvote_a_host() -> i128 {
    compare(CHEATS[2], &[(CHEAT, WRONG), (SECOND_CHEAT, WRONG), (HONEST, RIGHT)]);
    0
}

/// An audited job of a tenant on a host, with a result of it; hosts that work honestly repeat it if the chain draws it. It is
/// settled.
fn audit(tenant: u8, number: u8, digest: u8) {
    let spec = TaskSpec {
        verification: VerificationPolicy::Audit,
        // With the surcharge.
        max_rate_per_hour: 2 * RATE,
        ..job()
    };
    let (task, leases) = start(tenant, spec, &[number]);
    pass(LONG, &HOSTS);
    let mut pods = vec![Pod { lease: leases[0], number, digest }];
    pods[0].commit();
    draw_committees();
    for witness in [WITNESS, SECOND_WITNESS] {
        let is_asked = Results::<Runtime>::get(task).is_some_and(|record| record.wanted as usize > pods.len());
        if !is_asked {
            break;
        }
        let lease = join_task(tenant, task, pods.len() as u8, witness);
        pass(LONG, &HOSTS);
        let pod = Pod { lease, number: witness, digest: RIGHT };
        pod.commit();
        if pods.len() == 1 {
            pods[0].tag(task);
        }
        pod.tag(task);
        pods.push(pod);
    }
    pods.iter().for_each(|pod| pod.reveal());
    if record(task).state == TaskState::Reported {
        paid(task);
    } else {
        settle(task);
    }
}

/// One more pod of a task starts on a host.
fn join_task(tenant: u8, task: TaskId, pod: u8, number: u8) -> LeaseId {
    let devices = vec![0].try_into().expect("one fits");
    let place = gantry_primitives::PodPlacement { pod, host: host(number), devices, rate_per_hour: u128::MAX };
    assert_ok!(Tasks::assign(signed(tenant), task, vec![place].try_into().expect("one fits")));
    let lease = Tasks::leases_of(task).expect("it exists").last().expect("it has leases").0;
    assert_ok!(Tasks::report_started(by_host(number), lease));
    lease
}

/// Works honestly on audited jobs.
pub fn run_an_audited_job() -> i128 {
    audit(TENANT, CHEAT, RIGHT);
    cost(LONG)
}

/// Works on nothing, and shows any result of audited jobs.
pub fn lie_where_audited() -> i128 {
    audit(TENANT, CHEAT, WRONG);
    0
}

/// Works honestly until it is seldom audited, then lies until it is found out.
pub fn lie_when_trusted() -> i128 {
    let valid = Valid::<Runtime>::get(host(CHEAT)).map_or(0, |valid| valid.count);
    if valid < 20 {
        return run_an_audited_job();
    }
    lie_where_audited()
}

/// A tenant has audited jobs on an own host that lies, to get a part of what it loses.
pub fn slash_an_own_audited_host() -> i128 {
    audit(CHEATS[1], CHEAT, WRONG);
    0
}
