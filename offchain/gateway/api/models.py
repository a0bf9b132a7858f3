"""What the API answers. Amounts are decimal text in base units, because many languages have no integers of 128 bits."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema

T = TypeVar("T")

Amount = Annotated[
    int,
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^[0-9]+$", "description": "Base units as decimal text."}),
]
SignedAmount = Annotated[
    int,
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^-?[0-9]+$", "description": "Base units as decimal text."}),
]
Hash = Annotated[str, Field(pattern="^0x[0-9a-f]{64}$", examples=["0x" + "00" * 32])]
Account = Annotated[
    str, Field(description="Address (SS58).", examples=["5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"])
]
TimeMs = Annotated[int, Field(description="Time of the chain in Unix milliseconds.")]
LeaseId = Annotated[
    int,
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^[0-9]+$", "description": "Number of a lease as decimal text."}),
]
"""The number of a lease is its task's number times 2^24 and more, which many languages do not read exactly."""


def _title(model: type[Any]) -> str:
    """Return the name of a model in the OpenAPI document."""
    return model.__name__.removesuffix("Resource").removesuffix("Document")


class AnsweredModel(BaseModel):
    """Base of what the API answers."""

    model_config = ConfigDict(frozen=True, model_title_generator=_title)


class BlockReference(AnsweredModel):
    """A final block."""

    number: int
    hash: Hash
    time_ms: TimeMs


class ResourceAnswer(AnsweredModel, Generic[T]):
    """One resource. `as_of`: the last block of the index from which it was read."""

    as_of: BlockReference
    data: T

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        return f"{_title(params[0])}Answer"


class Page(AnsweredModel, Generic[T]):
    """Part of a list. `next`: the cursor of the next page; null on the last one."""

    as_of: BlockReference
    data: list[T]
    next: str | None

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        return f"{_title(params[0])}Page"


class NetworkResource(AnsweredModel):
    """The chain, and what the index has of it."""

    genesis_hash: Hash
    events_from_block: Annotated[int, Field(description="The first block whose events and extrinsics are kept.")]
    development: Annotated[
        bool, Field(description="Whether it is a development network, with accounts whose keys everybody has.")
    ] = False
    sign_in: Annotated[bool, Field(description="Whether accounts can sign in here.")] = False
    signing: Annotated[bool, Field(description="Whether extrinsics can be built and submitted here.")] = False
    relay: Annotated[
        Account | None, Field(description="The gateway whose relay the WebSocket `/v1/relay` is; null: there is none.")
    ] = None


class BlockResource(AnsweredModel):
    """A final block; `extrinsics` and `events` are numbers of."""

    number: int
    hash: Hash
    parent_hash: Hash
    time_ms: TimeMs
    extrinsics: int
    events: int


class ExtrinsicResource(AnsweredModel):
    """An extrinsic. `payer`, `fee` and `tip` are null where no fee was charged.

    `call` is the outermost call; both it and `signer` are null in blocks that an older release indexed.
    """

    block: int
    index: int
    hash: Hash
    time_ms: TimeMs
    call: Annotated[str | None, Field(description="Pallet and function.", examples=["Tasks.submit"])]
    signer: Annotated[Account | None, Field(description="Null for those that the block's author added.")]
    success: bool
    error: Annotated[str | None, Field(description="The error of the call; null if it succeeded.")]
    refused_items: Annotated[int, Field(description="Number of items of its batch that failed.")]
    payer: Account | None
    fee: Amount | None
    tip: Amount | None


class EventResource(AnsweredModel):
    """An event. In `fields`, numbers of leases and integers above 2^53 - 1 are decimal text, bytes are 0x and hex."""

    id: Annotated[str, Field(description="Block and index, as cursors of the event stream have them.")]
    block: int
    index: int
    time_ms: TimeMs
    extrinsic: Annotated[
        int | None, Field(description="Index of the extrinsic that caused it; null: the block itself.")
    ]
    pallet: str
    name: str
    fields: dict[str, Any]
    error: Annotated[str | None, Field(description="The name of the error in it.")]
    documentation: Annotated[str | None, Field(description="Of the event in the metadata, if `documented` asks.")] = (
        None
    )


SearchKind = Literal["block", "extrinsic", "event", "task", "lease", "host", "account", "challenge", "dispute"]


class SearchMatchResource(AnsweredModel):
    """Something that the searched text names. `path`: its resource; `about`: its state, status, call or event."""

    kind: SearchKind
    id: str
    path: str
    about: str
    block: int | None


class SearchAnswer(AnsweredModel):
    """All matches of a search; at most 20 of each kind, the newest first."""

    as_of: BlockReference
    data: list[SearchMatchResource]


