"""Messages between tenants and hosts: signed requests, answers, refusals; addresses of hosts.

They are transported by :mod:`offchain.schema.protocol.frames` and :mod:`offchain.schema.protocol.mux`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final

from offchain.schema.protocol import fields as read
from offchain.schema.protocol.delegation import SignedDelegation, signed_delegation
from offchain.schema.protocol.fields import (
    WireError,
    bytes_of,
    canonical_json,
    decode,
    json_object,
    optional,
    text_of,
    whole,
)
from offchain.schema.protocol.gateway import is_gateway, parse_gateway
from offchain.schema.protocol.operations import NO_LEASE, U64_MAX, Args, Op, decode_args, encode_args, op_of

__all__ = [
    "ALPN",
    "DELEGATED_VERSION",
    "MAX_REQUEST",
    "MAX_REQUEST_LIFE_MS",
    "VERSION",
    "Answer",
    "Code",
    "Control",
    "Op",
    "Refusal",
    "Request",
    "WireError",
    "canonical_json",
    "endpoint_text",
    "parse_endpoint",
]

ALPN: Final = b"gantry/host"
VERSION: Final = 2
DELEGATED_VERSION: Final = 3
"""Of requests with a delegation. Others stay at version 2, which hosts of earlier releases accept, too."""
MAX_REQUEST: Final = 16_384
MAX_ANSWER: Final = 4096
MAX_CONTROL: Final = 1024
MAX_REQUEST_LIFE_MS: Final = 60_000
NONCE_BYTES: Final = 16
REQUEST_CONTEXT: Final = b"gantry/request/v"
WEBSOCKET: Final = "wss://"
MAX_ADDRESSES: Final = 16
MAX_ENDPOINT: Final = 256
"""The longest endpoint that the chain stores, in bytes."""

_CRYPTOS = ("ed25519", "sr25519")
_SIGNATURE_BYTES = 64


class Code(StrEnum):
    """Why a host refuses. Stable: programs may branch on it."""

    BAD_REQUEST = "BadRequest"
    UNSUPPORTED_VERSION = "UnsupportedVersion"
    BAD_SIGNATURE = "BadSignature"
    EXPIRED = "Expired"
    EXPIRES_TOO_LATE = "ExpiresTooLate"
    REPLAYED = "Replayed"
    UNKNOWN_LEASE = "UnknownLease"
    BAD_DELEGATION = "BadDelegation"
    NOT_YOUR_LEASE = "NotYourLease"
    NOT_A_HOST = "NotAHost"
    NOT_ON_COMMITTEE = "NotOnCommittee"
    NOT_ON_JURY = "NotOnJury"
    LEASE_ENDED = "LeaseEnded"
    NOT_READY = "NotReady"
    NOT_FOUND = "NotFound"
    CHANGED = "Changed"
    TOO_LARGE = "TooLarge"
    UNSUPPORTED = "Unsupported"
    NOT_ATTACHED = "NotAttached"
    GONE = "Gone"
    BUSY = "Busy"
    INTERNAL = "Internal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request to a host. `expires_ms` is Unix time; `nonce` is 32 hexadecimal digits, never used twice.

    `account` is the signer. `delegation`: of the tenant to this signer, a session key; None: it asks for itself.
    """

    args: Args
    account: str
    nonce: str
    expires_ms: int
    crypto: str
    lease: int | None = None
    signature: bytes = b""
    delegation: SignedDelegation | None = None

    @property
    def tenant(self) -> str:
        """The account on whose behalf it asks: the signer, or the one that a checked delegation names."""
        return self.account if self.delegation is None else self.delegation.account

    @property
    def version(self) -> int:
        """The version of the protocol that a host has to speak."""
        return VERSION if self.delegation is None else DELEGATED_VERSION

    @property
    def op(self) -> Op:
        return op_of(self.args)

    def unsigned(self) -> dict[str, Any]:
        """Return the fields that the signature covers."""
        found = {
            "v": self.version,
            "op": self.op.value,
            "args": encode_args(self.args),
            "lease": self.lease,
            "account": self.account,
            "nonce": self.nonce,
            "expires_ms": self.expires_ms,
            "crypto": self.crypto,
        }
        return found if self.delegation is None else found | {"delegation": self.delegation.fields()}

    def payload(self, genesis_hash: bytes, host_key: bytes) -> bytes:
        """Return the bytes that the tenant signs. They bind the request to one chain and to one host."""
        return REQUEST_CONTEXT + str(self.version).encode() + genesis_hash + host_key + canonical_json(self.unsigned())

    def encode(self) -> bytes:
        """Return the request's bytes. Raise :class:`WireError` if it is too long."""
        data = canonical_json({**self.unsigned(), "signature": self.signature.hex()})
        if len(data) > MAX_REQUEST:
            raise WireError(f"request of {len(data)} bytes is longer than {MAX_REQUEST}")
        return data

    @classmethod
    def decode(cls, data: bytes) -> Request:
        """Check every field. Raise :class:`WireError` that names the field."""
        if len(data) > MAX_REQUEST:
            raise WireError(f"request of {len(data)} bytes is longer than {MAX_REQUEST}")
        fields = json_object(data)
        version = fields.get("v")
        if isinstance(version, bool) or version not in (VERSION, DELEGATED_VERSION):
            raise WireError(f"protocol version {str(version)[:20]}; this side speaks {VERSION} and {DELEGATED_VERSION}")
        op = read.text(fields, "op", 16)
        if op not in set(Op):
            raise WireError(f"op {op!r} is none of {', '.join(Op)}")
        lease = optional(whole(U64_MAX))(fields, "lease")
        if lease is None and op not in NO_LEASE:
            raise WireError(f"op {op!r} needs a lease number")
        crypto = read.text(fields, "crypto", 16)
        if crypto not in _CRYPTOS:
            raise WireError(f"crypto {crypto!r} is none of {', '.join(_CRYPTOS)}")
        request = cls(
            args=decode_args(Op(op), fields.get("args")),
            lease=lease,
            account=read.text(fields, "account", 64),
            nonce=read.hexadecimal(fields, "nonce", NONCE_BYTES).hex(),
            expires_ms=read.integer(fields, "expires_ms", U64_MAX),
            crypto=crypto,
            signature=read.hexadecimal(fields, "signature", _SIGNATURE_BYTES),
            delegation=signed_delegation(fields.get("delegation")) if version == DELEGATED_VERSION else None,
        )
        # The signature covers the known fields only.
        unknown = sorted(fields.keys() - {*request.unsigned(), "signature"})
        if unknown:
            raise WireError(f"field {unknown[0][:20]!r} is unknown")
        return request


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The host accepts, and a body may follow.

    `size`: of the body, in bytes, if it is known. `token`: identifies a running program for reconnecting.
    `held`: bytes of an upload or of a program's input that the host has; `digest`: their SHA-256.
    """

    size: Annotated[int | None, optional(whole(U64_MAX))] = None
    token: Annotated[str | None, optional(text_of(64))] = None
    held: Annotated[int | None, optional(whole(U64_MAX))] = None
    digest: Annotated[bytes | None, optional(bytes_of(32))] = None

    def encode(self) -> bytes:
        digest = None if self.digest is None else self.digest.hex()
        return canonical_json({"size": self.size, "token": self.token, "held": self.held, "digest": digest})

    @classmethod
    def decode(cls, data: bytes) -> Answer:
        """Raise :class:`WireError`."""
        return decode(cls, json_object(data), ignore_unknown=True)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The host refuses: a code for programs, what happened, and a hint."""

    code: Code
    message: str
    hint: str

    def encode(self) -> bytes:
        # A message may quote the output of a program: it is cut rather than lost.
        return canonical_json({"code": self.code.value, "message": self.message[:1000], "remedy": self.hint[:400]})

    @classmethod
    def decode(cls, data: bytes) -> Refusal:
        """A code of a newer host is read as INTERNAL. Raise :class:`WireError`."""
        fields = json_object(data)
        code = read.text(fields, "code", 32)
        return cls(
            Code(code) if code in set(Code) else Code.INTERNAL,
            read.text(fields, "message", 2048),
            read.text(fields, "remedy", 2048),
        )


