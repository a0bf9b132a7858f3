"""An outbox as its operator sees it: what waits, what was given up, and what to do about it.

May be used while the outbox's process runs: that one reads its rows again after every final block.
"""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Row

from offchain.adapters.outbox.intent_values import State, unpack_call
from offchain.adapters.outbox.intents import TABLES
from offchain.adapters.outbox.store import Store
from offchain.errors import OurError
from offchain.ports import Call

_DROPPED = "dropped with gantry outbox drop"
_ENTRY = (
    "SELECT i.*, (SELECT max(x.valid_until) FROM carried c JOIN flights x USING (hash) WHERE c.seq = i.seq AND x.alive)"
    " AS valid_until, (SELECT max(x.tip) FROM carried c JOIN flights x USING (hash) WHERE c.seq = i.seq AND x.alive)"
    " AS tip FROM intents i"
)


class NotPossible(OurError):  # noqa: N818
    """What was asked for cannot be done with this call."""

    code = "outbox"


@dataclass(frozen=True, slots=True)
class Entry:
    """A call in the outbox.

    `number` names it within its database. `reason`: why it was given up, or what kept its last extrinsic out.
    `valid_until`: the last block that may hold it, where it is on its way; `tip`: what it gives for it, in base units.
    """

    number: int
    account: str
    key: str
    call: Call
    state: State
    attempts: int
    created_ms: int
    reason: str | None
    valid_until: int | None
    tip: int


class Desk:
    """The outbox in a worker's or agent's database."""

    def __init__(self, store: Store) -> None:
        store.migrate("outbox", TABLES)
        self._store = store

    def entries(self, *states: State) -> list[Entry]:
        """The calls in these states, oldest first; without any: all that have not had their effect yet."""
        wanted = states or (State.QUEUED, State.SENT, State.DEAD)
        marks = ", ".join("?" * len(wanted))
        return [_entry(row) for row in self._store.all(f"{_ENTRY} WHERE i.state IN ({marks}) ORDER BY seq", *wanted)]

    def retry(self, number: int) -> Entry:
        """Have a call that was given up, or is waiting for its next try, sent at once, with all its tries before it.

        Raises NotPossible for one in another state, and where there is none.
        """
        with self._store.transaction():
            entry = self._entry(number)
            if entry.state not in (State.DEAD, State.QUEUED):
                raise _in_the_way(entry)
            self._store.run(
                "UPDATE intents SET state = 'queued', attempts = 0, not_before = 0, reason = NULL WHERE seq = ?", number
            )
            return entry

    def drop(self, number: int) -> Entry:
        """Remove a call that was given up; give up one that waits, so that whoever waits for it is told.

        Raises NotPossible for one in another state, and where there is none.
        """
        with self._store.transaction():
            entry = self._entry(number)
            if entry.state is State.DEAD:
                self._store.run("DELETE FROM intents WHERE seq = ?", number)
                self._store.run("DELETE FROM flights WHERE hash NOT IN (SELECT hash FROM carried)")
            elif entry.state is State.QUEUED:
                self._store.run("UPDATE intents SET state = 'dead', reason = ? WHERE seq = ?", _DROPPED, number)
            else:
                raise _in_the_way(entry)
            return entry

    def _entry(self, number: int) -> Entry:
        row = self._store.one(f"{_ENTRY} WHERE i.seq = ?", number)
        if row is None:
            raise NotPossible(f"There is no call {number} in this outbox.", "gantry outbox list shows those there are.")
        return _entry(row)


def _in_the_way(entry: Entry) -> NotPossible:
    if entry.state is State.SENT:
        return NotPossible(
            f"Call {entry.number} ({entry.key}) is on its way: a block up to {entry.valid_until} may hold it.",
            "What is on its way cannot be called back. Look again after that block.",
        )
    return NotPossible(
        f"Call {entry.number} ({entry.key}) has ended already: {entry.state}.", "There is nothing left to do."
    )


def _entry(row: Row) -> Entry:
    return Entry(
        row["seq"],
        row["account"],
        row["key"],
        unpack_call(row["call"]),
        State(row["state"]),
        row["attempts"],
        row["created_ms"],
        row["reason"],
        row["valid_until"],
        row["tip"] or 0,
    )
