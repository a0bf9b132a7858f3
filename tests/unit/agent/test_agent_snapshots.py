"""Snapshots through the host's protocol: for the tenant only, while there is data."""

import asyncio

import pytest
from agent_world import World
from test_agent_kinds_service import POD, RENTAL

from node_agent.core.states import Phase
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.transport.copy import get_image
from offchain.adapters.transport.port import HostRefused
from offchain.schema.chain_types._generated_chain import (
    LeaseStateActive,
    LeaseStatePending,
    LeaseStatePurged,
    LeaseStateRetained,
    LeaseStateSuspended,
    TaskKind,
)
from offchain.schema.protocol.messages import Code
from offchain.schema.protocol.operations import ImageArgs
from offchain.schema.protocol.snapshots import SnapshotAction
from tests.support.fake_engine import FakeProgram

STRANGER = from_uri("//Bob")


@pytest.fixture
def world(tmp_path):
    return World(tmp_path / "agent", lambda *_: FakeProgram(runs=True, disk_mib=300))


async def running(world, agent, manifest=RENTAL, kind=TaskKind.RENTAL):
    number = world.open_lease(manifest, kind=kind)
    await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
    await world.until(lambda: world.tasks.lease(number).state == LeaseStateActive())
    return number


async def code_of(host, number, act, name=None):
    try:
        await host.snapshots(number, act, name)
    except HostRefused as no:
        return no.refusal.code
    return "ok"


async def test_a_snapshot_is_taken_listed_restored_and_removed(world):
    async with world.agent() as agent, world.asking(agent) as host:
        number = await running(world, agent)
        there = await host.snapshots(number, SnapshotAction.TAKE, "before")
        assert [(one.name, one.size_bytes) for one in there.snapshots] == [("before", 300 << 20)]
        assert there.current is None
        assert await host.snapshots(number, SnapshotAction.LIST) == there
        main = world.engine.main(world.host, number).reference
        assert (await host.snapshots(number, SnapshotAction.RESTORE, "before")).current == "before"
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
        again = world.engine.main(world.host, number)
        assert (again.reference != main, again.spec.base) == (True, "before")
        with pytest.raises(HostRefused, match="is made of 'before'"):
            await host.snapshots(number, SnapshotAction.REMOVE, "before")
        await host.snapshots(number, SnapshotAction.TAKE, "other")
        assert [one.name for one in (await host.snapshots(number, SnapshotAction.REMOVE, "other")).snapshots] == [
            "before"
        ]


async def test_what_a_suspended_machine_will_be_made_of_is_not_removed(world):
    async with world.agent() as agent, world.asking(agent) as host:
        number = await running(world, agent)
        await host.snapshots(number, SnapshotAction.TAKE, "before")
        world.set_lease(number, LeaseStateSuspended())
        await world.until(lambda: agent.state.phase(number) is Phase.SUSPENDED)
        await host.snapshots(number, SnapshotAction.RESTORE, "before")
        assert agent.state.phase(number) is Phase.SUSPENDED
        with pytest.raises(HostRefused, match="about to be made of 'before'"):
            await host.snapshots(number, SnapshotAction.REMOVE, "before")
        world.set_lease(number, LeaseStateActive())
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
        assert world.engine.main(world.host, number).spec.base == "before"


async def test_the_leases_disk_is_the_limit_and_the_message_says_what_to_do(world):
    async with world.agent() as agent, world.asking(agent) as host:
        number = await running(world, agent)
        # 1 GiB: the machine itself takes 300 MiB, and so does each snapshot.
        assert [await code_of(host, number, SnapshotAction.TAKE, f"s{one}") for one in range(3)] == [
            "ok",
            "ok",
            Code.NOT_FOUND,
        ]
        with pytest.raises(HostRefused, match="left of the lease's disk"):
            await host.snapshots(number, SnapshotAction.TAKE, "more")
        await host.snapshots(number, SnapshotAction.REMOVE, "s0")
        assert await code_of(host, number, SnapshotAction.TAKE, "more") == "ok"