def _resize(fields: dict[str, Any], name: str) -> tuple[int, int]:
    resize = fields.get(name)
    if not isinstance(resize, list) or len(resize) != 2:
        raise WireError("resize must be rows and columns")
    both = {"rows": resize[0], "columns": resize[1]}
    return read.integer(both, "rows", 1000, 1), read.integer(both, "columns", 1000, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A control message beside the bytes of a session; fields that are not set are left out.

    `resize`: rows and columns of the terminal. `exit_code`: of the program. `size` and `digest` (SHA-256): of the whole
    body, from its sender. `done`: the body has taken effect.
    """

    resize: Annotated[tuple[int, int] | None, optional(_resize)] = None
    exit_code: Annotated[int | None, optional(whole(1 << 31, -(1 << 31)))] = None
    size: Annotated[int | None, optional(whole(U64_MAX))] = None
    digest: Annotated[bytes | None, optional(bytes_of(32))] = None
    done: Annotated[bool, read.flag] = False

    def encode(self) -> bytes:
        fields = {
            "resize": None if self.resize is None else list(self.resize),
            "exit_code": self.exit_code,
            "size": self.size,
            "digest": None if self.digest is None else self.digest.hex(),
            "done": self.done or None,
        }
        return canonical_json({name: value for name, value in fields.items() if value is not None})

    @classmethod
    def decode(cls, data: bytes) -> Control:
        """Raise :class:`WireError`."""
        if len(data) > MAX_CONTROL:
            raise WireError(f"a control message of {len(data)} bytes is longer than {MAX_CONTROL}")
        return decode(cls, json_object(data), ignore_unknown=True)


def endpoint_text(addresses: tuple[str, ...]) -> bytes:
    """Return a host's addresses as they are stored in `HostRecord.endpoint`, separated by commas.

    `ip:port` (IPv6 in brackets) is a UDP port for QUIC, `wss://ip:port` a TCP port for secure websockets,
    `account@host:port` a gateway. Addresses beyond :data:`MAX_ENDPOINT` bytes are left out, but the first of
    each kind stays, and other gateways come before other addresses.
    """
    firsts = {_kind(address): address for address in reversed(addresses)}

    def place(address: str) -> tuple[bool, bool]:
        return address not in firsts.values(), not is_gateway(address)

    kept: list[str] = []
    for address in sorted(dict.fromkeys(addresses), key=place):
        if len(",".join([*kept, address])) <= MAX_ENDPOINT and len(kept) < MAX_ADDRESSES:
            kept.append(address)
    return ",".join(kept).encode()


def parse_endpoint(endpoint: bytes) -> tuple[str, ...]:
    """Return the addresses in `HostRecord.endpoint`, at most :data:`MAX_ADDRESSES`.

    Raise :class:`WireError` if one is neither `ip:port`, nor `wss://ip:port`, nor a gateway's.
    """
    try:
        written = endpoint.decode("ascii")
    except UnicodeDecodeError:
        raise WireError("the host's endpoint is not ASCII text") from None
    addresses = tuple(part for part in written.split(",") if part)[:MAX_ADDRESSES]
    for address in addresses:
        if is_gateway(address):
            parse_gateway(address)
            continue
        ip, _, port = address.removeprefix(WEBSOCKET).rpartition(":")
        if not ip or "/" in ip or not port.isdecimal() or not 0 < int(port) < 65536:
            raise WireError(f"the host's endpoint holds {address!r}, which is neither ip:port nor wss://ip:port")
    return addresses


def _kind(address: str) -> str:
    return "gateway" if is_gateway(address) else WEBSOCKET if address.startswith(WEBSOCKET) else "quic"
