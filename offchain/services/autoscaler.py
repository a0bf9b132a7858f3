"""The autoscaler's shell: gives a tenant's services the number of pods that their load asks for.

Only the tenant, or its proxy, may change that number and ask hosts for receipts; so it runs with one of their
accounts. What pods use is taken from the receipts that their hosts sign.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Final

from offchain.core.autoscale import Has, Scaling, Wishes, decide, load_ppm
from offchain.core.conduct.deteriorating import AtRisk, at_risk
from offchain.link import ss58
from offchain.link.outbox import Outbox
from offchain.link.p2p import LinkError
from offchain.link.p2p_reach import open_host
from offchain.link.ports import Block, ChainPort, Signer
from offchain.link.store import Store
from offchain.link.typed import GantryChain, LeaseOfTask, TaskAndSpec
from offchain.link.watcher import Commit, Watcher
from offchain.schema import _generated_chain as gen
from offchain.schema._generated_chain import calls
from offchain.schema.chain import Call
from offchain.schema.manifest import parse_manifest
from offchain.schema.manifest_types import ManifestError
from offchain.schema.receipt import Totals
from offchain.services.acts import Perform, Performer
from offchain.services.log import EventLog
from offchain.services.receipts import ReceiptSource, fetch
from offchain.services.records import host_of, task_of

STEP_S: Final = 15.0
WINDOW_MS: Final = 60_000
"""Loads are means over this time."""
ASK_S: Final = 10.0
"""A host that takes longer for an answer counts as one that does not answer."""
REMEMBERED_BLOCKS: Final = 10_000

Dial = Callable[[gen.HostRecord, str], AbstractAsyncContextManager[ReceiptSource]]
"""A host's record and address -> the way to it."""


@dataclass(slots=True)
class _Service:
    """What is remembered of one service."""

    scaling: Scaling
    has: Has
    wishes: Wishes = field(default_factory=Wishes)
    seen: dict[int, deque[tuple[int, Totals]]] = field(default_factory=dict)
    """Receipts of each lease by when they were taken, the oldest first."""
    asked: int | None = None
    """How many pods were asked for last,"""
    spares: int = 0
    """and how many of them beside pods that are at risk."""


class Autoscaler:
    """Scales the services of one tenant. `tenant` differs from the account that signs where that is its proxy."""

    def __init__(self, chain: GantryChain, perform: Perform, dial: Dial, tenant: str, account: str) -> None:
        self._chain = chain
        self._perform = perform
        self._dial = dial
        self._tenant = tenant
        self._account = account
        self._services: dict[int, _Service] = {}
        self._others: set[int] = set()
        """Tasks that are not scaled by their load, and never will be."""
        self._log = EventLog("autoscaler")

    async def step(self) -> None:
        """Look at every service once, and change the number of pods of those that need it."""
        tasks = await self._tasks()
        for gone in self._services.keys() - tasks.keys():
            del self._services[gone]
        await asyncio.gather(*(self._look(task) for task in tasks.values()))

    async def _tasks(self) -> dict[int, TaskAndSpec]:
        """The tenant's services that run and say how they scale."""
        numbers = set(await self._chain.tasks_of(self._tenant))
        self._others &= numbers
        found = await self._chain.tasks(numbers - self._others)
        for task in found.values():
            if task.id not in self._services:
                await self._learn(task)
        return {
            number: task
            for number, task in found.items()
            if number in self._services and isinstance(task.record.state, gen.TaskStateRunning)
        }

    async def _learn(self, task: TaskAndSpec) -> None:
        spec = task.spec
        if spec.kind is not gen.TaskKind.SERVICE or spec.pods_min >= spec.pods_max:
            self._others.add(task.id)
            return
        if not isinstance(task.record.state, gen.TaskStateRunning):
            return
        data = await self._chain.manifest(task.id)
        try:
            manifest = None if data is None else parse_manifest(data, source=f"task {task.id}")
        except ManifestError:
            manifest = None  # its hosts do not take it either
        if manifest is None or manifest.scaling is None:
            self._others.add(task.id)
            return
        scaling = Scaling(
            metric=manifest.scaling.metric,
            target_ppm=manifest.scaling.target_percent * 10_000,
            stabilisation_ms=manifest.scaling.stabilisation_ms,
            pods_min=spec.pods_min,
            pods_max=spec.pods_max,
        )
        wanted = spec.resources
        has = Has(cpu_milli=wanted.cpu_milli, memory_mib=wanted.memory_mib, gpus=wanted.gpus.count)
        self._services[task.id] = _Service(scaling, has)
        self._log.info("found", task=task.id, metric=scaling.metric, target=manifest.scaling.target_percent)

    async def _look(self, task: TaskAndSpec) -> None:
        service = self._services[task.id]
        now_ms = await self._chain.now_ms()
        running = [lease for lease in task.leases if isinstance(lease.record.state, gen.LeaseStateActive)]
        for gone in service.seen.keys() - {lease.id for lease in running}:
            del service.seen[gone]
        loads = await asyncio.gather(*(self._load(service, lease, now_ms) for lease in running))
        pods = task.record.pods_wanted
        spares = service.spares if pods == service.asked else 0
        service.wishes, wanted = decide(service.scaling, loads, pods - spares, service.wishes, now_ms)
        worn = await self._at_risk(task)
        # What is at risk has its replacement beside it, until it is gone or in good order again.
        with_spares = min(service.scaling.pods_max, wanted + len(worn))
        service.spares, wanted = with_spares - wanted, with_spares
        service.asked = wanted
        for pod in worn if wanted != pods else ():
            self._log.warning("at_risk", task=task.id, lease=pod.lease, host=pod.host, reason=pod.risk)
        if wanted == pods:
            return
        verdict = await self._perform(f"scale:{task.id}:{wanted}:{now_ms}", self._call(task.id, wanted))
        shown = ",".join("?" if load is None else f"{load / 10_000:.0f}" for load in loads)
        what = "scaled" if verdict.done else "refused"
        self._log.info(what, task=task.id, pods=wanted, before=pods, loads=shown, reason=verdict.refusal)

    async def _at_risk(self, task: TaskAndSpec) -> tuple[AtRisk, ...]:
        """Its pods on hosts that deteriorate, as the chain tells."""
        known = task_of(task)
        if known is None or not known.leases:
            return ()
        names = {lease.host for lease in known.leases}
        records, scores = await self._chain.hosts_named(names), await self._chain.host_scores_named(names)
        return at_risk(known, [host_of(name, record, scores.get(name)) for name, record in records.items()])

    async def _load(self, service: _Service, lease: LeaseOfTask, now_ms: int) -> int | None:
        """The pod's load over the last minute; None where its host does not answer, or nothing is known yet."""
        totals = await self._totals(lease)
        seen = service.seen.setdefault(lease.id, deque())
        if totals is None:
            return None
        seen.append((now_ms, totals))
        # The newest receipt that is older than the window stays, so that the whole window is looked at.
        while len(seen) > 2 and now_ms - seen[1][0] >= WINDOW_MS:
            seen.popleft()
        return load_ppm(service.scaling.metric, service.has, seen[0][1], totals)

    async def _totals(self, lease: LeaseOfTask) -> Totals | None:
        record = await self._chain.host(lease.record.host)
        if record is None:
            return None
        try:
            async with asyncio.timeout(ASK_S), self._dial(record, lease.record.host) as host:
                return (await fetch(host, lease)).receipt.totals
        except (LinkError, TimeoutError) as error:
            self._log.info("no_answer", lease=lease.id, host=lease.record.host, reason=str(error))
            return None

    def _call(self, task: int, pods: int) -> Call:
        call = calls.tasks_scale(task=task, pods=pods)
        if self._tenant == self._account:
            return call
        plain = {call.pallet: {call.function: dict(call.args)}}
        return Call("Proxy", "proxy", {"real": {"Id": self._tenant}, "force_proxy_type": None, "call": plain})


