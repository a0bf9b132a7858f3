"""Strict reader of the SCALE bytes in proofs: bounded lists, one encoding for each value, no recursion.

The chain codec in `offchain.adapters.chain` is led by metadata and reads values of any depth. The shapes here are
fixed, and their bytes come from strangers.
"""

from __future__ import annotations

from offchain.errors import ProofRefused

_FOUR_BYTES = 1 << 30


class ProofReader:
    """A position in bytes. `where`: the part of the proof that is read, for errors."""

    __slots__ = ("_data", "pos", "where")

    def __init__(self, data: bytes, where: str) -> None:
        self._data = data
        self.pos = 0
        self.where = where

    def refuse(self, reason: str) -> ProofRefused:
        """Return the error for the part that is read."""
        return ProofRefused(self.where, reason)

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        end = self.pos + size
        if end > len(self._data):
            raise self.refuse(f"it ends {end - len(self._data)} bytes too early")
        chunk = self._data[self.pos : end]
        self.pos = end
        return chunk

    def since(self, start: int) -> bytes:
        """Return the bytes that were read since the position `start`."""
        return self._data[start : self.pos]

    def uint(self, size: int) -> int:
        """Return a number of `size` bytes, little-endian."""
        return int.from_bytes(self.take(size), "little")

    def compact(self) -> int:
        """Return a compact number below 2^32, which must have its shortest form."""
        mode = self._data[self.pos] & 3 if self.pos < len(self._data) else 0
        match mode:
            case 0:
                return self.uint(1) >> 2
            case 1:
                value, least = self.uint(2) >> 2, 1 << 6
            case 2:
                value, least = self.uint(4) >> 2, 1 << 14
            case _:
                if self.uint(1) != 3:
                    raise self.refuse("a number is larger than 32 bits")
                value, least = self.uint(4), _FOUR_BYTES
        if value < least:
            raise self.refuse(f"the number {value} does not have its shortest form")
        return value

    def count(self, limit: int, what: str) -> int:
        """Return the length of a list of at most `limit` items; `what` names the items."""
        count = self.compact()
        if count > limit:
            raise self.refuse(f"it has {count} {what}, and at most {limit} are allowed")
        return count

    def sized(self, limit: int, what: str) -> bytes:
        """Return a byte vector of at most `limit` bytes; `what` names it."""
        size = self.compact()
        if size > limit:
            raise self.refuse(f"{what} has {size} bytes, and at most {limit} are allowed")
        return self.take(size)

    def end(self) -> None:
        """Refuse bytes that follow."""
        if self.pos != len(self._data):
            raise self.refuse(f"{len(self._data) - self.pos} bytes follow its end")
