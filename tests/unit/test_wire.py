"""Requests, answers, refusals, words, frames and endpoint texts."""

import json

import pytest

from offchain.schema.protocol import operations
from offchain.schema.protocol.frames import LONGEST, MAX_DATA, FrameKind, FrameReader, encode, encode_data
from offchain.schema.protocol.gateway import parse_gateway
from offchain.schema.protocol.messages import (
    MAX_ENDPOINT,
    Answer,
    Code,
    Control,
    Refusal,
    Request,
    WireError,
    endpoint_text,
    parse_endpoint,
)
from offchain.schema.protocol.snapshots import RentalSnapshot, SnapshotAction, Snapshots

ALL_ARGS = [
    operations.PingArgs(),
    operations.ProbeArgs(5),
    operations.ResultArgs(),
    operations.LogsArgs(follow=True, tail=3, since_ms=9),
    operations.ExecArgs(("sh", "-c", "echo ü"), tty=True, service="db", rows=1, columns=1000),
    operations.AttachArgs("0f" * 16, 7),
    operations.DialArgs(80),
    operations.GetArgs("/data", "db", 3, "ab" * 32),
    operations.PutArgs("/data", "0f" * 16, 9, None, fresh=True),
    operations.DeliverArgs("db_password", 99),
    operations.ReceiptArgs(),
    operations.ReceiptArgs("ab" * 32, "cd" * 64),
    operations.LogsArgs(service="db"),
    operations.SnapshotArgs(SnapshotAction.TAKE, "before-1.0_x"),
    operations.SnapshotArgs(SnapshotAction.LIST),
    operations.ImageArgs("before"),
    operations.ImageArgs("before", 3, "ab" * 32),
    operations.CheckpointArgs("cd" * 32),
    operations.CheckpointArgs("cd" * 32, 3, "ab" * 32),
    operations.ChallengeArgs(7, operations.ChallengePart.COMMITMENT),
    operations.ChallengeArgs(7, operations.ChallengePart.OPENING),
    operations.ProbeArgs(5, up=True),
    operations.RegisterArgs(),
    operations.AcceptArgs("0f" * 16),
    operations.RelayArgs("ab" * 32),
]


def request(args=operations.LogsArgs(follow=True)):  # noqa: B008  (frozen)
    return Request(
        args=args,
        account="5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY",
        nonce="0f" * 16,
        expires_ms=1_800_000_000_000,
        crypto="sr25519",
        lease=7,
        signature=b"\1" * 64,
    )


REQUEST = request()


@pytest.mark.parametrize("args", ALL_ARGS, ids=lambda args: type(args).__name__)
def test_a_request_survives_the_wire(args):
    assert Request.decode(request(args).encode()) == request(args)


def test_the_signed_bytes_are_fixed():
    assert REQUEST.payload(b"G" * 32, b"H" * 32) == (
        b"gantry/request/v2" + b"G" * 32 + b"H" * 32 + b'{"account":"5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY",'
        b'"args":{"follow":true,"since_ms":null,"tail":null},"crypto":"sr25519","expires_ms":1800000000000,"lease":7,'
        b'"nonce":"0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f","op":"logs","v":2}'
    )


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"v": 1}, "version"),
        ({"op": "rm"}, "op"),
        ({"lease": None}, "lease"),
        ({"lease": True}, "lease"),
        ({"lease": 2**64}, "lease"),
        ({"args": {"follow": 1}}, "follow"),
        ({"args": {"tail": -1}}, "tail"),
        ({"args": {"colour": 1}}, "colour"),
        ({"args": []}, "args"),
        ({"account": "x" * 65}, "account"),
        ({"priority": 9}, "priority"),
        ({"nonce": "0f"}, "nonce"),
        ({"nonce": "zz" * 16}, "nonce"),
        ({"expires_ms": -1}, "expires_ms"),
        ({"expires_ms": 1.5}, "expires_ms"),
        ({"crypto": "rsa"}, "crypto"),
        ({"signature": "xyz"}, "signature"),
        ({"signature": "00"}, "signature"),
        ({"op": "exec", "args": {"argv": [], "rows": 1, "columns": 1}}, "argv"),
        ({"op": "exec", "args": {"argv": [""], "rows": 1, "columns": 1}}, "argv"),
        ({"op": "exec", "args": {"argv": ["a\0b"], "rows": 1, "columns": 1}}, "argv"),
        ({"op": "exec", "args": {"argv": ["a"] * 300, "rows": 1, "columns": 1}}, "argv"),
        ({"op": "exec", "args": {"argv": ["a"], "rows": 0, "columns": 1}}, "rows"),
        ({"op": "dial", "args": {"port": 0}}, "port"),
        ({"op": "dial", "args": {"port": 65536}}, "port"),
        ({"op": "get", "args": {"path": "data", "offset": 0}}, "path"),
        ({"op": "get", "args": {"path": "/a/../b", "offset": 0}}, "path"),
        ({"op": "get", "args": {"path": "/a", "offset": 5}}, "offset"),
        ({"op": "put", "args": {"path": "/a", "upload": "../../x", "size": 1}}, "upload"),
        ({"op": "deliver", "args": {"name": "a", "size": 1 << 40}}, "size"),
    ],
)
def test_a_bad_field_is_named(change, named):
    with pytest.raises(WireError, match=named):
        Request.decode(json.dumps(json.loads(REQUEST.encode()) | change).encode())


