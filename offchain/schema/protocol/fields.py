"""Read and check fields of JSON that the peer sent. Errors name the field.

A message is a dataclass whose annotations have a reader: `size: Annotated[int, whole(9)]`; :func:`decode` applies them.
pydantic would add 0.2 s to the start of each command that talks to a host (docs/adr/0066-messages.md).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Collection
from functools import cache, partial
from typing import Any, TypeVar, cast, get_type_hints

T = TypeVar("T")
Reader = Callable[[dict[str, Any], str], Any]
"""Returns the checked value of the field with this name. Raises :class:`WireError`."""
MOST_ITEMS = 1024
"""The most items of a list or an object in a message."""


class WireError(ValueError):
    """Bytes from the peer that break the protocol."""


def canonical_json(value: dict[str, Any]) -> bytes:
    """Return JSON with sorted keys and without white space, everything outside ASCII escaped."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def json_object(data: bytes) -> dict[str, Any]:
    """Return the object in these bytes. Raise :class:`WireError` if there is none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise WireError("not JSON") from None
    if not isinstance(value, dict):
        raise WireError("not a JSON object")
    return value


def decode(kind: type[T], fields: dict[str, Any], *, ignore_unknown: bool = False) -> T:
    """Return the message with these fields, read as the annotations of its class say. Raise :class:`WireError`."""
    readers = _readers(cast("Any", kind))
    if not ignore_unknown:
        known_only(fields, readers)
    return kind(**{name: read(fields, name) for name, read in readers.items()})


@cache
def _readers(kind: Any) -> dict[str, Reader]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name].__metadata__[0] for field in dataclasses.fields(kind)}


def known_only(fields: dict[str, Any], known: Collection[str]) -> None:
    """Raise :class:`WireError` for a field of another name: a rule that one side does not know must not be ignored."""
    unknown = sorted(set(fields) - set(known))
    if unknown:
        raise WireError(f"unknown field {unknown[0][:40]!r}")


def text(fields: dict[str, Any], name: str, longest: int) -> str:
    """Return a text of at most `longest` characters."""
    value = fields.get(name)
    if not isinstance(value, str) or len(value) > longest:
        raise WireError(f"{name} must be text of at most {longest} characters")
    return value


def integer(fields: dict[str, Any], name: str, largest: int, smallest: int = 0) -> int:
    """Return a whole number within bounds."""
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not smallest <= value <= largest:
        raise WireError(f"{name} must be a whole number from {smallest} to {largest}")
    return value


def flag(fields: dict[str, Any], name: str) -> bool:
    """Return true or false; a missing field is false."""
    value = fields.get(name, False)
    if not isinstance(value, bool):
        raise WireError(f"{name} must be true or false")
    return value


def hexadecimal(fields: dict[str, Any], name: str, size: int) -> bytes:
    """Return exactly `size` bytes, written in hexadecimal digits."""
    try:
        value = bytes.fromhex(text(fields, name, 2 * size))
    except ValueError as error:
        raise error if isinstance(error, WireError) else WireError(f"{name} must be hexadecimal digits") from None
    if len(value) != size:
        raise WireError(f"{name} must be {2 * size} hexadecimal digits")
    return value


def nested(fields: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an object."""
    value = fields.get(name)
    if not isinstance(value, dict) or len(value) > MOST_ITEMS:
        raise WireError(f"{name[:40]} must be an object")
    return value


def whole(largest: int, smallest: int = 0) -> Reader:
    """Return the reader of a whole number within bounds."""
    return partial(integer, largest=largest, smallest=smallest)


def text_of(longest: int) -> Reader:
    """Return the reader of a text of at most `longest` characters."""
    return partial(text, longest=longest)


def digits_of(size: int) -> Reader:
    """Return the reader of `size` bytes in hexadecimal digits, as lower-case digits."""
    return lambda fields, name: hexadecimal(fields, name, size).hex()


def bytes_of(size: int) -> Reader:
    """Return the reader of `size` bytes in hexadecimal digits."""
    return partial(hexadecimal, size=size)


def object_of(kind: type[Any], *, ignore_unknown: bool = False) -> Reader:
    """Return the reader of a message in a message."""
    return lambda fields, name: decode(kind, nested(fields, name), ignore_unknown=ignore_unknown)


def objects_of(kind: type[Any]) -> Reader:
    """Return the reader of a list of messages, whose unknown fields are ignored."""

    def read(fields: dict[str, Any], name: str) -> tuple[Any, ...]:
        value = fields.get(name)
        if not isinstance(value, list) or len(value) > MOST_ITEMS or not all(isinstance(one, dict) for one in value):
            raise WireError(f"{name} must be a list of objects")
        return tuple(decode(kind, one, ignore_unknown=True) for one in value)

    return read


def optional(read: Reader) -> Reader:
    """Return the reader of a field that may be null or missing, which gives None."""
    return lambda fields, name: None if fields.get(name) is None else read(fields, name)
