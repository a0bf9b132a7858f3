"""Attestation documents of AMD SEV-SNP that a test root has signed."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.serialization import Encoding

from offchain.core.attestation.sev_snp import REPORT_BYTES, SIGNED_BYTES
from offchain.schema.attestation.document import AttestationDocument, EvidenceKind, report_data
from tests.support.attestation_roots import NOW_S, YEAR_S, Authority, root

HOST = bytes(range(32))
NONCE = bytes(range(32, 64))
SEAL_KEY = bytes(range(64, 96))
MEASUREMENT = bytes(range(48))
OID = "1.3.6.1.4.1.3704.1"
DEBUG = 1 << 19
MIGRATION_AGENT = 1 << 18
USUAL_POLICY = 0x30000


@dataclass(frozen=True)
class SnpMachine:
    """A processor with its chain of certificates. `tcb`: bootloader, TEE, SNP firmware, microcode."""

    product: str = "Milan-B0"
    tcb: tuple[int, int, int, int] = (4, 0, 22, 213)
    chip: bytes = bytes(range(64))
    leaf_until_s: int = NOW_S + YEAR_S
    root: Authority = field(default_factory=lambda: root("ARK-Test", ec.SECP384R1()))

    def __post_init__(self) -> None:
        authority = self.root.issue("SEV-Test", authority=True)
        values = ((1, self.tcb[0]), (2, self.tcb[1]), (3, self.tcb[2]), (8, self.tcb[3]))
        extensions = (
            (f"{OID}.2", b"\x16" + bytes((len(self.product),)) + self.product.encode()),
            *((f"{OID}.3.{number}", _integer(value)) for number, value in values),
            *(((f"{OID}.3.9", _integer(1)),) if self.product.startswith("Turin") else ()),
            (f"{OID}.4", self.chip),
        )
        leaf = authority.issue("SEV-VCEK", extensions=extensions, until_s=self.leaf_until_s)
        object.__setattr__(self, "authority", authority)
        object.__setattr__(self, "leaf", leaf)

    authority: Authority = field(init=False)
    leaf: Authority = field(init=False)

    @property
    def packed_tcb(self) -> bytes:
        bootloader, tee, snp, microcode = self.tcb
        if self.product.startswith("Turin"):
            return bytes((1, bootloader, tee, snp, 0, 0, 0, microcode))
        return bytes((bootloader, tee, 0, 0, 0, 0, snp, microcode))

    def certificates(self, *, crl: bytes | None = None) -> str:
        listed = self.root.crl().public_bytes(Encoding.PEM) if crl is None else crl
        return self.leaf.pem + self.authority.pem + self.root.pem + listed.decode()

    def report(
        self,
        data: bytes,
        *,
        policy: int = USUAL_POLICY,
        vmpl: int = 0,
        version: int = 3,
        algorithm: int = 1,
        chip: bytes | None = None,
        tcb: bytes | None = None,
    ) -> bytes:
        report = bytearray(REPORT_BYTES)
        struct.pack_into("<I4xQ", report, 0, version, policy)
        struct.pack_into("<II", report, 0x30, vmpl, algorithm)
        report[0x50:0x90] = data
        report[0x90:0xC0] = MEASUREMENT
        report[0x180:0x188] = tcb or self.packed_tcb
        report[0x1A0:0x1E0] = (self.chip if chip is None else chip).ljust(64, b"\0")
        signature = self.leaf.key.sign(bytes(report[:SIGNED_BYTES]), ec.ECDSA(hashes.SHA384()))
        for place, number in enumerate(utils.decode_dss_signature(signature)):
            report[SIGNED_BYTES + 72 * place : SIGNED_BYTES + 72 * (place + 1)] = number.to_bytes(72, "little")
        return bytes(report)

    def document(
        self,
        host: bytes = HOST,
        nonce: bytes = NONCE,
        seal_key: bytes = SEAL_KEY,
        *,
        quote: bytes | None = None,
        collateral: str | None = None,
    ) -> AttestationDocument:
        return AttestationDocument(
            kind=EvidenceKind.SEV_SNP,
            host=host,
            nonce=nonce,
            seal_key=seal_key,
            quote=self.report(report_data(host, nonce, seal_key)) if quote is None else quote,
            collateral=self.certificates() if collateral is None else collateral,
        )


def _integer(value: int) -> bytes:
    return b"\x02\x01" + bytes((value,)) if value < 0x80 else b"\x02\x02\x00" + bytes((value,))
