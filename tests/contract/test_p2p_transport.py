"""The way to hosts: one suite for every transport."""

import asyncio
import contextlib
import os
import ssl

import p2p_endpoints as p2p
import pytest
import websockets.asyncio.client

from offchain.adapters.keys.signer import Ed25519Signer
from offchain.adapters.transport.certificate import certificate, is_certificate_of
from offchain.adapters.transport.iroh_quic import IrohTransport
from offchain.adapters.transport.limits import Admission
from offchain.adapters.transport.multi_transport import MultiTransport
from offchain.adapters.transport.port import ConnectionLost, HostUnreachable
from offchain.adapters.transport.websocket import WsTransport
from tests.support.memory_transport import MemoryNetwork


async def connected(net):
    """Both endpoints and both ends; the dialler has said hello, which is when the other sees it."""
    near, far = await net.endpoint(), await net.endpoint()
    dialled = await near.dial(far.key, far.addresses, p2p.PATIENCE_S)
    await dialled.write(b"hello")
    accepted = await far.accept()
    assert await exactly(accepted, 5) == b"hello"
    return near, far, dialled, accepted


async def exactly(connection, size):
    data = b""
    while len(data) < size:
        piece = await connection.read()
        assert piece
        data += piece
    assert len(data) == size
    return data


async def test_both_ends_learn_the_others_key(net):
    near, far, dialled, accepted = await connected(net)
    assert (dialled.remote_key, accepted.remote_key) == (far.key, near.key)
    assert dialled.via == accepted.via == {"ways": "iroh"}.get(net.kind, net.kind)


@pytest.mark.parametrize("ip", ["127.0.0.1", "[::1]"])
async def test_iroh_answers_at_the_address_of_bind_only(ip):
    """The port that iroh opens at all addresses of the other IP version gets no answer; that of `bind` does."""
    far = await IrohTransport.bind(os.urandom(32), f"{ip}:0")
    other_ports = [address for address in far._endpoint.bound_sockets() if not address.startswith(f"{ip}:")]
    try:
        loopback = "[::1]" if ip == "127.0.0.1" else "127.0.0.1"
        for address in other_ports:
            near = await IrohTransport.bind(os.urandom(32), listen=False)
            with pytest.raises(HostUnreachable, match="no answer"):
                await near.dial(far.key, [f"{loopback}:{address.rpartition(':')[2]}"], 1)
            await near.close()
        # Other keys: QUIC remembers where it has dialled the first one.
        for _ in range(20):
            again = await IrohTransport.bind(os.urandom(32), listen=False)
            dialled = await again.dial(far.key, far.addresses, p2p.PATIENCE_S)
            await dialled.write(b"hello")
            accepted = await far.accept()
            assert await exactly(accepted, 5) == b"hello"
            for end in (accepted, dialled, again):
                await end.close()
    finally:
        await far.close()
    assert other_ports


async def test_bytes_travel_both_ways_in_order(net):
    _, _, dialled, accepted = await connected(net)
    data = os.urandom((3 << 20) + 1)
    writing = asyncio.create_task(dialled.write(data))
    assert await exactly(accepted, len(data)) == data
    await writing
    await accepted.write(b"back")
    assert await exactly(dialled, 4) == b"back"


async def test_a_writer_waits_for_a_reader(net):
    _, _, dialled, accepted = await connected(net)

    async def flood():
        for _ in range(64):
            await dialled.write(bytes(1 << 20))

    flooding = asyncio.create_task(flood())
    size = 64 << 20
    while size:
        size -= len(await accepted.read())
    await flooding


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
    addresses = gone.addresses
    await gone.close()
    with pytest.raises(HostUnreachable, match=r"127\.0\.0\.1"):
        await near.dial(gone.key, addresses, 1)


async def test_a_host_without_a_usable_address(net):
    with pytest.raises(HostUnreachable, match="no address"):
        await (await net.endpoint()).dial(bytes(32), (), 1)


async def test_a_closed_connection_ends_waiting_on_both_sides(net):
    _, _, dialled, accepted = await connected(net)
    waiting = asyncio.create_task(accepted.read())
    await asyncio.sleep(0)
    await dialled.close()
    with pytest.raises(ConnectionLost):
        await waiting
    with pytest.raises(ConnectionLost):
        await dialled.write(b"x")


async def test_a_closed_endpoint_accepts_no_more_and_drops_its_connections(net):
    _, far, dialled, _ = await connected(net)
    accepting = asyncio.create_task(far.accept())
    await asyncio.sleep(0)
    await far.close()
    assert await accepting is None
    assert await far.accept() is None
    with pytest.raises(ConnectionLost):
        await dialled.read()


# --- where UDP is blocked ---------------------------------------------------------------------------------------------


async def both():
    return await MultiTransport.bind(os.urandom(32), "127.0.0.1:0")


async def test_both_ways_are_told_and_share_the_port():
    ways = await both()
    quic, websocket = ways.addresses
    assert websocket == f"wss://{quic}"
    await ways.close()


@pytest.mark.parametrize(("taken", "same"), [(1, True), (99, False)])
async def test_a_port_that_somebody_has_for_tcp_is_left_and_another_taken(monkeypatch, taken, same):
    others, bind = [], IrohTransport.bind

    async def where_others_listen(*args, **more):
        made = await bind(*args, **more)
        if len(others) < taken:
            ip, _, port = made.addresses[0].rpartition(":")
            # Where it is taken already, by whomever, nobody has to be put there.
            with contextlib.suppress(OSError):
                others.append(await asyncio.start_server(lambda *_: None, ip, int(port)))
        return made

    monkeypatch.setattr(IrohTransport, "bind", where_others_listen)
    ways = await both()
    quic, websocket = ways.addresses
    assert (websocket == f"wss://{quic}") is same
    await ways.close()
    for other in others:
        other.close()
        await other.wait_closed()


