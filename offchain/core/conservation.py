"""Conservation of coins: the sums of the chain's balances, compared with its records.

Every coin is in one account, free or reserved, and the sum over accounts is the total issuance. Every hold has one
reason, and for each reason the sum of an account's holds is the sum of the records that stand behind them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """What the network holds coins for."""

    ESCROW = "escrow"
    HOST_BOND = "host bond"
    SCHEDULER_BOND = "scheduler bond"
    TASK_DEPOSIT = "task deposit"
    VERIFIER_BOND = "verifier bond"
    CHALLENGE_FEE = "challenge fee"
    DISPUTE_STAKE = "dispute stake"


@dataclass(frozen=True, slots=True)
class Balance:
    """The coins of an account, in base units. `reserved` includes all holds."""

    account: str
    free: int
    reserved: int


@dataclass(frozen=True, slots=True)
class Hold:
    """A hold in pallet-balances. `reason`: None for holds of other pallets (a proxy, a preimage)."""

    account: str
    reason: Reason | None
    amount: int


@dataclass(frozen=True, slots=True)
class ExpectedHold:
    """A hold that a record implies: an open escrow, a bond, a deposit, a fee or a stake."""

    account: str
    reason: Reason
    amount: int
    record: str
    """The record in words: "lease 7"."""


@dataclass(frozen=True, slots=True)
class AuditInput:
    """The balances, holds and records of one block."""

    block: int
    total_issuance: int
    total_escrowed: int
    balances: Sequence[Balance]
    holds: Sequence[Hold]
    expected_holds: Sequence[ExpectedHold]


@dataclass(frozen=True, slots=True)
class Difference:
    """Two sums that should be equal and differ."""

    what: str
    expected: int
    found: int

    def __str__(self) -> str:
        """Return the difference as one line."""
        return f"{self.what}: expected {self.expected}, found {self.found} ({self.found - self.expected:+d})"


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The sums of an audit and their differences."""

    block: int
    accounts: int
    total_issuance: int
    total_free: int
    total_reserved: int
    held: Mapping[Reason, int]
    differences: tuple[Difference, ...]

    @property
    def sound(self) -> bool:
        """Return whether every coin is accounted for."""
        return not self.differences


def audit(found: AuditInput) -> AuditReport:
    """Compare the sums of balances and holds with the total issuance and the records."""
    differences: list[Difference] = []

    def check(what: str, expected: int, found: int) -> None:
        if expected != found:
            differences.append(Difference(what, expected, found))

    total_free = sum(balance.free for balance in found.balances)
    total_reserved = sum(balance.reserved for balance in found.balances)
    check("sum of all accounts against total issuance", found.total_issuance, total_free + total_reserved)

    held_by_account: dict[str, int] = defaultdict(int)
    held: dict[tuple[str, Reason], int] = defaultdict(int)
    for hold in found.holds:
        held_by_account[hold.account] += hold.amount
        if hold.reason is not None:
            held[hold.account, hold.reason] += hold.amount
    expected: dict[tuple[str, Reason], int] = defaultdict(int)
    for record in found.expected_holds:
        expected[record.account, record.reason] += record.amount
    for account, reason in sorted(set(held) | set(expected)):
        key = (account, reason)
        check(f"{reason} holds of {account} against its records", expected.get(key, 0), held.get(key, 0))

    # Reserved coins may exceed the holds, because proxy and multisig deposits are reserves without a hold.
    reserved = {balance.account: balance.reserved for balance in found.balances}
    for account, amount in sorted(held_by_account.items()):
        if amount > reserved.get(account, 0):
            check(f"coins reserved on {account} against its holds", amount, reserved.get(account, 0))

    totals = {reason: sum(amount for (_, r), amount in held.items() if r is reason) for reason in Reason}
    check("total of open escrows against the chain's own counter", found.total_escrowed, totals[Reason.ESCROW])
    return AuditReport(
        block=found.block,
        accounts=len(found.balances),
        total_issuance=found.total_issuance,
        total_free=total_free,
        total_reserved=total_reserved,
        held=totals,
        differences=tuple(differences),
    )
