"""Certificate authorities for tests of attestation, with the structure of those of hardware vendors."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

NOW_S = 1_900_000_000
"""The time at which documents of tests are verified."""
DAY_S = 86_400
YEAR_S = 365 * DAY_S


def at(time_s: int) -> datetime:
    return datetime.fromtimestamp(time_s, UTC)


def named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


@dataclass(frozen=True)
class Authority:
    """A key with its certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(Encoding.DER)

    def issue(
        self,
        name: str,
        *,
        key: ec.EllipticCurvePrivateKey | None = None,
        authority: bool = False,
        extensions: tuple[tuple[str, bytes], ...] = (),
        until_s: int = NOW_S + YEAR_S,
        curve: ec.EllipticCurve | None = None,
    ) -> Authority:
        own = key or ec.generate_private_key(curve or self.key.curve)
        return _issued(name, own, self.certificate.subject, self.key, extensions, until_s, authority=authority)

    def crl(
        self, *, revoked: tuple[Authority, ...] = (), until_s: int = NOW_S + DAY_S
    ) -> x509.CertificateRevocationList:
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self.certificate.subject)
            .last_update(at(min(NOW_S, until_s) - 10 * DAY_S))
            .next_update(at(until_s))
            .add_extension(x509.CRLNumber(1), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()),
                critical=False,
            )
        )
        for one in revoked:
            builder = builder.add_revoked_certificate(
                x509.RevokedCertificateBuilder()
                .serial_number(one.certificate.serial_number)
                .revocation_date(at(NOW_S - 5 * DAY_S))
                .build()
            )
        return builder.sign(self.key, hashes.SHA384() if self.key.curve.key_size > 256 else hashes.SHA256())


def root(name: str, curve: ec.EllipticCurve) -> Authority:
    key = ec.generate_private_key(curve)
    return _issued(name, key, named(name), key, (), NOW_S + YEAR_S, authority=True)


def _issued(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    signer: ec.EllipticCurvePrivateKey,
    extensions: tuple[tuple[str, bytes], ...],
    until_s: int,
    *,
    authority: bool,
) -> Authority:
    builder = (
        x509.CertificateBuilder()
        .subject_name(named(name))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(at(NOW_S) - timedelta(days=3650))
        .not_valid_after(at(until_s))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    for oid, value in extensions:
        builder = builder.add_extension(x509.UnrecognizedExtension(x509.ObjectIdentifier(oid), value), critical=False)
    algorithm = hashes.SHA384() if signer.curve.key_size > 256 else hashes.SHA256()
    return Authority(key, builder.sign(signer, algorithm))
