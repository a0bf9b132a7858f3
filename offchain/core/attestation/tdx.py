"""Verification of quotes of Intel TDX, by the library dcap-qvl."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from offchain.core.attestation.certificates import OTHER_HOST_HINT, RENEW_HINT, missing_package
from offchain.schema.attestation.document import AttestationDocument
from offchain.schema.attestation.policy import AttestationCheck, AttestationFinding, EvidenceError

if TYPE_CHECKING:
    from dcap_qvl import VerifiedReport

_REGISTERS: Final = ("mr_td", "rt_mr0", "rt_mr1", "rt_mr2", "rt_mr3")
_CURRENT: Final = "UpToDate"
# Words in the errors of dcap-qvl, which has no codes; the first that matches decides.
_CAUSES: Final = (
    ("revoked", AttestationCheck.REVOCATION, OTHER_HOST_HINT),
    ("crl", AttestationCheck.REVOCATION, RENEW_HINT),
    ("unknownissuer", AttestationCheck.ROOT, OTHER_HOST_HINT),
    ("expired", AttestationCheck.CERTIFICATES, RENEW_HINT),
    ("in the future", AttestationCheck.CERTIFICATES, RENEW_HINT),
    ("notvalidyet", AttestationCheck.CERTIFICATES, RENEW_HINT),
    ("debug", AttestationCheck.DEBUG, OTHER_HOST_HINT),
    # Among them: a machine that a service may migrate.
    ("td attributes", AttestationCheck.DEBUG, OTHER_HOST_HINT),
    ("service td", AttestationCheck.DEBUG, OTHER_HOST_HINT),
    ("migration", AttestationCheck.DEBUG, OTHER_HOST_HINT),
    ("sept_ve_disable", AttestationCheck.DEBUG, OTHER_HOST_HINT),
    ("tcb level", AttestationCheck.TCB, "The host's provider has to update the firmware; or use another host."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TdxReport:
    """The fields of a quote that a verifier uses. `registers`: MRTD and RTMR0 to RTMR3, 48 bytes each."""

    attributes: bytes
    report_data: bytes
    registers: tuple[bytes, ...]
    fmspc: str

    @property
    def measurement(self) -> bytes:
        """The SHA-384 of all registers: firmware, configuration, kernel, command line, and what the system added."""
        return hashlib.sha384(b"".join(self.registers)).digest()


def parse_tdx(quote: bytes) -> TdxReport:
    """Return the fields of a quote, which nobody has verified. Raises EvidenceError."""
    try:
        import dcap_qvl  # noqa: PLC0415 - an optional package
    except ImportError:
        raise missing_package("dcap-qvl") from None
    try:
        parsed = dcap_qvl.parse_quote(quote)
        if not parsed.is_tdx():
            raise EvidenceError(AttestationCheck.KIND, "the quote is one of Intel SGX, not of TDX", OTHER_HOST_HINT)
        report, fmspc = parsed.report, parsed.fmspc()
    except ValueError as error:
        raise EvidenceError(
            AttestationCheck.DOCUMENT, f"the quote is malformed: {_said(error)}", OTHER_HOST_HINT
        ) from None
    return TdxReport(
        attributes=report.td_attributes,
        report_data=report.report_data,
        registers=tuple(getattr(report, name) for name in _REGISTERS),
        fmspc=fmspc,
    )


def verify_tdx(
    document: AttestationDocument, expected: bytes, test_root: bytes | None, now_s: int
) -> Iterator[AttestationFinding | TdxReport]:
    """Yield the fields of the quote, and a finding for each check that passed. Raises EvidenceError if one fails.

    `expected`: the report data of this host and nonce; `test_root`: a certificate, DER, in place of Intel's root.
    """
    report = parse_tdx(document.quote)
    yield report
    verified = _verified(document, test_root, now_s)
    yield AttestationFinding.proven(
        AttestationCheck.ROOT, f"the root is that of {'test' if test_root is not None else 'Intel'}"
    )
    yield AttestationFinding.proven(
        AttestationCheck.CERTIFICATES, "certificates and TCB information lead to that root and are valid now"
    )
    yield AttestationFinding.proven(
        AttestationCheck.REVOCATION, "no certificate is revoked, by lists that are valid now"
    )
    yield AttestationFinding.proven(
        AttestationCheck.SIGNATURE, f"a processor with Intel TDX ({report.fmspc}) has signed the quote"
    )
    if report.report_data != expected:
        raise EvidenceError(
            AttestationCheck.BINDING,
            "the quote was not made for this host's key and this nonce",
            "Ask the host again. If it stays, use another host.",
        )
    yield AttestationFinding.proven(AttestationCheck.BINDING, "the quote was made for this host's key and this request")
    # The first byte (TUD) has every attribute of a machine whose memory can be examined from outside.
    if report.attributes[0]:
        raise EvidenceError(
            AttestationCheck.DEBUG,
            "debugging is enabled: the hypervisor can read the machine's memory",
            OTHER_HOST_HINT,
        )
    yield AttestationFinding.proven(AttestationCheck.DEBUG, "debugging of the machine is off")
    advisories = ", ".join(verified.advisory_ids)
    if verified.status != _CURRENT:
        raise EvidenceError(
            AttestationCheck.TCB,
            f"Intel's TCB status of the machine is {verified.status}, not {_CURRENT}"
            + (f" ({advisories})" if advisories else ""),
            "Its provider has to update the firmware; or use another host.",
        )
    yield AttestationFinding.proven(AttestationCheck.TCB, f"Intel's TCB status of the machine is {_CURRENT}")


def _verified(document: AttestationDocument, test_root: bytes | None, now_s: int) -> VerifiedReport:
    import dcap_qvl  # noqa: PLC0415 - as in parse_tdx

    try:
        collateral = dcap_qvl.QuoteCollateralV3.from_json(document.collateral)
    except ValueError as error:
        raise EvidenceError(
            AttestationCheck.CERTIFICATES, f"the collateral cannot be read: {_said(error)}", RENEW_HINT
        ) from None
    try:
        if test_root is None:
            return dcap_qvl.verify(document.quote, collateral, now_s)
        return dcap_qvl.verify_with_root_ca(document.quote, collateral, test_root, now_s)
    except ValueError as error:
        text = _said(error)
        found = (one for one in _CAUSES if one[0] in text.lower())
        _, check, hint = next(found, ("", AttestationCheck.SIGNATURE, OTHER_HOST_HINT))
        raise EvidenceError(check, f"the quote does not hold: {text}", hint) from None


def _said(error: ValueError) -> str:
    """Return an error of the library in one line, without characters that a terminal would obey."""
    return ascii(" ".join(str(error).removeprefix("Verification failed: ").split())[:200])[1:-1]
