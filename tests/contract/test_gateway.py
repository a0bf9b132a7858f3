"""A gateway, the hosts that keep a stream to it, their callers: what it carries, and what it refuses."""

import asyncio
import os

import p2p_endpoints as p2p
import pytest
from p2p_endpoints import (
    DIGEST,
    GENESIS,
    LEASE,
    PATIENCE_S,
    RESULT,
    TENANT,
    all_allowed,
    asked,
    connected,
    exactly,
    refusal,
    token_of,
    until,
)

from offchain.adapters.keys.signer import Ed25519Signer
from offchain.adapters.transport.gateway import GatewayTransport
from offchain.adapters.transport.iroh_quic import IrohTransport
from offchain.adapters.transport.port import ConnectionLost, HostRefused, HostUnreachable, refused
from offchain.adapters.transport.routing import RoutedTransport, open_host
from offchain.adapters.transport.websocket import WsTransport
from offchain.gateway.limits import RelayLimits
from offchain.gateway.relay import Relay
from offchain.schema.protocol.messages import Code, endpoint_text
from offchain.schema.protocol.operations import AcceptArgs, RegisterArgs

# --- what it carries --------------------------------------------------------------------------------------------------


async def test_a_tenant_reaches_a_host_that_names_only_its_gateway(places, gateway):
    through = await places(p2p.through(gateway))
    host = p2p.Host(through)
    endpoint = endpoint_text(through.addresses)
    async with open_host(through.key, endpoint, genesis_hash=GENESIS, signer=TENANT) as client:
        client._now_ms = lambda: p2p.NOW_MS
        assert await client.connect() == "gateway"
        assert await client.result(LEASE, DIGEST) == RESULT
        assert gateway.relay.load.streams == 1
        assert gateway.relay.load.carried_bytes > len(RESULT)
    await until(lambda: gateway.relay.load.streams == 0)
    await host.close()


async def test_the_host_itself_is_preferred_and_the_gateway_is_there_when_it_does_not_answer(places, gateway):
    seed = os.urandom(32)
    direct = await IrohTransport.bind(seed)
    by_gateways = GatewayTransport(direct, seed, genesis_hash=GENESIS, signer=TENANT)
    by_gateways.listen([gateway.address])
    host = await places(RoutedTransport(direct, by_gateways))
    await by_gateways.wait_registered()
    assert host.addresses == (*direct.addresses, gateway.address.text)
    accepted = []

    async def caller(head_start_s):
        seed = os.urandom(32)
        own = await IrohTransport.bind(seed, listen=False)
        return RoutedTransport(
            own, GatewayTransport(own, seed, genesis_hash=GENESIS, signer=TENANT), head_start_s=head_start_s
        )

    async def accept():
        while (connection := await host.accept()) is not None:
            accepted.append(connection.via)

    accepting = asyncio.create_task(accept())
    near = await (await places(caller(PATIENCE_S))).dial(host.key, host.addresses, PATIENCE_S)
    await near.write(b"hello")
    nobody = await IrohTransport.bind(os.urandom(32))
    closed = nobody.addresses
    await nobody.close()
    # Another one: QUIC remembers where it has found a key.
    far = await (await places(caller(0.5))).dial(host.key, (*closed, gateway.address.text), PATIENCE_S)
    assert (near.via, far.via) == ("iroh", "gateway")
    await far.write(b"hello")
    await until(lambda: sorted(accepted) == ["gateway", "iroh"])
    accepting.cancel()


async def test_a_sender_waits_for_its_reader_and_the_gateway_holds_little(places, gateway):
    _, _, dialled, accepted = await connected(places, gateway)
    whole, limit = 64 << 20, 12 << 20
    sending = asyncio.create_task(accepted.write(bytes(whole)))
    received = 0
    while received < whole:
        # The relay runs many times for each piece that is read, so without flow control it would be far ahead.
        for _ in range(50):
            await asyncio.sleep(0)
        received += len(await dialled.read())
        assert gateway.relay.load.carried_bytes - received < limit
        assert not sending.done() or received > whole - 2 * limit
    await sending


async def test_hosts_and_callers_come_back_after_a_gateway_that_was_stopped(places):
    seed = os.urandom(32)
    first = p2p.RunningGateway(await WsTransport.bind(seed))
    host = await places(p2p.through(first, websocket=True))
    caller = await places(p2p.through(first, websocket=True, listen=False))
    dialled = await caller.dial(host.key, [first.address.text], PATIENCE_S)
    await host.accept()
    await first.close()
    with pytest.raises(ConnectionLost):
        await dialled.read()
    again = await places(p2p.RunningGateway(await WsTransport.bind(seed, f"127.0.0.1:{first.address.port}")))
    async with asyncio.timeout(PATIENCE_S):
        await host._registrations[first.address].registered.wait()
    assert again.relay.load.hosts == 1
    connection = await caller.dial(host.key, [again.address.text], PATIENCE_S)
    await connection.write(b"again")
    assert await exactly(await host.accept(), 5) == b"again"


async def test_a_gateway_that_falls_silent_is_dialled_anew(places):
    gateway = await places(p2p.RunningGateway.start(relay=Relay(all_allowed, beat_s=3600)))
    seed = os.urandom(32)
    base = await places(IrohTransport.bind(seed, listen=False))
    host = GatewayTransport(base, seed, genesis_hash=GENESIS, signer=TENANT)
    host.listen([gateway.address], silence_s=0.2)
    await host.wait_registered()
    await until(lambda: not host.states[0].is_registered)
    assert "silent" in host.states[0].problem
    async with asyncio.timeout(PATIENCE_S):
        await host.wait_registered()
    await host.close()


