from __future__ import annotations

from toy_network import HOST, NOT_QUEUED, Toy

from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id, task_key
from tests.support.chain_records import lease


async def assigned(toy: Toy) -> int:
    """A task with a lease that has not started."""
    task = await toy.submit()
    await toy.call("assign", task=task, pods=[{"pod": 0, "host": HOST, "devices": b"\0"}])
    await toy.block()
    return task


async def test_a_reported_task_is_settled_once_its_window_has_passed():
    toy = Toy()
    toy.host()
    task = await assigned(toy)
    async with toy.working("settler") as quiet:
        await toy.call("report", lease=lease_id(task, 0, 0))
        await toy.block()
        await quiet()
        await toy.block(after_ms=5_999)
        await quiet()
        assert not toy.waiting("settle")
        await toy.block(after_ms=1)
        await quiet()
        assert toy.waiting("settle") == [{"task": task}]
        for _ in range(3):
            await toy.block()
            await quiet()
        assert toy.done("settle") == [{"task": task}]


async def test_a_task_that_is_due_at_the_start_is_settled_at_the_start():
    toy = Toy()
    toy.host()
    task = await assigned(toy)
    toy.go(task, gen.TaskStateVerified())
    await toy.block()
    async with toy.working("settler") as quiet:
        await quiet()
        assert toy.waiting("settle") == [{"task": task}]


async def test_a_pod_that_does_not_start_goes_back_to_the_queue():
    toy = Toy()
    toy.host()
    await assigned(toy)
    async with toy.working("settler") as quiet:
        await toy.block(after_ms=60_000)
        await quiet()
        assert not toy.waiting("requeue")
        await toy.block(after_ms=1)
        await quiet()
        assert toy.waiting("requeue") == [{"lease": lease_id(0, 0, 0)}]
        for _ in range(3):
            await toy.block()
            await quiet()
        assert toy.done("requeue") == [{"lease": lease_id(0, 0, 0)}]


async def test_an_agenda_cranked_by_another_settler_is_not_cranked_again():
    toy = Toy()
    toy.host()
    task = await assigned(toy)
    toy.go(task, gen.TaskStateVerified())
    await toy.block()
    toy.verdict = lambda call: NOT_QUEUED if call.function == "settle" else None
    async with toy.working("settler") as quiet:
        toy.go(task, gen.TaskStateSettled())
        await toy.call("somebody_else")
        toy._somebody_else = lambda _: [("Tasks", "Settled", {"task": task})]
        for _ in range(6):
            await toy.block()
            await quiet()
        assert not toy.waiting("settle")
        assert not toy.done("settle")


async def test_a_heartbeat_without_an_event_is_seen_before_a_host_is_reported():
    toy = Toy()
    toy.host(last_heartbeat=0)
    await toy.block()
    async with toy.working("settler") as quiet:
        toy.host(last_heartbeat=25_000)
        await toy.block(after_ms=30_001)
        await quiet()
        assert not toy.waiting("report_absent")


async def test_a_silent_host_is_reported_and_its_lease_goes_back():
    toy = Toy()
    toy.host(last_heartbeat=0)
    await assigned(toy)
    async with toy.working("settler") as quiet:
        await toy.block(after_ms=30_001)
        await quiet()
        assert toy.waiting("report_absent") == [{"host": HOST}]
        await toy.block()
        await quiet()
        assert toy.waiting("requeue") == [{"lease": lease_id(0, 0, 0)}]


async def test_both_roles_together_place_a_task_again_whose_host_was_silent():
    toy = Toy()
    toy.host(last_heartbeat=0)
    task = await assigned(toy)
    async with toy.working("scheduler", "settler") as quiet:
        await toy.block(after_ms=30_001)
        await quiet()
        for _ in range(3):
            await toy.block()
            await quiet()
        assert toy.state(task) == "Queued"
        toy.host(last_heartbeat=10**9)
        toy._online = lambda _account, host: [("Hosts", "StatusChanged", {"host": host})]
        await toy.call("online", host=HOST)
        for _ in range(3):
            await toy.block()
            await quiet()
        assert toy.state(task) == "Assigned"


async def test_tasks_that_are_due_together_are_settled_in_one_batch():
    toy = Toy()
    toy.host()
    await toy.submit(count=3)
    await toy.block()
    for task in range(3):
        toy.go(task, gen.TaskStateVerified())
    await toy.block()
    async with toy.working("settler") as quiet:
        await quiet()
        assert toy.sent() == ["settle_batch"]
        for _ in range(3):
            await toy.block()
            await quiet()
        assert [toy.state(task) for task in range(3)] == ["Settled"] * 3


async def test_an_agenda_that_is_behind_is_cranked_once():
    toy = Toy()
    toy.put("Leases", "AgendaPages", task_key(1), value=1)
    await toy.block()
    async with toy.working("settler") as quiet:
        await toy.block(after_ms=60_000)
        await quiet()
        assert not toy.waiting("crank")
        await toy.block(after_ms=6_001)
        await quiet()
        assert toy.waiting("crank") == [{"limit": 256}]
        toy.chain.storage["Leases", "AgendaPages"].clear()
        for _ in range(3):
            await toy.block()
            await quiet()
        assert len(toy.done("crank")) == 1


async def test_tasks_that_are_over_for_long_are_pruned_and_others_are_kept():
    toy = Toy()
    toy.host()
    await toy.submit(count=4)
    await toy.block()
    held = lease(HOST, state=gen.LeaseStateRetained(10**9))
    toy.go(0, gen.TaskStateSettled())
    toy.go(1, gen.TaskStateSettled(), leases=(held,))
    toy.go(3, gen.TaskStateCancelled())
    await toy.block()
    async with toy.working("settler") as quiet:
        await toy.block(after_ms=599_000)
        await quiet()
        assert not toy.waiting("prune")
        for _ in range(3):
            await toy.block(after_ms=601_000)
            await quiet()
        assert toy.done("prune") == [{"tasks": [0, 3]}]
        assert [task in toy.chain.storage["Tasks", "Tasks"] for task in map(task_entry, range(4))] == [0, 1, 1, 0]


def task_entry(task: int) -> tuple[bytes]:
    return (task_key(task),)
