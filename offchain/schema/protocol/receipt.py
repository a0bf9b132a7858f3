"""Receipts: usage and cost of a lease, signed by its host and countersigned by its tenant.

A receipt is canonical JSON. Its digest is the SHA-256 of these bytes; host and tenant sign the digest behind a context
of their own, so that the signature of a receipt is valid for nothing else. Amounts are decimal text, since programs in
other languages have no integers of 128 bits.

Receipts of one lease are numbered by `seq`. No total may decrease from one to the next: two signed receipts
in which one does are proof against the host. The digest of a receipt is evidence in a dispute (docs/metering.md).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Final

from offchain.schema.chain_types._generated_chain import BillingUnit, Usage
from offchain.schema.protocol import fields as read
from offchain.schema.protocol.fields import WireError, canonical_json, json_object

MIB: Final = 1 << 20
VERSION: Final = 1
HOST_CONTEXT: Final = b"gantry/receipt/v1"
TENANT_CONTEXT: Final = b"gantry/receipt/countersigned/v1"
MAX_DOCUMENT: Final = 1 << 16
_LARGEST: Final = (1 << 96) - 1
_LARGEST_AMOUNT: Final = (1 << 128) - 1
_TIME: Final = (1 << 64) - 1
_ADDRESS: Final = 64


def _amount(fields: dict[str, Any], name: str) -> int:
    """Return an amount of base units, written as decimal text without leading zeros."""
    text = read.text(fields, name, 39)
    if not text.isascii() or not text.isdecimal() or str(int(text)) != text or int(text) > _LARGEST_AMOUNT:
        raise WireError(f"{name} must be an amount of base units as decimal text")
    return int(text)


def _unit(fields: dict[str, Any], name: str) -> BillingUnit:
    try:
        return BillingUnit(read.text(fields, name, 16))
    except ValueError:
        raise WireError(f"unit must be one of {', '.join(BillingUnit)}") from None


_Total = Annotated[int, read.whole(_LARGEST)]
_OptionalTotal = Annotated[int | None, read.optional(read.whole(_LARGEST))]
_Amount = Annotated[int, _amount]


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Usage of a pod since its lease was opened. No total ever decreases.

    `wall_ms`: time while any of its containers ran, as sampled; `unmetered_ms` of it was not sampled. `*_mib_s`:
    MiB times seconds. `gpu_ms`: busy time of its GPUs, added up over them. None: it could not be measured.
    `received_bytes` and `sent_bytes` as the pod sees it.
    """

    wall_ms: _Total = 0
    unmetered_ms: _Total = 0
    cpu_ms: _Total = 0
    memory_mib_s: _Total = 0
    memory_peak_mib: _Total = 0
    gpu_ms: _OptionalTotal = None
    gpu_memory_mib_s: _OptionalTotal = None
    gpu_memory_peak_mib: _OptionalTotal = None
    received_bytes: _Total = 0
    sent_bytes: _Total = 0
    disk_mib_s: _Total = 0
    disk_peak_mib: _Total = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """Cost of the lease by the chain's rules, in base units.

    `accrued`: for segments that are over; `since_ms`: start of the present or last segment, None before the first;
    `billed_ms`: its billed time; `owed`: the total.
    """

    rate_per_hour: _Amount
    unit: Annotated[BillingUnit, _unit]
    accrued: _Amount
    since_ms: Annotated[int | None, read.optional(read.whole(_TIME))]
    billed_ms: Annotated[int, read.whole(_TIME)]
    owed: _Amount


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """One receipt. Times are those of the chain, in Unix ms.

    `from_ms` is the opening of the lease, `until_ms` the end of the receipt's period. `reported` is the usage that the
    host reports to the chain with the result; None without a result. `final`: no other receipt follows.
    """

    genesis_hash: bytes
    task: int
    lease: int
    host: str
    tenant: str
    seq: int
    from_ms: int
    until_ms: int
    totals: Totals
    bill: Bill
    reported: Usage | None
    final: bool

    @cached_property
    def body(self) -> bytes:
        """The canonical bytes."""
        return canonical_json(
            {
                "v": VERSION,
                "what": "gantry/receipt",
                "genesis": self.genesis_hash.hex(),
                "task": self.task,
                "lease": self.lease,
                "host": self.host,
                "tenant": self.tenant,
                "seq": self.seq,
                "from_ms": self.from_ms,
                "until_ms": self.until_ms,
                "totals": dataclasses.asdict(self.totals),
                "bill": {
                    "rate_per_hour": str(self.bill.rate_per_hour),
                    "unit": self.bill.unit.value,
                    "accrued": str(self.bill.accrued),
                    "since_ms": self.bill.since_ms,
                    "billed_ms": self.bill.billed_ms,
                    "owed": str(self.bill.owed),
                },
                "reported": None if self.reported is None else self.reported.encode(),
                "final": self.final,
            }
        )

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the canonical bytes."""
        return hashlib.sha256(self.body).digest()

    @property
    def host_payload(self) -> bytes:
        """The bytes that the host signs."""
        return HOST_CONTEXT + self.digest

    @property
    def tenant_payload(self) -> bytes:
        """The bytes that the tenant signs."""
        return TENANT_CONTEXT + self.digest

    @classmethod
    def decode(cls, body: bytes) -> Receipt:
        """Check every field, and that these are the canonical bytes. Raise :class:`WireError`."""
        if len(body) > MAX_DOCUMENT:
            raise WireError(f"a receipt of {len(body)} bytes is longer than {MAX_DOCUMENT}")
        receipt = _receipt(json_object(body))
        if receipt.body != body:
            raise WireError("the receipt is not written in its canonical form")
        return receipt


@dataclass(frozen=True, slots=True)
class Countersignature:
    """A signature of the tenant or of its proxy, 64 bytes, with the account and the type of its key."""

    account: str
    crypto: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class SignedReceipt:
    """A receipt with the host's signature, and the tenant's if there is one."""

    receipt: Receipt
    signature: bytes
    countersignature: Countersignature | None = None

    def plain(self) -> dict[str, Any]:
        by_tenant = self.countersignature
        return {
            "receipt": json.loads(self.receipt.body),
            "digest": self.receipt.digest.hex(),
            "signature": self.signature.hex(),
            "countersignature": None
            if by_tenant is None
            else {
                "account": by_tenant.account,
                "crypto": by_tenant.crypto,
                "signature": by_tenant.signature.hex(),
            },
        }

    def encode(self) -> bytes:
        """Return the document as it is sent and stored."""
        return canonical_json(self.plain())

    @classmethod
    def decode(cls, data: bytes) -> SignedReceipt:
        """Check every field but the signatures. Raise :class:`WireError`."""
        if len(data) > MAX_DOCUMENT:
            raise WireError(f"a receipt of {len(data)} bytes is longer than {MAX_DOCUMENT}")
        fields = json_object(data)
        read.known_only(fields, ("receipt", "digest", "signature", "countersignature"))
        receipt = _receipt(read.nested(fields, "receipt"))
        if read.hexadecimal(fields, "digest", 32) != receipt.digest:
            raise WireError("the receipt has another digest than the one it came with")
        given = None if fields.get("countersignature") is None else read.nested(fields, "countersignature")
        if given is not None:
            read.known_only(given, ("account", "crypto", "signature"))
            if given.get("crypto") not in ("ed25519", "sr25519"):
                raise WireError("crypto must be ed25519 or sr25519")
        by_tenant = given and Countersignature(
            read.text(given, "account", _ADDRESS), given["crypto"], read.hexadecimal(given, "signature", 64)
        )
        return cls(receipt, read.hexadecimal(fields, "signature", 64), by_tenant or None)


def _receipt(fields: dict[str, Any]) -> Receipt:
    names = [field.name for field in dataclasses.fields(Receipt) if field.name != "genesis_hash"]
    read.known_only(fields, ("v", "what", "genesis", *names))
    if fields.get("v") != VERSION or fields.get("what") != "gantry/receipt":
        raise WireError(f"not a receipt of version {VERSION}")
    if not isinstance(fields.get("final"), bool):
        raise WireError("final must be true or false")
    return Receipt(
        genesis_hash=read.hexadecimal(fields, "genesis", 32),
        task=read.integer(fields, "task", _TIME),
        lease=read.integer(fields, "lease", _TIME),
        host=read.text(fields, "host", _ADDRESS),
        tenant=read.text(fields, "tenant", _ADDRESS),
        seq=read.integer(fields, "seq", _TIME, 1),
        from_ms=read.integer(fields, "from_ms", _TIME),
        until_ms=read.integer(fields, "until_ms", _TIME),
        totals=read.decode(Totals, read.nested(fields, "totals")),
        bill=read.decode(Bill, read.nested(fields, "bill")),
        reported=None if fields.get("reported") is None else _usage(read.nested(fields, "reported")),
        final=fields["final"],
    )


def _usage(fields: dict[str, Any]) -> Usage:
    names = ("wall_ms", "cpu_ms", "memory_peak_mib")
    read.known_only(fields, names)
    return Usage(**{name: read.integer(fields, name, _TIME) for name in names})
