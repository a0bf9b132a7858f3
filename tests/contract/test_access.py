"""Tenants in pods, from their client to the pod and back, over every transport: programs and connections."""

import asyncio
import hashlib
import os

import access_cases as case
import pytest
from access_cases import GONE, LEASE, OTHER
from p2p_endpoints import STRANGER, refusal
from p2p_endpoints import until as eventually

from node_agent.handlers import programs
from offchain.adapters.keys.sealed_box import seal
from offchain.adapters.transport.port import HostRefused, refused
from offchain.schema.protocol.messages import Code
from offchain.schema.protocol.mux import ERR, MAIN, OUT
from offchain.schema.protocol.operations import AttachArgs, DeliverArgs, ExecArgs, GetArgs, PutArgs

way, client = case.way, case.client


async def run(client, *argv, feed=b"", **options):
    program = await client.exec(LEASE, ExecArgs(argv, **options))
    if feed:
        await program.write(feed)
    await program.end_input()
    return await rest_of(program)


async def started(client):
    """A program that runs until it is ended."""
    program = await client.exec(LEASE, ExecArgs(case.FOR_EVER))
    assert await program.read() == (OUT, b"started\n")
    return program


async def rest_of(program):
    found = {}
    while (piece := await program.read()) is not None:
        found[piece[0]] = found.get(piece[0], b"") + piece[1]
    return found, program.exit_code


# --- programs ---------------------------------------------------------------------------------------------------------


async def test_a_program_has_input_two_outputs_and_an_exit_code(client):
    assert await run(client, *case.OUT_AND_ERR) == ({OUT: b"out\n", ERR: b"err\n"}, 3)
    data = os.urandom(2_000_000)
    program = await client.exec(LEASE, ExecArgs(case.CAT))

    async def feed():
        await program.write(data)
        await program.end_input()

    feeding = asyncio.create_task(feed())
    assert await rest_of(program) == ({OUT: data}, 0)
    await feeding


async def test_a_terminal_has_one_output_and_a_size(client):
    program = await client.exec(LEASE, ExecArgs(("size",), tty=True, rows=3, columns=4))
    assert await program.read() == (MAIN, b"3 4\n")
    await program.resize(5, 6)
    assert await program.read() == (MAIN, b"5 6\n")
    await program.kill()


async def test_a_program_is_ended_when_its_tenant_says_so(way, client):
    program = await started(client)
    await program.kill()
    await eventually(lambda: len(way.access._programs) == 0)


async def test_nothing_is_lost_or_doubled_when_the_connection_breaks(client):
    program = await client.exec(LEASE, ExecArgs(case.CAT))
    data = os.urandom(1_500_000)

    async def feed():
        for start in range(0, len(data), 100_000):
            await program.write(data[start : start + 100_000])
        await program.end_input()

    feeding, got, breaks = asyncio.create_task(feed()), b"", 0
    while (piece := await program.read()) is not None:
        got += piece[1]
        if len(got) > (breaks + 1) * 400_000:
            breaks += 1
            await client._peer.connection.close()
    await feeding
    assert (breaks > 1, program.exit_code) == (True, 0)
    assert hashlib.sha256(got).digest() == hashlib.sha256(data).digest()


async def test_the_exit_code_is_told_even_where_the_connection_broke_first(client):
    program = await client.exec(LEASE, ExecArgs(case.CAT))
    await program.write(b"x")
    assert await program.read() == (OUT, b"x")
    await client._peer.connection.close()
    await program.end_input()
    assert await rest_of(program) == ({}, 0)


async def test_a_program_whose_tenant_does_not_come_back_is_ended(way, client):
    way.access._programs._hold_s = 0.05
    program = await started(client)
    await client.close()
    await eventually(lambda: len(way.access._programs) == 0)
    assert await refusal(client.ask(AttachArgs(program._token, 8), LEASE)) is Code.GONE


async def test_a_program_ends_with_its_lease_and_the_reason_is_told(way, client):
    program = await started(client)

    async def over(_request):
        raise refused(Code.LEASE_ENDED, "Lease 7 has ended.", "Its log is still there.")

    way.host.server._authorise = over
    await way.host.server.recheck()
    assert await refusal(program.read()) is Code.LEASE_ENDED
    await eventually(lambda: len(way.access._programs) == 0)


