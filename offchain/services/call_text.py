"""Text of a call, for people who are asked to sign it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from offchain.ports import Call
from offchain.schema.manifest.values import format_amount

_AMOUNTS: Final = frozenset({"amount", "per_hour", "bond"})


def call_lines(call: Call) -> list[str]:
    """Return the lines of a call with one argument each."""
    return [f"{call.pallet}.{call.function}", *_lines(call.args, "  ")]


def _lines(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            if _is_plain(item):
                yield f"{indent}{name}: {_text(str(name), item)}"
            else:
                yield f"{indent}{name}:"
                yield from _lines(item, indent + "  ")
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            if _is_plain(item):
                yield f"{indent}- {_text('', item)}"
            else:
                yield f"{indent}- {number}:"
                yield from _lines(item, indent + "  ")


def _is_plain(value: Any) -> bool:
    return not isinstance(value, (Mapping, list, tuple)) or not value


def _text(name: str, value: Any) -> str:
    if isinstance(value, (bytes, bytearray)):
        text = bytes(value).decode("ascii", errors="replace")
        return text if text and text.isprintable() and "\ufffd" not in text else f"0x{bytes(value).hex()}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and (name in _AMOUNTS or name.endswith("_per_hour")):
        return format_amount(value)
    if value is None or (isinstance(value, (Mapping, list, tuple)) and not value):
        return "none"
    return str(value)
