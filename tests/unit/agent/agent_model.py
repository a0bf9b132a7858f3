"""A model of what surrounds the agent's core, for random tests: a chain, an engine and a shell."""

import dataclasses
from collections import defaultdict, deque

from agent_builders import HOST, an_ending
from hypothesis.stateful import RuleBasedStateMachine

from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.admission import read_manifest
from node_agent.core.machine import handle
from node_agent.core.states import AgentState, Phase
from node_agent.core.values import EndKind, Handle, HostFailure, LeaseReport, LeaseStatus
from node_agent.runtime.codec import dumps

JOB, SERVICE, RENTAL = 1, 2, 3
IMAGE = b"demo/shell@sha256:" + b"1" * 64
LIMITS = b"deploy: {resources: {limits: {cpus: '0.1', memory: 16M}}}"
TOP = b"x-gantry: {kind: %s, price: {max_per_hour: 1 GTY}, duration: 10m}\n"
MANIFESTS = {
    JOB: b"""
services:
  main:
    image: %s
    depends_on: {side: {condition: service_started}, init: {condition: service_completed_successfully}}
    %s
  side: {image: %s, %s}
  init: {image: %s, %s}
"""
    % ((IMAGE, LIMITS) * 3)
    + TOP % b"job",
    SERVICE: b"""
services:
  main:
    image: %s
    restart: on-failure:2
    healthcheck: {test: [CMD, "true"], interval: 5s, timeout: 1s, retries: 2}
    secrets: [token]
    %s
secrets: {token: {external: true}}
"""
    % (IMAGE, LIMITS)
    + TOP % b"service",
    RENTAL: b"""
services:
  main: {image: %s, restart: always, volumes: ["home:/home"], %s}
volumes: {home: {}}
"""
    % (IMAGE, LIMITS)
    + TOP % b"rental",
}
READ = {number: read_manifest(manifest) for number, manifest in MANIFESTS.items()}
HOSTS_FAULTS = (HostFailure.DRIVER_ERROR, HostFailure.RESOURCES_UNAVAILABLE)
FILES = {SERVICE: ("token",)}
FAILURES = ((HostFailure.DRIVER_ERROR, "away", True), (HostFailure.IMAGE_CANNOT_RUN, "no such program", False))
"""Of a start."""
DIGEST = b"r" * 32
RECEIPT = b"p" * 32


@dataclasses.dataclass
class Container:
    start: int
    ending: object = None
    healthy: object = None

    @property
    def runs(self):
        return self.ending is None


