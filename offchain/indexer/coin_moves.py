"""Movements of coins that follow from events of the balances pallet. Pure.

Each event changes what accounts have free and on hold. `Endowed` and `Fee` change nothing: other events of the same
extrinsic move the coins (a deposit; a withdrawal of the highest fee, and a deposit of what was too much).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from offchain.indexer.derive_values import IndexedEvent, RowLookup, text_of
from offchain.indexer.rows import AccountRow, MovementRow, Row, TransferRow

Change = tuple[int, int]
"""Factors of the amount: of the free coins and of those on hold."""
_NOTHING: Final[Change] = (0, 0)
_FROM_AND_TO: Final[Mapping[str, tuple[str, str, str, Change, Change]]] = {
    "Transfer": ("from", "to", "amount", (-1, 0), (1, 0)),
    # Every transfer of coins on hold in Gantry's pallets makes them free for the receiver.
    "TransferOnHold": ("source", "dest", "amount", (0, -1), (1, 0)),
    "TransferAndHold": ("source", "dest", "transferred", (-1, 0), (0, 1)),
}
"""Events with two accounts: names of sender, receiver and amount; changes of sender and receiver."""
_INTO: Final[Mapping[str, Change]] = {
    "Deposit": (1, 0),
    "Minted": (1, 0),
    "Restored": (1, 0),
    "Released": (1, -1),
    "Unreserved": (1, -1),
    "Endowed": _NOTHING,
}
_OUT_OF: Final[Mapping[str, Change]] = {
    "Withdraw": (-1, 0),
    "Burned": (-1, 0),
    "Suspended": (-1, 0),
    "DustLost": (-1, 0),
    "Held": (-1, 1),
    "Reserved": (-1, 1),
    "BurnedHeld": (0, -1),
}
_UNKNOWN: Final = ("Slashed", "BalanceSet")
"""Events that do not tell whether coins were free or on hold, or what there was before: sums end with them."""


def balances(seen: IndexedEvent, get: RowLookup) -> Iterator[Row]:
    """Yield the transfer that an event of the balances pallet is, and the movements of the accounts in it."""
    fields, name = seen.fields, seen.name
    who = fields.get("who", fields.get("account"))
    amount = fields.get("amount", fields.get("free_balance", fields.get("free")))
    changes: list[tuple[Any, Change | None]]
    sender = receiver = None
    if name in _FROM_AND_TO:
        of_sender, of_receiver, of_amount, out, into = _FROM_AND_TO[name]
        sender, receiver, amount = fields.get(of_sender), fields.get(of_receiver), fields.get(of_amount)
        changes = [(sender, out), (receiver, into)]
    elif name == "ReserveRepatriated":
        sender, receiver = fields.get("from"), fields.get("to")
        into = (0, 1) if text_of(fields.get("destination_status")) == "Reserved" else (1, 0)
        changes = [(sender, (0, -1)), (receiver, into)]
    elif name in _INTO:
        receiver, changes = who, [(who, _INTO[name])]
    elif name in _OUT_OF:
        sender, changes = who, [(who, _OUT_OF[name])]
    elif name in _UNKNOWN:
        sender, changes = who, [(who, None)]
    else:
        return
    if amount is None or None in dict(changes):
        return
    reason = fields.get("reason")
    reason_text = None if reason is None else text_of(reason)
    yield TransferRow(seen.block, seen.place, name, sender, receiver, amount, reason_text)
    yield from _movements(seen, amount, changes, get)


def fees(seen: IndexedEvent, get: RowLookup) -> Iterator[Row]:
    """Yield the fee that an event of the transaction payment pallet names."""
    if seen.name == "TransactionFeePaid":
        who, amount = seen.fields["who"], seen.fields["actual_fee"]
        yield TransferRow(seen.block, seen.place, "Fee", who, None, amount, None)
        yield from _movements(seen, amount, [(who, _NOTHING)], get)


def _movements(
    seen: IndexedEvent, amount: int, changes: list[tuple[str, Change | None]], get: RowLookup
) -> Iterator[Row]:
    for account in dict.fromkeys(name for name, _ in changes):
        of_account = [change for name, change in changes if name == account]
        before = get(AccountRow, account) or AccountRow(account, 0, 0)
        free = _sum(amount, [None if change is None else change[0] for change in of_account])
        held = _sum(amount, [None if change is None else change[1] for change in of_account])
        after = AccountRow(account, _plus(before.free, free), _plus(before.held, held))
        yield after
        yield MovementRow(account, seen.block, seen.place, free, held, after.free, after.held)


def _sum(amount: int, factors: list[int | None]) -> int | None:
    known = [factor for factor in factors if factor is not None]
    return amount * sum(known) if len(known) == len(factors) else None


def _plus(total: int | None, change: int | None) -> int | None:
    return None if total is None or change is None else total + change
