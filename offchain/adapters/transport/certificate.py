"""TLS certificates with the host's own key: no authority and no second key have to be trusted.

Except for the signature, the certificate of a host is always the same, so that a client compares bytes and needs no
parser. TLS 1.3 proves that the server holds the private key: it signs each handshake with it.
"""

from __future__ import annotations

import os
import ssl
from typing import Final

from offchain.adapters.keys.signer import Ed25519Signer, verify

_ED25519: Final = bytes.fromhex("300506032b6570")
_NAME: Final = bytes.fromhex("3011310f300d06035504030c06") + b"gantry"
_SIGNATURE_BYTES: Final = 64


def _der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    length = bytes((size,)) if size < 128 else bytes((0x81, size)) if size < 256 else b"\x82" + size.to_bytes(2, "big")
    return bytes((tag,)) + length + content


def _signed_part(key: bytes) -> bytes:
    """X.509 TBSCertificate, version 3: serial 1, issued by and for "gantry", valid from 2026 without end."""
    validity = _der(0x30, _der(0x17, b"260101000000Z"), _der(0x18, b"99991231235959Z"))
    public = _der(0x30, _ED25519, _der(0x03, b"\0" + key))
    return _der(0x30, _der(0xA0, b"\2\1\2"), b"\2\1\1", _ED25519, _NAME, validity, _NAME, public)


def certificate(signer: Ed25519Signer) -> bytes:
    """Return the certificate of this key, DER."""
    signed = _signed_part(signer.public_key)
    return _der(0x30, signed, _ED25519, _der(0x03, b"\0" + signer.sign(signed)))


def is_certificate_of(key: bytes, presented: bytes | None) -> bool:
    """Whether the certificate that a server presented is that of this key."""
    if presented is None:
        return False
    signed, signature = _signed_part(key), presented[-_SIGNATURE_BYTES:]
    whole = _der(0x30, signed, _ED25519, _der(0x03, b"\0" + signature))
    return presented == whole and verify(key, "ed25519", signed, signature)


def server_context(signer: Ed25519Signer) -> ssl.SSLContext:
    """Return a TLS 1.3 context with this key. The key is passed in memory and never written to a disk."""
    private = _der(0x30, b"\2\1\0", _ED25519, _der(0x04, _der(0x04, signer.seed())))
    pem = ssl.DER_cert_to_PEM_cert(certificate(signer)) + ssl.DER_cert_to_PEM_cert(private).replace(
        "CERTIFICATE", "PRIVATE KEY"
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    file = os.memfd_create("gantry-tls", os.MFD_CLOEXEC)
    try:
        os.write(file, pem.encode())
        context.load_cert_chain(f"/proc/self/fd/{file}")
    finally:
        os.close(file)
    return context


def client_context() -> ssl.SSLContext:
    """Return a TLS 1.3 context without authorities: the caller checks with :func:`is_certificate_of`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
