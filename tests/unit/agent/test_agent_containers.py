"""What the end of a container means, and when containers of a pod start."""

import dataclasses

import pytest
from agent_builders import a_service, a_spec, an_ending

from node_agent.core.containers import (
    LONGEST_PAUSE_MS,
    MAX_KILL_RESTARTS,
    STABLE_MS,
    Container,
    HostFault,
    RestartContainer,
    Stage,
    StaysEnded,
    TenantFault,
    initial_containers,
    judge_exit,
    pod_usage,
    replace_container,
    restart_delay_ms,
    startable,
    stopped_containers,
    unmet_dependency,
)
from node_agent.core.values import EndKind, HostFailure, TaskKind
from offchain.schema.manifest.types import Dependency, HealthCheck, RestartPolicy

CHECK = HealthCheck(("true",), 1_000, 1_000, 1, 0)
SOON = 10_000


def after(ending, *, when="no", attempts=None, kind=TaskKind.SERVICE, now_ms=SOON, **container):
    service = a_service(restart=RestartPolicy(when, attempts))
    one = Container(name="main", stage=Stage.RUNNING, start=1, ran=True, began_at_ms=SOON, **container)
    return judge_exit(kind, service, one, ending, now_ms)


@pytest.mark.parametrize(
    ("when", "code", "again"),
    [("no", 0, False), ("no", 1, False), ("on-failure", 0, False), ("on-failure", 1, True), ("always", 0, True)],
)
def test_a_service_follows_its_restart_policy(when, code, again):
    verdict = after(an_ending(exit_code=code), when=when)
    assert isinstance(verdict, RestartContainer if again else StaysEnded)


def test_pauses_double_to_a_minute_and_a_long_run_wipes_the_count():
    pauses = [after(an_ending(exit_code=1), when="always", restarts=count).delay_ms for count in range(9)]
    assert pauses == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]
    assert restart_delay_ms(10**6) == LONGEST_PAUSE_MS
    later = after(an_ending(exit_code=1), when="always", restarts=8, now_ms=SOON + STABLE_MS)
    assert (later.delay_ms, later.container.restarts) == (1_000, 1)


def test_a_policy_with_attempts_is_exhausted_and_the_pod_has_failed():
    assert isinstance(after(an_ending(exit_code=1), when="on-failure", attempts=2, restarts=1), RestartContainer)
    verdict = after(an_ending(exit_code=1), when="on-failure", attempts=2, restarts=2)
    assert (type(verdict), verdict.exit_code) == (TenantFault, 1)
    assert "exit code 1 3 times" in verdict.message


def test_an_unhealthy_container_is_a_failure_whatever_its_exit_code():
    killed = an_ending(EndKind.KILLED, 0)
    assert isinstance(after(killed, when="on-failure", unwell=True), RestartContainer)
    verdict = after(killed, when="no", unwell=True)
    assert (type(verdict), verdict.exit_code) == (TenantFault, 1)


@pytest.mark.parametrize("kind", [TaskKind.SERVICE, TaskKind.RENTAL, TaskKind.JOB])
@pytest.mark.parametrize("ending", [an_ending(EndKind.KILLED, 137), None])
def test_after_a_fault_of_the_host_a_container_restarts_at_once_but_not_forever(kind, ending):
    first = after(ending, kind=kind)
    assert (first.delay_ms, first.container.killed) == (0, 1)
    verdict = after(ending, kind=kind, killed=MAX_KILL_RESTARTS)
    assert (type(verdict), verdict.reason) == (HostFault, HostFailure.DRIVER_ERROR)


def test_a_job_restarts_in_a_new_container_without_its_earlier_usage():
    ending = an_ending(EndKind.KILLED, 137, mark="run-1")
    job, service = after(ending, kind=TaskKind.JOB), after(ending)
    assert (job.container.mark, job.container.used.wall_ms, job.lost) == ("", 0, True)
    assert not service.lost
    assert (service.container.mark, service.container.used.wall_ms) == ("run-1", 1000)


def test_a_helper_of_a_job_with_a_restart_policy_follows_it():
    assert isinstance(after(an_ending(exit_code=1), when="on-failure", kind=TaskKind.JOB), RestartContainer)


def pod(**services):
    made = [a_service(name, **changes) for name, changes in services.items()]
    spec = a_spec(1, *made)
    return spec, initial_containers(spec)


def on(service, until):
    return {"depends_on": (Dependency(service, until),)}


def with_one(containers, name, **changes):
    one = next(one for one in containers if one.name == name)
    return replace_container(containers, dataclasses.replace(one, **changes))


def names(found):
    return [one.name for one in found]


def test_containers_start_when_their_dependencies_are_met():
    spec, all_ = pod(main=on("db", "healthy"), db={"healthcheck": CHECK, **on("init", "completed")}, init={})
    assert names(startable(spec, all_)) == ["init"]
    all_ = with_one(all_, "init", stage=Stage.RUNNING, ran=True)
    assert names(startable(spec, all_)) == []
    all_ = with_one(all_, "init", stage=Stage.ENDED, ending=an_ending())
    assert names(startable(spec, all_)) == ["db"]
    all_ = with_one(all_, "db", stage=Stage.RUNNING, ran=True)
    assert names(startable(spec, all_)) == []
    assert names(startable(spec, with_one(all_, "db", healthy=True))) == ["main"]


def test_started_is_enough_where_nothing_more_is_asked():
    spec, all_ = pod(main=on("db", "started"), db={})
    assert names(startable(spec, with_one(all_, "db", stage=Stage.RUNNING, ran=True))) == ["main"]
    # It has been running, also where it is between two runs now.
    assert names(startable(spec, with_one(all_, "db", stage=Stage.PAUSING, ran=True))) == ["main"]


@pytest.mark.parametrize(
    ("until", "changes", "code", "says"),
    [
        ("completed", {"stage": Stage.ENDED, "ending": an_ending(exit_code=3)}, 3, "ended with exit code 3"),
        ("healthy", {"stage": Stage.RUNNING, "healthy": False}, 1, "is not healthy"),
        # Its last end but one says nothing about it now.
        ("healthy", {"stage": Stage.RUNNING, "healthy": False, "ending": an_ending(exit_code=9)}, 1, "is not healthy"),
        ("healthy", {"stage": Stage.ENDED, "ending": an_ending()}, 1, "ended with exit code 0"),
    ],
)
def test_a_pod_whose_dependencies_can_never_be_met_has_failed(until, changes, code, says):
    spec, all_ = pod(main=on("db", until), db={"healthcheck": CHECK})
    assert unmet_dependency(spec, all_) is None
    hopeless = unmet_dependency(spec, with_one(all_, "db", **changes))
    assert (hopeless.container.name, hopeless.exit_code) == ("db", code)
    assert says in hopeless.message
    # One that is being stopped for its health will come back.
    if changes.get("healthy") is False:
        assert unmet_dependency(spec, with_one(all_, "db", **changes, unwell=True)) is None


def test_containers_at_rest_know_the_run_they_follow():
    one = Container(name="main", stage=Stage.RUNNING, start=4, mark="old", restarts=3)
    (rested,) = stopped_containers((one,), (("main", "new"),))
    assert rested == Container(name="main", start=4, mark="new")
    assert stopped_containers((one,), ())[0].mark == "old"


def test_the_usage_of_a_pod_is_that_of_its_containers_in_parallel():
    used = an_ending().usage
    both = (Container(name="a", used=used), Container(name="b", used=used))
    total = pod_usage(both, 7)
    assert (total.wall_ms, total.cpu_ms, total.memory_peak_mib) == (7, 20, 2)