def test_a_request_that_is_too_long_is_not_sent():
    with pytest.raises(WireError, match="longer"):
        request(operations.ExecArgs(("ü" * 8000,))).encode()


@pytest.mark.parametrize("answer", [Answer(), Answer(size=5), Answer(token="t", held=3, digest=b"\2" * 32)])
def test_an_answer_survives_the_wire(answer):
    assert Answer.decode(answer.encode()) == answer


@pytest.mark.parametrize(
    "word", [Control(), Control(resize=(1, 2)), Control(exit_code=0), Control(size=4, digest=b"\3" * 32, done=True)]
)
def test_a_word_survives_the_wire(word):
    assert Control.decode(word.encode()) == word


@pytest.mark.parametrize("bad", [b"", b"[]", b'{"resize":[1]}', b'{"resize":[0,1]}', b'{"digest":"00"}', b" " * 2000])
def test_a_malformed_word_is_told(bad):
    with pytest.raises(WireError):
        Control.decode(bad)


def test_a_refusal_survives_the_wire_and_long_texts_are_cut():
    assert Refusal.decode(Refusal(Code.GONE, "Gone.", "Run it again.").encode()) == Refusal(
        Code.GONE, "Gone.", "Run it again."
    )
    assert len(Refusal(Code.GONE, "ü" * 9000, "x" * 9000).encode()) < 8192


def test_a_code_of_a_newer_host_is_still_a_refusal():
    newer = json.dumps({"code": "TooHot", "message": "m", "remedy": "r"}).encode()
    assert Refusal.decode(newer) == Refusal(Code.INTERNAL, "m", "r")


def test_frames_have_a_length_a_kind_and_a_session():
    assert encode(FrameKind.CREDIT, 258, b"abcd") == b"\0\0\0\4\7\0\0\1\2abcd"
    assert b"".join(encode_data(1, 2, b"x")) == b"\0\0\0\2\5\0\0\0\1\2x"


@pytest.mark.parametrize("kind", FrameKind)
def test_a_frame_longer_than_its_kind_allows_is_refused_before_it_arrives(kind):
    with pytest.raises(WireError, match=kind.name):
        encode(kind, 1, bytes(LONGEST[kind] + 1))
    with pytest.raises(WireError, match=str(LONGEST[kind])):
        FrameReader().feed((LONGEST[kind] + 1).to_bytes(4, "big") + bytes((kind, 0, 0, 0, 1)))


def test_data_in_one_frame_is_bounded():
    with pytest.raises(WireError):
        encode_data(1, 0, bytes(MAX_DATA + 1))


def test_endpoints_survive_the_chain():
    addresses = ("192.0.2.1:4434", "[2001:db8::1]:4434", "wss://192.0.2.1:4434", "wss://[2001:db8::1]:4434")
    assert set(parse_endpoint(endpoint_text(addresses))) == set(addresses)
    assert parse_endpoint(b"") == ()


