"""A scheduler's decisions about a task, as a command prints them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from offchain.cli.kit.event_text import time_text
from offchain.cli.kit.output import details, say, table
from offchain.cli.tenant.schedulers_client import Heard
from offchain.schema.protocol.decisions import (
    Candidate,
    Decision,
    DecisionReport,
    PlacementOutcome,
    SchedulingStatus,
    WaitRecord,
)


def show(heard: Sequence[Heard]) -> None:
    """All that was said, one scheduler after the other."""
    for one in heard:
        if one.told is not None and not one.told.empty:
            say()
            say(f"Scheduler {one.told.scheduler}, {one.source}")
            _show(one.told)


def _show(told: DecisionReport) -> None:
    if told.now is not None:
        details(list(_standing(told.now)))
    for wait in told.waits:
        say()
        details(list(_wait(wait)))
    for decision in told.decisions:
        say()
        details(list(_decision(decision)))
        if decision.seen is not None and decision.seen.best:
            say()
            _candidates(decision.seen.best)


def _standing(now: SchedulingStatus) -> Iterator[tuple[str, object]]:
    states = {"waits": "waits for its turn and for room", "placed": "its placement is on its way to the chain"}
    yield "Now", states.get(now.state)
    yield "Limit", now.limit
    again = now.not_before_ms
    yield "Tried again", None if again is None else f"at {time_text(again)}, after a refusal"
    start = now.starts_by_ms
    yield "Reserved", None if start is None else f"there is room for it at {time_text(start)} at the latest"
    yield "Nobody leaves", now.nobody_leaves
    yield "Shift", "another scheduler looks after it now" if now.others_turn else None


def _wait(wait: WaitRecord) -> Iterator[tuple[str, object]]:
    times = f"{wait.times} times" if wait.times > 1 else "once"
    yield "Waits", f"{time_text(wait.since_ms)} to {time_text(wait.at_ms)}: tried {times} and found no place"
    yield "Tried as", None if wait.like is None else f"task {wait.like}, which asks for the same"
    yield "Pods", f"{wait.pods_fitting} of the {wait.pods_needed} that start together had room"
    yield "Hosts", _hosts(wait.hosts, None, wait.closed)
    yield "Excluded", _excluded(wait.excluded)


def _decision(decision: Decision) -> Iterator[tuple[str, object]]:
    turn = f", the {decision.turn}. of {decision.placed} in its round" if decision.placed > 1 else ""
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
        yield "Why", "not kept: only the first of a round are, and none that takes a place reserved for it"
        return
    yield "Explained as", None if decision.like is None else f"task {decision.like} before it, which asked for the same"
    yield "Hosts", _hosts(seen.hosts, seen.fitting, seen.closed)
    yield "Excluded", _excluded(seen.excluded)


def _hosts(hosts: int, fitting: int | None, closed: int) -> str:
    kept = f", {closed} of them kept for others" if closed else ""
    return f"{fitting if fitting is not None else closed} of {hosts} had room{kept}"


def _excluded(counts: Mapping[str, int]) -> str | None:
    return ", ".join(f"{count} {reason}" for reason, count in counts.items()) or None


def _answer(answer: PlacementOutcome | None) -> str:
    if answer is None:
        return "no answer known"
    where = "" if answer.block is None else f" in block {answer.block}"
    return f"{answer.kind}{where}" + (f": {answer.reason}" if answer.reason else "")


def _candidates(best: Sequence[Candidate]) -> None:
    """The best hosts, and what their points are made of, the weightiest part first: less is better."""
    weight: dict[str, float] = {}
    for one in best:
        for name, points in one.parts.items():
            weight[name] = max(weight.get(name, 0.0), abs(points))
    names = sorted(weight, key=lambda name: (-weight[name], name))
    table(
        ("HOST", "GPUS", "POINTS", *(name.upper() for name in names), ""),
        [
            (
                one.host,
                ",".join(map(str, one.devices)) or "-",
                f"{one.points:.3f}",
                *(f"{one.parts[name]:.3f}" if name in one.parts else "" for name in names),
                "kept for others" if one.closed else "",
            )
            for one in best
        ],
    )
