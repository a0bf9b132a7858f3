"""Tasks from a table with times; what the table does not say is made up by the seed, and noted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from offchain.core.placing.shapes import Shape
from offchain.core.placing.traces import POD_COLUMNS, Line, TraceError, lines, shape, someone_wants_gpus
from offchain.core.replay.arrival import Arrival, Trace

ACCOUNTS = 10
"""That pods are dealt out to where the table names none; the second gets half as many as the first, and so on."""

_MOST_PODS = 100_000
"""Of one line."""

_HOUR_MS = 3_600_000
_USUAL_MS = tuple(hours * _HOUR_MS for hours in (1, 4, 12, 24, 3 * 24, 10 * 24, 30 * 24))
"""What people write for a maximum duration."""

_MIDDLE_MS, _SIGMA, _LONGEST_MS = 15 * 60_000, 1.5, 10 * 24 * _HOUR_MS
"""Of durations that are made up: half are shorter, the logarithm's standard deviation, and where it is cut off."""

_UNTIMED = "times are not given: durations are made up by the seed (log-normal, half of them below 15 minutes)"
_DEALT = f"accounts are not given: tasks are dealt out to {ACCOUNTS} by the seed, more to the first than to the last"


@dataclass(slots=True)
class _Found:
    """Lines that make up one task. `duration_ms` is -1 where the table has no times."""

    name: str
    shape: Shape
    arrival_ms: int
    duration_ms: int
    most_ms: int
    account: str
    queue: str
    priority: int
    pods: int = 1


def recorded(text: str, source: str, seed: int) -> Trace:
    """The tasks of a table. TraceError names line, column and remedy.

    Columns as for :func:`offchain.core.placing.traces.pods`, and of these what there is:
    arrival_ms and duration_ms, or creation_time, deletion_time and scheduled_time in seconds (it runs from when it was
    scheduled; where that is empty, from its creation); name, max_duration_ms, account, queue, priority, pods (how many
    start together), and gang, which makes one task of all lines that have the same.
    """
    found: list[_Found] = []
    gangs: dict[str, _Found] = {}
    for line in lines(text, source, POD_COLUMNS):
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
    someone_wants_gpus((one.shape for one in found), source)
    return _complete(found, seed)


def made_up(shapes: Iterable[Shape], seed: int) -> Trace:
    """Tasks of one pod each, without anything that a table could say beside the shape."""
    return _complete([_Found(f"pod-{n}", one, 0, -1, 0, "", "", -1) for n, one in enumerate(shapes)], seed)


def _pairs(line: Line, source: str) -> None:
    for first, second in (("arrival_ms", "duration_ms"), ("creation_time", "deletion_time")):
        if line.has(first) != line.has(second):
            there, missing = (first, second) if line.has(first) else (second, first)
            raise TraceError(
                f"{source}: the header has {there} but no column {missing}.", f"Add {missing}, or leave both out."
            )


def _task(line: Line) -> _Found:
    arrival_ms, duration_ms = _times(line)
    most_ms = 0
    if line.text("max_duration_ms"):
        most_ms = line.number("max_duration_ms", 1)
        if most_ms < duration_ms:
            raise line.wrong("max_duration_ms", f"it ran for {duration_ms} ms, write at least that")
    if line.has("account") and not line.text("account"):
        raise line.wrong("account", "name the account of each pod, or leave the column out")
    return _Found(
        name=line.text("name"),
        shape=shape(line),
        arrival_ms=arrival_ms,
        duration_ms=duration_ms,
        most_ms=most_ms,
        account=line.text("account"),
        queue=line.text("queue"),
        priority=line.number("priority", 0, 255) if line.text("priority") else -1,
        pods=line.number("pods", 1, _MOST_PODS) if line.text("pods") else 1,
    )


def _times(line: Line) -> tuple[int, int]:
    """When it came, and for how long it ran, at least a millisecond; 0 and -1 where the table does not say."""
    if line.has("arrival_ms"):
        return line.number("arrival_ms", 0), line.number("duration_ms", 1)
    if not line.has("creation_time"):
        return 0, -1
    came, left = line.seconds("creation_time"), line.seconds("deletion_time")
    began = max(came, line.seconds("scheduled_time")) if line.text("scheduled_time") else came
    if left < began:
        raise line.wrong("deletion_time", "write a time that is not before the others of this line")
    return came, max(1, left - began)


def _join(gang: _Found, one: _Found, line: Line) -> None:
    """More pods: the gang comes with its last pod, and runs as long as any of them."""
    if one.shape != gang.shape:
        raise line.wrong("gang", "let all pods of a gang ask for the same")
    if one.account != gang.account:
        raise line.wrong("gang", "let all pods of a gang be of one account")
    gang.pods += one.pods
    gang.arrival_ms = max(gang.arrival_ms, one.arrival_ms)
    gang.duration_ms = max(gang.duration_ms, one.duration_ms)
    gang.most_ms = max(gang.most_ms, one.most_ms)


def _complete(found: Sequence[_Found], seed: int) -> Trace:
    notes = []
    timed = all(one.duration_ms >= 0 for one in found)
    durations = [one.duration_ms for one in found]
    if not timed:
        notes.append(_UNTIMED)
        drawn = _MIDDLE_MS * np.random.default_rng([seed, 6]).lognormal(0.0, _SIGMA, len(found))
        durations = np.clip(drawn, 1, _LONGEST_MS).astype(np.int64).tolist()
    accounts = [one.account for one in found]
    if not all(accounts):
        notes.append(_DEALT)
        weights = 1.0 / np.arange(1, ACCOUNTS + 1)
        dealt = np.random.default_rng([seed, 5]).choice(ACCOUNTS, size=len(found), p=weights / weights.sum())
        accounts = [f"account-{which + 1:02}" for which in dealt.tolist()]
    first_ms = min((one.arrival_ms for one in found), default=0)
    arrivals = [
        Arrival(
            number=place,
            name=one.name or f"line-{place + 1}",
            shape=one.shape,
            arrival_ms=one.arrival_ms - first_ms,
            duration_ms=duration_ms,
            most_ms=one.most_ms or next((usual for usual in _USUAL_MS if usual >= duration_ms), duration_ms),
            account=account,
            queue=one.queue or "default",
            priority=one.priority if one.priority >= 0 else 100,
            pods=one.pods,
        )
        for place, (one, duration_ms, account) in enumerate(zip(found, durations, accounts, strict=True))
    ]
    arrivals.sort(key=lambda arrival: arrival.arrival_ms)
    return Trace(tuple(replace(arrival, number=place) for place, arrival in enumerate(arrivals)), timed, tuple(notes))