def test_an_endpoint_of_the_last_release_is_still_understood():
    assert parse_endpoint(b"192.0.2.1:4434,[2001:db8::1]:4434") == ("192.0.2.1:4434", "[2001:db8::1]:4434")


GATEWAY = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY@gateway.example.org:4435"


def test_a_gateway_is_read_as_it_is_written():
    for text in (GATEWAY, GATEWAY.replace("gateway.example.org", "[2001:db8::1]")):
        assert parse_gateway(text).text == text
    assert parse_gateway(GATEWAY).port == 4435


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("192.0.2.1:4435", "ACCOUNT@"),
        (GATEWAY.replace(":4435", ""), "ACCOUNT@"),
        (GATEWAY.replace("4435", "0"), "ACCOUNT@"),
        (GATEWAY.replace("5Grw", "5Grx"), "account"),
        (GATEWAY.replace("gateway", "a b"), "neither a name"),
        (GATEWAY.replace("gateway", "x" * 100), "neither a name"),
    ],
)
def test_a_gateways_address_that_is_none_is_told(text, says):
    with pytest.raises(WireError, match=says):
        parse_gateway(text)
    with pytest.raises(WireError, match="192"):
        parse_endpoint(f"{GATEWAY},192.0.2.1".encode())


def test_a_gateway_has_its_place_in_an_endpoint():
    many = (*(f"10.0.0.{n}:4434" for n in range(40)), GATEWAY)
    kept = parse_endpoint(endpoint_text(many))
    assert {"10.0.0.0:4434", GATEWAY} <= set(kept)


def test_an_endpoint_fits_the_chain_and_keeps_one_of_each_kind():
    many = tuple(f"10.0.0.{n}:4434" for n in range(40)) + tuple(f"wss://10.0.0.{n}:4434" for n in range(40))
    text = endpoint_text(many)
    kept = parse_endpoint(text)
    assert len(text) <= MAX_ENDPOINT
    assert {"10.0.0.0:4434", "wss://10.0.0.0:4434"} <= set(kept)
    assert len(kept) > 10


@pytest.mark.parametrize(
    "bad", [b"192.0.2.1", b"192.0.2.1:0", b"192.0.2.1:99999", b":1", "h\u00f6:1".encode(), b"wss://:1", b"wss://a/b:1"]
)
def test_an_endpoint_that_is_none_is_told(bad):
    with pytest.raises(WireError):
        parse_endpoint(bad)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"act": "burn", "name": "x"}, "act 'burn' is none of take, list, remove, restore"),
        ({"act": "take"}, "name must be text"),
        ({"act": "take", "name": "Big"}, "'Big' is not a name for a snapshot"),
        ({"act": "take", "name": "../x"}, "is not a name for a snapshot"),
        ({"act": "take", "name": "-x"}, "is not a name for a snapshot"),
        ({"act": "list", "name": "x"}, "a list takes no name"),
        ({"act": "list", "all": True}, "unknown field 'all'"),
    ],
)
def test_what_cannot_be_done_with_snapshots_is_named(args, message):
    with pytest.raises(WireError, match=message):
        operations.decode_args(operations.Op.SNAPSHOT, args)


def test_a_list_of_snapshots_survives_the_wire_and_a_malformed_one_is_named():
    digest = "sha256:" + "0f" * 32
    there = Snapshots((RentalSnapshot("a", 1, 2, digest), RentalSnapshot("b", 3, 4, digest)), "a")
    assert Snapshots.decode(there.encode()) == there
    # What a host says is shown to people: nothing gets in that a terminal would obey.
    for wrong in (
        b"[]",
        b'{"snapshots": 1}',
        b'{"snapshots": [{"name": "a"}]}',
        rb'{"snapshots": [], "current": "\u001b[2J"}',
        there.encode().replace(b"0f" * 32, rb"\u001b[2J"),
    ):
        with pytest.raises(WireError):
            Snapshots.decode(wrong)
