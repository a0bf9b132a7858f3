"""SCALE to plain values and back, led by the types of the metadata, so that nothing has to be guessed.

Plain form: an account is its SS58 string, a byte array or byte vector is `bytes`, a number is `int`, an enum without
payload is its variant's name, one with a payload is `{"Variant": payload}` (the value itself, a tuple, or a dict for
named fields), a struct is a dict, a struct of one unnamed field is that field, a vector is a list, a tuple is a tuple,
an option is None or the value, nothing is `()`. Where an address is wanted, an account may be given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from offchain.link import ss58
from offchain.link.errors import BadKey, BadReply, BadValue
from offchain.link.metadata import (
    Array,
    BitSequence,
    Compact,
    Composite,
    Enumeration,
    Field,
    Primitive,
    Sequence,
    Tuple,
    Type,
)
from offchain.schema.chain import compact

Decoder = Callable[[bytes, int], tuple[Any, int]]
Encoder = Callable[[Any, bytearray], None]

_ACCOUNT = ("sp_core", "crypto", "AccountId32")
_ADDRESS = ("sp_runtime", "multiaddress", "MultiAddress")
_INTEGERS = {
    "u8": (1, False), "u16": (2, False), "u32": (4, False), "u64": (8, False), "u128": (16, False), "u256": (32, False),
    "i8": (1, True), "i16": (2, True), "i32": (4, True), "i64": (8, True), "i128": (16, True), "i256": (32, True),
}  # fmt: skip


class _Misfit(Exception):  # noqa: N818 - never leaves this module
    """A value that does not fit its type; gathers the path to it on the way out."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str] = []


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


def _take(data: bytes, pos: int, size: int) -> tuple[bytes, int]:
    end = pos + size
    chunk = data[pos:end]
    if len(chunk) != size:
        raise IndexError("the data ends too early")
    return chunk, end


