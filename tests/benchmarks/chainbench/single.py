"""Singly signed lifecycle extrinsics, sustained: submit, assign, start, result and settle, as many of each.

Everything is signed before the clock starts. What is counted are the operations' events in final blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from chainbench import blocks, signing
from chainbench.blocks import Sustained
from chainbench.flood import Report, flood, frame
from chainbench.node import running
from chainbench.scene import (
    MANIFEST,
    PARAMS,
    SLOT_SECONDS,
    SPEC,
    Scene,
    crank,
    endowed,
    host,
    lease_of,
    result_of,
    scheduler,
    tenant,
)
from chainbench.signing import Account
from offchain.local.release import Binaries
from offchain.schema._generated_chain import PodPlacement, calls

EVENTS = {
    "submit": "Tasks.Submitted",
    "assign": "Tasks.Assigned",
    "start": "Tasks.PodStarted",
    "result": "Tasks.PodReported",
    "settle": "Tasks.Settled",
}
# Offered at most; what is included is what is measured.
PER_SECOND = 1800
# The most between sent and included: while a block of half of them is made, the other half comes. More would only make
# the pool work more, which checks what waits again with each block.
WINDOW = 7000
# Each account sends over one connection. The numbers of accounts are multiples of this.
LANES = 4
HOSTS, TENANTS, SCHEDULERS, CRANKS = 384, 256, 64, 256
# A result is sent this many steps after the start of its lease, so that the start is in a block by then.
_LATER = 9 * HOSTS
# Before and after the slots that count.
_MARGIN_SLOTS = 4


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured. `cpu_share`: the node's share of one processor."""

    sustained: Sustained
    generator: Report
    cpu_us_each: float
    extrinsic_bytes: float


class _Load:
    """Three groups of tasks: some wait and are assigned, some are assigned and are run, some are reported and are
    settled. A step is one operation of each kind."""

    def __init__(self, scene: Scene, steps: int) -> None:
        self.scene = scene
        self.steps = steps
        self.runtime = scene.node.runtime
        self._to_assign = scene.submit_tasks(steps)
        self._to_run = scene.submit_tasks(steps)
        self._to_settle = scene.submit_tasks(steps)
        scene.bring(self._to_run, steps, until="assign")
        scene.bring(self._to_settle, steps, until="result")
        self._submit = self.runtime.encode_call(calls.tasks_submit(spec=SPEC, manifest=MANIFEST))

    def _step(self, number: int) -> Iterator[tuple[Account, bytes]]:
        yield tenant(number % TENANTS), self._submit
        pods = (PodPlacement(pod=0, host=self.scene.address(number % HOSTS), devices=b""),)
        assign = calls.tasks_assign(task=self._to_assign + number, pods=pods)
        yield scheduler(number % SCHEDULERS), self.runtime.encode_call(assign)
        start = calls.tasks_report_started(lease=lease_of(self._to_run + number))
        yield host(number % HOSTS), self.runtime.encode_call(start)
        if number >= _LATER:
            task = self._to_run + number - _LATER
            result = calls.tasks_report_result(lease=lease_of(task), result=result_of(task))
            yield host(number % HOSTS), self.runtime.encode_call(result)
        settle = calls.tasks_settle(task=self._to_settle + number)
        yield crank(number % CRANKS), self.runtime.encode_call(settle)

    def lanes(self) -> list[list[bytes]]:
        """Frames for each connection, in the order in which they are to be sent."""
        crowd = self.scene.crowd
        lane_of, orders = [], []
        for number in range(self.steps):
            for account, call in self._step(number):
                lane_of.append(number % LANES)
                orders.append(crowd.order(account, call))
        lanes: list[list[bytes]] = [[] for _ in range(LANES)]
        for lane, extrinsic in zip(lane_of, signing.sign_all(self.scene.node, orders), strict=True):
            lanes[lane].append(frame(extrinsic))
        return lanes


def measure(binaries: Binaries, seconds: int) -> Outcome:
    """Sustain it for so long."""
    slots = seconds // int(SLOT_SECONDS)
    flooded = (slots + 2 * _MARGIN_SLOTS) * SLOT_SECONDS
    steps = int(PER_SECOND * flooded / len(EVENTS)) + _LATER
    people = endowed(schedulers=SCHEDULERS, cranks=CRANKS, tenants=TENANTS)
    with running(binaries, people, PARAMS) as node:
        # A host takes its share of the tasks that are assigned before and while the clock runs.
        scene = Scene(node, HOSTS, room=2 * (steps // HOSTS + 1), schedulers=SCHEDULERS)
        scene.build()
        lanes = _Load(scene, steps).lanes()
        scene.settle_down()
        began, cpu = node.header(), node.cpu_seconds()
        report = flood(node.port, lanes, per_second=PER_SECOND, window=WINDOW, seconds=flooded)
        ended, cpu = node.header(), node.cpu_seconds() - cpu
        node.await_final(ended.number)
        filled = blocks.read(node, range(began.number + 1, ended.number + 1))
    counted = blocks.sustained(filled, began.slot + 1 + _MARGIN_SLOTS, slots, EVENTS, SLOT_SECONDS)
    included = sum(block.extrinsics - 1 for block in filled)
    size = sum(block.bytes for block in filled) / max(1, included)
    return Outcome(counted, report, cpu / max(1, included) * 1e6, size)
