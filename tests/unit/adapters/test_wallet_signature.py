"""Signatures of wallets over a text, in all the forms in which they come."""

from hashlib import blake2b

import coincurve
import pytest

from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.keys.wallet_signature import is_signed_by

TEXT = "gateway.example.org wants you to sign in\n\nGrüße"
WRAPPED = b"<Bytes>" + TEXT.encode() + b"</Bytes>"
ECDSA_KEY = bytes(range(1, 33))


def ecdsa():
    """Return the address of an ecdsa account, and a function that signs with it."""
    key = coincurve.PrivateKey(ECDSA_KEY)
    address = ss58.encode(blake2b(key.public_key.format(compressed=True), digest_size=32).digest())
    return address, lambda data: key.sign_recoverable(blake2b(data, digest_size=32).digest(), hasher=None)


def signers():
    alice, host = from_uri("//Alice"), from_uri("//Alice", "ed25519")
    yield "sr25519", alice.address, alice.sign, 1
    yield "ed25519", host.address, host.sign, 0


@pytest.mark.parametrize("payload", [TEXT.encode(), WRAPPED])
@pytest.mark.parametrize("is_prefixed", [False, True])
@pytest.mark.parametrize(("kind", "address", "sign", "prefix"), list(signers()))
def test_the_text_is_accepted_with_and_without_wrapping(kind, address, sign, prefix, is_prefixed, payload):
    del kind
    signature = (bytes([prefix]) if is_prefixed else b"") + sign(payload)
    assert is_signed_by(address, TEXT, signature)
    assert not is_signed_by(address, TEXT + ".", signature)
    assert not is_signed_by(from_uri("//Bob").address, TEXT, signature)
    assert not is_signed_by(address, TEXT, bytes([signature[0] ^ 1]) + signature[1:])


@pytest.mark.parametrize("payload", [TEXT.encode(), WRAPPED])
@pytest.mark.parametrize("prefix", [b"", b"\x02"])
def test_an_ecdsa_account_is_the_hash_of_its_key(payload, prefix):
    address, sign = ecdsa()
    signature = prefix + sign(payload)
    assert is_signed_by(address, TEXT, signature)
    assert not is_signed_by(address, TEXT + ".", signature)
    assert not is_signed_by(from_uri("//Bob").address, TEXT, signature)


@pytest.mark.parametrize("length", [0, 64, 65, 66, 67])
@pytest.mark.parametrize("first", [b"\0", b"\1", b"\2", b"\xff"])
def test_bytes_that_are_no_signature_are_refused(first, length):
    assert not is_signed_by(from_uri("//Alice").address, TEXT, (first + bytes(length))[:length])


def test_a_signature_of_an_extrinsic_is_none_of_a_text():
    """A wallet wraps texts so that they cannot be payloads; a payload is accepted only if it is exactly the text."""
    alice = from_uri("//Alice")
    assert not is_signed_by(alice.address, TEXT, alice.sign(b"<Bytes>" + TEXT.encode()))
