"""Rules by which events add up to task states and lease amounts, shared by the index and the command line. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

_TASK_STATES: Final[Mapping[str, str]] = {
    "Submitted": "Queued",
    "Cancelled": "Cancelled",
    "Expired": "Expired",
    "Settled": "Settled",
    "ResultAccepted": "Verified",
    "Verified": "Verified",
    "Disputed": "Disputed",
    "NotRepeated": "Reported",
    "NotVerified": "Failed(NoAgreement)",
}


@dataclass(frozen=True, slots=True)
class LeaseAmounts:
    """Amounts of one lease in base units. `fee` is part of `paid`; the shares of scheduler and settler are part of it.

    As the result of :func:`payment_of` and :func:`closing_payment`: what an event adds to each amount.
    """

    deposited: int = 0
    paid: int = 0
    fee: int = 0
    scheduler_fee: int = 0
    settler_fee: int = 0
    refunded: int = 0


class PaidSoFar(Protocol):
    """The amounts of a lease before its closing bill."""

    @property
    def paid(self) -> int: ...
    @property
    def fee(self) -> int: ...
    @property
    def scheduler_fee(self) -> int: ...
    @property
    def settler_fee(self) -> int: ...


def task_state_after(name: str, fields: Mapping[str, Any]) -> Any:
    """Return the state, in plain form, that an event of the tasks pallet puts its task in; None where it names none."""
    named = fields.get("to" if name == "StateChanged" else "state")
    return _TASK_STATES.get(name) if named is None else named


def opened_leases(name: str, fields: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    """Return the leases that an event opens: number, host and, but in the first release, hourly rate and deposit."""
    if name == "LeaseMoved":
        return ((fields["to"], fields["host"], fields["rate_per_hour"], fields["deposit"]),)
    opened: Iterable[Sequence[Any]] = fields["leases"] if name == "Assigned" else ()
    return opened


def deposit_of(name: str, fields: Mapping[str, Any]) -> int | None:
    """Return what an event of the leases pallet adds to the deposit without paying anything."""
    adds = name in ("Extended", "ToppedUp") or (name == "DataKept" and "amount" in fields)
    return int(fields["amount"]) if adds else None


def payment_of(name: str, fields: Mapping[str, Any]) -> LeaseAmounts | None:
    """Return what an event of the leases pallet pays while the lease, or the storage of its data, goes on."""
    if name not in ("Paid", "StoragePaid", "DataKept") or deposit_of(name, fields) is not None:
        return None
    paid = fields["share"] + fields["fee"]
    return LeaseAmounts(
        # Releases before 4 paid for kept data at once.
        deposited=paid if name == "DataKept" else 0,
        paid=paid,
        fee=fields["fee"],
        scheduler_fee=fields.get("scheduler_fee", 0),
        settler_fee=fields.get("settler_fee", 0),
        refunded=fields.get("refunded", 0),
    )


def closing_payment(bill: Mapping[str, int], before: PaidSoFar) -> LeaseAmounts:
    """Return what a closing bill pays. The bill covers the whole lease, so earlier payments are subtracted."""
    return LeaseAmounts(
        paid=bill["paid"] - before.paid,
        fee=bill["fee"] - before.fee,
        scheduler_fee=bill.get("scheduler_fee", 0) - before.scheduler_fee,
        settler_fee=bill.get("settler_fee", 0) - before.settler_fee,
        # No bill contains what came back of the coins held for storage.
        refunded=bill["refunded"],
    )
