"""Texts by which a wallet delegates access to pods: which are valid, for what, and what requests carry."""

import dataclasses
import json
from pathlib import Path

import pytest

from offchain.adapters.keys.signer import from_uri
from offchain.adapters.keys.wallet_signature import is_signed_by
from offchain.schema.protocol.delegation import (
    DELEGABLE,
    MAX_TEXT,
    MOST_LIFE_MS,
    MOST_SKEW_MS,
    Delegation,
    DelegationError,
    SignedDelegation,
    chain_of,
    check_delegation,
    parse_delegation,
)
from offchain.schema.protocol.fields import WireError
from offchain.schema.protocol.messages import Request
from offchain.schema.protocol.operations import LogsArgs, Op

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "delegation.json").read_text(encoding="utf-8"))
NOW_MS, GENESIS = VECTORS["now_ms"], bytes.fromhex(VECTORS["genesis_hash"])
(VALID,) = VECTORS["valid"]
KEY = from_uri("//Session", "ed25519")


def made(**changes):
    found = Delegation(
        "console.example.org",
        VALID["account"],
        KEY.address,
        DELEGABLE,
        chain_of(GENESIS),
        "0f" * 16,
        NOW_MS - 1000,
        NOW_MS + 3_600_000,
    )
    return dataclasses.replace(found, **changes)


def checked(text, op=Op.LOGS, key=KEY.address, genesis=GENESIS, now_ms=NOW_MS):
    return check_delegation(text, genesis_hash=genesis, key=key, op=op, now_ms=now_ms)


def test_a_text_says_what_it_was_made_of():
    found = parse_delegation(VALID["text"])
    assert found == made()
    assert found.text() == VALID["text"]
    assert [op.value for op in found.may] == VALID["may"]
    assert (found.key, found.chain, found.nonce) == (VALID["key"], VALID["chain"], VALID["nonce"])
    assert (found.issued_ms, found.expires_ms) == (VALID["issued_ms"], VALID["expires_ms"])


@pytest.mark.parametrize("name", ["signature", "signature_with_bytes"])
def test_the_vectors_are_signed_by_their_account(name):
    signature = bytes.fromhex(VALID[name])
    assert is_signed_by(VALID["account"], VALID["text"], signature)
    assert not is_signed_by(VALID["account"], VALID["text"] + " ", signature)


@pytest.mark.parametrize(
    "text", [one["text"] for one in VECTORS["invalid"]], ids=[x["name"] for x in VECTORS["invalid"]]
)
def test_any_other_text_is_refused(text):
    with pytest.raises(DelegationError):
        parse_delegation(text)


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        (made(), {"genesis": b"h" * 32}, "for the chain"),
        (made(), {"key": VALID["account"]}, "for the key"),
        (made(may=(Op.LOGS,)), {"op": Op.EXEC}, "allows logs, and not exec"),
        (made(may=(Op.LOGS,)), {"op": Op.ATTACH}, "and not attach"),
        (made(), {"op": Op.PUT}, "and not put"),
        (made(), {"op": Op.DELIVER}, "and not deliver"),
        (made(), {"op": Op.RECEIPT}, "and not receipt"),
        (made(), {"op": Op.SERVE}, "and not serve"),
        (made(expires_ms=NOW_MS), {}, "expired at 2027"),
        (made(issued_ms=NOW_MS - 1, expires_ms=NOW_MS + MOST_LIFE_MS), {}, "at most"),
        (made(issued_ms=NOW_MS, expires_ms=NOW_MS), {}, "lasts 0 ms"),
        (made(issued_ms=NOW_MS + MOST_SKEW_MS + 1), {}, "valid from"),
    ],
)
def test_what_does_not_fit_is_named(text, options, says):
    with pytest.raises(DelegationError, match=says):
        checked(text.text(), **options)


@pytest.mark.parametrize("op", [*DELEGABLE, Op.ATTACH, Op.CARRY])
def test_the_key_may_do_what_the_text_names(op):
    assert checked(made(issued_ms=NOW_MS + MOST_SKEW_MS).text(), op).account == VALID["account"]


def request(delegation):
    return Request(
        args=LogsArgs(),
        account=KEY.address,
        nonce="0f" * 16,
        expires_ms=NOW_MS,
        crypto="ed25519",
        lease=7,
        signature=b"\1" * 64,
        delegation=delegation,
    )


SIGNED = SignedDelegation(text=VALID["text"], signature=bytes.fromhex(VALID["signature"]))


def test_a_request_with_a_delegation_survives_the_wire_and_has_another_version():
    sent = request(SIGNED)
    assert Request.decode(sent.encode()) == sent
    assert (sent.tenant, sent.version) == (VALID["account"], 3)
    own = request(None)
    assert (own.tenant, own.version) == (KEY.address, 2)
    payload = sent.payload(GENESIS, b"H" * 32)
    assert payload.startswith(b"gantry/request/v3" + GENESIS)
    assert VALID["signature"].encode() in payload


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"delegation": None}, "delegation"),
        ({"delegation": "x"}, "delegation"),
        ({"delegation": {"text": VALID["text"]}}, "signature"),
        ({"delegation": SIGNED.fields() | {"more": 1}}, "more"),
        ({"delegation": SIGNED.fields() | {"text": "x" * (MAX_TEXT + 1)}}, "text"),
        ({"delegation": SIGNED.fields() | {"signature": "00" * 63}}, "signature"),
        ({"delegation": SIGNED.fields() | {"signature": "AA" * 64}}, "signature"),
        ({"delegation": SIGNED.fields() | {"signature": "zz" * 64}}, "signature"),
        ({"v": 2}, "delegation"),
        ({"v": 4}, "version"),
        ({"v": True}, "version"),
    ],
)
def test_a_malformed_delegation_is_named(change, says):
    with pytest.raises(WireError, match=says):
        Request.decode(json.dumps(json.loads(request(SIGNED).encode()) | change).encode())
