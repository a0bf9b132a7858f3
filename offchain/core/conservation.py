"""Conservation of coins: what the chain says it keeps, summed in two ways and compared.

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
    """An account's coins, base units. `reserved` are the held ones."""

    account: str
    free: int
    reserved: int


@dataclass(frozen=True, slots=True)
class Hold:
    """A hold as pallet-balances has it. `reason`: None where it is none of the network's own (a proxy, a preimage)."""

    account: str
    reason: Reason | None
    amount: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A record that stands behind a hold: an open escrow, a bond, a deposit, a fee or a stake."""

    account: str
    reason: Reason
    amount: int
    record: str
    """Which record, for people: "lease 7"."""


@dataclass(frozen=True, slots=True)
class Books:
    """Everything that is compared, read at one block."""

    block: int
    total_issuance: int
    total_escrowed: int
    balances: Sequence[Balance]
    holds: Sequence[Hold]
    claims: Sequence[Claim]


@dataclass(frozen=True, slots=True)
class Difference:
    """Two numbers that should be equal and are not."""

    what: str
    expected: int
    found: int

    def __str__(self) -> str:
        """One line for people."""
        return f"{self.what}: expected {self.expected}, found {self.found} ({self.found - self.expected:+d})"


@dataclass(frozen=True, slots=True)
class Report:
    """The sums, and where they differ. `sound` where nothing differs."""

    block: int
    accounts: int
    total_issuance: int
    total_free: int
    total_reserved: int
    held: Mapping[Reason, int]
    differences: tuple[Difference, ...]

    @property
    def sound(self) -> bool:
        """Whether every coin is accounted for."""
        return not self.differences


def audit(books: Books) -> Report:
    """Sum and compare."""
    differences: list[Difference] = []

    def check(what: str, expected: int, found: int) -> None:
        if expected != found:
            differences.append(Difference(what, expected, found))

    total_free = sum(balance.free for balance in books.balances)
    total_reserved = sum(balance.reserved for balance in books.balances)
    check("sum of all accounts against total issuance", books.total_issuance, total_free + total_reserved)

    held_by_account: dict[str, int] = defaultdict(int)
    held: dict[tuple[str, Reason], int] = defaultdict(int)
    for hold in books.holds:
        held_by_account[hold.account] += hold.amount
        if hold.reason is not None:
            held[hold.account, hold.reason] += hold.amount
    claimed: dict[tuple[str, Reason], int] = defaultdict(int)
    for claim in books.claims:
        claimed[claim.account, claim.reason] += claim.amount
    for account, reason in sorted(set(held) | set(claimed)):
        key = (account, reason)
        check(f"{reason} holds of {account} against its records", claimed.get(key, 0), held.get(key, 0))

    # Reserved may exceed the holds: proxy and multisig deposits are reserves of the older kind. Never the reverse.
    reserved = {balance.account: balance.reserved for balance in books.balances}
    for account, amount in sorted(held_by_account.items()):
        if amount > reserved.get(account, 0):
            check(f"coins reserved on {account} against its holds", amount, reserved.get(account, 0))

    totals = {reason: sum(amount for (_, r), amount in held.items() if r is reason) for reason in Reason}
    check("total of open escrows against the chain's own counter", books.total_escrowed, totals[Reason.ESCROW])
    return Report(
        block=books.block,
        accounts=len(books.balances),
        total_issuance=books.total_issuance,
        total_free=total_free,
        total_reserved=total_reserved,
        held=totals,
        differences=tuple(differences),
    )
