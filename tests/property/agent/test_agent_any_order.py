"""Whatever happens in whatever order, and wherever the agent is killed: one start, one report, and an end."""

import dataclasses
import hashlib
import sys
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import invariant, precondition, rule

sys.path.insert(0, str(Path(__file__).parents[2] / "unit" / "agent"))

from agent_builders import HOST, a_lease, an_ending
from agent_model import JOB, MANIFESTS, READ, RENTAL, SERVICE, AgentModel

from node_agent.core import events as ev
from node_agent.core.states import AgentState, Phase, Pod
from node_agent.core.values import EndKind, FoundContainer, Handle, LeaseStatus, ReportStatus, TaskKind
from node_agent.runtime.codec import loads
from tests.support.examples import examples

NUMBERS = (JOB, SERVICE, RENTAL)
KINDS = {JOB: TaskKind.JOB, SERVICE: TaskKind.SERVICE, RENTAL: TaskKind.RENTAL}
ENDINGS = [an_ending(kind, code) for kind, code in ((EndKind.SELF, 0), (EndKind.SELF, 1))]
FAULTS = [an_ending(EndKind.KILLED, 137), an_ending(EndKind.UNEXPLAINED, 137), None]
NAMES = ("main", "side", "init")


class Agents(AgentModel):
    """Leases, containers, reports, files and devices change in any order; the agent is killed at any moment."""

    # --- what may happen ----------------------------------------------------------------------------------------------

    @rule(number=st.sampled_from(NUMBERS))
    def the_chain_opens_a_lease(self, number):
        if number not in self.live:
            self.opened += 1
            digest = hashlib.sha256(MANIFESTS[number]).digest()
            self.live[number] = a_lease(number, kind=KINDS[number], manifest_digest=digest, created_at_ms=self.opened)
            self.lost.discard(number)
            self.first_run.pop(number, None)
            self.feed(ev.LeaseAssigned(self.live[number]))

    def change(self, number, **changes):
        self.live[number] = dataclasses.replace(self.live[number], **changes)
        self.feed(ev.LeaseAssigned(self.live[number], READ[number]))

    def is_running(self, number):
        held = self.live.get(number)
        return held is not None and held.status is LeaseStatus.ACTIVE

    @rule(number=st.sampled_from(NUMBERS), started=st.booleans())
    def the_chain_is_read_again(self, number, started):
        if number not in self.live:
            return
        held = self.live[number]
        if started and held.status is LeaseStatus.PENDING:
            self.change(number, started=True, status=LeaseStatus.ACTIVE, depletes_at_ms=self.now_ms + 60_000)
        else:
            self.change(number)

    @rule(number=st.sampled_from((SERVICE, RENTAL)))
    def the_tenant_pays_for_more_time(self, number):
        if self.is_running(number):
            self.change(number, depletes_at_ms=self.now_ms + 120_000)

    @rule()
    def the_tenant_stops_the_rental(self):
        if self.is_running(RENTAL):
            self.change(RENTAL, status=LeaseStatus.SUSPENDED, depletes_at_ms=self.now_ms + 600_000)

    @rule()
    def the_tenant_starts_the_rental_again(self):
        held = self.live.get(RENTAL)
        if held is not None and held.status is LeaseStatus.SUSPENDED:
            self.change(RENTAL, status=LeaseStatus.ACTIVE, depletes_at_ms=self.now_ms + 60_000)

    @rule(for_ms=st.sampled_from([0, 30_000]))
    def the_rental_ends_and_its_data_is_kept(self, for_ms):
        held = self.live.get(RENTAL)
        if held is not None and held.status in (LeaseStatus.ACTIVE, LeaseStatus.SUSPENDED):
            retained = {"retained_until_ms": self.now_ms + for_ms, "depletes_at_ms": None}
            self.change(RENTAL, status=LeaseStatus.RETAINED, **retained)

    @rule(number=st.sampled_from(NUMBERS))
    def the_chain_ends_a_lease(self, number):
        if number in self.live:
            del self.live[number]
            self.feed(ev.LeaseEnded(number, "Cancelled"))

    @rule(number=st.sampled_from(NUMBERS), fails=st.integers(0, 2))
    def a_command_is_executed(self, number, fails):
        if self.queues[number]:
            self.execute(number, fails=fails)

    @rule(number=st.sampled_from(NUMBERS))
    def commands_are_executed(self, number):
        for _ in range(5):
            self.a_command_is_executed(number, fails=0)

    @rule(number=st.sampled_from(NUMBERS))
    def a_pod_comes_up(self, number):
        for _ in range(4):
            self.commands_are_executed(number)
            self.files_are_delivered(number)
        self.a_check_says_how_a_container_is(number, healthy=True)
        self.the_chain_is_read_again(number, started=self.state.phase(number) is Phase.RUNNING)

    @rule(number=st.sampled_from(NUMBERS), ending=st.sampled_from(ENDINGS + FAULTS))
    def a_container_comes_and_goes(self, number, ending):
        for _ in range(4):
            self.a_pod_comes_up(number)
            self.a_container_ends(number, "main", ending)
            self.notice_ends(number)

    @rule(ending=st.sampled_from([*ENDINGS, *FAULTS]))
    def the_first_containers_of_a_job_come_and_go(self, ending):
        self.the_chain_opens_a_lease(JOB)
        self.a_pod_comes_up(JOB)
        self.a_container_ends(JOB, "init", ending)
        self.notice_ends(JOB)

    @rule(number=st.sampled_from(NUMBERS))
    def files_are_delivered(self, number):
        pod = self.state.pods.get(number)
        if pod is not None and pod.phase is Phase.AWAITING:
            for name in pod.awaited:
                self.files[number].add(name)
                self.feed(ev.FileDelivered(number, name))

    @rule(number=st.sampled_from(NUMBERS), name=st.sampled_from(NAMES), ending=st.sampled_from(ENDINGS + FAULTS))
    def a_container_ends(self, number, name, ending):
        key = (number, name)
        container = self.containers.get(key)
        if container is not None and container.runs:
            if ending is None:
                del self.containers[key]
            else:
                self.end(container, ending)

    @rule(number=st.sampled_from(NUMBERS))
    def an_end_is_noticed(self, number):
        self.notice_ends(number)

    @rule(number=st.sampled_from(NUMBERS), healthy=st.booleans())
    def a_check_says_how_a_container_is(self, number, healthy):
        handle_ = self.watched.get((number, "main"))
        container = self.containers.get((number, "main"))
        if handle_ is not None and container is not None and container.runs:
            self.feed(ev.HealthChanged(number, "main", handle_.start, healthy))

    @rule(number=st.sampled_from(NUMBERS))
    def a_pod_takes_too_much(self, number):
        self.feed(ev.LimitExceeded(number, "the disk is full")) if number in self.state.pods else None

    @rule()
    def a_device_fails(self):
        self.feed(ev.DevicesFailed(frozenset({0}), "it fell off the bus"))

    @rule(number=st.sampled_from(NUMBERS))
    def the_device_of_a_pod_fails(self, number):
        if number in self.live and self.live[number].status is LeaseStatus.ACTIVE:
            self.change(number, devices=(7,))
            self.feed(ev.DevicesFailed(frozenset({7}), "it fell off the bus"))

    @rule()
    def data_vanishes(self):
        if (RENTAL, "home") in self.data and self.live.get(RENTAL, a_lease()).status is LeaseStatus.RETAINED:
            pod = self.state.pods.get(RENTAL)
            if pod is not None and pod.phase in (Phase.RETIRING, Phase.RETAINED) and pod.has_data:
                self.lost.add(RENTAL)
                self.purge(RENTAL)

    @precondition(lambda self: self.waiting_reports)
    @rule(outcome=st.sampled_from(list(ReportStatus)), data=st.data())
    def a_report_has_its_outcome(self, outcome, data):
        index = data.draw(st.integers(0, len(self.waiting_reports) - 1))
        number, report = self.waiting_reports.pop(index)
        self.feed(ev.ReportOutcome(number, report, outcome))

    @rule(seconds=st.sampled_from([1, 30, 600]))
    def time_passes(self, seconds):
        self.now_ms += seconds * 1000
        self.feed(ev.Tick())

    @rule(reboot=st.booleans())
    def the_agent_is_killed_and_started_again(self, reboot):
        self.queues.clear()
        self.watched.clear()
        self.waiting_reports.clear()
        if reboot:
            for container in self.containers.values():
                self.end(container, an_ending(EndKind.KILLED, 137))
            self.files.clear()
        self.state = AgentState(HOST, {number: loads(Pod, text) for number, text in self.disk.items()})
        found = tuple(
            FoundContainer(
                Handle("fake", 2, number, name, one.start, "ref"), one.runs, "" if one.runs else one.ending.mark
            )
            for (number, name), one in self.containers.items()
        )
        leftovers = tuple({number for number, _ in [*self.containers, *self.data]})
        files = tuple((number, tuple(names)) for number, names in self.files.items())
        self.feed(ev.Recovered(found, tuple(self.live.values()), leftovers, (), files))

    # --- what always holds --------------------------------------------------------------------------------------------

    @invariant()
    def every_pod_is_kept_as_it_is(self):
        for number, pod in self.state.pods.items():
            assert loads(Pod, self.disk[number]) == pod

    @invariant()
    def what_runs_is_told_to_the_chain_and_ends_in_time(self):
        for pod in self.state.pods.values():
            ran = [one for one in pod.containers if one.ran]
            assert bool(ran) == (pod.phase is Phase.RUNNING) or pod.phase not in (Phase.STARTING, Phase.RUNNING)
            assert not ran or pod.started_sent or pod.started_known
            assert not ran or (pod.began_at_ms is not None and pod.stop_at_ms is not None)

    @invariant()
    def a_pod_that_is_stopped_has_nothing_running(self):
        for number, pod in self.state.pods.items():
            if pod.phase in (Phase.SUSPENDED, Phase.RETAINED, Phase.PURGED):
                assert not [key for key, one in self.containers.items() if key[0] == number and one.runs]

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
        assert not self.data, "data was left behind"

    def settle(self):
        for _ in range(300):
            # A list, so that each of them is tried in each round.
            if not any(
                [
                    self.work_off(),
                    self.deliver_all(),
                    self.end_containers(),
                    self.answer_reports(),
                    self.read_chain(),
                    self.retry(),
                ]
            ):
                return
        raise AssertionError("it never comes to rest")

    def work_off(self):
        busy = [number for number in NUMBERS if self.queues[number]]
        for number in busy:
            while self.queues[number]:
                self.execute(number)
        return bool(busy)

    def deliver_all(self):
        waits = [number for number, pod in self.state.pods.items() if pod.phase is Phase.AWAITING]
        for number in waits:
            self.files_are_delivered(number)
        return bool(waits)

    def end_containers(self):
        self.a_check_says_how_a_container_is(SERVICE, healthy=True)
        for (number, _), container in self.containers.items():
            # Rentals are for ever; they rest while they run.
            if number != RENTAL:
                self.end(container, ENDINGS[0])
        ended = [key for key in self.watched if key not in self.containers or not self.containers[key].runs]
        for number in {key[0] for key in ended}:
            self.notice_ends(number)
        return bool(ended)

    def answer_reports(self):
        waiting, self.waiting_reports = self.waiting_reports, []
        for number, report in waiting:
            self.feed(ev.ReportOutcome(number, report, ReportStatus.INCLUDED))
        return bool(waiting)

    def read_chain(self):
        new = [lease for lease in self.live.values() if lease.number not in self.state.pods]
        for lease in new:
            self.feed(ev.LeaseAssigned(lease))
        return bool(new)

    def retry(self):
        pods = self.state.pods.values()
        waits = [pod.retry_at_ms for pod in pods] + [one.retry_at_ms for pod in pods for one in pod.containers]
        due = [at_ms for at_ms in waits if at_ms is not None]
        if due:
            self.now_ms = max(self.now_ms, min(due))
            before = self.state
            self.feed(ev.Tick())
            return self.state is not before and self.state != before
        return False


TestAgents = Agents.TestCase
TestAgents.settings = settings(max_examples=examples(150), stateful_step_count=40, deadline=None)