class Codec:
    """Encoders and decoders for the types of one runtime, made when first needed."""

    def __init__(self, types: tuple[Type, ...]) -> None:
        self._types = types
        self._decoders: dict[int, Decoder] = {}
        self._encoders: dict[int, Encoder] = {}
        self._by_path = {type_.path: number for number, type_ in reversed(list(enumerate(types))) if type_.path}

    def type_named(self, path: str) -> int:
        """The type with this Rust path, as `gantry_primitives::types::Ask`. LookupError where there is none."""
        try:
            return self._by_path[tuple(path.split("::"))]
        except KeyError:
            raise LookupError(path) from None

    def decode(self, type_id: int, data: bytes) -> Any:
        """The plain value of exactly these bytes."""
        try:
            value, pos = self.decoder(type_id)(data, 0)
        except (IndexError, UnicodeDecodeError) as error:
            raise BadReply(f"A value of the chain cannot be read: {error}.", "Ask the node again.") from error
        if pos != len(data):
            raise BadReply(
                f"A value of the chain has {len(data) - pos} bytes too many for its type.",
                "The node's runtime is newer than this program's metadata: use the release that belongs to it.",
            )
        return value

    def encode(self, type_id: int, value: Any, what: str = "value") -> bytes:
        """The bytes of a plain value. BadValue names the part that does not fit."""
        out = bytearray()
        try:
            self.encoder(type_id)(value, out)
        except _Misfit as misfit:
            where = "".join([what, *reversed(misfit.path)])
            raise BadValue(f"{where}: {misfit.reason}.", "Correct this value.") from None
        return bytes(out)

    def decoder(self, type_id: int) -> Decoder:
        """Reads a value at an offset and returns it with the offset after it."""
        made = self._decoders.get(type_id)
        if made is None:
            # A type may contain itself (a call of calls): meanwhile the entry looks itself up.
            self._decoders[type_id] = lambda data, pos: self._decoders[type_id](data, pos)  # noqa: PLW0108 - looked up late
            made = self._decoders[type_id] = self._make_decoder(self._types[type_id])
        return made

    def encoder(self, type_id: int) -> Encoder:
        """Appends the bytes of a value."""
        made = self._encoders.get(type_id)
        if made is None:
            self._encoders[type_id] = lambda value, out: self._encoders[type_id](value, out)  # noqa: PLW0108 - looked up late
            made = self._encoders[type_id] = self._make_encoder(self._types[type_id])
        return made

    def _is_byte(self, type_id: int) -> bool:
        return self._types[type_id].definition == Primitive("u8")

    # --- decoding -----------------------------------------------------------------------------------------------

    def _make_decoder(self, type_: Type) -> Decoder:  # noqa: PLR0911 - one line for each kind of type
        if type_.path == _ACCOUNT:
            return _read_account
        match type_.definition:
            case Primitive(name):
                return _primitive_decoder(name)
            case Compact():
                return read_compact
            case Composite(fields):
                return self._fields_decoder(fields)
            case Tuple(types):
                return _tuple_decoder([self.decoder(t) for t in types])
            case Sequence(item):
                return _read_bytes if self._is_byte(item) else _vector_decoder(self.decoder(item))
            case Array(length, item):
                return _array_decoder(length, None if self._is_byte(item) else self.decoder(item))
            case Enumeration():
                return self._enum_decoder(type_)
            case BitSequence():
                return _read_bits
        raise AssertionError(type_)

    def _fields_decoder(self, fields: tuple[Field, ...]) -> Decoder:
        if len(fields) == 1 and fields[0].name is None:
            return self.decoder(fields[0].type)
        parts = [(field.name, self.decoder(field.type)) for field in fields]
        if any(name is None for name, _ in parts):
            return _tuple_decoder([read for _, read in parts])

        def struct(data: bytes, pos: int) -> tuple[Any, int]:
            value: dict[str | None, Any] = {}
            for name, read in parts:
                value[name], pos = read(data, pos)
            return value, pos

        return struct

    def _enum_decoder(self, type_: Type) -> Decoder:
        definition = type_.definition
        assert isinstance(definition, Enumeration)  # noqa: S101 - narrows for the type checker
        if type_.path == ("Option",):
            inner = self.decoder(definition.variants[1].fields[0].type)

            def option(data: bytes, pos: int) -> tuple[Any, int]:
                return inner(data, pos + 1) if data[pos] else (None, pos + 1)

            return option
        variants = {
            v.index: (v.name, self._fields_decoder(v.fields) if v.fields else None) for v in definition.variants
        }
        path = "::".join(type_.path)

        def enum(data: bytes, pos: int) -> tuple[Any, int]:
            index = data[pos]
            if index not in variants:
                raise IndexError(f"{path} has no variant {index}")
            name, read = variants[index]
            if read is None:
                return name, pos + 1
            value, pos = read(data, pos + 1)
            return {name: value}, pos

        return enum

    # --- encoding -----------------------------------------------------------------------------------------------

    def _make_encoder(self, type_: Type) -> Encoder:  # noqa: PLR0911 - one line for each kind of type
        if type_.path == _ACCOUNT:
            return _write_account
        match type_.definition:
            case Primitive(name):
                return _primitive_encoder(name)
            case Compact():
                return _write_compact
            case Composite(fields):
                return self._fields_encoder(fields)
            case Tuple(types):
                return _tuple_encoder([self.encoder(t) for t in types])
            case Sequence(item):
                return _write_bytes if self._is_byte(item) else _vector_encoder(self.encoder(item), None)
            case Array(length, item):
                return (
                    _fixed_bytes_encoder(length) if self._is_byte(item) else _vector_encoder(self.encoder(item), length)
                )
            case Enumeration():
                return self._enum_encoder(type_)
            case BitSequence():
                return _write_bits
        raise AssertionError(type_)

    def _fields_encoder(self, fields: tuple[Field, ...]) -> Encoder:
        if len(fields) == 1 and fields[0].name is None:
            return self.encoder(fields[0].type)
        if any(field.name is None for field in fields):
            return _tuple_encoder([self.encoder(field.type) for field in fields])
        parts = {field.name: self.encoder(field.type) for field in fields if field.name}

        def struct(value: Any, out: bytearray) -> None:
            if not isinstance(value, Mapping):
                raise _Misfit(f"needs the fields {', '.join(parts)}")
            if len(value) != len(parts) or any(name not in parts for name in value):
                unknown = [str(name) for name in value if name not in parts]
                missing = [name for name in parts if name not in value]
                raise _Misfit(f"{'unknown' if unknown else 'missing'} field {(unknown or missing)[0]}")
            for name, write in parts.items():
                try:
                    write(value[name], out)
                except _Misfit as misfit:
                    misfit.path.append(f".{name}")
                    raise

        return struct

    def _enum_encoder(self, type_: Type) -> Encoder:
        definition = type_.definition
        assert isinstance(definition, Enumeration)  # noqa: S101 - narrows for the type checker
        if type_.path == ("Option",):
            return _option_encoder(self.encoder(definition.variants[1].fields[0].type))
        variants = {
            v.name: (v.index, self._fields_encoder(v.fields) if v.fields else None) for v in definition.variants
        }
        path = "::".join(type_.path)
        takes_account = type_.path == _ADDRESS

        def enum(value: Any, out: bytearray) -> None:
            if isinstance(value, Mapping) and len(value) == 1:
                ((name, payload),) = value.items()
            else:
                name, payload = value, None
            if not isinstance(name, str) or name not in variants:
                if takes_account and isinstance(value, str):
                    name, payload = "Id", value
                else:
                    raise _Misfit(f"{value!r} is none of {', '.join(variants)} ({path})")
            index, write = variants[name]
            out.append(index)
            if write is None:
                if payload not in (None, ()):
                    raise _Misfit(f"{name} carries no value")
                return
            try:
                write(payload, out)
            except _Misfit as misfit:
                misfit.path.append(f".{name}")
                raise

        return enum


