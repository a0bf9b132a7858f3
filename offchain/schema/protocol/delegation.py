"""Delegation of access to an account's pods to a session key, by a text that the account's wallet signs. Pure.

The text names the key, the operations, the chain and the times, so that a signature is of no use elsewhere or later. It
names no host, because the pods of a service move. The signature itself is checked by the server of a host or gateway.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Final

from offchain.schema.durations import HOUR_MS
from offchain.schema.manifest.values import check_address
from offchain.schema.protocol import fields as read
from offchain.schema.protocol.fields import WireError, decode, text_of
from offchain.schema.protocol.operations import Op
from offchain.schema.value_text import parse_utc_text, utc_text

MOST_LIFE_MS: Final = 12 * HOUR_MS
MOST_SKEW_MS: Final = 300_000
"""How far the clock of the page may be ahead of the host's."""
DELEGABLE: Final = (Op.LOGS, Op.RESULT, Op.EXEC)
"""Operations that a text may name, in the order in which it names them."""
MAX_TEXT: Final = 1024
_SIGNATURE_BYTES: Final = (64, 66)
_ADDRESS: Final = r"[1-9A-HJ-NP-Za-km-z]{46,49}"
_TEXT: Final = re.compile(
    r"(?P<domain>[A-Za-z0-9.:\[\]-]{1,253}) asks for access to the pods of your account:\n"
    rf"(?P<account>{_ADDRESS})\n\nKey: (?P<key>{_ADDRESS})\nMay: (?P<may>[a-z, ]{{1,80}})\n"
    r"Chain ID: polkadot:(?P<chain>[0-9a-f]{32})\nNonce: (?P<nonce>[0-9a-f]{32})\n"
    r"Issued At: (?P<issued>[0-9TZ:.-]{24})\nExpiration Time: (?P<expires>[0-9TZ:.-]{24})"
)


@dataclass(frozen=True, slots=True)
class Delegation:
    """What a text says: `key` may do `may` in the pods of `account`. Addresses are SS58, times Unix ms.

    `chain`: the first 32 hex digits of the genesis hash, as CAIP-2 names chains. `domain`: of the page that asked, for
    the person who signs; a host cannot check it.
    """

    domain: str
    account: str
    key: str
    may: tuple[Op, ...]
    chain: str
    nonce: str
    issued_ms: int
    expires_ms: int

    def text(self) -> str:
        """Return the text to be signed."""
        return (
            f"{self.domain} asks for access to the pods of your account:\n{self.account}\n\n"
            f"Key: {self.key}\nMay: {', '.join(self.may)}\nChain ID: polkadot:{self.chain}\nNonce: {self.nonce}\n"
            f"Issued At: {utc_text(self.issued_ms)}\nExpiration Time: {utc_text(self.expires_ms)}"
        )

    def allows(self, op: Op) -> bool:
        """Return whether the key may do this. Who may start programs may attach to its own; a gateway relays to all."""
        return op is Op.CARRY or (Op.EXEC if op is Op.ATTACH else op) in self.may


class DelegationError(ValueError):
    """A delegation that is not valid for a request. The text says what does not fit, and which value is needed."""


def chain_of(genesis_hash: bytes) -> str:
    """Return the name of a chain in delegations."""
    return genesis_hash.hex()[:32]


def parse_delegation(text: str) -> Delegation:
    """Return what a text says. Raise :class:`DelegationError` unless it is as :meth:`Delegation.text` writes."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise DelegationError("its text is not one of a delegation; make a new one")
    try:
        made = Delegation(
            found["domain"],
            check_address(found["account"]),
            check_address(found["key"]),
            tuple(Op(word) for word in found["may"].split(", ")),
            found["chain"],
            found["nonce"],
            parse_utc_text(found["issued"]),
            parse_utc_text(found["expires"]),
        )
    except ValueError as error:
        raise DelegationError(f"its text has a value that cannot be read: {error}") from None
    if made.text() != text:
        raise DelegationError("its text is not as it is written by the protocol; make a new one")
    if made.may != tuple(op for op in DELEGABLE if op in made.may):
        raise DelegationError(f"it names {', '.join(made.may)}; it may name {', '.join(DELEGABLE)}, in this order")
    return made


def check_delegation(text: str, *, genesis_hash: bytes, key: str, op: Op, now_ms: int) -> Delegation:
    """Return what a text says, if `key` may do `op` on this chain now. Raise :class:`DelegationError`.

    The signature of the account under the text remains to be checked.
    """
    made = parse_delegation(text)
    if made.chain != chain_of(genesis_hash):
        raise DelegationError(f"it is for the chain {made.chain}, and this is {chain_of(genesis_hash)}")
    if not 0 < made.expires_ms - made.issued_ms <= MOST_LIFE_MS:
        raise DelegationError(f"it lasts {made.expires_ms - made.issued_ms} ms, and at most {MOST_LIFE_MS} are allowed")
    if made.issued_ms > now_ms + MOST_SKEW_MS:
        raise DelegationError(f"it is valid from {utc_text(made.issued_ms)}, and it is {utc_text(now_ms)} here")
    if made.expires_ms <= now_ms:
        raise DelegationError(f"it expired at {utc_text(made.expires_ms)}; sign a new one")
    if not made.allows(op):
        raise DelegationError(f"it allows {', '.join(made.may)}, and not {op}")
    if made.key != key:
        raise DelegationError(f"it is for the key {made.key}, and {key} signed the request")
    return made


def _signature(fields: dict[str, Any], name: str) -> bytes:
    digits = read.text(fields, name, 2 * _SIGNATURE_BYTES[1])
    try:
        found = bytes.fromhex(digits)
    except ValueError:
        found = b""
    if not _SIGNATURE_BYTES[0] <= len(found) <= _SIGNATURE_BYTES[1] or found.hex() != digits:
        raise WireError(f"{name} must be 64 to 66 bytes in lower-case hexadecimal digits")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedDelegation:
    """A text and the wallet's signature of it: 64 bytes, or up to 66 with the kind of key and for ecdsa."""

    text: Annotated[str, text_of(MAX_TEXT)]
    signature: Annotated[bytes, _signature]

    @property
    def account(self) -> str:
        """Return the account that the text names, whether or not it has signed it. Raise :class:`DelegationError`."""
        return parse_delegation(self.text).account

    def fields(self) -> dict[str, Any]:
        """Return the fields of the JSON object."""
        return {"text": self.text, "signature": self.signature.hex()}


def signed_delegation(fields: Any) -> SignedDelegation:
    """Return the delegation in a JSON object of a request. Raise :class:`WireError`."""
    if not isinstance(fields, dict):
        raise WireError("delegation must be an object")
    return decode(SignedDelegation, fields)
