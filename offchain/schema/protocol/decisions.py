"""A scheduler's report about its decisions on one task, as JSON of version 1.

Scores and candidates are known to the scheduler alone; all else is on the chain, too. Times are chain time in ms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, TypeVar

from offchain.schema.protocol.fields import WireError, flag, integer, json_object, optional_integer, optional_text, text

VERSION: Final = 1
PATH: Final = "/v1/tasks/{task}/decisions"
MAX_ANSWER_BYTES: Final = 1 << 20
"""The largest report."""
MAX_DECISIONS: Final = 50
"""The most decisions in a report: the newest of a task."""

_MOST: Final = 1 << 62
_MOST_ITEMS: Final = 1024
_LONG: Final = 2000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlacedPod:
    """The host and the devices of a pod."""

    pod: int
    host: str
    devices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RecordedCandidate:
    """A host on which the task is feasible. `points`: its cost, lower is better, the sum of `parts`.

    `closed`: reserved for other tasks.
    """

    host: str
    devices: tuple[int, ...]
    points: float
    parts: Mapping[str, float]
    closed: bool


@dataclass(frozen=True, slots=True)
class RecordedCandidates:
    """How the filters judged all `hosts`: `fitting` were feasible, and `closed` of these reserved for other tasks.

    `excluded`: number of hosts by the filter that excluded them. `best`: the candidates with the lowest cost.
    """

    hosts: int
    fitting: int
    closed: int
    excluded: Mapping[str, int]
    best: tuple[RecordedCandidate, ...]


@dataclass(frozen=True, slots=True)
class RecordedOutcome:
    """The outcome of a placement. `kind`: assigned, refused or overtaken; `block`: the final block that has it."""

    kind: str
    reason: str | None
    block: int | None
    at_ms: int


@dataclass(frozen=True, slots=True)
class Decision:
    """A placement: the task was number `turn` of the `placed` tasks of its scheduling cycle.

    `spots`: the first of its `pods`. `seen`: None if the cycle had more tasks than were explained. `like`: the task of
    the same cycle and equivalence class whose explanation it is; None: its own. `answer`: None while it is not known.
    """

    at_ms: int
    generation: int
    pods: int
    spots: tuple[PlacedPod, ...]
    turn: int
    placed: int
    seen: RecordedCandidates | None
    like: int | None
    answer: RecordedOutcome | None


@dataclass(frozen=True, slots=True)
class WaitRecord:
    """Why a task was unschedulable at `at_ms`, as in `times` scheduling cycles since `since_ms`.

    `pods_fitting` of `pods_needed` were feasible; `closed`: feasible hosts that were reserved for other tasks. `like`:
    the task of the same equivalence class that was tried; None: itself.
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
class SchedulingStatus:
    """The present state of a task in a running scheduler.

    `state`: waits, placed (assumed, not yet on the chain) or unknown (not waiting). `limit`: the quota of a queue or an
    account for which it waits. `not_before_ms`: end of the backoff after a refusal by the chain. `others_turn`: it is
    in the work partition of another scheduler. `starts_by_ms`: start of its reservation. `nobody_leaves`: why no
    spot task is preempted for it.
    """

    state: str
    limit: str | None = None
    not_before_ms: int | None = None
    others_turn: bool = False
    starts_by_ms: int | None = None
    nobody_leaves: str | None = None


@dataclass(frozen=True, slots=True)
class DecisionReport:
    """The newest decisions of a scheduler about a task, the oldest of them first."""

    task: int
    scheduler: str
    seed: str
    decisions: tuple[Decision, ...] = ()
    waits: tuple[WaitRecord, ...] = ()
    now: SchedulingStatus | None = field(default=None)

    @property
    def empty(self) -> bool:
        """Whether the scheduler knows nothing of the task."""
        return not (self.decisions or self.waits or (self.now is not None and self.now.state != "unknown"))

    def plain(self) -> dict[str, Any]:
        return {"version": VERSION, **asdict(self)}


def parse(data: bytes) -> DecisionReport:
    """Return the report in these bytes. Raise WireError if they are no report of this version."""
    fields = json_object(data)
    if integer(fields, "version", 1 << 16) != VERSION:
        raise WireError(f"version {fields['version']} of decisions, known: {VERSION}")
    return DecisionReport(
        task=integer(fields, "task", _MOST),
        scheduler=text(fields, "scheduler", 100),
        seed=text(fields, "seed", 200),
        decisions=_list(fields, "decisions", _decision),
        waits=_list(fields, "waits", _wait),
        now=_optional(fields, "now", _standing),
    )


def candidate_report(fields: dict[str, Any]) -> RecordedCandidates:
    """Return the candidates in these fields. Raise WireError."""
    return RecordedCandidates(
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
        seen=_optional(fields, "seen", candidate_report),
        like=optional_integer(fields, "like", _MOST),
        answer=_optional(fields, "answer", _answer),
    )


def _wait(fields: dict[str, Any]) -> WaitRecord:
    counts = ("generation", "since_ms", "at_ms", "times", "hosts", "pods_fitting", "pods_needed", "closed")
    numbers = {name: integer(fields, name, _MOST) for name in counts}
    return WaitRecord(**numbers, excluded=_counts(fields), like=optional_integer(fields, "like", _MOST))


def _standing(fields: dict[str, Any]) -> SchedulingStatus:
    return SchedulingStatus(
        state=text(fields, "state", 20),
        limit=optional_text(fields, "limit", _LONG),
        not_before_ms=optional_integer(fields, "not_before_ms", _MOST),
        others_turn=flag(fields, "others_turn"),
        starts_by_ms=optional_integer(fields, "starts_by_ms", _MOST),
        nobody_leaves=optional_text(fields, "nobody_leaves", _LONG),
    )


def _spot(fields: dict[str, Any]) -> PlacedPod:
    return PlacedPod(integer(fields, "pod", _MOST), text(fields, "host", 100), _devices(fields))


def _candidate(fields: dict[str, Any]) -> RecordedCandidate:
    parts = _object(fields, "parts")
    return RecordedCandidate(
        host=text(fields, "host", 100),
        devices=_devices(fields),
        points=_number(fields, "points"),
        parts={name: _number(parts, name) for name in parts},
        closed=flag(fields, "closed"),
    )


def _answer(fields: dict[str, Any]) -> RecordedOutcome:
    return RecordedOutcome(
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
