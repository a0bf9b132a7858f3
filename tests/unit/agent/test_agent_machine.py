"""The agent's pure core, move by move."""

from pathlib import Path

import pytest
from agent_builders import MANIFEST, USAGE, Player, a_handle, a_lease, an_ending

from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.admission import read_manifest
from node_agent.core.container_events import OUT_OF_TIME_EXIT_CODE
from node_agent.core.containers import MAX_KILL_RESTARTS
from node_agent.core.pod_steps import RETRY_AFTER_MS
from node_agent.core.states import TABLE, IllegalMove, Phase, diagram
from node_agent.core.values import (
    EndKind,
    FoundContainer,
    HostFailure,
    LeaseReport,
    LeaseStatus,
    ReportStatus,
    TaskKind,
)

DIGEST = b"d" * 32
READ = read_manifest(MANIFEST)
GPU = MANIFEST.replace(
    b"pids: 32}",
    b"pids: 32}\n        reservations: {devices: [{driver: nvidia, count: 1, capabilities: [gpu]}]}",
).replace(b"duration", b"placement: {allow_simulated: true}\n  duration")


class Play(Player):
    def pod(self, number=1):
        return self.state.pods[number]

    def kinds(self):
        return [type(command) for command in self.commands]


def running(play, lease=None):
    play(ev.LeaseAssigned(lease or a_lease(), READ), ev.PodPrepared(1), ev.ContainerStarted(1, a_handle()))


def exit_with(play, ending, start=1):
    return play(ev.ContainerExited(1, "main", start, ending))


def test_a_job_from_assignment_to_the_end_of_its_lease():
    play = Play()
    play(ev.LeaseAssigned(a_lease()))
    assert play.commands == [cmd.FetchManifest(1, 101)]
    play(ev.ManifestFetched(1, READ))
    (prepare,) = play.commands
    assert prepare.spec.main.service.command == ("sh", "-c", "echo hello")
    assert play(ev.PodPrepared(1)) == [cmd.StartContainer(1, prepare.spec, "main", 1)]
    play(ev.ContainerStarted(1, a_handle()))
    assert play.commands == [cmd.WatchContainer(1, a_handle()), cmd.SubmitStarted(1), cmd.ScheduleStop(1, 605_000)]
    exit_with(play, an_ending())
    assert play.commands == [cmd.CollectResult(1, a_handle(), prepare.spec.result)]
    play(ev.ReportOutcome(1, LeaseReport.STARTED, ReportStatus.INCLUDED), ev.ResultStored(1, DIGEST))
    assert play.commands == [cmd.SubmitResult(1, DIGEST, 0, USAGE)]
    play(ev.ReportOutcome(1, LeaseReport.RESULT, ReportStatus.INCLUDED))
    assert (play.commands, play.pod().phase) == ([cmd.DestroyPod(1)], Phase.DONE)
    play(ev.PodDestroyed(1), ev.LeaseEnded(1, "Completed"), ev.PodDestroyed(1))
    assert not play.state.pods


def test_the_result_waits_until_the_chain_has_the_start():
    play = Play()
    running(play)
    exit_with(play, an_ending())
    assert play(ev.ResultStored(1, DIGEST)) == []
    assert play(ev.ReportOutcome(1, LeaseReport.STARTED, ReportStatus.FAILED)) == [
        cmd.SubmitResult(1, DIGEST, 0, USAGE)
    ]


def test_the_start_may_be_learned_from_the_chain_instead():
    play = Play()
    running(play)
    exit_with(play, an_ending())
    play(ev.ResultStored(1, DIGEST))
    play(ev.LeaseAssigned(a_lease(started=True, depletes_at_ms=700_000)))
    assert play.commands == [cmd.ScheduleStop(1, 700_000), cmd.SubmitResult(1, DIGEST, 0, USAGE)]


@pytest.mark.parametrize("code", [0, 1, 3, 127, 255])
def test_any_exit_code_of_the_program_is_a_result(code):
    play = Play()
    running(play)
    exit_with(play, an_ending(exit_code=code))
    assert play.kinds() == [cmd.CollectResult]


