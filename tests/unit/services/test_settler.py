from __future__ import annotations

from toy_network import HOST, NOT_QUEUED, Toy


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
        await toy.call("report", task=task, lease=0)
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
    toy.set_state(task, "Verified")
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
        assert toy.waiting("requeue") == [{"lease": 0}]
        for _ in range(3):
            await toy.block()
            await quiet()
        assert toy.done("requeue") == [{"lease": 0}]


async def test_a_crank_that_somebody_else_turned_is_not_turned_again():
    toy = Toy()
    toy.host()
    task = await assigned(toy)
    toy.set_state(task, "Verified")
    await toy.block()
    toy.verdict = lambda call: NOT_QUEUED if call.function == "settle" else None
    async with toy.working("settler") as quiet:
        toy.set_state(task, "Settled")
        await toy.call("somebody_else")
        toy._somebody_else = lambda _: [("Tasks", "StateChanged", {"task": task, "from": "Verified", "to": "Settled"})]
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
        assert toy.waiting("requeue") == [{"lease": 0}]


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
        assert toy.get("Tasks", "Tasks", task)["state"] == "Queued"
        toy.host(last_heartbeat=10**9)
        toy._online = lambda _account, host: [("Hosts", "StatusChanged", {"host": host})]
        await toy.call("online", host=HOST)
        for _ in range(3):
            await toy.block()
            await quiet()
        assert toy.get("Tasks", "Tasks", task)["state"] == "Assigned"
