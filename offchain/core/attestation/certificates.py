"""Chains of certificates of hardware vendors, up to a root whose key is known, with revocation lists of the host."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from offchain.errors import OurError
from offchain.schema.attestation.policy import AttestationCheck, EvidenceError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

MAX_CERTIFICATES: Final = 8
RENEW_HINT: Final = "The host's provider has to renew its attestation files: docs/confidential.md."
OTHER_HOST_HINT: Final = "Use another host."


@dataclass(frozen=True, slots=True)
class RootKeys:
    """Roots of trust: the SHA-256 of each one's public key (SubjectPublicKeyInfo) with its name.

    `test_root`: a certificate, DER, that stands for the only root in a test; None: the vendor's roots hold.
    """

    vendor: Mapping[str, str]
    test_root: bytes | None = None


def missing_package(name: str) -> OurError:
    """Return the error for a missing package of the extra `confidential`."""
    return OurError(
        f"Attestation documents cannot be verified here: the Python package {name} is not installed.",
        "Install it: pip install 'gantry[confidential]'.",
        code="missing_package",
    )


def load_chain(pem: str) -> Sequence[x509.Certificate]:
    """Return the certificates of a PEM text in its order, the leaf first. Raises EvidenceError."""
    try:
        from cryptography import x509  # noqa: PLC0415 - an optional package, and large
    except ImportError:
        raise missing_package("cryptography") from None
    if pem.count("-----BEGIN CERTIFICATE-----") > MAX_CERTIFICATES:
        raise _broken(f"it has more than {MAX_CERTIFICATES} certificates")
    try:
        return x509.load_pem_x509_certificates(pem.encode())
    except ValueError as error:
        raise _broken(str(error)) from None


def check_chain(chain: Sequence[x509.Certificate], roots: RootKeys, now_s: int) -> str:
    """Check each certificate of a chain: its time, its issuer, and the key of the last one. Return the root's name.

    Raises EvidenceError.
    """
    name = _root_name(chain[-1], roots)
    now = datetime.fromtimestamp(now_s, UTC)
    for certificate in chain:
        _check_time(certificate, now)
    for certificate, issuer in zip(chain, [*chain[1:], chain[-1]], strict=True):
        _check_issuer(certificate, issuer)
    return name


def check_not_revoked(pem: str, chain: Sequence[x509.Certificate], now_s: int) -> str:
    """Check that the list of the root does not have the certificate that it issued. Return the list's end of validity.

    Raises EvidenceError. The list has to be valid now: a host could otherwise present one of before the revocation.
    """
    from cryptography import x509  # noqa: PLC0415 - as in load_chain
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415

    issued, root = chain[-2], chain[-1]
    now = datetime.fromtimestamp(now_s, UTC)
    try:
        crl = x509.load_pem_x509_crl(pem.encode())
        is_genuine = crl.issuer == root.subject and crl.is_signature_valid(_public_key(root))
        revoked = crl.get_revoked_certificate_by_serial_number(issued.serial_number)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise EvidenceError(
            AttestationCheck.REVOCATION, f"the revocation list cannot be read: {error}", RENEW_HINT
        ) from None
    if not is_genuine:
        raise EvidenceError(AttestationCheck.REVOCATION, "the revocation list is not signed by the root", RENEW_HINT)
    until = crl.next_update_utc
    if until is None or not crl.last_update_utc <= now <= until:
        period = f"{crl.last_update_utc:%Y-%m-%d} to {'?' if until is None else f'{until:%Y-%m-%d}'}"
        raise EvidenceError(
            AttestationCheck.REVOCATION, f"the revocation list is valid from {period}, and today not", RENEW_HINT
        )
    if revoked is not None:
        raise EvidenceError(
            AttestationCheck.REVOCATION,
            f"{_name(issued)} was revoked on {revoked.revocation_date_utc:%Y-%m-%d}",
            OTHER_HOST_HINT,
        )
    return f"{until:%Y-%m-%d}"


def _root_name(root: x509.Certificate, roots: RootKeys) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415 - as in load_chain

    if roots.test_root is not None:
        if root.public_bytes(Encoding.DER) == roots.test_root:
            return "test"
        raise EvidenceError(
            AttestationCheck.ROOT, f"{_name(root)} is not the given test root", "Give the root that signed the quote."
        )
    key = _public_key(root).public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    name = roots.vendor.get(hashlib.sha256(key).hexdigest())
    if name is None:
        raise EvidenceError(
            AttestationCheck.ROOT,
            f"{_name(root)} is no root of the vendor: known are {', '.join(roots.vendor.values())}",
            OTHER_HOST_HINT,
        )
    return name


def _check_time(certificate: x509.Certificate, now: datetime) -> None:
    first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if not first <= now <= last:
        raise EvidenceError(
            AttestationCheck.CERTIFICATES,
            f"{_name(certificate)} is valid from {first:%Y-%m-%d} to {last:%Y-%m-%d}, and today not",
            RENEW_HINT,
        )


def _check_issuer(certificate: x509.Certificate, issuer: x509.Certificate) -> None:
    from cryptography import x509  # noqa: PLC0415 - as in load_chain
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm  # noqa: PLC0415

    try:
        certificate.verify_directly_issued_by(issuer)
        is_authority = issuer.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except InvalidSignature:
        raise _unchained(certificate, issuer) from None
    except x509.ExtensionNotFound:
        is_authority = False
    except (ValueError, TypeError, UnsupportedAlgorithm, x509.DuplicateExtension) as error:
        raise _broken(str(error)) from None
    if not is_authority:
        raise _unchained(certificate, issuer)


def _unchained(certificate: x509.Certificate, issuer: x509.Certificate) -> EvidenceError:
    return EvidenceError(
        AttestationCheck.CERTIFICATES, f"{_name(certificate)} was not issued by {_name(issuer)}", OTHER_HOST_HINT
    )


def _public_key(certificate: x509.Certificate) -> rsa.RSAPublicKey | ec.EllipticCurvePublicKey:
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - as in load_chain
    from cryptography.hazmat.primitives.asymmetric import ec, rsa  # noqa: PLC0415

    try:
        key = certificate.public_key()
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _broken(str(error)) from None
    if not isinstance(key, (rsa.RSAPublicKey, ec.EllipticCurvePublicKey)):
        raise _broken(f"{_name(certificate)} has a key that is neither RSA nor ECDSA")
    return key


def _name(certificate: x509.Certificate) -> str:
    """Return the subject, without characters that a terminal would obey."""
    return f"the certificate {certificate.subject.rfc4514_string()[:100]!a}"


def _broken(why: str) -> EvidenceError:
    return EvidenceError(AttestationCheck.CERTIFICATES, f"the certificates cannot be read: {why}", RENEW_HINT)
