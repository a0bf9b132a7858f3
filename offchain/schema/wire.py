"""Messages on the way to hosts: framing, requests signed by a tenant, replies.

A stream carries frames: a big-endian u32 length, then that many bytes, at most :data:`MAX_FRAME`. A request is one
JSON frame. The answer is one JSON frame; where it is positive, binary frames follow and an empty frame ends them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

ALPN = b"gantry/host/1"
VERSION = 1
MAX_FRAME = 1 << 20
MAX_REQUEST = 4096
MAX_REQUEST_LIFE_MS = 60_000
NONCE_HEX_DIGITS = 32
REQUEST_CONTEXT = b"gantry/request/v1"
END_OF_BODY = b""

_U64_MAX = (1 << 64) - 1
_CRYPTOS = ("ed25519", "sr25519")


class WireError(ValueError):
    """Bytes from the other side that are not what this protocol says."""


class Op(StrEnum):
    """What is asked of a host."""

    PING = "ping"
    RESULT = "result"
    LOGS = "logs"


class Code(StrEnum):
    """Why a host refuses. Stable: programs may branch on it."""

    BAD_REQUEST = "BadRequest"
    UNSUPPORTED_VERSION = "UnsupportedVersion"
    BAD_SIGNATURE = "BadSignature"
    EXPIRED = "Expired"
    EXPIRES_TOO_LATE = "ExpiresTooLate"
    REPLAYED = "Replayed"
    UNKNOWN_LEASE = "UnknownLease"
    NOT_YOUR_LEASE = "NotYourLease"
    NOT_READY = "NotReady"
    GONE = "Gone"
    BUSY = "Busy"
    INTERNAL = "Internal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to a host. `expires_ms` is Unix time; `nonce` is 32 hexadecimal digits, never used twice."""

    op: Op
    account: str
    nonce: str
    expires_ms: int
    crypto: str
    lease: int | None = None
    follow: bool = False
    signature: bytes = b""

    def unsigned(self) -> dict[str, Any]:
        """The fields the signature covers."""
        return {
            "v": VERSION,
            "op": self.op.value,
            "lease": self.lease,
            "follow": self.follow,
            "account": self.account,
            "nonce": self.nonce,
            "expires_ms": self.expires_ms,
            "crypto": self.crypto,
        }

    def payload(self, genesis_hash: bytes, host_key: bytes) -> bytes:
        """What the tenant signs: it binds the request to one chain and to one host."""
        return REQUEST_CONTEXT + genesis_hash + host_key + canonical_json(self.unsigned())

    def encode(self) -> bytes:
        """The request's frame content."""
        return canonical_json({**self.unsigned(), "signature": self.signature.hex()})

    @classmethod
    def decode(cls, data: bytes) -> Request:
        """Check every field. Raises :class:`WireError` that names the field."""
        if len(data) > MAX_REQUEST:
            raise WireError(f"request of {len(data)} bytes is longer than {MAX_REQUEST}")
        fields = _json_object(data)
        _check_version(fields)
        op = _text(fields, "op", 16)
        if op not in set(Op):
            raise WireError(f"op {op!r} is none of {', '.join(Op)}")
        lease = None if fields.get("lease") is None else _integer(fields, "lease", _U64_MAX)
        if lease is None and op != Op.PING:
            raise WireError(f"op {op!r} needs a lease number")
        follow = fields.get("follow", False)
        if not isinstance(follow, bool):
            raise WireError("follow must be true or false")
        crypto = _text(fields, "crypto", 16)
        if crypto not in _CRYPTOS:
            raise WireError(f"crypto {crypto!r} is none of {', '.join(_CRYPTOS)}")
        nonce = _text(fields, "nonce", NONCE_HEX_DIGITS)
        if len(_hex(nonce, "nonce")) * 2 != NONCE_HEX_DIGITS:
            raise WireError(f"nonce must be {NONCE_HEX_DIGITS} hexadecimal digits")
        return cls(
            op=Op(op),
            lease=lease,
            follow=follow,
            account=_text(fields, "account", 64),
            nonce=nonce.lower(),
            expires_ms=_integer(fields, "expires_ms", _U64_MAX),
            crypto=crypto,
            signature=_hex(_text(fields, "signature", 256), "signature"),
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """The host agrees; a body follows. `size` in bytes where it is known beforehand."""

    op: Op
    size: int | None = None

    def encode(self) -> bytes:
        """The answer's frame content."""
        return canonical_json({"v": VERSION, "ok": True, "op": self.op.value, "size": self.size})


@dataclass(frozen=True, slots=True)
class Refusal:
    """The host refuses: a code for programs, what happened, and what to do next."""

    code: Code
    message: str
    remedy: str

    def encode(self) -> bytes:
        """The refusal's frame content."""
        return canonical_json(
            {"v": VERSION, "ok": False, "code": self.code.value, "message": self.message, "remedy": self.remedy}
        )


def decode_reply(data: bytes) -> Answer | Refusal:
    """The first frame of a reply. Raises :class:`WireError`."""
    fields = _json_object(data)
    _check_version(fields)
    if fields.get("ok") is True:
        op = _text(fields, "op", 16)
        if op not in set(Op):
            raise WireError(f"reply for unknown op {op!r}")
        size = None if fields.get("size") is None else _integer(fields, "size", _U64_MAX)
        return Answer(Op(op), size)
    code = _text(fields, "code", 32)
    return Refusal(
        Code(code) if code in set(Code) else Code.INTERNAL,
        _text(fields, "message", 2048),
        _text(fields, "remedy", 2048),
    )


def canonical_json(value: dict[str, Any]) -> bytes:
    """JSON with sorted keys, no white space, everything outside ASCII escaped."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def frame(content: bytes) -> bytes:
    """A frame ready to send."""
    if len(content) > MAX_FRAME:
        raise WireError(f"frame of {len(content)} bytes is longer than {MAX_FRAME}")
    return len(content).to_bytes(4, "big") + content


def frame_length(prefix: bytes) -> int:
    """The length a frame's four-byte prefix announces."""
    length = int.from_bytes(prefix, "big")
    if len(prefix) != 4 or length > MAX_FRAME:
        raise WireError(f"the other side announced a frame of {length} bytes; the limit is {MAX_FRAME}")
    return length


def endpoint_text(addresses: tuple[str, ...]) -> bytes:
    """A host's addresses (`ip:port`, IPv6 in brackets) as kept in `HostRecord.endpoint`: separated by commas."""
    return ",".join(addresses).encode()


def parse_endpoint(endpoint: bytes) -> tuple[str, ...]:
    """The addresses in `HostRecord.endpoint`. Raises :class:`WireError` where one is not `ip:port`."""
    try:
        text = endpoint.decode("ascii")
    except UnicodeDecodeError:
        raise WireError("the host's endpoint is not ASCII text") from None
    addresses = tuple(part for part in text.split(",") if part)
    for address in addresses:
        ip, _, port = address.rpartition(":")
        if not ip or not port.isdecimal() or not 0 < int(port) < 65536:
            raise WireError(f"the host's endpoint holds {address!r}, which is not ip:port")
    return addresses


def _json_object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise WireError("not JSON") from None
    if not isinstance(value, dict):
        raise WireError("not a JSON object")
    return value


def _check_version(fields: dict[str, Any]) -> None:
    if fields.get("v") != VERSION:
        raise WireError(f"protocol version {fields.get('v')!r}; this side speaks {VERSION}")


def _text(fields: dict[str, Any], name: str, longest: int) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or len(value) > longest:
        raise WireError(f"{name} must be text of at most {longest} characters")
    return value


def _integer(fields: dict[str, Any], name: str, largest: int) -> int:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= largest:
        raise WireError(f"{name} must be a whole number from 0 to {largest}")
    return value


def _hex(text: str, name: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise WireError(f"{name} must be hexadecimal digits") from None
