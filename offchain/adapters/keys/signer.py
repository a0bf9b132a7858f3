"""Signing accounts: from a URI (`//Alice`, a phrase, a seed), a host's key file, or a polkadot.js keystore.

Secrets stay inside the signers: their repr and messages do not show them, and they cannot be pickled or copied.
"""

from __future__ import annotations

import re
import secrets
from hashlib import blake2b
from pathlib import Path
from typing import Literal, NoReturn

from offchain.adapters.keys import secret_file, ss58
from offchain.errors import BadKey
from offchain.ports import Signer
from offchain.schema.chain_types.values import compact

Crypto = Literal["sr25519", "ed25519"]

DEV_PHRASE = "bottom drive obey lake curtain smoke basket hold race lonely fit walk"
_URI = re.compile(r"^(?P<phrase>[^/]*)(?P<path>(//?[^/]+)*)(///(?P<password>.*))?$", re.DOTALL)
_JUNCTION = re.compile(r"/(/?)([^/]+)")
_SEED_LENGTH = 32
_CONTEXT_FOR_CHILD = b""


class _SecretKey:
    """Base of signers: keeps the secret out of reprs, pickles and copies."""

    __slots__ = ("_public",)
    _public: bytes

    @property
    def address(self) -> str:
        """SS58, prefix 42."""
        return ss58.encode(self._public)

    @property
    def public_key(self) -> bytes:
        """32 bytes."""
        return self._public

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.address}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a signer cannot be copied or stored")


class Sr25519Signer(_SecretKey):
    """A signer with a Schnorr key on Ristretto (sr25519), as most accounts have."""

    __slots__ = ("_pair",)
    crypto = "sr25519"

    def __init__(self, public: bytes, private: bytes) -> None:
        self._public = public
        self._pair = (public, private)

    @classmethod
    def from_seed(cls, seed: bytes) -> Sr25519Signer:
        """Return the signer of a 32-byte seed."""
        import sr25519  # noqa: PLC0415 - not all programs sign

        return cls(*sr25519.pair_from_seed(_checked_seed(seed)))

    def sign(self, payload: bytes) -> bytes:
        """A signature of 64 bytes; different each time."""
        import sr25519  # noqa: PLC0415 - not all programs sign

        return bytes(sr25519.sign(self._pair, payload))

    def private_key(self) -> bytes:
        """The 64 secret bytes, for keystore files only."""
        return self._pair[1]

    def derived(self, chain_code: bytes, *, hard: bool) -> Sr25519Signer:
        """The child account."""
        import sr25519  # noqa: PLC0415 - not all programs sign

        derive = sr25519.hard_derive_keypair if hard else sr25519.derive_keypair
        _, public, private = derive((chain_code, *self._pair), _CONTEXT_FOR_CHILD)
        return Sr25519Signer(bytes(public), bytes(private))


class Ed25519Signer(_SecretKey):
    """A signer with an ed25519 key, as hosts have."""

    __slots__ = ("_key", "_seed")
    crypto = "ed25519"

    def __init__(self, seed: bytes) -> None:
        from nacl.signing import SigningKey  # noqa: PLC0415 - not all programs sign

        self._seed = _checked_seed(seed)
        self._key = SigningKey(self._seed)
        self._public = bytes(self._key.verify_key)

    def sign(self, payload: bytes) -> bytes:
        """A signature of 64 bytes; always the same."""
        return bytes(self._key.sign(payload).signature)

    def seed(self) -> bytes:
        """The 32 secret bytes, for the network endpoint and keystore files only."""
        return self._seed

    def derived(self, chain_code: bytes) -> Ed25519Signer:
        """The hard child account; ed25519 has no soft children."""
        label = b"Ed25519HDKD"
        return Ed25519Signer(
            blake2b(compact(len(label)) + label + self._seed + chain_code, digest_size=_SEED_LENGTH).digest()
        )


def _checked_seed(seed: bytes) -> bytes:
    if len(seed) != _SEED_LENGTH:
        raise BadKey(f"A seed has {_SEED_LENGTH} bytes, this one has {len(seed)}.")
    return bytes(seed)


