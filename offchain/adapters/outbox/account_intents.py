"""The intents of one account in a store: read in the event loop, changed in the writer's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import takewhile
from typing import TypeVar

from offchain.adapters.outbox.batching import batch_limit, batch_size
from offchain.adapters.outbox.deletion import EndedBefore, load_old_pages
from offchain.adapters.outbox.intent_reads import IntentReads
from offchain.adapters.outbox.intent_values import Intent, OutboxCounts
from offchain.adapters.outbox.intents import IntentTable
from offchain.adapters.outbox.store import IN_MEMORY, Store
from offchain.adapters.outbox.tables import TABLES
from offchain.ports import SignedExtrinsic

T = TypeVar("T")


class AccountIntents(IntentReads):
    """Reads of the committed state, and :meth:`write`. `counts` is kept up to date.

    A change runs while the event loop goes on: what it depends on is read in the change.
    """

    def __init__(self, store: Store, account: str, counts: OutboxCounts | None = None) -> None:
        store.migrate("outbox", TABLES)
        super().__init__(store, account)
        self._store = store
        self._table = IntentTable(store.writer, account, counts)

    async def write(self, change: Callable[[IntentTable], T], then: Callable[[T], None] | None = None) -> T:
        """Run `change` in a transaction; see :meth:`Store.write <offchain.adapters.outbox.store.Store.write>`."""
        return await self._store.write(lambda: change(self._table), then)

    def begin_write(
        self, change: Callable[[IntentTable], T], then: Callable[[T], None] | None = None
    ) -> asyncio.Future[T]:
        """As :meth:`write`, without waiting. The future must not be cancelled."""
        return self._store.begin_write(lambda: change(self._table), then)

    async def mark_broadcast(self, extrinsic: SignedExtrinsic, block: int) -> None:
        """Note that a node has accepted the extrinsic."""
        await self.write(lambda table: table.mark_broadcast(extrinsic, block))

    async def mark_suspect(self, extrinsic: SignedExtrinsic, block: int) -> None:
        """Note that a node has refused the extrinsic, although one may have accepted it before."""
        await self.write(lambda table: table.mark_suspect(extrinsic, block))

    def next_batch(self, block: int) -> list[Intent]:
        """The oldest intent that is due at this block, with the following ones that fit into one batch with it."""
        with self._store.snapshot():
            intents = self.due(block)
            if intents and not intents[0].attempts and batch_limit(intents[0].call) > 1:
                waiting = self.due(block, batch_limit(intents[0].call))
                fresh = list(takewhile(lambda intent: not intent.attempts, waiting))
                intents = fresh[: batch_size([intent.call for intent in fresh])]
        return intents

    async def delete_ended(self, *wanted: EndedBefore) -> None:
        """Delete some of the oldest of these intents."""
        if self._store.path != IN_MEMORY and not await asyncio.to_thread(
            load_old_pages, self._store.path, self._account, wanted
        ):
            return
        await self.write(lambda table: table.forget_ended(wanted))
