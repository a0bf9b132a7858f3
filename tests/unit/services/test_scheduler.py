from __future__ import annotations

from toy_network import HOST, NOT_QUEUED, OTHER_HOST, Toy

from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import GTY


async def test_a_task_is_assigned_in_the_block_after_its_submission():
    toy = Toy()
    toy.host()
    await toy.block()
    async with toy.working("scheduler") as quiet:
        task = await toy.submit()
        await toy.block(finalize=False)
        await quiet()
        assert toy.waiting("assign") == [
            {"task": task, "pods": [{"pod": 0, "host": HOST, "devices": b"\0", "rate_per_hour": GTY}]}
        ]
        await toy.block(finalize=False)
        assert toy.state(task) == "Assigned"


async def test_a_task_is_assigned_once_while_its_assignment_becomes_final():
    toy = Toy()
    toy.host(gpus=2)
    await toy.block()
    async with toy.working("scheduler") as quiet:
        await toy.submit()
        for finalize in (False, False, True, True):
            await toy.block(finalize=finalize)
            await quiet()
        assert len(toy.done("assign")) == 1
        assert not toy.waiting("assign")


async def test_the_last_free_gpu_is_assigned_once_and_again_after_its_release():
    toy = Toy()
    toy.host(gpus=1)
    await toy.block()
    async with toy.working("scheduler") as quiet:
        first, second = await toy.submit(), 1
        await toy.submit()
        await toy.block()
        await quiet()
        assert [call["task"] for call in toy.waiting("assign")] == [first]
        await toy.block()
        await quiet()
        assert not toy.waiting("assign")
        await toy.call("report", lease=lease_id(first, 0, 0))
        await toy.block()
        await quiet()
        assert [call["task"] for call in toy.waiting("assign")] == [second]


async def test_a_refused_assignment_is_made_again_after_a_pause():
    toy = Toy()
    toy.host()
    toy.verdict = lambda call: NOT_QUEUED if call.function == "assign" else None
    await toy.block()
    async with toy.working("scheduler") as quiet:
        await toy.submit()
        await toy.block()
        await quiet()
        assert toy.waiting("assign")
        await toy.block()
        await quiet()
        toy.verdict = lambda _: None
        assert not toy.waiting("assign"), "it must wait before the next try"
        for _ in range(4):
            await toy.block()
            await quiet()
        assert len(toy.tried("assign")) == 2
        assert len(toy.done("assign")) == 1


async def test_a_task_that_another_scheduler_assigned_is_left_alone():
    toy = Toy()
    toy.host()
    await toy.block()
    async with toy.working("scheduler") as quiet:
        task = await toy.submit()
        await toy.call("assign", task=task, pods=[{"pod": 0, "host": HOST, "devices": b"\0"}])
        await toy.block(finalize=False)
        await quiet()
        await toy.block()
        await quiet()
        assert not toy.waiting("assign")
        assert not toy.done("assign")


async def test_a_task_that_another_scheduler_assigned_meanwhile_is_not_retried():
    toy = Toy()
    toy.host()
    toy.verdict = lambda call: NOT_QUEUED if call.function == "assign" else None
    await toy.block()
    async with toy.working("scheduler") as quiet:
        task = await toy.submit()
        for _ in range(2):
            await toy.block()
            await quiet()
        toy.verdict = lambda _: None
        await toy.call("assign", task=task, pods=[{"pod": 0, "host": HOST, "devices": b"\0"}])
        for _ in range(4):
            await toy.block(finalize=False)
            await quiet()
        assert toy.state(task) == "Assigned"
        assert not toy.waiting("assign")
        assert len(toy.tried("assign")) == 1


async def test_a_scheduler_that_starts_anew_does_not_assign_twice():
    toy = Toy()
    toy.host(gpus=2)
    await toy.block()
    async with toy.working("scheduler") as quiet:
        await toy.submit()
        await toy.block(finalize=False)
        await quiet()
        assert toy.waiting("assign")
    async with toy.working("scheduler") as quiet:
        for _ in range(3):
            await toy.block()
            await quiet()
        assert len(toy.done("assign")) == 1


async def test_a_task_that_waited_is_placed_when_a_host_comes():
    toy = Toy()
    toy.host(HOST, status="Offline")
    toy.host(OTHER_HOST)
    await toy.block()
    async with toy.working("scheduler") as quiet:
        await toy.submit()
        await toy.submit()
        await toy.block()
        await quiet()
        assert [call["pods"][0]["host"] for call in toy.waiting("assign")] == [OTHER_HOST]
        toy._online = lambda _account, host: [("Hosts", "StatusChanged", {"host": host})]
        toy.host(HOST)
        await toy.call("online", host=HOST)
        await toy.block()
        await quiet()
        assert [call["pods"][0]["host"] for call in toy.waiting("assign")] == [HOST]


