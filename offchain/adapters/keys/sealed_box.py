"""Anonymous sealed boxes (NaCl), which only the holder of a key can open.

The ed25519 key of a host is converted to X25519, so that no further key has to be published.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

from offchain.adapters.keys import secret_file
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.errors import BadKey

KEY_BYTES: Final = 32
OVERHEAD: Final = 48
"""Bytes by which a sealed box is longer than its content."""
_FILE_CHARS: Final = 256


def seal(public: bytes, data: bytes) -> bytes:
    """Seal for the holder of this X25519 public key. Raises :class:`BadKey` where it is not a key."""
    from nacl.exceptions import CryptoError  # noqa: PLC0415 - not all programs seal
    from nacl.public import PublicKey, SealedBox  # noqa: PLC0415

    try:
        return bytes(SealedBox(PublicKey(public)).encrypt(data))
    except (CryptoError, ValueError, TypeError):
        raise BadKey(
            f"{public.hex()} is not an X25519 public key.", "Make one: gantry account seal-key NAME."
        ) from None


def seal_to_host(host: bytes, data: bytes) -> bytes:
    """Seal for the holder of this ed25519 key. Raises :class:`BadKey` where it is not a point of the curve."""
    from nacl.bindings import crypto_sign_ed25519_pk_to_curve25519  # noqa: PLC0415 - not all programs seal
    from nacl.exceptions import CryptoError  # noqa: PLC0415

    try:
        public = crypto_sign_ed25519_pk_to_curve25519(host)
    except (CryptoError, ValueError, TypeError):
        raise BadKey(f"{host.hex()} is not an ed25519 key.", "Choose another host.") from None
    return seal(bytes(public), data)


def open_as_host(signer: Ed25519Signer, sealed: bytes) -> bytes:
    """Open a box that was sealed for this host. Raises :class:`BadKey` where it is for another, or altered."""
    from nacl.signing import SigningKey  # noqa: PLC0415 - not all programs seal

    return open_sealed(bytes(SigningKey(signer.seed()).to_curve25519_private_key()), sealed)


def open_sealed(private: bytes, sealed: bytes) -> bytes:
    """Open a box with this X25519 private key. Raises :class:`BadKey` where it is for another, or altered."""
    from nacl.exceptions import CryptoError  # noqa: PLC0415 - not all programs seal
    from nacl.public import PrivateKey, SealedBox  # noqa: PLC0415

    try:
        return bytes(SealedBox(PrivateKey(private)).decrypt(sealed))
    except (CryptoError, ValueError, TypeError):
        raise BadKey("This key does not open it: it was sealed for another key, or altered.", "Use its key.") from None


def public_of(private: bytes) -> bytes:
    """The X25519 public key of a private key."""
    from nacl.public import PrivateKey  # noqa: PLC0415 - not all programs seal

    return bytes(PrivateKey(private).public_key)


def new_seal_key(path: Path) -> bytes:
    """Create an X25519 key file, readable by its owner only; return the public key. Never overwrites a file."""
    private = secrets.token_bytes(KEY_BYTES)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        secret_file.write_new(path, private.hex())
    except FileExistsError:
        raise BadKey(f"{path} exists already; a key is never overwritten.", "Choose another name.") from None
    except OSError as error:
        raise BadKey(f"The key {path} cannot be written: {error.strerror}.", "Choose another place.") from None
    return public_of(private)


def load_seal_key(path: Path) -> bytes:
    """Read an X25519 private key. Raises BadKey where others may read the file."""
    try:
        written = secret_file.read(path, _FILE_CHARS)
    except secret_file.OthersMayReadError:
        raise BadKey(f"The key {path} may be read by others.", f"Run: chmod 600 {path}") from None
    except OSError as error:
        raise BadKey(f"The key {path} cannot be read: {error.strerror}.", "Check the path.") from None
    try:
        private = bytes.fromhex(written)
    except ValueError:
        private = b""
    if len(private) != KEY_BYTES:
        raise BadKey(f"{path} is not a seal key.", "It has to be 64 hexadecimal digits: gantry account seal-key NAME.")
    return private
