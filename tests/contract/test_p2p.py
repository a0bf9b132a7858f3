"""The way to hosts: one suite for the transport over iroh and for its in-memory twin."""

import asyncio
import hashlib
import itertools
import json
import os

import pytest

from offchain.link.errors import BadKey
from offchain.link.keys import Ed25519Signer, from_uri, ss58_decode, verify
from offchain.link.p2p import HostMisbehaved, HostRefused, HostUnreachable, StreamClosed, read_frame, write_frame
from offchain.link.p2p_client import HostClient
from offchain.link.p2p_host import HostServer, NonceCache
from offchain.link.p2p_iroh import IrohTransport
from offchain.link.p2p_memory import MemoryNetwork
from offchain.schema.wire import MAX_FRAME, Code, Op, Refusal, Request, frame

GENESIS = b"g" * 32
NOW_MS = 1_800_000_000_000
TENANT = from_uri("//Alice")
STRANGER = from_uri("//Bob")
RESULT = os.urandom(3 * MAX_FRAME + 17)
DIGEST = hashlib.sha256(RESULT).digest()
LEASE, NOT_READY, BROKEN, SILENT = 7, 8, 9, 10


class Net:
    """Makes endpoints of one kind and closes them all."""

    def __init__(self, kind):
        self.kind, self.network, self.made = kind, MemoryNetwork(), []

    async def endpoint(self):
        seed = os.urandom(32)
        if self.kind == "memory":
            transport = self.network.endpoint(Ed25519Signer(seed).public_key)
        else:
            transport = await IrohTransport.bind(seed, "127.0.0.1:0")
            assert transport.key == Ed25519Signer(seed).public_key
        self.made.append(transport)
        return transport


@pytest.fixture(params=["memory", "iroh"])
async def net(request):
    made = Net(request.param)
    yield made
    for transport in made.made:
        await transport.close()


async def connected(net):
    near, far = await net.endpoint(), await net.endpoint()
    dialled, accepted = await asyncio.gather(near.dial(far.key, far.addresses, 5), far.accept())
    return near, far, dialled, accepted


# --- the transport ----------------------------------------------------------------------------------------------------


async def test_both_ends_learn_the_others_key(net):
    near, far, dialled, accepted = await connected(net)
    assert (dialled.remote_key, accepted.remote_key) == (far.key, near.key)


async def test_bytes_travel_both_ways_in_order(net):
    _, _, dialled, accepted = await connected(net)
    stream = await dialled.open_stream()
    data = os.urandom(MAX_FRAME)
    await write_frame(stream, data)
    answer = await accepted.accept_stream()
    assert await read_frame(answer) == data
    await write_frame(answer, b"")
    await write_frame(answer, b"last")
    assert [await read_frame(stream), await read_frame(stream)] == [b"", b"last"]


async def test_another_key_at_the_address_is_refused(net):
    near, far = await net.endpoint(), await net.endpoint()
    accepting = asyncio.create_task(far.accept())
    with pytest.raises(HostUnreachable):
        await near.dial(Ed25519Signer(os.urandom(32)).public_key, far.addresses, 2)
    assert not accepting.done()
    await far.close()
    assert await accepting is None


async def test_nobody_at_the_address(net):
    near, gone = await net.endpoint(), await net.endpoint()
    await gone.close()
    with pytest.raises(HostUnreachable, match=gone.addresses[0].rpartition(":")[0]):
        await near.dial(gone.key, gone.addresses, 1)


async def test_an_aborted_stream_is_seen_by_the_other_side(net):
    _, _, dialled, accepted = await connected(net)
    stream = await dialled.open_stream()
    await write_frame(stream, b"x")
    other = await accepted.accept_stream()
    assert await read_frame(other) == b"x"
    await other.abort()
    with pytest.raises(StreamClosed):
        await read_frame(stream)


async def test_a_closed_connection_ends_waiting_on_both_sides(net):
    _, _, dialled, accepted = await connected(net)
    waiting = asyncio.create_task(accepted.accept_stream())
    await asyncio.sleep(0)
    await dialled.close()
    with pytest.raises(StreamClosed):
        await waiting


async def test_a_closed_endpoint_accepts_no_more(net):
    far = await net.endpoint()
    accepting = asyncio.create_task(far.accept())
    await asyncio.sleep(0)
    await far.close()
    assert await accepting is None
    assert await far.accept() is None


