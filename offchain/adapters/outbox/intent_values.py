"""What is wanted of the chain, in values: intents, the extrinsics that carry them, and how they end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from offchain.ports import BlockRef, Call, DispatchFailure, SignedExtrinsic


class State(StrEnum):
    """Where an intent stands. `SENT` has exactly one extrinsic alive; the last three are final."""

    QUEUED = "queued"
    SENT = "sent"
    DONE = "done"
    FAILED = "failed"
    DEAD = "dead"


FINAL = (State.DONE, State.FAILED, State.DEAD)


@dataclass(frozen=True, slots=True)
class Included:
    """The call had its effect, in this final block."""

    block: BlockRef
    index: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The call is in this final block and had no effect: the pallet refused it."""

    failure: DispatchFailure
    block: BlockRef
    index: int


@dataclass(frozen=True, slots=True)
class Dead:
    """No block holds the call, none will, and the outbox has stopped trying."""

    reason: str


Outcome = Included | Failed | Dead


@dataclass(frozen=True, slots=True)
class Intent:
    """A call that is wanted."""

    seq: int
    key: str
    call: Call
    state: State
    attempts: int


@dataclass(frozen=True, slots=True)
class Carried:
    """An intent in an extrinsic; `attempts` counts that one in."""

    seq: int
    key: str
    attempts: int


@dataclass(frozen=True, slots=True)
class Flight:
    """An extrinsic that may still come into a block.

    `carried`: the intents in it, by item. `sent_at`: final block when it was last handed to a node. `confirmed`: a node
    has taken it. `doubted`: a node has refused it since, so it may have to wait for its end before the call can be sent
    again. `outbid`: another with the same number and calls gives a larger tip; whichever of them comes into a block
    shuts the others out.
    """

    carried: tuple[Carried, ...]
    extrinsic: SignedExtrinsic
    born: int
    sent_at: int
    doubted: bool
    confirmed: bool
    tip: int = 0
    outbid: bool = False


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An intent that was given up, for people to look at."""

    key: str
    call: Call
    reason: str
    attempts: int
    created_ms: int


def _pack(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"$bytes": value.hex()}
    if isinstance(value, Mapping):
        return {str(key): _pack(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_pack(item) for item in value]
    return value


def _unpack(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"$bytes"}:
            return bytes.fromhex(value["$bytes"])
        return {key: _unpack(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_unpack(item) for item in value]
    return value


def pack_call(call: Call) -> str:
    """A call as text."""
    return json.dumps([call.pallet, call.function, _pack(call.args)])


def unpack_call(text: str) -> Call:
    """The call from its text. Tuples come back as lists, which the codec takes as well."""
    pallet, function, args = json.loads(text)
    return Call(pallet, function, _unpack(args))
