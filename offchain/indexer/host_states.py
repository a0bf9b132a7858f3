"""Present state of hosts in the index: which hosts have to be read, and the rows that are read from the chain.

Hosts that events name become due with the block of these events. Due hosts are read from the storage of a final block
while the index is at the head of the chain, a bounded number with each block.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import delete, select, text

from offchain.indexer.database import IndexDatabase
from offchain.indexer.host_usage import store_usage, usage_rows
from offchain.indexer.offers import HostAtBlock, device_rows, offer_rows
from offchain.indexer.rows import HostRow
from offchain.indexer.state_rows import DeviceRow, DueHostRow, HostUsageRow, OfferRow
from offchain.indexer.tables import TABLES, columns
from offchain.ports import BlockRef, ChainPort
from offchain.schema.chain_types import _generated_chain as gen

MOST_HOSTS: Final = 500
"""Hosts that are read with one block: about 0.1 s of work."""
_AT_ONCE: Final = 1_000
"""Parameters of one statement."""
_MARK_ALL: Final = text(
    f"INSERT INTO {DueHostRow.TABLE} (host, since_block) SELECT host, :block FROM {HostRow.TABLE} WHERE true"  # noqa: S608 - our own names
    " ON CONFLICT (host) DO NOTHING"
)


@dataclass(frozen=True, slots=True)
class HostsRead:
    """Hosts that were read from the storage of block `read_block`, and their rows."""

    read_block: int
    hosts: tuple[str, ...]
    offers: list[OfferRow]
    devices: list[DeviceRow]
    usage: list[HostUsageRow]


async def read_hosts(chain: ChainPort, hosts: Sequence[str], at: BlockRef) -> HostsRead:
    """Read hosts and their scores from the storage of a final block."""
    keys = [(host,) for host in hosts]
    records, scores = await asyncio.gather(
        chain.query_many("Hosts", "Hosts", keys, at.hash), chain.query_many("Reputation", "HostScores", keys, at.hash)
    )
    found = [
        HostAtBlock(
            host,
            at.number,
            gen.HostRecord.decode(record),
            None if score is None else gen.HostScore.decode(score),
        )
        for host, record, score in zip(hosts, records, scores, strict=True)
        if record is not None
    ]
    return HostsRead(
        at.number,
        tuple(hosts),
        [row for one in found for row in offer_rows(one)],
        [row for one in found for row in device_rows(one)],
        [row for one in found for row in usage_rows(one)],
    )


class HostStates:
    """Tables of offers and devices. Call the methods that write in a transaction."""

    def __init__(self, db: IndexDatabase) -> None:
        self._db = db

    def registered_of(self, accounts: Collection[str]) -> set[str]:
        """Return those of the accounts that are hosts."""
        host, names = columns(HostRow).host, sorted(accounts)
        parts = [names[start : start + _AT_ONCE] for start in range(0, len(names), _AT_ONCE)]
        return {name for part in parts for (name,) in self._db.execute(select(host).where(host.in_(part)))}

    def due(self, most: int) -> list[str]:
        """Return hosts that have to be read, those first that have been waiting longest."""
        due = columns(DueHostRow)
        found = self._db.execute(select(due.host).order_by(due.since_block, due.host).limit(most))
        return [host for (host,) in found]

    def mark(self, hosts: Collection[str], block: int) -> None:
        """Note that hosts have to be read because of this block."""
        self._db.upsert(DueHostRow, [DueHostRow(host, block) for host in sorted(hosts)])

    def mark_all(self, block: int) -> None:
        """Note that every host has to be read: changes may have been missed."""
        if self._db.has_table(HostRow.TABLE):
            self._db.execute(_MARK_ALL.bindparams(block=block))

    def store(self, read: HostsRead, time_ms: int) -> None:
        """Replace the rows of the hosts that were read at a block of this time."""
        for row_type in (OfferRow, DeviceRow, DueHostRow):
            of_hosts = columns(row_type).host.in_(read.hosts)
            is_older = [columns(row_type).since_block <= read.read_block] if row_type is DueHostRow else []
            self._db.execute(delete(TABLES[row_type]).where(of_hosts, *is_older))
        self._db.insert(OfferRow, read.offers)
        self._db.insert(DeviceRow, read.devices)
        store_usage(self._db, read.hosts, read.usage, time_ms)
