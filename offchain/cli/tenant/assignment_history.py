"""What the chain did about a task's placements, from the index: every assignment, and every way back to the queue."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import Any, Final

from offchain.cli.kit import index_address
from offchain.cli.kit.event_text import event_text, plain_fields, time_text
from offchain.cli.kit.output import say, table
from offchain.indexer import queries
from offchain.indexer.block_rows import unpack, with_bytes
from offchain.indexer.database import IndexFault
from offchain.ports import ChainEvent

_MOST: Final = 1000
_NAMES: Final = frozenset(
    {
        "Submitted",
        "Assigned",
        "PodStarted",
        "Requeued",
        "PodLost",
        "StandbyNamed",
        "LeaseMoved",
        "LeaseEnded",
        "Expired",
        "Cancelled",
        "Settled",
    }
)


@dataclass(frozen=True, slots=True)
class Step:
    """An event of the task."""

    block: int
    time_ms: int
    name: str
    text: str
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answers:
    """The task's state in the index, and its steps, the oldest first; `up_to_block`: how far the index has come."""

    state: str
    steps: tuple[Step, ...]
    up_to_block: int | None

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        steps = [
            {"block": one.block, "time_ms": one.time_ms, "event": one.name, "text": one.text, "fields": one.fields}
            for one in self.steps
        ]
        return {"state": self.state, "steps": steps, "up_to_block": self.up_to_block}


def answers_of(index: str | None, task: int, genesis: bytes) -> Answers | None:
    """What the index says; None where there is none of this chain, or it does not know the task.

    Raises where an index that was named cannot be asked.
    """
    named = index is not None or bool(os.environ.get("GANTRY_INDEX"))
    address = index_address.choose(index)
    try:
        with contextlib.closing(queries.open_for_reading(address)) as db, db.snapshot():
            other = queries.read_meta(db).get("genesis") != genesis.hex()
            found = None if other else queries.task(db, task)
            if found is None:
                return None
            last = queries.last_block(db)
            happened = queries.mentions(db, str(task), _MOST)
    except IndexFault:
        if named:
            raise
        return None
    steps = []
    for one in happened:
        row = one.event
        if row.pallet == "Tasks" and row.name in _NAMES:
            fields = with_bytes(unpack(row.fields))
            text = event_text(ChainEvent(row.pallet, row.name, fields, row.extrinsic), None)
            steps.append(Step(row.block, one.time_ms, f"Tasks.{row.name}", text, plain_fields(fields)))
    return Answers(found.state, tuple(steps), None if last is None else last.number)


def show_answers(answers: Answers) -> None:
    """As a table."""
    say()
    table(
        ("BLOCK", "TIME", "ON THE CHAIN", ""),
        [(one.block, time_text(one.time_ms), one.name, one.text) for one in answers.steps],
    )
