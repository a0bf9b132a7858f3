"""Traces: the tasks of a replay, read from a table.

What the table does not contain is generated from the seed and noted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from offchain.core.scheduler.demand import DemandDistribution
from offchain.core.scheduler.pod_request import PodShape
from offchain.schema.durations import HOUR_MS
from offchain.simulator.csv_tables import POD_COLUMNS, CsvLine, TraceError, read_lines, require_gpus, shape_of_line

TaskKey = tuple[PodShape, int]
"""What decides where a task fits: the shape of its pods, and how many they are."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One task of a trace: `pods` pods that run together or not at all; a gang where there are several."""

    number: int
    """Its index in the order of arrival."""
    name: str
    shape: PodShape
    """Of each pod."""
    arrival_ms: int
    """Since the first arrival."""
    duration_ms: int
    """The real duration, unknown to the scheduler."""
    max_ms: int
    """The declared maximum duration."""
    account: str
    queue: str = "default"
    priority: int = 100
    pods: int = 1

    @property
    def key(self) -> TaskKey:
        """What decides where the task fits."""
        return self.shape, self.pods

    @property
    def total_milli(self) -> int:
        """Thousandths of GPUs of all its pods."""
        return self.pods * self.shape.total_milli


@dataclass(frozen=True, slots=True)
class Trace:
    """All tasks in order of arrival."""

    arrivals: tuple[Arrival, ...]
    timed: bool
    """Whether times of arrival are known; else all come at 0."""
    notes: tuple[str, ...] = ()
    """What was generated because the file does not contain it, for people."""

    @property
    def window_ms(self) -> int:
        """From the first arrival to the last."""
        return self.arrivals[-1].arrival_ms if self.arrivals else 0

    def demand(self) -> DemandDistribution:
        """Return the number of pods of each shape."""
        demand = DemandDistribution()
        for arrival in self.arrivals:
            demand.counts[arrival.shape] = demand.counts.get(arrival.shape, 0.0) + arrival.pods
        return demand


GENERATED_ACCOUNTS = 10
"""Accounts of pods where the table names none; the second gets half as many as the first, and so on."""

_MAX_PODS = 100_000
"""Of one line."""

_TYPICAL_MS = tuple(hours * HOUR_MS for hours in (1, 4, 12, 24, 3 * 24, 10 * 24, 30 * 24))
"""Typical maximum durations."""

_MEDIAN_MS, _SIGMA, _MAX_MS = 15 * 60_000, 1.5, 10 * 24 * HOUR_MS
"""Of generated durations (log-normal): the median, the logarithm's standard deviation, and the maximum."""

_UNTIMED = "times are not given: durations are made up by the seed (log-normal, half of them below 15 minutes)"
_DEALT = (
    f"accounts are not given: tasks are dealt out to {GENERATED_ACCOUNTS} by the seed, "
    "more to the first than to the last"
)


@dataclass(slots=True)
class _TaskLines:
    """The lines of one task. `duration_ms` is -1 where the table has no times."""

    name: str
    shape: PodShape
    arrival_ms: int
    duration_ms: int
    max_ms: int
    account: str
    queue: str
    priority: int
    pods: int = 1


def read_trace(text: str, source: str, seed: int) -> Trace:
    """Return the tasks of a table. TraceError: line, column and hint.

    Columns as for :func:`offchain.simulator.csv_tables.read_pods`, and optionally arrival_ms and duration_ms, or
    creation_time, deletion_time and scheduled_time in seconds (it runs from when it was scheduled; where that is empty,
    from its creation); name, max_duration_ms, account, queue, priority, pods (how many start together), and gang, which
    joins all lines with the same value to one task.
    """
    found: list[_TaskLines] = []
    gangs: dict[str, _TaskLines] = {}
    for line in read_lines(text, source, POD_COLUMNS):
        if not found:
            _pairs(line, source)
        one = _task(line)
        gang = line.text("gang")
        known = gangs.get(gang) if gang else None
        if known is None:
            found.append(one)
            if gang:
                gangs[gang] = one
        else:
            _join(known, one, line)
    require_gpus((one.shape for one in found), source)
    return _complete(found, seed)


def trace_of_shapes(shapes: Iterable[PodShape], seed: int) -> Trace:
    """Return tasks of one pod each, with everything but the shape generated."""
    return _complete([_TaskLines(f"pod-{n}", one, 0, -1, 0, "", "", -1) for n, one in enumerate(shapes)], seed)


def _pairs(line: CsvLine, source: str) -> None:
    for first, second in (("arrival_ms", "duration_ms"), ("creation_time", "deletion_time")):
        if line.has(first) != line.has(second):
            there, missing = (first, second) if line.has(first) else (second, first)
            raise TraceError(
                f"{source}: the header has {there} but no column {missing}.", f"Add {missing}, or leave both out."
            )


