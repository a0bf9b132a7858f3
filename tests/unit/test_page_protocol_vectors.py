"""The vectors by which the console's protocol client is tested are what this code writes."""

import json

import pytest

from offchain.adapters.keys.signer import verify
from offchain.adapters.keys.wallet_signature import is_signed_by
from offchain.adapters.transport.certificate import is_certificate_of
from offchain.gateway.api.relay_socket import server_proof
from offchain.schema.protocol.delegation import check_delegation
from offchain.schema.protocol.messages import Control, Op, Request, WireError
from offchain.schema.protocol.mux import Mux, RemoteProtocolError
from tests.support import page_protocol_vectors as vectors

FOUND = json.loads(vectors.FILE.read_text(encoding="utf-8"))


def test_the_vectors_are_what_this_code_writes():
    """If this fails after a change of the protocol: python -m tests.support.page_protocol_vectors, and the console."""
    assert {name: value for name, value in FOUND.items() if name != "tls"} == json.loads(json.dumps(vectors.fixed()))


@pytest.mark.parametrize("one", FOUND["requests"], ids=lambda one: f"{one['op']} {one['lease']}")
def test_a_host_accepts_the_requests(one):
    request = Request.decode(one["encoded"].encode())
    payload = request.payload(vectors.GENESIS, bytes.fromhex(one["to"]))
    assert payload.hex() == one["payload"]
    assert verify(bytes.fromhex(FOUND["session_key"]), "ed25519", payload, request.signature)
    given = request.delegation
    checked = check_delegation(
        given.text, genesis_hash=vectors.GENESIS, key=request.account, op=Op(one["op"]), now_ms=vectors.NOW_MS
    )
    assert checked.account == FOUND["account"]
    assert is_signed_by(checked.account, given.text, given.signature)


def test_the_proof_of_the_gateway_is_signed():
    proof = FOUND["proofs"]
    signed = server_proof(bytes.fromhex(proof["nonce"]), bytes.fromhex(FOUND["session_key"]))
    assert verify(bytes.fromhex(FOUND["gateway_key"]), "ed25519", signed, bytes.fromhex(proof["server_signature"]))


@pytest.mark.parametrize("name", FOUND["violations"])
def test_a_violation_is_refused_here_as_well(name):
    page = Mux(dialler=True)
    page.open(b"request", 10)
    *before, last = (bytes.fromhex(piece) for piece in FOUND["violations"][name])
    for piece in before:
        page.receive(piece)
    with pytest.raises(RemoteProtocolError):
        page.receive(last)


@pytest.mark.parametrize("text", FOUND["controls"]["invalid"])
def test_a_control_message_that_is_malformed_is_refused_here_as_well(text):
    with pytest.raises(WireError):
        Control.decode(text.encode())


def test_the_recorded_handshake_is_one_of_the_host():
    tls, host_key = FOUND["tls"], bytes.fromhex(FOUND["host_key"])
    assert tls["client_hello"] == vectors.client_hello(vectors.CLIENT_RANDOM, bytes.fromhex(tls["client_share"])).hex()
    assert is_certificate_of(host_key, bytes.fromhex(FOUND["certificate"]))
    # A host of today answers the same message, and derives secrets of the same names and sizes.
    again = vectors.record_handshake()
    assert {name: len(value) for name, value in again["secrets"].items()} == {
        name: len(value) for name, value in tls["secrets"].items()
    }
    assert again["client_hello"] == tls["client_hello"]
