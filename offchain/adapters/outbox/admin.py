"""Administration of an outbox by its operator: list, retry and drop calls.

It may be used while the process of the outbox runs, which reads its rows again after every final block.
"""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Row

from offchain.adapters.outbox.deletion import delete_intents
from offchain.adapters.outbox.intent_values import IntentState, unpack_call
from offchain.adapters.outbox.store import Store
from offchain.adapters.outbox.tables import TABLES
from offchain.errors import OurError
from offchain.ports import Call

_DROPPED = "dropped with gantry outbox drop"
_ENTRY = (
    "SELECT i.*, (SELECT max(x.valid_until) FROM extrinsic_intents c JOIN extrinsics x ON x.id = c.extrinsic"
    " WHERE c.seq = i.seq AND x.alive) AS valid_until, (SELECT max(x.tip) FROM extrinsic_intents c"
    " JOIN extrinsics x ON x.id = c.extrinsic WHERE c.seq = i.seq AND x.alive) AS tip FROM intents i"
)


class OutboxRefusal(OurError):  # noqa: N818
    """The operation is not possible in the present state of the call."""

    code = "outbox"


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """A call in the outbox.

    `number` is its key in the database. `reason`: why it was given up, or why its last extrinsic was refused.
    `valid_until`: the last block that may include its extrinsic, None where it is in none; `tip`: of that extrinsic, in
    base units.
    """

    number: int
    account: str
    key: str
    call: Call
    state: IntentState
    attempts: int
    created_ms: int
    reason: str | None
    valid_until: int | None
    tip: int


class OutboxAdmin:
    """The outbox in the database of a worker or agent."""

    def __init__(self, store: Store) -> None:
        store.migrate("outbox", TABLES)
        self._store = store

    def entries(self, *states: IntentState) -> list[OutboxEntry]:
        """The calls in these states, oldest first; without a state, all queued, sent and dead ones."""
        wanted = states or (IntentState.QUEUED, IntentState.SENT, IntentState.DEAD)
        marks = ", ".join("?" * len(wanted))
        return [_entry(row) for row in self._store.all(f"{_ENTRY} WHERE i.state IN ({marks}) ORDER BY seq", *wanted)]

    def retry(self, number: int) -> OutboxEntry:
        """Queue a call that was given up or waits for its next attempt to be sent at once, with all attempts anew.

        Raises OutboxRefusal for a call in another state, and where there is none.
        """
        with self._store.transaction():
            entry = self._entry(number)
            if entry.state not in (IntentState.DEAD, IntentState.QUEUED):
                raise _refusal(entry)
            self._store.run(
                "UPDATE intents SET state = 'queued', attempts = 0, not_before = 0, reason = NULL, ended_at = NULL"
                " WHERE seq = ?",
                number,
            )
            return entry

    def drop(self, number: int) -> OutboxEntry:
        """Delete a call that was given up; give up a queued one, which its waiters learn as its outcome.

        Raises OutboxRefusal for a call in another state, and where there is none.
        """
        with self._store.transaction():
            entry = self._entry(number)
            if entry.state is IntentState.DEAD:
                delete_intents(self._store, [number])
            elif entry.state is IntentState.QUEUED:
                self._store.run(
                    "UPDATE intents SET state = 'dead', reason = ?, ended_at ="
                    " coalesce((SELECT scanned FROM lanes WHERE lanes.account = intents.account), 0) WHERE seq = ?",
                    _DROPPED,
                    number,
                )
            else:
                raise _refusal(entry)
            return entry

    def _entry(self, number: int) -> OutboxEntry:
        row = self._store.one(f"{_ENTRY} WHERE i.seq = ?", number)
        if row is None:
            raise OutboxRefusal(
                f"There is no call {number} in this outbox.", "gantry outbox list shows those there are."
            )
        return _entry(row)


def _refusal(entry: OutboxEntry) -> OutboxRefusal:
    if entry.state is IntentState.SENT:
        return OutboxRefusal(
            f"Call {entry.number} ({entry.key}) is on its way: a block up to {entry.valid_until} may hold it.",
            "What is on its way cannot be called back. Look again after that block.",
        )
    return OutboxRefusal(
        f"Call {entry.number} ({entry.key}) has ended already: {entry.state}.", "There is nothing left to do."
    )


def _entry(row: Row) -> OutboxEntry:
    return OutboxEntry(
        row["seq"],
        row["account"],
        row["key"],
        unpack_call(row["call"]),
        IntentState(row["state"]),
        row["attempts"],
        row["created_ms"],
        row["reason"],
        row["valid_until"],
        row["tip"] or 0,
    )
