"""Which chain a database belongs to: noted at the first contact; every other one is refused from then on.

A host key, an outbox and its nonces mean something on one chain only. Were a node replaced by one of another chain,
their owner would sign for a network that it never joined.
"""

from __future__ import annotations

from offchain.adapters.outbox.store import Store
from offchain.errors import WrongChain
from offchain.ports import BlockRef

_TABLES = [
    "CREATE TABLE pinned_chain (row INTEGER PRIMARY KEY CHECK (row = 0), genesis BLOB NOT NULL) STRICT",
    """
    CREATE TABLE seen_block (
        row INTEGER PRIMARY KEY CHECK (row = 0), number INTEGER NOT NULL, hash BLOB NOT NULL
    ) STRICT
    """,
]


def expected_genesis(store: Store, given: bytes | None) -> bytes | None:
    """The genesis hash to insist on: the database's, else the given one, else None. WrongChain where both differ."""
    store.migrate("chain_pin", _TABLES)
    row = store.one("SELECT genesis FROM pinned_chain")
    kept = None if row is None else bytes(row["genesis"])
    if kept is not None and given is not None and kept != given:
        raise WrongChain(f"0x{kept.hex()}", f"0x{given.hex()}", "genesis")
    return kept or given


def pin_genesis(store: Store, genesis: bytes) -> None:
    """The database belongs to this chain from now on. WrongChain where it belongs to another."""
    if expected_genesis(store, genesis) == genesis:
        store.run("INSERT OR IGNORE INTO pinned_chain VALUES (0, ?)", genesis)


def seen_block(store: Store) -> BlockRef | None:
    """The last final block that was noted; None where none was."""
    store.migrate("chain_pin", _TABLES)
    row = store.one("SELECT number, hash FROM seen_block")
    return None if row is None else BlockRef(row["number"], bytes(row["hash"]))


def note_block(store: Store, ref: BlockRef) -> None:
    """The database has seen this final block: a chain with another one at its height is another chain."""
    store.migrate("chain_pin", _TABLES)
    store.run("INSERT OR REPLACE INTO seen_block VALUES (0, ?, ?)", ref.number, ref.hash)
