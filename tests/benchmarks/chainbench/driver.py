"""Keeps tasks moving through their lives in batches: each group of hosts takes one cohort of tasks after another.

A cohort's next stage is sent as soon as the last one is in a block. One thread; everything but the signature is made
beforehand.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from chainbench import signing
from chainbench.crowd import Crowd
from chainbench.flood import Wire, frame
from chainbench.node import Node
from chainbench.signing import Account, Order

_POLL_SECONDS = 0.05
# Groups begin one after another, over so many blocks, so that every block holds operations of every kind.
_BEGIN_OVER_BLOCKS = 8


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a cohort: the calls that may be made at the same time, and how many operations they are together."""

    kind: str
    calls: Sequence[tuple[Account, bytes]]
    operations: int


@dataclass
class _Sending:
    """One call of a stage. `waits`: it was handed to the node, which has not refused it."""

    account: Account
    call: bytes
    order: Order | None = None
    waits: bool = False


@dataclass
class Cohort:
    """Tasks that go through their lives together, on one group of hosts."""

    group: int
    stages: Sequence[Stage]
    at: int = 0
    sending: list[_Sending] = field(default_factory=list)

    def begin_stage(self) -> bool:
        """Take up the stage `at`; False where the cohort is done."""
        if self.at == len(self.stages):
            return False
        self.sending = [_Sending(account, call) for account, call in self.stages[self.at].calls]
        return True


class Driver:
    """Keeps every group's cohort moving."""

    def __init__(self, node: Node, crowd: Crowd, cohorts: Sequence[Cohort]) -> None:
        self._node = node
        self._crowd = crowd
        self._form = signing.form_of(node)
        self._later: dict[int, list[Cohort]] = {}
        for cohort in cohorts:
            self._later.setdefault(cohort.group, []).append(cohort)
        self._resting = list(self._later)
        self._begin_at_once = -(-len(self._resting) // _BEGIN_OVER_BLOCKS)
        self._active: list[Cohort] = []
        self._wire = Wire(node.port)
        self._answering: dict[int, _Sending] = {}
        self._sends = 0
        self.refused: Counter[str] = Counter()
        self.cpu_share = 0.0

    def run(self, seconds: float) -> None:
        """Drive for so long."""
        began, used = time.monotonic(), time.process_time()
        final = -1
        while time.monotonic() - began < seconds:
            number = self._node.finalized()
            if number != final:
                final = number
                self._advance()
            self._exchange()
            time.sleep(_POLL_SECONDS)
        self.cpu_share = (time.process_time() - used) / (time.monotonic() - began)
        self._wire.close()

    def _advance(self) -> None:
        """Send what the new block makes possible."""
        waiting = {each.account for cohort in self._active for each in cohort.sending if each.waits}
        used = self._crowd.used(waiting)
        still = []
        for cohort in self._active:
            cohort.sending = [each for each in cohort.sending if not _included(each, used)]
            if cohort.sending or self._next_stage(cohort):
                still.append(cohort)
            elif self._later[cohort.group]:
                still.append(self._take(cohort.group))
        still += [self._take(group) for group in self._resting[: self._begin_at_once]]
        del self._resting[: self._begin_at_once]
        self._active = still
        for cohort in self._active:
            for each in cohort.sending:
                if not each.waits:
                    self._send(each)

    @staticmethod
    def _next_stage(cohort: Cohort) -> bool:
        cohort.at += 1
        return cohort.begin_stage()

    def _take(self, group: int) -> Cohort:
        cohort = self._later[group].pop(0)
        cohort.begin_stage()
        return cohort

    def _send(self, each: _Sending) -> None:
        if each.order is None:
            each.order = self._crowd.order(each.account, each.call)
        each.waits = True
        (extrinsic,) = signing.signed(self._form, [each.order])
        self._sends += 1
        self._answering[self._sends] = each
        self._wire.out += frame(extrinsic, self._sends)
        self._exchange()

    def _exchange(self) -> None:
        for text in self._wire.exchange():
            answer = json.loads(text)
            each = self._answering.pop(answer["id"])
            if "error" in answer:
                # Most often the pool has not seen the block yet in which the stage before was included.
                self.refused[answer["error"].get("data") or answer["error"]["message"]] += 1
                each.waits = False


def _included(each: _Sending, used: dict[Account, int]) -> bool:
    return each.waits and each.order is not None and used[each.account] > each.order.nonce
