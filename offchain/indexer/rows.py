"""Rows of the index: the only definition of its tables.

A table is a frozen dataclass whose fields are the columns. Amounts are base units, times Unix ms of the chain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeVar

CoinAmount = Annotated[int, "base units"]
"""Up to 128 bits, which is more than a database's integers hold."""
OrderedAmount = Annotated[int, "base units, ordered"]
"""The same in a column by which rows are ordered or compared."""


@dataclass(frozen=True, slots=True)
class Row:
    """Base of all rows. `KEY`: the columns of the primary key; `INDEXES`: the columns of each further index."""

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]]
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.KEY)


R = TypeVar("R", bound=Row)


@dataclass(frozen=True, slots=True)
class MetaRow(Row):
    """A property of the whole index; :mod:`offchain.indexer.meta` has the names."""

    TABLE = "meta"
    KEY = ("name",)
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class BlockRow(Row):
    """A final block. Hashes are 0x and hex digits."""

    TABLE = "blocks"
    KEY = ("number",)
    INDEXES = (("hash",),)
    number: int
    hash: str
    parent_hash: str
    time_ms: int
    extrinsics: int
    events: int


@dataclass(frozen=True, slots=True)
class ExtrinsicRow(Row):
    """An extrinsic. `failure`: the error of its call; `refused`: the number of items of its batch that failed.

    `payer`, `fee` and `tip` are None if no fee was charged. `call`: pallet and function of the outermost call;
    `signer`: None for inherents. Both are None in rows that releases before revision 4 wrote.
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
    fee: CoinAmount | None
    tip: CoinAmount | None
    call: str | None = None
    signer: str | None = None


@dataclass(frozen=True, slots=True)
class EventRow(Row):
    """An event. `fields` is a JSON object (bytes as 0x and hex digits); `failure`: the name of the error in it.

    `extrinsic` is the index of the extrinsic that caused it; None if a hook of the block did.
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


@dataclass(frozen=True, slots=True)
class TaskRow(Row):
    """A task's present state. `paid` includes the fee; `live` is a JSON list of its leases that have not ended."""

    TABLE = "tasks"
    KEY = ("task",)
    INDEXES = (("tenant", "task"), ("state", "task"), ("manifest_digest", "task"))
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
    paid: CoinAmount = 0
    fee: CoinAmount = 0
    refunded: CoinAmount = 0
    pruned: int = 0


@dataclass(frozen=True, slots=True)
class LeaseRow(Row):
    """A lease's present state: Pending, Active, Suspended, Ended or Purged; `reason`: why it ended."""

    TABLE = "leases"
    KEY = ("lease",)
    INDEXES = (
        ("task", "lease"),
        ("host", "lease"),
        ("result_digest", "lease"),
        ("host", "assigned_ms"),
        ("host", "ended_ms"),
    )
    lease: int
    task: int
    pod: int
    generation: int
    host: str
    state: str
    reason: str | None
    rate_per_hour: CoinAmount
    deposited: CoinAmount
    paid: CoinAmount
    fee: CoinAmount
    scheduler_fee: CoinAmount
    settler_fee: CoinAmount
    refunded: CoinAmount
    assigned_ms: int
    started_ms: int | None = None
    ended_ms: int | None = None
    exit_code: int | None = None
    result_digest: str | None = None
    wall_ms: int | None = None
    cpu_ms: int | None = None
    memory_peak_mib: int | None = None
    stars: int | None = None


@dataclass(frozen=True, slots=True)
class HostRow(Row):
    """A host's present state.

    `earned`: the provider's income from its leases; `slashed`: the bond's losses through faults and reported absences.
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
    earned: CoinAmount
    slashed: CoinAmount
    registered_ms: int
    changed_ms: int


@dataclass(frozen=True, slots=True)
class BillRow(Row):
    """A payment for a lease: the amounts since its previous bill, from one event.

    `paid` includes the fee, and `fee` the shares of scheduler and settler; the rest of the fee is the treasury's.
    """

    TABLE = "bills"
    KEY = ("block", "place", "lease")
    INDEXES = (("lease", "block"), ("host", "block"))
    block: int
    place: int
    lease: int
    task: int
    host: str
    paid: CoinAmount
    fee: CoinAmount
    scheduler_fee: CoinAmount
    settler_fee: CoinAmount
    refunded: CoinAmount


@dataclass(frozen=True, slots=True)
class TransferRow(Row):
    """Coins that were transferred, held or released. `sender` or `receiver` is None if the event names only one.

    The transfers of an account are found by its movements.
    """

    TABLE = "transfers"
    KEY = ("block", "place")
    block: int
    place: int
    kind: str
    sender: str | None
    receiver: str | None
    amount: CoinAmount
    reason: str | None


@dataclass(frozen=True, slots=True)
class AccountRow(Row):
    """What an account has free and on hold, without what it had in the genesis block; None: events do not tell it."""

    TABLE = "accounts"
    KEY = ("account",)
    account: str
    free: CoinAmount | None
    held: CoinAmount | None


@dataclass(frozen=True, slots=True)
class MovementRow(Row):
    """What a transfer (`block`, `place`) changed for one account, and what the account had after it, as AccountRow."""

    TABLE = "movements"
    KEY = ("account", "block", "place")
    account: str
    block: int
    place: int
    free_change: CoinAmount | None
    held_change: CoinAmount | None
    free_total: CoinAmount | None
    held_total: CoinAmount | None


@dataclass(frozen=True, slots=True)
class MentionRow(Row):
    """A reference from an event to a task (`subject`: its number), an account (its address) or a challenge.

    The subject of a challenge is that of :func:`offchain.indexer.matters.challenge_subject`.
    """

    TABLE = "mentions"
    KEY = ("subject", "block", "place")
    subject: str
    block: int
    place: int


CHAIN_ROWS: tuple[type[Row], ...] = (BlockRow, ExtrinsicRow, EventRow)
"""Tables that only the chain can fill."""
PARTITIONED_ROWS: tuple[type[Row], ...] = (ExtrinsicRow, EventRow, MentionRow)
"""Tables of which retention removes old blocks; in PostgreSQL they are partitioned by `block`."""
PARTITION_BLOCKS = 100_000
"""Default number of blocks in a partition: a week of blocks of 6 s, about two days of blocks of 2 s."""
