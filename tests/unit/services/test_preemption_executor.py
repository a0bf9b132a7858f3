"""Spot tasks make room: what the scheduler asks of the chain, and for whom it keeps what they leave."""

from __future__ import annotations

from toy_network import HOST, OTHER_HOST, TENANT, Toy

from offchain.adapters.keys import signer
from offchain.ports import DispatchFailure, Signer
from tests.support.chain_records import GTY

NOTICE_MS = 120_000
OTHER = signer.from_uri("//Ferdie")
"""Another tenant."""
THIRD = signer.from_uri("//Eve")


def placed(host: str) -> dict[str, object]:
    """A pod on the only GPU of a host."""
    return {"pod": 0, "host": host, "devices": b"\0", "rate_per_hour": GTY}


async def running(toy: Toy, host: str = HOST, who: Signer = TENANT, **changes) -> int:
    """A spot task that runs on the only GPU of a host."""
    task = await toy.submit(who=who, **{"spot": True, **changes})
    await toy.call("assign", who=who, task=task, pods=[placed(host)])
    await toy.block()
    toy.start(task)
    await toy.block()
    return task


async def urgent(toy: Toy, priority: int = 9, **changes) -> int:
    task = await toy.submit(priority=priority, **changes)
    await toy.block()
    return task


async def test_a_spot_task_is_preempted_for_a_task_of_higher_priority():
    toy = Toy()
    toy.host()
    spot = await running(toy)
    async with toy.working("scheduler") as quiet:
        wanting = await urgent(toy)
        await quiet()
        assert toy.waiting("preempt") == [{"wanting": wanting, "victims": [spot], "pods": [placed(HOST)]}]
        for _ in range(10):
            await toy.block()
            await quiet()
        assert len(toy.done("preempt")) == 1, "who was told is not told again"


async def test_there_is_no_preemption_with_free_resources_or_of_equal_priority_or_without_spot():
    for priority, gpus, spot in ((9, 2, True), (0, 1, True), (9, 1, False)):
        toy = Toy()
        toy.host(gpus=gpus)
        await running(toy, **({} if spot else {"spot": False}))
        async with toy.working("scheduler") as quiet:
            await urgent(toy, priority)
            for _ in range(4):
                await quiet()
                await toy.block()
        assert not toy.tried("preempt")


async def test_the_freed_hosts_are_reserved_for_the_preempting_task():
    toy = Toy()
    toy.host()
    spot = await running(toy)
    async with toy.working("scheduler", "settler") as quiet:
        wanting = await urgent(toy)
        for _ in range(2):
            await quiet()
            await toy.block()
        await urgent(toy, 0)
        await quiet()
        await toy.block(after_ms=NOTICE_MS)
        await quiet()
        for _ in range(4):
            await toy.block()
            await quiet()
        assert toy.done("finish_preemption") == [{"wanting": wanting}]
        assert toy.state(wanting) == "Assigned"
        assert not toy.tried("assign")
        assert toy.state(spot) == "Queued"
        toy.start(wanting)
        for _ in range(40):
            await toy.block()
            await quiet()
        assert len(toy.tried("preempt")) == 1, "who had to leave makes nobody leave"


async def test_the_victim_is_the_task_that_loses_least():
    toy = Toy()
    toy.host()
    toy.host(OTHER_HOST)
    await running(toy, HOST)
    await toy.block(after_ms=600_000)
    later = await running(toy, OTHER_HOST)
    async with toy.working("scheduler") as quiet:
        await urgent(toy)
        await quiet()
        assert [call["victims"] for call in toy.waiting("preempt")] == [[later]]


async def test_a_refusal_is_tried_again_after_a_while():
    toy = Toy()
    toy.host()
    await running(toy)
    refused = DispatchFailure("Tasks", "AlreadyNoticed", "The task was told to leave already.")
    toy.verdict = lambda call: refused if call.function == "preempt" else None
    async with toy.working("scheduler") as quiet:
        await urgent(toy)
        for _ in range(3):
            await quiet()
            await toy.block()
        toy.verdict = lambda _: None
        assert len(toy.tried("preempt")) == 1
        await toy.block(after_ms=10_000)
        for _ in range(3):
            await quiet()
            await toy.block()
        assert len(toy.done("preempt")) == 1


