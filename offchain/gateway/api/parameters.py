"""Parameters of the API's resources: of the path and of the query. Unknown ones are refused.

The path of a resource names some of the fields in braces; all others belong to the query.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from offchain.adapters.keys import ss58
from offchain.errors import BadKey, OurError
from offchain.indexer.pages import Key, PageRequest

MOST_ROWS: Final = 500
MOST_CSV_ROWS: Final = 50_000
_MOST_NUMBER: Final = (1 << 63) - 1
_MOST_CURSOR: Final = 1_024
"""Names that providers chose have up to 256 characters after escaping."""
_MOST_AMOUNT: Final = (1 << 128) - 1


class BadParameter(OurError):  # noqa: N818
    """A parameter, `field`, with a value that cannot be used."""

    code = "invalid_parameter"

    def __init__(self, field: str, message: str, hint: str) -> None:
        super().__init__(f"{field}: {message}", hint)
        self.field = field


class BadCursor(BadParameter):
    """A cursor of another list."""

    def __init__(self) -> None:
        super().__init__("after", "this is a cursor of another list.", "Take `next` of a page of this list.")


def _checked_account(text: str) -> str:
    try:
        ss58.decode(text)
    except BadKey as error:
        raise ValueError(error.message) from None
    return text


def encode_cursor(key: Key) -> str:
    """Return the key of a row as opaque text for `after`."""
    return base64.urlsafe_b64encode(json.dumps(key, separators=(",", ":")).encode()).decode().rstrip("=")


def decode_cursor(text: str) -> Key:
    """Return the key in a cursor. Raises ValueError."""
    try:
        key = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError):
        raise ValueError("it is not a cursor of this API") from None
    if not isinstance(key, list) or not all(_is_key_part(part) for part in key):
        raise ValueError("it is not a cursor of this API")
    return tuple(key)


def _is_key_part(part: object) -> bool:
    return (isinstance(part, str) and len(part) <= _MOST_CURSOR) or (
        isinstance(part, int) and not isinstance(part, bool) and 0 <= part <= _MOST_NUMBER
    )


def _checked_cursor(text: str) -> str:
    decode_cursor(text)
    return text


Number = Annotated[int, Field(ge=0, le=_MOST_NUMBER)]
AccountId = Annotated[str, Field(max_length=64), AfterValidator(_checked_account), Field(description="Address (SS58).")]
BlockName = Annotated[str, Field(pattern="^([0-9]{1,18}|0x[0-9a-f]{64})$", description="Number or hash of a block.")]
HexHash = Annotated[str, Field(pattern="^0x[0-9a-f]{64}$")]
Name = Annotated[str, Field(pattern="^[A-Za-z][A-Za-z0-9]{0,63}$")]
HoursBack = Annotated[int, Field(ge=1, le=336, description="Up to two weeks.")]
Label = Annotated[str, Field(max_length=256)]
State = Annotated[str, Field(pattern="^[A-Za-z][A-Za-z0-9()]{0,63}$", description="A state as answers have it.")]


class Parameters(BaseModel):
    """Base of the parameters of every resource."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ListParameters(Parameters):
    """Base of the parameters of lists."""

    limit: Annotated[int, Field(ge=1, le=MOST_ROWS, description="Number of entries of a page.")] = 50
    after: Annotated[
        str | None,
        Field(max_length=_MOST_CURSOR, description="`next` of the page before."),
        AfterValidator(lambda text: text if text is None else _checked_cursor(text)),
    ] = None

    def _page(self, kinds: tuple[type, ...], *, newest_first: bool) -> PageRequest:
        """Return the page after `after`, whose parts must be of these kinds. Raises BadCursor."""
        key = None if self.after is None else decode_cursor(self.after)
        if key is not None and tuple(map(type, key)) != kinds:
            raise BadCursor
        return PageRequest(self.limit, key, newest_first)


class TimedListParameters(ListParameters):
    """Base of the parameters of lists in the order of the chain."""

    order: Annotated[Literal["newest", "oldest"], Field(description="Which entries come first.")] = "newest"

    def page(self, parts: int = 1) -> PageRequest:
        """Return the page of rows whose keys have this number of parts. Raises BadCursor."""
        return self._page((int,) * parts, newest_first=self.order == "newest")