async def test_a_restarted_agent_says_why_the_shell_is_gone(way, client):
    program = await started(client)
    way.access._programs._programs.clear()  # as a new process has it
    await client._peer.connection.close()
    with pytest.raises(HostRefused, match="restarted"):
        await program.read()


async def test_an_agent_that_stops_ends_the_shell_with_a_reason(way, client):
    program = await started(client)
    closing = asyncio.create_task(way.host.server.close())
    with pytest.raises(HostRefused, match="does not outlive"):
        await program.read()
    await closing


async def test_a_program_that_nobody_reads_costs_bounded_memory(way, client):
    program = await client.exec(LEASE, ExecArgs(case.LOTS))
    assert (await program.read())[0] == OUT
    (kept,) = way.access._programs._programs.values()
    for _ in range(50):
        await asyncio.sleep(0.001)
    assert kept.replay.end - kept.replay.start <= programs.REPLAY + 2 * programs.AHEAD
    assert (await rest_of(program))[1] == 0


async def test_programs_at_once_are_bounded(client, monkeypatch):
    monkeypatch.setattr(programs, "MAX_PER_LEASE", 1)
    program = await client.exec(LEASE, ExecArgs(case.FOR_EVER))
    assert await refusal(client.exec(LEASE, ExecArgs(case.FOR_EVER))) is Code.BUSY
    await program.kill()


async def test_what_is_not_there_is_told(client):
    assert await refusal(client.exec(LEASE, ExecArgs(case.CAT, service="no-such"))) is Code.NOT_FOUND
    assert await refusal(client.exec(GONE, ExecArgs(case.CAT))) is Code.NOT_READY
    assert await refusal(client.dial(LEASE, case.NOBODY)) is Code.NOT_FOUND


# --- strangers --------------------------------------------------------------------------------------------------------


async def test_a_stranger_gets_nothing_of_anything(way):
    stranger = await way.client(STRANGER)
    sealed = seal(bytes(31) + b"\t", b"x")
    asks = [
        stranger.exec(LEASE, ExecArgs(case.CAT)),
        stranger.ask(AttachArgs("0" * 32, 0), LEASE),
        stranger.dial(LEASE, case.ECHO_PORT),
        stranger.get(LEASE, GetArgs("/")),
        stranger.put(LEASE, PutArgs("/", "0" * 32, 10)),
        stranger.ask(DeliverArgs("secret", len(sealed)), LEASE),
    ]
    assert [await refusal(ask) for ask in asks] == [Code.NOT_YOUR_LEASE] * len(asks)
    assert not way.delivered


async def test_another_tenant_of_the_host_cannot_take_over_a_program(way, client):
    way.host.answers.tenants.add(STRANGER.address)  # has a lease of its own here
    program = await client.exec(LEASE, ExecArgs(case.FOR_EVER))
    thief = await way.client(STRANGER)
    assert await refusal(thief.ask(AttachArgs(program._token, 0), LEASE)) is Code.GONE
    assert await refusal(thief.ask(AttachArgs(program._token, 0), OTHER)) is Code.GONE
    await program.kill()


# --- connections ------------------------------------------------------------------------------------------------------


async def test_many_connections_into_a_pod_at_once(way, client):
    async def one(number):
        session = await client.dial(LEASE, case.ECHO_PORT)
        data = os.urandom(100_000) + bytes([number])

        async def send():
            await session.write(data)
            session.end()

        sending, got = asyncio.create_task(send()), b""
        while (piece := await session.read_main()) is not None:
            got += piece
        await sending
        return got == data

    assert all(await asyncio.gather(*(one(number) for number in range(20))))
    await eventually(lambda: way.access._dials == 0)


async def test_a_connection_that_is_dropped_leaves_nothing_behind(way, client):
    session = await client.dial(LEASE, case.ECHO_PORT)
    await session.write(b"x")
    assert await session.read_main() == b"x"
    session.drop()
    await eventually(lambda: way.access._dials == 0)