async def test_a_websocket_is_taken_where_no_udp_gets_through():
    far, near = await both(), await both()
    blocked = MultiTransport(MemoryNetwork().endpoint(near.key), near._websocket, head_start_s=0)
    connection = await blocked.dial(far.key, far.addresses, p2p.PATIENCE_S)
    assert connection.via == "websocket"
    await blocked.close()
    await near.close()
    await far.close()


async def test_a_silent_way_costs_only_its_head_start():
    class Silent(MemoryNetwork):
        async def dial(self, *_):
            await asyncio.Event().wait()

        async def close(self):
            pass

    far = await both()
    blocked = MultiTransport(Silent(), WsTransport.client(os.urandom(32)), head_start_s=0.01)
    assert (await blocked.dial(far.key, far.addresses, p2p.PATIENCE_S)).via == "websocket"
    await blocked.close()
    await far.close()


async def test_where_no_way_is_open_both_reasons_are_told():
    near, gone = await both(), await both()
    addresses = gone.addresses
    await gone.close()
    with pytest.raises(HostUnreachable, match=r"(?s)127\.0\.0\.1.*wss://"):
        await near.dial(gone.key, addresses, 0.5)
    await near.close()


async def test_a_port_that_is_taken_is_told():
    taken = await WsTransport.bind(os.urandom(32))
    with pytest.raises(OSError, match="--bind"):
        await WsTransport.bind(os.urandom(32), f"127.0.0.1:{taken.port}")
    with pytest.raises(OSError, match="--bind"):
        await MultiTransport.bind(os.urandom(32), f"127.0.0.1:{taken.port}")
    await taken.close()


# --- websockets and strangers -----------------------------------------------------------------------------------------


def test_a_certificate_is_its_keys_and_nobody_elses():
    one, other = Ed25519Signer(os.urandom(32)), Ed25519Signer(os.urandom(32))
    made = certificate(one)
    assert is_certificate_of(one.public_key, made)
    assert not is_certificate_of(other.public_key, made)
    assert not is_certificate_of(one.public_key, None)
    for place in range(0, len(made), 7):
        changed = bytearray(made)
        changed[place] ^= 1
        assert not is_certificate_of(one.public_key, bytes(changed))


async def stranger(server):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return await websockets.asyncio.client.connect(f"{server.addresses[0]}/", ssl=context, compression=None, proxy=None)


@pytest.mark.parametrize("said", [b"", b"x" * 96, b"x" * 95, "text"])
async def test_who_does_not_prove_a_key_is_not_accepted(said):
    server = await WsTransport.bind(os.urandom(32))
    socket = await stranger(server)
    await socket.recv()
    await socket.send(said)
    await socket.wait_closed()
    assert server._ready.empty()
    await server.close()


async def test_a_proof_for_another_host_is_worth_nothing_here():
    server, signer = await WsTransport.bind(os.urandom(32)), Ed25519Signer(os.urandom(32))
    socket = await stranger(server)
    nonce = await socket.recv()
    await socket.send(signer.public_key + signer.sign(b"gantry/websocket-client/v1" + nonce + bytes(32)))
    await socket.wait_closed()
    assert server._ready.empty()
    await server.close()


async def test_those_who_connect_and_say_nothing_cost_a_bounded_number_of_files(monkeypatch):
    monkeypatch.setattr("offchain.adapters.transport.websocket.MAX_HANDSHAKES", 8)
    server = await WsTransport.bind(os.urandom(32))
    silent = []
    for _ in range(30):
        silent.append(await asyncio.open_connection("127.0.0.1", server.port))
        # All are let in; the first of them are shown out again while others come.
        if len(silent) > 8:
            assert await silent[len(silent) - 9][0].read() == b""
    assert len(server._listener._strangers) == 8
    near = WsTransport.client(os.urandom(32))
    connection = await near.dial(server.key, server.addresses, p2p.PATIENCE_S)
    assert connection.via == "websocket"
    assert len(server._listener._strangers) <= 8
    for _, writer in silent:
        writer.close()
    await near.close()
    await server.close()


async def test_tls_below_1_3_is_refused():
    server = await WsTransport.bind(os.urandom(32))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await asyncio.open_connection("127.0.0.1", server.port, ssl=context)
    await server.close()


async def test_quic_alone_is_enough():
    far = await IrohTransport.bind(os.urandom(32))
    near = await both()
    assert (await near.dial(far.key, far.addresses, p2p.PATIENCE_S)).via == "iroh"
    await near.close()
    await far.close()


@pytest.mark.parametrize("kind", ["iroh", "websocket", "ways", "relay"])
async def test_a_connection_that_is_not_admitted_is_refused_at_once_and_a_later_one_is_served(kind):
    net = p2p.Net(kind)
    near, far = await net.endpoint(), await net.endpoint()
    seen, decisions = [], {True: Admission.REFUSE, False: Admission.REFUSE}

    def admit(address, validated):
        seen.append((address, validated))
        return decisions[validated]

    far.admit_by(admit)
    async with asyncio.timeout(p2p.PATIENCE_S / 2):
        with pytest.raises(HostUnreachable):
            await near.dial(far.key, far.addresses, p2p.PATIENCE_S)
    assert {address for address, _ in seen} == {"127.0.0.1"}
    decisions |= {True: Admission.ACCEPT, False: Admission.VALIDATE}
    dialled = await near.dial(far.key, far.addresses, p2p.PATIENCE_S)
    await dialled.write(b"hello")
    assert await exactly(await far.accept(), 5) == b"hello"
    assert seen[-1] == ("127.0.0.1", True)
    await net.close()
