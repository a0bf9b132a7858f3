import asyncio
from contextlib import suppress

import pytest

from offchain.adapters.chain.watcher import Watcher
from offchain.adapters.outbox.store import Store
from offchain.errors import ChainBehind, Reorganised
from offchain.ports import Block, BlockRef
from tests.support.fake_chain import FakeChain


class Seen:
    """Collects blocks; `wait(n)` until that many came."""

    def __init__(self):
        self.numbers = []
        self._more = asyncio.Condition()

    async def __call__(self, block):
        async with self._more:
            self.numbers.append(block.ref.number)
            self._more.notify_all()

    async def wait(self, count):
        async with asyncio.timeout(60), self._more:
            await self._more.wait_for(lambda: len(self.numbers) >= count)


async def watch(chain, store, handle, until, **how):
    watcher = Watcher(chain, store, "w", **how)
    task = asyncio.ensure_future(watcher.run(handle))
    try:
        await until
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    return watcher


async def test_every_block_comes_once_in_order_though_heads_skip():
    chain, seen = FakeChain(), Seen()
    await chain.produce(3)

    async def story():
        await seen.wait(4)
        await chain.produce(30, finalize=False)
        await chain.finalize()
        await seen.wait(34)
        await chain.drop_subscriptions(skip=5)
        await seen.wait(39)

    watcher = await watch(chain, Store(":memory:"), seen, story(), start=0)
    assert seen.numbers == list(range(39))
    assert watcher.cursor.number in (37, 38)


async def test_the_watcher_continues_after_the_cursor():
    chain, store = FakeChain(), Store(":memory:")
    await chain.produce(5)
    first = Seen()
    await watch(chain, store, first, first.wait(1), start="finalized")
    await chain.produce(5)
    second = Seen()
    await watch(chain, store, second, second.wait(5), start="finalized")
    assert first.numbers == [5]
    assert second.numbers in ([6, 7, 8, 9, 10], [5, 6, 7, 8, 9, 10])


async def test_a_block_whose_handling_fails_comes_again():
    chain, store = FakeChain(), Store(":memory:")
    await chain.produce(3)
    seen = []

    async def handle(block):
        seen.append(block.ref.number)
        if len(seen) == 2:
            raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        await Watcher(chain, store, "w", 1).run(handle)
    again = Seen()
    await watch(chain, store, again, again.wait(2), start=1)
    assert seen == [1, 2]
    assert again.numbers == [2, 3]


async def test_another_chain_behind_the_same_address_is_noticed():
    store = Store(":memory:")
    chain = FakeChain()
    await chain.produce(3)
    seen = Seen()
    await watch(chain, store, seen, seen.wait(1), start="finalized")
    store.run("UPDATE cursors SET number = 3, hash = ?", b"\1" * 32)
    await chain.produce()
    with pytest.raises(Reorganised) as refused:
        await Watcher(chain, store, "w").run(Seen())
    assert "serves another chain" in refused.value.message


@pytest.mark.parametrize("height", [3, 4])
async def test_a_chain_that_was_started_anew_is_noticed_at_the_height_of_the_cursor(height):
    chain, store, seen = FakeChain(), Store(":memory:"), Seen()
    await chain.produce(3)
    watching = asyncio.ensure_future(Watcher(chain, store, "w", 1).run(seen))
    await seen.wait(3)
    await chain.start_anew()
    with pytest.raises(ChainBehind, match="block 3 was processed"):
        await watching
    await chain.produce(2)
    with pytest.raises(ChainBehind, match="up to 2"):
        await Watcher(chain, store, "w", 1).run(seen)
    await chain.produce(height - 2)
    with pytest.raises(Reorganised, match="serves another chain"):
        await Watcher(chain, store, "w", 1).run(seen)
    assert seen.numbers == [1, 2, 3]


async def test_a_node_that_is_behind_is_waited_for():
    """Another node behind the same address, or one that lost its last blocks when it was killed."""
    chain, store, seen = FakeChain(), Store(":memory:"), Seen()
    await chain.produce(3)
    await watch(chain, store, seen, seen.wait(3), start=1)
    ahead = chain._final[3:]
    del chain._final[3:]
    with pytest.raises(ChainBehind):
        await Watcher(chain, store, "w").run(seen)
    chain._final += ahead
    again = Seen()
    await chain.produce()
    await watch(chain, store, again, again.wait(1))
    assert again.numbers[-1] == 4


async def test_watchers_share_a_store_without_sharing_a_cursor():
    chain, store = FakeChain(), Store(":memory:")
    block = Block(BlockRef(7, b"\7" * 32), bytes(32), 0, (), ())
    one, two = Watcher(chain, store, "one"), Watcher(chain, store, "two")
    await one.acknowledge(block)
    assert one.cursor == block.ref
    assert two.cursor is None