async def test_no_task_is_preempted_on_infeasible_hosts():
    toy = Toy()
    toy.host()
    await running(toy)
    async with toy.working("scheduler") as quiet:
        await urgent(toy, max_rate_per_hour=1)
        for _ in range(4):
            await quiet()
            await toy.block()
    assert not toy.tried("preempt")


async def test_a_reservation_of_lower_priority_does_not_prevent_a_preemption():
    toy = Toy()
    toy.host()
    spot = await running(toy)
    async with toy.working("scheduler", "settler") as quiet:
        behind = await urgent(toy, 0)
        for _ in range(3):
            await quiet()
            await toy.block()
        assert not toy.tried("preempt")
        wanting = await urgent(toy)
        for _ in range(2):
            await quiet()
            await toy.block()
        assert toy.done("preempt") == [{"wanting": wanting, "victims": [spot], "pods": [placed(HOST)]}]
        await toy.block(after_ms=NOTICE_MS)
        for _ in range(5):
            await quiet()
            await toy.block()
        assert toy.state(wanting) == "Assigned"
        assert toy.state(behind) == "Queued"


async def test_a_queue_at_its_share_cannot_preempt_at_any_priority():
    toy = Toy()
    toy.host()
    toy.host(OTHER_HOST)
    await running(toy, HOST)
    await running(toy, OTHER_HOST, who=OTHER, spot=False)
    async with toy.working("scheduler") as quiet:
        wanting = await urgent(toy, 200, who=OTHER)
        for _ in range(4):
            await quiet()
            await toy.block(after_ms=10_000)
        why = (await toy.scheduler.standing(wanting))[0].nobody_leaves
        assert why.endswith("holds 50.0% of the network, with the task 100.0%, and has a right to 50.0%")
    assert not toy.tried("preempt")


async def test_a_queue_below_its_share_reclaims_no_more_than_its_share():
    toy = Toy()
    toy.host()
    toy.host(OTHER_HOST)
    await running(toy, HOST)
    await running(toy, OTHER_HOST)
    async with toy.working("scheduler") as quiet:
        first = await urgent(toy, who=OTHER)
        await urgent(toy, who=OTHER)
        for _ in range(6):
            await quiet()
            await toy.block(after_ms=10_000)
        (told,) = toy.done("preempt")
        assert (told["wanting"], len(told["victims"])) == (first, 1), "what is on its way counts as if it had come"


async def test_a_task_refused_by_shares_does_not_block_the_search_of_others():
    toy = Toy()
    toy.host()
    toy.host(OTHER_HOST)
    spot = await running(toy, OTHER_HOST, who=THIRD)
    await toy.block(after_ms=60_000)
    await running(toy, HOST, who=OTHER, spot=False)
    for _ in range(6):
        await urgent(toy, 200, who=OTHER)
    wanting = await urgent(toy)
    async with toy.working("scheduler") as quiet:
        for _ in range(3):
            await quiet()
            await toy.block()
        (told,) = toy.done("preempt")
        assert (told["wanting"], told["victims"]) == (wanting, [spot])


async def test_a_task_that_does_not_fit_after_the_notice_tries_again_later():
    toy = Toy()
    toy.host()
    spot = await running(toy)
    toy._finish_preemption = lambda _account, wanting: toy.withdraw(wanting, toy.now + NOTICE_MS)  # type: ignore[method-assign]
    async with toy.working("scheduler", "settler") as quiet:
        await urgent(toy)
        for _ in range(3):
            await quiet()
            await toy.block()
        await toy.block(after_ms=NOTICE_MS)
        for _ in range(6):
            await quiet()
            await toy.block()
        assert (toy.state(spot), len(toy.done("finish_preemption"))) == ("Running", 1)
        assert len(toy.tried("preempt")) == 1
        await toy.block(after_ms=NOTICE_MS)
        for _ in range(3):
            await quiet()
            await toy.block()
        assert len(toy.done("preempt")) == 2
