"""Replays a trace in virtual time: tasks arrive, wait, run and end, and the cluster is sampled at even steps."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

from offchain.core.scheduler.availability_kernels import pods_that_fit
from offchain.core.scheduler.cluster import Cluster, HostSlot
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


_ENDS, _ARRIVALS, _CYCLES = 0, 1, 2
"""Tasks that end at a moment free resources for those that arrive then."""


class _CycleDue:
    """A cycle runs."""


@dataclass(frozen=True, slots=True)
class TaskRun:
    """A task that runs, or has run."""

    arrival: Arrival
    start_ms: int
    slots: tuple[HostSlot, ...]
    """Of each pod."""

    @property
    def end_ms(self) -> int:
        """The real end, unknown to the scheduler."""
        return self.start_ms + self.arrival.duration_ms


class SimulatedScheduler(Protocol):
    """A scheduler of a replay. It keeps the cluster up to date by what it places and what ends."""

    step_ms: int
    """Cycles run at multiples of this time, in ms."""

    def on_arrived(self, arrivals: Sequence[Arrival], now_ms: int) -> None:
        """Note tasks that wait from now on. Each fits on the idle cluster."""

    def on_ended(self, runs: Sequence[TaskRun], now_ms: int) -> None:
        """Free the resources of these runs."""

    def run_cycle(self, now_ms: int) -> Sequence[TaskRun]:
        """Place waiting tasks, and return them in the order of their start."""

    def drop_blocked(self, now_ms: int) -> Sequence[Arrival]:
        """Remove the tasks that the last cycle could not place although nothing runs: it never will. At least one."""


@dataclass(slots=True)
class ReplayResult:
    runs: list[TaskRun] = field(default_factory=list)
    """In the order of their start."""
    refused: list[Arrival] = field(default_factory=list)
    """Tasks that would not fit if nothing else ran, or exceed a limit of their queue or account for ever."""
    cycles: int = 0


def replay(
    scheduler: SimulatedScheduler, cluster: Cluster, arrivals: Iterable[Arrival], series: SampleSeries
) -> ReplayResult:
    """Run all arrivals on an idle cluster. A cycle follows when tasks have arrived or ended while others wait."""
    return _Replay(scheduler, cluster, series).run(arrivals)


class _Replay:
    def __init__(self, scheduler: SimulatedScheduler, cluster: Cluster, series: SampleSeries) -> None:
        self._scheduler = scheduler
        self._cluster = cluster
        self._series = series
        self._clock: EventClock[Arrival | TaskRun | _CycleDue] = EventClock()
        self._fits: dict[TaskKey, bool] = {}
        self._cycle_ms = -1
        """The time of the last planned cycle."""
        self._running = self._waiting = self._unstarted = 0
        """Tasks; `_unstarted` includes those that have not arrived."""
        self._result = ReplayResult()

    def run(self, arrivals: Iterable[Arrival]) -> ReplayResult:
        for arrival in arrivals:
            self._clock.at(arrival.arrival_ms, _ARRIVALS, arrival)
            self._unstarted += 1
        while (now_ms := self._clock.next_ms()) is not None:
            # After the last start, samples would only show the cluster emptying.
            is_sampled = self._unstarted > 0
            if is_sampled:
                self._series.until(now_ms, self._running, self._waiting)
            events = self._clock.advance()
            self._end([event for event in events if isinstance(event, TaskRun)], now_ms)
            self._arrive([event for event in events if isinstance(event, Arrival)], now_ms)
            due_ms = -(-now_ms // self._scheduler.step_ms) * self._scheduler.step_ms
            if due_ms == now_ms:
                self._run_cycles(now_ms)
            elif self._waiting and self._cycle_ms < due_ms:
                self._clock.at(due_ms, _CYCLES, _CycleDue())
                self._cycle_ms = due_ms
            if is_sampled and not self._unstarted:
                self._series.until(now_ms + 1, self._running, self._waiting)
        return self._result

    def _end(self, runs: Sequence[TaskRun], now_ms: int) -> None:
        if runs:
            self._scheduler.on_ended(runs, now_ms)
            self._running -= len(runs)

    def _arrive(self, arrivals: Sequence[Arrival], now_ms: int) -> None:
        possible = [arrival for arrival in arrivals if self._is_possible(arrival)]
        self._refuse([arrival for arrival in arrivals if not self._is_possible(arrival)])
        if possible:
            self._scheduler.on_arrived(possible, now_ms)
            self._waiting += len(possible)

    def _is_possible(self, arrival: Arrival) -> bool:
        """Whether the task fits on the idle cluster."""
        key = arrival.key
        if key not in self._fits:
            self._fits[key] = int(pods_that_fit(self._cluster, self._cluster.whole, *key).sum()) >= arrival.pods
        return self._fits[key]

    def _run_cycles(self, now_ms: int) -> None:
        """Run a cycle, and another where tasks that it could never place stood before others."""
        while self._waiting:
            self._result.cycles += 1
            started = self._scheduler.run_cycle(now_ms)
            for run in started:
                self._clock.at(run.end_ms, _ENDS, run)
            self._result.runs += started
            self._running += len(started)
            self._waiting -= len(started)
            self._unstarted -= len(started)
            if self._running:
                return
            dropped = self._scheduler.drop_blocked(now_ms)
            self._refuse(dropped)
            self._waiting -= len(dropped)

    def _refuse(self, arrivals: Sequence[Arrival]) -> None:
        self._result.refused += arrivals
        self._unstarted -= len(arrivals)
