"""Search of the final blocks for the extrinsics of an account, and for the outcomes of their calls."""

from __future__ import annotations

from collections.abc import Callable

from offchain.adapters.outbox.account_intents import AccountIntents
from offchain.errors import BadReply
from offchain.ports import Block, ChainPort


class InclusionScanner:
    """Records what final blocks include, each block once. `wake_waiters`: called with the keys of calls that ended."""

    def __init__(self, chain: ChainPort, intents: AccountIntents, wake_waiters: Callable[..., None]) -> None:
        self._chain = chain
        self._intents = intents
        self._wake_waiters = wake_waiters

    async def scan(self, last: int) -> None:
        """Search the final blocks up to `last` that were not searched yet for extrinsics of the account."""
        while (scanned := self._intents.scanned) is not None and scanned < last:
            may_skip = all(submission.extrinsic.valid_until <= scanned for submission in self._intents.submissions())
            if may_skip and await self._intents.write(lambda table: table.skip_blocks(last)):
                return
            try:
                block = await self._chain.block(scanned + 1)
            except BadReply as error:
                if error.code != "state_pruned":
                    raise
                await self._record_pruned(scanned + 1)
            else:
                await self.record(block)

    async def record(self, block: Block) -> None:
        """Record the outcomes in this final block, unless it was searched already."""
        await self._intents.write(
            lambda table: table.record_block(block.inclusions, block.ref), lambda ended: self._wake_waiters(*ended)
        )

    async def _record_pruned(self, number: int) -> None:
        """Record a block whose events the node has pruned: its extrinsics are known, but not their outcomes."""
        hashes = await self._chain.extrinsic_hashes(number)
        await self._intents.write(
            lambda table: table.record_pruned(hashes, number), lambda ended: self._wake_waiters(*ended)
        )
