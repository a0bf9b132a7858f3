"""The autoscaler: gives a tenant's services the number of pods that their load requires.

Only the tenant, or its proxy, may change that number and request receipts from hosts, so it runs with one of their
accounts. The usage of pods is taken from the receipts that hosts sign. A metric of the pod itself is read from the page
that it serves, over the same connection as `gantry forward`: nobody else can reach that port.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

from offchain.adapters.chain.chain_identity import continued
from offchain.adapters.chain.typed import GantryChain, LeaseOfTask, TaskAndSpec
from offchain.adapters.chain.watcher import Watcher
from offchain.adapters.outbox.intent_values import OutboxCounts
from offchain.adapters.outbox.outbox import Outbox
from offchain.adapters.outbox.store import Store
from offchain.adapters.periodic_jobs import PeriodicJobs
from offchain.adapters.transport.port import TransportError
from offchain.clock import unix_ms
from offchain.core.autoscaling import PodResources, Recommendations, Scaling, decide, load_ppm
from offchain.core.pod_metric import MAX_ANSWER, MetricReadError, MetricSample, load_milli, question, read
from offchain.core.scheduler.host_risk import PodAtRisk, pods_at_risk
from offchain.ports import ChainPort, Signer
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import calls
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.chain_types.values import Call
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.task_spec import replaced_task
from offchain.schema.manifest.types import ManifestError, Metric, PodMetric
from offchain.schema.protocol.receipt import Totals
from offchain.services.host_connections import HostConnections
from offchain.services.log import EventLog
from offchain.services.receipts import ReceiptSource, fetch
from offchain.services.record_mapping import host_of, task_of
from offchain.services.service_versions import LIVE
from offchain.services.submitter import SubmitCall, Submitter, observe_block

PAGE_S: Final = 5.0
"""Timeout for the page of a metric."""
STEP_S: Final = 15.0
WINDOW_MS: Final = 60_000
"""The period over which loads are averaged."""
ASK_S: Final = 10.0
"""Timeout for the answer of a host."""


class PodStream(Protocol):
    """A connection to a port inside a pod."""

    async def write(self, data: bytes) -> None:
        """Send bytes to the pod."""
        ...

    async def read_main(self) -> bytes | None:
        """Return the next bytes from the pod; None at the end."""
        ...

    def drop(self) -> None:
        """Close the connection."""
        ...


class PodSource(Protocol):
    """A connection to a host, as far as ports of pods are concerned."""

    async def dial(self, lease: int, port: int) -> PodStream:
        """Open a connection to a TCP port inside the pod of this lease."""
        ...


async def read_pod_metric(host: PodSource, lease: int, metric: PodMetric) -> MetricSample:
    """Return the metric's value. Raises :class:`MetricReadError` if the pod does not report it."""
    connection = await host.dial(lease, metric.port)
    try:
        async with asyncio.timeout(PAGE_S):
            await connection.write(question(metric))
            answer = bytearray()
            while (piece := await connection.read_main()) is not None:
                answer += piece
                if len(answer) > MAX_ANSWER:
                    raise MetricReadError(f"the page on port {metric.port} is longer than {MAX_ANSWER} bytes")
    except TimeoutError:
        raise MetricReadError(f"the page on port {metric.port} did not end within {PAGE_S:g} s") from None
    finally:
        connection.drop()
    return read(metric, bytes(answer))


class HostSource(ReceiptSource, PodSource, Protocol):
    """A connection to a host, as far as loads are concerned."""


OpenHost = Callable[[gen.HostRecord, str], AbstractAsyncContextManager[HostSource]]
"""Opens a connection to the host with this record and address."""


@dataclass(slots=True)
class _Service:
    """The state of one service between steps."""

    scaling: Scaling
    has: PodResources
    recommendations: Recommendations = field(default_factory=Recommendations)
    seen: dict[int, deque[tuple[int, Totals | MetricSample]]] = field(default_factory=dict)
    """[lease]: its receipts, or the values of its metric, with their times, the oldest first."""
    asked: int | None = None
    """The number of pods requested last."""
    spares: int = 0
    """How many of them replace pods that are at risk."""


