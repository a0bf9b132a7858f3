"""Whatever the chain opens and ends, and however long the engine takes: nobody has a share beside another account."""

import sys
from collections import defaultdict, deque
from itertools import combinations
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[2] / "unit" / "agent"))

from agent_builders import HOST, MANIFEST, a_handle, a_lease

from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.admission import read_manifest
from node_agent.core.machine import handle
from node_agent.core.states import AgentState
from node_agent.core.values import LeaseReport, ReportStatus
from tests.support.examples import examples

WHOLE = MANIFEST.replace(
    b"pids: 32}",
    b"pids: 32}\n        reservations: {devices: [{count: 1, capabilities: [gpu]}]}",
)
SHARE = WHOLE.replace(b"duration", b"gpu: {share: 25%}\n  duration")

opened = st.tuples(
    st.just("open"), st.tuples(st.sampled_from(("alice", "bob")), st.integers(0, 1), st.sampled_from((250, 250, 1000)))
)
ended = st.tuples(st.just("end"), st.integers(0, 5))
executed = st.tuples(st.just("do"), st.integers(0, 5))
failed = st.tuples(st.just("fail"), st.integers(0, 1))
passes = st.tuples(st.just("wait"), st.sampled_from((1_000, 20_000)))


class World:
    """A chain that has ended a lease gives its devices to others at once; the engine does things when it is told to."""

    def __init__(self):
        self.now_ms, self.state = 0, AgentState(HOST)
        self.queues = defaultdict(deque)
        self.live = {}
        self.there = {}
        """[lease]: those of which there may be containers."""
        self.number = 0

    def feed(self, event):
        self.state, commands = handle(self.state, event, self.now_ms)
        for command in commands:
            self.queues[command.number].append(command)

    def open(self, tenant, device, milli):
        here = [one for one in self.live.values() if device in one.devices]
        if sum(one.gpu_milli for one in here) + milli > 1000 or any(one.tenant != tenant for one in here):
            return
        self.number += 1
        manifest = SHARE if milli < 1000 else WHOLE
        lease = a_lease(self.number, devices=(device,), gpu_milli=milli, tenant=tenant, manifest=manifest)
        self.live[self.number] = lease
        self.feed(ev.LeaseAssigned(lease, read_manifest(manifest)))

    def end(self, at):
        if self.live:
            number = sorted(self.live)[at % len(self.live)]
            del self.live[number]
            self.feed(ev.LeaseEnded(number, "Cancelled"))

    def do(self, at):
        waiting = sorted(number for number, queue in self.queues.items() if queue)
        if not waiting:
            return
        number = waiting[at % len(waiting)]
        match self.queues[number].popleft():
            case cmd.PreparePod(spec=spec):
                if number in self.state.pods:
                    self.there[number] = self.state.pods[number].lease
                    assert spec.main.gpu_milli == self.there[number].gpu_milli
                self.feed(ev.PodPrepared(number))
            case cmd.StartContainer():
                self.feed(ev.ContainerStarted(number, a_handle(number)))
            case cmd.DestroyPod():
                self.there.pop(number, None)
                self.feed(ev.PodDestroyed(number))
            case cmd.SubmitFailed():
                self.feed(ev.ReportOutcome(number, LeaseReport.FAILED, ReportStatus.INCLUDED))
                self.live.pop(number, None)

    def check(self):
        for one, other in combinations(self.there.values(), 2):
            shares = min(one.gpu_milli, other.gpu_milli) < 1000
            assert one.devices != other.devices or one.tenant == other.tenant or not shares


@settings(max_examples=examples(150))
@given(st.lists(opened | ended | executed | executed | passes | failed, max_size=60))
def test_no_share_is_beside_another_account(steps):
    world = World()
    for what, of in steps:
        match what:
            case "open":
                world.open(*of)
            case "end":
                world.end(of)
            case "do":
                world.do(of)
            case "fail":
                world.feed(ev.DevicesFailed(frozenset({of}), "it is gone"))
            case _:
                world.now_ms += of
                world.feed(ev.Tick())
        world.check()
