"""Notations of a manifest: amounts, durations, sizes, shares, times, images, addresses, SSH keys.

Each function returns the value of a text, or raises ValueError with a sentence that says what is wrong with the text.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from datetime import datetime
from decimal import Decimal

from offchain.schema.manifest.types import ImageRef

GTY = 10**12
"""Base units in one GTY."""

MAX_LATENCY_MS = 2**16 - 1
"""The chain stores latencies in 16 bits."""

_AMOUNT = re.compile(r"(\d{1,15})(?:\.(\d{1,12}))? ?GTY", re.ASCII)
_DURATION = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,8})m)?(?:(\d{1,10})s)?(?:(\d{1,12})ms)?", re.ASCII)
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?) ?([kmgt]?)(i?b)?", re.ASCII | re.IGNORECASE)
_CPUS = re.compile(r"\d{1,6}(?:\.\d{1,6})?", re.ASCII)
_IMAGE_NAME = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?/)?[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*)*",
    re.ASCII | re.IGNORECASE,
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_PERCENT = re.compile(r"(\d{1,3}) ?%", re.ASCII)
_NUMBER = re.compile(r"(\d{1,9})(?:\.(\d{1,3}))?", re.ASCII)
_SSH_KEY_TYPES = (
    "ssh-ed25519",
    "sk-ssh-ed25519@openssh.com",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "ssh-rsa",
)
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def parse_amount(text: str) -> int:
    """Return the base units of "2.5 GTY"."""
    match = _AMOUNT.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text}" is not an amount of GTY')
    return int(match[1]) * GTY + int((match[2] or "").ljust(12, "0"))


def format_amount(base_units: int) -> str:
    """Return the exact amount in GTY: "2.5 GTY" for 2_500_000_000_000."""
    sign = "-" if base_units < 0 else ""
    whole, rest = divmod(abs(base_units), GTY)
    fraction = f".{rest:012d}".rstrip("0") if rest else ""
    return f"{sign}{whole}{fraction} GTY"


def parse_duration(text: str) -> int:
    """Return the milliseconds of "10m", "1h30m", "2d", "90s" or "500ms"."""
    total = parse_span(text)
    if total == 0:
        raise ValueError(f'"{text}" is zero, and a duration must be longer')
    return total


def parse_span(text: str) -> int:
    """Return the milliseconds of a duration that may be zero: "0s"."""
    match = _DURATION.fullmatch(text)
    if match is None or not any(match.groups()):
        raise ValueError(f'"{text}" is not a duration')
    days, hours, minutes, seconds, millis = (int(group or 0) for group in match.groups())
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + millis


def parse_latency(text: str) -> int:
    """Return the milliseconds of a round trip: "50ms" or "1s", up to :data:`MAX_LATENCY_MS`."""
    found = parse_duration(text)
    if found > MAX_LATENCY_MS:
        raise ValueError(f'"{text}" is out of range')
    return found


def parse_size(text: str) -> int:
    """Return the bytes of "512M", "1.5GiB" or "1048576". Units are powers of 1024, as in Compose."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text}" is not a size')
    factor = 1024 ** ("kmgt".index(match[2].lower()) + 1) if match[2] else 1
    if not match[2] and match[3] and match[3].lower() != "b":
        raise ValueError(f'"{text}" is not a size')
    return int(Decimal(match[1]) * factor)


def parse_cpus(text: str) -> int:
    """Return the thousandths of a core of "1.5"."""
    if _CPUS.fullmatch(text) is None:
        raise ValueError(f'"{text}" is not a number of cores')
    milli = Decimal(text) * 1000
    if milli != int(milli):
        raise ValueError(f'"{text}" is finer than a thousandth of a core')
    return int(milli)


def parse_time(text: str) -> int:
    """Return the Unix milliseconds of "2026-12-31T18:00:00Z"."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f'"{text}" is not a time') from None
    if moment.tzinfo is None:
        raise ValueError(f'"{text}" has no time zone')
    millis = int(moment.timestamp() * 1000)
    if millis < 0:
        raise ValueError(f'"{text}" is before 1970')
    return millis


def parse_image(text: str) -> ImageRef:
    """Return the parts of name@sha256:<64 hex digits>."""
    name, at, digest = text.partition("@")
    if not at:
        raise ValueError(f'"{text}" has no digest')
    if _DIGEST.fullmatch(digest) is None:
        raise ValueError(f'"{digest}" is not sha256: and 64 lower-case hex digits')
    last = name.rpartition("/")[2]
    if ":" in last:
        raise ValueError(f'"{text}" has a tag beside its digest')
    if len(name) > 255 or _IMAGE_NAME.fullmatch(name) is None or last != last.lower():
        raise ValueError(f'"{name}" is not an image name')
    return ImageRef(name=name, digest=digest)


def check_address(text: str) -> str:
    """Return an SS58 address of 32 bytes, unchanged.

    Its last 2 bytes are the first of blake2b("SS58PRE" + the rest).
    """
    number = 0
    for char in text[:64]:
        digit = _BASE58.find(char)
        if digit < 0:
            raise ValueError(f'"{text}" is not an address')
        number = number * 58 + digit
    data = number.to_bytes(48, "big").lstrip(b"\0")
    data = b"\0" * (len(text) - len(text.lstrip("1"))) + data
    if len(text) > 64 or len(data) not in (35, 36):
        raise ValueError(f'"{text}" is not an address')
    if hashlib.blake2b(b"SS58PRE" + data[:-2]).digest()[:2] != data[-2:]:
        raise ValueError(f'"{text}" has a wrong checksum')
    return text


def parse_gpu_share(text: str) -> int:
    """Return the thousandths of "25%"."""
    match = _PERCENT.fullmatch(text)
    if match is None or not 1 <= int(match[1]) <= 99 or len(match[1]) > 2:
        raise ValueError(f'"{text[:80]}" is not a share of a GPU')
    return int(match[1]) * 10


def parse_percent(text: str) -> int:
    """Return the per cent of "70%"."""
    match = _PERCENT.fullmatch(text)
    if match is None or not 1 <= int(match[1]) <= 100:
        raise ValueError(f'"{text}" is not a share from 1% to 100%')
    return int(match[1])


def parse_milli(text: str) -> int:
    """Return the thousandths of "2.5"."""
    match = _NUMBER.fullmatch(text)
    milli = int(match[1]) * 1000 + int((match[2] or "").ljust(3, "0")) if match is not None else 0
    if not milli:
        raise ValueError(f'"{text}" is not a number from 0.001 to 999999999')
    return milli


def parse_ssh_key(text: str) -> str:
    """Return a line of authorized_keys: type, key, comment. The type is repeated inside the key."""
    if "PRIVATE KEY" in text:
        raise ValueError("this is a private key, and a manifest is public")
    if any(ord(char) < 32 or ord(char) == 127 for char in text):
        raise ValueError("the key is more than one line")
    kind, _, rest = text.strip().partition(" ")
    body, _, comment = rest.strip().partition(" ")
    if kind not in _SSH_KEY_TYPES:
        raise ValueError(f'"{kind[:40]}" is not a type of key')
    try:
        raw = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f'"{body[:40]}" is not base64') from None
    name = kind.encode()
    if not raw.startswith(len(name).to_bytes(4, "big") + name) or len(raw) <= 4 + len(name):
        raise ValueError(f"the key is not of the type {kind}")
    return f"{kind} {body} {comment.strip()}".rstrip()
