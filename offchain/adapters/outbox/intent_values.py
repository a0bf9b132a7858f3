"""Values of the outbox: intents (calls to be included), the extrinsics that carry them, and their outcomes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from offchain.ports import BlockRef, Call, DispatchFailure, SignedExtrinsic


class IntentState(StrEnum):
    """State of an intent. The last three are final."""

    QUEUED = "queued"
    SENT = "sent"
    DONE = "done"
    FAILED = "failed"
    DEAD = "dead"


FINAL = (IntentState.DONE, IntentState.FAILED, IntentState.DEAD)


@dataclass(frozen=True, slots=True)
class CallIncluded:
    """The call had its effect, in this final block."""

    block: BlockRef
    index: int


@dataclass(frozen=True, slots=True)
class CallRejected:
    """The call is in this final block and had no effect, because the pallet refused it."""

    failure: DispatchFailure
    block: BlockRef
    index: int


@dataclass(frozen=True, slots=True)
class CallGivenUp:
    """No block holds the call or can still include it, and it is not tried again."""

    reason: str


OutboxOutcome = CallIncluded | CallRejected | CallGivenUp


@dataclass(slots=True)
class OutboxCounts:
    """What an outbox has done since the process started.

    `signed`: extrinsics; `included`, `rejected`, `given_up`: calls by their outcome.
    """

    signed: int = 0
    included: int = 0
    rejected: int = 0
    given_up: int = 0


@dataclass(frozen=True, slots=True)
class Intent:
    """A call that is to be included. `seq` orders the intents of a database."""

    seq: int
    key: str
    call: Call
    state: IntentState
    attempts: int


@dataclass(frozen=True, slots=True)
class SubmittedIntent:
    """An intent in an extrinsic. `attempts`: its extrinsics so far, this one included."""

    seq: int
    key: str
    attempts: int


@dataclass(frozen=True, slots=True)
class Submission:
    """An extrinsic that a block may still include.

    `sent_at`: final block when it was last broadcast. `is_confirmed`: a node has accepted it. `is_suspect`: a node has
    refused it since, so that it may have to expire before its calls are signed again. `is_replaced`: another one with
    the same nonce and calls has a larger tip; the one that is included excludes the others.
    """

    id: int
    """Its number in the database."""
    extrinsic: SignedExtrinsic
    sent_at: int
    is_suspect: bool
    is_confirmed: bool
    tip: int = 0
    is_replaced: bool = False


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
    """The stored form of a call."""
    return json.dumps([call.pallet, call.function, _pack(call.args)])


def unpack_call(text: str) -> Call:
    """A call from its stored form. Tuples come back as lists, which the encoder accepts."""
    pallet, function, args = json.loads(text)
    return Call(pallet, function, _unpack(args))
