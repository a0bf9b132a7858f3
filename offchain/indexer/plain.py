"""Events as the index keeps them: JSON, with bytes as 0x and hex digits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_encode = json.JSONEncoder(separators=(",", ":"), default=lambda value: f"0x{value.hex()}").encode


def pack(fields: Mapping[str, Any]) -> str:
    """An event's fields as text."""
    return _encode(fields)


def unpack(text: str) -> dict[str, Any]:
    """The fields as a JSON object."""
    value: dict[str, Any] = json.loads(text)
    return value


def with_bytes(value: Any) -> Any:
    """A JSON value in the plain form of :mod:`offchain.ports`: what was bytes is bytes again."""
    if isinstance(value, str) and value.startswith("0x"):
        return bytes.fromhex(value[2:])
    if isinstance(value, dict):
        return {name: with_bytes(item) for name, item in value.items()}
    if isinstance(value, list):
        return [with_bytes(item) for item in value]
    return value
