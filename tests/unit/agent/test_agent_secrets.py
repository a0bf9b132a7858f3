"""What a tenant trusts its host with is in no log, at whatever level."""

import logging

import pytest
from agent_world import World

from node_agent.attestation.sealing_key import SealingKey
from node_agent.core.states import Phase
from node_agent.runtime.agent import NodeAgent
from offchain.adapters.transport.port import HostRefused
from offchain.schema.chain_types._generated_chain import LeaseStateActive
from offchain.schema.protocol.messages import Code
from offchain.schema.protocol.operations import ExecArgs
from tests.support.fake_access import FakeAccess, FakePod
from tests.support.fake_engine import FakeProgram

ARGUMENT, TYPED, PRINTED, DELIVERED = "--password=s3cret-1", b"s3cret-2", b"s3cret-3", b"s3cret-4"


async def login(_argv, io):
    await io.read()
    await io.write(PRINTED)
    return 0


async def breaks(_argv, _io):
    raise OSError("the engine broke")


async def test_no_secret_of_a_tenant_comes_into_the_log(tmp_path, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    world = World(tmp_path / "agent", lambda *_: FakeProgram(runs=True, output=PRINTED + b"\n"))
    pods = FakeAccess({})
    monkeypatch.setattr("agent_world.NodeAgent", lambda *given, **options: NodeAgent(*given, **options, pods=pods))
    async with world.agent() as agent:
        number = world.open_lease()
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
        await world.until(lambda: world.tasks.lease(number).state == LeaseStateActive())
        pods.pods[number] = FakePod({"login": login, "breaks": breaks})
        client = world.client(agent)
        program = await client.exec(number, ExecArgs(("login", ARGUMENT)))
        await program.write(TYPED)
        while await program.read() is not None:
            pass
        with pytest.raises(HostRefused):
            await client.deliver(number, "unknown", DELIVERED)
        assert [line async for line in client.logs(number)]
        await client.close()
    assert f"lease {number}" in caplog.text, "the agent logs what it does"
    for secret in (ARGUMENT, TYPED.decode(), PRINTED.decode(), DELIVERED.decode(), world.key.seed().hex()):
        assert secret not in caplog.text


async def test_a_confidential_host_opens_what_is_sealed_for_the_key_in_its_memory(tmp_path, monkeypatch):
    world = World(tmp_path / "agent", lambda *_: FakeProgram(runs=True))
    parts = {"pods": FakeAccess({}), "sealing": SealingKey()}
    monkeypatch.setattr("agent_world.NodeAgent", lambda *given, **options: NodeAgent(*given, **options, **parts))
    async with world.agent() as agent:
        number = world.open_lease()
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
        await world.until(lambda: world.tasks.lease(number).state == LeaseStateActive())
        client = world.client(agent)
        # Opened: only then is it seen that the manifest does not name it.
        opened = {SealingKey().public: Code.BAD_REQUEST, parts["sealing"].public: Code.NOT_FOUND, None: Code.NOT_FOUND}
        for key, code in opened.items():
            with pytest.raises(HostRefused) as refused:
                await client.deliver(number, "unknown", DELIVERED, seal_key=key)
            assert refused.value.refusal.code is code
        await client.close()
