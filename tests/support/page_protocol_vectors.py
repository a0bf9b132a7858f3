"""Vectors of the protocol between pages and hosts, as this code writes it, for the console's own implementation.

`python -m tests.support.page_protocol_vectors` writes tests/vectors/page_protocol.json. All but the recorded TLS
handshake follows from fixed keys and numbers.
"""

import dataclasses
import json
import re
import ssl
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from nacl.bindings import crypto_scalarmult_base

from offchain.adapters.keys.signer import Ed25519Signer
from offchain.adapters.transport import relayed
from offchain.adapters.transport.certificate import certificate, server_context
from offchain.gateway.api.relay_socket import client_proof, server_proof
from offchain.schema.protocol.delegation import DELEGABLE, Delegation, SignedDelegation, chain_of
from offchain.schema.protocol.fields import canonical_json
from offchain.schema.protocol.frames import LONGEST, FrameKind, encode
from offchain.schema.protocol.messages import Answer, Code, Control, Refusal, Request
from offchain.schema.protocol.mux import MAX_WINDOW, Mux
from offchain.schema.protocol.operations import AttachArgs, ExecArgs, LogsArgs, RelayArgs, ResultArgs
from offchain.schema.protocol.session_states import TABLE
from offchain.schema.terminal_escaping import StreamEscaper, line

FILE: Final = Path(__file__).resolve().parents[1] / "vectors" / "page_protocol.json"
GENESIS: Final = bytes(range(32))
NOW_MS: Final = 1_800_000_000_000
HOST: Final = Ed25519Signer(b"key of a host, which is 32 bytes")
GATEWAY: Final = Ed25519Signer(b"key of a gateway, also 32 bytes.")
KEY: Final = Ed25519Signer(b"session key of a page, 32 bytes.")
WALLET: Final = Ed25519Signer(b"key of a tenant, again 32 bytes.")
CLIENT_RANDOM: Final = bytes(range(32, 64))
CLIENT_SECRET: Final = bytes(range(64, 96))
NONCE: Final = bytes(range(96, 128))
NO: Final = Refusal(Code.GONE, "The program wrote \x1b[2Jö.", "Ask again.")
_COLOUR: Final = re.compile(r"\x1b\[[0-9;:]{0,32}m")


def delegation() -> SignedDelegation:
    text = Delegation(
        "console.example.org:8443",
        WALLET.address,
        KEY.address,
        DELEGABLE,
        chain_of(GENESIS),
        "0f" * 16,
        NOW_MS - 1,
        NOW_MS + 3_600_000,
    ).text()
    return SignedDelegation(text=text, signature=WALLET.sign(text.encode()))


def _requests() -> list[dict[str, Any]]:
    found = []
    for args, lease in (
        (LogsArgs(follow=True, tail=1000), 7 << 24),
        (LogsArgs(), (1 << 53) + 1),
        (ResultArgs(), 1),
        (ExecArgs(("sh", "-c", 'echo "ü" \x7f \n'), tty=True, rows=24, columns=80), 7 << 24 | 1 << 16 | 2),
        (AttachArgs("ab" * 16, 12345), 7 << 24),
        (RelayArgs(HOST.public_key.hex()), None),
    ):
        request = Request(
            args=args,
            lease=lease,
            account=KEY.address,
            nonce="0a" * 16,
            expires_ms=NOW_MS + 30_000,
            crypto="ed25519",
            delegation=delegation(),
        )
        to = GATEWAY if lease is None else HOST
        payload = request.payload(GENESIS, to.public_key)
        signed = dataclasses.replace(request, signature=KEY.sign(payload))
        fields = request.unsigned()
        found.append(
            {
                "op": fields["op"],
                "args": fields["args"],
                "lease": None if lease is None else str(lease),
                "to": to.public_key.hex(),
                "payload": payload.hex(),
                "signature": signed.signature.hex(),
                "encoded": signed.encode().decode(),
            }
        )
    return found


def _frames() -> dict[str, Any]:
    kinds = [{"kind": kind.name, "session": 2**32 - 1, "payload": "ab" * min(LONGEST[kind], 5)} for kind in FrameKind]
    for one in kinds:
        one["bytes"] = encode(FrameKind[one["kind"]], one["session"], bytes.fromhex(one["payload"])).hex()
    head = {kind.name: (LONGEST[kind] + 1).to_bytes(4, "big") + bytes((kind,)) + bytes(4) for kind in FrameKind}
    return {
        "valid": kinds,
        "longest": {kind.name: LONGEST[kind] for kind in FrameKind},
        "too_long": {name: data.hex() for name, data in head.items()},
        "unknown": [(bytes(4) + bytes((number,)) + bytes(4)).hex() for number in (0, 10, 255)],
    }


