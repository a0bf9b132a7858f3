"""Who gets to a host's pods: decided by the chain as it is now. And which lines of a log are sent."""

import pytest
from agent_world import TENANT, World
from hypothesis import given
from hypothesis import strategies as st
from test_agent_kinds_service import POD

from node_agent.core.states import Phase
from node_agent.handlers.host_requests import may_act
from node_agent.logs.lines import (
    MAX_LINE_BYTES,
    LineSplitter,
    LogTail,
    comparable_stamp,
    comparable_stamp_of_ms,
    lines_since,
)
from node_agent.runtime.agent import NodeAgent
from offchain.adapters.keys.sealed_box import seal_to_host
from offchain.adapters.keys.signer import Ed25519Signer, from_uri
from offchain.adapters.transport.port import HostRefused
from offchain.schema.chain_types._generated_chain import LeaseStateActive, LeaseStatePending, LeaseStateSuspended
from offchain.schema.protocol.messages import Code
from offchain.schema.protocol.operations import (
    AttachArgs,
    DeliverArgs,
    DialArgs,
    ExecArgs,
    GetArgs,
    LogsArgs,
    PutArgs,
    ResultArgs,
)
from tests.support.fake_access import FakeAccess, FakePod
from tests.support.fake_engine import FakeProgram

FRIEND = from_uri("//Bob")
SEALED = seal_to_host(Ed25519Signer(bytes(32)).public_key, b"x")
INTO_POD = [
    ExecArgs(("cat",)),
    AttachArgs("0" * 32, 0),
    DialArgs(80),
    GetArgs("/x"),
    PutArgs("/", "0" * 32, 10),
]
EVERYTHING = [*INTO_POD, DeliverArgs("secret", len(SEALED)), ResultArgs(), LogsArgs()]


async def cat(_argv, io):
    while data := await io.read():
        await io.write(data)
    return 0


class Way(World):
    """An agent whose pods can be entered."""

    def __init__(self, folder):
        super().__init__(folder, lambda *_: FakeProgram(runs=True, output=b"one\ntwo\nthree\n"))
        self.pods = FakeAccess({})

    def make_agent(self, *arguments, **options):
        return NodeAgent(*arguments, **options, pods=self.pods)

    def proxy(self, kind="Tenant", delegate=FRIEND.address, delay=0):
        definition = {"delegate": delegate, "proxy_type": kind, "delay": delay}
        self.table("Proxy", "Proxies")[(TENANT.address,)] = ([definition], 0)


@pytest.fixture
def world(tmp_path, monkeypatch):
    made = Way(tmp_path / "agent")
    monkeypatch.setattr("agent_world.NodeAgent", made.make_agent)
    return made


async def running(world, agent):
    number = world.open_lease()
    await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
    await world.until(lambda: world.tasks.lease(number).state == LeaseStateActive())
    world.pods.pods[number] = FakePod({"cat": cat}, files={"/x": b""})
    return number


async def code_of(client, args, number):
    try:
        session, _ = await client.ask(args, number)
    except HostRefused as no:
        return no.refusal.code
    session.drop()
    return "ok"


async def codes(world, agent, signer, number, asked=EVERYTHING):
    client = world.client(agent, signer)
    found = [await code_of(client, args, number) for args in asked]
    await client.close()
    return found


async def test_a_stranger_is_refused_everything(world):
    async with world.agent() as agent:
        number = await running(world, agent)
        assert await codes(world, agent, FRIEND, number) == [Code.NOT_YOUR_LEASE] * len(EVERYTHING)
        assert await codes(world, agent, world.key, number) == [Code.NOT_YOUR_LEASE] * len(EVERYTHING)


async def test_the_tenant_and_its_proxy_get_in(world):
    async with world.agent() as agent:
        number = await running(world, agent)
        wanted = ["ok", Code.GONE, Code.NOT_FOUND, "ok", "ok", "ok", Code.NOT_READY, "ok"]
        assert await codes(world, agent, TENANT, number) == wanted
        for kind in ("Tenant", "NonTransfer", "Any"):
            world.proxy(kind)
            assert await codes(world, agent, FRIEND, number) == wanted


@pytest.mark.parametrize("change", [{"kind": "Provider"}, {"delay": 1}, {"delegate": from_uri("//Dave").address}])
async def test_a_proxy_for_something_else_does_not(world, change):
    async with world.agent() as agent:
        number = await running(world, agent)
        world.proxy(**change)
        assert await codes(world, agent, FRIEND, number) == [Code.NOT_YOUR_LEASE] * len(EVERYTHING)


def test_which_proxies_may_act():
    one = {"delegate": "a", "proxy_type": "Tenant", "delay": 0}
    assert may_act(one, "a")
    for change in ({"delay": 1}, {"delegate": "b"}, {"proxy_type": "Provider"}):
        assert not may_act(one | change, "a")


async def test_a_proxy_that_is_removed_is_cut_off(world):
    async with world.agent() as agent:
        number = await running(world, agent)
        world.proxy()
        client = world.client(agent, FRIEND)
        program = await client.exec(number, ExecArgs(("cat",)))
        await program.write(b"x")
        assert await program.read() == (1, b"x")
        world.table("Proxy", "Proxies").clear()
        with pytest.raises(HostRefused) as caught:
            await program.read()
        assert caught.value.refusal.code is Code.NOT_YOUR_LEASE
        await client.close()


