"""Verification of an attestation document against a policy: which checks passed, and the first that failed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from offchain.core.attestation import nvidia, sev_snp
from offchain.core.attestation.certificates import RootKeys
from offchain.core.attestation.nvidia import verify_gpus
from offchain.core.attestation.sev_snp import SnpReport, verify_snp
from offchain.core.attestation.tdx import TdxReport, verify_tdx
from offchain.schema.attestation.document import AttestationDocument, EvidenceKind, gpu_nonce, report_data
from offchain.schema.attestation.policy import (
    AttestationCheck,
    AttestationFinding,
    AttestationPolicy,
    AttestationResult,
    EvidenceError,
)
from offchain.schema.protocol.fields import WireError


def verify_attestation(
    data: bytes, host_key: bytes, nonce: bytes, policy: AttestationPolicy, now_s: int, *, test_root: bytes | None = None
) -> AttestationResult:
    """Verify the document that a host sent for this nonce. A document that proves nothing is a result, not an error.

    `now_s`: Unix time. `test_root`: a certificate, DER, in place of the vendors' roots; for test networks only. Raises
    OurError if a package is missing.
    """
    findings: list[AttestationFinding] = []
    kind: EvidenceKind | None = None
    seal_key: bytes | None = None
    report: SnpReport | TdxReport | None = None
    try:
        document = _document(data, host_key, nonce)
        kind = document.kind
        findings.append(AttestationFinding.proven(AttestationCheck.DOCUMENT, f"{len(data)} bytes"))
        with warnings.catch_warnings():
            # Certificates of AMD's processors have the serial number 0, of which cryptography warns.
            warnings.filterwarnings("ignore", message="Parsed a serial number")
            for found in _verified(document, policy, test_root, now_s):
                if isinstance(found, AttestationFinding):
                    findings.append(found)
                else:
                    report = found
        seal_key = document.seal_key
    except EvidenceError as error:
        findings.append(AttestationFinding(error.check, passed=False, text=str(error), hint=error.hint))
    return AttestationResult(
        findings=tuple(findings),
        kind=kind,
        measurement=None if report is None else report.measurement,
        seal_key=seal_key,
        facts=_facts(report),
        test_root=test_root is not None,
    )


def _document(data: bytes, host_key: bytes, nonce: bytes) -> AttestationDocument:
    try:
        document = AttestationDocument.decode(data)
    except WireError as error:
        raise EvidenceError(
            AttestationCheck.DOCUMENT, f"the document is malformed: {error}", "Use a matching release of gantry."
        ) from None
    if document.host != host_key or document.nonce != nonce:
        wrong = "host" if document.host != host_key else "nonce"
        raise EvidenceError(
            AttestationCheck.BINDING,
            f"the document is for another {wrong}",
            "Ask the host again. If it stays, use another host.",
        )
    return document


def _verified(
    document: AttestationDocument, policy: AttestationPolicy, test_root: bytes | None, now_s: int
) -> Iterator[AttestationFinding | SnpReport | TdxReport]:
    if document.kind not in policy.kinds:
        raise EvidenceError(
            AttestationCheck.KIND,
            f"the host is confidential by {document.kind}, and the policy asks for {' or '.join(policy.kinds)}",
            "Use another host, or accept this kind in the manifest (confidential.kinds).",
        )
    yield AttestationFinding.proven(AttestationCheck.KIND, document.kind.value)
    expected = report_data(document.host, document.nonce, document.seal_key)
    parts: Iterator[AttestationFinding | SnpReport | TdxReport]
    if document.kind is EvidenceKind.SEV_SNP:
        parts = verify_snp(document, expected, policy, RootKeys(sev_snp.ROOTS, test_root), now_s)
    else:
        parts = verify_tdx(document, expected, test_root, now_s)
    measurement = b""
    for part in parts:
        yield part
        if not isinstance(part, AttestationFinding):
            measurement = part.measurement
    yield _check_measurement(measurement, policy)
    yield _check_gpus(document, policy, test_root, now_s)


def _check_measurement(measurement: bytes, policy: AttestationPolicy) -> AttestationFinding:
    if not policy.measurements:
        text = f"{measurement.hex()}; the policy names none, so that any software may be behind the host's key"
        return AttestationFinding(AttestationCheck.MEASUREMENT, passed=None, text=text)
    if measurement not in policy.measurements:
        raise EvidenceError(
            AttestationCheck.MEASUREMENT,
            f"the software of the machine is {measurement.hex()}, which the policy does not name",
            "If you trust this release of the host's system, add it to confidential.measurements in the manifest.",
        )
    return AttestationFinding.proven(AttestationCheck.MEASUREMENT, measurement.hex())


def _check_gpus(
    document: AttestationDocument, policy: AttestationPolicy, test_root: bytes | None, now_s: int
) -> AttestationFinding:
    """Verify the evidence of the machine's GPUs. Evidence that proves nothing fails only if the policy asks for it."""
    nonce = gpu_nonce(document.host, document.nonce, document.seal_key)
    try:
        text = verify_gpus(document.gpus, nonce, RootKeys(nvidia.ROOTS, test_root), now_s)
    except EvidenceError as error:
        if policy.genuine_gpus:
            raise
        return AttestationFinding(AttestationCheck.GPUS, passed=None, text=f"{error}; the policy does not ask for GPUs")
    return AttestationFinding(AttestationCheck.GPUS, passed=True if policy.genuine_gpus else None, text=text)


def _facts(report: SnpReport | TdxReport | None) -> tuple[tuple[str, str], ...]:
    if isinstance(report, SnpReport):
        return (
            ("report_version", str(report.version)),
            ("guest_policy", f"{report.policy:#x}"),
            ("vmpl", str(report.vmpl)),
            ("host_data", report.host_data.hex()),
            ("id_key_digest", report.id_key_digest.hex()),
            ("chip_id", report.chip_id.hex()),
        )
    if isinstance(report, TdxReport):
        names = ("mrtd", "rtmr0", "rtmr1", "rtmr2", "rtmr3")
        registers = zip(names, (one.hex() for one in report.registers), strict=True)
        return (*registers, ("td_attributes", report.attributes.hex()), ("fmspc", report.fmspc))
    return ()
