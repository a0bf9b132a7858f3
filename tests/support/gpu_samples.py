"""Evidence of GPUs of NVIDIA that a test root has signed, with the structure of recorded evidence."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils

from offchain.core.attestation.nvidia import SIGNATURE_BYTES
from offchain.schema.attestation.document import GpuEvidence
from tests.support.attestation_roots import NOW_S, YEAR_S, Authority, root

FWID = bytes(range(48))
_FWID_OID = "2.23.133.5.4.1"


@dataclass(frozen=True)
class ConfidentialGpu:
    """A GPU with its chain of certificates, whose firmware has this digest."""

    root: Authority = field(default_factory=lambda: root("Device-Identity-Test", ec.SECP384R1()))
    leaf_until_s: int = NOW_S + YEAR_S
    stated_fwid: bytes = FWID
    curve: ec.EllipticCurve | None = None

    def __post_init__(self) -> None:
        boot = self.root.issue("GSP-BROM-Test", authority=True)
        extensions = ((_FWID_OID, b"\x30\x40" + self.stated_fwid),)
        leaf = boot.issue("GSP-FMC-Test", extensions=extensions, until_s=self.leaf_until_s, curve=self.curve)
        object.__setattr__(self, "leaf", leaf)
        object.__setattr__(self, "certificates", leaf.pem + boot.pem + self.root.pem)

    leaf: Authority = field(init=False)
    certificates: str = field(init=False)

    def report(self, nonce: bytes, *, values: tuple[tuple[int, bytes], ...] | None = None) -> bytes:
        """Return a signed report for a nonce. `values`: opaque fields."""
        chosen = ((3, b"550.90.07\0"), (6, bytes.fromhex("009f009601000000")), (20, FWID)) if values is None else values
        opaque = b"".join(struct.pack("<HH", number, len(value)) + value for number, value in chosen)
        blocks = b"".join(struct.pack("<BBHBH", index, 1, 51, 1, 48) + bytes(48) for index in (1, 2))
        signed = (
            b"\x11\xe0\x01\xff"
            + nonce
            + b"\0"
            + b"\x11\x60\0\0\x02"
            + len(blocks).to_bytes(3, "little")
            + blocks
            + bytes(32)
            + len(opaque).to_bytes(2, "little")
            + opaque
        )
        numbers = utils.decode_dss_signature(self.leaf.key.sign(signed, ec.ECDSA(hashes.SHA384())))
        return signed + b"".join(number.to_bytes(SIGNATURE_BYTES // 2, "big") for number in numbers)

    def evidence(self, nonce: bytes) -> GpuEvidence:
        return GpuEvidence(report=self.report(nonce), certificates=self.certificates)
