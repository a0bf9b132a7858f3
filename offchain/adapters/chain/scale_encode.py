"""Plain values to SCALE bytes, led by the types of the metadata. The plain form is that of `scale_decode`.

Where an address is wanted, an account may be given. Nothing is converted: a value that is not of its type, an unknown
field and a missing one are errors that name the path to them.

An encoder appends the bytes of a value to what is there already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from offchain.adapters.chain import metadata as md
from offchain.adapters.chain.scale_decode import ACCOUNT, BYTE, INTEGERS, OPTION, TypeCodec
from offchain.adapters.keys import ss58
from offchain.errors import BadKey, BadValue
from offchain.schema.chain_types.values import compact

Encode = Callable[[Any, bytearray], None]

_ADDRESS = ("sp_runtime", "multiaddress", "MultiAddress")


class _WrongValueError(Exception):
    """A value that is not of its type; collects the path to it on the way out."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str] = []


class ScaleEncoder(TypeCodec[Encode]):
    """Encoders for the types of one runtime."""

    def encode(self, type_id: int, value: Any, what: str = "value") -> bytes:
        """The bytes of a plain value. BadValue names the part that is not of its type, as a path from `what`."""
        out = bytearray()
        try:
            self.coder(type_id)(value, out)
        except _WrongValueError as error:
            where = "".join([what, *reversed(error.path)])
            raise BadValue(f"{where}: {error.reason}.", "Correct this value.") from None
        return bytes(out)

    def _make(self, type_: md.Type) -> Encode:  # noqa: C901, PLR0911 - one line for each kind of type
        if type_.path == ACCOUNT:
            return _account
        match type_.definition:
            case md.Primitive(name):
                return _primitive(name)
            case md.Compact():
                return _compact
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
                writers = {v.name: (v.index, self._fields(v.fields) if v.fields else None) for v in variants}
                return _enum("::".join(type_.path), writers, is_address=type_.path == _ADDRESS)
            case md.BitSequence():
                return _bits
        raise AssertionError(type_)

    def _fields(self, fields: tuple[md.TypeField, ...]) -> Encode:
        if any(field.name is None for field in fields):
            encoders = [self.coder(field.type) for field in fields]
            return encoders[0] if len(encoders) == 1 else _tuple(encoders)
        return _struct({field.name: self.coder(field.type) for field in fields if field.name})


def _part(write: Encode, value: Any, out: bytearray, step: str) -> None:
    """Encode a part of a value; `step` leads to it from the whole."""
    try:
        write(value, out)
    except _WrongValueError as error:
        error.path.append(step)
        raise


def _as_bytes(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise _WrongValueError(f"needs bytes, not {type(value).__name__} {value!r}")


def _account(value: Any, out: bytearray) -> None:
    if isinstance(value, bytes) and len(value) == 32:
        out += value
        return
    if not isinstance(value, str):
        raise _WrongValueError(f"needs an account's address, not {value!r}")
    try:
        out += ss58.decode(value)
    except BadKey as error:
        raise _WrongValueError(error.message.rstrip(".")) from None


def _bytes(value: Any, out: bytearray) -> None:
    raw = _as_bytes(value)
    out += compact(len(raw))
    out += raw


def _fixed_bytes(length: int) -> Encode:
    def write(value: Any, out: bytearray) -> None:
        raw = _as_bytes(value)
        if len(raw) != length:
            raise _WrongValueError(f"needs {length} bytes, has {len(raw)}")
        out += raw

    return write


def _bits(value: Any, out: bytearray) -> None:
    raw = _as_bytes(value)
    out += compact(len(raw) * 8)
    out += raw


def _compact(value: Any, out: bytearray) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _WrongValueError(f"needs a number that is not negative, not {value!r}")
    out += compact(value)


def _flag(value: Any, out: bytearray) -> None:
    if not isinstance(value, bool):
        raise _WrongValueError(f"needs true or false, not {value!r}")
    out.append(value)


def _text(value: Any, out: bytearray) -> None:
    if not isinstance(value, str):
        raise _WrongValueError(f"needs a text, not {value!r}")
    _bytes(value.encode(), out)


def _char(value: Any, out: bytearray) -> None:
    if not isinstance(value, str) or len(value) != 1:
        raise _WrongValueError(f"needs one character, not {value!r}")
    out += value.encode("utf-32-le")


def _primitive(name: str) -> Encode:
    if name in ("bool", "str", "char"):
        return {"bool": _flag, "str": _text, "char": _char}[name]
    size, signed = INTEGERS[name]

    def integer(value: Any, out: bytearray) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _WrongValueError(f"needs a number, not {value!r}")
        try:
            out += value.to_bytes(size, "little", signed=signed)
        except OverflowError:
            raise _WrongValueError(f"{value} does not fit into {name}") from None

    return integer


def _option(inner: Encode) -> Encode:
    def write(value: Any, out: bytearray) -> None:
        out.append(value is not None)
        if value is not None:
            inner(value, out)

    return write


def _items(value: Any, count: int | None) -> list[Any]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise _WrongValueError(f"needs a list, not {value!r}")
    items = list(value)
    if count is not None and len(items) != count:
        raise _WrongValueError(f"needs {count} items, has {len(items)}")
    return items


def _tuple(parts: list[Encode]) -> Encode:
    def write(value: Any, out: bytearray) -> None:
        items = _items(() if value is None else value, len(parts))
        for number, (part, item) in enumerate(zip(parts, items, strict=True)):
            _part(part, item, out, f"[{number}]")

    return write


def _vector(part: Encode, length: int | None = None) -> Encode:
    """A vector, or an array of this length."""

    def write(value: Any, out: bytearray) -> None:
        items = _items(value, length)
        if length is None:
            out += compact(len(items))
        for number, item in enumerate(items):
            _part(part, item, out, f"[{number}]")

    return write


def _struct(parts: dict[str, Encode]) -> Encode:
    def write(value: Any, out: bytearray) -> None:
        if not isinstance(value, Mapping):
            raise _WrongValueError(f"needs the fields {', '.join(parts)}")
        if value.keys() != parts.keys():
            unknown = [str(name) for name in value if name not in parts]
            missing = [name for name in parts if name not in value]
            raise _WrongValueError(f"{'unknown' if unknown else 'missing'} field {(unknown or missing)[0]}")
        for name, part in parts.items():
            _part(part, value[name], out, f".{name}")

    return write


def _enum(path: str, variants: dict[str, tuple[int, Encode | None]], *, is_address: bool) -> Encode:
    def write(value: Any, out: bytearray) -> None:
        name, payload = next(iter(value.items())) if isinstance(value, Mapping) and len(value) == 1 else (value, None)
        if is_address and isinstance(value, str) and value not in variants:
            name, payload = "Id", value
        if not isinstance(name, str) or name not in variants:
            raise _WrongValueError(f"{value!r} is none of {', '.join(variants)} ({path})")
        index, part = variants[name]
        out.append(index)
        if part is not None:
            _part(part, payload, out, f".{name}")
        elif payload not in (None, ()):
            raise _WrongValueError(f"{name} carries no value")

    return write