def _hello(**changes: Any) -> bytes:
    fields = {"protocol": "gantry/host", "oldest": 2, "newest": 2} | changes
    return encode(FrameKind.HELLO, 0, canonical_json(fields))


def _conversation() -> list[dict[str, str]]:
    """Return what a page says, what it hears, and what it understands, in order. Each hearing is whole frames."""
    page = Mux(dialler=True)
    host = Mux(dialler=False)
    steps: list[dict[str, str]] = [{"act": "begin", "sends": page.take().hex()}]

    def act(name: str, *given: Any) -> None:
        getattr(page, name)(*given)
        shown = [one.hex() if isinstance(one, bytes) else one for one in given if not isinstance(one, Refusal)]
        steps.append({"act": name, "given": json.dumps(shown), "sends": (said := page.take()).hex()})
        host.receive(said)

    def hear(data: bytes) -> None:
        names = [type(event).__name__ for event in page.receive(data)]
        steps.append({"act": "hear", "bytes": data.hex(), "events": " ".join(names), "sends": page.take().hex()})

    host.receive(bytes.fromhex(steps[0]["sends"]))
    hear(host.take())
    act("open", b"one request", 100)
    act("open", b"another", 50)
    host.accept(1, Answer(token="ab" * 16, held=3), 1000)
    host.refuse(2, NO)
    hear(host.take())
    act("data", 1, 0, b"input")
    act("data", 1, 3, b'{"resize":[24,80]}')
    host.data(1, 0, b"x" * 60)
    hear(host.take())
    act("consumed", 1, 61)
    act("end", 1)
    host.data(1, 3, b'{"exit_code":0}')
    host.end(1)
    hear(host.take())
    act("open", b"third", 9)
    act("reset", 3, NO)
    host.go_away(NO)
    hear(host.take())
    return steps


def _violations() -> dict[str, list[str]]:
    """Return by name what a page must not take: bytes after it has opened one session with credit for 10 bytes."""

    def frame(kind: FrameKind, payload: bytes = b"", session: int = 1) -> bytes:
        return encode(kind, session, payload)

    accepted = frame(FrameKind.ACCEPT, Answer().encode())
    credit = (1).to_bytes(4, "big")
    return {
        name: [piece.hex() for piece in pieces]
        for name, pieces in {
            "data before hello": [frame(FrameKind.DATA, b"\0x")],
            "another protocol": [_hello(protocol="http")],
            "a newer protocol": [_hello(oldest=3, newest=9)],
            "an older protocol": [_hello(oldest=1, newest=1)],
            "hello without versions": [_hello(newest=None)],
            "a second hello": [_hello(), _hello()],
            "a session of the host": [_hello(), frame(FrameKind.OPEN, b"x", 2)],
            "a session that never was": [_hello(), frame(FrameKind.END, b"", 9)],
            "data before accept": [_hello(), frame(FrameKind.DATA, b"\0x")],
            "accept twice": [_hello(), accepted, accepted],
            "more data than credit": [_hello(), accepted, frame(FrameKind.DATA, b"\0" + b"x" * 10)],
            "data of an unknown channel": [_hello(), accepted, frame(FrameKind.DATA, b"\4")],
            "data without a channel": [_hello(), accepted, frame(FrameKind.DATA)],
            "data after end": [_hello(), accepted, frame(FrameKind.END), frame(FrameKind.DATA, b"\0x")],
            "credit of nothing": [_hello(), accepted, frame(FrameKind.CREDIT, bytes(4))],
            "short credit": [_hello(), accepted, frame(FrameKind.CREDIT, bytes(3))],
            "credit over the window": [
                _hello(),
                accepted,
                frame(FrameKind.CREDIT, MAX_WINDOW.to_bytes(4, "big")),
                frame(FrameKind.CREDIT, credit),
            ],
            "an answer that is no JSON": [_hello(), frame(FrameKind.ACCEPT, b"{")],
            "an answer that is no object": [_hello(), frame(FrameKind.ACCEPT, b"[1]")],
            "a refusal without a code": [_hello(), frame(FrameKind.REFUSE, b'{"message":"m","remedy":"r"}')],
            "a token that is too long": [_hello(), frame(FrameKind.ACCEPT, b'{"token":"' + b"a" * 65 + b'"}')],
            "an oversized frame": [_hello(), (2**31).to_bytes(4, "big") + bytes((FrameKind.DATA,)) + bytes(4)],
        }.items()
    }


def _controls() -> dict[str, list[Any]]:
    valid = [Control(resize=(24, 80)), Control(exit_code=-1), Control(size=9, digest=bytes(32)), Control(done=True)]
    invalid = ['{"resize":[0,80]}', '{"resize":[24]}', '{"exit_code":"0"}', '{"done":1}', '{"digest":"ab"}', "[]", "{"]
    return {"valid": [one.encode().decode() for one in valid], "invalid": [*invalid, '{"x":"' + "a" * 1024 + '"}']}


