"""Texts of sign-ins: what is accepted, and what is refused by name."""

from dataclasses import replace

import pytest

from offchain.gateway.api.sign_in_message import (
    LIFETIME_MS,
    MOST_SKEW_MS,
    SignInMessage,
    SignInRefused,
    chain_name,
    read_message,
)
from tests.support.history_blocks import GENESIS, TENANTS

NOW = 1_790_000_000_123
CHAIN = chain_name(f"0x{GENESIS.hex()}")
MESSAGE = SignInMessage("gateway.example.org", TENANTS[0], CHAIN, "ab" * 16, NOW, NOW + LIFETIME_MS)


def read(text, now_ms=NOW, domain="gateway.example.org", chain=CHAIN):
    return read_message(text, domain=domain, chain=chain, now_ms=now_ms)


def test_a_message_is_read_as_it_was_made():
    assert read(MESSAGE.text()) == MESSAGE
    assert read(MESSAGE.text(), now_ms=NOW + LIFETIME_MS - 1) == MESSAGE
    with_port = replace(MESSAGE, domain="localhost:8080")
    assert read(with_port.text(), domain="localhost:8080") == with_port


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"domain": "gateway.example.com"}, "for gateway.example.com, this gateway is gateway.example.org"),
        ({"domain": "gateway.example.org.evil.net"}, "for gateway.example.org.evil.net"),
        ({"chain": "00" * 16}, "another chain"),
        ({"expires_ms": NOW + LIFETIME_MS + 1}, "valid for longer than 300 s"),
        ({"issued_ms": NOW + 1, "expires_ms": NOW}, "valid for longer"),
        ({"issued_ms": NOW + MOST_SKEW_MS + 1, "expires_ms": NOW + MOST_SKEW_MS + 2}, "a later time"),
        ({"issued_ms": NOW - 1000, "expires_ms": NOW}, "expired"),
    ],
)
def test_other_messages_are_refused_by_name(changes, says):
    with pytest.raises(SignInRefused, match=says) as refused:
        read(replace(MESSAGE, **changes).text())
    assert refused.value.hint


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text + "\n",
        lambda text: text.replace("Version: 1", "Version: 2"),
        lambda text: text.replace("This costs nothing", "This costs little"),
        lambda text: text.replace("https://gateway.example.org", "https://evil.net"),
        lambda text: text.replace("Nonce: ab", "Nonce: AB"),
        lambda text: text.replace("Issued At: 2", "Issued At: 9999999"),
        lambda text: text.replace("\n", "\r\n"),
        lambda _: "",
    ],
)
def test_a_text_that_was_changed_is_refused(change):
    with pytest.raises(SignInRefused):
        read(change(MESSAGE.text()))


def test_a_time_that_does_not_exist_is_refused():
    text = MESSAGE.text()
    issued = text.partition("Issued At: ")[2][:24]
    with pytest.raises(SignInRefused, match="no valid times"):
        read(text.replace(issued, issued[:5] + "13" + issued[7:]))
