//! Strategies about services and their checks. As in strategies.rs, a strategy plays one round and returns the cost of the
//! work that it did.

use frame_support::assert_ok;
use gantry_primitives::{LeaseId, Matter, TaskId, TaskKind, TaskState, Vote};
use gantry_runtime::{Tasks, Verification};

use super::{ballots::*, judges::*, setup::*, strategies::*};

/// The account of the cheat that has no part in its verifiers' committees as a tenant.
const CHEATING_TENANT: u8 = CHEATS[0];

/// The tenant has its service checked: the cheat's verifiers vote that it was served, others vote `truth`. Then the tenant
/// ends what is left of it.
fn check_service(tenant: u8, (task, lease): (TaskId, LeaseId), truth: Vote) {
    assert_ok!(Verification::open_service_check(signed(tenant), lease));
    draw_committees();
    judge(Matter::Service(lease), truth, || Some(Vote::Yes));
    end(tenant, task);
}

fn end(tenant: u8, task: TaskId) {
    if record(task).state == TaskState::Running {
        assert_ok!(Tasks::end(signed(tenant), task));
        paid(task);
    } else {
        assert_ok!(Tasks::cancel(signed(tenant), task));
    }
}

fn serve(tenant: u8, number: u8) -> (TaskId, LeaseId) {
    let (task, leases) = start(tenant, spec(TaskKind::Service, 1), &[number]);
    pass(LONG, &HOSTS);
    (task, leases[0])
}

/// Reports a service as running, serves nothing, and does not answer.
pub fn serve_nothing() -> i128 {
    check_service(TENANT, serve(TENANT, CHEAT), Vote::No);
    0
}

/// Reports a service as running, serves nothing, and signs that the pod refuses connections.
pub fn blame_the_pod() -> i128 {
    check_service(TENANT, serve(TENANT, CHEAT), Vote::PodRefused);
    0
}

/// As the tenant: uses a host, closes its own port, and has the service checked.
pub fn close_its_own_port() -> i128 {
    let served = serve(CHEATING_TENANT, HONEST);
    assert_ok!(Verification::open_service_check(signed(CHEATING_TENANT), served.1));
    draw_committees();
    judge(Matter::Service(served.1), Vote::PodRefused, || Some(Vote::No));
    end(CHEATING_TENANT, served.0);
    0
}

/// As the tenant: uses a host as long, and pays.
pub fn pay_for_a_service() -> i128 {
    let (task, _) = serve(CHEATING_TENANT, HONEST);
    end(CHEATING_TENANT, task);
    0
}
