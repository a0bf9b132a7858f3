"""Hostile gateways, and strangers behind an honest one: what they cannot read, change or have answered."""

import asyncio
import os

import p2p_endpoints as p2p
import pytest
from p2p_endpoints import (
    DIGEST,
    LEASE,
    PATIENCE_S,
    STRANGER,
    all_allowed,
    asked,
    connected,
    exactly,
    refusal,
    token_of,
    until,
)

from offchain.adapters.keys.signer import Ed25519Signer
from offchain.adapters.transport.certificate import client_context, server_context
from offchain.adapters.transport.port import ConnectionLost, HostRefused, HostUnreachable
from offchain.adapters.transport.relayed import RelayedConnection, SessionStream, answer
from offchain.gateway.relay import Relay
from offchain.schema.protocol.messages import Code
from offchain.schema.protocol.operations import AcceptArgs, RegisterArgs, RelayArgs


class Liar(Relay):
    """Brings callers where it likes, and does to their bytes what it likes."""

    def __init__(self, *, bring_to=None, change=None):
        super().__init__(all_allowed)
        self.bring_to, self.change, self.heard = bring_to, change, []

    def _attached(self, host):
        return super()._attached(self.bring_to or host)

    async def pass_on(self, piece, from_caller, sink):
        if from_caller:
            self.heard.append(piece)
        changed = piece if self.change is None else self.change(piece, from_caller)
        await super().pass_on(changed, from_caller, sink)


async def test_another_host_than_the_one_that_was_asked_for_is_found_out(places):
    other = Ed25519Signer(seed := os.urandom(32))
    gateway = await places(p2p.RunningGateway.start(relay=Liar(bring_to=other.address)))
    await places(p2p.through(gateway, seed=seed))
    wanted = await places(p2p.through(gateway))
    caller = await places(p2p.through(gateway, listen=False))
    with pytest.raises(HostUnreachable, match="does not have the host's key"):
        await caller.dial(wanted.key, [gateway.address.text], PATIENCE_S)


@pytest.mark.parametrize("from_caller", [True, False])
async def test_a_changed_byte_breaks_the_connection(places, from_caller):
    lying = asyncio.Event()

    def change(piece, comes_from_caller):
        if lying.is_set() and comes_from_caller is from_caller:
            return piece[:-1] + bytes((piece[-1] ^ 1,))
        return piece

    gateway = await places(p2p.RunningGateway.start(relay=Liar(change=change)))
    _, _, dialled, accepted = await connected(places, gateway)
    sender, receiver = (dialled, accepted) if from_caller else (accepted, dialled)
    await sender.write(b"true")
    assert await exactly(receiver, 4) == b"true"
    lying.set()
    await sender.write(b"false")
    with pytest.raises(ConnectionLost, match="not what the other side sent"):
        await receiver.read()


async def test_nothing_that_was_said_can_be_read_by_the_gateway(places):
    gateway = await places(p2p.RunningGateway.start(relay=Liar()))
    _, _, dialled, accepted = await connected(places, gateway)
    secret = b"the tenant's secret"
    await dialled.write(secret)
    assert await exactly(accepted, len(secret)) == secret
    assert secret not in b"".join(gateway.relay.heard)


async def test_what_a_caller_said_before_is_worth_nothing_when_it_is_said_again(places):
    liar = Liar()
    gateway = await places(p2p.RunningGateway.start(relay=liar))
    host, caller, dialled, _ = await connected(places, gateway)
    await dialled.write(b"do it")
    await until(lambda: len(liar.heard) >= 3)
    await dialled.close()
    await until(lambda: gateway.relay.load.streams == 0)
    said = list(liar.heard)
    replayed = iter(said)
    liar.change = lambda piece, from_caller: next(replayed, b"\0") if from_caller else piece
    accepting = asyncio.create_task(host.accept())
    with pytest.raises(HostUnreachable):
        await caller.dial(host.key, [gateway.address.text], PATIENCE_S)
    assert not accepting.done()
    accepting.cancel()


async def test_a_caller_that_proves_no_key_is_not_accepted(places, gateway):
    """The host's end, with a caller that signs for another host."""
    signer = Ed25519Signer(os.urandom(32))
    host, client = await asked(places, gateway, signer), await asked(places, gateway)
    session, _ = await host.ask(RegisterArgs(), None)
    calling = asyncio.create_task(client.carry(signer.public_key, window=1 << 16))
    token = await token_of(session)
    taken, _ = await host.ask(AcceptArgs(token), None, window=1 << 16)
    answering = asyncio.create_task(answer(SessionStream(taken), server_context(signer), signer.public_key))
    liar = RelayedConnection(SessionStream(await calling), client_context(), server=False)
    await liar.handshake()
    await liar.read_record()
    await liar.write(bytes(96))
    with pytest.raises(ConnectionLost, match="did not prove"):
        await answering


async def test_a_strangers_question_is_refused_through_a_gateway_too(places, gateway):
    through = await places(p2p.through(gateway))
    host = p2p.Host(through)
    caller = await places(p2p.through(gateway, listen=False, signer=STRANGER))
    client = p2p.client_of(caller, host, STRANGER)
    assert await refusal(client.result(LEASE, DIGEST)) is Code.NOT_YOUR_LEASE
    await client.close()
    await host.close()


async def test_a_gateway_answers_nothing_about_leases(places, gateway):
    client = await asked(places, gateway)
    await client.ping()
    with pytest.raises(HostRefused, match="does not offer"):
        await client.result(LEASE, DIGEST)
    assert await refusal(client.ask(RelayArgs("00" * 32), None)) is Code.NOT_ATTACHED
