"""A crowd of schedulers in virtual time: the real ones, over a chain of dictionaries that takes two seconds a block.

Each looks at the best block some time after it was made, plans, and its assignments reach the pool some time later
still; the chain takes them in the order in which they came, and checks each. Nothing waits for a clock: a crowd of
thousands of tasks takes seconds, and the same seed gives the same history.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from offchain.core import feasibility
from offchain.core.scheduler.host_observations import HostObservation
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.snapshot import Snapshot, Touched, union
from offchain.core.values import Host, Lease, LeaseState, Periods, PodPlacement, Task, TaskState
from offchain.ports import Call
from offchain.schema.chain_types.ids import lease_id
from offchain.services.scheduler import Scheduler
from offchain.services.submitter import CallOutcome
from tests.support.chain_records import escrow

BLOCK_MS = 2_000
FINAL_AFTER = 2
"""Blocks: what is final lags so far behind."""
NO_PERIODS = Periods(60_000, 60_000, 1_000, 30_000, 60_000, 10**9, 0, 0)
TICKS = 4
"""Turns of the loop in which a scheduler does all that it can do without a new block."""


@dataclass(frozen=True)
class Pace:
    """Milliseconds, drawn evenly between two bounds: from a block until a scheduler has seen it, and from its decision
    until the call is in the pool."""

    look_ms: tuple[int, int] = (50, 400)
    send_ms: tuple[int, int] = (50, 500)


IDLE = Pace()
LOADED = Pace((500, 3_500), (500, 3_500))
"""On a machine with far too much to do."""


@dataclass(frozen=True)
class SimBlock:
    """The chain after it. `touched`: what it changed."""

    now_ms: int
    hosts: Mapping[str, Host]
    tasks: Mapping[int, Task]
    touched: Touched
    verdicts: Mapping[int, str | None]
    """[number of an assignment]: why it was refused; None: it was not."""
    known: int
    """Tasks with a lower number have been submitted."""


@dataclass
class SimChain:
    """`run_ms(task)`: how long it runs once it is assigned."""

    hosts: dict[str, Host]
    run_ms: Callable[[Task], int]
    blocks: list[SimBlock] = field(default_factory=list)
    tasks: dict[int, Task] = field(default_factory=dict)
    assigned: Counter[int] = field(default_factory=Counter)
    """[task]: how often."""
    assigned_at: dict[int, int] = field(default_factory=dict)
    """[task]: chain time in ms."""
    assigned_by: Counter[str] = field(default_factory=Counter)
    """[account of a scheduler]: how many tasks."""
    ended: set[int] = field(default_factory=set)
    refusals: Counter[str] = field(default_factory=Counter)
    tried: int = 0
    _pool: list[tuple[int, int, int, str, tuple[PodPlacement, ...]]] = field(default_factory=list)
    _ends: list[tuple[int, int]] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _known: int = 0

    def send(self, at_ms: int, task: int, account: str, pods: tuple[PodPlacement, ...]) -> int:
        """An assignment reaches the pool at this time. Gives its number."""
        number = next(self._numbers)
        heapq.heappush(self._pool, (at_ms, number, task, account, pods))
        return number

    def submit(self, task: Task) -> None:
        """Include the task in the next block."""
        self.tasks[task.id] = task
        self._known = max(self._known, task.id + 1)

    def make(self, now_ms: int, submitted: frozenset[int] = frozenset()) -> SimBlock:
        verdicts: dict[int, str | None] = {}
        tasks, hosts = set(submitted), set()
        while self._ends and self._ends[0][0] <= now_ms:
            _, number = heapq.heappop(self._ends)
            tasks.add(number)
            hosts |= self._end(number)
        while self._pool and self._pool[0][0] <= now_ms:
            _, number, task, account, pods = heapq.heappop(self._pool)
            self.tried += 1
            why = verdicts[number] = self._assign(now_ms, task, account, pods)
            if why is None:
                tasks.add(task)
                hosts |= {pod.host for pod in pods}
            else:
                self.refusals[why] += 1
        touched = Touched(hosts=frozenset(hosts), tasks=frozenset(tasks))
        block = SimBlock(now_ms, dict(self.hosts), dict(self.tasks), touched, verdicts, self._known)
        self.blocks.append(block)
        return block

    def _assign(self, now_ms: int, number: int, account: str, pods: tuple[PodPlacement, ...]) -> str | None:
        task = self.tasks.get(number)
        if task is None or not {pod.pod for pod in pods} <= set(task.open_pods):
            return "Tasks.NotQueued"
        taken = dict(self.hosts)
        for pod in pods:
            try:
                taken[pod.host] = feasibility.take(taken[pod.host], PodRequest.of(task), pod.devices)
            except ValueError as misfit:
                return f"Tasks.{misfit}"
        self.hosts.update(taken)
        leases = tuple(
            Lease(
                lease_id(number, pod.pod, 0),
                pod.host,
                tuple(pod.devices),
                LeaseState.ACTIVE,
                now_ms,
                escrow(),
                None,
                assigned_by=account,
            )
            for pod in pods
        )
        self.tasks[number] = replace(task, state=TaskState.RUNNING, open_pods=(), leases=leases, changed_at=now_ms)
        self.assigned[number] += 1
        self.assigned_at[number] = now_ms
        self.assigned_by[account] += 1
        heapq.heappush(self._ends, (now_ms + self.run_ms(task), number))
        return None

    def _end(self, number: int) -> set[str]:
        task = self.tasks.pop(number)
        self.ended.add(number)
        for lease in task.leases:
            self.hosts[lease.host] = feasibility.released(self.hosts[lease.host], task.resources, lease.devices)
        return {lease.host for lease in task.leases}


class SimView:
    """What one scheduler has seen: `best` and `final` are numbers of blocks."""

    def __init__(self, chain: SimChain, accounts: frozenset[str]) -> None:
        self._chain = chain
        self.schedulers = accounts
        self.best = len(chain.blocks) - 1
        self.final_at = max(0, self.best - FINAL_AFTER)
        self._news: Touched | None = None

    def see(self, best: int) -> list[SimBlock]:
        """The best block has this number. Gives the blocks that have become final."""
        fresh = [self._chain.blocks[at].touched for at in range(self.best + 1, best + 1)]
        final_at = max(self.final_at, best - FINAL_AFTER)
        final = self._chain.blocks[self.final_at + 1 : final_at + 1]
        self.best, self.final_at = best, final_at
        if self._news is not None:
            self._news = union((self._news, *fresh, *(block.touched for block in final)))
        return final

    @property
    def _now(self) -> SimBlock:
        return self._chain.blocks[self.best]

    session_seed = b"seed"

    @property
    def now_ms(self) -> int:
        return self._now.now_ms

    def seen(self, reader: str) -> list[HostObservation]:
        """Nothing fails on these hosts."""
        del reader
        return []

    def news(self, _reader: str) -> Touched | None:
        found, self._news = self._news, Touched()
        return found

    def host(self, host: str) -> Host | None:
        return self._now.hosts.get(host)

    def task(self, number: int) -> Task | None:
        return self._now.tasks.get(number)

    def is_final(self, number: int) -> bool:
        return number < self._chain.blocks[self.final_at].known

    @property
    def final(self) -> Snapshot:
        return self._snapshot(self._chain.blocks[self.final_at])

    @property
    def snapshot(self) -> Snapshot:
        return self._snapshot(self._now)

    async def confirm(self, _keys: Touched) -> Snapshot:
        return self.snapshot

    def _snapshot(self, block: SimBlock) -> Snapshot:
        return Snapshot(0, block.now_ms, NO_PERIODS, None, block.hosts, block.tasks, self.schedulers)


class Member:
    """One scheduler of the crowd."""

    def __init__(self, crowd: Crowd, account: str) -> None:
        self._crowd = crowd
        self._account = account
        self._verdicts: dict[int, asyncio.Future[CallOutcome]] = {}
        self.start()

    def start(self) -> None:
        """Start with a new state: a scheduler knows only what it reads."""
        crowd = self._crowd
        self._verdicts.clear()
        self.view = SimView(crowd.chain, crowd.accounts)
        self.alive = True
        self._scheduler = Scheduler(
            self.view,  # type: ignore[arg-type]
            self._perform,
            self._account.encode(),
            lambda: None,
            account=self._account,
        )

    async def stop(self) -> None:
        """Killed: it says nothing more; what it has sent is on its way."""
        self.alive = False
        await self._scheduler.running.stop()

    async def look(self, best: int) -> None:
        """See the best block, and do what follows."""
        if not self.alive or best <= self.view.best:
            return
        for block in self.view.see(best):
            for number, why in block.verdicts.items():
                waiting = self._verdicts.pop(number, None)
                if waiting is not None:
                    waiting.set_result(CallOutcome(why))
        await _quiet()
        await self._scheduler.step(Touched())
        await _quiet()

    async def _perform(self, _name: str, call: Call) -> CallOutcome:
        pods = tuple(
            PodPlacement(pod["pod"], pod["host"], bytes(pod["devices"]), pod["rate_per_hour"])
            for pod in call.args["pods"]
        )
        number = self._crowd.send(call.args["task"], self._account, pods)
        self._verdicts[number] = asyncio.get_running_loop().create_future()
        return await self._verdicts[number]


class Crowd:
    """`schedulers` over `hosts`; `pace` for each. `run_ms` says how long a task runs. `silent` more are bonded only."""

    def __init__(
        self,
        schedulers: int,
        hosts: list[Host],
        run_ms: Callable[[Task], int],
        *,
        pace: Pace = IDLE,
        seed: int = 1,
        silent: int = 0,
    ) -> None:
        self._random = random.Random(seed)  # noqa: S311
        self._pace = pace
        self.now_ms = 0
        self.chain = SimChain({host.id: host for host in hosts}, run_ms)
        self.chain.make(0)
        working = [f"scheduler{number}" for number in range(schedulers)]
        self.accounts = frozenset(working) | {f"silent{number}" for number in range(silent)}
        self.members = [Member(self, account) for account in working]
        self._looks: list[tuple[int, int, int]] = []

    def send(self, task: int, account: str, pods: tuple[PodPlacement, ...]) -> int:
        return self.chain.send(self.now_ms + self._random.randint(*self._pace.send_ms), task, account, pods)

    async def block(self, *tasks: Task) -> None:
        """Two seconds pass: the schedulers look at what they have not seen yet, and the next block is made."""
        made_ms = self.chain.blocks[-1].now_ms + BLOCK_MS
        while self._looks and self._looks[0][0] < made_ms:
            self.now_ms, member, best = heapq.heappop(self._looks)
            await self.members[member].look(best)
        self.now_ms = made_ms
        for task in tasks:
            self.chain.submit(task)
        self.chain.make(made_ms, frozenset(task.id for task in tasks))
        for member in range(len(self.members)):
            at = made_ms + self._random.randint(*self._pace.look_ms)
            heapq.heappush(self._looks, (at, member, len(self.chain.blocks) - 1))

    async def until_all_ended(self, tasks: int, most_blocks: int = 3_000) -> None:
        """Blocks until so many tasks have ended. AssertionError where that takes too long."""
        for _ in range(most_blocks):
            if len(self.chain.ended) >= tasks:
                return
            await self.block()
        raise AssertionError(f"only {len(self.chain.ended)} of {tasks} tasks ended in {most_blocks} blocks")

    async def close(self) -> None:
        for member in self.members:
            await member.stop()

    @property
    def refused(self) -> float:
        """The part of all assignments that the chain refused."""
        return self.chain.refusals.total() / max(1, self.chain.tried)


async def _quiet() -> None:
    for _ in range(TICKS):
        await asyncio.sleep(0)
