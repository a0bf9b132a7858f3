"""Whatever happens in whatever order: nothing that was submitted is lost, nothing is done twice."""

import asyncio
import random
from collections import Counter
from contextlib import suppress

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from offchain.adapters.chain.watcher import Watcher
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.outbox.admin import OutboxAdmin
from offchain.adapters.outbox.intent_values import CallGivenUp, CallIncluded, IntentState
from offchain.adapters.outbox.outbox import Outbox
from offchain.adapters.outbox.store import Store
from offchain.errors import ChainUnreachable, StoreStuck, SubmitRefusal
from offchain.ports import Call
from tests.support.examples import examples
from tests.support.fake_chain import FakeChain

ALICE = from_uri("//Alice", "ed25519")
REFUSALS = list(SubmitRefusal)
STEPS = (
    st.tuples(st.just("submit"), st.integers(0, 30))
    | st.tuples(st.just("produce"), st.integers(0, 4))
    | st.tuples(st.just("produce best"), st.integers(0, 4))
    | st.tuples(st.just("refuse"), st.sampled_from(REFUSALS))
    | st.sampled_from(
        [
            (name, 0)
            for name in (
                "finalize",
                "fork",
                "forget pool",
                "drop subscriptions",
                "lose reply",
                "kill",
                "away",
                "back",
                "disk full",
                "disk free",
                "retry dead",
                "drop dead",
            )
        ]
    )
    | st.tuples(st.just("unpayable"), st.integers(0, 30))
    | st.tuples(st.just("rival"), st.integers(0, 2))
    | st.tuples(st.just("least tip"), st.sampled_from([0, 1, 10**9, 10**12]))
    | st.tuples(st.just("pool limit"), st.sampled_from([0, 1, 3, None]))
)


def call_of(n):
    """Every second call is one that goes in a batch with others of its kind."""
    return Call("Tasks", "settle", {"task": n}) if n % 2 else Call("Test", "do", {"n": n})


def numbers_of(call):
    """The numbers of the calls that this one stands for."""
    return {"settle": lambda args: [args["task"]], "settle_batch": lambda args: list(args["tasks"])}.get(
        call.function, lambda args: [args["n"]]
    )(call.args)


class Killed(BaseException):
    """Ends the worker at once, as kill -9 does; the store keeps only what was committed."""


class Fuse:
    """Burns down at every point at which a worker can be killed; once it has, the worker does nothing any more."""

    def __init__(self):
        self.left = None
        self.points = 0

    def burn(self):
        self.points += 1
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Killed

    def mend(self):
        self.left = None


class FragileStore(Store):
    """Its worker may die at each write, and its disk may be full."""

    def __init__(self, path, fuse):
        super().__init__(path)
        self.fuse = fuse
        self.full = False

    def run(self, statement, *values):
        self.fuse.burn()
        if self.full:
            raise StoreStuck("the disk is full")
        return super().run(statement, *values)


class FragileChain(FakeChain):
    """Its worker may die at each await: before the node has heard it, and before it hears the node."""

    def __init__(self, fuse):
        super().__init__()
        self.fuse = fuse
        self.own = False

    async def _reply(self):
        await super()._reply()
        if not self.own:
            self.fuse.burn()

    async def broadcast(self, extrinsic):
        await super().broadcast(extrinsic)
        if not self.own:
            self.fuse.burn()


