"""Whatever happens in whatever order, and wherever the agent is killed: one container, one report, and an end."""

import dataclasses
import sys
from collections import defaultdict, deque
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

sys.path.insert(0, str(Path(__file__).parents[2] / "unit" / "agent"))

from agent_builders import HOST, MANIFEST, a_lease, an_ending

from node_agent.codec import dumps, loads
from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.machine import handle
from node_agent.core.states import AgentState, Pod
from node_agent.core.values import EndKind, Found, Handle, HostFailure, Outcome, Report

NUMBERS = (1, 2)
ENDINGS = [an_ending(kind, code) for kind, code in ((EndKind.SELF, 0), (EndKind.SELF, 1))]
FAULTS = [an_ending(EndKind.KILLED, 137), an_ending(EndKind.UNEXPLAINED, 137), None]
DIGEST = b"r" * 32


@dataclasses.dataclass
class Container:
    start: int
    ending: object = "running"


class Agents(RuleBasedStateMachine):
    """A chain, an engine and a shell, as small as they can be; the core between them is the real one."""

    def __init__(self):
        super().__init__()
        self.now_ms = 10_000
        self.state = AgentState(HOST)
        self.disk = {}
        self.queues = defaultdict(deque)
        self.watched = {}
        self.waiting_reports = []
        # The chain:
        self.live = {}
        self.opened = 0
        self.reports = defaultdict(dict)
        # The engine:
        self.containers = {}

    # --- the shell ----------------------------------------------------------------------------------------------------

    def feed(self, event):
        self.state, commands = handle(self.state, event, self.now_ms)
        self.disk = {number: dumps(pod) for number, pod in self.state.pods.items()}
        for command in commands:
            if not isinstance(command, (cmd.ScheduleStop, cmd.ScheduleRetry)):
                self.queues[command.number].append(command)

    def execute(self, number, *, fails=False):
        command = self.queues[number].popleft()
        match command:
            case cmd.FetchManifest():
                self.feed(ev.ManifestFetched(number, MANIFEST))
            case cmd.StartPod():
                self.start(number, command.spec, fails=fails)
            case cmd.WatchPod():
                self.watched[number] = command.handle
            case cmd.StopPod():
                container = self.containers.get(number)
                if container is not None and container.ending == "running":
                    container.ending = an_ending(EndKind.KILLED, 143)
            case cmd.DestroyPod() | cmd.SweepOrphan():
                self.watched.pop(number, None)
                self.containers.pop(number, None)
                self.feed(ev.Destroyed(number))
            case cmd.CollectResult():
                gone = number not in self.containers
                self.feed(ev.CollectFailed(number, "gone") if gone or fails else ev.ResultStored(number, DIGEST))
            case _:
                self.report(number, command)

    def start(self, number, spec, *, fails):
        if fails:
            self.feed(ev.DriverFailed(number, HostFailure.DRIVER_ERROR, "away", transient=True))
            return
        found = self.containers.get(number)
        if found is None or found.start < spec.start:
            lease = self.state.pods[number].lease
            done = self.reports[number, lease.created_at_ms]
            assert Report.RESULT not in done, "a container was started after its lease's result was reported"
            assert Report.FAILED not in done, "a container was started after its lease was given back"
            assert self.state.pods[number].ending is None, "a container was started after one had ended by itself"
            found = self.containers[number] = Container(spec.start)
        self.feed(ev.DriverStarted(number, Handle("fake", 1, number, found.start, "ref")))

    def report(self, number, command):
        pod = self.state.pods.get(number)
        if pod is None:
            return
        kind = {cmd.SubmitStarted: Report.STARTED, cmd.SubmitResult: Report.RESULT, cmd.SubmitFailed: Report.FAILED}
        report = kind[type(command)]
        said = self.reports[number, pod.lease.created_at_ms]
        assert said.setdefault(report, command) == command, "two different reports of one kind"
        assert not {Report.RESULT, Report.FAILED} <= said.keys(), "both a result and a failure were reported"
        assert report is not Report.RESULT or Report.STARTED in said or pod.lease.started, "a result before the start"
        self.waiting_reports.append((number, report))

    def notice_ends(self, number):
        handle_ = self.watched.get(number)
        container = self.containers.get(number)
        if handle_ is None:
            return
        if container is None or container.start != handle_.start:
            del self.watched[number]
            self.feed(ev.Exited(number, handle_.start, None))
        elif container.ending != "running":
            del self.watched[number]
            self.feed(ev.Exited(number, handle_.start, container.ending))

    # --- what may happen ----------------------------------------------------------------------------------------------

    @rule(number=st.sampled_from(NUMBERS))
    def the_chain_opens_a_lease(self, number):
        if number not in self.live:
            self.opened += 1
            self.live[number] = a_lease(number, created_at_ms=self.opened)
            self.feed(ev.LeaseAssigned(self.live[number]))

    @rule(number=st.sampled_from(NUMBERS), started=st.booleans())
    def the_chain_is_read_again(self, number, started):
        if number in self.live:
            if started:
                depletes = self.live[number].depletes_at_ms or self.now_ms + 60_000
                self.live[number] = dataclasses.replace(self.live[number], started=True, depletes_at_ms=depletes)
            self.feed(ev.LeaseAssigned(self.live[number], MANIFEST))

    @rule(number=st.sampled_from(NUMBERS))
    def the_chain_ends_a_lease(self, number):
        if number in self.live:
            del self.live[number]
            self.feed(ev.LeaseEnded(number, "Cancelled"))

    @rule(number=st.sampled_from(NUMBERS), fails=st.booleans())
    def a_command_is_executed(self, number, fails):
        if self.queues[number]:
            self.execute(number, fails=fails)

    @rule(number=st.sampled_from(NUMBERS), ending=st.sampled_from(ENDINGS + FAULTS))
    def a_container_ends(self, number, ending):
        container = self.containers.get(number)
        if container is not None and container.ending == "running":
            if ending is None:
                del self.containers[number]
            else:
                container.ending = ending

    @rule(number=st.sampled_from(NUMBERS))
    def an_end_is_noticed(self, number):
        self.notice_ends(number)

    @precondition(lambda self: self.waiting_reports)
    @rule(outcome=st.sampled_from(list(Outcome)), data=st.data())
    def a_report_has_its_outcome(self, outcome, data):
        index = data.draw(st.integers(0, len(self.waiting_reports) - 1))
        number, report = self.waiting_reports.pop(index)
        self.feed(ev.ReportOutcome(number, report, outcome))

    @rule(seconds=st.sampled_from([1, 30, 600]))
    def time_passes(self, seconds):
        self.now_ms += seconds * 1000
        self.feed(ev.Tick())

    @rule()
    def the_agent_is_killed_and_started_again(self):
        self.queues.clear()
        self.watched.clear()
        self.waiting_reports.clear()
        self.state = AgentState(HOST, {number: loads(Pod, text) for number, text in self.disk.items()})
        found = tuple(
            Found(Handle("fake", 1, number, container.start, "ref"), container.ending == "running")
            for number, container in self.containers.items()
        )
        self.feed(ev.Recovered(found, tuple(self.live.values())))

    # --- what always holds --------------------------------------------------------------------------------------------

    @invariant()
    def every_pod_is_kept_as_it_is(self):
        for number, pod in self.state.pods.items():
            assert loads(Pod, self.disk[number]) == pod

    def teardown(self):
        """Let everything that is on its way arrive; then end what still lives."""
        self.settle()
        for number in self.live:
            assert number in self.state.pods, "a live lease was forgotten"
        for number in list(self.live):
            self.the_chain_ends_a_lease(number)
        self.settle()
        assert not self.state.pods, "a pod never ends"
        assert not self.containers, "a container was left behind"

    def settle(self):
        for _ in range(200):
            # A list, so that each of them is tried in each round.
            if not any(
                [self.work_off(), self.end_containers(), self.answer_reports(), self.read_chain(), self.retry()]
            ):
                return
        raise AssertionError("it never comes to rest")

    def work_off(self):
        busy = [number for number in NUMBERS if self.queues[number]]
        for number in busy:
            while self.queues[number]:
                self.execute(number)
        return bool(busy)

    def end_containers(self):
        for container in self.containers.values():
            if container.ending == "running":
                container.ending = ENDINGS[0]
        watched = list(self.watched)
        for number in watched:
            self.notice_ends(number)
        return bool(watched)

    def answer_reports(self):
        waiting, self.waiting_reports = self.waiting_reports, []
        for number, report in waiting:
            self.feed(ev.ReportOutcome(number, report, Outcome.INCLUDED))
        return bool(waiting)

    def read_chain(self):
        new = [lease for lease in self.live.values() if lease.number not in self.state.pods]
        for lease in new:
            self.feed(ev.LeaseAssigned(lease))
        return bool(new)

    def retry(self):
        waits = any(pod.retry_at_ms is not None for pod in self.state.pods.values())
        if waits:
            self.now_ms += 30_000
            self.feed(ev.Tick())
        return waits


TestAgents = Agents.TestCase
TestAgents.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
