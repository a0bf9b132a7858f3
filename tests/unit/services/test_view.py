"""The view of the chain, fed block by block, equals what is read anew, whatever happens in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st
from toy_network import HOST, OTHER_HOST, Toy

from offchain.ports import Call, DispatchFailure
from offchain.schema.chain_types.ids import lease_id, lease_parts
from offchain.services.view import ChainView

ACTS = st.lists(st.sampled_from(["submit", "assign", "report", "requeue", "settle"]), max_size=3)
BLOCKS = st.lists(st.tuples(ACTS, st.sampled_from(["final", "best", "best", "missed", "fork"])), max_size=14)


async def act(toy: Toy, name: str) -> None:
    """Make one call that the state permits, if there is one."""
    tasks = {number: toy.state(number) for number in range(int(toy.get("Tasks", "NextTaskId")))}

    def first(state: str) -> int | None:
        return next((number for number, known in tasks.items() if known == state), None)

    if name == "submit":
        await toy.submit(2)
    elif name == "assign" and (task := first("Queued")) is not None:
        host = HOST if task % 2 else OTHER_HOST
        await toy.call("assign", task=task, pods=[{"pod": 0, "host": host, "devices": b""}])
    elif name in ("report", "requeue") and (task := first("Assigned")) is not None:
        (lease,) = toy.tasks.get(task).leases[-1:]
        await toy.call(name, lease=lease_id(task, 0, lease.generation))
    elif name == "settle" and (task := first("Reported")) is not None:
        await toy.call("settle", task=task)


async def compare(view: ChainView, number: int, at: bytes) -> None:
    """Compare the view with what is read of a block anew."""
    shown = view.snapshot
    hosts = await view.reads.hosts(shown.hosts, at)
    tasks = await view.reads.tasks(range(view._best_next_task), at)
    assert dict(shown.hosts) == hosts
    assert dict(shown.tasks) == {key: task for key, task in tasks.items() if task is not None}, number


def refused_in(toy: Toy) -> Callable[[Call], DispatchFailure | None]:
    """Refuse calls that no longer fit: a fork includes the calls of a replaced block together with later ones."""
    required = {"assign": "Queued", "report": "Assigned", "requeue": "Assigned", "settle": "Reported"}

    def verdict(call: Call) -> DispatchFailure | None:
        if call.function not in required:
            return None
        lease = call.args.get("lease")
        task = call.args["task"] if lease is None else lease_parts(lease)[0]
        fits = toy.state(task) == required[call.function]
        if fits and lease is not None:
            fits = toy.tasks.get(task).leases[-1].generation == lease_parts(lease)[2]
        return None if fits else DispatchFailure("Tasks", "WrongState", "")

    return verdict


async def follow(blocks: list[tuple[list[str], str]]) -> None:
    toy = Toy()
    toy.verdict = refused_in(toy)
    toy.host(HOST)
    toy.host(OTHER_HOST)
    await toy.block()
    view = ChainView(toy.chain)
    await view.start()
    follows = True
    for acts, kind in blocks:
        if kind == "fork":
            await toy.chain.fork()
        for name in acts:
            await act(toy, name)
        await toy.block(finalize=False)
        best = await toy.chain.best_head()
        if kind == "missed":
            follows = False
            continue
        await view.best(best)
        if kind == "final":
            await toy.chain.finalize()
            for number in range(view.final.number + 1, best.number + 1):
                await view.finalized(await toy.chain.block(number))
            follows = True
        if follows:
            await compare(view, best.number, best.hash)


@given(BLOCKS)
@settings(max_examples=150, deadline=None)
def test_what_the_view_shows_is_what_the_chain_has(blocks):
    asyncio.run(follow(blocks))


async def test_a_best_block_costs_what_it_touched(monkeypatch):
    toy = Toy()
    toy.host(HOST)
    await toy.block()
    view = ChainView(toy.chain)
    await view.start()
    read = []
    original = view.reads.tasks

    async def tasks(numbers, at):
        wanted = sorted(numbers)
        read.extend(wanted)
        return await original(wanted, at)

    monkeypatch.setattr(view.reads, "tasks", tasks)
    for _ in range(10):
        await toy.submit(3)
        await toy.block(finalize=False)
        await view.best(await toy.chain.best_head())
    assert sorted(read) == list(range(30)), "each task is read once, although nothing becomes final"
