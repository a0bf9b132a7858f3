"""Calls and records in words, for a provider who is asked to sign or who looks. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from offchain.ports import Call
from offchain.schema.manifest.values import format_amount

_AMOUNTS = frozenset({"amount", "per_hour", "bond"})
_WALLET = "https://polkadot.js.org/apps/"


def call_lines(call: Call) -> list[str]:
    """A call with every argument on a line of its own."""
    return [f"{call.pallet}.{call.function}", *_lines(call.args, "  ")]


def wallet_link(url: str, encoded: bytes) -> str:
    """Where polkadot.js shows a call, ready to be signed. `url`: a node that the wallet's owner can reach."""
    return f"{_WALLET}?rpc={quote(url, safe='')}#/extrinsics/decode/0x{encoded.hex()}"


def signing_request(call: Call, encoded: bytes, provider: str, url: str, why: str) -> list[str]:
    """What the provider is shown where the key is elsewhere."""
    return [
        f"{why} This call needs the signature of {provider}:",
        "",
        *(f"  {line}" for line in call_lines(call)),
        "",
        "Sign it in polkadot.js (Developer, Extrinsics, Decode) or any other wallet that takes call data:",
        f"  0x{encoded.hex()}",
        f"  {wallet_link(url, encoded)}",
        "",
    ]


def duration(ms: int) -> str:
    """A length of time in its two largest units: 1d 3h, 5m 10s, 0s."""
    seconds = max(0, ms) // 1000
    parts = [(seconds // 86_400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "m"), (seconds % 60, "s")]
    shown = [f"{count}{unit}" for count, unit in parts if count]
    return " ".join(shown[:2]) or "0s"


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
