"""The rows of the index, and which tables they are in.

A table is a frozen dataclass: its fields are the columns. Amounts are base units, times Unix milliseconds of the chain.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from types import NoneType
from typing import Any, ClassVar, NewType, TypeVar, get_args, get_type_hints

Amount = NewType("Amount", int)
"""Base units: up to 128 bits, which is more than a database's integers hold."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of some table. `KEY`: the columns that tell rows apart; `INDEXES`: further ways in which they are found."""

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]]
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        """The values of the key's columns."""
        return tuple(getattr(self, name) for name in self.KEY)


R = TypeVar("R", bound=Row)


@dataclass(frozen=True, slots=True)
class Column:
    """`kind` is int, str or Amount."""

    name: str
    kind: type
    optional: bool


_KNOWN: dict[str, tuple[Column, ...]] = {}


def columns_of(table: type[Row]) -> tuple[Column, ...]:
    """A table's columns, in their order."""
    known = _KNOWN.get(table.TABLE)
    if known is None:
        known = _KNOWN[table.TABLE] = _columns(table)
    return known


def _columns(table: type[Row]) -> tuple[Column, ...]:
    hints = get_type_hints(table)
    found = []
    for field in fields(table):
        parts = get_args(hints[field.name])
        kind = next((part for part in parts if part is not NoneType), hints[field.name])
        found.append(Column(field.name, kind, NoneType in parts))
    return tuple(found)


# --- what is read from the chain --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BlockRow(Row):
    """A final block. Hashes are 0x and hex digits."""

    TABLE = "blocks"
    KEY = ("number",)
    number: int
    hash: str
    parent_hash: str
    time_ms: int
    extrinsics: int
    events: int


@dataclass(frozen=True, slots=True)
class ExtrinsicRow(Row):
    """An extrinsic. `failure`: why its call had no effect; `refused`: how many items of its batch had none.

    `payer`, `fee`, `tip`: None where nothing was charged.
    """

    TABLE = "extrinsics"
    KEY = ("block", "place")
    INDEXES = (("hash",),)
    block: int
    place: int
    hash: str
    failure: str | None
    refused: int
    payer: str | None
    fee: Amount | None
    tip: Amount | None


@dataclass(frozen=True, slots=True)
class EventRow(Row):
    """An event. `fields` is a JSON object (bytes as 0x and hex digits); `failure`: what the error in it is called.

    `extrinsic`: the place of the extrinsic that caused it, None for what a block does by itself.
    """

    TABLE = "events"
    KEY = ("block", "place")
    INDEXES = (("pallet", "name", "block", "place"),)
    block: int
    place: int
    extrinsic: int | None
    pallet: str
    name: str
    fields: str
    failure: str | None


# --- what follows from the events -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TaskRow(Row):
    """A task as it stands. `paid` has the fee in it. `live`: its leases that have not ended, as a JSON list."""

    TABLE = "tasks"
    KEY = ("task",)
    INDEXES = (("tenant", "task"), ("state", "task"))
    task: int
    first: int
    tenant: str
    kind: str
    manifest_digest: str
    state: str
    failures: int
    live: str
    submitted_block: int
    submitted_ms: int
    changed_block: int
    changed_ms: int
    paid: Amount
    fee: Amount
    refunded: Amount
    pruned: int


@dataclass(frozen=True, slots=True)
class LeaseRow(Row):
    """A lease as it stands. `state`: Pending, Active, Suspended, Ended or Purged; `reason`: why it ended."""

    TABLE = "leases"
    KEY = ("lease",)
    INDEXES = (("task", "lease"), ("host", "lease"))
    lease: int
    task: int
    pod: int
    generation: int
    host: str
    state: str
    reason: str | None
    rate_per_hour: Amount
    deposited: Amount
    paid: Amount
    fee: Amount
    scheduler_fee: Amount
    settler_fee: Amount
    refunded: Amount
    assigned_ms: int
    started_ms: int | None
    ended_ms: int | None
    exit_code: int | None
    result_digest: str | None
    wall_ms: int | None
    cpu_ms: int | None
    memory_peak_mib: int | None
    stars: int | None


@dataclass(frozen=True, slots=True)
class HostRow(Row):
    """A host as it stands.

    `earned`: what its leases brought its provider; `slashed`: what its bond lost by faults and by reported absences.
    """

    TABLE = "hosts"
    KEY = ("host",)
    INDEXES = (("provider", "host"),)
    host: str
    provider: str
    status: str
    generation: int
    score_ppm: int | None
    leases: int
    earned: Amount
    slashed: Amount
    registered_ms: int
    changed_ms: int


@dataclass(frozen=True, slots=True)
class BillRow(Row):
    """What an event says was paid for a lease since the bill before.

    `paid` has the fee in it, and `fee` the shares of the scheduler and of the settler; the rest of the fee is the
    treasury's.
    """

    TABLE = "bills"
    KEY = ("block", "place", "lease")
    INDEXES = (("lease", "block"),)
    block: int
    place: int
    lease: int
    task: int
    host: str
    paid: Amount
    fee: Amount
    scheduler_fee: Amount
    settler_fee: Amount
    refunded: Amount


@dataclass(frozen=True, slots=True)
class TransferRow(Row):
    """Coins that moved, were held or were let go of. `sender` or `receiver` is None where the event names only one."""

    TABLE = "transfers"
    KEY = ("block", "place")
    INDEXES = (("sender", "block", "place"), ("receiver", "block", "place"))
    block: int
    place: int
    kind: str
    sender: str | None
    receiver: str | None
    amount: Amount
    reason: str | None


@dataclass(frozen=True, slots=True)
class MentionRow(Row):
    """An event is about a task (`subject` is its number) or an account (its address)."""

    TABLE = "mentions"
    KEY = ("subject", "block", "place")
    subject: str
    block: int
    place: int


READ: tuple[type[Row], ...] = (BlockRow, ExtrinsicRow, EventRow)
"""Tables that only the chain can fill."""
DERIVED: tuple[type[Row], ...] = (TaskRow, LeaseRow, HostRow, BillRow, TransferRow, MentionRow)
"""Tables that follow from the events, and can be made from them again."""
