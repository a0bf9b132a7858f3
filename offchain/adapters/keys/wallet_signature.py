"""Signatures of wallets over texts and payloads: sr25519, ed25519 or ecdsa, as polkadot.js makes them."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import verify

_WRAPPED: Final = (b"<Bytes>", b"</Bytes>")
"""What polkadot.js puts around a text, so that it cannot be the payload of an extrinsic."""
_PREFIXES: Final = {0: "ed25519", 1: "sr25519", 2: "ecdsa"}
"""The first byte of a `MultiSignature`, which some wallets return."""
_SHORT: Final = 64
_ECDSA: Final = 65


def is_signed_by(address: str, text: str, signature: bytes) -> bool:
    """Return whether the key of this account signed the text, with or without `<Bytes>` around it."""
    plain = text.encode()
    payloads = (plain, _WRAPPED[0] + plain + _WRAPPED[1])
    return any(multi_signature(address, payload, signature) is not None for payload in payloads)


def multi_signature(address: str, payload: bytes, signature: bytes) -> dict[str, bytes] | None:
    """Return the signature as a `MultiSignature` in plain form; None if it is not one of this payload by the account.

    The kind of key is not known: the ones that the length allows are tried, at most three.
    """
    account = ss58.decode(address)
    for crypto, bare in _candidates(signature):
        if _verify(account, crypto, payload, bare):
            return {crypto.capitalize(): bare}
    return None


def _candidates(signature: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the kinds of signature that these bytes may be, each with the bytes after a prefix."""
    if len(signature) == _SHORT:
        yield "sr25519", signature
        yield "ed25519", signature
    elif len(signature) == _ECDSA:
        if _PREFIXES.get(signature[0]) in ("ed25519", "sr25519"):
            yield _PREFIXES[signature[0]], signature[1:]
        yield "ecdsa", signature
    elif len(signature) == _ECDSA + 1 and _PREFIXES.get(signature[0]) == "ecdsa":
        yield "ecdsa", signature[1:]


def _verify(account: bytes, crypto: str, payload: bytes, signature: bytes) -> bool:
    if crypto != "ecdsa":
        return verify(account, crypto, payload, signature)
    from coincurve import PublicKey  # noqa: PLC0415 - only accounts with such keys need it

    digest = blake2b(payload, digest_size=32).digest()
    try:
        key = PublicKey.from_signature_and_message(signature, digest, hasher=None)
    except Exception:  # noqa: BLE001 - the library raises Exception itself for a signature that fits no key
        return False
    # An account with an ecdsa key is the hash of the key.
    return blake2b(key.format(compressed=True), digest_size=32).digest() == account
