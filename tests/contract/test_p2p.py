"""A host and those who ask it, over every transport: who is answered, who is refused, and what a hostile peer gets."""

import asyncio
import dataclasses
import hashlib
import itertools
import json
import os

import p2p_endpoints as p2p
import pytest
from p2p_endpoints import BROKEN, DIGEST, GENESIS, LEASE, NOT_READY, NOW_MS, RESULT, SILENT, STRANGER, TENANT, refusal

from offchain.adapters.keys.signer import from_uri
from offchain.adapters.transport.host_client import finished
from offchain.adapters.transport.peer import Peer
from offchain.adapters.transport.port import ConnectionLost, HostMisbehaved, HostRefused, HostUnreachable, refused
from offchain.adapters.transport.request_admission import NonceCache
from offchain.schema.protocol.frames import FrameKind, encode
from offchain.schema.protocol.messages import Code, Request
from offchain.schema.protocol.mux import MAX_SESSIONS
from offchain.schema.protocol.operations import MAX_PROBE, PingArgs, ProbeArgs, ResultArgs


@pytest.fixture
async def host(net):
    made = p2p.Host(await net.endpoint())
    yield made
    await made.close()


@pytest.fixture
async def client(net, host):
    clients = []

    async def make(signer=TENANT, **options):
        made = p2p.client_of(await net.endpoint(), host, signer, **options)
        clients.append(made)
        return made

    yield make
    for made in clients:
        await made.close()


@pytest.fixture
async def tenant(client):
    return await client()


async def test_the_tenant_gets_the_result_over_one_connection(tenant, host):
    await tenant.ping()
    assert await tenant.result(LEASE, DIGEST) == RESULT
    assert await tenant.result(LEASE, DIGEST) == RESULT
    assert host.server.peers == 1


async def test_many_questions_at_once_share_the_connection(tenant, host):
    asked = [tenant.result(LEASE, DIGEST) for _ in range(8)]
    results = await asyncio.gather(*asked, *(tenant.ping() for _ in range(8)))
    assert [hashlib.sha256(result).digest() for result in results[:8]] == [DIGEST] * 8
    assert host.server.peers == 1


async def test_ed25519_tenants_are_tenants_too(client):
    signer = from_uri("//Alice", "ed25519")
    assert await refusal((await client(signer)).result(LEASE, DIGEST)) is Code.NOT_YOUR_LEASE
    await (await client(signer)).ping()


async def test_bytes_other_than_the_chains_are_not_believed(tenant):
    with pytest.raises(HostMisbehaved, match="SHA-256"):
        await tenant.result(LEASE, b"\0" * 32)


async def read_all(stream):
    return b"".join([chunk async for chunk in stream])


async def test_logs_are_streamed_whole_or_followed(tenant):
    assert await read_all(tenant.logs(LEASE)) == b"line 1\nline 2\n"
    assert await read_all(tenant.logs(LEASE, follow=True)) == b"line 1\nfollows\n"


async def test_a_log_that_breaks_off_never_passes_as_whole(tenant):
    assert await refusal(read_all(tenant.logs(BROKEN))) is Code.INTERNAL


async def test_a_follower_that_leaves_a_silent_log_leaves_no_reader_behind(tenant, host):
    following = tenant.logs(SILENT, follow=True)
    assert await anext(following) == b"line 1\n"
    await following.aclose()
    async with asyncio.timeout(p2p.PATIENCE_S):
        await host.answers.left.wait()
    assert await tenant.result(LEASE, DIGEST) == RESULT


async def test_a_stranger_is_refused(client):
    assert await refusal((await client(STRANGER)).result(LEASE, DIGEST)) is Code.NOT_YOUR_LEASE


async def test_a_refusal_leaves_the_connection_usable(tenant):
    assert await refusal(tenant.result(NOT_READY, DIGEST)) is Code.NOT_READY
    assert await tenant.result(LEASE, DIGEST) == RESULT


async def test_what_the_host_does_not_offer_is_told(tenant):
    assert await refusal(tenant.dial(LEASE, 80)) is Code.UNSUPPORTED


async def test_a_session_is_cut_when_its_right_ends(tenant, host):
    following = tenant.logs(SILENT, follow=True)
    assert await anext(following) == b"line 1\n"
    host.answers.tenants.clear()
    await host.server.recheck()
    assert await refusal(anext(following)) is Code.NOT_YOUR_LEASE
    async with asyncio.timeout(p2p.PATIENCE_S):
        await host.answers.left.wait()


async def test_the_right_is_looked_at_again_by_itself(net):
    host = p2p.Host(await net.endpoint(), recheck_s=0.01)
    tenant = p2p.client_of(await net.endpoint(), host)
    following = tenant.logs(SILENT, follow=True)
    assert await anext(following) == b"line 1\n"
    host.answers.tenants.clear()
    assert await refusal(anext(following)) is Code.NOT_YOUR_LEASE
    await tenant.close()
    await host.close()