class World:
    def __init__(self):
        self.fuse = Fuse()
        self.chain, self.store = FragileChain(self.fuse), FragileStore(":memory:", self.fuse)
        self.unpayable = set()
        self.chain.unpayable = lambda call, _account: not self.unpayable.isdisjoint(numbers_of(call))
        self.submitted = set()
        self.tasks = []

    def start(self):
        # No pause of real time: nothing here waits for seconds.
        self.outbox = Outbox(self.chain, self.store, ALICE, now_ms=lambda: 0, era_blocks=16, stuck_pause_s=0)
        watcher = Watcher(self.chain, self.store, "w", start="finalized")
        self.tasks = [asyncio.ensure_future(w) for w in (self.outbox.run(), watcher.run(self.outbox.observe))]

    async def kill(self):
        for task in self.tasks:
            task.cancel()
        for task in self.tasks:
            with suppress(asyncio.CancelledError, ChainUnreachable, StoreStuck, Killed):
                await task

    async def turn(self, count):
        for _ in range(count):
            await asyncio.sleep(0)
        if any(task.done() for task in self.tasks):
            # The node was away for the watcher, the disk was full, or the fuse blew: a supervisor starts it again.
            await self.kill()
            self.fuse.mend()
            self.start()

    async def submit(self, n):
        with suppress(Killed, StoreStuck):
            await self.outbox.submit(f"k{n}", call_of(n))
            self.submitted.add(n)

    async def step(self, name, value):  # noqa: C901, PLR0912 - one line for each kind of trouble
        chain = self.chain
        match name:
            case "submit":
                await self.submit(value)
            case "least tip":
                chain.least_tip = value
            case "pool limit":
                chain.pool_limit = value
            case "disk full":
                self.store.full = True
            case "disk free":
                self.store.full = False
            case "retry dead" | "drop dead":
                self.operate(name)
            case "produce":
                await chain.produce(take=value)
            case "produce best":
                await chain.produce(take=value, finalize=False)
            case "finalize":
                await chain.finalize()
            case "fork":
                await chain.fork()
            case "forget pool":
                chain.forget_pool()
            case "drop subscriptions":
                await chain.drop_subscriptions(skip=1)
            case "lose reply":
                chain.lose_replies += 1
            case "refuse":
                if not chain.pool:
                    chain.refusals.append(value)
            case "unpayable":
                self.unpayable ^= {value}
            case "kill":
                await self.kill()
                self.start()
            case "away":
                chain.unreachable = True
            case "back":
                chain.unreachable = False
            case "rival":
                await self.rival()

    def operate(self, what):
        admin = OutboxAdmin(self.store)
        for entry in admin.entries(IntentState.DEAD)[:1]:
            with suppress(Killed, StoreStuck):
                if what == "retry dead":
                    admin.retry(entry.number)
                else:
                    admin.drop(entry.number)
                    self.submitted.discard(int(entry.key[1:]))

    async def rival(self):
        if self.chain.unreachable:
            return
        self.chain.own = True
        nonce = await self.chain.next_nonce(ALICE.address)
        with suppress(Exception):
            await self.chain.broadcast(await self.chain.sign(Call("Test", "rival", {"n": -1}), ALICE, nonce))
        self.chain.own = False

    def check(self):
        done = Counter(n for call, _, _ in self.chain.executed for n in numbers_of(call))
        twice = {n: times for n, times in done.items() if n >= 0 and times > 1}
        assert not twice

    async def finish(self):
        chain = self.chain
        chain.unreachable, chain.refusals, chain.lose_replies = False, [], 0
        chain.least_tip, chain.pool_limit, self.store.full = 0, None, False
        self.fuse.mend()
        self.unpayable.clear()
        for _ in range(200):
            await self.turn(60)
            if not self.outbox.unfinished:
                break
            await chain.produce()
        await self.kill()
        self.check()
        done = {n for call, _, _ in chain.executed for n in numbers_of(call)}
        for n in self.submitted:
            outcome = self.outbox.outcome(f"k{n}")
            assert isinstance(outcome, CallIncluded | CallGivenUp), n
            assert isinstance(outcome, CallIncluded) == (n in done), n


@settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.lists(st.tuples(STEPS, st.integers(0, 40)), min_size=10, max_size=60))
def test_nothing_is_lost_and_nothing_is_done_twice(steps):
    async def story():
        world = World()
        world.start()
        for (name, value), turns in steps:
            await world.step(name, value)
            await world.turn(turns)
            world.check()
        await world.finish()
        world.store.close()

    asyncio.run(story())


async def busy_story(world, chooser):
    """Calls that go alone and together, blocks that are full of others, a fork, a node that is away."""
    chain = world.chain
    for n in range(6):
        await world.submit(n)
        await world.turn(chooser.randrange(40))
        await chain.produce(take=chooser.randrange(4), finalize=chooser.random() < 0.7)
        world.check()
    await chain.fork()
    chain.least_tip = 1
    for n in range(6, 9):
        await world.submit(n)
    for _ in range(10):
        await world.turn(20)
        await chain.produce()
        world.check()


@settings(max_examples=examples(150), deadline=None)
@given(fuse=st.integers(0, 400), seed=st.integers(0, 2**16))
def test_killed_at_any_point(fuse, seed):
    async def story():
        world = World()
        world.start()
        world.fuse.left = fuse
        await busy_story(world, random.Random(seed))  # noqa: S311 - repeats a run, guards nothing
        await world.finish()
        world.store.close()

    asyncio.run(story())


def test_killed_at_each_point_of_one_scenario():
    async def story(fuse):
        world = World()
        world.start()
        world.fuse.left = fuse
        await busy_story(world, random.Random(7))  # noqa: S311 - repeats a run, guards nothing
        points = world.fuse.points
        await world.finish()
        world.store.close()
        return points

    points = asyncio.run(story(None))
    assert points > 100
    for fuse in range(points):
        asyncio.run(story(fuse))