class Autoscaler:
    """Scales the services of one tenant. `account` signs; it differs from `tenant` if it is a proxy."""

    def __init__(self, chain: GantryChain, submit: SubmitCall, dial: OpenHost, tenant: str, account: str) -> None:
        self._chain = chain
        self._submit = submit
        self._dial = dial
        self._tenant = tenant
        self._account = account
        self._services: dict[int, _Service] = {}
        self._others: set[int] = set()
        """Tasks that are not scaled by their load, and never will be."""
        self._places: dict[int, int] = {}
        """[task]: the task that it was submitted to replace."""
        self._log = EventLog("autoscaler")

    async def step(self) -> None:
        """Check every service once, and change the number of pods where needed."""
        live = await self._live()
        for gone in self._services.keys() - live.keys():
            del self._services[gone]
        updating = self._updating(live)
        for number in updating & self._services.keys():
            self._services[number].recommendations = Recommendations()
        looked_at = self._services.keys() - updating
        running = (task for task in live.values() if isinstance(task.record.state, gen.TaskStateRunning))
        await asyncio.gather(*(self._look(task) for task in running if task.id in looked_at))

    async def _live(self) -> dict[int, TaskAndSpec]:
        """Return the tenant's live services, each read once."""
        numbers = set(await self._chain.tasks_of(self._tenant))
        self._others &= numbers
        self._places = {number: task for number, task in self._places.items() if number in numbers}
        found = await self._chain.tasks(numbers - self._others)
        known = self._services.keys() | self._places.keys()
        for task in found.values():
            if task.id not in known:
                await self._learn(task)
        found |= await self._chain.tasks(self._others.intersection(self._places.values()))
        return {number: task for number, task in found.items() if task.record.state.tag in LIVE}

    def _updating(self, live: Collection[int]) -> set[int]:
        """Return the versions of services that are being updated: the update controls their numbers of pods."""
        pairs = [(number, task) for number, task in self._places.items() if number in live and task in live]
        return {number for pair in pairs for number in pair}

    async def _learn(self, task: TaskAndSpec) -> None:
        if task.spec.kind is not gen.TaskKind.SERVICE:
            self._others.add(task.id)
            return
        if task.record.state.tag not in LIVE:
            return
        data = await self._chain.manifest(task.id)
        place = None if data is None else replaced_task(data)
        if place is not None:
            self._places[task.id] = place.task
        try:
            manifest = None if data is None else await asyncio.to_thread(parse_manifest, data, source=f"task {task.id}")
        except ManifestError:
            manifest = None  # its hosts do not take it either
        spec = task.spec
        if manifest is None or manifest.scaling is None or spec.pods_min >= spec.pods_max:
            if place is None:
                self._others.add(task.id)
            return
        metric = manifest.scaling.metric
        if isinstance(metric, PodMetric):
            name, target = metric.name, metric.target_milli
        else:
            name, target = metric, (manifest.scaling.target_percent or 0) * 10_000
        scaling = Scaling(
            metric=metric,
            target=target,
            stabilisation_ms=manifest.scaling.stabilisation_ms,
            pods_min=spec.pods_min,
            pods_max=spec.pods_max,
        )
        wanted = spec.resources
        has = PodResources(cpu_milli=wanted.cpu_milli, memory_mib=wanted.memory_mib, gpus=wanted.gpus.count)
        self._services[task.id] = _Service(scaling, has)
        self._log.info("found", task=task.id, metric=name, target=target)

    async def _look(self, task: TaskAndSpec) -> None:
        service = self._services[task.id]
        now_ms = await self._chain.now_ms()
        running = [lease for lease in task.leases if isinstance(lease.record.state, gen.LeaseStateActive)]
        for gone in service.seen.keys() - {lease.id for lease in running}:
            del service.seen[gone]
        loads = await asyncio.gather(*(self._load(service, lease, now_ms) for lease in running))
        pods = task.record.pods_wanted
        spares = service.spares if pods == service.asked else 0
        service.recommendations, wanted = decide(service.scaling, loads, pods - spares, service.recommendations, now_ms)
        # Those with higher numbers go anyway when there are fewer.
        worn = [pod for pod in await self._at_risk(task) if lease_parts(pod.lease)[1] < wanted]
        # What is at risk has its replacement beside it, until it is gone or in good order again.
        with_spares = min(service.scaling.pods_max, wanted + len(worn))
        service.spares, wanted = with_spares - wanted, with_spares
        service.asked = wanted
        for pod in worn if wanted != pods else ():
            self._log.warning("at_risk", task=task.id, lease=pod.lease, host=pod.host, reason=pod.risk)
        if wanted == pods:
            return
        outcome = await self._submit(f"scale:{task.id}:{wanted}:{now_ms}", self._call(task.id, wanted))
        of_one = 1_000 if isinstance(service.scaling.metric, PodMetric) else 10_000
        shown = ",".join("?" if load is None else f"{load / of_one:.0f}" for load in loads)
        what = "scaled" if outcome.done else "refused"
        self._log.info(what, task=task.id, pods=wanted, before=pods, loads=shown, reason=outcome.refusal)

    async def _at_risk(self, task: TaskAndSpec) -> tuple[PodAtRisk, ...]:
        """Return its pods on deteriorating hosts, by the chain's records."""
        known = task_of(task)
        if known is None or not known.leases:
            return ()
        names = {lease.host for lease in known.leases}
        records, scores = await self._chain.hosts_named(names), await self._chain.host_scores_named(names)
        return pods_at_risk(known, [host_of(name, record, scores.get(name)) for name, record in records.items()])

    async def _load(self, service: _Service, lease: LeaseOfTask, now_ms: int) -> int | None:
        """Return the pod's load over the last minute; None if its host does not answer, or there is no value yet."""
        reading = await self._read_load(lease, service.scaling.metric)
        seen = service.seen.setdefault(lease.id, deque())
        if reading is None:
            return None
        seen.append((now_ms, reading))
        # The newest receipt that is older than the window stays, so that the whole window is looked at.
        while len(seen) > 2 and now_ms - seen[1][0] >= WINDOW_MS:
            seen.popleft()
        load = _load(service, seen)
        if load is None:
            # A counter that began anew; of receipts, the next one tells more.
            while len(seen) > 1:
                seen.popleft()
        return load

    async def _read_load(self, lease: LeaseOfTask, metric: Metric | PodMetric) -> Totals | MetricSample | None:
        record = await self._chain.host(lease.record.host)
        if record is None:
            return None
        try:
            async with asyncio.timeout(ASK_S), self._dial(record, lease.record.host) as host:
                if isinstance(metric, PodMetric):
                    return await read_pod_metric(host, lease.id, metric)
                return (await fetch(host, lease)).receipt.totals
        except (TransportError, MetricReadError, TimeoutError) as error:
            self._log.info("no_answer", lease=lease.id, host=lease.record.host, reason=str(error))
            return None

    def _call(self, task: int, pods: int) -> Call:
        call = calls.tasks_scale(task=task, pods=pods)
        if self._tenant == self._account:
            return call
        plain = {call.pallet: {call.function: dict(call.args)}}
        return Call("Proxy", "proxy", {"real": {"Id": self._tenant}, "force_proxy_type": None, "call": plain})


