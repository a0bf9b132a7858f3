"""From when on, and until when, a pod is paid for; and what ends it by its tenant's doing, and not by its host's."""

import dataclasses

import pytest
from agent_builders import a_handle, a_lease, a_service, an_ending
from test_agent_kinds import CHECK, KILLED, Play, kinds

from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.container_events import NO_PROGRAM_EXIT_CODE, OUT_OF_TIME_EXIT_CODE, TOO_MUCH_EXIT_CODE
from node_agent.core.containers import MAX_KILL_RESTARTS, Stage
from node_agent.core.pod_steps import RETRY_AFTER_MS
from node_agent.core.states import Phase, Pod
from node_agent.core.values import EndKind, FoundContainer, HostFailure, LeaseReport, ReportStatus, TaskKind, Usage
from node_agent.runtime.codec import dumps, loads
from offchain.schema.manifest.types import DeliveredFile, Dependency, RestartPolicy

DIGEST = b"d" * 32


def after_init(**changes):
    """A job whose main container starts when another has done its part."""
    return Play(a_service(depends_on=(Dependency("init", "completed"),), **changes), a_service("init"))


def ended(name="init", start=1, wall_ms=1_000, **changes):
    usage = Usage(wall_ms=wall_ms, cpu_ms=10, memory_peak_mib=1)
    return ev.ContainerExited(1, name, start, dataclasses.replace(an_ending(**changes), usage=usage))


def ran(play, *events, ms):
    """Events, after so much time."""
    play.now_ms += ms
    return play(*events)


def billed(play):
    return play.pod.ending.usage.wall_ms


# --- the beginning ----------------------------------------------------------------------------------------------------


def test_the_start_is_reported_once_when_the_first_container_runs():
    play = after_init()
    assert kinds(play.up("init")) == [cmd.StartContainer, cmd.WatchContainer, cmd.SubmitStarted, cmd.ScheduleStop]
    assert (play.phase, play.pod.began_at_ms, play.pod.stop_at_ms) == (Phase.RUNNING, 5_000, 605_000)
    ran(play, ended(), ms=30_000)
    assert kinds(play.up()) == [cmd.WatchContainer]
    assert play.pod.began_at_ms == 5_000


def test_what_is_paid_for_is_used_up_before_the_main_container_ever_ran():
    play = after_init()
    play.up("init")
    assert kinds(ran(play, ev.Tick(), ms=600_000)) == [cmd.StopPod, cmd.CollectResult]
    assert (play.phase, play.pod.ending.exit_code, billed(play)) == (Phase.EXITED, OUT_OF_TIME_EXIT_CODE, 600_000)


def test_a_pod_that_an_older_agent_kept_as_starting_runs_from_its_first_container_on():
    play = after_init()
    play.up("init")
    older = dataclasses.replace(play.pod, phase=Phase.STARTING, began_at_ms=None, stop_at_ms=None, started_sent=False)
    kept = loads(Pod, dumps(older))
    play.state = dataclasses.replace(play.state, pods={1: kept})
    play.now_ms += 60_000
    found = (FoundContainer(a_handle(service="init"), running=True),)
    commands = play(ev.Recovered(found, (kept.lease,), (1,)))
    assert {cmd.SubmitStarted, cmd.ScheduleStop, cmd.WatchContainer} == set(kinds(commands))
    assert (play.phase, play.pod.began_at_ms) == (Phase.RUNNING, 5_000)


# --- the end ----------------------------------------------------------------------------------------------------------


def test_a_job_is_billed_from_its_first_container_to_the_end_of_its_main_one():
    play = after_init()
    play.up("init")
    ran(play, ended(wall_ms=30_000), ms=30_000)
    play.now_ms += 500
    play.up()
    ran(play, ended("main", wall_ms=3), ms=3_600_000)
    assert billed(play) == 30_500 + 3


def test_a_job_of_one_container_is_billed_for_the_engines_run_time():
    play = Play()
    play.up()
    ran(play, ended("main", wall_ms=700, kind=EndKind.KILLED, exit_code=137), ms=9_000)
    ran(play, ev.ContainerStarted(1, a_handle(start=2)), ms=600)
    ran(play, ended("main", 2, wall_ms=40), ms=9_000)
    assert billed(play) == 40


