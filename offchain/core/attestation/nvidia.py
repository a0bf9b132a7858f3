"""Verification of the reports of NVIDIA's GPUs in confidential mode: who has signed them, and for which request.

A report is the request and the answer of `GET_MEASUREMENTS` of SPDM 1.1 (DMTF DSP0274), signed by a key of the GPU's
firmware. The measurements are not compared: that needs NVIDIA's reference values, which the vendor's service has.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from offchain.core.attestation.certificates import OTHER_HOST_HINT, RENEW_HINT, RootKeys, check_chain, load_chain
from offchain.schema.attestation.document import GpuEvidence
from offchain.schema.attestation.policy import AttestationCheck, EvidenceError
from offchain.schema.value_text import counted

if TYPE_CHECKING:
    from cryptography import x509

REQUEST_BYTES: Final = 37
SIGNATURE_BYTES: Final = 96
ROOTS: Final = {"a90c4eb5acfd3e3d03a25db6a26b84f720ad0503196c627c21ddd48dd85b06a4": "NVIDIA Device Identity CA"}
"""SHA-256 of the public key of NVIDIA's root of device identities."""
_SPDM_1_1: Final = 0x11
_GET_MEASUREMENTS: Final = 0xE0
_MEASUREMENTS: Final = 0x60
_ALL: Final = 0xFF
_NONCE: Final = slice(4, 36)
_NUMBER_BYTES: Final = 48
_FWID_OID: Final = "2.23.133.5.4.1"
_DRIVER_VERSION, _VBIOS_VERSION, _FWID = 3, 6, 20


@dataclass(frozen=True, slots=True)
class GpuReport:
    """The fields of a report that a verifier uses. `values`: opaque fields by their number.

    `signed`: what the signature covers.
    """

    nonce: bytes
    measurements: int
    values: Mapping[int, bytes]
    signed: bytes
    signature: bytes

    @classmethod
    def parse(cls, data: bytes) -> GpuReport:
        """Raise EvidenceError unless every byte of the report has its place."""
        request, answer = data[:REQUEST_BYTES], data[REQUEST_BYTES:]
        if len(answer) < 8 or request[:2] != bytes((_SPDM_1_1, _GET_MEASUREMENTS)) or request[3] != _ALL:
            raise _failed("the report does not begin with a request for all measurements of SPDM 1.1")
        if answer[:2] != bytes((_SPDM_1_1, _MEASUREMENTS)):
            raise _failed("the report has no measurements of SPDM 1.1")
        blocks, length = answer[4], int.from_bytes(answer[5:8], "little")
        opaque_at = 8 + length + 34
        opaque_bytes = int.from_bytes(answer[opaque_at - 2 : opaque_at], "little")
        if len(answer) != opaque_at + opaque_bytes + SIGNATURE_BYTES:
            raise _failed(f"the report has {len(data)} bytes, which its lengths do not add up to")
        return cls(
            nonce=request[_NONCE],
            measurements=blocks,
            values=_values(answer[opaque_at : opaque_at + opaque_bytes]),
            signed=data[:-SIGNATURE_BYTES],
            signature=data[-SIGNATURE_BYTES:],
        )

    @property
    def text(self) -> str:
        """The versions of driver and VBIOS."""
        driver = self.values.get(_DRIVER_VERSION, b"").rstrip(b"\0").decode("ascii", "replace")
        vbios = self.values.get(_VBIOS_VERSION, b"")[:5]
        parts = (*reversed(vbios[:4]), *vbios[4:])
        return (
            f"driver {ascii(driver)[1:-1] or 'unknown'}, VBIOS {'.'.join(f'{one:02X}' for one in parts) or 'unknown'}"
        )


def verify_gpus(gpus: Sequence[GpuEvidence], nonce: bytes, roots: RootKeys, now_s: int) -> str:
    """Return what the reports of a machine's GPUs prove, in a sentence. Raises EvidenceError.

    `nonce`: that of this host and request.
    """
    if not gpus:
        raise EvidenceError(AttestationCheck.GPUS, "the document has no evidence of GPUs", OTHER_HOST_HINT)
    versions: list[str] = []
    keys: set[bytes] = set()
    for number, evidence in enumerate(gpus):
        try:
            report, key = _verified(evidence, nonce, roots, now_s)
        except EvidenceError as error:
            raise EvidenceError(AttestationCheck.GPUS, f"GPU {number}: {error}", error.hint) from None
        if key in keys:
            raise EvidenceError(AttestationCheck.GPUS, f"GPU {number} is another one once more", OTHER_HOST_HINT)
        keys.add(key)
        versions.append(report.text)
    genuine = f"{counted(len(gpus), 'genuine GPU')} of NVIDIA answered this request ({'; '.join(versions)})"
    return f"{genuine}; firmware, mode and revocation are not compared"


def _verified(evidence: GpuEvidence, nonce: bytes, roots: RootKeys, now_s: int) -> tuple[GpuReport, bytes]:
    """Return the report, and the key of the GPU that signed it."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415 - optional, large

    report = GpuReport.parse(evidence.report)
    chain = load_chain(evidence.certificates)
    if len(chain) < 2:
        raise _failed(f"it has {counted(len(chain), 'certificate')}, and no chain to a root", RENEW_HINT)
    check_chain(chain, roots, now_s)
    _check_firmware(report, chain[0])
    _check_signature(report, chain[0])
    if report.nonce != nonce:
        raise _failed("the report was not made for this host's key and this nonce", "Ask the host again.")
    return report, chain[0].public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _check_firmware(report: GpuReport, leaf: x509.Certificate) -> None:
    """Check that the certificate is for the firmware that made the report (DICE `TcbInfo`, whose end is the digest)."""
    from cryptography import x509  # noqa: PLC0415 - as in _verified

    fwid = report.values.get(_FWID, b"")
    try:
        stated = leaf.extensions.get_extension_for_oid(x509.ObjectIdentifier(_FWID_OID)).value
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        raise _failed("its certificate names no firmware") from None
    known = stated.value if isinstance(stated, x509.UnrecognizedExtension) else b""
    if not fwid or not known.endswith(fwid):
        raise _failed("its certificate is for another firmware than that of the report")


def _check_signature(report: GpuReport, leaf: x509.Certificate) -> None:
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm  # noqa: PLC0415 - as in _verified
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec, utils  # noqa: PLC0415

    r, s = (int.from_bytes(report.signature[at : at + _NUMBER_BYTES], "big") for at in (0, _NUMBER_BYTES))
    try:
        key = leaf.public_key()
        if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP384R1):
            raise _failed("its key is not of the curve P-384")
        key.verify(utils.encode_dss_signature(r, s), report.signed, ec.ECDSA(hashes.SHA384()))
    except (InvalidSignature, UnsupportedAlgorithm, ValueError):
        raise _failed("the signature of the report is not that of the GPU") from None


def _values(data: bytes) -> Mapping[int, bytes]:
    """Return the opaque fields: number and length of two bytes each, then the value."""
    found: dict[int, bytes] = {}
    at = 0
    while at < len(data):
        if at + 4 > len(data):
            raise _failed("the report has an incomplete field")
        number, size = struct.unpack_from("<HH", data, at)
        if at + 4 + size > len(data) or number in found:
            raise _failed(f"the report's field {number} is incomplete, or there twice")
        found[number] = data[at + 4 : at + 4 + size]
        at += 4 + size
    return found


def _failed(text: str, hint: str = OTHER_HOST_HINT) -> EvidenceError:
    return EvidenceError(AttestationCheck.GPUS, text, hint)