class CsvListParameters(TimedListParameters):
    """Base of the parameters of lists that are also tables (CSV). Their keys are block and index."""

    format: Annotated[Literal["json", "csv"], Field(description="`csv` as with `Accept: text/csv`.")] = "json"
    limit: Annotated[
        int,
        Field(
            ge=1,
            le=MOST_CSV_ROWS,
            description=f"Number of entries of a page, at most {MOST_ROWS}; rows of a table: {MOST_CSV_ROWS}.",
        ),
    ] = 50

    @model_validator(mode="after")
    def _pages_are_short(self) -> Self:
        if self.format == "json" and self.limit > MOST_ROWS:
            raise ValueError(f"limit: a page has at most {MOST_ROWS} entries; format=csv has more")
        return self

    def csv_page(self) -> PageRequest:
        """Return the rows of the table as one page. Raises BadCursor."""
        page = self.page(2)
        rows = page.limit if "limit" in self.model_fields_set else MOST_CSV_ROWS
        return PageRequest(rows, page.after, page.newest_first)


class NoParameters(Parameters):
    """For resources without parameters."""


class BlockList(TimedListParameters):
    """All blocks."""


class OneBlock(Parameters):
    block: BlockName


class OneTask(Parameters):
    task: Number


class OneLease(Parameters):
    lease: Number


class OneHost(Parameters):
    host: AccountId


class OneExtrinsic(Parameters):
    hash: HexHash


class ExtrinsicsOfBlock(TimedListParameters):
    block: BlockName


class SearchText(Parameters):
    q: Annotated[
        str,
        Field(
            min_length=1,
            max_length=80,
            description="Number of a block, task, lease or challenge; BLOCK.INDEX of an event; hash of a block or "
            "extrinsic; digest of a manifest, result, proof or evidence; address or public key of an account or host.",
        ),
    ]


class DocumentationList(ListParameters):
    """The order is that of the pallets' names."""

    pallet: Annotated[Name | None, Field(description="Only items of this pallet.")] = None
    kind: Annotated[Literal["call", "event", "error"] | None, Field(description="Only items of this kind.")] = None

    def page(self) -> PageRequest:
        """Return the page of items. Raises BadCursor."""
        return self._page((str, str, str), newest_first=False)


class TaskList(TimedListParameters):
    tenant: Annotated[AccountId | None, Field(description="Only tasks of this account.")] = None
    state: Annotated[State | None, Field(description="Only tasks in this state.")] = None
    digest: Annotated[HexHash | None, Field(description="Only tasks with this manifest (its SHA-256).")] = None


class LeaseList(TimedListParameters):
    task: Annotated[Number | None, Field(description="Only leases of this task.")] = None
    tenant: Annotated[AccountId | None, Field(description="Only leases of tasks of this account.")] = None
    host: Annotated[AccountId | None, Field(description="Only leases on this host.")] = None
    digest: Annotated[HexHash | None, Field(description="Only leases with this result (its SHA-256).")] = None


class EscrowsOfAccount(TimedListParameters):
    account: AccountId


class HostList(ListParameters):
    """The order is that of the addresses."""

    provider: Annotated[AccountId | None, Field(description="Only hosts of this provider.")] = None
    status: Annotated[State | None, Field(description="Only hosts with this status.")] = None

    def page(self) -> PageRequest:
        """Return the page of hosts. Raises BadCursor."""
        return self._page((str,), newest_first=False)