def verify(public_key: bytes, crypto: str, payload: bytes, signature: bytes) -> bool:
    """Whether the signature of the payload was made with the private key of `public_key`."""
    if len(public_key) != _SEED_LENGTH or len(signature) != 2 * _SEED_LENGTH:
        return False
    if crypto == "sr25519":
        import sr25519  # noqa: PLC0415 - not all programs verify

        try:
            return bool(sr25519.verify(signature, payload, public_key))
        except ValueError:
            return False
    if crypto != "ed25519":
        raise BadKey(f"{crypto!r} is not a kind of key.", "Use sr25519 or ed25519.")
    from nacl.exceptions import BadSignatureError  # noqa: PLC0415 - not all programs verify
    from nacl.signing import VerifyKey  # noqa: PLC0415

    try:
        VerifyKey(public_key).verify(payload, signature)
    except (BadSignatureError, ValueError):
        return False
    return True


def chain_code(junction: str) -> bytes:
    """The 32-byte chain code of a part of a derivation path."""
    if junction.isascii() and junction.isdigit() and int(junction) < 1 << 64:
        raw = int(junction).to_bytes(8, "little")
    else:
        text = junction.encode()
        raw = compact(len(text)) + text
    return (
        blake2b(raw, digest_size=_SEED_LENGTH).digest() if len(raw) > _SEED_LENGTH else raw.ljust(_SEED_LENGTH, b"\0")
    )


def from_uri(uri: str, crypto: Crypto = "sr25519") -> Signer:
    """The account of a secret URI: `//Alice`, `phrase//hard/soft///password` or `0xseed//hard`."""
    match = _URI.match(uri.strip())
    if match is None:
        raise BadKey("This is not a secret URI.", "Use one like //Alice, or a phrase of 12 words.")
    seed = _seed_of(match["phrase"].strip() or DEV_PHRASE, match["password"] or "")
    junctions = [(double == "/", name) for double, name in _JUNCTION.findall(match["path"])]
    if crypto == "sr25519":
        account = Sr25519Signer.from_seed(seed)
        for hard, name in junctions:
            account = account.derived(chain_code(name), hard=hard)
        return account
    host = Ed25519Signer(seed)
    for hard, name in junctions:
        if not hard:
            raise BadKey("An ed25519 key has no soft children (/).", "Use hard ones (//).")
        host = host.derived(chain_code(name))
    return host


def _seed_of(phrase: str, password: str) -> bytes:
    if phrase.startswith("0x"):
        try:
            return _checked_seed(bytes.fromhex(phrase[2:]))
        except ValueError:
            raise BadKey("The seed is not written in hexadecimal digits.", "Give 0x and 64 digits.") from None
    import bip39  # noqa: PLC0415 - not all programs sign

    words = " ".join(phrase.split())
    if not bip39.bip39_validate(words, "en"):
        raise BadKey("This is not a valid secret phrase.", "Check the words and their order; there are 12 to 24.")
    return bytes(bip39.bip39_to_mini_secret(words, password, "en"))


def new_host_key(path: Path) -> Ed25519Signer:
    """Create a host's key file, readable by its owner only. Never overwrites a file."""
    seed = secrets.token_bytes(_SEED_LENGTH)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        secret_file.write_new(path, seed.hex())
    except FileExistsError:
        raise BadKey(f"{path} exists already; a host's key is never overwritten.", "Use it, or move it away.") from None
    except OSError as error:
        raise BadKey(f"The host key {path} cannot be written: {error.strerror}.", "Choose another place.") from None
    return Ed25519Signer(seed)


def load_host_key(path: Path) -> Ed25519Signer:
    """Read a host's key. Raises BadKey where others may read the file."""
    try:
        text = secret_file.read(path, 4 * _SEED_LENGTH)
    except secret_file.OthersMayReadError:
        raise BadKey(f"The host key {path} may be read by others.", f"Run: chmod 600 {path}") from None
    except OSError as error:
        raise BadKey(f"The host key {path} cannot be read: {error.strerror}.", "Run the agent's setup again.") from None
    try:
        return Ed25519Signer(bytes.fromhex(text))
    except (ValueError, BadKey):
        raise BadKey(f"{path} is not a host key.", "It has to be 64 hexadecimal digits.") from None
