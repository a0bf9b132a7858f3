"""Replays a trace in virtual time: tasks arrive, wait, run and end, and the cluster is sampled at even steps."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from offchain.core.scheduler.availability_kernels import pods_that_fit
from offchain.core.scheduler.cluster import Cluster, HostSlot
from offchain.core.scheduler.pod_request import PodShape
from offchain.simulator.orders import QueueOrder, ReplayBackfill, TaskRun
from offchain.simulator.sim_score_cache import SimScoreCache
from offchain.simulator.trace import Arrival, TaskKey

T = TypeVar("T")


class EventClock(Generic[T]):
    """Future events. At the same time the lower rank comes first, then the order of entry."""

    def __init__(self) -> None:
        self.now_ms = 0
        self._entries = 0
        self._heap: list[tuple[int, int, int, T]] = []

    def at(self, when_ms: int, rank: int, what: T) -> None:
        """ValueError: that time is over."""
        if when_ms < self.now_ms:
            raise ValueError(f"{when_ms} ms is over, it is {self.now_ms} ms")
        heapq.heappush(self._heap, (when_ms, rank, self._entries, what))
        self._entries += 1

    def next_ms(self) -> int | None:
        """Return the time of the next event; None: no more."""
        return self._heap[0][0] if self._heap else None

    def advance(self) -> list[T]:
        """Advance to the next event, and return all events of that time."""
        self.now_ms = self._heap[0][0]
        events = []
        while self._heap and self._heap[0][0] == self.now_ms:
            events.append(heapq.heappop(self._heap)[3])
        return events


class IdleCapacity:
    """The hosts as if nothing ran there."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def is_feasible(self, shape: PodShape, pods: int) -> bool:
        """Whether these pods fit there together."""
        return int(pods_that_fit(self._cluster, self._cluster.whole, shape, pods).sum()) >= pods


MAX_SAMPLES = 400
"""When there are as many, every second is dropped, and the steps become twice as long."""

_STEPS = 200
"""From the first arrival to the last."""


class ClusterState(NamedTuple):
    """In percent."""

    gpu_percent: float
    """Of all GPUs, in use."""
    cpu_percent: float
    fragmentation_percent: float
    """Of free GPUs: what the tasks of the trace are not expected to be able to use."""


@dataclass(frozen=True, slots=True)
class ClusterSample:
    """The state after all events of one moment."""

    at_ms: int
    state: ClusterState
    running: int
    waiting: int
    """Tasks."""


