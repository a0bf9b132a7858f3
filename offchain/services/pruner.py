"""Finds tasks that are over for long enough to leave the chain's storage.

No list of the chain's names them. They are nearly in the order of their numbers, so a walk from the oldest kept task on
soon comes to one that was submitted too lately to be due, and ends there.
"""

from __future__ import annotations

from typing import Final

from offchain.schema.chain_types._generated_chain import LeaseStateRetained, TaskRecord
from offchain.services.snapshot_reader import Reads

FINAL_STATES: Final = frozenset({"Settled", "Expired", "Cancelled", "Failed"})
PAGE: Final = 1000
"""So many records are looked at in one step; as many tasks fit into one call."""
PAUSE_MS: Final = 600_000
"""So long after a walk, in chain time, the next begins."""


class Pruner:
    """The walk, one page a step. It keeps nothing but its place."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._after: int | None = None
        self._not_before = 0
        self._period = 0

    async def due(self, at: bytes, now: int, archive_after_ms: int) -> list[int]:
        """The tasks of the next page that may be pruned at chain time `now`; none while there is nothing to do."""
        if now < self._not_before and archive_after_ms == self._period:
            return []
        self._period = archive_after_ms
        page = await self._reads.tasks_after(self._after, PAGE, at)
        found = [task for task, record in page if may_be_pruned(record, now, archive_after_ms)]
        if len(page) < PAGE or page[-1][1].submitted_at + archive_after_ms > now:
            self._after, self._not_before = None, now + min(PAUSE_MS, archive_after_ms)
        else:
            self._after = page[-1][0]
        return found


def may_be_pruned(record: TaskRecord, now: int, archive_after_ms: int) -> bool:
    """Whether the chain would let this task go: final for long enough, and no data of it is kept."""
    return (
        record.state.tag in FINAL_STATES
        and record.changed_at + archive_after_ms <= now
        and not any(isinstance(lease.state, LeaseStateRetained) for lease in record.leases)
    )
