"""The chain that a database belongs to: its genesis hash and a final block of it, and errors where a node has others.

A host key, an outbox and its nonces are for one chain only. If a node of another chain took the place of theirs, their
owner would sign for a network that it never joined. A node whose database was removed has the same genesis block: it is
recognised by a final block with another hash at the height of a known one. A node that has not reached that height
proves nothing: it may be syncing, or behind another node.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from offchain.adapters.outbox.store import Store
from offchain.errors import BadReply, ChainBehind, Reorganised, WrongChain
from offchain.ports import BlockRef, ChainPort

_TABLES = [
    "CREATE TABLE pinned_chain (row INTEGER PRIMARY KEY CHECK (row = 0), genesis BLOB NOT NULL) STRICT",
    """
    CREATE TABLE seen_block (
        row INTEGER PRIMARY KEY CHECK (row = 0), number INTEGER NOT NULL, hash BLOB NOT NULL
    ) STRICT
    """,
]


def expected_genesis(store: Store, configured: bytes | None) -> bytes | None:
    """The genesis hash of the database, else the configured one, else None. WrongChain where they differ."""
    store.migrate("chain_pin", _TABLES)
    row = store.one("SELECT genesis FROM pinned_chain")
    stored = None if row is None else bytes(row["genesis"])
    if stored is not None and configured is not None and stored != configured:
        raise WrongChain(f"0x{stored.hex()}", f"0x{configured.hex()}", "genesis")
    return stored or configured


def pin_genesis(store: Store, genesis: bytes) -> None:
    """Bind the database to this chain. WrongChain where it belongs to another."""
    if expected_genesis(store, genesis) == genesis:
        store.run("INSERT OR IGNORE INTO pinned_chain VALUES (0, ?)", genesis)


def seen_block(store: Store) -> BlockRef | None:
    """The final block that was stored last."""
    store.migrate("chain_pin", _TABLES)
    row = store.one("SELECT number, hash FROM seen_block")
    return None if row is None else BlockRef(row["number"], bytes(row["hash"]))


def note_block(store: Store, ref: BlockRef) -> None:
    """Store a final block: a chain with another block at its height is another chain."""
    store.migrate("chain_pin", _TABLES)
    store.run("INSERT OR REPLACE INTO seen_block VALUES (0, ?, ?)", ref.number, ref.hash)


async def require_continued(
    chain: ChainPort, last: BlockRef | None, kept_in: str, head: BlockRef | None = None
) -> None:
    """Raise Reorganised where the node has another final block at the height of `last`, ChainBehind where it has none.

    `kept_in`: the database that `last` is stored in, for messages. `head`: the newest final block; None: ask the node.
    A node that has pruned the block of that height is trusted.
    """
    if last is None:
        return
    head = head or await chain.finalized_head()
    if head.number < last.number:
        raise ChainBehind(head.number, last.number, kept_in)
    try:
        found = await chain.block_ref(last.number)
    except LookupError:
        return
    if found.hash != last.hash:
        raise Reorganised(found, last, kept_in)


@asynccontextmanager
async def continued(chain: ChainPort, last: Callable[[], BlockRef | None], kept_in: str) -> AsyncIterator[None]:
    """Check as `require_continued` before the block of code runs, and again where it fails because of an unknown block.

    A node of a chain that was started anew does not know the blocks that it is asked about; its error does not name
    that cause, so it is replaced by Reorganised or ChainBehind.
    """
    await require_continued(chain, last(), kept_in)
    try:
        yield
    except Exception as error:
        if _is_of_unknown_block(error):
            await require_continued(chain, last(), kept_in)
        raise


def _is_of_unknown_block(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(_is_of_unknown_block(part) for part in error.exceptions)
    return isinstance(error, (BadReply, LookupError)) and getattr(error, "code", "") != "state_pruned"