class OfferList(ListParameters):
    """The order is that of `sort`: the cheapest or the best reputation first."""

    sort: Annotated[Literal["price", "reputation"], Field(description="Which offers come first.")] = "price"
    model: Annotated[Label | None, Field(description="Only offers of this GPU model; empty: hosts without GPUs.")] = (
        None
    )
    free: Annotated[int | None, Field(ge=0, le=255, description="Only hosts with at least so many free GPUs.")] = None
    max_price: Annotated[
        int | None, Field(ge=0, le=_MOST_AMOUNT, description="Only `price_per_hour` up to this, in base units.")
    ] = None
    min_vram_mib: Annotated[Number | None, Field(description="Only GPUs with at least this much memory.")] = None
    region: Annotated[Label | None, Field(description="Only hosts in this region.")] = None
    tier: Annotated[
        Literal["Consumer", "Professional", "Datacenter"] | None, Field(description="Only hosts of this class.")
    ] = None
    simulated: Annotated[bool | None, Field(description="Only simulated GPUs (true), or only real ones (false).")] = (
        None
    )
    host: Annotated[AccountId | None, Field(description="Only offers of this host.")] = None
    provider: Annotated[AccountId | None, Field(description="Only hosts of this provider.")] = None
    status: Annotated[
        State, Field(description="Only hosts with this status; `any`: hosts that take no leases, too.")
    ] = "Online"

    def page(self) -> PageRequest:
        """Return the page of offers, whose key begins with what they are sorted by. Raises BadCursor."""
        if self.sort == "reputation":
            return self._page((int, str, str, int), newest_first=True)
        found = self._page((str, str, str, int), newest_first=False)
        if found.after is None:
            return found
        price, *rest = found.after
        if not str(price).isdecimal() or int(price) > _MOST_AMOUNT:
            raise BadCursor
        return PageRequest(found.limit, (int(price), *rest), newest_first=False)


class DeviceList(ListParameters):
    """The order is that of the hosts' addresses."""

    host: Annotated[AccountId | None, Field(description="Only devices of this host.")] = None
    provider: Annotated[AccountId | None, Field(description="Only devices of hosts of this provider.")] = None
    model: Annotated[Label | None, Field(description="Only devices of this model.")] = None
    simulated: Annotated[
        bool | None, Field(description="Only simulated devices (true), or only real ones (false).")
    ] = None

    def page(self) -> PageRequest:
        """Return the page of devices. Raises BadCursor."""
        return self._page((str, int), newest_first=False)


class MarketList(ListParameters):
    """The order is that of the models' names."""

    simulated: Annotated[
        bool | None, Field(description="Only simulated devices (true), or only real ones (false).")
    ] = None

    def page(self) -> PageRequest:
        """Return the page of models. Raises BadCursor."""
        return self._page((str, int), newest_first=False)


class BillsOfTask(TimedListParameters):
    task: Number


class BillsOfLease(TimedListParameters):
    lease: Number


class TransfersOfAccount(TimedListParameters):
    account: AccountId


class MovementsOfAccount(CsvListParameters):
    account: AccountId
    first_block: Annotated[Number | None, Field(description="Only movements in this block and later ones.")] = None
    last_block: Annotated[Number | None, Field(description="Only movements in this block and earlier ones.")] = None
    first_ms: Annotated[Number | None, Field(description="Only movements at this time (Unix ms) and later.")] = None
    last_ms: Annotated[Number | None, Field(description="Only movements at this time (Unix ms) and earlier.")] = None


class EventChoice(Parameters):
    """Which events. `name` needs `pallet`; `subject` is a task's number, an address or `challenge:` and a number."""

    pallet: Annotated[Name | None, Field(description="Only events of this pallet.")] = None
    name: Annotated[Name | None, Field(description="Only events of this name; needs `pallet`.")] = None
    subject: Annotated[
        str | None,
        Field(
            pattern="^([0-9]{1,19}|challenge:[0-9]{1,19}|5[1-9A-HJ-NP-Za-km-z]{46,47})$",
            description="Only events about this task (its number), account (its address) or challenge (`challenge:7`).",
        ),
    ] = None

    @model_validator(mode="after")
    def _name_has_pallet(self) -> Self:
        if self.name is not None and self.pallet is None:
            raise ValueError("name needs pallet")
        return self


class EventList(TimedListParameters, EventChoice):
    first_block: Annotated[Number | None, Field(description="Only events of this block and later ones.")] = None
    last_block: Annotated[Number | None, Field(description="Only events of this block and earlier ones.")] = None
    extrinsic: Annotated[
        Number | None, Field(description="Only events that this extrinsic of a block caused; needs one block.")
    ] = None
    documented: Annotated[bool, Field(description="Whether each event has its documentation.")] = False

    @model_validator(mode="after")
    def _extrinsic_has_block(self) -> Self:
        if self.extrinsic is not None and (self.first_block is None or self.first_block != self.last_block):
            raise ValueError("extrinsic needs its block as first_block and last_block")
        return self


class EventStreamChoice(EventChoice):
    after: Annotated[
        str | None,
        Field(pattern=r"^[0-9]{1,18}\.[0-9]{1,9}$", description="`id` of the last event that was received."),
    ] = None
