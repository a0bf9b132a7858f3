"""What the API answers. Amounts are decimal text in base units, because many languages have no integers of 128 bits."""

from __future__ import annotations

from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema

T = TypeVar("T")

Amount = Annotated[
    int,
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^[0-9]+$", "description": "Base units as decimal text."}),
]
Hash = Annotated[str, Field(pattern="^0x[0-9a-f]{64}$", examples=["0x" + "00" * 32])]
Account = Annotated[
    str, Field(description="Address (SS58).", examples=["5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"])
]
TimeMs = Annotated[int, Field(description="Time of the chain in Unix milliseconds.")]


def _title(model: type[Any]) -> str:
    """Return the name of a model in the OpenAPI document."""
    return model.__name__.removesuffix("Resource").removesuffix("Document")


class _Answered(BaseModel):
    model_config = ConfigDict(frozen=True, model_title_generator=_title)


class BlockReference(_Answered):
    """A final block."""

    number: int
    hash: Hash
    time_ms: TimeMs


class ResourceAnswer(_Answered, Generic[T]):
    """One resource. `as_of`: the last block of the index from which it was read."""

    as_of: BlockReference
    data: T

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        return f"{_title(params[0])}Answer"


class Page(_Answered, Generic[T]):
    """Part of a list. `next`: the cursor of the next page; null on the last one."""

    as_of: BlockReference
    data: list[T]
    next: str | None

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        return f"{_title(params[0])}Page"


class NetworkResource(_Answered):
    """The chain, and what the index has of it."""

    genesis_hash: Hash
    events_from_block: Annotated[int, Field(description="The first block whose events and extrinsics are kept.")]


class BlockResource(_Answered):
    """A final block; `extrinsics` and `events` are numbers of."""

    number: int
    hash: Hash
    parent_hash: Hash
    time_ms: TimeMs
    extrinsics: int
    events: int


class ExtrinsicResource(_Answered):
    """An extrinsic. `payer`, `fee` and `tip` are null where no fee was charged."""

    block: int
    index: int
    hash: Hash
    time_ms: TimeMs
    error: Annotated[str | None, Field(description="The error of the call; null if it succeeded.")]
    refused_items: Annotated[int, Field(description="Number of items of its batch that failed.")]
    payer: Account | None
    fee: Amount | None
    tip: Amount | None


class EventResource(_Answered):
    """An event. Integers of `fields` above 2^53 - 1 are decimal text; bytes are 0x and hex digits."""

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


class TaskResource(_Answered):
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


class LeaseResource(_Answered):
    """The present state of a lease: Pending, Active, Suspended, Ended or Purged. `reason`: why it ended."""

    lease: int
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


class HostResource(_Answered):
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


class BillResource(_Answered):
    """A payment for a lease since its previous bill. `paid` includes `fee`, and that the shares of the workers."""

    block: int
    index: int
    time_ms: TimeMs
    lease: int
    task: int
    host: Account
    paid: Amount
    fee: Amount
    scheduler_fee: Amount
    settler_fee: Amount
    refunded: Amount


class TransferResource(_Answered):
    """Coins that were transferred, held or released. One side is null where the event names only the other."""

    block: int
    index: int
    time_ms: TimeMs
    kind: str
    sender: Account | None
    receiver: Account | None
    amount: Amount
    reason: str | None


class ProblemDocument(_Answered):
    """An error (RFC 9457). `code` is stable, for programs; `field` names the parameter at fault."""

    type: Annotated[str, Field(examples=["urn:gantry:problem:not_found"])]
    title: str
    status: int
    detail: str
    code: str
    hint: str = ""
    field: str | None = None
