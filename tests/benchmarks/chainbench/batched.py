"""Batches of lifecycle operations, sustained: each cohort of tasks is assigned, started, reported, settled and pruned.

A cohort's next batch is sent as soon as the last one is in a block. Operations are counted from the events of final
blocks, one event for each operation of each task.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from table import MIB

from chainbench import blocks, signing
from chainbench.blocks import Sustained
from chainbench.flood import Wire, frame
from chainbench.node import running
from chainbench.scene import BATCH, PARAMS, SLOT_SECONDS, Scene, endowed
from chainbench.signing import Account, Order
from offchain.local.release import Binaries

EVENTS = {
    "assign": "Tasks.Assigned",
    "start": "Tasks.PodStarted",
    "result": "Tasks.PodReported",
    "settle": "Tasks.Settled",
    "prune": "Tasks.Pruned",
}
# Hosts with a cohort each, so that there is always more to do than fits a block.
HOSTS, SCHEDULERS = 480, 16
# More operations a second than this are not prepared for.
MOST_PER_SECOND = 36_000
_POLL_SECONDS = 0.05
# Hosts begin one after another, so that every block holds operations of every kind.
_HOSTS_A_BLOCK = HOSTS // 8
_MARGIN_SLOTS = 10
_AUTHORING = "substrate_proposer_block_constructed_sum"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured. `author_us`: making a block, with its state root, for each operation."""

    sustained: Sustained
    refused: Counter[str]
    author_us: float
    cpu_us: float
    generator_cpu_share: float
    memory_mib: float


@dataclass
class Cohort:
    """Tasks that go through their lives together, on one host."""

    host: int
    calls: Sequence[tuple[str, Account, bytes]]
    stage: int = 0
    order: Order | None = None
    sent: Order | None = None


class Driver:
    """Keeps every host's cohort moving. One thread; everything but the signature is made beforehand."""

    def __init__(self, scene: Scene, cohorts: Sequence[Cohort]) -> None:
        self.scene = scene
        self.node = scene.node
        self._form = signing.form_of(scene.node)
        self._waiting: dict[int, list[Cohort]] = {}
        for cohort in cohorts:
            self._waiting.setdefault(cohort.host, []).append(cohort)
        self._resting = list(self._waiting)
        self._active: list[Cohort] = []
        accounts = {account for cohort in cohorts for _, account, _ in cohort.calls}
        self._accounts = sorted(accounts, key=lambda account: account.name)
        self._wire = Wire(scene.node.port)
        self._answering: dict[int, Cohort] = {}
        self._sends = 0
        self.refused: Counter[str] = Counter()
        self.cpu_seconds = 0.0

    def run(self, seconds: float) -> None:
        """Drive for so long."""
        limit = time.monotonic() + seconds
        used_before = time.process_time()
        final = -1
        while time.monotonic() < limit:
            number = self.node.finalized()
            if number != final:
                final = number
                self._advance()
            self._exchange()
            time.sleep(_POLL_SECONDS)
        self.cpu_seconds = time.process_time() - used_before
        self._wire.close()

    def _advance(self) -> None:
        """Send what the new block makes possible."""
        for number in self._resting[:_HOSTS_A_BLOCK]:
            self._active.append(self._waiting[number].pop(0))
        del self._resting[:_HOSTS_A_BLOCK]
        used = self.scene.crowd.used(self._accounts)
        for cohort in list(self._active):
            if cohort.sent is None:
                self._send(cohort)
            elif used[cohort.sent.account] > cohort.sent.nonce:
                cohort.stage, cohort.sent, cohort.order = cohort.stage + 1, None, None
                if cohort.stage < len(cohort.calls):
                    self._send(cohort)
                    continue
                self._active.remove(cohort)
                if self._waiting[cohort.host]:
                    self._active.append(self._waiting[cohort.host].pop(0))
                    self._send(self._active[-1])

    def _send(self, cohort: Cohort) -> None:
        _, account, call = cohort.calls[cohort.stage]
        if cohort.order is None:
            cohort.order = self.scene.crowd.order(account, call)
        cohort.sent = cohort.order
        (extrinsic,) = signing.signed(self._form, [cohort.sent])
        self._sends += 1
        self._answering[self._sends] = cohort
        self._wire.out += frame(extrinsic, self._sends)
        self._exchange()

    def _exchange(self) -> None:
        for text in self._wire.exchange():
            answer = json.loads(text)
            cohort = self._answering.pop(answer["id"])
            if "error" in answer:
                # Most often the pool has not seen the block yet in which the stage before was included.
                self.refused[answer["error"].get("data") or answer["error"]["message"]] += 1
                cohort.sent = None


def measure(binaries: Binaries, seconds: int) -> Outcome:
    """Sustain it for so long."""
    slots = seconds // int(SLOT_SECONDS)
    driven = (slots + 2 * _MARGIN_SLOTS) * SLOT_SECONDS
    rounds = int(MOST_PER_SECOND * driven / (HOSTS * BATCH * len(EVENTS))) + 1
    with running(binaries, endowed(schedulers=SCHEDULERS, cranks=SCHEDULERS), PARAMS) as node:
        scene = Scene(node, HOSTS, BATCH, SCHEDULERS)
        scene.build()
        first = scene.submit_tasks(HOSTS * BATCH * rounds)
        starts = range(first, first + HOSTS * BATCH * rounds, BATCH)
        cohorts = [
            Cohort(number % HOSTS, list(scene.stages(number % HOSTS, range(start, start + BATCH))))
            for number, start in enumerate(starts)
        ]
        driver = Driver(scene, cohorts)
        scene.settle_down()
        began, cpu, author = node.header(), node.cpu_seconds(), node.metrics()[_AUTHORING]
        driver.run(driven)
        ended, cpu, author = node.header(), node.cpu_seconds() - cpu, node.metrics()[_AUTHORING] - author
        memory = node.memory_bytes() / MIB
        node.await_final(ended.number)
        filled = blocks.read(node, range(began.number + 1, ended.number + 1))
    counted = blocks.sustained(filled, began.slot + 1 + _MARGIN_SLOTS, slots, EVENTS, SLOT_SECONDS)
    done = max(1, sum(block.events[event] for block in filled for event in EVENTS.values()))
    return Outcome(counted, driver.refused, author / done * 1e6, cpu / done * 1e6, driver.cpu_seconds / driven, memory)