def test_time_that_a_host_took_from_a_job_is_not_billed():
    play = after_init()
    play.up("init")
    ran(play, ev.ContainerExited(1, "init", 1, KILLED), ms=50_000)
    play.up("init", start=2)
    ran(play, ended(start=2, wall_ms=8_000), ms=8_000)
    play.up()
    ran(play, ev.ContainerExited(1, "main", 1, KILLED), ms=20_000)
    play.up(start=2)
    ran(play, ended("main", 2, wall_ms=4_000), ms=60_000)
    assert billed(play) == 8_000 + 4_000


def test_a_helper_that_its_host_killed_beside_the_main_container_takes_nothing_from_the_bill():
    play = Play(a_service(), a_service("side"))
    play.up("main", "side")
    ran(play, ev.ContainerExited(1, "side", 1, KILLED), ms=20_000)
    ran(play, ended("main", wall_ms=30_000), ms=10_000)
    assert billed(play) == 30_000


def test_what_a_reboot_took_from_a_job_is_not_billed():
    token = DeliveredFile("token", "/run/secrets/token", None)
    play = after_init(files=(token,))
    play(ev.FileDelivered(1, "token"))
    play.up("init")
    found = (FoundContainer(a_handle(service="init"), running=False, mark="run-9"),)
    ran(play, ev.Recovered(found, (play.pod.lease,), (1,)), ms=90_000)
    ran(play, ev.FileDelivered(1, "token"), ms=3_600_000)
    play.up("init", start=2)
    ran(play, ended(start=2, wall_ms=6_000), ms=6_000)
    play.up()
    ran(play, ended("main", wall_ms=2_000), ms=2_000)
    assert billed(play) == 8_000


# --- who is to blame --------------------------------------------------------------------------------------------------


def test_a_dependency_that_failed_is_the_pods_result_with_its_exit_code():
    play = after_init()
    play.up("init")
    (collect,) = ran(play, ended(wall_ms=30_000, exit_code=3), ms=3_600_000)
    assert (type(collect), collect.handle) == (cmd.CollectResult, None)
    assert collect.note == "main waits until init is completed, but that ended with exit code 3."
    assert billed(play) == 30_000
    play(ev.ReportOutcome(1, LeaseReport.STARTED, ReportStatus.INCLUDED))
    (report,) = play(ev.ResultStored(1, DIGEST))
    assert (report.exit_code, report.usage.wall_ms) == (3, 30_000)


def test_a_dependency_that_never_gets_well_is_the_pods_result():
    play = Play(a_service(depends_on=(Dependency("db", "healthy"),)), a_service("db", healthcheck=CHECK))
    play.up("db")
    commands = ran(play, ev.HealthChanged(1, "db", 1, healthy=False), ms=40_000)
    assert kinds(commands) == [cmd.StopPod, cmd.CollectResult]
    assert (play.pod.ending.exit_code, billed(play)) == (1, 40_000)
    # The agent is killed before the result is kept: the same again.
    again = play(ev.Recovered((), (play.pod.lease,), (1,)))
    assert [one for one in again if isinstance(one, (cmd.StopPod, cmd.CollectResult))] == commands


def test_a_helper_without_attempts_left_ends_the_pod_and_the_result_is_read_from_the_main_container():
    play = Play(a_service(), a_service("side", restart=RestartPolicy("on-failure", 0)))
    play.up("main", "side")
    stop, collect = ran(play, ended("side", wall_ms=9_000, exit_code=2), ms=9_000)
    assert (type(stop), collect.handle) == (cmd.StopPod, a_handle())
    assert (play.pod.ending.exit_code, billed(play)) == (2, 9_000)


def test_too_much_disk_of_a_dependency_is_the_pods_result():
    play = after_init()
    play.up("init")
    commands = ran(play, ev.LimitExceeded(1, "too much disk"), ms=12_000)
    assert kinds(commands) == [cmd.StopPod, cmd.CollectResult]
    assert (commands[-1].handle, commands[-1].note) == (None, "too much disk")
    assert (play.pod.ending.exit_code, billed(play)) == (TOO_MUCH_EXIT_CODE, 12_000)
    # It is told again and again.
    assert play(ev.LimitExceeded(1, "too much disk")) == []


