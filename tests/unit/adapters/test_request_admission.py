"""The queue of chain queries that strangers cause."""

import asyncio

import pytest

from offchain.adapters.transport.port import HostRefused
from offchain.adapters.transport.request_admission import QueryQueue
from offchain.schema.protocol.messages import Code


class Asked:
    """Queries that hold their turn until they are told to end."""

    def __init__(self, queue):
        self.queue, self.running, self.over = queue, [], {}

    def ask(self, name, network=None, *, suspect=False):
        async def work():
            self.over[name] = asyncio.Event()
            async with self.queue.slot(network or name, suspect=suspect):
                self.running.append(name)
                await self.over[name].wait()
                self.running.remove(name)

        return asyncio.create_task(work())

    async def end(self, name):
        self.over[name].set()
        await settle()


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_few_queries_run_and_others_wait_in_the_order_of_arrival():
    asked = Asked(QueryQueue(at_once=2))
    tasks = [asked.ask(name) for name in "abcd"]
    await settle()
    assert asked.running == ["a", "b"]
    await asked.end("b")
    assert asked.running == ["a", "c"]
    await asked.end("a")
    assert asked.running == ["c", "d"]
    for name in "cd":
        await asked.end(name)
    await asyncio.gather(*tasks)


async def test_suspects_wait_for_all_others():
    asked = Asked(QueryQueue(at_once=1))
    tasks = [asked.ask("first"), asked.ask("suspect", suspect=True), asked.ask("honest")]
    await settle()
    await asked.end("first")
    assert asked.running == ["honest"]
    await asked.end("honest")
    assert asked.running == ["suspect"]
    await asked.end("suspect")
    await asyncio.gather(*tasks)


async def test_a_full_queue_refuses_and_a_suspect_gives_up_its_place():
    asked = Asked(QueryQueue(at_once=1, most_waiting=2))
    tasks = [asked.ask("first"), asked.ask("one", suspect=True), asked.ask("two", suspect=True)]
    await settle()
    with pytest.raises(HostRefused) as no:
        await asked.ask("three", suspect=True)
    assert no.value.refusal.code is Code.BUSY
    tasks.append(asked.ask("honest"))
    await settle()
    with pytest.raises(HostRefused):
        await tasks[1]
    await asked.end("first")
    assert asked.running == ["honest"]
    for name in ("honest", "two"):
        await asked.end(name)
    await asyncio.gather(tasks[0], *tasks[2:])


async def test_one_address_has_a_part_of_the_queue():
    asked = Asked(QueryQueue(at_once=1, of_network=2))
    tasks = [asked.ask(name, "net") for name in "abc"]
    await settle()
    with pytest.raises(HostRefused):
        await asked.ask("d", "net")
    tasks.append(asked.ask("e", "another"))
    for name in "abce":
        await settle()
        await asked.end(name)
    await asyncio.gather(*tasks)


async def test_a_cancelled_query_frees_its_place_and_its_slot():
    queue = QueryQueue(at_once=1)
    asked = Asked(queue)
    first, second, third = (asked.ask(name) for name in "abc")
    await settle()
    second.cancel()
    await settle()
    assert queue.waiting == 1
    first.cancel()
    await settle()
    assert asked.running == ["a", "c"]  # the first was cut off before it could say that it ended
    await asked.end("c")
    await third
    last = asked.ask("d")
    await settle()
    assert "d" in asked.running
    await asked.end("d")
    await last