class DocumentationResource(AnsweredModel):
    """Documentation of a call, event or error (`kind`) in the metadata of the runtime, and of its fields by name."""

    pallet: str
    kind: str
    name: str
    text: str
    fields: dict[str, str]


class TaskResource(AnsweredModel):
    """The present state of a task. `paid` includes `fee`."""

    task: int
    tenant: Account
    kind: str
    state: str
    manifest_digest: str
    failures: int
    submitted_block: int
    submitted_ms: TimeMs
    changed_block: int
    changed_ms: TimeMs
    paid: Amount
    fee: Amount
    refunded: Amount


class TaskCountResource(AnsweredModel):
    """How many tasks are in a state now."""

    state: str
    tasks: int
    more: Annotated[bool, Field(description="Whether there are more than `tasks`, which is then the most counted.")]


class LeaseResource(AnsweredModel):
    """The present state of a lease: Pending, Active, Suspended, Ended or Purged. `reason`: why it ended."""

    lease: LeaseId
    task: int
    pod: int
    generation: int
    host: Account
    state: str
    reason: str | None
    rate_per_hour: Amount
    deposited: Amount
    paid: Amount
    fee: Amount
    scheduler_fee: Amount
    settler_fee: Amount
    refunded: Amount
    assigned_ms: TimeMs
    started_ms: TimeMs | None
    ended_ms: TimeMs | None
    exit_code: int | None
    result_digest: str | None
    wall_ms: int | None
    cpu_ms: int | None
    memory_peak_mib: int | None
    stars: int | None


class EscrowResource(AnsweredModel):
    """Coins of an account on hold for a lease. `held`: `deposited` without `paid` and `refunded`.

    A part of `held` may be owed to the provider: it is paid when the lease is settled or ends.
    """

    lease: LeaseId
    task: int
    pod: int
    host: Account
    state: str
    reason: str | None
    rate_per_hour: Amount
    deposited: Amount
    paid: Amount
    refunded: Amount
    held: Amount
    assigned_ms: TimeMs
    ended_ms: Annotated[
        TimeMs | None, Field(description="Of an ended lease that is not settled yet, or whose data is kept.")
    ]


class HostResource(AnsweredModel):
    """The present state of a host. `earned`: income of its provider; `slashed`: losses of its bond."""

    host: Account
    provider: Account
    status: str
    generation: int
    score_ppm: Annotated[int | None, Field(description="Reputation in millionths; null before the first rating.")]
    leases: int
    earned: Amount
    slashed: Amount
    registered_ms: TimeMs
    changed_ms: TimeMs


class BillResource(AnsweredModel):
    """A payment for a lease since its previous bill. `paid` includes `fee`, and that the shares of the workers."""

    block: int
    index: int
    time_ms: TimeMs
    lease: LeaseId
    task: int
    host: Account
    paid: Amount
    fee: Amount
    scheduler_fee: Amount
    settler_fee: Amount
    refunded: Amount


class TransferResource(AnsweredModel):
    """Coins that were transferred, held or released. One side is null where the event names only the other."""

    block: int
    index: int
    time_ms: TimeMs
    kind: str
    sender: Account | None
    receiver: Account | None
    amount: Amount
    reason: str | None


MovementCategory = Literal["transfer", "payment", "fee", "hold", "release", "slash", "deposit", "withdrawal", "other"]


class MovementResource(AnsweredModel):
    """A change of an account's coins, free or on hold, and what the account had after it.

    A fee is withdrawn at its highest amount and partly deposited again; the entry of category `fee` names the fee that
    was paid, and changes nothing itself.
    """

    block: int
    index: int
    time_ms: TimeMs
    category: MovementCategory
    kind: Annotated[str, Field(description="The event of the balances pallet, or `Fee`.")]
    counterparty: Account | None
    amount: Amount
    reason: Annotated[str | None, Field(description="Why the coins were on hold.")]
    free_change: SignedAmount | None
    held_change: SignedAmount | None
    free_total: Annotated[SignedAmount | None, Field(description="Null if events do not tell it.")]
    held_total: SignedAmount | None


class ManifestErrorResource(AnsweredModel):
    """One error in a manifest. Lines count from 1; `key` is the path of the key, if there is one."""

    line: int
    key: str
    message: str
    hint: str


class ProblemDocument(AnsweredModel):
    """An error (RFC 9457). `code` is stable, for programs; `field` names the parameter at fault."""

    type: Annotated[str, Field(examples=["urn:gantry:problem:not_found"])]
    title: str
    status: int
    detail: str
    code: str
    hint: str = ""
    field: str | None = None
    errors: Annotated[list[ManifestErrorResource] | None, Field(description="Of a manifest; else left out.")] = None