async def test_a_chain_node_that_is_away_ends_no_session(tenant, host, monkeypatch):
    following = tenant.logs(SILENT, follow=True)
    assert await anext(following) == b"line 1\n"

    async def away(_request):
        raise refused(Code.BUSY, "No node.", "Wait.")

    monkeypatch.setattr(host.server, "_authorise", away)
    await host.server.recheck()
    assert not host.answers.left.is_set()
    await following.aclose()


async def test_a_signature_for_another_chain_is_refused(client):
    assert await refusal((await client(genesis=b"x" * 32)).result(LEASE, DIGEST)) is Code.BAD_SIGNATURE


@pytest.mark.parametrize(
    ("skew_ms", "code"), [(-30_000, Code.EXPIRED), (-90_000, Code.EXPIRED), (31_000, Code.EXPIRES_TOO_LATE)]
)
async def test_a_clock_that_is_off_is_named(client, skew_ms, code):
    assert await refusal((await client(now_ms=NOW_MS + skew_ms)).result(LEASE, DIGEST)) is code


async def test_a_client_survives_the_loss_of_its_connection(tenant):
    await tenant.ping()
    await tenant._peer.connection.close()
    assert await tenant.result(LEASE, DIGEST) == RESULT


async def test_a_few_probes_each_way_are_answered_and_no_more(tenant):
    assert await tenant.probe(1 << 20) > 0
    assert await tenant.probe_up(1) > 0
    assert await tenant.probe_up(MAX_PROBE) > 0
    assert await tenant.probe(1) > 0
    assert await refusal(tenant.probe(1)) is Code.BUSY
    assert await refusal(tenant.probe_up(1)) is Code.BUSY


@pytest.mark.parametrize("sent", [3, 5])
async def test_a_probe_of_another_size_than_was_said_is_refused(tenant, sent):
    session, _ = await tenant.ask(ProbeArgs(4, up=True), None)
    await session.write(bytes(sent))
    session.end()
    assert await refusal(finished(session)) is Code.BAD_REQUEST


async def test_a_host_that_stops_says_so(net):
    host = p2p.Host(await net.endpoint())
    tenant = p2p.client_of(await net.endpoint(), host)
    following = tenant.logs(SILENT, follow=True)
    assert await anext(following) == b"line 1\n"
    closing = asyncio.create_task(host.close())
    with pytest.raises(HostRefused, match="restarted"):
        await anext(following)
    await closing
    await tenant.close()


# --- what a hostile client may send -----------------------------------------------------------------------------------


def signed(host, **changes):
    fields = {
        "args": ResultArgs(),
        "account": TENANT.address,
        "nonce": os.urandom(16).hex(),
        "expires_ms": NOW_MS + 30_000,
        "crypto": "sr25519",
        "lease": LEASE,
    }
    request = Request(**{**fields, **changes})
    signature = TENANT.sign(request.payload(GENESIS, host.transport.key))
    return json.loads(dataclasses.replace(request, signature=signature).encode())


async def raw(net, host, *messages):
    """Ask one after the other on one connection; gives the codes of the refusals, or ok."""
    transport = await net.endpoint()
    peer = Peer(await transport.dial(host.transport.key, host.transport.addresses, p2p.PATIENCE_S), dialler=True)
    replies = []
    for message in messages:
        session = peer.open(message if isinstance(message, bytes) else json.dumps(message).encode())
        try:
            await session.answer()
            replies.append("ok")
        except HostRefused as no:
            replies.append(no.refusal.code.value)
        session.drop()
    await peer.close()
    return replies


async def test_a_replayed_request_is_refused(net, host):
    request = signed(host)
    assert await raw(net, host, request, request) == ["ok", "Replayed"]
    assert await raw(net, host, request) == ["Replayed"]


async def test_a_changed_field_breaks_the_signature(net, host):
    request = signed(host)
    changed = [request | {"lease": 1}, request | {"account": STRANGER.address}, request | {"crypto": "ed25519"}]
    changed += [request | {"op": "logs", "args": {}}, request | {"op": "dial", "args": {"port": 22}}]
    changed += [request | {"signature": "00" * 64}, request | {"expires_ms": NOW_MS + 1}]
    assert await raw(net, host, *changed) == ["BadSignature"] * len(changed)
    assert await raw(net, host, request) == ["ok"]


async def test_a_signature_for_another_host_is_refused(net, host):
    elsewhere = p2p.Host(await net.endpoint())
    request = signed(elsewhere)
    assert await raw(net, host, request) == ["BadSignature"]
    await elsewhere.close()


async def test_malformed_requests_are_answered_and_harm_nothing(net, host):
    request = signed(host)
    bad = [b"", b"{", b"[]", b"\xff", b"[" * 3000, {}, request | {"v": 1}, request | {"lease": -1}]
    bad += [request | {"lease": None}, request | {"nonce": "zz"}, request | {"account": 5}, request | {"op": "rm"}]
    assert await raw(net, host, *bad, request) == ["BadRequest"] * len(bad) + ["ok"]


