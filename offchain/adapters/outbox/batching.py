"""Batch calls of the chain: which calls go together as one, and how they are written.

A batch has an outcome for each item (:attr:`offchain.ports.Inclusion.refused`), so the outbox can send waiting calls as
one extrinsic and still report the outcome of each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from offchain.ports import Call

Args = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch call. `limit`: most items. `subject`: the argument of the items that has to be different in each.

    The chain permits more items, but it weighs a batch in advance as if each had a host and a spec of its own, and
    refuses one that could fill a block.
    """

    function: str
    argument: str
    limit: int
    subject: str


_ASSIGN = _Batch("assign_batch", "assignments", 256, "task")
_SETTLE = _Batch("settle_batch", "tasks", 256, "task")
# A host may send as many reports at once as it has leases, so each lease is in a batch only once.
_REPORT = _Batch("report_batch", "reports", 256, "lease")

_ITEMS: Mapping[str, tuple[_Batch, Callable[[Args], Any]]] = {
    "assign": (_ASSIGN, lambda args: (args["task"], args["pods"])),
    "settle": (_SETTLE, lambda args: args["task"]),
    "report_started": (_REPORT, lambda args: (args["lease"], "Started")),
    "report_result": (_REPORT, lambda args: (args["lease"], {"Result": args["result"]})),
    "report_failed": (_REPORT, lambda args: (args["lease"], {"Failed": args["reason"]})),
    "report": (_REPORT, lambda args: (args["lease"], args["report"])),
}


def batch_limit(call: Call) -> int:
    """The most calls like this one in a batch; 1 where there is no batch of them."""
    batch = _batch_of(call)
    return 1 if batch is None else batch.limit


def batch_size(calls: Sequence[Call]) -> int:
    """The number of calls, from the first on, of which one batch can be made; 1 where the first goes alone.

    A call of another kind ends the batch: no call is sent ahead of one that waited before it.
    """
    batch = _batch_of(calls[0])
    if batch is None:
        return 1
    subjects: set[Any] = set()
    for size, call in enumerate(calls):
        if size == batch.limit or _batch_of(call) is not batch or call.args[batch.subject] in subjects:
            return size
        subjects.add(call.args[batch.subject])
    return len(calls)


def make_batch(calls: Sequence[Call]) -> Call:
    """One call for several that :func:`batch_size` permits; a single one is returned as it is."""
    if len(calls) == 1:
        return calls[0]
    batch, _ = _ITEMS[calls[0].function]
    items = [_ITEMS[call.function][1](call.args) for call in calls]
    return Call("Tasks", batch.function, {batch.argument: items})


def _batch_of(call: Call) -> _Batch | None:
    found = _ITEMS.get(call.function) if call.pallet == "Tasks" else None
    if found is None or (call.function == "report" and "Checkpoint" not in call.args["report"]):
        # A refused item costs a fine: a call that is refused when it comes a moment too early goes alone.
        return None
    return found[0]
