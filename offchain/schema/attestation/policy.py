"""What a tenant requires of a confidential host, and what a verification of its document has shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from offchain.schema.attestation.document import EvidenceKind

MEASUREMENT_BYTES: Final = 48
MAX_MEASUREMENTS: Final = 16
_MEASUREMENT: Final = re.compile(r"[0-9a-f]{96}", re.ASCII)
_TCB: Final = re.compile(r"([a-z]+)=([0-9]{1,3})", re.ASCII)


@dataclass(frozen=True, slots=True)
class SnpTcb:
    """Security versions of an AMD processor's firmware. `fmc`: of processors from Turin on, 0 before."""

    bootloader: int = 0
    tee: int = 0
    snp: int = 0
    microcode: int = 0
    fmc: int = 0

    def reaches(self, least: SnpTcb) -> bool:
        """Whether no part is older than in `least`."""
        return all(getattr(self, name) >= getattr(least, name) for name in _PARTS)

    @property
    def text(self) -> str:
        """The parts as :func:`parse_snp_tcb` reads them."""
        return ",".join(f"{name}={getattr(self, name)}" for name in _PARTS)


_PARTS: Final = ("bootloader", "tee", "snp", "microcode", "fmc")


def parse_snp_tcb(text: str) -> SnpTcb:
    """Return the least versions, as in "bootloader=4,snp=22,microcode=213". Raises ValueError."""
    found: dict[str, int] = {}
    for part in text.split(","):
        match = _TCB.fullmatch(part.strip())
        if match is None or match[1] not in _PARTS or match[1] in found or int(match[2]) > 255:
            raise ValueError(f"{part[:40]!r} is not NAME=NUMBER with one of {', '.join(_PARTS)} and 0 to 255")
        found[match[1]] = int(match[2])
    return SnpTcb(**found)


def parse_measurement(text: str) -> bytes:
    """Return the 48 bytes of a measurement. Raises ValueError."""
    if _MEASUREMENT.fullmatch(text) is None:
        raise ValueError(f'"{text[:100]}" is not a measurement of {2 * MEASUREMENT_BYTES} lower-case hex digits')
    return bytes.fromhex(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttestationPolicy:
    """Requirements for a host's document beside those that always hold: genuine, not revoked, without debugging.

    `measurements`: of the software that the machine started with; empty: not compared, so that the provider's own
    software may be behind the key. `min_snp_tcb`: of AMD processors; for Intel's, the manufacturer's list says whether
    a version is current. `genuine_gpus`: at least one GPU of NVIDIA has to sign a report for the request.
    """

    kinds: tuple[EvidenceKind, ...] = tuple(EvidenceKind)
    measurements: tuple[bytes, ...] = ()
    min_snp_tcb: SnpTcb = field(default_factory=SnpTcb)
    genuine_gpus: bool = False

    @property
    def text(self) -> str:
        """The policy in a phrase."""
        software = f"{len(self.measurements)} measurements" if self.measurements else "any software"
        least = "" if self.min_snp_tcb == SnpTcb() else f", AMD firmware from {self.min_snp_tcb.text}"
        gpus = ", genuine GPUs" if self.genuine_gpus else ""
        return f"secrets only to hosts with {' or '.join(self.kinds)}, {software}{least}{gpus}"

    def plain(self) -> dict[str, Any]:
        """Return the policy as JSON fields."""
        return {
            "kinds": [kind.value for kind in self.kinds],
            "measurements": [one.hex() for one in self.measurements],
            "min_snp_tcb": self.min_snp_tcb.text,
            "gpus": "genuine" if self.genuine_gpus else None,
        }


class AttestationCheck(StrEnum):
    """A part of the verification, in the order in which they are made. Stable: programs may branch on it."""

    DOCUMENT = "document"
    KIND = "kind"
    ROOT = "root"
    CERTIFICATES = "certificates"
    REVOCATION = "revocation"
    SIGNATURE = "signature"
    BINDING = "binding"
    DEBUG = "debug"
    TCB = "tcb"
    MEASUREMENT = "measurement"
    GPUS = "gpus"


@dataclass(frozen=True, slots=True)
class AttestationFinding:
    """The outcome of one check: `passed` None if the policy does not ask for it. `hint`: after a failure."""

    check: AttestationCheck
    passed: bool | None
    text: str
    hint: str = ""

    @classmethod
    def proven(cls, check: AttestationCheck, text: str) -> AttestationFinding:
        """Return the finding of a check that passed."""
        return cls(check, passed=True, text=text)

    def plain(self) -> dict[str, Any]:
        """Return the finding as JSON fields."""
        return {"check": self.check.value, "passed": self.passed, "text": self.text, "hint": self.hint or None}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttestationResult:
    """What a verification has shown. It ends at the first failed check.

    `measurement`: of the software, None if the verification did not get that far; `seal_key`: for which secrets are to
    be sealed, None unless everything holds; `facts`: further values that the hardware has signed, as text by name.
    """

    findings: tuple[AttestationFinding, ...]
    kind: EvidenceKind | None = None
    measurement: bytes | None = None
    seal_key: bytes | None = None
    facts: tuple[tuple[str, str], ...] = ()
    test_root: bool = False
    """Whether it was verified with the root of a test, which proves nothing about hardware."""

    @property
    def failure(self) -> AttestationFinding | None:
        """The check that failed, None if the host is proven to meet the policy."""
        return next((one for one in self.findings if one.passed is False), None)

    def plain(self) -> dict[str, Any]:
        """Return the result as JSON fields."""
        return {
            "proven": self.failure is None,
            "kind": None if self.kind is None else self.kind.value,
            "measurement": None if self.measurement is None else self.measurement.hex(),
            "test_root": self.test_root,
            "findings": [one.plain() for one in self.findings],
            "facts": dict(self.facts),
        }


class EvidenceError(Exception):
    """Evidence that does not prove what it has to. `check`: which part; the text says what is wrong."""

    def __init__(self, check: AttestationCheck, message: str, hint: str) -> None:
        super().__init__(message)
        self.check = check
        self.hint = hint
