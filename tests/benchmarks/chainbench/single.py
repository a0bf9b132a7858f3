"""Singly signed lifecycle extrinsics, sustained: submit, assign, start, result and settle, as many of each.

Everything is signed before the clock starts. What is counted are the operations' events in final blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from chainbench import blocks, costs, overhead, signing
from chainbench.blocks import Sustained
from chainbench.costs import Costs
from chainbench.driver import Stage
from chainbench.flood import INHERENTS, NODE_OPTIONS, FloodResult, flood, frame
from chainbench.load import AUTHORING
from chainbench.node import SLOT_SECONDS, running
from chainbench.overhead import Overhead
from chainbench.progress import say
from chainbench.scene import (
    MANIFEST,
    PARAMS,
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
from offchain.devnet.release import Binaries
from offchain.schema.chain_types._generated_chain import PodPlacement, calls
from tests.support.chain_records import ANY_RATE

EVENTS = {
    "submit": "Tasks.Submitted",
    "assign": "Tasks.Assigned",
    "start": "Tasks.PodStarted",
    "result": "Tasks.PodReported",
    "settle": "Tasks.Settled",
}
# Offered at most; what is included is what is measured.
PER_SECOND = 2400
# The most between sent and included: while a block of half of them is made, the other half comes. More would only make
# the pool work more, which checks what waits again with each block.
WINDOW = 7000
# Each account sends over one connection. The numbers of accounts are multiples of this.
LANES = 4
TENANTS, SCHEDULERS, CRANKS = 256, 64, 256
# The chain takes one free call of a host in a block: half of the hosts are more than the steps that WINDOW holds.
HOSTS = 4_096
# A result is sent this many steps after the start of its lease, by another host than the one of the start beside it.
_LATER = HOSTS + HOSTS // 2
# Before and after the slots that count.
_MARGIN_SLOTS = 4
# Tasks that go through their lives by single extrinsics, to see what one costs.
_TRACED = 32
_CHECKS = "substrate_sub_txpool_validations_finished"
# Tasks of a node in which its pool validates extrinsics; the last two with a pool of the type single-state.
CHECKERS = (
    "transaction-validation-0",
    "transaction-validation-1",
    "transaction-pool-task-0",
    "transaction-pool-task-1",
)


@dataclass(frozen=True, slots=True)
class Pool:
    """What the pool of transactions did.

    `checks`: calls of the runtime that check an extrinsic, for each that was sent. `check_us`: for how long a check has
    a thread. `author_us`: making a block, where each extrinsic is checked again and carried out.
    """

    checks: float
    check_us: float
    author_us: float

    @property
    def repeats(self) -> float:
        """Part of the pool's checks that are not an extrinsic's first."""
        return max(0.0, 1 - 1 / self.checks) if self.checks else 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured. `cpu_us_each`: processor time of the node for each extrinsic that was included.

    `overhead`: of an extrinsic whose call does nothing.
    """

    sustained: Sustained
    generator: FloodResult
    costs: Mapping[str, Costs]
    overhead: Overhead
    pool: Pool
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
        pods = (PodPlacement(pod=0, host=self.scene.address(number % HOSTS), devices=b"", rate_per_hour=ANY_RATE),)
        assign = calls.tasks_assign(task=self._to_assign + number, pods=pods)
        yield scheduler(number % SCHEDULERS), self.runtime.encode_call(assign)
        start = calls.tasks_report_started(lease=lease_of(self._to_run + number))
        yield host(number % HOSTS), self.runtime.encode_call(start)
        if number >= _LATER:
            earlier = number - _LATER
            task = self._to_run + earlier
            result = calls.tasks_report_result(lease=lease_of(task), result=result_of(task))
            yield host(earlier % HOSTS), self.runtime.encode_call(result)
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
            lanes[lane].append(frame(extrinsic, len(lanes[lane])))
        return lanes


def _lives(scene: Scene) -> list[Stage]:
    """Return the lives of some tasks, each step of each an extrinsic of its own."""
    encode = scene.node.runtime.encode_call
    first = scene.next_task()
    tasks = range(first, first + _TRACED)

    def placed(task: int) -> tuple[PodPlacement]:
        return (PodPlacement(pod=0, host=scene.address(task % HOSTS), devices=b"", rate_per_hour=ANY_RATE),)

    submit = [(tenant(number), encode(calls.tasks_submit(spec=SPEC, manifest=MANIFEST))) for number in range(_TRACED)]
    assign = [
        (scheduler(task % SCHEDULERS), encode(calls.tasks_assign(task=task, pods=placed(task)))) for task in tasks
    ]
    start = [(host(task % HOSTS), encode(calls.tasks_report_started(lease=lease_of(task)))) for task in tasks]
    result = [
        (host(task % HOSTS), encode(calls.tasks_report_result(lease=lease_of(task), result=result_of(task))))
        for task in tasks
    ]
    settle = [(crank(task % CRANKS), encode(calls.tasks_settle(task=task))) for task in tasks]
    acts = {"submit": submit, "assign": assign, "start": start, "result": result, "settle": settle}
    return [Stage(kind, made, _TRACED) for kind, made in acts.items()]


def measure(binaries: Binaries, seconds: int, pool_type: str | None = None) -> Outcome:
    """Sustain it for so long. `pool_type`: another one than the node's default."""
    options = NODE_OPTIONS if pool_type is None else (*NODE_OPTIONS, f"--pool-type={pool_type}")
    slots = seconds // int(SLOT_SECONDS)
    flooded = (slots + 2 * _MARGIN_SLOTS) * SLOT_SECONDS
    steps = int(PER_SECOND * flooded / len(EVENTS)) + _LATER
    people = endowed(schedulers=SCHEDULERS, cranks=CRANKS, tenants=TENANTS)
    with running(binaries, people, PARAMS, options=options) as node:
        # A host takes its share of the tasks that are assigned before and while the clock runs.
        scene = Scene(node, HOSTS, room=2 * (steps // HOSTS + 1) + 1, schedulers=SCHEDULERS)
        scene.build()
        bare = overhead.measure(node, scene.crowd, tenant(0))
        each = costs.of_stages(scene, _lives(scene))
        load = _Load(scene, steps)
        say(f"signs {steps * len(EVENTS):,} extrinsics")
        lanes = load.lanes()
        scene.settle_down()
        say(f"load for {flooded:g} s, of which {slots * SLOT_SECONDS:g} s count")
        began, cpu, metrics = node.header(), node.cpu_seconds(), node.metrics()
        report = flood(node.port, lanes, per_second=PER_SECOND, window=WINDOW, seconds=flooded)
        ended, cpu, metrics = node.header(), node.cpu_seconds() - cpu, node.metrics().since(metrics)
        node.await_final(ended.number)
        filled = blocks.read(node, range(began.number + 1, ended.number + 1))
    counted = blocks.sustained(filled, began.slot + 1 + _MARGIN_SLOTS, slots, EVENTS, SLOT_SECONDS)
    included = max(1, sum(block.extrinsics - INHERENTS for block in filled))
    size = sum(block.bytes for block in filled) / included
    checks = metrics.total(_CHECKS)
    pool = Pool(
        checks=checks / max(1, report.sent),
        check_us=sum(metrics.task_seconds.get(name, 0.0) for name in CHECKERS) / max(1, checks) * 1e6,
        author_us=metrics.total(AUTHORING) / included * 1e6,
    )
    return Outcome(counted, report, each, bare, pool, cpu / included * 1e6, size)