class SampleSeries:
    """Samples at 0 and after each step, until the last task has started."""

    def __init__(self, sample: Callable[[], ClusterState], window_ms: int) -> None:
        self._sample = sample
        self._step_ms = max(1, window_ms // _STEPS) if window_ms else 1000
        self.samples: list[ClusterSample] = []

    def until(self, now_ms: int, running: int, waiting: int) -> None:
        """Since the last call, everything was as it is now."""
        next_ms = len(self.samples) * self._step_ms
        if next_ms >= now_ms:
            return
        state = self._sample()
        while next_ms < now_ms:
            self.samples.append(ClusterSample(next_ms, state, running, waiting))
            if len(self.samples) == MAX_SAMPLES:
                del self.samples[1::2]
                self._step_ms *= 2
            next_ms = len(self.samples) * self._step_ms


_ENDS, _ARRIVALS = 0, 1
"""Tasks that end at a moment free resources for those that arrive then."""


@dataclass(slots=True)
class ReplayResult:
    runs: list[TaskRun] = field(default_factory=list)
    """In the order of their start."""
    refused: list[Arrival] = field(default_factory=list)
    """Tasks that would not fit if nothing else ran, or exceed a limit of their queue or account for ever."""
    tries: int = 0
    """How often a task was tried."""


def replay(
    scores: SimScoreCache,
    arrivals: Iterable[Arrival],
    order: QueueOrder,
    series: SampleSeries,
    backfill: ReplayBackfill | None = None,
) -> ReplayResult:
    """Run all arrivals on an idle cluster. Deterministic for equal arguments."""
    return _Replay(scores, order, series, backfill).run(arrivals)


class _Replay:
    def __init__(
        self, scores: SimScoreCache, order: QueueOrder, series: SampleSeries, backfill: ReplayBackfill | None
    ) -> None:
        self._scores = scores
        self._order = order
        self._series = series
        self._backfill = backfill
        self._clock: EventClock[Arrival | TaskRun] = EventClock()
        self._running: dict[int, TaskRun] = {}
        self._arrived = 0
        self._waiting: dict[int, Arrival] = {}
        self._waiting_keys: Counter[TaskKey] = Counter()
        """How many of each wait."""
        self._freed = 0
        """How often something was freed."""
        self._blocked: dict[TaskKey, int] = {}
        """[key]: the number of releases at which it was infeasible; it stays so until the next release."""
        self._empty = IdleCapacity(scores.cluster)
        self._is_impossible: dict[tuple[PodShape, int], bool] = {}
        self._result = ReplayResult()

    def run(self, arrivals: Iterable[Arrival]) -> ReplayResult:
        for arrival in arrivals:
            self._clock.at(arrival.arrival_ms, _ARRIVALS, arrival)
            self._arrived += 1
        while (next_ms := self._clock.next_ms()) is not None:
            # After the last start, samples would only show the cluster emptying.
            unstarted = self._has_unstarted()
            if unstarted:
                self._series.until(next_ms, len(self._running), len(self._waiting))
            for event in self._clock.advance():
                if isinstance(event, TaskRun):
                    self._on_end(event)
                else:
                    self._on_arrival(event)
            if self._waiting:
                self._run_cycle()
            if unstarted and not self._has_unstarted():
                self._series.until(next_ms + 1, len(self._running), len(self._waiting))
        # A limit holds these for ever.
        self._result.refused += self._waiting.values()
        return self._result

    def _has_unstarted(self) -> bool:
        return len(self._result.runs) + len(self._result.refused) < self._arrived

    def _on_arrival(self, arrival: Arrival) -> None:
        key = (arrival.shape, arrival.pods)
        if key not in self._is_impossible:
            self._is_impossible[key] = not self._empty.is_feasible(arrival.shape, arrival.pods)
        if self._is_impossible[key]:
            self._result.refused.append(arrival)
            return
        self._order.add(arrival)
        self._waiting[arrival.number] = arrival
        self._waiting_keys[self._key(arrival)] += 1
        if self._backfill is not None:
            self._backfill.on_arrival(arrival)

    def _on_end(self, run: TaskRun) -> None:
        for slot in run.slots:
            self._scores.release(run.arrival.shape, slot)
        del self._running[run.arrival.number]
        self._order.on_ended(run.arrival)
        if self._backfill is not None:
            self._backfill.on_ended(run)
        self._freed += 1

    def _run_cycle(self) -> None:
        if self._backfill is not None:
            self._start_reserved(self._backfill)
        self._order.begin(self._clock.now_ms, self._infeasible_keys())
        while (arrival := self._order.next()) is not None:
            slots = self._try_place(arrival)
            if slots is not None:
                self._order.on_placed(arrival)
                self._start(arrival, slots)
            elif not self._running:
                # A gang that would be feasible if the policy placed its pods on other hosts.
                self._order.on_dropped(arrival)
                self._result.refused.append(arrival)
                self._on_left(arrival)
            else:
                self._order.on_blocked(arrival)

    def _infeasible_keys(self) -> set[TaskKey]:
        """Return the keys that are known to be infeasible: nothing freed since the last try is suitable."""
        for key in self._waiting_keys:
            if self._blocked.get(key, self._freed) != self._freed and self._scores.is_infeasible(key[0]):
                self._blocked[key] = self._freed
        return {key for key in self._waiting_keys if self._blocked.get(key) == self._freed}

    def _start_reserved(self, backfill: ReplayBackfill) -> None:
        """Start tasks whose reservation begins: where the policy says, or else on the reserved slots."""
        for arrival in backfill.begin(self._clock.now_ms, self._order.is_within_limits):
            kept = backfill.release(arrival)
            self._freed += 1
            slots = self._place_all(arrival)
            if slots is None:
                slots = kept
                for slot in slots:
                    self._scores.take(arrival.shape, slot)
            self._order.on_reserved_start(arrival)
            self._start(arrival, slots)

    def _try_place(self, arrival: Arrival) -> tuple[HostSlot, ...] | None:
        """Place all pods, or none."""
        key = self._key(arrival)
        if self._blocked.get(key) == self._freed:
            return None
        self._result.tries += 1
        slots = self._place_all(arrival)
        if slots is None and self._backfill is not None:
            slots = self._backfill.on_blocked(arrival)
            for slot in slots or ():
                self._scores.take(arrival.shape, slot)
        if slots is None:
            self._blocked[key] = self._freed
        return slots

    def _place_all(self, arrival: Arrival) -> tuple[HostSlot, ...] | None:
        backfill = self._backfill
        allowed = None if backfill is None else partial(backfill.allowed, arrival)
        slots: list[HostSlot] = []
        for _ in range(arrival.pods):
            slot = self._scores.place_allowed(arrival.shape, allowed)
            if slot is None:
                for placed in slots:
                    self._scores.release(arrival.shape, placed)
                if backfill is not None and slots:
                    backfill.on_forget()
                return None
            if backfill is not None:
                backfill.on_assume(arrival, slot)
            slots.append(slot)
        return tuple(slots)

    def _start(self, arrival: Arrival, slots: tuple[HostSlot, ...]) -> None:
        run = TaskRun(arrival, self._clock.now_ms, slots)
        self._running[arrival.number] = run
        self._result.runs.append(run)
        self._clock.at(run.end_ms, _ENDS, run)
        self._on_left(arrival)
        if self._backfill is not None:
            self._backfill.on_placed(run)

    def _on_left(self, arrival: Arrival) -> None:
        """The task waits no more."""
        del self._waiting[arrival.number]
        if self._backfill is not None:
            self._backfill.on_left(arrival)
        key = self._key(arrival)
        self._waiting_keys[key] -= 1
        if not self._waiting_keys[key]:
            del self._waiting_keys[key]

    def _key(self, arrival: Arrival) -> TaskKey:
        return arrival.key(by_length=self._backfill is not None)
