"""Decisions of schedulers about a task: which schedulers are asked, and their answers printed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from offchain.cli.kit import network as networks
from offchain.cli.kit.output import details, say, table
from offchain.schema.protocol.decisions import (
    Decision,
    DecisionReport,
    RecordedCandidate,
    RecordedOutcome,
    SchedulingStatus,
    WaitRecord,
)
from offchain.services.event_text import time_text
from offchain.services.scheduler_replies import SchedulerReply

VARIABLE: Final = "GANTRY_SCHEDULER"


def choose_schedulers(given: Sequence[str], url: str | None) -> tuple[str, ...]:
    """Return the schedulers given, else those of GANTRY_SCHEDULER, else those of the local network if it is used."""
    named = tuple(given) or tuple(os.environ.get(VARIABLE, "").split())
    return tuple(dict.fromkeys(named or networks.choose_node(url).schedulers))


_COLUMNS: Final[Mapping[str, str]] = {"worth lost": "FRAGMENTATION", "draw": "RANDOM"}
"""Headers of parts of the cost that have another name in records."""


def print_decisions(replies: Sequence[SchedulerReply]) -> None:
    """Print all answers, one scheduler after the other."""
    for one in replies:
        if one.answer is not None and not one.answer.empty:
            say()
            say(f"Scheduler {one.answer.scheduler}, {one.source}")
            _show(one.answer)


def _show(answer: DecisionReport) -> None:
    if answer.now is not None:
        details(list(_standing(answer.now)))
    for wait in answer.waits:
        say()
        details(list(_wait(wait)))
    for decision in answer.decisions:
        say()
        details(list(_decision(decision)))
        if decision.seen is not None and decision.seen.best:
            say()
            _candidates(decision.seen.best)


def _standing(now: SchedulingStatus) -> Iterator[tuple[str, object]]:
    states = {
        "waits": "waits in its queue, or for free resources",
        "placed": "its placement is being submitted",
    }
    yield "Now", states.get(now.state)
    yield "Limit", now.limit
    again = now.not_before_ms
    yield "Tried again", None if again is None else f"at {time_text(again)}, after a refusal"
    start = now.starts_by_ms
    yield "Reserved", None if start is None else f"starts at {time_text(start)} at the latest"
    yield "No preemption", now.nobody_leaves
    yield "Partition", "another scheduler is responsible for it now" if now.others_turn else None


def _wait(wait: WaitRecord) -> Iterator[tuple[str, object]]:
    times = f"{wait.times} times" if wait.times > 1 else "once"
    yield "Waits", f"{time_text(wait.since_ms)} to {time_text(wait.at_ms)}: tried {times} and found no place"
    yield "Tried as", None if wait.like is None else f"task {wait.like}, which has an equal request"
    yield "Pods", f"{wait.pods_fitting} of the {wait.pods_needed} that start together would fit"
    yield "Hosts", _hosts(wait.hosts, None, wait.closed)
    yield "Excluded", _excluded(wait.excluded)


def _decision(decision: Decision) -> Iterator[tuple[str, object]]:
    turn = f", number {decision.turn} of {decision.placed} in its scheduling cycle" if decision.placed > 1 else ""
    attempt = f", attempt {decision.generation + 1}" if decision.generation else ""
    yield "Placed", f"{time_text(decision.at_ms)}{attempt}{turn}"
    for spot in decision.spots:
        gpus = f", GPU {', '.join(map(str, spot.devices))}" if spot.devices else ""
        yield f"Pod {spot.pod}", f"{spot.host}{gpus}"
    more = decision.pods - len(decision.spots)
    yield "More pods", more or None
    yield "Chain", _answer(decision.answer)
    seen = decision.seen
    if seen is None:
        yield "Why", "not recorded, because only the first placements of a cycle are, and none from a reservation"
        return
    yield (
        "Explained as",
        None if decision.like is None else f"task {decision.like}, placed before with an equal request",
    )
    yield "Hosts", _hosts(seen.hosts, seen.fitting, seen.closed)
    yield "Excluded", _excluded(seen.excluded)


def _hosts(hosts: int, fitting: int | None, closed: int) -> str:
    kept = f", {closed} of them reserved for others" if closed else ""
    return f"{fitting if fitting is not None else closed} of {hosts} were feasible{kept}"


def _excluded(counts: Mapping[str, int]) -> str | None:
    return ", ".join(f"{count} {reason}" for reason, count in counts.items()) or None


def _answer(answer: RecordedOutcome | None) -> str:
    if answer is None:
        return "no answer known"
    where = "" if answer.block is None else f" in block {answer.block}"
    return f"{answer.kind}{where}" + (f": {answer.reason}" if answer.reason else "")


def _candidates(best: Sequence[RecordedCandidate]) -> None:
    """Print the best hosts and the parts of their cost, the largest part first. A lower cost is better."""
    weight: dict[str, float] = {}
    for one in best:
        for name, points in one.parts.items():
            weight[name] = max(weight.get(name, 0.0), abs(points))
    names = sorted(weight, key=lambda name: (-weight[name], name))
    table(
        ("HOST", "GPUS", "COST", *(_COLUMNS.get(name, name.upper()) for name in names), ""),
        [
            (
                one.host,
                ",".join(map(str, one.devices)) or "-",
                f"{one.points:.3f}",
                *(f"{one.parts[name]:.3f}" if name in one.parts else "" for name in names),
                "reserved for others" if one.closed else "",
            )
            for one in best
        ],
    )
