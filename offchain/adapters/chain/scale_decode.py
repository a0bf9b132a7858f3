"""SCALE bytes to plain values, led by the types of the metadata.

Plain form: an account is its SS58 address, a byte array or byte vector is `bytes`, a number is `int`, an enum without
payload is the name of its variant, one with a payload is `{"Variant": payload}` (the value itself, a tuple, or a dict
for named fields), a struct is a dict, a struct of one unnamed field is that field, a vector is a list, a tuple is a
tuple, an option is None or the value, the empty tuple is `()`.

A decoder takes the data and an offset, and returns the value with the offset after it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from offchain.adapters.chain import metadata as md
from offchain.adapters.keys import ss58
from offchain.errors import BadReply

Decode = Callable[[bytes, int], tuple[Any, int]]
Coder = TypeVar("Coder", bound=Callable[..., Any])

ACCOUNT = ("sp_core", "crypto", "AccountId32")
OPTION = ("Option",)
BYTE = md.Primitive("u8")
INTEGERS = {
    "u8": (1, False), "u16": (2, False), "u32": (4, False), "u64": (8, False), "u128": (16, False), "u256": (32, False),
    "i8": (1, True), "i16": (2, True), "i32": (4, True), "i64": (8, True), "i128": (16, True), "i256": (32, True),
}  # fmt: skip
"""Size in bytes, and whether negative numbers are possible."""


class TypeCodec(ABC, Generic[Coder]):
    """Coders for the types of one runtime, each made when it is first needed."""

    def __init__(self, types: tuple[md.Type, ...]) -> None:
        self._types = types
        self._made: dict[int, Any] = {}

    def coder(self, type_id: int) -> Coder:
        """Return the coder of a type. One of a ScaleDecoder raises IndexError or UnicodeDecodeError on other bytes."""
        made: Coder | None = self._made.get(type_id)
        if made is None:
            # A type may contain itself (a call of calls): until it is made, the entry looks itself up.
            self._made[type_id] = lambda one, two: self._made[type_id](one, two)  # noqa: PLW0108 - looked up late
            made = self._made[type_id] = self._make(self._types[type_id])
        return made

    @abstractmethod
    def _make(self, type_: md.Type) -> Coder: ...


class ScaleDecoder(TypeCodec[Decode]):
    """Decoders for the types of one runtime."""

    def decode(self, type_id: int, data: bytes) -> Any:
        """The plain value of exactly these bytes. Raises BadReply where they are not a value of the type."""
        try:
            value, end = self.coder(type_id)(data, 0)
        except (IndexError, UnicodeDecodeError) as error:
            raise BadReply(f"A value of the chain cannot be read: {error}.", "Ask the node again.") from error
        if end != len(data):
            raise BadReply(
                f"A value of the chain has {len(data)} bytes, but its type has {end}.",
                "The node's runtime is newer than this program's metadata: use the release that belongs to it.",
            )
        return value

    def _make(self, type_: md.Type) -> Decode:  # noqa: C901, PLR0911 - one line for each kind of type
        if type_.path == ACCOUNT:
            return _account
        match type_.definition:
            case md.Primitive(name):
                return _primitive(name)
            case md.Compact():
                return read_compact
            case md.Composite(fields):
                return self._fields(fields)
            case md.Tuple(types):
                return _tuple([self.coder(item) for item in types])
            case md.Sequence(item):
                return _bytes if self._types[item].definition == BYTE else _vector(self.coder(item))
            case md.Array(length, item):
                return (
                    _fixed_bytes(length) if self._types[item].definition == BYTE else _vector(self.coder(item), length)
                )
            case md.Enumeration(variants):
                if type_.path == OPTION:
                    return _option(self.coder(variants[1].fields[0].type))
                readers = {v.index: (v.name, self._fields(v.fields) if v.fields else None) for v in variants}
                return _enum("::".join(type_.path), readers)
            case md.BitSequence():
                return _bits
        raise AssertionError(type_)

    def _fields(self, fields: tuple[md.TypeField, ...]) -> Decode:
        parts = [(field.name, self.coder(field.type)) for field in fields]
        if len(parts) == 1 and parts[0][0] is None:
            return parts[0][1]
        if any(name is None for name, _ in parts):
            return _tuple([read for _, read in parts])

        def struct(data: bytes, pos: int) -> tuple[Any, int]:
            value: dict[str | None, Any] = {}
            for name, read in parts:
                value[name], pos = read(data, pos)
            return value, pos

        return struct


def read_compact(data: bytes, pos: int) -> tuple[int, int]:
    """A number in SCALE's compact form."""
    first = data[pos]
    mode = first & 3
    if mode == 0:
        return first >> 2, pos + 1
    if mode == 1:
        return (first | data[pos + 1] << 8) >> 2, pos + 2
    if mode == 2:
        chunk, pos = _take(data, pos, 4)
        return int.from_bytes(chunk, "little") >> 2, pos
    chunk, pos = _take(data, pos + 1, 4 + (first >> 2))
    return int.from_bytes(chunk, "little"), pos


