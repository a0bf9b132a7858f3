"""Final blocks as rows. Fields of events are stored as JSON, with bytes as 0x and hex digits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from offchain.indexer.derive_values import IndexedEvent
from offchain.indexer.rows import BlockRow, EventRow, ExtrinsicRow
from offchain.ports import Block, ChainEvent, DispatchFailure

_encode = json.JSONEncoder(separators=(",", ":"), default=lambda value: f"0x{value.hex()}").encode


def pack(fields: Mapping[str, Any]) -> str:
    """Return an event's fields as the stored text."""
    return _encode(fields)


def unpack(text: str) -> dict[str, Any]:
    """Return stored fields as a JSON object."""
    value: dict[str, Any] = json.loads(text)
    return value


def with_bytes(value: Any) -> Any:
    """Return a JSON value in the form of :mod:`offchain.ports`, with bytes for 0x and hex digits."""
    if isinstance(value, str) and value.startswith("0x"):
        return bytes.fromhex(value[2:])
    if isinstance(value, dict):
        return {name: with_bytes(item) for name, item in value.items()}
    if isinstance(value, list):
        return [with_bytes(item) for item in value]
    return value


@dataclass(frozen=True, slots=True)
class BlockRows:
    """The rows of a block, and its events as input of the derivation."""

    block: BlockRow
    extrinsics: list[ExtrinsicRow]
    events: list[EventRow]
    indexed: list[IndexedEvent]


def read_block(block: Block) -> BlockRows:
    number, time_ms = block.ref.number, block.timestamp_ms
    events, indexed = [], []
    fees: dict[int, Mapping[str, Any]] = {}
    signers: dict[int | None, str | None] = {inclusion.index: inclusion.signer for inclusion in block.inclusions}
    for place, event in enumerate(block.events):
        text = pack(event.fields)
        fields = unpack(text)
        events.append(
            EventRow(number, place, event.extrinsic, event.pallet, event.name, text, _event_failure(event, block))
        )
        signer = signers.get(event.extrinsic)
        indexed.append(IndexedEvent(number, place, time_ms, event.pallet, event.name, fields, text, signer))
        if event.name == "TransactionFeePaid" and event.extrinsic is not None:
            fees[event.extrinsic] = fields
    extrinsics = [
        ExtrinsicRow(
            number,
            inclusion.index,
            f"0x{inclusion.extrinsic_hash.hex()}",
            _failure_name(inclusion.failure),
            len(inclusion.refused),
            (paid := fees.get(inclusion.index, {})).get("who"),
            paid.get("actual_fee"),
            paid.get("tip"),
            inclusion.call,
            inclusion.signer,
        )
        for inclusion in block.inclusions
    ]
    row = BlockRow(
        number,
        f"0x{block.ref.hash.hex()}",
        f"0x{block.parent_hash.hex()}",
        time_ms,
        len(extrinsics),
        len(events),
    )
    return BlockRows(row, extrinsics, events, indexed)


def indexed_event(row: EventRow, time_ms: int, signer: str | None) -> IndexedEvent:
    """Return a stored event as input of the derivation."""
    return IndexedEvent(row.block, row.place, time_ms, row.pallet, row.name, unpack(row.fields), row.fields, signer)


def _event_failure(event: ChainEvent, block: Block) -> str | None:
    if event.extrinsic is None or event.extrinsic >= len(block.inclusions):
        return None
    inclusion = block.inclusions[event.extrinsic]
    if event.name == "ExtrinsicFailed":
        return _failure_name(inclusion.failure)
    if event.name == "ItemRefused":
        return _failure_name(inclusion.refused.get(event.fields["index"]))
    return None


def _failure_name(failure: DispatchFailure | None) -> str | None:
    return None if failure is None else f"{failure.pallet}.{failure.name}"
