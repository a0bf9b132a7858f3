"""Merkle tree over a table of 64-bit values: the fingerprints of rows, or the ends of chains.

A leaf is 512 neighbouring values, as little-endian bytes; the last leaf may be shorter. Leaves and inner nodes are
hashed with different prefixes, and a node without a sibling moves up unchanged, as in RFC 6962.
"""

from __future__ import annotations

import hashlib
from typing import Final

VALUE_BYTES: Final = 8
LEAF_VALUES: Final = 512
LEAF_BYTES: Final = LEAF_VALUES * VALUE_BYTES
_LEAF = b"\0"
_NODE = b"\1"


class OpeningInvalidError(ValueError):
    """An opening that does not lead to the committed root."""


def leaf_count(values: int) -> int:
    return -(-values // LEAF_VALUES)


def leaf_size(values: int, leaf: int) -> int:
    """Return the number of bytes of this leaf in a table of `values`."""
    return min(LEAF_VALUES, values - leaf * LEAF_VALUES) * VALUE_BYTES


def path_length(values: int, leaf: int) -> int:
    """Return the number of hashes between this leaf and the root."""
    width, hashes = leaf_count(values), 0
    while width > 1:
        hashes += (leaf ^ 1) < width
        leaf, width = leaf // 2, (width + 1) // 2
    return hashes


class FingerprintTree:
    """The tree of a whole table. `values`: little-endian bytes, 8 for each value."""

    def __init__(self, values: bytes | memoryview) -> None:
        self._values = memoryview(values).cast("B")
        self._levels = [
            [
                hashlib.sha256(_LEAF + self._values[start : start + LEAF_BYTES]).digest()
                for start in range(0, len(self._values), LEAF_BYTES)
            ]
        ]
        while len(level := self._levels[-1]) > 1:
            above = [
                hashlib.sha256(_NODE + level[place] + level[place + 1]).digest()
                for place in range(0, len(level) - 1, 2)
            ]
            self._levels.append(above + level[-1:] if len(level) % 2 else above)

    @property
    def root(self) -> bytes:
        return self._levels[-1][0]

    def leaf_of(self, value: int) -> bytes:
        """Return the leaf that contains the value with this number."""
        start = value // LEAF_VALUES * LEAF_BYTES
        return bytes(self._values[start : start + LEAF_BYTES])

    def path_of(self, value: int) -> tuple[bytes, ...]:
        """Return the siblings from the leaf of this value to the root."""
        place, found = value // LEAF_VALUES, []
        for level in self._levels:
            if (sibling := place ^ 1) < len(level):
                found.append(level[sibling])
            place //= 2
        return tuple(found)


def opened_value(root: bytes, values: int, number: int, leaf: bytes, path: tuple[bytes, ...]) -> int:
    """Return the committed value with this number in a table of `values`. Raise :class:`OpeningInvalidError`."""
    place = number // LEAF_VALUES
    if len(leaf) != leaf_size(values, place):
        raise OpeningInvalidError(
            f"the leaf of value {number} must have {leaf_size(values, place)} bytes, not {len(leaf)}"
        )
    if len(path) != path_length(values, place):
        raise OpeningInvalidError(
            f"the path of value {number} must have {path_length(values, place)} hashes, not {len(path)}"
        )
    node, width, siblings = hashlib.sha256(_LEAF + leaf).digest(), leaf_count(values), iter(path)
    while width > 1:
        if (place ^ 1) < width:
            sibling = next(siblings)
            node = hashlib.sha256(_NODE + (sibling + node if place % 2 else node + sibling)).digest()
        place, width = place // 2, (width + 1) // 2
    if node != root:
        raise OpeningInvalidError(f"the opening of value {number} does not lead to the committed root")
    start = number % LEAF_VALUES * VALUE_BYTES
    return int.from_bytes(leaf[start : start + VALUE_BYTES], "little")
