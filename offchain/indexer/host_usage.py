"""Use of hosts over time: periods in which status, offered and leased GPUs of a host did not change.

Hosts are read with each block that changes them, so a period begins at the time of such a block. While the indexer is
behind the chain, hosts are not read: the period before lasts until the block at which they are read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from sqlalchemy import delete, tuple_

from offchain.indexer.database import IndexDatabase
from offchain.indexer.offers import NO_MODEL, HostAtBlock, name_text
from offchain.indexer.state_rows import OPEN_MS, HostUsageRow
from offchain.indexer.tables import TABLES, columns

_UP: Final = frozenset({"Online", "Draining", "Retiring"})
_DOWN: Final = frozenset({"Offline", "Suspended"})
_WHOLE_MILLI: Final = 1000
_NO_TIME: Final = 0


def usage_rows(found: HostAtBlock) -> Iterator[HostUsageRow]:
    """Yield what a host offers and leases now; the time since when is not set. None for an unverified or retired one.

    A healthy device is offered while the host is up; a thousandth that a lease holds counts as offered in any case.
    """
    status = found.record.status.tag
    if status not in _UP | _DOWN:
        return
    is_up = status in _UP
    yield HostUsageRow(found.host, OPEN_MS, NO_MODEL, 0, _NO_TIME, int(is_up), 0, 0)
    totals: dict[tuple[str, bool], tuple[int, int]] = {}
    for device in found.record.devices:
        group = name_text(device.spec.model), device.spec.simulated
        leased = _WHOLE_MILLI - device.milli_free
        offered = _WHOLE_MILLI if is_up and device.healthy else leased
        before = totals.get(group, (0, 0))
        totals[group] = before[0] + offered, before[1] + leased
    for (model, simulated), (offered, leased) in totals.items():
        yield HostUsageRow(found.host, OPEN_MS, model, int(simulated), _NO_TIME, int(is_up), offered, leased)


def store_usage(db: IndexDatabase, hosts: Sequence[str], rows: Sequence[HostUsageRow], now_ms: int) -> None:
    """End the periods of these hosts that `rows` change, and begin new ones. Call it in a transaction."""
    usage = columns(HostUsageRow)
    present = {_group(row): row for row in db.rows(HostUsageRow, usage.host.in_(hosts), usage.until_ms == OPEN_MS)}
    wanted = {_group(row): row for row in rows}
    changed = [group for group, row in present.items() if _use(wanted.get(group)) != _use(row)]
    if changed:
        of_group = tuple_(usage.host, usage.model, usage.simulated).in_(changed)
        db.execute(delete(TABLES[HostUsageRow]).where(usage.until_ms == OPEN_MS, of_group))
    ended = [replace(present[group], until_ms=now_ms) for group in changed if present[group].since_ms < now_ms]
    begun = [replace(row, since_ms=now_ms) for group, row in wanted.items() if _use(present.get(group)) != _use(row)]
    db.insert(HostUsageRow, [*ended, *begun])


def _group(row: HostUsageRow) -> tuple[str, str, int]:
    return row.host, row.model, row.simulated


def _use(row: HostUsageRow | None) -> tuple[int, int, int] | None:
    return None if row is None else (row.online, row.offered_milli, row.leased_milli)