@pytest.mark.parametrize("ending", [an_ending(EndKind.KILLED, 137), None])
def test_a_container_killed_or_removed_by_others_is_started_again_then_given_back(ending):
    play = Play()
    running(play)
    for start in range(2, 2 + MAX_KILL_RESTARTS):
        (again,) = exit_with(play, ending, start - 1)
        assert (again.start, again.follows) == (start, "")
        play(ev.ContainerStarted(1, a_handle(start=start)))
        assert cmd.SubmitStarted not in play.kinds()
    exit_with(play, ending, 1 + MAX_KILL_RESTARTS)
    assert play.kinds() == [cmd.SubmitFailed, cmd.DestroyPod]
    assert play.commands[0].reason is HostFailure.DRIVER_ERROR


def test_an_unexplained_kill_code_is_tried_once_more_and_then_believed():
    play = Play()
    running(play)
    exit_with(play, an_ending(EndKind.UNEXPLAINED, 137))
    assert play.kinds() == [cmd.StartContainer]
    play(ev.ContainerStarted(1, a_handle(start=2)))
    exit_with(play, an_ending(EndKind.UNEXPLAINED, 137), start=2)
    assert play.kinds() == [cmd.CollectResult]
    # Both runs are paid for: a tenant could have ended the first one so.
    ending = play.pod().ending
    assert ending is not None
    assert ending.usage.wall_ms == 2 * USAGE.wall_ms


def test_the_end_of_an_earlier_start_is_ignored():
    play = Play()
    running(play)
    exit_with(play, None)
    play(ev.ContainerStarted(1, a_handle(start=2)))
    assert exit_with(play, an_ending(), start=1) == []
    assert play.pod().phase is Phase.RUNNING


def test_a_job_at_the_end_of_its_time_is_stopped_and_has_a_result():
    play = Play()
    running(play, a_lease(started=True, depletes_at_ms=9_000))
    play.now_ms = 8_999
    assert play(ev.Tick()) == []
    play.now_ms = 9_000
    play(ev.Tick())
    assert play.kinds() == [cmd.StopPod, cmd.CollectResult]
    assert exit_with(play, an_ending(EndKind.KILLED, 137)) == []
    pod = play.pod()
    assert pod.phase is Phase.EXITED
    assert pod.ending is not None
    assert (pod.ending.kind, pod.ending.exit_code) == (EndKind.SELF, OUT_OF_TIME_EXIT_CODE)
    play(ev.LeaseEnded(1, "DurationExceeded"), ev.PodDestroyed(1))
    assert not play.state.pods


def test_a_cancelled_lease_stops_its_container():
    play = Play()
    running(play)
    play(ev.LeaseEnded(1, "Cancelled"))
    assert play.commands == [cmd.StopPod(1, "Cancelled"), cmd.DestroyPod(1)]
    play(
        ev.ContainerExited(1, "main", 1, an_ending(EndKind.KILLED, 143)),
        ev.ReportOutcome(1, LeaseReport.STARTED, ReportStatus.INCLUDED),
    )
    assert play.commands == []
    play(ev.PodDestroyed(1))
    assert not play.state.pods


def test_a_lease_that_ends_while_its_container_is_started():
    play = Play()
    play(ev.LeaseAssigned(a_lease(), READ), ev.PodPrepared(1), ev.LeaseEnded(1, "StartTimeout"))
    assert play.kinds() == [cmd.PreparePod, cmd.StartContainer, cmd.StopPod, cmd.DestroyPod]
    assert play(ev.ContainerStarted(1, a_handle())) == []
    play(ev.PodDestroyed(1))
    assert not play.state.pods


