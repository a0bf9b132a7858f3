"""What a scheduler says when it is asked why: its decisions about one task, as JSON of version 1.

Scores and candidates are the scheduler's own word; everything else is on the chain as well. Times are chain time in ms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, TypeVar

from offchain.schema.protocol.fields import WireError, flag, integer, json_object, optional_integer, optional_text, text

VERSION: Final = 1
PATH: Final = "/v1/tasks/{task}/decisions"
MOST_BYTES: Final = 1 << 20
"""Of an answer."""
MOST_DECISIONS: Final = 50
"""In an answer: the newest of a task."""

_MOST: Final = 1 << 62
_MOST_ITEMS: Final = 1024
_LONG: Final = 2000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Spot:
    """A pod's place."""

    pod: int
    host: str
    devices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A host that could take the task. Less `points` are better; `parts` add up to them. `closed`: kept for others."""

    host: str
    devices: tuple[int, ...]
    points: float
    parts: Mapping[str, float]
    closed: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """All `hosts` as the task found them: `fitting` had room, of them `closed` were kept for others.

    `excluded`: of the rest, how many by each rule. `best`: the candidates with the least points.
    """

    hosts: int
    fitting: int
    closed: int
    excluded: Mapping[str, int]
    best: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a placement. `kind`: assigned, refused or overtaken; `block`: the final block that says so."""

    kind: str
    reason: str | None
    block: int | None
    at_ms: int


@dataclass(frozen=True, slots=True)
class Decision:
    """A task was placed: the `turn`-th of `placed` in its round.

    `spots`: the first of `pods` places. `seen`: None where not all of the round was explained. `like`: the task whose
    explanation it is, of the same round and asking for the same; None: its own. `answer`: None where none is known yet.
    """

    at_ms: int
    generation: int
    pods: int
    spots: tuple[Spot, ...]
    turn: int
    placed: int
    seen: Seen | None
    like: int | None
    answer: Answer | None


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a task found no place when it was looked at last, at `at_ms`; since `since_ms`, for the `times`-th time.

    `pods_fitting` of `pods_needed` had room; `closed`: hosts with room that were kept for others. `like`: the task that
    was looked at for it, because it asks for the same; None: itself.
    """

    generation: int
    since_ms: int
    at_ms: int
    times: int
    hosts: int
    pods_fitting: int
    pods_needed: int
    closed: int
    excluded: Mapping[str, int]
    like: int | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """How a task stands with a scheduler that runs.

    `state`: waits, placed (on its way to the chain) or unknown (it does not wait). `limit`: of a queue or an account,
    that keeps it waiting. `not_before_ms`: it is not tried sooner, for the chain has refused it. `others_turn`: another
    scheduler looks after it now. `starts_by_ms`: hosts are reserved for it from then on. `nobody_leaves`: why no spot
    task is made to leave for it.
    """

    state: str
    limit: str | None = None
    not_before_ms: int | None = None
    others_turn: bool = False
    starts_by_ms: int | None = None
    nobody_leaves: str | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """A scheduler's answer: the newest decisions about a task, the oldest of them first."""

    task: int
    scheduler: str
    seed: str
    decisions: tuple[Decision, ...] = ()
    waits: tuple[Wait, ...] = ()
    now: Standing | None = field(default=None)

    @property
    def empty(self) -> bool:
        """Whether it knows nothing of the task."""
        return not (self.decisions or self.waits or (self.now is not None and self.now.state != "unknown"))

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {"version": VERSION, **asdict(self)}


def parse(data: bytes) -> Told:
    """What is said in these bytes. Raises WireError where they are no answer of this version."""
    fields = json_object(data)
    if integer(fields, "version", 1 << 16) != VERSION:
        raise WireError(f"version {fields['version']} of decisions, known: {VERSION}")
    return Told(
        task=integer(fields, "task", _MOST),
        scheduler=text(fields, "scheduler", 100),
        seed=text(fields, "seed", 200),
        decisions=_list(fields, "decisions", _decision),
        waits=_list(fields, "waits", _wait),
        now=_optional(fields, "now", _standing),
    )