def _task(line: CsvLine) -> _TaskLines:
    arrival_ms, duration_ms = _times(line)
    max_ms = 0
    if line.text("max_duration_ms"):
        max_ms = line.number("max_duration_ms", 1)
        if max_ms < duration_ms:
            raise line.wrong("max_duration_ms", f"it ran for {duration_ms} ms, write at least that")
    if line.has("account") and not line.text("account"):
        raise line.wrong("account", "name the account of each pod, or leave the column out")
    return _TaskLines(
        name=line.text("name"),
        shape=shape_of_line(line),
        arrival_ms=arrival_ms,
        duration_ms=duration_ms,
        max_ms=max_ms,
        account=line.text("account"),
        queue=line.text("queue"),
        priority=line.number("priority", 0, 255) if line.text("priority") else -1,
        pods=line.number("pods", 1, _MAX_PODS) if line.text("pods") else 1,
    )


def _times(line: CsvLine) -> tuple[int, int]:
    """Return arrival and duration, at least a millisecond; 0 and -1 where the table has no times."""
    if line.has("arrival_ms"):
        return line.number("arrival_ms", 0), line.number("duration_ms", 1)
    if not line.has("creation_time"):
        return 0, -1
    came, left = line.seconds("creation_time"), line.seconds("deletion_time")
    began = max(came, line.seconds("scheduled_time")) if line.text("scheduled_time") else came
    if left < began:
        raise line.wrong("deletion_time", "write a time that is not before the others of this line")
    return came, max(1, left - began)


def _join(gang: _TaskLines, one: _TaskLines, line: CsvLine) -> None:
    """Add pods: the gang arrives with its last pod, and runs as long as any of them."""
    if one.shape != gang.shape:
        raise line.wrong("gang", "let all pods of a gang ask for the same")
    if one.account != gang.account:
        raise line.wrong("gang", "let all pods of a gang be of one account")
    gang.pods += one.pods
    gang.arrival_ms = max(gang.arrival_ms, one.arrival_ms)
    gang.duration_ms = max(gang.duration_ms, one.duration_ms)
    gang.max_ms = max(gang.max_ms, one.max_ms)


def _complete(found: Sequence[_TaskLines], seed: int) -> Trace:
    notes = []
    timed = all(one.duration_ms >= 0 for one in found)
    durations = [one.duration_ms for one in found]
    if not timed:
        notes.append(_UNTIMED)
        drawn = _MEDIAN_MS * np.random.default_rng([seed, 6]).lognormal(0.0, _SIGMA, len(found))
        durations = np.clip(drawn, 1, _MAX_MS).astype(np.int64).tolist()
    accounts = [one.account for one in found]
    if not all(accounts):
        notes.append(_DEALT)
        weights = 1.0 / np.arange(1, GENERATED_ACCOUNTS + 1)
        assigned = np.random.default_rng([seed, 5]).choice(
            GENERATED_ACCOUNTS, size=len(found), p=weights / weights.sum()
        )
        accounts = [f"account-{which + 1:02}" for which in assigned.tolist()]
    first_ms = min((one.arrival_ms for one in found), default=0)
    arrivals = [
        Arrival(
            number=place,
            name=one.name or f"line-{place + 1}",
            shape=one.shape,
            arrival_ms=one.arrival_ms - first_ms,
            duration_ms=duration_ms,
            max_ms=one.max_ms or next((usual for usual in _TYPICAL_MS if usual >= duration_ms), duration_ms),
            account=account,
            queue=one.queue or "default",
            priority=one.priority if one.priority >= 0 else 100,
            pods=one.pods,
        )
        for place, (one, duration_ms, account) in enumerate(zip(found, durations, accounts, strict=True))
    ]
    arrivals.sort(key=lambda arrival: arrival.arrival_ms)
    return Trace(tuple(replace(arrival, number=place) for place, arrival in enumerate(arrivals)), timed, tuple(notes))


_GANG_PODS = (2, 4, 8)
_GANG_SHARES = (0.5, 0.3, 0.2)


def with_gangs(trace: Trace, percent: float, seed: int) -> Trace:
    """Turn `percent` percent of the tasks of one pod with GPUs into gangs of 2, 4 or 8 pods, drawn by the seed."""
    random = np.random.default_rng([seed, 8])
    chosen = (random.random(len(trace.arrivals)) < percent / 100).tolist()
    pods = random.choice(_GANG_PODS, size=len(trace.arrivals), p=_GANG_SHARES).tolist()
    arrivals = tuple(
        replace(arrival, pods=many) if gang and arrival.pods == 1 and arrival.shape.gpus else arrival
        for arrival, gang, many in zip(trace.arrivals, chosen, pods, strict=True)
    )
    note = f"{percent:g} % of the tasks with GPUs are gangs of 2, 4 or 8 pods, drawn by the seed"
    return replace(trace, arrivals=arrivals, notes=(*trace.notes, note))
