"""Whatever happens in whatever order: nothing that was submitted is lost, nothing is done twice."""

import asyncio
import random
from collections import Counter
from contextlib import suppress

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from offchain.link.errors import ChainUnreachable, SubmitRefusal
from offchain.link.fake import FakeChain
from offchain.link.keys import from_uri
from offchain.link.outbox import Dead, Included, Outbox
from offchain.link.ports import Call
from offchain.link.store import Store
from offchain.link.watcher import Watcher

ALICE = from_uri("//Alice", "ed25519")
REFUSALS = [kind for kind in SubmitRefusal if kind is not SubmitRefusal.ALREADY_IN_POOL]
STEPS = (
    st.tuples(st.just("submit"), st.integers(0, 30))
    | st.tuples(st.just("produce"), st.integers(0, 4))
    | st.tuples(st.just("produce best"), st.integers(0, 4))
    | st.tuples(st.just("refuse"), st.sampled_from(REFUSALS))
    | st.sampled_from(
        [
            (name, 0)
            for name in ("finalize", "fork", "forget pool", "drop subscriptions", "lose reply", "kill", "away", "back")
        ]
    )
    | st.tuples(st.just("unpayable"), st.integers(0, 30))
    | st.tuples(st.just("rival"), st.integers(0, 2))
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


class FragileStore(Store):
    """Dies before or after a chosen write."""

    fuse: int | None = None

    def run(self, statement, *values):
        if self.fuse is not None:
            self.fuse -= 1
            if self.fuse < 0:
                raise Killed
        return super().run(statement, *values)


class World:
    def __init__(self):
        self.chain, self.store = FakeChain(), FragileStore(":memory:")
        self.unpayable = set()
        self.chain.unpayable = lambda call, _account: not self.unpayable.isdisjoint(numbers_of(call))
        self.submitted = set()
        self.tasks = []

    def start(self):
        self.outbox = Outbox(self.chain, self.store, ALICE, now_ms=lambda: 0, era_blocks=8)
        watcher = Watcher(self.chain, self.store, "w", start="finalized")
        self.tasks = [asyncio.ensure_future(w) for w in (self.outbox.run(), watcher.run(self.outbox.observe))]

    async def kill(self):
        for task in self.tasks:
            task.cancel()
        for task in self.tasks:
            with suppress(asyncio.CancelledError, ChainUnreachable, Killed):
                await task

    async def turn(self, count):
        for _ in range(count):
            await asyncio.sleep(0)
        if any(task.done() for task in self.tasks):
            await self.kill()  # the node was away for the watcher, or the fuse blew: a supervisor starts it again
            self.store.fuse = None
            self.start()

    async def step(self, name, value):  # noqa: C901, PLR0912 - one line for each kind of trouble
        chain = self.chain
        match name:
            case "submit":
                with suppress(Killed):
                    await self.outbox.submit(f"k{value}", call_of(value))
                    self.submitted.add(value)
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

    async def rival(self):
        if self.chain.unreachable:
            return
        nonce = await self.chain.next_nonce(ALICE.address)
        with suppress(Exception):
            await self.chain.broadcast(await self.chain.sign(Call("Test", "rival", {"n": -1}), ALICE, nonce))

    def check(self):
        done = Counter(n for call, _, _ in self.chain.executed for n in numbers_of(call))
        twice = {n: times for n, times in done.items() if n >= 0 and times > 1}
        assert not twice

    async def finish(self):
        chain = self.chain
        chain.unreachable, chain.refusals, chain.lose_replies = False, [], 0
        self.store.fuse = None
        self.unpayable.clear()
        for _ in range(120):
            await self.turn(60)
            if not self.outbox.unfinished:
                break
            await chain.produce()
        await self.kill()
        self.check()
        done = {n for call, _, _ in chain.executed for n in numbers_of(call)}
        for n in self.submitted:
            outcome = self.outbox.outcome(f"k{n}")
            assert isinstance(outcome, Included | Dead), n
            assert isinstance(outcome, Included) == (n in done), n


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
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


@settings(max_examples=150, deadline=None)
@given(fuse=st.integers(0, 60), seed=st.integers(0, 2**16))
def test_killed_at_any_write(fuse, seed):
    async def story():
        chooser = random.Random(seed)  # noqa: S311 - repeats a run, guards nothing
        world = World()
        world.start()
        world.store.fuse = fuse
        for n in range(6):
            with suppress(Killed):
                await world.outbox.submit(f"k{n}", call_of(n))
                world.submitted.add(n)
            await world.turn(chooser.randrange(40))
            await world.chain.produce(take=chooser.randrange(4), finalize=chooser.random() < 0.7)
            world.check()
        await world.finish()
        world.store.close()

    asyncio.run(story())