def seen_of(fields: dict[str, Any]) -> Seen:
    """What a task saw. Raises WireError."""
    return Seen(
        hosts=integer(fields, "hosts", _MOST),
        fitting=integer(fields, "fitting", _MOST),
        closed=integer(fields, "closed", _MOST),
        excluded=_counts(fields),
        best=_list(fields, "best", _candidate),
    )


def _decision(fields: dict[str, Any]) -> Decision:
    return Decision(
        at_ms=integer(fields, "at_ms", _MOST),
        generation=integer(fields, "generation", _MOST),
        pods=integer(fields, "pods", _MOST),
        spots=_list(fields, "spots", _spot),
        turn=integer(fields, "turn", _MOST),
        placed=integer(fields, "placed", _MOST),
        seen=_optional(fields, "seen", seen_of),
        like=optional_integer(fields, "like", _MOST),
        answer=_optional(fields, "answer", _answer),
    )


def _wait(fields: dict[str, Any]) -> Wait:
    counts = ("generation", "since_ms", "at_ms", "times", "hosts", "pods_fitting", "pods_needed", "closed")
    numbers = {name: integer(fields, name, _MOST) for name in counts}
    return Wait(**numbers, excluded=_counts(fields), like=optional_integer(fields, "like", _MOST))


def _standing(fields: dict[str, Any]) -> Standing:
    return Standing(
        state=text(fields, "state", 20),
        limit=optional_text(fields, "limit", _LONG),
        not_before_ms=optional_integer(fields, "not_before_ms", _MOST),
        others_turn=flag(fields, "others_turn"),
        starts_by_ms=optional_integer(fields, "starts_by_ms", _MOST),
        nobody_leaves=optional_text(fields, "nobody_leaves", _LONG),
    )


def _spot(fields: dict[str, Any]) -> Spot:
    return Spot(integer(fields, "pod", _MOST), text(fields, "host", 100), _devices(fields))


def _candidate(fields: dict[str, Any]) -> Candidate:
    parts = _object(fields, "parts")
    return Candidate(
        host=text(fields, "host", 100),
        devices=_devices(fields),
        points=_number(fields, "points"),
        parts={name: _number(parts, name) for name in parts},
        closed=flag(fields, "closed"),
    )


def _answer(fields: dict[str, Any]) -> Answer:
    return Answer(
        kind=text(fields, "kind", 20),
        reason=optional_text(fields, "reason", _LONG),
        block=optional_integer(fields, "block", _MOST),
        at_ms=integer(fields, "at_ms", _MOST),
    )


def _devices(fields: dict[str, Any]) -> tuple[int, ...]:
    found = fields.get("devices")
    if not isinstance(found, list) or not all(type(one) is int for one in found) or len(found) > _MOST_ITEMS:
        raise WireError("devices must be a list of whole numbers")
    return tuple(found)


def _counts(fields: dict[str, Any]) -> dict[str, int]:
    found = _object(fields, "excluded")
    return {name: integer(found, name, _MOST) for name in found}


def _number(fields: dict[str, Any], name: str) -> float:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise WireError(f"{name[:40]} must be a number")
    return float(value)


def _object(fields: dict[str, Any], name: str) -> dict[str, Any]:
    value = fields.get(name)
    if not isinstance(value, dict) or len(value) > _MOST_ITEMS:
        raise WireError(f"{name} must be an object")
    return value


def _optional(fields: dict[str, Any], name: str, make: Callable[[dict[str, Any]], T]) -> T | None:
    return None if fields.get(name) is None else make(_object(fields, name))


def _list(fields: dict[str, Any], name: str, make: Callable[[dict[str, Any]], T]) -> tuple[T, ...]:
    value = fields.get(name)
    if not isinstance(value, list) or len(value) > _MOST_ITEMS or not all(isinstance(one, dict) for one in value):
        raise WireError(f"{name} must be a list of objects")
    return tuple(make(one) for one in value)