# --- parts that need no types -----------------------------------------------------------------------------------


def _read_account(data: bytes, pos: int) -> tuple[Any, int]:
    chunk, pos = _take(data, pos, 32)
    return ss58.encode(chunk), pos


def _read_bytes(data: bytes, pos: int) -> tuple[Any, int]:
    size, pos = read_compact(data, pos)
    return _take(data, pos, size)


def _read_bits(data: bytes, pos: int) -> tuple[Any, int]:
    bits, pos = read_compact(data, pos)
    return _take(data, pos, (bits + 7) // 8)


def _write_bits(value: Any, out: bytearray) -> None:
    raw = _as_bytes(value)
    out += compact(len(raw) * 8)
    out += raw


def _primitive_decoder(name: str) -> Decoder:
    if name == "bool":
        return lambda data, pos: (data[pos] != 0, pos + 1)
    if name == "str":

        def text(data: bytes, pos: int) -> tuple[Any, int]:
            raw, pos = _read_bytes(data, pos)
            return raw.decode(), pos

        return text
    if name == "char":
        return lambda data, pos: (chr(int.from_bytes(data[pos : pos + 4], "little")), pos + 4)
    size, signed = _INTEGERS[name]
    if size == 1 and not signed:
        return lambda data, pos: (data[pos], pos + 1)
    from_bytes = int.from_bytes

    def integer(data: bytes, pos: int) -> tuple[Any, int]:
        end = pos + size
        if end > len(data):
            raise IndexError("the data ends too early")
        return from_bytes(data[pos:end], "little", signed=signed), end

    return integer


def _tuple_decoder(parts: list[Decoder]) -> Decoder:
    def read(data: bytes, pos: int) -> tuple[Any, int]:
        values = []
        for part in parts:
            value, pos = part(data, pos)
            values.append(value)
        return tuple(values), pos

    return read


def _vector_decoder(item: Decoder) -> Decoder:
    def read(data: bytes, pos: int) -> tuple[Any, int]:
        count, pos = read_compact(data, pos)
        values = []
        for _ in range(count):
            value, pos = item(data, pos)
            values.append(value)
        return values, pos

    return read


def _array_decoder(length: int, item: Decoder | None) -> Decoder:
    if item is None:
        return lambda data, pos: _take(data, pos, length)

    def read(data: bytes, pos: int) -> tuple[Any, int]:
        values = []
        for _ in range(length):
            value, pos = item(data, pos)
            values.append(value)
        return values, pos

    return read


def _as_bytes(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise _Misfit(f"needs bytes, not {type(value).__name__} {value!r}")


def _write_account(value: Any, out: bytearray) -> None:
    if isinstance(value, bytes) and len(value) == 32:
        out += value
        return
    if not isinstance(value, str):
        raise _Misfit(f"needs an account's address, not {value!r}")
    try:
        out += ss58.decode(value)
    except BadKey as error:
        raise _Misfit(error.message.rstrip(".")) from None


def _write_bytes(value: Any, out: bytearray) -> None:
    raw = _as_bytes(value)
    out += compact(len(raw))
    out += raw


def _fixed_bytes_encoder(length: int) -> Encoder:
    def write(value: Any, out: bytearray) -> None:
        raw = _as_bytes(value)
        if len(raw) != length:
            raise _Misfit(f"needs {length} bytes, has {len(raw)}")
        out += raw

    return write


def _write_compact(value: Any, out: bytearray) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _Misfit(f"needs a number that is not negative, not {value!r}")
    out += compact(value)


def _primitive_encoder(name: str) -> Encoder:  # noqa: C901 - one small function for each kind
    if name == "bool":

        def truth(value: Any, out: bytearray) -> None:
            if not isinstance(value, bool):
                raise _Misfit(f"needs true or false, not {value!r}")
            out.append(value)

        return truth
    if name in ("str", "char"):

        def text(value: Any, out: bytearray) -> None:
            if not isinstance(value, str):
                raise _Misfit(f"needs a text, not {value!r}")
            if name == "str":
                _write_bytes(value.encode(), out)
            else:
                out.extend(ord(value).to_bytes(4, "little"))

        return text
    size, signed = _INTEGERS[name]

    def integer(value: Any, out: bytearray) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _Misfit(f"needs a number, not {value!r}")
        try:
            out.extend(value.to_bytes(size, "little", signed=signed))
        except OverflowError:
            raise _Misfit(f"{value} does not fit into {name}") from None

    return integer


def _option_encoder(inner: Encoder) -> Encoder:
    def write(value: Any, out: bytearray) -> None:
        if value is None:
            out.append(0)
        else:
            out.append(1)
            inner(value, out)

    return write


def _items(value: Any, count: int | None) -> list[Any]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise _Misfit(f"needs a list, not {value!r}")
    items = list(value)
    if count is not None and len(items) != count:
        raise _Misfit(f"needs {count} items, has {len(items)}")
    return items


def _tuple_encoder(parts: list[Encoder]) -> Encoder:
    def write(value: Any, out: bytearray) -> None:
        for number, (part, item) in enumerate(
            zip(parts, _items(() if value is None else value, len(parts)), strict=True)
        ):
            try:
                part(item, out)
            except _Misfit as misfit:
                misfit.path.append(f"[{number}]")
                raise

    return write


def _vector_encoder(part: Encoder, length: int | None) -> Encoder:
    def write(value: Any, out: bytearray) -> None:
        items = _items(value, length)
        if length is None:
            out += compact(len(items))
        for number, item in enumerate(items):
            try:
                part(item, out)
            except _Misfit as misfit:
                misfit.path.append(f"[{number}]")
                raise

    return write
