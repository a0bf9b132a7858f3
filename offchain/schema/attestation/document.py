"""Attestation documents: evidence of a host's hardware that its memory is encrypted and which software it runs.

A document is made for one request: what the hardware signs contains a SHA-256 of the host's key, of the verifier's
nonce and of a key that exists in the machine's memory only, for which secrets are sealed. So it is of no use later, for
another host, or to somebody who has read the machine's disk. Everything that a verifier needs beside its own roots of
trust is in the document, so that a verification makes no connection.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final

from offchain.schema.protocol.fields import (
    Reader,
    WireError,
    bytes_of,
    canonical_json,
    decode,
    json_object,
    objects_of,
    text,
    whole,
)

VERSION: Final = 1
NONCE_BYTES: Final = 32
HOST_KEY_BYTES: Final = 32
SEAL_KEY_BYTES: Final = 32
REPORT_DATA_BYTES: Final = 64
MAX_QUOTE: Final = 16_384
"""The largest quote or report, in bytes: one of Intel TDX has about 5,000, one of AMD SEV-SNP 1,184."""
MAX_COLLATERAL: Final = 262_144
"""The largest collateral of one quote, in characters: certificates, revocation lists and TCB information."""
MAX_DOCUMENT: Final = 512 << 10
MAX_GPUS: Final = 16
MAX_GPU_REPORT: Final = 8_192
"""The largest report of a GPU, in bytes: one of Hopper has about 4,100."""
MAX_GPU_CERTIFICATES: Final = 8_192
"""The longest chain of certificates of a GPU, PEM, in characters."""
_DOMAIN: Final = b"gantry/attestation/v1"
_GPU_DOMAIN: Final = b"gantry/attestation/gpu/v1"


class EvidenceKind(StrEnum):
    """The technology of a confidential machine. Stable: manifests and programs use it."""

    TDX = "tdx"
    SEV_SNP = "sev-snp"


def report_data(host_key: bytes, nonce: bytes, seal_key: bytes) -> bytes:
    """Return the 64 bytes that a quote has to contain: a SHA-256, then zeros. Each argument has 32 bytes."""
    return hashlib.sha256(_DOMAIN + host_key + nonce + seal_key).digest() + bytes(REPORT_DATA_BYTES - 32)


def gpu_nonce(host_key: bytes, nonce: bytes, seal_key: bytes) -> bytes:
    """Return the nonce with which each GPU of the machine makes its report. Each argument has 32 bytes."""
    return hashlib.sha256(_GPU_DOMAIN + host_key + nonce + seal_key).digest()


def _base64_of(most_bytes: int) -> Reader:
    """Return the reader of bytes in base64."""

    def read(fields: dict[str, Any], name: str) -> bytes:
        written = text(fields, name, 4 * -(-most_bytes // 3))
        try:
            value = base64.b64decode(written, validate=True)
        except ValueError:
            raise WireError(f"{name} must be base64") from None
        if len(value) > most_bytes:
            raise WireError(f"{name} has {len(value)} bytes, more than {most_bytes}")
        return value

    return read


def _kind(fields: dict[str, Any], name: str) -> EvidenceKind:
    word = text(fields, name, 16)
    if word not in set(EvidenceKind):
        raise WireError(f"{name} {word!r} is none of {', '.join(EvidenceKind)}")
    return EvidenceKind(word)


def _collateral_of(longest: int) -> Reader:
    return lambda fields, name: text(fields, name, longest)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuEvidence:
    """A report that a GPU of NVIDIA has signed, and its chain of certificates, PEM, the leaf first."""

    report: Annotated[bytes, _base64_of(MAX_GPU_REPORT)]
    certificates: Annotated[str, _collateral_of(MAX_GPU_CERTIFICATES)]

    def plain(self) -> dict[str, Any]:
        """Return the evidence as JSON fields."""
        return {"report": base64.b64encode(self.report).decode(), "certificates": self.certificates}


def _gpus(fields: dict[str, Any], name: str) -> tuple[GpuEvidence, ...]:
    if name not in fields:
        return ()
    found: tuple[GpuEvidence, ...] = objects_of(GpuEvidence)(fields, name)
    if not 1 <= len(found) <= MAX_GPUS:
        raise WireError(f"{name} must have 1 to {MAX_GPUS} entries")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class AttestationDocument:
    """Evidence of one host for one verifier.

    `host`: its key; `nonce`: of the verifier; `seal_key`: X25519, for which secrets are sealed; `quote`: signed by the
    hardware. `collateral`: with `tdx` the JSON of Intel's collateral as dcap-qvl writes it; with `sev-snp` certificates
    and revocation lists, PEM. `gpus`: evidence of the machine's GPUs, as far as they make any.
    """

    v: Annotated[int, whole(VERSION, VERSION)] = VERSION
    kind: Annotated[EvidenceKind, _kind]
    host: Annotated[bytes, bytes_of(HOST_KEY_BYTES)]
    nonce: Annotated[bytes, bytes_of(NONCE_BYTES)]
    seal_key: Annotated[bytes, bytes_of(SEAL_KEY_BYTES)]
    quote: Annotated[bytes, _base64_of(MAX_QUOTE)]
    collateral: Annotated[str, _collateral_of(MAX_COLLATERAL)]
    gpus: Annotated[tuple[GpuEvidence, ...], _gpus] = ()

    def encode(self) -> bytes:
        """Return the document's bytes. Raise :class:`WireError` if it is too long."""
        data = canonical_json(
            {
                "v": self.v,
                "kind": self.kind.value,
                "host": self.host.hex(),
                "nonce": self.nonce.hex(),
                "seal_key": self.seal_key.hex(),
                "quote": base64.b64encode(self.quote).decode(),
                "collateral": self.collateral,
                **({"gpus": [one.plain() for one in self.gpus]} if self.gpus else {}),
            }
        )
        _check_size(data)
        return data

    @classmethod
    def decode(cls, data: bytes) -> AttestationDocument:
        """Check every field. Raise :class:`WireError` that names the field and its limit."""
        _check_size(data)
        return decode(cls, json_object(data))


def _check_size(data: bytes) -> None:
    if len(data) > MAX_DOCUMENT:
        raise WireError(f"the document has {len(data)} bytes, more than {MAX_DOCUMENT}")