async def test_who_proves_nothing_is_disconnected(net):
    host = p2p.Host(await net.endpoint(), stranger_s=0.5)
    near = await net.endpoint()
    connection = await near.dial(host.transport.key, host.transport.addresses, p2p.PATIENCE_S)
    peer = Peer(connection, dialler=True)
    await peer.ready()
    session = peer.open(b"")
    while not peer.over:
        await refusal(session.answer())
        await asyncio.sleep(0.01)
    assert await refusal(asyncio.ensure_future(_open(peer))) is Code.EXPIRED
    await peer.close()
    await host.close()


async def test_those_who_hold_places_give_way_to_those_who_ask(net, host, client):
    host.server._most_strangers = 2
    tenant, silent = await client(), []
    for _ in range(3):
        near = await net.endpoint()
        host_key, addresses = tenant._host_key, tenant._addresses
        peer = Peer(await near.dial(host_key, addresses, p2p.PATIENCE_S), dialler=True)
        await peer.ready()
        silent.append(peer)
    assert await tenant.result(LEASE, DIGEST) == RESULT
    async with asyncio.timeout(p2p.PATIENCE_S):
        assert await silent[0].accept() is None
    for peer in silent:
        await peer.close()


async def _open(peer):
    peer.open(b"")


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100, encode(FrameKind.OPEN, 1, b"{}")])
async def test_who_breaks_the_protocol_is_disconnected_and_harms_nobody(net, host, tenant, said):
    near = await net.endpoint()
    connection = await near.dial(host.transport.key, host.transport.addresses, p2p.PATIENCE_S)
    await connection.write(said)
    with pytest.raises(ConnectionLost):
        await _read_on(connection)
    await tenant.ping()


async def _read_on(connection):
    while True:
        await connection.read()


async def test_more_sessions_than_allowed_are_refused_here_already(tenant):
    following = [tenant.logs(SILENT, follow=True) for _ in range(MAX_SESSIONS)]
    for one in following:
        await anext(one)
    assert await refusal(tenant.ping()) is Code.BUSY
    await following[0].aclose()
    await tenant.ping()
    for one in following:
        await one.aclose()


async def test_a_host_of_another_age_is_told(net):
    far, near = await net.endpoint(), await net.endpoint()
    accepting = asyncio.create_task(far.accept())
    tenant = p2p.HostClient(near, far.key, far.addresses, genesis_hash=GENESIS, signer=TENANT)
    asking = asyncio.create_task(tenant.ping())
    connection = await accepting
    hello = b'{"newest":9,"oldest":9,"protocol":"gantry/host"}'
    await connection.write(encode(FrameKind.HELLO, 0, hello))
    with pytest.raises(HostMisbehaved, match="9 to 9"):
        await asking
    await tenant.close()


async def test_a_host_that_says_nothing_is_not_waited_for_for_ever(net, monkeypatch):
    monkeypatch.setattr("offchain.adapters.transport.host_client.DIAL_TIMEOUT_S", 0.2)
    far, near = await net.endpoint(), await net.endpoint()
    accepting = asyncio.create_task(far.accept())
    tenant = p2p.HostClient(near, far.key, far.addresses, genesis_hash=GENESIS, signer=TENANT)
    with pytest.raises(HostUnreachable):
        await tenant.ping()
    await tenant.close()
    accepting.cancel()


def requests():
    """A function that makes requests, each with another nonce."""
    numbers = itertools.count()

    def request(expires_ms, account="a"):
        nonce = f"{next(numbers):032x}"
        return Request(args=PingArgs(), account=account, nonce=nonce, expires_ms=expires_ms, crypto="ed25519")

    return request


def test_an_account_that_fills_its_part_of_the_nonce_cache_keeps_no_other_out():
    cache, request = NonceCache(capacity=10, per_account=3), requests()
    of_one = [request(expires_ms) for expires_ms in (30, 10, 20, 40)]
    assert [cache.add(one, 5) for one in of_one] == [True, True, True, False]
    assert cache.add(request(30, "b"), 5)
    # The earliest leaves first, whatever the order of arrival.
    assert cache.add(of_one[3], 11)
    assert [cache.seen(one) for one in of_one] == [True, False, True, True]
    assert len(cache) == 4
    assert cache.add(request(99, "b"), 50)
    assert len(cache) == 1


def test_the_nonce_cache_refuses_rather_than_forgets():
    cache, request = NonceCache(capacity=2, per_account=2), requests()
    early, late, third = request(10), request(20), request(30)
    assert cache.add(early, 5)
    assert cache.add(late, 5)
    assert not cache.add(third, 5)
    assert cache.add(third, 11)
    assert cache.seen(late)
    assert not cache.seen(early)