def _load(service: _Service, seen: Sequence[tuple[int, Totals | MetricSample]]) -> int | None:
    (older_ms, older), (newer_ms, newer) = seen[0], seen[-1]
    metric = service.scaling.metric
    if isinstance(older, MetricSample) and isinstance(newer, MetricSample):
        return load_milli(older_ms, older, newer_ms, newer)
    if isinstance(older, Totals) and isinstance(newer, Totals) and not isinstance(metric, PodMetric):
        return load_ppm(metric, service.has, older, newer)
    raise AssertionError(metric)


async def work(
    chain: ChainPort, store: Store, account: Signer, tenant: str, counts: OutboxCounts | None = None
) -> None:
    """Run until cancelled. Raises as the chain's port does; the outbox continues at the next start.

    `counts`: of the outbox, kept up to date.
    """
    outbox = Outbox(chain, store, account, now_ms=unix_ms, waits_for_coins=True, counts=counts)
    watcher = Watcher(chain, store, "autoscaler", start="finalized")

    async with (
        continued(chain, lambda: watcher.cursor, store.path),
        contextlib.AsyncExitStack() as stack,
        PeriodicJobs() as jobs,
        asyncio.TaskGroup() as group,
    ):
        ways = HostConnections(stack, await chain.genesis_hash(), account)
        scaler = Autoscaler(GantryChain(chain), Submitter(outbox), ways.to, tenant, account.address)
        group.create_task(outbox.run())
        group.create_task(watcher.run(partial(observe_block, outbox)))
        jobs.add("autoscaling", scaler.step, STEP_S)
        await jobs.wait_for_failure()
