"""Verification of attestation reports of AMD SEV-SNP.

The layout of a report is that of AMD's publication 56860, the extensions of the certificates those of 57230.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from offchain.core.attestation.certificates import (
    OTHER_HOST_HINT,
    RENEW_HINT,
    RootKeys,
    check_chain,
    check_not_revoked,
    load_chain,
)
from offchain.schema.attestation.document import AttestationDocument
from offchain.schema.attestation.policy import (
    AttestationCheck,
    AttestationFinding,
    AttestationPolicy,
    EvidenceError,
    SnpTcb,
)

if TYPE_CHECKING:
    from cryptography import x509

REPORT_BYTES: Final = 1184
SIGNED_BYTES: Final = 0x2A0
_NUMBER_BYTES: Final = 72
"""Size of each of the two numbers of a signature, least significant byte first."""
_VERSIONS: Final = (2, 3, 4, 5)
_ECDSA_P384_SHA384: Final = 1
_DEBUG: Final = 1 << 19
_MIGRATION_AGENT: Final = 1 << 18
_MOST_VMPL: Final = 3
"""Reports with a higher level were requested by the hypervisor, not by the machine."""
_OID: Final = "1.3.6.1.4.1.3704.1"
_TURIN: Final = "Turin"
_INTEGER: Final = 0x02
_OCTETS: Final = 0x04
_CHIP_ID_BYTES: Final = (64, 8)
ROOTS: Final = {
    "9f056bee44377e29308cb5ffa895bdfb62d18881fa6bed8d6f075b0204089cb9": "AMD Milan",
    "429a69c9422aa258ee4d8db5fcda9c6470ef15f8cd5a9cebd6cbc7d90b863831": "AMD Genoa",
    "4f125410563a2ab9a50356f9243f6fe0b6f73de98603f53f90339c70e9d7ad08": "AMD Turin",
}
"""SHA-256 of the public keys of AMD's root keys (ARK), by processor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnpReport:
    """The fields of a report that a verifier uses. `vmpl`: privilege level of the software that asked for it."""

    version: int
    policy: int
    vmpl: int
    algorithm: int
    report_data: bytes
    measurement: bytes
    host_data: bytes
    id_key_digest: bytes
    reported_tcb: int
    chip_id: bytes

    @classmethod
    def parse(cls, data: bytes) -> SnpReport:
        """Raise EvidenceError unless the report has its size and a known version."""
        if len(data) != REPORT_BYTES:
            raise EvidenceError(
                AttestationCheck.DOCUMENT, f"the report has {len(data)} bytes, not {REPORT_BYTES}", OTHER_HOST_HINT
            )
        version, policy = struct.unpack_from("<I4xQ", data)
        vmpl, algorithm = struct.unpack_from("<II", data, 0x30)
        if version not in _VERSIONS:
            known = ", ".join(map(str, _VERSIONS))
            raise EvidenceError(
                AttestationCheck.DOCUMENT, f"the report has version {version}; known are {known}", "Update gantry."
            )
        return cls(
            version=version,
            policy=policy,
            vmpl=vmpl,
            algorithm=algorithm,
            report_data=data[0x50:0x90],
            measurement=data[0x90:0xC0],
            host_data=data[0xC0:0xE0],
            id_key_digest=data[0xE0:0x110],
            reported_tcb=int.from_bytes(data[0x180:0x188], "little"),
            chip_id=data[0x1A0:0x1E0],
        )


def verify_snp(
    document: AttestationDocument, expected: bytes, policy: AttestationPolicy, roots: RootKeys, now_s: int
) -> Iterator[AttestationFinding | SnpReport]:
    """Yield the report, and a finding for each check that passed. Raises EvidenceError at the first that fails.

    `expected`: the report data of this host and nonce.
    """
    report = SnpReport.parse(document.quote)
    yield report
    chain = load_chain(document.collateral)
    if len(chain) != 3:
        raise EvidenceError(
            AttestationCheck.CERTIFICATES,
            f"the document has {len(chain)} certificates, not the three of processor, authority and root",
            RENEW_HINT,
        )
    root = check_chain(chain, roots, now_s)
    yield AttestationFinding.proven(AttestationCheck.ROOT, f"the root is that of {root}")
    yield AttestationFinding.proven(
        AttestationCheck.CERTIFICATES, "the processor's certificate leads to that root, and all are valid now"
    )
    until = check_not_revoked(document.collateral, chain, now_s)
    yield AttestationFinding.proven(AttestationCheck.REVOCATION, f"not revoked, by a list that is valid until {until}")
    leaf = Endorsement(chain[0])
    check_signature(report, document.quote, chain[0])
    check_same_processor(report, leaf)
    yield AttestationFinding.proven(AttestationCheck.SIGNATURE, f"a processor {leaf.product} has signed the report")
    if report.report_data != expected:
        raise EvidenceError(
            AttestationCheck.BINDING,
            "the report was not made for this host's key and this nonce",
            "Ask the host again. If it stays, use another host.",
        )
    yield AttestationFinding.proven(
        AttestationCheck.BINDING, "the report was made for this host's key and this request"
    )
    _check_debug(report)
    yield AttestationFinding.proven(AttestationCheck.DEBUG, "debugging and migration of the machine are off")
    tcb = tcb_of(report.reported_tcb, leaf.product)
    if not tcb.reaches(policy.min_snp_tcb):
        raise EvidenceError(
            AttestationCheck.TCB,
            f"the firmware is {tcb.text}, and the policy asks for at least {policy.min_snp_tcb.text}",
            "Its provider has to update the firmware; or use another host.",
        )
    text = f"the firmware is {tcb.text}"
    is_asked = policy.min_snp_tcb != SnpTcb()
    yield AttestationFinding(
        AttestationCheck.TCB, True if is_asked else None, text if is_asked else f"{text}; the policy names no minimum"
    )


