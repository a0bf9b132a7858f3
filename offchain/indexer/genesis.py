"""Coins in the genesis block: no event tells them, and sums of movements begin with them."""

from __future__ import annotations

from sqlalchemy import delete

from offchain.errors import BadReply
from offchain.indexer import meta
from offchain.indexer.database import IndexDatabase
from offchain.indexer.state_rows import GenesisBalanceRow
from offchain.indexer.tables import TABLES
from offchain.ports import ChainPort


async def read_genesis_balances(chain: ChainPort) -> list[GenesisBalanceRow] | None:
    """Return what accounts had in the genesis block; None if the node no longer has its state."""
    try:
        found = await chain.query_map("System", "Account", at=await chain.genesis_hash())
    except BadReply as error:
        if error.code == "state_pruned":
            return None
        raise
    return [GenesisBalanceRow(account, record["data"]["free"], record["data"]["reserved"]) for account, record in found]


def has_genesis_balances(db: IndexDatabase) -> bool:
    return meta.GENESIS_BALANCES in meta.read_meta(db)


def store_genesis_balances(db: IndexDatabase, rows: list[GenesisBalanceRow]) -> None:
    """Store them once and for all."""
    with db.transaction():
        db.execute(delete(TABLES[GenesisBalanceRow]))
        db.insert(GenesisBalanceRow, rows)
        meta.note(db, meta.GENESIS_BALANCES, len(rows))