async def test_an_announced_frame_that_is_too_long_is_refused(net):
    _, _, dialled, accepted = await connected(net)
    stream = await dialled.open_stream()
    await stream.write((MAX_FRAME + 1).to_bytes(4, "big"))
    with pytest.raises(HostMisbehaved, match=str(MAX_FRAME)):
        await read_frame(await accepted.accept_stream())


# --- host and client --------------------------------------------------------------------------------------------------


class Provider:
    def __init__(self):
        self.left = asyncio.Event()

    async def result(self, lease):
        if lease == NOT_READY:
            raise HostRefused(Refusal(Code.NOT_READY, "No result yet.", "Wait."))
        return RESULT

    async def logs(self, lease, *, follow):
        yield b"line 1\n"
        if lease == SILENT:
            try:
                await asyncio.Event().wait()
            finally:
                self.left.set()
        if lease == BROKEN:
            raise OSError("disk")
        yield b"follows\n" if follow else b"line 2\n"


async def authorise(request):
    if request.account != TENANT.address:
        raise HostRefused(Refusal(Code.NOT_YOUR_LEASE, "Not your lease.", "Sign as its tenant."))


def genuine(account, crypto, payload, signature):
    try:
        return verify(ss58_decode(account), crypto, payload, signature)
    except BadKey:
        return False


class Host:
    def __init__(self, transport, **options):
        self.transport, self.provider = transport, Provider()
        self.server = HostServer(
            transport,
            genesis_hash=GENESIS,
            authorise=authorise,
            provider=self.provider,
            verify=genuine,
            now_ms=lambda: NOW_MS,
            **options,
        )
        self.serving = asyncio.create_task(self.server.serve())


@pytest.fixture
async def host(net):
    made = Host(await net.endpoint())
    yield made
    await made.server.close()
    await made.serving


@pytest.fixture
async def client(net, host):
    clients = []

    async def make(signer=TENANT, *, now_ms=NOW_MS, genesis=GENESIS):
        transport = await net.endpoint()
        made = HostClient(
            transport,
            host.transport.key,
            host.transport.addresses,
            genesis_hash=genesis,
            signer=signer,
            now_ms=lambda: now_ms,
        )
        clients.append(made)
        return made

    yield make
    for made in clients:
        await made.close()


async def refusal(work):
    with pytest.raises(HostRefused) as caught:
        await work
    assert caught.value.refusal.message
    assert caught.value.refusal.remedy
    return caught.value.refusal.code


async def test_the_tenant_gets_the_result_over_one_connection(client):
    tenant = await client()
    await tenant.ping()
    assert await tenant.result(LEASE, DIGEST) == RESULT
    assert await tenant.result(LEASE, DIGEST) == RESULT


async def test_ed25519_tenants_are_tenants_too(client):
    signer = from_uri("//Alice", "ed25519")
    assert await refusal((await client(signer)).result(LEASE, DIGEST)) is Code.NOT_YOUR_LEASE
    await (await client(signer)).ping()


async def test_bytes_other_than_the_chains_are_not_believed(client):
    with pytest.raises(HostMisbehaved, match="SHA-256"):
        await (await client()).result(LEASE, b"\0" * 32)


async def read_all(stream):
    return [chunk async for chunk in stream]


async def test_logs_are_streamed_whole_or_followed(client):
    tenant = await client()
    assert [chunk async for chunk in tenant.logs(LEASE)] == [b"line 1\n", b"line 2\n"]
    assert [chunk async for chunk in tenant.logs(LEASE, follow=True)] == [b"line 1\n", b"follows\n"]


async def test_a_log_that_breaks_off_never_passes_as_whole(client):
    tenant = await client()
    with pytest.raises(HostUnreachable):
        await read_all(tenant.logs(BROKEN))


async def test_a_follower_that_leaves_a_silent_log_leaves_no_reader_behind(client, host):
    tenant = await client()
    following = tenant.logs(SILENT, follow=True)
    assert await anext(following) == b"line 1\n"
    await following.aclose()
    async with asyncio.timeout(10):
        await host.provider.left.wait()
    assert await tenant.result(LEASE, DIGEST) == RESULT


async def test_a_stranger_is_refused(client):
    assert await refusal((await client(STRANGER)).result(LEASE, DIGEST)) is Code.NOT_YOUR_LEASE