@pytest.mark.parametrize(
    ("lease", "manifest", "reason", "says"),
    [
        (a_lease(), None, HostFailure.MANIFEST_INVALID, "keeps no manifest"),
        (a_lease(manifest=b"other"), MANIFEST, HostFailure.MANIFEST_INVALID, "SHA-256"),
        (a_lease(manifest=b"{"), b"{", HostFailure.MANIFEST_INVALID, "manifest:1"),
        (a_lease(cpu_milli=499), MANIFEST, HostFailure.MANIFEST_INVALID, "500 cpu_milli"),
        (a_lease(memory_mib=63), MANIFEST, HostFailure.MANIFEST_INVALID, "64 MiB"),
        (a_lease(disk_gib=0), MANIFEST, HostFailure.MANIFEST_INVALID, "1 GiB of disk"),
        (a_lease(devices=(0,)), MANIFEST, HostFailure.MANIFEST_INVALID, "ask for 0 GPUs"),
        (a_lease(kind=TaskKind.SERVICE), MANIFEST, HostFailure.MANIFEST_INVALID, "is of a job"),
        (a_lease(redundant=True), MANIFEST, HostFailure.MANIFEST_INVALID, "the manifest does not ask for that"),
        (a_lease(devices=(0,), gpu_milli=999, manifest=GPU), GPU, HostFailure.MANIFEST_INVALID, "the lease is for 999"),
        (a_lease(devices=(2,), manifest=GPU), GPU, HostFailure.RESOURCES_UNAVAILABLE, "device 2"),
    ],
)
def test_a_lease_that_cannot_be_served_is_given_back(lease, manifest, reason, says):
    play = Play()
    play(ev.LeaseAssigned(lease), ev.ManifestFetched(1, None if manifest is None else read_manifest(manifest)))
    refusal = play.commands[1]
    assert (type(refusal), refusal.reason) == (cmd.SubmitFailed, reason)
    assert says in refusal.message
    play(ev.ReportOutcome(1, LeaseReport.FAILED, ReportStatus.INCLUDED))
    assert play.pod().phase is Phase.REFUSED


def test_devices_of_the_lease_reach_the_driver():
    play = Play()
    manifest = GPU.replace(b"count: 1", b"count: 2")
    (prepare,) = play(ev.LeaseAssigned(a_lease(devices=(0, 1), manifest=manifest), read_manifest(manifest)))
    assert (prepare.spec.main.gpu_uuids, prepare.spec.main.simulated_gpus) == (("GPU-1",), 1)


def test_a_lasting_failure_to_start_gives_the_lease_back():
    play = Play()
    play(ev.LeaseAssigned(a_lease(), READ))
    play(ev.DriverFailed(1, None, HostFailure.IMAGE_UNAVAILABLE, "no such image", transient=False))
    assert play.commands[0] == cmd.SubmitFailed(1, HostFailure.IMAGE_UNAVAILABLE, "no such image")


def test_a_passing_failure_to_start_is_retried_with_pauses_then_given_back():
    play = Play()
    play(ev.LeaseAssigned(a_lease(), READ))
    failed = ev.DriverFailed(1, None, HostFailure.DRIVER_ERROR, "engine away", transient=True)
    for pause_ms in RETRY_AFTER_MS:
        assert play(failed) == [cmd.ScheduleRetry(1, play.now_ms + pause_ms)]
        assert play(ev.Tick()) == []
        play.now_ms += pause_ms
        play(ev.Tick())
        assert play.kinds() == [cmd.PreparePod]
    play(failed)
    assert play.kinds() == [cmd.SubmitFailed, cmd.DestroyPod]


def test_a_result_that_cannot_be_kept_is_retried_then_given_back():
    play = Play()
    running(play)
    exit_with(play, an_ending())
    for pause_ms in RETRY_AFTER_MS:
        play(ev.CollectFailed(1, "disk full"))
        play.now_ms += pause_ms
        play(ev.Tick())
        assert play.kinds() == [cmd.CollectResult]
    play(ev.CollectFailed(1, "disk full"))
    assert play.commands[0].reason is HostFailure.DRIVER_ERROR


def test_a_reused_lease_number_is_another_lease():
    play = Play()
    running(play)
    other = a_lease(created_at_ms=2_000, tenant="5Other")
    play(ev.LeaseAssigned(other, READ))
    assert play.kinds() == [cmd.StopPod, cmd.DestroyPod]
    play(ev.PodDestroyed(1))
    (prepare,) = play(ev.LeaseAssigned(other, READ))
    assert isinstance(prepare, cmd.PreparePod)


def test_the_pod_of_a_lease_that_another_fork_opened_again_goes_on_and_its_start_is_reported_again():
    play = Play()
    running(play)
    play(ev.LeaseAssigned(a_lease(created_at_ms=2_000, start_by_ms=9_000), READ))
    assert play.kinds() == [cmd.SubmitStarted]
    assert play.pod().phase is Phase.RUNNING
    assert play.pod().lease.created_at_ms == 2_000
    exit_with(play, an_ending())
    play(ev.ResultStored(1, DIGEST))
    assert play.kinds() == []
    play(ev.LeaseAssigned(a_lease(created_at_ms=2_000, started=True, status=LeaseStatus.ACTIVE), READ))
    assert play.kinds() == [cmd.SubmitResult]