async def test_the_way_in_ends_with_the_lease_and_what_was_stays_readable(world):
    async with world.agent() as agent:
        number = await running(world, agent)
        client = world.client(agent)
        program = await client.exec(number, ExecArgs(("cat",)))
        world.end_lease(number)
        with pytest.raises(HostRefused) as caught:
            await program.read()
        assert caught.value.refusal.code in (Code.LEASE_ENDED, Code.GONE)
        assert caught.value.refusal.hint or caught.value.refusal.message
        assert await codes(world, agent, TENANT, number, INTO_POD) == [Code.LEASE_ENDED] * len(INTO_POD)
        assert await code_of(client, LogsArgs(), number) == "ok"
        await client.close()


@pytest.mark.parametrize(("state", "code"), [(LeaseStatePending(), "started"), (LeaseStateSuspended(), "suspended")])
async def test_access_to_a_pod_that_does_not_run_is_refused_with_the_reason(world, state, code):
    async with world.agent() as agent:
        number = await running(world, agent)
        world.tasks.change_lease(number, state=state)
        client = world.client(agent)
        with pytest.raises(HostRefused, match=code):
            await client.exec(number, ExecArgs(("cat",)))
        wanted = "ok" if state == LeaseStatePending() else Code.NOT_READY
        assert await code_of(client, DeliverArgs("secret", len(SEALED)), number) == wanted
        await client.close()


async def test_a_lease_of_another_host_is_unknown_here(world):
    async with world.agent() as agent:
        number = await running(world, agent)
        assert set(await codes(world, agent, TENANT, number + (1 << 24))) == {Code.UNKNOWN_LEASE}


async def test_only_hosts_may_probe(world):
    async with world.agent() as agent:
        client = world.client(agent, world.key)
        assert await client.probe(1000) > 0
        await client.close()
        client = world.client(agent, TENANT)
        with pytest.raises(HostRefused, match="not a host"):
            await client.probe(1000)
        await client.close()


async def test_an_unreachable_node_is_reported(world):
    async with world.agent() as agent:
        number = await running(world, agent)
        world.chain.unreachable = True
        assert set(await codes(world, agent, TENANT, number)) == {Code.BUSY}
        world.chain.unreachable = False


async def test_what_the_manifest_does_not_name_is_not_taken(world):
    async with world.agent() as agent:
        number = await running(world, agent)
        client = world.client(agent)
        with pytest.raises(HostRefused, match="secret"):
            await client.deliver(number, "secret", b"x")
        await client.close()


async def log_of(client, number, **options):
    return b"".join([piece async for piece in client.logs(number, **options)])


async def test_the_end_of_a_log_is_followed_by_new_lines(world):
    async with world.agent() as agent:
        number = await running(world, agent)
        client = world.client(agent)
        assert (await log_of(client, number)).count(b"\n") == 3
        assert (await log_of(client, number, tail=2)).splitlines()[0].endswith(b"two")
        assert await log_of(client, number, tail=0) == b""
        assert await log_of(client, number, since_ms=1) == b""
        following = client.logs(number, follow=True, tail=1)
        assert (await anext(following)).endswith(b"three\n")
        world.engine.finish(world.host, number)
        assert [piece async for piece in following] == []
        await client.close()


# --- lines ------------------------------------------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=40)))
def test_lines_are_cut_the_same_however_they_come(pieces):
    cutter, whole = LineSplitter(verbatim=True), b"".join(pieces)
    lines = [line for piece in pieces for line in cutter.feed(piece)] + cutter.end()
    assert b"".join(lines) == whole
    assert all(line.endswith(b"\n") for line in lines[:-1])


def test_a_line_without_end_is_cut():
    cutter = LineSplitter(verbatim=True)
    assert cutter.feed(b"x" * MAX_LINE_BYTES) == []
    assert cutter.feed(b"y") == [b"x" * MAX_LINE_BYTES + b"y"]
    assert cutter.end() == []


def test_lines_since_a_time():
    lines = [
        b"2026-01-01T00:00:00.5Z old\n",
        b"more of the old\n",
        b"2026-01-01T00:00:01.000000001Z new\n",
        b"more of the new\n",
    ]
    at_ms = 1_767_225_601_000
    assert list(lines_since(lines, comparable_stamp_of_ms(at_ms))) == lines[2:]
    assert list(lines_since(lines, comparable_stamp_of_ms(at_ms - 1000))) == lines
    assert list(lines_since(lines, None)) == lines
    assert list(lines_since(lines, comparable_stamp_of_ms(1 << 63))) == []
    assert comparable_stamp(b"no time here\n") is None


@given(st.lists(st.binary(min_size=1, max_size=9)), st.integers(0, 5), st.integers(1, 30))
def test_the_tail_is_the_end_and_bounded(lines, count, most):
    tail = LogTail(count, most)
    tail.add(lines)
    kept = tail.lines()
    assert lines[len(lines) - len(kept) :] == kept
    assert len(kept) <= count
    assert len(kept) <= 1 or sum(map(len, kept)) <= most


async def test_the_log_of_one_service_while_it_runs_and_when_its_pod_is_gone(world):
    async with world.agent() as agent:
        number = world.open_lease(POD)
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
        client = world.client(agent)
        assert b" db | two\n" in await log_of(client, number)
        alone = await log_of(client, number, service="db")
        assert [line.partition(b" ")[2] for line in alone.splitlines()] == [b"one", b"two", b"three"]
        assert (await log_of(client, number, service="db", tail=1)).endswith(b" three\n")
        with pytest.raises(HostRefused, match="has no service 'web'; its services are main, db"):
            await log_of(client, number, service="web")
        world.engine.finish(world.host, number)
        await world.until(lambda: number not in agent.state.pods)
        assert await log_of(client, number, service="db") == alone
        with pytest.raises(HostRefused, match="its services are main, db"):
            await log_of(client, number, service="web")
        await client.close()