class AgentModel(RuleBasedStateMachine):
    """A chain, an engine and a shell, as small as they can be; the core between them is the real one."""

    def __init__(self):
        super().__init__()
        self.now_ms = 10_000
        self.state = AgentState(HOST)
        self.disk = {}
        self.queues = defaultdict(deque)
        self.watched = {}
        self.waiting_reports = []
        self.files = defaultdict(set)
        # The chain:
        self.live = {}
        self.opened = 0
        self.reports = defaultdict(dict)
        # The engine:
        self.marks = 0
        self.containers = {}
        self.data = {}
        self.lost = set()
        self.first_run = {}

    # --- the shell ----------------------------------------------------------------------------------------------------

    def feed(self, event):
        self.state, commands = handle(self.state, event, self.now_ms)
        self.disk = {number: dumps(pod) for number, pod in self.state.pods.items()}
        for command in commands:
            if not isinstance(command, (cmd.ScheduleStop, cmd.ScheduleRetry)):
                self.queues[command.number].append(command)

    def execute(self, number, *, fails=False):  # noqa: C901, PLR0912
        command = self.queues[number].popleft()
        match command:
            case cmd.FetchManifest():
                self.feed(ev.ManifestFetched(number, READ[number]))
            case cmd.PrefetchImages() | cmd.WriteNotice():
                pass
            case cmd.PreparePod():
                assert set(FILES.get(number, ())) <= self.files[number], "a pod is prepared before its files are there"
                if fails:
                    self.feed(ev.DriverFailed(number, None, HostFailure.DRIVER_ERROR, "away", transient=True))
                    return
                for name in command.spec.volumes:
                    self.data.setdefault((number, name), self.state.pods[number].lease.created_at_ms)
                self.feed(ev.PodPrepared(number))
            case cmd.StartContainer():
                self.start(command, fails=fails)
            case cmd.WatchContainer():
                self.watched[number, command.handle.service] = command.handle
            case cmd.StopContainer():
                self.end(self.containers.get((number, command.handle.service)), an_ending(EndKind.KILLED, 143))
            case cmd.StopPod():
                self.stop(number)
            case cmd.PausePod():
                self.unwatch(number)
                self.stop(number)
                marks = [(name, one.ending.mark) for (lease, name), one in self.containers.items() if lease == number]
                self.feed(ev.PodPaused(number, tuple(marks)))
            case cmd.DestroyPod() | cmd.SweepOrphan():
                self.destroy(number, keep_data=command.keep_data)
            case cmd.CollectResult():
                gone = command.handle is not None and (number, "main") not in self.containers
                self.feed(ev.CollectFailed(number, "gone") if gone or fails else ev.ResultStored(number, DIGEST))
            case cmd.TakeInventory():
                missing = tuple(name for name in command.volumes if (number, name) not in self.data)
                self.feed(ev.DataFound(number, RECEIPT, missing))
            case cmd.PurgeData():
                lease = self.state.pods[number].lease
                assert lease.retained_until_ms is not None
                assert lease.retained_until_ms < self.now_ms or number in self.lost, "data was deleted too early"
                self.purge(number)
                self.feed(ev.DataPurged(number))
            case _:
                self.report(number, command)

    def start(self, command, *, fails):
        number, name = command.number, command.service
        if fails:
            self.feed(ev.DriverFailed(number, name, *FAILURES[fails - 1]))
            return
        found = self.containers.get((number, name))
        fresh = found is None or (not command.follows and found.start < command.start)
        again = found is not None and not found.runs and found.ending.mark == command.follows
        pod = self.state.pods.get(number)
        if fresh or again:
            assert not [one for key, one in self.containers.items() if key == (number, name) and one.runs and fresh], (
                "a container was replaced while it ran"
            )
            if pod is not None and pod.phase in (Phase.STARTING, Phase.RUNNING):
                said = self.reports[number, pod.lease.created_at_ms]
                assert LeaseReport.RESULT not in said, "a container was started after its lease's result was reported"
                assert LeaseReport.FAILED not in said, "a container was started after its lease was given back"
            found = self.containers[number, name] = Container(command.start)
            self.first_run.setdefault(number, self.now_ms)
        self.feed(ev.ContainerStarted(number, Handle("fake", 2, number, name, max(found.start, command.start), "ref")))

    def stop(self, number):
        for (lease, _), container in self.containers.items():
            if lease == number:
                self.end(container, an_ending(EndKind.KILLED, 143))

    def end(self, container, ending):
        if container is not None and container.runs:
            self.marks += 1
            container.ending = dataclasses.replace(ending, mark=f"mark-{self.marks}")

    def unwatch(self, number):
        for key in [key for key in self.watched if key[0] == number]:
            del self.watched[key]

    def destroy(self, number, *, keep_data):
        self.unwatch(number)
        for key in [key for key in self.containers if key[0] == number]:
            del self.containers[key]
        self.files.pop(number, None)
        if not keep_data:
            held = self.live.get(number)
            mine = held is not None and self.data.get((number, "home")) == held.created_at_ms
            assert not (mine and held.status is LeaseStatus.RETAINED), "retained data was removed with its pod"
            assert not (mine and held.status is LeaseStatus.SUSPENDED), "a stopped rental lost its data"
            self.purge(number)
        self.feed(ev.PodDestroyed(number))

    def purge(self, number):
        for key in [key for key in self.data if key[0] == number]:
            del self.data[key]

    def report(self, number, command):
        pod = self.state.pods.get(number)
        if pod is None:
            return
        kind = {
            cmd.SubmitStarted: LeaseReport.STARTED,
            cmd.SubmitResult: LeaseReport.RESULT,
            cmd.SubmitFailed: LeaseReport.FAILED,
            cmd.SubmitPurged: LeaseReport.PURGED,
            cmd.SubmitDataLost: LeaseReport.DATA_LOST,
        }
        report = kind[type(command)]
        if report is LeaseReport.PURGED:
            assert (number, "home") not in self.data, "a receipt for data that is still there"
            command = dataclasses.replace(command, attempt=0)
        said = self.reports[number, pod.lease.created_at_ms]
        assert said.setdefault(report, command) == command, "two different reports of one kind"
        assert not {LeaseReport.RESULT, LeaseReport.FAILED} <= said.keys(), "both a result and a failure were reported"
        assert not {LeaseReport.PURGED, LeaseReport.DATA_LOST} <= said.keys(), "data both deleted and lost"
        assert report is not LeaseReport.RESULT or LeaseReport.STARTED in said or pod.lease.started, (
            "a result before the start"
        )
        if report is LeaseReport.RESULT:
            most_ms = max(self.now_ms - self.first_run[number], pod.containers[0].used.wall_ms)
            assert pod.ending.usage.wall_ms <= most_ms, "more time is billed than there was"
        if report is LeaseReport.FAILED and pod.began_at_ms is not None and number == JOB:
            assert command.reason in HOSTS_FAULTS, "what a job's tenant did is billed nothing"
        assert report is not LeaseReport.DATA_LOST or number in self.lost, "data that is there was called lost"
        self.waiting_reports.append((number, report))

    def notice_ends(self, number):
        for key, handle_ in [item for item in self.watched.items() if item[0][0] == number]:
            container = self.containers.get(key)
            if container is None:
                del self.watched[key]
                self.feed(ev.ContainerExited(number, key[1], handle_.start, None))
            elif not container.runs:
                del self.watched[key]
                self.feed(ev.ContainerExited(number, key[1], handle_.start, container.ending))
