"""SS58 addresses: base58 of prefix, public key and a two-byte BLAKE2b checksum."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

from offchain.errors import BadKey

PREFIX = 42
_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGIT = {char: value for value, char in enumerate(_ALPHABET)}
_KEY_LENGTH = 32
_CHECKSUM_LENGTH = 2


def _checksum(payload: bytes) -> bytes:
    return blake2b(b"SS58PRE" + payload).digest()[:_CHECKSUM_LENGTH]


def _prefix_bytes(prefix: int) -> bytes:
    if 0 <= prefix < 64:
        return bytes([prefix])
    if prefix < 16384:
        return bytes([((prefix & 0xFC) >> 2) | 0x40, (prefix >> 8) | ((prefix & 0b11) << 6)])
    raise BadKey(f"{prefix} is not an SS58 prefix.", "Prefixes go from 0 to 16383.")


@lru_cache(maxsize=16384)
def encode(public_key: bytes, prefix: int = PREFIX) -> str:
    """The address of a 32-byte public key."""
    if len(public_key) != _KEY_LENGTH:
        raise BadKey(f"A public key has {_KEY_LENGTH} bytes, this one has {len(public_key)}.")
    payload = _prefix_bytes(prefix) + public_key
    data = payload + _checksum(payload)
    number = int.from_bytes(data, "big")
    chars: list[str] = []
    while number:
        number, digit = divmod(number, 58)
        chars.append(_ALPHABET[digit])
    zeros = len(data) - len(data.lstrip(b"\0"))
    return _ALPHABET[0] * zeros + "".join(reversed(chars))


@lru_cache(maxsize=16384)
def decode(address: str, prefix: int | None = None) -> bytes:
    """The 32-byte public key of an address. With `prefix`, an address of another network is refused."""
    number = 0
    for char in address:
        digit = _DIGIT.get(char)
        if digit is None:
            raise BadKey(f"{address!r} is not an address: {char!r} does not occur in addresses.", "Check the spelling.")
        number = number * 58 + digit
    zeros = len(address) - len(address.lstrip(_ALPHABET[0]))
    data = b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8, "big")
    prefix_length = 2 if data and data[0] & 0x40 else 1
    if len(data) != prefix_length + _KEY_LENGTH + _CHECKSUM_LENGTH:
        raise BadKey(f"{address!r} is not the address of an account: it has a wrong length.", "Check the spelling.")
    if _checksum(data[:-_CHECKSUM_LENGTH]) != data[-_CHECKSUM_LENGTH:]:
        raise BadKey(f"{address!r} is not an address: its check digits do not fit.", "Check the spelling.")
    if prefix is not None and data[:prefix_length] != _prefix_bytes(prefix):
        raise BadKey(f"{address!r} is an address of another network.", f"Give an address with prefix {prefix}.")
    return data[prefix_length:-_CHECKSUM_LENGTH]


def is_address(text: str) -> bool:
    """Whether the text is an account's address."""
    try:
        decode(text)
    except BadKey:
        return False
    return True
