"""An outbox on the in-memory chain, as a worker runs it."""

import asyncio
from contextlib import asynccontextmanager, suppress

from offchain.adapters.chain.watcher import Watcher
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.outbox.outbox import Outbox
from offchain.adapters.outbox.store import Store
from offchain.errors import StoreStuck
from offchain.ports import Call
from tests.support.fake_chain import FakeChain

ALICE = from_uri("//Alice")


def call(n=0):
    return Call("System", "remark", {"remark": b"%d" % n})


class Rig:
    """An outbox with its watcher as a worker runs them; `kill` is kill -9."""

    def __init__(self, chain=None, store=None, era_blocks=8, *, waits_for_coins=False, one_at_a_time=False):
        self.chain = chain or FakeChain()
        self.store = store or Store(":memory:")
        self.era_blocks = era_blocks
        self.waits_for_coins = waits_for_coins
        self.one_at_a_time = one_at_a_time
        self.tasks = []

    async def start(self):
        self.outbox = Outbox(
            self.chain,
            self.store,
            ALICE,
            now_ms=lambda: 0,
            era_blocks=self.era_blocks,
            waits_for_coins=self.waits_for_coins,
            one_at_a_time=self.one_at_a_time,
        )
        self.watcher = Watcher(self.chain, self.store, "w", start="finalized")
        work = (self.outbox.run(), self.watcher.run(self.outbox.observe))
        self.tasks = [asyncio.ensure_future(item) for item in work]
        await self.settle()

    async def kill(self):
        for task in self.tasks:
            task.cancel()
        for task in self.tasks:
            with suppress(asyncio.CancelledError, StoreStuck):
                await task

    async def settle(self):
        """Let everything run until nothing has more to do: no block is read, and no change of the store is made."""
        before: object = "unknown"
        while before != (before := (self.watcher.cursor, self.store.version)):
            for _ in range(300):
                await asyncio.sleep(0)
            # After the changes that were begun; what waits for them goes on in the next round.
            await self.store.write(lambda: None)
        for task in self.tasks:
            if task.done() and not task.cancelled():
                task.result()

    async def submit(self, key, wanted, **how):
        """Submit a call, and let everything run until nothing has more to do."""
        await self.outbox.submit(key, wanted, **how)
        await self.settle()

    async def submit_all(self, wanted):
        """Submit calls, by key, in one step of the event loop; then as :meth:`submit`."""
        await asyncio.gather(*(self.outbox.submit(key, one) for key, one in wanted.items()))
        await self.settle()

    async def produce(self, count=1, **how):
        for _ in range(count):
            await self.chain.produce(**how)
            await self.settle()

    def done(self):
        return [done.args["remark"] for done, _, _ in self.chain.executed]


@asynccontextmanager
async def running_rig(**how):
    made = Rig(**how)
    await made.start()
    try:
        yield made
    finally:
        await made.kill()


def settles(*tasks):
    """Calls that settle these tasks, by key."""
    return {f"settle:{task}": settle(task) for task in tasks}


def settle(task):
    return Call("Tasks", "settle", {"task": task})
