"""How the parts of SCALE values are written: each function puts a value behind what is there already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from offchain.adapters.chain.scale_read import INTEGERS
from offchain.adapters.keys import ss58
from offchain.errors import BadKey
from offchain.schema.chain_types.values import compact

Encoder = Callable[[Any, bytearray], None]


class Misfit(Exception):  # noqa: N818 - never leaves this module
    """A value that does not fit its type; gathers the path to it on the way out."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str] = []


def write_bits(value: Any, out: bytearray) -> None:
    """A bit sequence, its bits packed into bytes."""
    raw = as_bytes(value)
    out += compact(len(raw) * 8)
    out += raw


def as_bytes(value: Any) -> bytes:
    """The value as bytes. Misfit where it is something else."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise Misfit(f"needs bytes, not {type(value).__name__} {value!r}")


def write_account(value: Any, out: bytearray) -> None:
    """An account, from its SS58 address or its 32 bytes."""
    if isinstance(value, bytes) and len(value) == 32:
        out += value
        return
    if not isinstance(value, str):
        raise Misfit(f"needs an account's address, not {value!r}")
    try:
        out += ss58.decode(value)
    except BadKey as error:
        raise Misfit(error.message.rstrip(".")) from None


def write_bytes(value: Any, out: bytearray) -> None:
    """A byte vector."""
    raw = as_bytes(value)
    out += compact(len(raw))
    out += raw


def fixed_bytes_encoder(length: int) -> Encoder:
    """Byte arrays of this length."""

    def write(value: Any, out: bytearray) -> None:
        raw = as_bytes(value)
        if len(raw) != length:
            raise Misfit(f"needs {length} bytes, has {len(raw)}")
        out += raw

    return write


def write_compact(value: Any, out: bytearray) -> None:
    """A number in the short form."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Misfit(f"needs a number that is not negative, not {value!r}")
    out += compact(value)


def primitive_encoder(name: str) -> Encoder:  # noqa: C901 - one small function for each kind
    """Values of a primitive type."""
    if name == "bool":

        def truth(value: Any, out: bytearray) -> None:
            if not isinstance(value, bool):
                raise Misfit(f"needs true or false, not {value!r}")
            out.append(value)

        return truth
    if name in ("str", "char"):

        def text(value: Any, out: bytearray) -> None:
            if not isinstance(value, str):
                raise Misfit(f"needs a text, not {value!r}")
            if name == "str":
                write_bytes(value.encode(), out)
            else:
                out.extend(ord(value).to_bytes(4, "little"))

        return text
    size, signed = INTEGERS[name]

    def integer(value: Any, out: bytearray) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise Misfit(f"needs a number, not {value!r}")
        try:
            out.extend(value.to_bytes(size, "little", signed=signed))
        except OverflowError:
            raise Misfit(f"{value} does not fit into {name}") from None

    return integer


def option_encoder(inner: Encoder) -> Encoder:
    """None, or a value."""

    def write(value: Any, out: bytearray) -> None:
        if value is None:
            out.append(0)
        else:
            out.append(1)
            inner(value, out)

    return write


def listed(value: Any, count: int | None) -> list[Any]:
    """The value as a list of `count` items, or of any number. Misfit where it is none."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise Misfit(f"needs a list, not {value!r}")
    items = list(value)
    if count is not None and len(items) != count:
        raise Misfit(f"needs {count} items, has {len(items)}")
    return items


def tuple_encoder(parts: list[Encoder]) -> Encoder:
    """One value after the other."""

    def write(value: Any, out: bytearray) -> None:
        for number, (part, item) in enumerate(
            zip(parts, listed(() if value is None else value, len(parts)), strict=True)
        ):
            try:
                part(item, out)
            except Misfit as misfit:
                misfit.path.append(f"[{number}]")
                raise

    return write


def vector_encoder(part: Encoder, length: int | None) -> Encoder:
    """A vector, or an array of this length."""

    def write(value: Any, out: bytearray) -> None:
        items = listed(value, length)
        if length is None:
            out += compact(len(items))
        for number, item in enumerate(items):
            try:
                part(item, out)
            except Misfit as misfit:
                misfit.path.append(f"[{number}]")
                raise

    return write