def test_a_main_container_that_cannot_run_in_its_image_is_a_result_once_something_ran():
    play = after_init()
    play.up("init")
    ran(play, ended(wall_ms=25_000), ms=25_000)
    failed = ev.DriverFailed(1, "main", HostFailure.IMAGE_CANNOT_RUN, "no such program", transient=False)
    stop, collect = play(failed)
    assert isinstance(stop, cmd.StopPod)  # It may have been made all the same.
    assert (collect.handle, collect.note) == (None, "main did not start: no such program")
    assert (play.pod.ending.exit_code, billed(play)) == (NO_PROGRAM_EXIT_CODE, 25_000)


def test_an_image_of_which_nothing_runs_gives_the_lease_back_and_nothing_is_left_time():
    play = Play(a_service(), a_service("side"))
    play(ev.PodPrepared(1))
    refused, destroyed = play(ev.DriverFailed(1, "main", HostFailure.IMAGE_CANNOT_RUN, "no program", transient=False))
    assert (refused.reason, type(destroyed)) == (HostFailure.IMAGE_CANNOT_RUN, cmd.DestroyPod)


@pytest.mark.parametrize("reason", [HostFailure.RESOURCES_UNAVAILABLE, HostFailure.DRIVER_ERROR])
def test_a_host_that_cannot_start_the_main_container_gives_the_lease_back(reason):
    play = after_init()
    play.up("init")
    ran(play, ended(), ms=1_000)
    assert play(ev.DriverFailed(1, "main", reason, "none", transient=False))[0].reason is reason


def test_an_engine_that_never_starts_the_main_container_gives_the_lease_back():
    play = after_init()
    play.up("init")
    ran(play, ended(), ms=1_000)
    failed = ev.DriverFailed(1, "main", HostFailure.DRIVER_ERROR, "busy", transient=True)
    for pause_ms in RETRY_AFTER_MS:
        assert kinds(play(failed)) == [cmd.ScheduleRetry]
        assert kinds(ran(play, ev.Tick(), ms=pause_ms)) == [cmd.StartContainer]
    assert play(failed)[0].reason is HostFailure.DRIVER_ERROR


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        (an_ending(EndKind.KILLED, 137), HostFailure.DRIVER_ERROR),
        (None, HostFailure.DRIVER_ERROR),
        (dataclasses.replace(an_ending(), no_space=True), HostFailure.RESOURCES_UNAVAILABLE),
    ],
)
def test_a_host_that_ends_a_dependency_gives_the_lease_back(ending, reason):
    play = after_init()
    play.up("init")
    for start in range(1, MAX_KILL_RESTARTS + 2):
        commands = play(ev.ContainerExited(1, "init", start, ending))
        play.up("init", start=start + 1)
        if not isinstance(commands[0], cmd.StartContainer):
            break
    assert (type(commands[0]), commands[0].reason) == (cmd.SubmitFailed, reason)


def test_a_restarting_service_that_takes_too_much_ends_between_two_runs_too():
    always = RestartPolicy("always", None)
    play = Play(a_service(restart=always), lease=a_lease(kind=TaskKind.SERVICE))
    play.up()
    play(ev.ContainerExited(1, "main", 1, KILLED), ev.ContainerStarted(1, a_handle(start=2)))
    play(ended("main", 2, exit_code=1, mark="b"))
    (collect,) = play(ev.LimitExceeded(1, "too much disk"))
    # What it left is still there.
    assert (collect.handle, play.pod.ending.exit_code) == (a_handle(start=2), TOO_MUCH_EXIT_CODE)


def test_a_container_that_is_started_anew_is_not_read_from_before_it_runs():
    play = Play()
    play.up()
    play(ev.ContainerExited(1, "main", 1, KILLED))
    (main,) = play.pod.containers
    assert (main.stage, main.handle) == (Stage.STARTING, None)
