"""How the parts of SCALE values are read.

Each reader takes the data and a place in it, and gives what stands there and the place behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from offchain.adapters.keys import ss58

Decoder = Callable[[bytes, int], tuple[Any, int]]

INTEGERS = {
    "u8": (1, False), "u16": (2, False), "u32": (4, False), "u64": (8, False), "u128": (16, False), "u256": (32, False),
    "i8": (1, True), "i16": (2, True), "i32": (4, True), "i64": (8, True), "i128": (16, True), "i256": (32, True),
}  # fmt: skip


def read_compact(data: bytes, pos: int) -> tuple[int, int]:
    """A number in the short form."""
    first = data[pos]
    mode = first & 3
    if mode == 0:
        return first >> 2, pos + 1
    if mode == 1:
        return (first | data[pos + 1] << 8) >> 2, pos + 2
    if mode == 2:
        return int.from_bytes(data[pos : pos + 4], "little") >> 2, pos + 4
    end = pos + 5 + (first >> 2)
    return int.from_bytes(data[pos + 1 : end], "little"), end


def take(data: bytes, pos: int, size: int) -> tuple[bytes, int]:
    """So many bytes."""
    end = pos + size
    chunk = data[pos:end]
    if len(chunk) != size:
        raise IndexError("the data ends too early")
    return chunk, end


def read_account(data: bytes, pos: int) -> tuple[Any, int]:
    """An account, as its SS58 address."""
    chunk, pos = take(data, pos, 32)
    return ss58.encode(chunk), pos


def read_bytes(data: bytes, pos: int) -> tuple[Any, int]:
    """A byte vector."""
    size, pos = read_compact(data, pos)
    return take(data, pos, size)


def read_bits(data: bytes, pos: int) -> tuple[Any, int]:
    """A bit sequence, its bits packed into bytes."""
    bits, pos = read_compact(data, pos)
    return take(data, pos, (bits + 7) // 8)


def primitive_decoder(name: str) -> Decoder:
    """Values of a primitive type."""
    if name == "bool":
        return lambda data, pos: (data[pos] != 0, pos + 1)
    if name == "str":

        def text(data: bytes, pos: int) -> tuple[Any, int]:
            raw, pos = read_bytes(data, pos)
            return raw.decode(), pos

        return text
    if name == "char":
        return lambda data, pos: (chr(int.from_bytes(data[pos : pos + 4], "little")), pos + 4)
    size, signed = INTEGERS[name]
    if size == 1 and not signed:
        return lambda data, pos: (data[pos], pos + 1)
    from_bytes = int.from_bytes

    def integer(data: bytes, pos: int) -> tuple[Any, int]:
        end = pos + size
        if end > len(data):
            raise IndexError("the data ends too early")
        return from_bytes(data[pos:end], "little", signed=signed), end

    return integer


def tuple_decoder(parts: list[Decoder]) -> Decoder:
    """One value after the other."""

    def read(data: bytes, pos: int) -> tuple[Any, int]:
        values = []
        for part in parts:
            value, pos = part(data, pos)
            values.append(value)
        return tuple(values), pos

    return read


def vector_decoder(item: Decoder) -> Decoder:
    """A vector."""

    def read(data: bytes, pos: int) -> tuple[Any, int]:
        count, pos = read_compact(data, pos)
        values = []
        for _ in range(count):
            value, pos = item(data, pos)
            values.append(value)
        return values, pos

    return read


def array_decoder(length: int, item: Decoder | None) -> Decoder:
    """An array of this length; of bytes where no item is given."""
    if item is None:
        return lambda data, pos: take(data, pos, length)

    def read(data: bytes, pos: int) -> tuple[Any, int]:
        values = []
        for _ in range(length):
            value, pos = item(data, pos)
            values.append(value)
        return values, pos

    return read
