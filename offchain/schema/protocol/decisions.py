"""A scheduler's report about its decisions on one task, as JSON of version 1.

Scores and candidates are known to the scheduler alone; all else is on the chain, too. Times are chain time in ms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Final

from offchain.schema.protocol.fields import (
    MOST_ITEMS,
    Reader,
    WireError,
    decode,
    flag,
    integer,
    json_object,
    nested,
    object_of,
    objects_of,
    optional,
    text_of,
    whole,
)

VERSION: Final = 1
PATH: Final = "/v1/tasks/{task}/decisions"
MAX_ANSWER_BYTES: Final = 1 << 20
"""The largest report."""
MAX_DECISIONS: Final = 50
"""The most decisions in a report: the newest of a task."""

_MOST: Final = 1 << 62
_LONG: Final = 2000


def _devices(fields: dict[str, Any], name: str) -> tuple[int, ...]:
    found = fields.get(name)
    if not isinstance(found, list) or not all(type(one) is int for one in found) or len(found) > MOST_ITEMS:
        raise WireError("devices must be a list of whole numbers")
    return tuple(found)


def _number(fields: dict[str, Any], name: str) -> float:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise WireError(f"{name[:40]} must be a number")
    return float(value)


def _values_of(read: Reader) -> Reader:
    """Return the reader of an object with any names and such values."""

    def read_all(fields: dict[str, Any], name: str) -> dict[str, Any]:
        found = nested(fields, name)
        return {key: read(found, key) for key in found}

    return read_all


_Account = Annotated[str, text_of(100)]
_Count = Annotated[int, whole(_MOST)]
_Counts = Annotated[Mapping[str, int], _values_of(whole(_MOST))]
_Devices = Annotated[tuple[int, ...], _devices]
_OptionalCount = Annotated[int | None, optional(whole(_MOST))]
_Reason = Annotated[str | None, optional(text_of(_LONG))]


@dataclass(frozen=True, slots=True)
class PlacedPod:
    """The host and the devices of a pod."""

    pod: _Count
    host: _Account
    devices: _Devices


@dataclass(frozen=True, slots=True)
class RecordedCandidate:
    """A host on which the task is feasible. `points`: its cost, lower is better, the sum of `parts`.

    `closed`: reserved for other tasks.
    """

    host: _Account
    devices: _Devices
    points: Annotated[float, _number]
    parts: Annotated[Mapping[str, float], _values_of(_number)]
    closed: Annotated[bool, flag]


@dataclass(frozen=True, slots=True)
class RecordedCandidates:
    """How the filters judged all `hosts`: `fitting` were feasible, and `closed` of these reserved for other tasks.

    `excluded`: number of hosts by the filter that excluded them. `best`: the candidates with the lowest cost.
    """

    hosts: _Count
    fitting: _Count
    closed: _Count
    excluded: _Counts
    best: Annotated[tuple[RecordedCandidate, ...], objects_of(RecordedCandidate)]


@dataclass(frozen=True, slots=True)
class RecordedOutcome:
    """The outcome of a placement. `kind`: assigned, refused or overtaken; `block`: the final block that has it."""

    kind: Annotated[str, text_of(20)]
    reason: _Reason
    block: _OptionalCount
    at_ms: _Count


@dataclass(frozen=True, slots=True)
class Decision:
    """A placement: the task was number `turn` of the `placed` tasks of its scheduling cycle.

    `spots`: the first of its `pods`. `seen`: None if the cycle had more tasks than were explained. `like`: the task of
    the same cycle and equivalence class whose explanation it is; None: its own. `answer`: None while it is not known.
    """

    at_ms: _Count
    generation: _Count
    pods: _Count
    spots: Annotated[tuple[PlacedPod, ...], objects_of(PlacedPod)]
    turn: _Count
    placed: _Count
    seen: Annotated[RecordedCandidates | None, optional(object_of(RecordedCandidates, ignore_unknown=True))]
    like: _OptionalCount
    answer: Annotated[RecordedOutcome | None, optional(object_of(RecordedOutcome, ignore_unknown=True))]


@dataclass(frozen=True, slots=True)
class WaitRecord:
    """Why a task was unschedulable at `at_ms`, as in `times` scheduling cycles since `since_ms`.

    `pods_fitting` of `pods_needed` were feasible; `closed`: feasible hosts that were reserved for other tasks. `like`:
    the task of the same equivalence class that was tried; None: itself.
    """

    generation: _Count
    since_ms: _Count
    at_ms: _Count
    times: _Count
    hosts: _Count
    pods_fitting: _Count
    pods_needed: _Count
    closed: _Count
    excluded: _Counts
    like: _OptionalCount = None


@dataclass(frozen=True, slots=True)
class SchedulingStatus:
    """The present state of a task in a running scheduler.

    `state`: waits, placed (assumed, not yet on the chain) or unknown (not waiting). `limit`: the quota of a queue or an
    account for which it waits. `not_before_ms`: end of the backoff after a refusal by the chain. `others_turn`: it is
    in the work partition of another scheduler. `starts_by_ms`: start of its reservation. `nobody_leaves`: why no
    spot task is preempted for it.
    """

    state: Annotated[str, text_of(20)]
    limit: _Reason = None
    not_before_ms: _OptionalCount = None
    others_turn: Annotated[bool, flag] = False
    starts_by_ms: _OptionalCount = None
    nobody_leaves: _Reason = None


@dataclass(frozen=True, slots=True)
class DecisionReport:
    """The newest decisions of a scheduler about a task, the oldest of them first."""

    task: _Count
    scheduler: _Account
    seed: Annotated[str, text_of(200)]
    decisions: Annotated[tuple[Decision, ...], objects_of(Decision)] = ()
    waits: Annotated[tuple[WaitRecord, ...], objects_of(WaitRecord)] = ()
    now: Annotated[SchedulingStatus | None, optional(object_of(SchedulingStatus, ignore_unknown=True))] = None

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
    return decode(DecisionReport, fields, ignore_unknown=True)


def candidate_report(fields: dict[str, Any]) -> RecordedCandidates:
    """Return the candidates in these fields. Raise WireError."""
    return decode(RecordedCandidates, fields, ignore_unknown=True)