async def test_other_users_cannot_read_delivered_files(world):
    async with world.agent() as agent, world.asking(agent, STRANGER) as host:
        number = await running(world, agent)
        for act in SnapshotAction:
            assert (
                await code_of(host, number, act, None if act is SnapshotAction.LIST else "before")
                == Code.NOT_YOUR_LEASE
            )
        with pytest.raises(HostRefused, match="does not belong to"):
            await host.image(number, ImageArgs("before"))


@pytest.mark.parametrize(
    ("state", "wanted"),
    [
        (LeaseStatePending(), [Code.NOT_READY] * 4),
        (LeaseStateSuspended(), [Code.NOT_FOUND, "ok", "ok", "ok"]),
        (LeaseStateRetained(value=10**15), [Code.LEASE_ENDED, "ok", "ok", Code.LEASE_ENDED]),
        (LeaseStatePurged(), [Code.LEASE_ENDED] * 4),
    ],
)
async def test_what_may_be_done_follows_the_lease_on_the_chain(world, state, wanted):
    async with world.agent() as agent, world.asking(agent) as host:
        number = await running(world, agent)
        await host.snapshots(number, SnapshotAction.TAKE, "before")
        world.tasks.change_lease(number, state=state)
        wishes = [
            (SnapshotAction.TAKE, "before"),
            (SnapshotAction.LIST, None),
            (SnapshotAction.REMOVE, "absent"),
            (SnapshotAction.RESTORE, "before"),
        ]
        assert [await code_of(host, number, *wish) for wish in wishes] == wanted


async def test_only_rentals_have_them(world):
    async with world.agent() as agent, world.asking(agent) as host:
        number = await running(world, agent, POD, TaskKind.JOB)
        with pytest.raises(HostRefused, match="only rentals have snapshots"):
            await host.snapshots(number, SnapshotAction.TAKE, "before")


async def test_one_at_a_time_is_taken_and_a_tenant_that_leaves_does_not_stop_it(world, monkeypatch):
    begun, go_on = asyncio.Event(), asyncio.Event()
    async with world.agent() as agent, world.asking(agent) as host:
        number = await running(world, agent)
        take = agent._driver.snapshot

        async def slowly(*arguments):
            begun.set()
            await go_on.wait()
            return await take(*arguments)

        monkeypatch.setattr(agent._driver, "snapshot", slowly)
        asking = asyncio.create_task(host.snapshots(number, SnapshotAction.TAKE, "before"))
        await begun.wait()
        async with world.asking(agent) as second:
            assert await code_of(second, number, SnapshotAction.TAKE, "other") == Code.BUSY
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            assert (await second.snapshots(number, SnapshotAction.LIST)).snapshots == ()
            go_on.set()
            await world.until(lambda: world.engine.snapshots.get((world.host, number)))
            assert [one.name for one in (await second.snapshots(number, SnapshotAction.LIST)).snapshots] == ["before"]


async def test_an_image_is_fetched_and_goes_on_where_it_was_cut(world, tmp_path):
    async with world.agent() as agent, world.asking(agent) as host:
        number = await running(world, agent)
        (made,) = (await host.snapshots(number, SnapshotAction.TAKE, "before")).snapshots
        whole = made.digest.encode()
        part = tmp_path / "part"
        told = []
        for begun in (b"", whole[:10], b"another beginning"):
            part.write_bytes(begun)
            await get_image(host, number, "before", part, lambda done, _: told.append(done))
            assert part.read_bytes() == whole
        assert told == [len(whole)] * 3
        with pytest.raises(HostRefused, match="no snapshot 'absent'"):
            await get_image(host, number, "absent", tmp_path / "none", lambda *_: None)


async def test_snapshots_are_in_the_receipt_of_the_deletion(world):
    async with world.agent() as agent, world.asking(agent) as host:
        number = await running(world, agent)
        await host.snapshots(number, SnapshotAction.TAKE, "before")
        world.set_lease(number, LeaseStateRetained(value=world.now_ms))
        await world.until(lambda: agent.state.phase(number) is Phase.PURGED and world.reports)
        ((_, report),) = world.reports
        assert b'"name":"before"' in agent._dir.get_blob(report["receipt"])
        assert not world.engine.snapshots.get((world.host, number))
