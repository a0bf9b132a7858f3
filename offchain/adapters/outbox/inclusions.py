"""Search of the final blocks for the extrinsics of an account, and for the outcomes of their calls."""

from __future__ import annotations

from collections.abc import Callable

from offchain.adapters.outbox.intents import IntentTable
from offchain.adapters.outbox.store import Store
from offchain.errors import BadReply
from offchain.ports import Block, ChainPort


class InclusionScanner:
    """Records what final blocks include, each block once. `wake_waiters`: called with the keys of calls that ended."""

    def __init__(self, chain: ChainPort, store: Store, intents: IntentTable, wake_waiters: Callable[..., None]) -> None:
        self._chain = chain
        self._store = store
        self._intents = intents
        self._wake_waiters = wake_waiters

    async def scan(self, last: int) -> None:
        """Search the final blocks up to `last` that were not searched yet for extrinsics of the account."""
        while (scanned := self._intents.scanned) is not None and scanned < last:
            if all(submission.extrinsic.valid_until <= scanned for submission in self._intents.submissions()):
                self._intents.set_scanned(last)
                return
            try:
                block = await self._chain.block(scanned + 1)
            except BadReply as error:
                if error.code != "state_pruned":
                    raise
                await self._record_pruned(scanned + 1)
            else:
                self.record(block)

    def record(self, block: Block) -> None:
        """Record the outcomes in this final block, unless it was searched already."""
        scanned = self._intents.scanned
        if scanned is not None and block.ref.number <= scanned:
            return
        with self._store.transaction():
            ended = self._intents.record_included(block.inclusions, block.ref)
            self._intents.set_scanned(block.ref.number)
        self._wake_waiters(*ended)

    async def _record_pruned(self, number: int) -> None:
        """Record a block whose events the node has pruned: its extrinsics are known, but not their outcomes."""
        ended: list[str] = []
        hashes = await self._chain.extrinsic_hashes(number)
        with self._store.transaction():
            for one in hashes:
                reason = f"it is in block {number}, but the node no longer knows what came of it there"
                ended += self._intents.give_up_included(one, reason, number)
            self._intents.set_scanned(number)
        self._wake_waiters(*ended)