def _escaping() -> list[dict[str, Any]]:
    found = []
    for pieces in (
        [b"plain\ttext\r\n"],
        [b"\x1b[31mred\x1b[0m and \x1b[2J\x1b[H gone"],
        [b"cut \x1b", b"[3", b"1mhere\x1b", b"[", b"5n"],
        [b"\x1b]52;c;aGk=\x07\x1b]0;title\x07\x9b31m"],
        ["right to left \u202e and \u200b zero, \u200d joined, \U000e0041 tag".encode()],
        [b"cut \xc3", b"\xbc and bad \xff\xfe", b"\xf0\x9f"],
        [b"\x00\x07\x08\x7f\xc2\x85\xc2\x9b end \x1b"],
    ):
        escaper = StreamEscaper()
        shown = (b"".join(escaper.feed(piece) for piece in pieces) + escaper.end()).decode()
        found.append({"pieces": [piece.hex() for piece in pieces], "shown": _COLOUR.sub("", shown)})
    return found


def client_hello(random: bytes, share: bytes) -> bytes:
    """Return the message with which a page begins TLS 1.3 (RFC 8446, section 4.1.2)."""

    def vector(size: int, content: bytes) -> bytes:
        return len(content).to_bytes(size, "big") + content

    def extension(number: int, content: bytes) -> bytes:
        return number.to_bytes(2, "big") + vector(2, content)

    group = b"\x00\x1d"
    extensions = b"".join(
        (
            extension(43, vector(1, b"\x03\x04")),
            extension(10, vector(2, group)),
            extension(13, vector(2, b"\x08\x07")),
            extension(51, vector(2, group + vector(2, share))),
        )
    )
    body = b"\x03\x03" + random + vector(1, b"") + vector(2, b"\x13\x01") + vector(1, b"\0") + vector(2, extensions)
    return b"\x01" + vector(3, body)


def record_handshake() -> dict[str, Any]:
    """Return what a host answers to a page's first message, by OpenSSL, and the secrets that it logs."""
    hello = client_hello(CLIENT_RANDOM, crypto_scalarmult_base(CLIENT_SECRET))
    context = server_context(HOST)
    with tempfile.NamedTemporaryFile("r", encoding="ascii") as log:
        context.keylog_filename = log.name
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_side=True)
        incoming.write(b"\x16\x03\x01" + len(hello).to_bytes(2, "big") + hello)
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            flight = outgoing.read()
        secrets = {name: value for name, _, value in (one.split() for one in log.read().splitlines() if one[0] != "#")}
    return {
        "client_random": CLIENT_RANDOM.hex(),
        "client_secret": CLIENT_SECRET.hex(),
        "client_share": crypto_scalarmult_base(CLIENT_SECRET).hex(),
        "client_hello": hello.hex(),
        "server_flight": flight.hex(),
        "secrets": secrets,
    }


def fixed() -> dict[str, Any]:
    """Return all vectors but the recorded handshake."""
    texts: list[Any] = [{"b": 1, "a": [True, None, 'ü\x7f\u2028\U0001f600"\\\n']}, {"": {}}]
    signed = delegation()
    return {
        "genesis_hash": GENESIS.hex(),
        "now_ms": NOW_MS,
        "host_key": HOST.public_key.hex(),
        "gateway_key": GATEWAY.public_key.hex(),
        "session_key": KEY.public_key.hex(),
        "session_address": KEY.address,
        "account": WALLET.address,
        "canonical_json": [{"value": one, "text": canonical_json(one).decode()} for one in texts],
        "delegation": {"text": signed.text, "signature": signed.signature.hex()},
        "requests": _requests(),
        "proofs": {
            "nonce": NONCE.hex(),
            "client": client_proof(NONCE, GATEWAY.public_key).hex(),
            "server": server_proof(NONCE, KEY.public_key).hex(),
            "server_signature": GATEWAY.sign(server_proof(NONCE, KEY.public_key)).hex(),
            "carried": relayed._proof(NONCE, HOST.public_key).hex(),
        },
        "certificate": certificate(HOST).hex(),
        "frames": _frames(),
        "session_states": {
            state.name: {move.name: target.name for move, target in row.items()} for state, row in TABLE.items()
        },
        "conversation": _conversation(),
        "violations": _violations(),
        "refusal": {"code": NO.code.value, "message": NO.message, "hint": NO.hint, "encoded": NO.encode().decode()},
        "controls": _controls(),
        "escaping": _escaping(),
        "escaped_line": {"text": "a\n\x1b[2J\u202eb\u200d\t", "shown": line("a\n\x1b[2J\u202eb\u200d\t")},
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(fixed() | {"tls": record_handshake()}, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{FILE}\n")
