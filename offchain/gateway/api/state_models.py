"""Parameters and answers of the state at a block."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, Self

from pydantic import Field, field_validator, model_validator

from offchain.core.proofs.subject import MOST_STORAGE_KEYS
from offchain.gateway.api.models import AnsweredModel, BlockReference, Hash
from offchain.gateway.api.parameters import AccountId, BlockName, Name, Number, Parameters

MOST_KEYS_TEXT: Final = 4_096
_ONE_OF: Final = ("task", "lease", "account", "host", "pallet")


class StateChoice(Parameters):
    """The records to read: those of one `task`, `lease`, `account` or `host`, or an `item` of a `pallet`."""

    block: Annotated[BlockName | None, Field(description="A final block, by number or hash. Else the newest.")] = None
    task: Annotated[Number | None, Field(description="The records of this task.")] = None
    lease: Annotated[
        int | None, Field(ge=0, lt=1 << 96, description="The records of this lease: those of its task, with its host.")
    ] = None
    account: Annotated[AccountId | None, Field(description="Coins, holds and bonds of this account.")] = None
    host: Annotated[AccountId | None, Field(description="The records of this host, and its provider's coins.")] = None
    pallet: Annotated[Name | None, Field(description="A storage item of this pallet; needs `item`.")] = None
    item: Annotated[Name | None, Field(description="The storage item; needs `pallet`.")] = None
    keys: Annotated[
        str | None,
        Field(
            max_length=MOST_KEYS_TEXT,
            description=f"JSON array of 1 to {MOST_STORAGE_KEYS} keys of a map; a key is a JSON value, or an array of "
            "all keys where the item has several. An address is text, bytes are 0x and hexadecimal digits.",
            examples=['["5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"]'],
        ),
    ] = None

    @field_validator("keys")
    @classmethod
    def _keys_are_an_array(cls, text: str | None) -> str | None:
        if text is not None:
            keys_of(text)
        return text

    @model_validator(mode="after")
    def _one_is_asked(self) -> Self:
        given = [name for name in _ONE_OF if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of {', '.join(_ONE_OF)}")
        if (self.pallet is None) != (self.item is None):
            raise ValueError("pallet and item need each other")
        if self.keys is not None and self.item is None:
            raise ValueError("keys needs pallet and item")
        return self


def keys_of(text: str) -> list[Any]:
    """Return the keys in the parameter `keys`. Raises ValueError."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("keys: it is not JSON") from None
    if not isinstance(found, list) or len(found) > MOST_STORAGE_KEYS:
        raise ValueError(f"keys: a JSON array of at most {MOST_STORAGE_KEYS} keys is needed")
    return found


class StoredValueResource(AnsweredModel):
    """A value in the chain's storage. `raw`: null where nothing is stored; `value` is then the item's default."""

    pallet: str
    item: str
    keys: Annotated[list[Any], Field(description="Plain values, as in the arguments of calls.")]
    storage_key: Annotated[str, Field(description="0x and hexadecimal digits.")]
    raw: Annotated[str | None, Field(description="The stored bytes: 0x and hexadecimal digits.")]
    value: Annotated[Any, Field(description="Plain value. Integers above 2^53 - 1 are decimal text; bytes 0x and hex.")]


class StateResource(AnsweredModel):
    """Stored values in the state of one final block.

    `proof`: the path of a file that proves them against `state_root`, for `gantry audit verify`.
    """

    block: BlockReference
    parent_hash: Hash
    state_root: Hash
    values: list[StoredValueResource]
    proof: str