async def test_a_task_of_a_fork_that_was_dropped_is_forgotten():
    toy = Toy()
    await toy.block()
    async with toy.working("scheduler") as quiet:
        await toy.submit()
        await toy.block(finalize=False)
        await quiet()
        toy.tasks.clear()
        await toy.chain.fork()
        toy.chain.forget_pool()
        toy.host()
        toy._online = lambda _account, host: [("Hosts", "StatusChanged", {"host": host})]
        await toy.call("online", host=HOST)
        await toy.block()
        await quiet()
        assert not toy.waiting("assign")


async def test_resources_freed_in_the_best_block_are_used_at_once():
    toy = Toy()
    toy.host(gpus=1)
    await toy.block()
    async with toy.working("scheduler") as quiet:
        first = await toy.submit()
        await toy.submit()
        for _ in range(2):
            await toy.block()
            await quiet()
        assert not toy.waiting("assign")
        await toy.call("report", lease=lease_id(first, 0, 0))
        await toy.block(finalize=False)
        await quiet()
        assert [call["task"] for call in toy.waiting("assign")] == [1]


async def test_changes_of_a_dropped_fork_are_undone():
    toy = Toy()
    toy.host(status="Offline")
    await toy.block()
    async with toy.working("scheduler") as quiet:
        toy._online = lambda _account, host: [("Hosts", "StatusChanged", {"host": host})]
        toy.host()
        await toy.call("online", host=HOST)
        await toy.block(finalize=False)
        await quiet()
        toy.host(status="Offline")
        await toy.chain.fork()
        toy.chain.forget_pool()
        await toy.submit()
        await toy.block(finalize=False)
        await quiet()
        assert not toy.waiting("assign")


async def test_tasks_that_are_ready_at_once_are_assigned_in_one_batch():
    toy = Toy()
    toy.host(gpus=8)
    await toy.block()
    async with toy.working("scheduler") as quiet:
        first = await toy.submit(count=3)
        await toy.block()
        await quiet()
        assert toy.sent() == ["assign_batch"]
        assert [call["task"] for call in toy.waiting("assign")] == [first, first + 1, first + 2]
        for _ in range(3):
            await toy.block()
            await quiet()
        assert [toy.state(first + place) for place in range(3)] == ["Assigned"] * 3
        assert len(toy.done("assign")) == 3


async def test_only_the_refused_item_of_a_batch_is_retried():
    toy = Toy()
    toy.host(gpus=8)
    toy.verdict = lambda call: NOT_QUEUED if call.function == "assign" and call.args["task"] == 1 else None
    await toy.block()
    async with toy.working("scheduler") as quiet:
        await toy.submit(count=3)
        await toy.block()
        await quiet()
        await toy.block()
        await quiet()
        assert [toy.state(task) for task in range(3)] == ["Assigned", "Queued", "Assigned"]
        toy.verdict = lambda _: None
        for _ in range(6):
            await toy.block()
            await quiet()
        assert toy.state(1) == "Assigned"
        assert len(toy.tried("assign")) == 4


async def test_a_service_gets_missing_pods_as_soon_as_they_fit():
    toy = Toy()
    toy.host(gpus=2)
    await toy.block()
    async with toy.working("scheduler") as quiet:
        job = await toy.submit()
        await toy.block()
        await quiet()
        await toy.block()
        service = await toy.submit(kind=gen.TaskKind.SERVICE, pods_min=1, pods_max=2)
        await toy.block()
        await quiet()
        pod = {"pod": 0, "host": HOST, "devices": b"\1", "rate_per_hour": GTY}
        assert toy.waiting("assign") == [{"task": service, "pods": [pod]}]
        toy.tasks.change(service, pods_wanted=2)
        await toy.block()
        await quiet()
        assert not toy.waiting("assign")
        await toy.call("report", lease=lease_id(job, 0, 0))
        await toy.block()
        await quiet()
        assert toy.waiting("assign") == [
            {"task": service, "pods": [{"pod": 1, "host": HOST, "devices": b"\0", "rate_per_hour": GTY}]}
        ]
        for _ in range(2):
            await toy.block()
            await quiet()
        assert [found.pod for found in toy.tasks.get(service).leases] == [0, 1]
        assert not toy.waiting("assign")


async def test_a_gang_gets_its_start_although_small_tasks_keep_coming():
    toy = Toy()
    for host in (HOST, OTHER_HOST):
        toy.host(host)
    await toy.block()
    async with toy.working("scheduler") as quiet:
        await toy.submit(2)
        await toy.block()
        await quiet()
        await toy.submit(pods_min=2, pods_max=2)
        gang, small = 2, [0, 1]
        for _ in range(8):
            # Both GPUs are never free at once, unless one of them is kept.
            await toy.submit()
            small.append(small[-1] + 1 if len(small) > 2 else 3)
            await toy.block()
            await quiet()
            running = [task for task in small if toy.state(task) == "Assigned"]
            if running:
                await toy.call("report", lease=lease_id(running[0], 0, 0))
        (assigned,) = [call for call in toy.done("assign") if call["task"] == gang]
        assert {pod["host"] for pod in assigned["pods"]} == {HOST, OTHER_HOST}
        assert toy.state(small[-1]) == "Queued"
