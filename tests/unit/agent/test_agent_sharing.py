"""Shares of a GPU on a host: beside pods of the same account at once, after those of another when they are gone."""

from agent_builders import HOST, MANIFEST, Player, a_handle, a_lease

from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.admission import read_manifest
from node_agent.core.pod_steps import RETRY_AFTER_MS
from node_agent.core.states import AgentState, Phase
from node_agent.core.values import FoundContainer, HostFailure, LeaseReport, ReportStatus
from node_agent.drivers.docker.spec import environment

WHOLE = MANIFEST.replace(
    b"pids: 32}",
    b"pids: 32}\n        reservations: {devices: [{count: 1, capabilities: [gpu]}]}",
)
SHARE = WHOLE.replace(b"duration", b"gpu: {share: 25%}\n  duration")


class Play(Player):
    def assigned(self, number, tenant, *, device=1, milli=250):
        manifest = WHOLE if milli == 1000 else SHARE
        lease = a_lease(number, devices=(device,), gpu_milli=milli, tenant=tenant, manifest=manifest)
        return self(ev.LeaseAssigned(lease, read_manifest(manifest)))

    def run(self, number):
        self(ev.PodPrepared(number), ev.ContainerStarted(number, a_handle(number)))

    def retry(self):
        pods = self.state.pods.values()
        self.now_ms = max(pod.retry_at_ms for pod in pods if pod.retry_at_ms is not None)
        return [type(one) for one in self(ev.Tick())]


def test_pods_of_one_account_are_on_one_device_at_once():
    play = Play()
    for number in (1, 2, 3):
        (prepare,) = play.assigned(number, "alice")
        assert prepare.spec.main.gpu_uuids == ("GPU-1",)
        assert environment(prepare.spec, prepare.spec.main)["GANTRY_GPU_SHARE"] == "0.25"
        play.run(number)
    assert {pod.phase for pod in play.state.pods.values()} == {Phase.RUNNING}


def test_a_whole_device_has_no_share_and_neither_has_a_container_without_one():
    play = Play()
    for lease, manifest in (
        (a_lease(1, devices=(1,), manifest=WHOLE), WHOLE),
        (a_lease(2, gpu_milli=250), MANIFEST),
    ):
        (prepare,) = play(ev.LeaseAssigned(lease, read_manifest(manifest)))
        assert "GANTRY_GPU_SHARE" not in environment(prepare.spec, prepare.spec.main)


def test_a_share_waits_until_the_pod_of_another_account_is_gone():
    play = Play()
    play.assigned(1, "alice")
    play.run(1)
    (later,) = play.assigned(2, "bob")
    assert later == cmd.ScheduleRetry(2, play.now_ms + RETRY_AFTER_MS[0])
    # Its lease is over, its containers are not yet.
    play(ev.LeaseEnded(1, "Completed"))
    assert play.retry() == [cmd.ScheduleRetry]
    play(ev.PodDestroyed(1))
    assert play.retry() == [cmd.PreparePod]


def test_a_pod_waits_until_the_containers_of_a_refused_pod_are_removed():
    play = Play()
    play.assigned(1, "alice")
    play.run(1)
    play(
        ev.DevicesFailed(frozenset({1}), "it was gone"), ev.ReportOutcome(1, LeaseReport.FAILED, ReportStatus.INCLUDED)
    )
    assert play.state.phase(1) is Phase.REFUSED
    assert [type(one) for one in play.assigned(2, "bob")] == [cmd.ScheduleRetry]
    play(ev.LeaseEnded(1, "HostRefused"), ev.PodDestroyed(1))
    assert play.retry() == [cmd.PreparePod]


def test_a_waiting_pod_waits_again_after_a_restart_of_the_agent():
    play = Play()
    play.assigned(1, "alice")
    play.run(1)
    (later,) = play.assigned(2, "bob")
    live = tuple(pod.lease for pod in play.state.pods.values())
    assert later in play(ev.Recovered((FoundContainer(a_handle(1), running=True),), live))
    assert play.state.phase(2) is Phase.ASSIGNED
    assert play.retry() == [cmd.ScheduleRetry]


def test_a_lease_is_given_back_where_another_account_stays_on_its_device():
    play = Play()
    play.assigned(1, "alice")
    play.run(1)
    play.assigned(2, "bob")
    for _ in RETRY_AFTER_MS[1:]:
        assert play.retry() == [cmd.ScheduleRetry]
    assert play.retry() == [cmd.SubmitFailed, cmd.DestroyPod]
    assert play.commands[0].reason is HostFailure.RESOURCES_UNAVAILABLE
    assert play.state.phase(1) is Phase.RUNNING


def test_a_whole_device_waits_for_shares_of_others_too_and_nobody_waits_for_other_devices():
    play = Play()
    play.assigned(1, "alice")
    assert [type(one) for one in play.assigned(2, "bob", milli=1000)] == [cmd.ScheduleRetry]
    assert [type(one) for one in play.assigned(3, "bob", device=0)] == [cmd.PreparePod]


def test_a_rental_that_was_stopped_holds_no_device():
    play = Play()
    play.assigned(1, "alice")
    play.run(1)
    play(ev.Tick())
    stopped = play.state.pods[1]
    play.state = AgentState(HOST, {1: stopped.to(Phase.SUSPENDED)})
    assert [type(one) for one in play.assigned(2, "bob")] == [cmd.PreparePod]
