"""Reads fields of JSON that the other side sent: each is checked once, and named where it is wrong."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any


class WireError(ValueError):
    """Bytes from the other side that are not what this protocol says."""


def canonical_json(value: dict[str, Any]) -> bytes:
    """JSON with sorted keys, no white space, everything outside ASCII escaped."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def json_object(data: bytes) -> dict[str, Any]:
    """The object in these bytes. Raises :class:`WireError`."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise WireError("not JSON") from None
    if not isinstance(value, dict):
        raise WireError("not a JSON object")
    return value


def known_only(fields: dict[str, Any], known: Collection[str]) -> None:
    """Raises where there is a field of another name: a rule that one side does not know must not be passed over."""
    unknown = sorted(set(fields) - set(known))
    if unknown:
        raise WireError(f"unknown field {unknown[0][:40]!r}")


def text(fields: dict[str, Any], name: str, longest: int) -> str:
    """A text of at most so many characters."""
    value = fields.get(name)
    if not isinstance(value, str) or len(value) > longest:
        raise WireError(f"{name} must be text of at most {longest} characters")
    return value


def optional_text(fields: dict[str, Any], name: str, longest: int) -> str | None:
    """A text, or None where it is null or missing."""
    return None if fields.get(name) is None else text(fields, name, longest)


def integer(fields: dict[str, Any], name: str, largest: int, smallest: int = 0) -> int:
    """A whole number within bounds."""
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not smallest <= value <= largest:
        raise WireError(f"{name} must be a whole number from {smallest} to {largest}")
    return value


def optional_integer(fields: dict[str, Any], name: str, largest: int, smallest: int = 0) -> int | None:
    """A whole number, or None where it is null or missing."""
    return None if fields.get(name) is None else integer(fields, name, largest, smallest)


def flag(fields: dict[str, Any], name: str) -> bool:
    """True or false; missing: false."""
    value = fields.get(name, False)
    if not isinstance(value, bool):
        raise WireError(f"{name} must be true or false")
    return value


def hexadecimal(fields: dict[str, Any], name: str, size: int) -> bytes:
    """Exactly so many bytes, written in hexadecimal digits."""
    try:
        value = bytes.fromhex(text(fields, name, 2 * size))
    except ValueError as error:
        raise error if isinstance(error, WireError) else WireError(f"{name} must be hexadecimal digits") from None
    if len(value) != size:
        raise WireError(f"{name} must be {2 * size} hexadecimal digits")
    return value


def optional_hexadecimal(fields: dict[str, Any], name: str, size: int) -> bytes | None:
    """Bytes, or None where the field is null or missing."""
    return None if fields.get(name) is None else hexadecimal(fields, name, size)