def tcb_of(packed: int, product: str) -> SnpTcb:
    """Return the versions in a TCB_VERSION, whose layout depends on the processor."""
    parts = packed.to_bytes(8, "little")
    if product.startswith(_TURIN):
        return SnpTcb(fmc=parts[0], bootloader=parts[1], tee=parts[2], snp=parts[3], microcode=parts[7])
    return SnpTcb(bootloader=parts[0], tee=parts[1], snp=parts[6], microcode=parts[7])


class Endorsement:
    """The extensions of the certificate of a processor's key (VCEK), or of a cloud provider's (VLEK)."""

    def __init__(self, certificate: x509.Certificate) -> None:
        self._values = _extensions(certificate)
        product = self._values.get(f"{_OID}.2", b"")
        self.product = ascii(product[2:34].decode("ascii", "replace"))[1:-1]

    @property
    def tcb(self) -> SnpTcb:
        """The versions to which the key belongs. Raises EvidenceError."""
        names = {"bootloader": 1, "tee": 2, "snp": 3, "microcode": 8}
        if self.product.startswith(_TURIN):
            names["fmc"] = 9
        return SnpTcb(**{name: self._integer(f"{_OID}.3.{number}") for name, number in names.items()})

    @property
    def chip_id(self) -> bytes | None:
        """The processor's id, None in the certificate of a cloud provider's key. Raises EvidenceError."""
        value = self._values.get(f"{_OID}.4")
        if value is None:
            return None
        for size in _CHIP_ID_BYTES:
            if len(value) == size:
                return value
            if len(value) == size + 2 and value[:2] == bytes((_OCTETS, size)):
                return value[2:]
        raise _malformed(f"a processor's id of {len(value)} bytes")

    def _integer(self, oid: str) -> int:
        value = self._values.get(oid, b"")
        if not 3 <= len(value) <= 4 or value[0] != _INTEGER or value[1] != len(value) - 2 or value[2] >= 0x80:
            raise _malformed(f"no version of the firmware ({oid})")
        return int.from_bytes(value[2:], "big")


def _extensions(certificate: x509.Certificate) -> dict[str, bytes]:
    from cryptography import x509  # noqa: PLC0415 - an optional package, and large

    try:
        return {
            one.oid.dotted_string: one.value.value
            for one in certificate.extensions
            if isinstance(one.value, x509.UnrecognizedExtension)
        }
    except (ValueError, x509.DuplicateExtension) as error:
        raise _malformed(str(error)) from None


def check_signature(report: SnpReport, data: bytes, certificate: x509.Certificate) -> None:
    """Raise EvidenceError unless the key of the certificate has signed the report."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm  # noqa: PLC0415 - as in _extensions
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec, utils  # noqa: PLC0415

    if report.algorithm != _ECDSA_P384_SHA384:
        raise EvidenceError(
            AttestationCheck.SIGNATURE, f"the report is signed by algorithm {report.algorithm}, not 1", OTHER_HOST_HINT
        )
    try:
        key = certificate.public_key()
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _malformed(str(error)) from None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP384R1):
        raise _malformed("a key that is not of the curve P-384")
    r, s = (
        int.from_bytes(data[at : at + _NUMBER_BYTES], "little") for at in (SIGNED_BYTES, SIGNED_BYTES + _NUMBER_BYTES)
    )
    try:
        key.verify(utils.encode_dss_signature(r, s), data[:SIGNED_BYTES], ec.ECDSA(hashes.SHA384()))
    except InvalidSignature:
        raise EvidenceError(
            AttestationCheck.SIGNATURE, "the signature of the report is not one of the processor's key", OTHER_HOST_HINT
        ) from None


def check_same_processor(report: SnpReport, leaf: Endorsement) -> None:
    """Raise EvidenceError unless the certificate is that of this processor with this firmware."""
    reported = tcb_of(report.reported_tcb, leaf.product)
    if leaf.tcb != reported:
        raise EvidenceError(
            AttestationCheck.TCB,
            f"the certificate is for the firmware {leaf.tcb.text}, the report for {reported.text}",
            "The host's provider has to fetch the processor's certificate anew: docs/confidential.md.",
        )
    chip = leaf.chip_id
    # A machine may hide its processor's id; then the key alone, which no other processor has, identifies it.
    if chip is not None and any(report.chip_id) and report.chip_id != chip.ljust(len(report.chip_id), b"\0"):
        raise EvidenceError(
            AttestationCheck.CERTIFICATES, "the certificate is of another processor than the report", OTHER_HOST_HINT
        )


def _check_debug(report: SnpReport) -> None:
    if report.policy & _DEBUG:
        raise EvidenceError(
            AttestationCheck.DEBUG,
            "debugging is enabled: the hypervisor can read the machine's memory",
            OTHER_HOST_HINT,
        )
    if report.policy & _MIGRATION_AGENT:
        raise EvidenceError(
            AttestationCheck.DEBUG,
            "a migration agent, which could copy the machine's memory, is allowed",
            OTHER_HOST_HINT,
        )
    if report.vmpl > _MOST_VMPL:
        raise EvidenceError(
            AttestationCheck.DEBUG,
            f"the report was requested outside of the machine (VMPL {report.vmpl}, at most {_MOST_VMPL})",
            OTHER_HOST_HINT,
        )


def _malformed(why: str) -> EvidenceError:
    return EvidenceError(
        AttestationCheck.CERTIFICATES, f"the processor's certificate is malformed: {why}", OTHER_HOST_HINT
    )
