"""Calls, storage items and groups of states of the chain, beside the generated types in `_generated_chain`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, Generic, TypeVar

LIVE_LEASE_STATES: Final = ("Pending", "Active", "Suspended")
"""States of leases whose pods run, or may run again."""
FINAL_TASK_STATES: Final = ("Settled", "Expired", "Cancelled", "Failed")
"""States in which a task has no pod any more, and gets none."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the runtime: pallet and function as in the metadata, arguments in plain values."""

    pallet: str
    function: str
    args: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StorageItem(Generic[T]):
    """A storage item of one of our pallets. `decode` makes the typed value from the plain one."""

    pallet: str
    item: str
    decode: Callable[[Any], T]


def compact(value: int) -> bytes:
    """Return the SCALE compact encoding of a number that is not negative."""
    if value < 1 << 6:
        return bytes([value << 2])
    if value < 1 << 14:
        return (value << 2 | 1).to_bytes(2, "little")
    if value < 1 << 30:
        return (value << 2 | 2).to_bytes(4, "little")
    size = (value.bit_length() + 7) // 8
    return bytes([(size - 4) << 2 | 3]) + value.to_bytes(size, "little")


def blake2_256(data: bytes) -> bytes:
    """Return the BLAKE2b hash of 32 bytes: that of blocks, extrinsics, trie nodes and long payloads."""
    return blake2b(data, digest_size=32).digest()