def _take(data: bytes, pos: int, size: int) -> tuple[bytes, int]:
    end = pos + size
    chunk = data[pos:end]
    if len(chunk) != size:
        raise IndexError("the data ends too early")
    return chunk, end


def _account(data: bytes, pos: int) -> tuple[Any, int]:
    chunk, pos = _take(data, pos, 32)
    return ss58.encode(chunk), pos


def _bytes(data: bytes, pos: int) -> tuple[Any, int]:
    size, pos = read_compact(data, pos)
    return _take(data, pos, size)


def _fixed_bytes(length: int) -> Decode:
    return lambda data, pos: _take(data, pos, length)


def _bits(data: bytes, pos: int) -> tuple[Any, int]:
    bits, pos = read_compact(data, pos)
    return _take(data, pos, (bits + 7) // 8)


def _text(data: bytes, pos: int) -> tuple[Any, int]:
    raw, pos = _bytes(data, pos)
    return raw.decode(), pos


def _char(data: bytes, pos: int) -> tuple[Any, int]:
    raw, pos = _take(data, pos, 4)
    return raw.decode("utf-32-le"), pos


def _flag(data: bytes, pos: int) -> tuple[Any, int]:
    if data[pos] > 1:
        raise IndexError(f"{data[pos]} is neither true nor false")
    return data[pos] == 1, pos + 1


def _primitive(name: str) -> Decode:
    if name in ("bool", "str", "char"):
        return {"bool": _flag, "str": _text, "char": _char}[name]
    size, signed = INTEGERS[name]
    if name == "u8":
        return lambda data, pos: (data[pos], pos + 1)
    from_bytes = int.from_bytes

    def integer(data: bytes, pos: int) -> tuple[Any, int]:
        end = pos + size
        if end > len(data):
            raise IndexError("the data ends too early")
        return from_bytes(data[pos:end], "little", signed=signed), end

    return integer


def _tuple(parts: list[Decode]) -> Decode:
    def read(data: bytes, pos: int) -> tuple[Any, int]:
        values = []
        for part in parts:
            value, pos = part(data, pos)
            values.append(value)
        return tuple(values), pos

    return read


def _vector(item: Decode, length: int | None = None) -> Decode:
    """Return the decoder of a vector, or of an array of this length."""

    def read(data: bytes, pos: int) -> tuple[Any, int]:
        count, pos = read_compact(data, pos) if length is None else (length, pos)
        values = []
        for _ in range(count):
            value, pos = item(data, pos)
            values.append(value)
        return values, pos

    return read


def _option(inner: Decode) -> Decode:
    def read(data: bytes, pos: int) -> tuple[Any, int]:
        if data[pos] > 1:
            raise IndexError(f"Option has no variant {data[pos]}")
        return inner(data, pos + 1) if data[pos] else (None, pos + 1)

    return read


def _enum(path: str, variants: dict[int, tuple[str, Decode | None]]) -> Decode:
    def read(data: bytes, pos: int) -> tuple[Any, int]:
        found = variants.get(data[pos])
        if found is None:
            raise IndexError(f"{path} has no variant {data[pos]}")
        name, payload = found
        if payload is None:
            return name, pos + 1
        value, pos = payload(data, pos + 1)
        return {name: value}, pos

    return read
