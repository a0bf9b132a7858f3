"""Record of a scheduler's decisions and of the chain's answers, for explanations: `decisions.db`.

A thread writes it, with one transaction for all that has accumulated, so that no decision waits for a disk. The file is
bounded, and nothing depends on its content: decisions that could not be written in time are missing.
"""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from offchain.adapters.outbox.store import Store
from offchain.core.scheduler.explain import CandidateReport, PlacedTask, WaitReason
from offchain.errors import GantryError
from offchain.schema.durations import DAY_MS
from offchain.services.decision_reader import FILE, TABLES
from offchain.services.log import EventLog

MOST_DECISIONS: Final = 200_000
MOST_WAITING: Final = 50_000
KEPT_MS: Final = 14 * DAY_MS
"""The oldest decisions beyond these limits are deleted."""

MOST_PODS: Final = 64
"""How many pods of a gang are recorded with their placements."""

_MOST_PENDING: Final = 256
"""How many batches may wait for the disk; more are dropped."""

_PRUNE_EVERY: Final = 1_000
"""How many rows are written between two deletions of old ones."""


@dataclass(frozen=True, slots=True)
class PlacementOutcome:
    """The outcome of a placement. `kind`: assigned, refused or overtaken; `block`: the final block that shows it."""

    kind: str
    reason: str | None = None
    block: int | None = None


class DecisionSink(Protocol):
    """Receives decisions. Times are chain time in ms."""

    def placed(self, at_ms: int, decisions: Sequence[tuple[int, PlacedTask]]) -> None:
        """Record the placements of one scheduling cycle, each with the generation of its task."""

    def waits(self, at_ms: int, generation: int, why: WaitReason) -> None:
        """Record why a task found no place."""

    def answered(self, at_ms: int, task: int, generation: int, pods: tuple[int, ...], answer: PlacementOutcome) -> None:
        """Record the outcome of a placement."""


class DecisionRecorder:
    """Writes decisions into `folder`. `account` and `seed` are the scheduler's. There is one in a process.

    If the file cannot be used, this is logged, and nothing is recorded.
    """

    def __init__(self, folder: Path, account: str, seed: bytes) -> None:
        self.path = folder / FILE
        self._facts = {"account": account, "seed": seed.hex()}
        self._log = EventLog("decisions")
        self._pending: queue.SimpleQueue[Callable[[Store], int] | None] = queue.SimpleQueue()
        self._dropping = False
        self._thread = threading.Thread(target=self._run, name="decisions", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write what is pending, and stop."""
        self._pending.put(None)
        self._thread.join()

    def placed(self, at_ms: int, decisions: Sequence[tuple[int, PlacedTask]]) -> None:
        """Keep a round's placements."""

        def write(store: Store) -> int:
            for generation, one in decisions:
                store.run(
                    "INSERT INTO decisions (task, generation, at_ms, numbers, pods, spots, turn, placed, alike, seen)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    *(one.task, generation, at_ms, _numbers(pod.pod for pod in one.pods), len(one.pods), _spots(one)),
                    *(one.turn, one.placed, one.like, _seen(one.seen)),
                )
            return len(decisions)

        self._put(write)

    def waits(self, at_ms: int, generation: int, why: WaitReason) -> None:
        """Record why a task waits: the latest reason, since when, and how often it was tried."""

        def write(store: Store) -> int:
            excluded = {str(misfit): count for misfit, count in why.excluded.items()}
            facts = {"hosts": why.hosts, "pods_fitting": why.pods_fitting, "pods_needed": why.pods_needed}
            text = json.dumps({**facts, "closed": why.closed, "excluded": excluded})
            return store.run(
                "INSERT INTO waits VALUES (?1, ?2, ?3, ?3, 1, ?4) ON CONFLICT (task, generation) DO UPDATE"
                " SET at_ms = excluded.at_ms, times = times + 1, why = excluded.why",
                *(why.task, generation, at_ms, text),
            )

        self._put(write)

    def answered(self, at_ms: int, task: int, generation: int, pods: tuple[int, ...], answer: PlacementOutcome) -> None:
        """Record the outcome of the last placement of these pods, and of earlier ones without an outcome."""

        def write(store: Store) -> int:
            store.run(
                "UPDATE decisions SET answer = ?, reason = ?, block = ?, answered_ms = ?"
                " WHERE task = ? AND generation = ? AND numbers = ? AND answer IS NULL",
                *(answer.kind, answer.reason, answer.block, at_ms, task, generation, _numbers(pods)),
            )
            return 0

        self._put(write)

    def _put(self, write: Callable[[Store], int]) -> None:
        if self._pending.qsize() < _MOST_PENDING:
            self._dropping = False
            self._pending.put(write)
        elif not self._dropping:
            self._dropping = True
            self._log.warning("dropped", reason="the disk does not keep up with what is decided", path=str(self.path))

    # --- the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            store = self._open()
        except GantryError as error:
            self._log.warning("not kept", reason=error.message, hint=error.hint)
            store = None
        rows = 0
        while (write := self._pending.get()) is not None:
            if store is None:
                continue
            batch = [write]
            with contextlib.suppress(queue.Empty):
                while (more := self._pending.get_nowait()) is not None:
                    batch.append(more)
                self._pending.put(None)
            try:
                with store.transaction():
                    rows += sum(one(store) for one in batch)
                    if rows >= _PRUNE_EVERY:
                        _prune(store)
                        rows = 0
            except GantryError as error:
                self._log.warning("not kept", reason=error.message, hint=error.hint)
        if store is not None:
            store.close()

    def _open(self) -> Store:
        store = Store(self.path)
        try:
            # A power cut may take the last decisions, which is no harm.
            store.run("PRAGMA synchronous = NORMAL")
            store.migrate("decisions", TABLES)
            for name, value in self._facts.items():
                store.run("INSERT OR REPLACE INTO facts VALUES (?, ?)", name, value)
        except BaseException:
            store.close()
            raise
        return store


def _prune(store: Store) -> None:
    newest = store.one("SELECT max(id) AS id, max(at_ms) AS at_ms FROM decisions")
    if newest is not None and newest["id"] is not None:
        last = int(newest["id"]) - MOST_DECISIONS
        store.run("DELETE FROM decisions WHERE id <= ? OR at_ms < ?", last, int(newest["at_ms"]) - KEPT_MS)
    store.run(
        "DELETE FROM waits WHERE at_ms < (SELECT max(at_ms) FROM waits) - ?"
        " OR rowid IN (SELECT rowid FROM waits ORDER BY at_ms DESC LIMIT -1 OFFSET ?)",
        KEPT_MS,
        MOST_WAITING,
    )


def _numbers(pods: Any) -> str:
    return ",".join(map(str, pods))


def _spots(one: PlacedTask) -> str:
    return json.dumps([[pod.pod, pod.host, list(pod.devices)] for pod in one.pods[:MOST_PODS]])


def _seen(seen: CandidateReport | None) -> str | None:
    if seen is None:
        return None
    best = [asdict(candidate) | {"points": _rounded(candidate.points)} for candidate in seen.best]
    for one in best:
        one["parts"] = {name: _rounded(points) for name, points in one["parts"].items()}
    excluded = {str(misfit): count for misfit, count in seen.excluded.items()}
    facts = {"hosts": seen.hosts, "fitting": seen.fitting, "closed": seen.closed}
    return json.dumps({**facts, "excluded": excluded, "best": best})


def _rounded(points: float) -> float:
    return round(points, 6)