async def work(chain: ChainPort, store: Store, account: Signer, tenant: str) -> None:
    """Run until cancelled. Raises as the chain's port does; an outbox goes on at the next start."""
    outbox = Outbox(chain, store, account, now_ms=lambda: int(time.time() * 1000))
    watcher = Watcher(chain, store, "autoscaler", start="finalized")

    async def observe(block: Block) -> Commit | None:
        await outbox.observe(block)
        return lambda: outbox.forget_ended_before(block.ref.number - REMEMBERED_BLOCKS)

    async with contextlib.AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        ways = Ways(stack, await chain.genesis_hash(), account)
        scaler = Autoscaler(GantryChain(chain), Performer(outbox), ways.to, tenant, account.address)
        group.create_task(outbox.run())
        group.create_task(watcher.run(observe))
        while True:
            await scaler.step()
            await asyncio.sleep(STEP_S)


class Ways:
    """Connections to hosts that are kept between two looks; made anew where a host's endpoint changed."""

    def __init__(self, stack: contextlib.AsyncExitStack, genesis_hash: bytes, account: Signer) -> None:
        self._stack = stack
        self._genesis_hash = genesis_hash
        self._account = account
        self._open: dict[str, tuple[bytes, contextlib.AsyncExitStack, ReceiptSource]] = {}
        self._turn = asyncio.Lock()
        stack.push_async_callback(self._close)

    @contextlib.asynccontextmanager
    async def to(self, record: gen.HostRecord, host: str) -> AsyncIterator[ReceiptSource]:
        """The way to a host. One that failed is given up, so that the next look dials anew."""
        async with self._turn:
            known = self._open.get(host)
            if known is None or known[0] != record.endpoint:
                await self._drop(host)
                known = self._open[host] = await self._dialled(record, host)
        try:
            yield known[2]
        except (LinkError, asyncio.CancelledError):
            await self._drop(host)
            raise

    async def _dialled(
        self, record: gen.HostRecord, host: str
    ) -> tuple[bytes, contextlib.AsyncExitStack, ReceiptSource]:
        held = contextlib.AsyncExitStack()
        opened = open_host(ss58.decode(host), record.endpoint, genesis_hash=self._genesis_hash, signer=self._account)
        return record.endpoint, held, await held.enter_async_context(opened)

    async def _drop(self, host: str) -> None:
        known = self._open.pop(host, None)
        if known is not None:
            await known[1].aclose()

    async def _close(self) -> None:
        for host in tuple(self._open):
            await self._drop(host)
