"""What final blocks hold: events by name, weight, length, slots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from chain.node import Header, Node


@dataclass(frozen=True, slots=True)
class Filled:
    """One final block. `events` counts "Pallet.Name"; `extrinsics` includes the inherent ones."""

    header: Header
    extrinsics: int
    bytes: int
    events: Counter[str]


def missed_slots(headers: Iterable[Header]) -> int:
    """Slots between the first and the last of these that have no block."""
    slots = [header.slot for header in headers]
    return slots[-1] - slots[0] + 1 - len(slots)


def read(node: Node, number: int) -> Filled:
    """A final block and its events."""
    block_hash = node.hash_of(number)
    body = node.rpc.call("chain_getBlock", block_hash)["block"]["extrinsics"]
    key = "0x" + node.runtime.storage_key(node.runtime.entry("System", "Events")).hex()
    raw = bytes.fromhex((node.rpc.call("state_getStorage", key, block_hash) or "0x00")[2:])
    events = Counter(f"{event.pallet}.{event.name}" for event in node.runtime.decode_events(raw))
    return Filled(node.header(block_hash), len(body), sum(len(each) // 2 - 1 for each in body), events)
