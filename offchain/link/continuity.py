"""Whether a chain node still has the block up to which a database was brought: the same chain, or one started anew.

A node with the same genesis block whose database was removed is recognised by a final block with another hash at the
same height. A node that has not reached that height proves nothing: it may be syncing, or lag behind another one.
"""

from __future__ import annotations

from offchain.link.errors import ChainBehind, Reorganised
from offchain.link.ports import BlockRef, ChainPort


async def require_continued(chain: ChainPort, last: BlockRef | None, kept_in: str) -> None:
    """Raise Reorganised where another final block is in the place of `last`, ChainBehind where there is none yet.

    `kept_in`: the database with `last`, for the message. A node that does not keep that block is trusted.
    """
    if last is None:
        return
    head = await chain.finalized_head()
    if head.number < last.number:
        raise ChainBehind(head.number, last.number, kept_in)
    try:
        found = await chain.block_ref(last.number)
    except LookupError:
        return
    if found.hash != last.hash:
        raise Reorganised(found, last, kept_in)
