"""Schedulers that follow from events: bonds, published queue definitions, placements and penalties. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from offchain.indexer.derive_values import IndexedEvent, RowLookup, text_of
from offchain.indexer.event_fold import opened_leases
from offchain.indexer.matter_rows import SchedulerPenaltyRow, SchedulerRow
from offchain.indexer.rows import CoinAmount, Row

_BOND: Final = "Tasks(SchedulerBond)"
"""Why the coins of a scheduler's bond are on hold."""
_BONDED: Final = "Bonded"
_BOND_CHANGES: Final[Mapping[str, tuple[str, int]]] = {
    "Held": ("who", 1),
    "Released": ("who", -1),
    "BurnedHeld": ("who", -1),
    "TransferOnHold": ("source", -1),
}
"""Events of the balances pallet that change a bond: the field with the scheduler, and the sign of the amount."""


def bonds(seen: IndexedEvent, get: RowLookup) -> Iterator[Row]:
    """Yield the scheduler whose bond an event of the balances pallet changes."""
    fields = seen.fields
    change = _BOND_CHANGES.get(seen.name)
    if change is None or "reason" not in fields or text_of(fields["reason"]) != _BOND:
        return
    name, sign = change
    before = get(SchedulerRow, fields[name])
    if before is None and sign > 0:
        before = _new(seen, fields[name], 0)
    if before is not None and before.bond is not None:
        yield _changed(before, seen, bond=CoinAmount(before.bond + sign * fields["amount"]))


def conduct(seen: IndexedEvent, get: RowLookup) -> Iterator[Row]:
    """Yield the scheduler that an event of the tasks pallet is about, and the penalty that it tells."""
    fields = seen.fields
    if seen.name == "Assigned":
        placer = None if seen.signer is None else get(SchedulerRow, seen.signer)
        if placer is not None and placer.state == _BONDED:
            opened = len(tuple(opened_leases(seen.name, fields)))
            yield replace(placer, placed=placer.placed + opened, placed_ms=seen.time_ms)
        return
    if seen.name not in _CONDUCT:
        return
    found = get(SchedulerRow, fields["who"]) or _new(seen, fields["who"], None)
    match seen.name:
        case "SchedulerBonded":
            yield _changed(found, seen, state=_BONDED, bonded_ms=seen.time_ms, until_ms=None)
        case "SchedulerLeaving":
            yield _changed(found, seen, state="Leaving", until_ms=fields["until"], queues=None, queues_ms=None)
        case "SchedulerUnbonded":
            yield _changed(found, seen, state="Unbonded", until_ms=None, bond=CoinAmount(0))
        case "QueuesPublished":
            digest = fields.get("digest")
            yield _changed(found, seen, queues=digest, queues_ms=None if digest is None else seen.time_ms)
        case "SchedulerPunished":
            to_tenant, to_treasury = CoinAmount(fields["to_tenant"]), CoinAmount(fields["to_treasury"])
            lost = CoinAmount(found.lost + to_tenant + to_treasury)
            yield _changed(found, seen, penalties=found.penalties + 1, lost=lost)
            yield SchedulerPenaltyRow(
                account=found.account,
                block=seen.block,
                place=seen.place,
                lease=fields["lease"],
                cheaper=fields["cheaper"],
                to_tenant=to_tenant,
                to_treasury=to_treasury,
                time_ms=seen.time_ms,
            )


_CONDUCT: Final = frozenset(
    {"SchedulerBonded", "SchedulerLeaving", "SchedulerUnbonded", "SchedulerPunished", "QueuesPublished"}
)


def _new(seen: IndexedEvent, account: str, bond: int | None) -> SchedulerRow:
    return SchedulerRow(account, _BONDED, bond, seen.block, seen.time_ms)


def _changed(row: SchedulerRow, seen: IndexedEvent, **values: Any) -> SchedulerRow:
    return replace(row, changed_block=seen.block, changed_ms=seen.time_ms, **values)
