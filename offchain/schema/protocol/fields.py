"""Read and check fields of JSON that the peer sent. Errors name the field."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any


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


def optional_text(fields: dict[str, Any], name: str, longest: int) -> str | None:
    """Return a text, None if it is null or missing."""
    return None if fields.get(name) is None else text(fields, name, longest)


def integer(fields: dict[str, Any], name: str, largest: int, smallest: int = 0) -> int:
    """Return a whole number within bounds."""
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not smallest <= value <= largest:
        raise WireError(f"{name} must be a whole number from {smallest} to {largest}")
    return value


def optional_integer(fields: dict[str, Any], name: str, largest: int, smallest: int = 0) -> int | None:
    """Return a whole number, None if it is null or missing."""
    return None if fields.get(name) is None else integer(fields, name, largest, smallest)


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


def optional_hexadecimal(fields: dict[str, Any], name: str, size: int) -> bytes | None:
    """Return bytes, None if the field is null or missing."""
    return None if fields.get(name) is None else hexadecimal(fields, name, size)
