"""Keystore files as polkadot.js writes them (encoding version 3): scrypt, then xsalsa20-poly1305, over PKCS #8."""

from __future__ import annotations

import base64
import binascii
import json
import secrets
from hashlib import scrypt
from pathlib import Path
from typing import Any

from offchain.adapters.keys import secret_file, ss58
from offchain.adapters.keys.signer import Ed25519Signer, Sr25519Signer
from offchain.clock import unix_ms
from offchain.errors import BadKey
from offchain.ports import Signer

# ASN.1 around a 64-byte secret: "PrivateKeyInfo, version 1, algorithm 1.3.101.112, octets".
_HEADER = bytes.fromhex("3053020101300506032b657004220420")
_DIVIDER = bytes.fromhex("a123032100")
_SECRET = 64
_PUBLIC = 32
_SALT = 32
_NONCE = 24
_N, _R, _P = 1 << 15, 8, 1
_MOST_MEMORY = 1 << 29


def _key(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    memory = 128 * n * r
    if memory > _MOST_MEMORY or not 0 < p <= 16 or n < 2 or n & (n - 1) or r < 1:
        raise BadKey("The keystore asks for an unusual amount of work to be opened.", "Export the account again.")
    return scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=2 * memory + (1 << 20), dklen=64)[:32]


def decrypt(document: dict[str, Any], password: str) -> Signer:
    """The account in a keystore. BadKey where the password or the format is wrong."""
    from nacl.exceptions import CryptoError  # noqa: PLC0415 - not all programs sign
    from nacl.secret import SecretBox  # noqa: PLC0415

    encoding = document.get("encoding")
    if not isinstance(encoding, dict) or str(encoding.get("version")) != "3":
        raise BadKey("This is not a keystore of version 3.", "Export the account from a present wallet.")
    content, kinds = encoding.get("content"), encoding.get("type")
    if kinds != ["scrypt", "xsalsa20-poly1305"] or not isinstance(content, list) or content[:1] != ["pkcs8"]:
        raise BadKey("The keystore is encrypted in a way that is not known here.", "Export it with a password.")
    try:
        raw = base64.b64decode(document["encoded"], validate=True)
    except (KeyError, TypeError, binascii.Error):
        raise BadKey("The keystore is damaged: its secret cannot be read.", "Export the account again.") from None
    n, p, r = (int.from_bytes(raw[_SALT + 4 * i : _SALT + 4 * i + 4], "little") for i in range(3))
    box = raw[_SALT + 12 :]
    if len(box) < _NONCE + len(_HEADER):
        raise BadKey("The keystore is damaged: it ends too early.", "Export the account again.")
    try:
        plain = SecretBox(_key(password, raw[:_SALT], n, r, p)).decrypt(box[_NONCE:], box[:_NONCE])
    except CryptoError:
        raise BadKey("The password does not open this keystore.", "Try again.") from None
    return _account(plain, content[1] if len(content) > 1 else "", document.get("address"))


def _account(plain: bytes, crypto: str, address: Any) -> Signer:
    secret = plain[len(_HEADER) : len(_HEADER) + _SECRET]
    rest = plain[len(_HEADER) + _SECRET :]
    if plain[: len(_HEADER)] != _HEADER or rest[: len(_DIVIDER)] != _DIVIDER or len(rest) != len(_DIVIDER) + _PUBLIC:
        raise BadKey("The keystore holds something other than an account's key.", "Export the account again.")
    signer: Signer
    if crypto == "sr25519":
        import sr25519  # noqa: PLC0415 - not all programs sign

        # Wallets store the key in ed25519's form, multiplied by the cofactor.
        signer = Sr25519Signer(*(bytes(part) for part in sr25519.pair_from_ed25519_secret_key(secret)))
    elif crypto == "ed25519":
        signer = Ed25519Signer(secret[:32])
    else:
        raise BadKey(f"Keys of kind {crypto!r} are not used here.", "Use an sr25519 or ed25519 account.")
    expected = rest[len(_DIVIDER) :]
    if signer.public_key != expected or (isinstance(address, str) and ss58.decode(address) != expected):
        raise BadKey("The keystore's secret and address do not belong together.", "Export the account again.")
    return signer


def encrypt(signer: Sr25519Signer | Ed25519Signer, password: str, name: str = "") -> dict[str, Any]:
    """Return a keystore that polkadot.js and wallets built on it can open."""
    from nacl.secret import SecretBox  # noqa: PLC0415 - not all programs sign

    if isinstance(signer, Sr25519Signer):
        import sr25519  # noqa: PLC0415 - not all programs sign

        secret = bytes(sr25519.convert_secret_key_to_ed25519(signer.private_key()))
    else:
        secret = signer.seed() + signer.public_key
    salt, nonce = secrets.token_bytes(_SALT), secrets.token_bytes(_NONCE)
    plain = _HEADER + secret + _DIVIDER + signer.public_key
    box = SecretBox(_key(password, salt, _N, _R, _P)).encrypt(plain, nonce)
    work = b"".join(value.to_bytes(4, "little") for value in (_N, _P, _R))
    return {
        "address": signer.address,
        "encoded": base64.b64encode(salt + work + bytes(box)).decode(),
        "encoding": {"content": ["pkcs8", signer.crypto], "type": ["scrypt", "xsalsa20-poly1305"], "version": "3"},
        "meta": {"name": name, "whenCreated": unix_ms()},
    }


def load(path: Path, password: str) -> Signer:
    """The account in a keystore file."""
    try:
        document = json.loads(path.read_text())
    except OSError as error:
        raise BadKey(f"The keystore {path} cannot be read: {error.strerror}.", "Check the path.") from None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise BadKey(f"{path} is not a keystore.", "Give the JSON file that a wallet exports.")
    return decrypt(document, password)


def save(path: Path, signer: Sr25519Signer | Ed25519Signer, password: str, name: str = "") -> None:
    """Write a keystore file, readable by its owner only. Never overwrites one."""
    document = json.dumps(encrypt(signer, password, name), indent=1)
    try:
        secret_file.write_new(path, document)
    except FileExistsError:
        raise BadKey(f"{path} exists already; a keystore is never overwritten.", "Choose another name.") from None
    except OSError as error:
        raise BadKey(f"The keystore {path} cannot be written: {error.strerror}.", "Choose another place.") from None
