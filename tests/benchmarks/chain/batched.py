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

from chain import blocks, signing
from chain.flood import Wire, frame
from chain.node import Header, Node
from chain.scene import Scene, crank, host, scheduler
from chain.signing import Account, Order

# What a batch holds. Larger ones cost less an operation, but leave more of a block unused at its end.
BATCH = 256
STAGES = {
    "assign": "Tasks.Assigned",
    "start": "Tasks.PodStarted",
    "result": "Tasks.PodReported",
    "settle": "Tasks.Settled",
    "prune": "Tasks.Pruned",
}
_POLL_SECONDS = 0.05


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
        self._active = [line.pop(0) for line in self._waiting.values()]
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