async def test_a_refusal_leaves_the_connection_usable(client):
    tenant = await client()
    assert await refusal(tenant.result(NOT_READY, DIGEST)) is Code.NOT_READY
    assert await tenant.result(LEASE, DIGEST) == RESULT


async def test_a_signature_for_another_chain_is_refused(client):
    assert await refusal((await client(genesis=b"x" * 32)).result(LEASE, DIGEST)) is Code.BAD_SIGNATURE


@pytest.mark.parametrize(
    ("skew_ms", "code"), [(-30_000, Code.EXPIRED), (-90_000, Code.EXPIRED), (31_000, Code.EXPIRES_TOO_LATE)]
)
async def test_a_clock_that_is_off_is_named(client, skew_ms, code):
    assert await refusal((await client(now_ms=NOW_MS + skew_ms)).result(LEASE, DIGEST)) is code


async def test_a_client_survives_the_loss_of_its_connection(client):
    tenant = await client()
    await tenant.ping()
    await tenant._connection.close()
    assert await tenant.result(LEASE, DIGEST) == RESULT


# --- what a hostile client may send -----------------------------------------------------------------------------------


def signed(host, **changes):
    fields = {
        "op": Op.RESULT,
        "account": TENANT.address,
        "nonce": os.urandom(16).hex(),
        "expires_ms": NOW_MS + 30_000,
        "crypto": "sr25519",
        "lease": LEASE,
    }
    request = Request(**{**fields, **changes})
    signature = TENANT.sign(request.payload(GENESIS, host.transport.key))
    return json.loads(request.encode()) | {"signature": signature.hex()}


async def raw(net, host, *messages):
    transport = await net.endpoint()
    connection = await transport.dial(host.transport.key, host.transport.addresses, 5)
    stream = await connection.open_stream()
    replies = []
    for message in messages:
        await stream.write(frame(message if isinstance(message, bytes) else json.dumps(message).encode()))
        reply = json.loads(await read_frame(stream))
        replies.append(reply.get("code", "ok"))
        while reply["ok"] and await read_frame(stream):
            pass
    await connection.close()
    return replies


async def test_a_replayed_request_is_refused(net, host):
    request = signed(host)
    assert await raw(net, host, request, request) == ["ok", "Replayed"]
    assert await raw(net, host, request) == ["Replayed"]


async def test_a_changed_field_breaks_the_signature(net, host):
    request = signed(host)
    changed = [request | {"lease": 1}, request | {"follow": True}, request | {"account": STRANGER.address}]
    changed += [request | {"op": "logs"}, request | {"crypto": "ed25519"}, request | {"signature": "00" * 64}]
    assert await raw(net, host, *changed) == ["BadSignature"] * len(changed)
    assert await raw(net, host, request) == ["ok"]


async def test_a_signature_for_another_host_is_refused(net, host):
    elsewhere = Host(await net.endpoint())
    request = signed(elsewhere)
    assert await raw(net, host, request) == ["BadSignature"]
    await elsewhere.server.close()
    await elsewhere.serving


async def test_malformed_requests_are_answered_and_harm_nothing(net, host):
    request = signed(host)
    bad = [b"", b"{", b"[]", b"\xff", b"[" * 3000, {}, request | {"v": 2}, request | {"lease": -1}]
    bad += [request | {"lease": None}, request | {"nonce": "zz"}, request | {"account": 5}, request | {"op": "rm"}]
    bad += [b'{"v":1,' + b" " * 5000 + b"}"]
    assert await raw(net, host, *bad, request) == ["BadRequest"] * len(bad) + ["ok"]


async def test_who_proves_nothing_is_disconnected(net):
    host = Host(await net.endpoint(), stranger_s=0.01)
    near = await net.endpoint()
    connection = await near.dial(host.transport.key, host.transport.addresses, 5)
    with pytest.raises(StreamClosed):
        await connection.accept_stream()
    await host.server.close()
    await host.serving


def test_the_nonce_cache_refuses_rather_than_forgets():
    cache = NonceCache(capacity=2)
    numbers = itertools.count()

    def request(expires_ms):
        return Request(op=Op.PING, account="a", nonce=f"{next(numbers):032x}", expires_ms=expires_ms, crypto="ed25519")

    early, late, third = request(10), request(20), request(30)
    assert cache.add(early, 5)
    assert cache.add(late, 5)
    assert not cache.add(third, 5)
    assert cache.add(third, 11)
    assert cache.seen(late)
    assert not cache.seen(early)
