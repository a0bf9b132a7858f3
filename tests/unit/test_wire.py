"""Frames, requests and endpoint texts."""

import json

import pytest

from offchain.schema.wire import (
    MAX_FRAME,
    Answer,
    Code,
    Op,
    Refusal,
    Request,
    WireError,
    decode_reply,
    endpoint_text,
    frame,
    frame_length,
    parse_endpoint,
)

REQUEST = Request(
    op=Op.LOGS,
    account="5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY",
    nonce="0f" * 16,
    expires_ms=1_800_000_000_000,
    crypto="sr25519",
    lease=7,
    follow=True,
    signature=b"\1" * 64,
)


def test_a_request_survives_the_wire():
    assert Request.decode(REQUEST.encode()) == REQUEST


def test_the_signed_bytes_are_fixed():
    assert REQUEST.payload(b"G" * 32, b"H" * 32) == (
        b"gantry/request/v1" + b"G" * 32 + b"H" * 32 + b'{"account":"5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY",'
        b'"crypto":"sr25519","expires_ms":1800000000000,"follow":true,"lease":7,'
        b'"nonce":"0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f","op":"logs","v":1}'
    )


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"v": 2}, "version"),
        ({"op": "rm"}, "op"),
        ({"lease": None}, "lease"),
        ({"lease": True}, "lease"),
        ({"lease": 2**64}, "lease"),
        ({"follow": 1}, "follow"),
        ({"account": "x" * 65}, "account"),
        ({"nonce": "0f"}, "nonce"),
        ({"nonce": "zz" * 16}, "nonce"),
        ({"expires_ms": -1}, "expires_ms"),
        ({"expires_ms": 1.5}, "expires_ms"),
        ({"crypto": "rsa"}, "crypto"),
        ({"signature": "xyz"}, "signature"),
    ],
)
def test_a_bad_field_is_named(change, named):
    with pytest.raises(WireError, match=named):
        Request.decode(json.dumps(json.loads(REQUEST.encode()) | change).encode())


@pytest.mark.parametrize("reply", [Answer(Op.RESULT, 5), Answer(Op.LOGS), Refusal(Code.GONE, "Gone.", "Run it again.")])
def test_a_reply_survives_the_wire(reply):
    assert decode_reply(reply.encode()) == reply


def test_a_code_of_a_newer_host_is_still_a_refusal():
    newer = json.dumps({"v": 1, "ok": False, "code": "TooHot", "message": "m", "remedy": "r"}).encode()
    assert decode_reply(newer) == Refusal(Code.INTERNAL, "m", "r")


def test_frames_are_bounded_both_ways():
    assert frame(b"ab") == b"\0\0\0\2ab"
    assert frame_length(b"\0\x10\0\0") == MAX_FRAME
    with pytest.raises(WireError):
        frame(b"x" * (MAX_FRAME + 1))
    with pytest.raises(WireError):
        frame_length(b"\0\x10\0\1")


def test_endpoints_survive_the_chain():
    addresses = ("192.0.2.1:4434", "[2001:db8::1]:4434")
    assert parse_endpoint(endpoint_text(addresses)) == addresses
    assert parse_endpoint(b"") == ()


@pytest.mark.parametrize("bad", [b"192.0.2.1", b"192.0.2.1:0", b"192.0.2.1:99999", b":1", "hö:1".encode()])
def test_an_endpoint_that_is_none_is_told(bad):
    with pytest.raises(WireError):
        parse_endpoint(bad)