async def test_what_a_silent_gateway_carries_goes_on_while_the_host_comes_again(places):
    relay = Relay(all_allowed, beat_s=0.05)
    gateway = await places(p2p.RunningGateway.start(relay=relay))
    host, _, dialled, accepted = await connected(places, gateway)
    host._registrations[gateway.address]._silence_s = 0.3
    relay._beat_s = 3600
    await until(lambda: "silent" in host.states[0].problem)
    async with asyncio.timeout(PATIENCE_S):
        await host.wait_registered()
    await dialled.write(b"still here")
    assert await exactly(accepted, 10) == b"still here"


async def test_a_host_that_comes_again_takes_its_own_place(places):
    told = []
    relay = Relay(all_allowed, report=lambda what, _host: told.append(what))
    gateway = await places(p2p.RunningGateway.start(relay=relay))
    seed = os.urandom(32)
    await places(p2p.through(gateway, seed=seed))
    again = await places(p2p.through(gateway, seed=seed))
    await until(lambda: told.count("attached") >= 2)
    assert gateway.relay.load.hosts == 1
    assert again.states[0].is_registered


# --- what it refuses --------------------------------------------------------------------------------------------------


async def test_who_is_no_host_cannot_attach_and_is_told(places, gateway):
    stranger = Ed25519Signer(os.urandom(32))
    gateway.strangers.add(stranger.address)
    client = await asked(places, gateway, stranger)
    assert await refusal(client.ask(RegisterArgs(), None)) is Code.NOT_A_HOST
    assert gateway.relay.load.hosts == 0


async def test_nobody_takes_another_hosts_place_with_a_key_of_their_own(places, gateway):
    victim = await places(p2p.through(gateway))
    thief = await asked(places, gateway, Ed25519Signer(os.urandom(32)))
    await thief.ask(RegisterArgs(), None)
    assert gateway.relay.load.hosts == 2
    caller = await places(p2p.through(gateway, listen=False))
    await caller.dial(victim.key, [gateway.address.text], PATIENCE_S)
    assert (await victim.accept()).via == "gateway"


async def test_a_host_that_leaves_the_chain_is_sent_away(places):
    verdicts = []

    async def authorise(request):
        verdicts.append(request.account)
        if len(verdicts) > 2:
            raise refused(Code.NOT_A_HOST, "Retired.", "Register.")

    gateway = await places(p2p.RunningGateway.start(relay=Relay(authorise, beat_s=0.02, recheck_s=0)))
    host = await places(p2p.through(gateway))
    gateway.strangers.add(host._own.address)
    await until(lambda: gateway.relay.load.hosts == 0)
    await until(lambda: host.states[0].problem in ("Retired.", "No host."))


async def test_a_host_that_is_not_here_is_told(places, gateway):
    caller = await places(p2p.through(gateway, listen=False))
    with pytest.raises(HostUnreachable, match="keeps no stream"):
        await caller.dial(bytes(31) + b"\1", [gateway.address.text], PATIENCE_S)
    client = await asked(places, gateway)
    assert await refusal(client.carry(bytes(32), window=1)) is Code.NOT_ATTACHED


async def test_a_host_that_does_not_take_up_the_call_costs_no_more_than_its_time(places):
    gateway = await places(p2p.RunningGateway.start(limits=RelayLimits(call_s=0.1)))
    host = Ed25519Signer(os.urandom(32))
    asleep = await asked(places, gateway, host)
    await asleep.ask(RegisterArgs(), None)
    client = await asked(places, gateway)
    with pytest.raises(HostRefused, match="did not accept the call"):
        await client.carry(host.public_key, window=1)
    assert gateway.relay.load.streams == 0


async def test_a_token_is_worth_something_to_its_host_only(places, gateway):
    host, thief = Ed25519Signer(os.urandom(32)), Ed25519Signer(os.urandom(32))
    asleep, stealing = await asked(places, gateway, host), await asked(places, gateway, thief)
    session, _ = await asleep.ask(RegisterArgs(), None)
    await stealing.ask(RegisterArgs(), None)
    client = await asked(places, gateway)
    calling = asyncio.create_task(client.carry(host.public_key, window=1))
    token = await token_of(session)
    assert await refusal(stealing.ask(AcceptArgs(token), None)) is Code.NOT_FOUND
    assert not calling.done()
    await asleep.ask(AcceptArgs(token), None)
    await calling


@pytest.mark.parametrize(
    "limits", [RelayLimits(streams=2), RelayLimits(streams_of_host=2), RelayLimits(streams_of_tenant=2)]
)
async def test_streams_are_bounded_and_a_place_is_free_again_when_one_ends(places, limits):
    gateway = await places(p2p.RunningGateway.start(limits=limits))
    host, caller, first, _ = await connected(places, gateway)
    await caller.dial(host.key, [gateway.address.text], PATIENCE_S)
    assert gateway.relay.load.refused_streams == 0
    with pytest.raises(HostUnreachable, match="limit"):
        await caller.dial(host.key, [gateway.address.text], PATIENCE_S)
    assert gateway.relay.load.refused_streams > 0
    assert gateway.relay.load.carried_streams == 2
    await first.close()
    await until(lambda: gateway.relay.load.streams == 1)
    await caller.dial(host.key, [gateway.address.text], PATIENCE_S)


async def test_a_stream_on_which_nothing_moves_is_cut(places):
    gateway = await places(p2p.RunningGateway.start(limits=RelayLimits(idle_s=2)))
    _, _, dialled, accepted = await connected(places, gateway)
    for end in (dialled, accepted):
        with pytest.raises(ConnectionLost):
            async with asyncio.timeout(PATIENCE_S):
                await end.read()
    assert gateway.relay.load.streams == 0