def test_a_result_is_reported_again_for_a_lease_that_another_fork_opened_again():
    play = Play()
    running(play)
    exit_with(play, an_ending())
    play(ev.LeaseAssigned(a_lease(created_at_ms=1_500), READ))
    assert play.kinds() == [cmd.SubmitStarted]
    play(ev.ResultStored(1, DIGEST))
    play(ev.LeaseAssigned(a_lease(created_at_ms=1_500, started=True, status=LeaseStatus.ACTIVE), READ))
    assert play.kinds() == [cmd.SubmitResult]
    play(ev.LeaseAssigned(a_lease(created_at_ms=2_000), READ))
    assert play.kinds() == [cmd.SubmitStarted]
    play(ev.LeaseAssigned(a_lease(created_at_ms=2_000, started=True, status=LeaseStatus.ACTIVE), READ))
    assert play.kinds() == [cmd.SubmitResult]


def test_an_orphan_is_swept():
    play = Play()
    assert play(ev.OrphanFound(9)) == [cmd.SweepOrphan(9)]
    assert play(ev.PodDestroyed(9)) == []


def test_an_illegal_move_raises_and_changes_nothing():
    play = Play()
    running(play)
    before = play.state
    with pytest.raises(IllegalMove, match="lease 1: ResultStored in phase Running") as caught:
        play(ev.ResultStored(1, DIGEST))
    assert play.state is before
    assert "LeaseAssigned: Absent -> Preparing" in str(caught.value)


# --- after a restart --------------------------------------------------------------------------------------------------


def restarted(play, *leases, found=()):
    play(ev.Recovered(tuple(found), leases))
    return play.commands


def test_a_running_pod_is_watched_again_and_its_start_reported_again():
    play = Play()
    running(play)
    again = restarted(play, a_lease(), found=[FoundContainer(a_handle(), running=True)])
    assert again == [cmd.SubmitStarted(1), cmd.ScheduleStop(1, 605_000), cmd.WatchContainer(1, a_handle())]


def test_a_pod_is_started_again_where_the_agent_died_while_starting_it():
    play = Play()
    (prepare,) = play(ev.LeaseAssigned(a_lease(), READ))
    assert restarted(play, a_lease()) == [prepare]
    (start,) = play(ev.PodPrepared(1))
    assert restarted(play, a_lease()) == [start]


def test_a_late_result_is_reported_again():
    play = Play()
    running(play)
    exit_with(play, an_ending())
    report = play(ev.ReportOutcome(1, LeaseReport.STARTED, ReportStatus.INCLUDED), ev.ResultStored(1, DIGEST))
    assert restarted(play, a_lease(started=True)) == report


def test_a_lease_that_ended_meanwhile_loses_its_container():
    play = Play()
    running(play)
    restarted(play, found=[FoundContainer(a_handle(), running=True)])
    assert play.kinds() == [cmd.StopPod, cmd.DestroyPod]


def test_a_new_lease_and_an_orphan_found_at_start():
    play = Play()
    again = restarted(play, a_lease(2), found=[FoundContainer(a_handle(7), running=True)])
    assert again == [cmd.FetchManifest(2, 102), cmd.SweepOrphan(7)]


def test_a_pod_that_is_done_is_not_run_again():
    play = Play()
    running(play)
    exit_with(play, an_ending())
    play(
        ev.ReportOutcome(1, LeaseReport.STARTED, ReportStatus.INCLUDED),
        ev.ResultStored(1, DIGEST),
        ev.ReportOutcome(1, LeaseReport.RESULT, ReportStatus.INCLUDED),
    )
    assert restarted(play, a_lease(started=True)) == [cmd.DestroyPod(1)]


# --- the table --------------------------------------------------------------------------------------------------------


def test_every_phase_but_the_last_leads_on_and_an_ended_lease_always_leaves():
    assert set(TABLE) == set(Phase)
    for phase in set(Phase) - {Phase.ABSENT}:
        assert TABLE[phase][ev.LeaseEnded] == {Phase.ENDING}
    assert TABLE[Phase.ENDING][ev.PodDestroyed] == {Phase.ABSENT}


def test_the_diagram_has_every_phase_and_the_documentation_has_the_diagram():
    text = diagram()
    assert text in (Path(__file__).parents[3] / "docs" / "agent.md").read_text(encoding="utf-8")
    assert text.startswith("stateDiagram-v2")
    assert all(phase.value in text for phase in Phase)
