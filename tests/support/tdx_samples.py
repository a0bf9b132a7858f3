"""Attestation documents of Intel TDX: a recorded one, and others that a test root has signed over its parts."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from offchain.schema.attestation.document import AttestationDocument, EvidenceKind, report_data
from tests.support.attestation_roots import DAY_S, NOW_S, YEAR_S, Authority, root
from tests.support.snp_samples import HOST, NONCE, SEAL_KEY

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "vectors/attestation/tdx.json").read_text(encoding="utf-8")
)
RECORDED_QUOTE = base64.b64decode(RECORDED["quote"])
_SGX_EXTENSION = "1.2.840.113741.1.13.1"
_HEADER, _BODY, _QE_REPORT = 48, 584, 384
_ATTRIBUTES, _REPORT_DATA = _HEADER + 120, _HEADER + 520
_SIGNATURE, _KEY = 64, 64
_QE_AT = _HEADER + _BODY + 4 + _SIGNATURE + _KEY + 6


def recorded(host: bytes = HOST, nonce: bytes = NONCE) -> AttestationDocument:
    """A quote of a real processor, which was not made for a host of Gantry."""
    return AttestationDocument(
        kind=EvidenceKind.TDX,
        host=host,
        nonce=nonce,
        seal_key=SEAL_KEY,
        quote=RECORDED_QUOTE,
        collateral=json.dumps(RECORDED["collateral"]),
    )


def _sgx_extension() -> bytes:
    pem = RECORDED_QUOTE[RECORDED_QUOTE.index(b"-----BEGIN") :].rstrip(b"\0")
    leaf = x509.load_pem_x509_certificates(pem)[0]
    value = leaf.extensions.get_extension_for_oid(x509.ObjectIdentifier(_SGX_EXTENSION)).value
    assert isinstance(value, x509.UnrecognizedExtension)
    return value.value


@dataclass(frozen=True)
class TdxMachine:
    """A processor with Intel's structure of certificates under a test root."""

    leaf_until_s: int = NOW_S + YEAR_S
    root: Authority = field(default_factory=lambda: root("Intel SGX Root CA", ec.SECP256R1()))

    def __post_init__(self) -> None:
        platform = self.root.issue("Intel SGX PCK Platform CA", authority=True)
        leaf = platform.issue(
            "Intel SGX PCK Certificate",
            extensions=((_SGX_EXTENSION, _sgx_extension()),),
            until_s=self.leaf_until_s,
        )
        object.__setattr__(self, "platform", platform)
        object.__setattr__(self, "leaf", leaf)
        object.__setattr__(self, "signing", self.root.issue("Intel SGX TCB Signing"))

    platform: Authority = field(init=False)
    leaf: Authority = field(init=False)
    signing: Authority = field(init=False)

    def quote(self, data: bytes, *, attributes: bytes | None = None) -> bytes:
        """The recorded quote with other data, signed by this machine."""
        signed = bytearray(RECORDED_QUOTE[: _HEADER + _BODY])
        signed[_REPORT_DATA : _REPORT_DATA + 64] = data
        if attributes is not None:
            signed[_ATTRIBUTES : _ATTRIBUTES + 8] = attributes
        key = ec.generate_private_key(ec.SECP256R1())
        point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)[1:]
        qe_data = bytes(range(32))
        qe_report = bytearray(RECORDED_QUOTE[_QE_AT : _QE_AT + _QE_REPORT])
        qe_report[-64:] = hashlib.sha256(point + qe_data).digest() + bytes(32)
        chain = (self.leaf.pem + self.platform.pem + self.root.pem).encode()
        certified = (
            bytes(qe_report)
            + _signature(self.leaf.key, bytes(qe_report))
            + struct.pack("<H", len(qe_data))
            + qe_data
            + struct.pack("<HI", 5, len(chain))
            + chain
        )
        proof = _signature(key, bytes(signed)) + point + struct.pack("<HI", 6, len(certified)) + certified
        return bytes(signed) + struct.pack("<I", len(proof)) + proof

    def collateral(
        self,
        *,
        until_s: int = NOW_S + DAY_S,
        status: str = "UpToDate",
        revoked: tuple[Authority, ...] = (),
        crl_until_s: int = NOW_S + DAY_S,
    ) -> str:
        """Intel's recorded TCB information with other times and this TCB status, signed by this machine's authority."""
        tcb_info = json.loads(RECORDED["collateral"]["tcb_info"])
        qe_identity = json.loads(RECORDED["collateral"]["qe_identity"])
        for one in (tcb_info, qe_identity):
            one["issueDate"], one["nextUpdate"] = _stamp(NOW_S - 20 * DAY_S), _stamp(until_s)
        for level in tcb_info["tcbLevels"]:
            level["tcbStatus"] = status
        texts = {"tcb_info": json.dumps(tcb_info), "qe_identity": json.dumps(qe_identity)}
        lists = {
            "root_ca_crl": self.root.crl(revoked=revoked, until_s=crl_until_s),
            "pck_crl": self.platform.crl(revoked=revoked, until_s=crl_until_s),
        }
        signers = self.signing.pem + self.root.pem
        return json.dumps(
            {
                **texts,
                **{
                    f"{name}_signature": _signature(self.signing.key, text.encode()).hex()
                    for name, text in texts.items()
                },
                **{name: crl.public_bytes(Encoding.DER).hex() for name, crl in lists.items()},
                "tcb_info_issuer_chain": signers,
                "qe_identity_issuer_chain": signers,
                "pck_crl_issuer_chain": self.platform.pem + self.root.pem,
            }
        )

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
            kind=EvidenceKind.TDX,
            host=host,
            nonce=nonce,
            seal_key=seal_key,
            quote=self.quote(report_data(host, nonce, seal_key)) if quote is None else quote,
            collateral=self.collateral() if collateral is None else collateral,
        )


def _signature(key: ec.EllipticCurvePrivateKey, data: bytes) -> bytes:
    numbers = utils.decode_dss_signature(key.sign(data, ec.ECDSA(hashes.SHA256())))
    return b"".join(number.to_bytes(32, "big") for number in numbers)


def _stamp(time_s: int) -> str:
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
