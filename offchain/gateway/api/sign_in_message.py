"""The text that a wallet signs to sign in (CAIP-122): made, read and checked. Pure.

It names the domain, so that a signature given to another site is of no use here; the chain; a nonce, which is used
once; and the times between which it is valid.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from offchain.errors import GantryError
from offchain.schema.value_text import parse_utc_text, utc_text

LIFETIME_MS: Final = 300_000
"""How long a message can be used."""
MOST_SKEW_MS: Final = 60_000
"""How far the clocks of two gateways may differ."""
NONCE_DIGITS: Final = 32
_TEXT: Final = re.compile(
    r"(?P<domain>[^\s]{1,253}) wants you to sign in with your Gantry account:\n"
    r"(?P<account>[1-9A-HJ-NP-Za-km-z]{46,49})\n\n"
    r"Sign in to the Gantry gateway\. This costs nothing and sends nothing to the chain\.\n\n"
    r"URI: https://(?P<uri>[^\s]{1,253})\nVersion: 1\nChain ID: polkadot:(?P<chain>[0-9a-f]{32})\n"
    rf"Nonce: (?P<nonce>[0-9a-f]{{{NONCE_DIGITS}}})\n"
    r"Issued At: (?P<issued>[0-9TZ:.-]{24})\nExpiration Time: (?P<expires>[0-9TZ:.-]{24})"
)


class SignInRefused(GantryError):  # noqa: N818
    """A sign-in that is not accepted."""

    code = "sign_in_refused"


@dataclass(frozen=True, slots=True)
class SignInMessage:
    """A message. `chain`: the first 32 hex digits of the genesis hash. Times are Unix ms."""

    domain: str
    account: str
    chain: str
    nonce: str
    issued_ms: int
    expires_ms: int

    def text(self) -> str:
        """Return the text to be signed."""
        return (
            f"{self.domain} wants you to sign in with your Gantry account:\n{self.account}\n\n"
            "Sign in to the Gantry gateway. This costs nothing and sends nothing to the chain.\n\n"
            f"URI: https://{self.domain}\nVersion: 1\nChain ID: polkadot:{self.chain}\nNonce: {self.nonce}\n"
            f"Issued At: {utc_text(self.issued_ms)}\nExpiration Time: {utc_text(self.expires_ms)}"
        )


def chain_name(genesis_hash: str) -> str:
    """Return the chain's name in messages: the first digits of the genesis hash, as CAIP-2 says for Polkadot."""
    return genesis_hash.removeprefix("0x")[:32]


def read_message(text: str, *, domain: str, chain: str, now_ms: int) -> SignInMessage:
    """Return a message that can be used now, here. Raises SignInRefused, which names what does not fit."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise SignInRefused("The message is not one of this gateway.", "Sign the message of POST /v1/sign-in/message.")
    try:
        issued_ms, expires_ms = parse_utc_text(found["issued"]), parse_utc_text(found["expires"])
    except ValueError:
        raise SignInRefused("The message has no valid times.", "Sign the message as it was given.") from None
    message = SignInMessage(found["domain"], found["account"], found["chain"], found["nonce"], issued_ms, expires_ms)
    if message.domain != domain or message.text() != text:
        raise SignInRefused(
            f"The message is for {message.domain}, this gateway is {domain}.",
            f"Sign in at {message.domain}; if you are on another page, it may be an attempt to take your account.",
        )
    if message.chain != chain:
        raise SignInRefused("The message is for another chain.", "Sign in at a gateway of that chain.")
    if not expires_ms - LIFETIME_MS <= issued_ms <= expires_ms:
        raise SignInRefused(
            f"The message is valid for longer than {LIFETIME_MS // 1000} s.", "Sign the message as it was given."
        )
    if issued_ms > now_ms + MOST_SKEW_MS:
        raise SignInRefused("The message is of a later time.", "Set the clocks of the gateways.")
    if expires_ms <= now_ms:
        raise SignInRefused(
            f"The message expired at {utc_text(expires_ms)}.",
            "Ask for a new message, and sign it within five minutes.",
        )
    return message
