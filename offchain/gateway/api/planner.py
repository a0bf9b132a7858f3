"""Forecasts for manifests and tasks of strangers: which hosts fit, at what price, and when the task starts.

A thread of its own, with a connection of its own, reads the chain's records and asks the scheduler's forecast, one
manifest or task at a time. The event loop, which relays tenants' connections, does neither.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys import ss58
from offchain.core.pricing import deposit
from offchain.core.snapshot import Snapshot
from offchain.errors import CheckFailed, OurError
from offchain.ports import BlockRef, ChainPort
from offchain.schema.chain_types._generated_chain import TaskSpec
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.task_spec import manifest_digest, to_task_spec
from offchain.schema.manifest.types import Manifest
from offchain.schema.manifest.variables import resolve
from offchain.services.feasibility import FeasibilityReport, report_at, report_of, why_not_live
from offchain.services.snapshot_reader import SnapshotReader
from offchain.services.submit_checks import TaskConditions, check_hosts, read_terms, term_checks

T = TypeVar("T")
LIMIT_S: Final = 10.0
"""How long a client waits for a forecast."""
MOST_WAITING: Final = 16
_END_S: Final = 1.0
_SNAPSHOT_AGE_S: Final = 6.0
"""How long a snapshot serves, or four times as long as it took to read: a forecast is no promise."""
_READS: Final = 4
_ANYBODY: Final = ss58.encode(bytes(32))
"""The tenant of manifests that are checked without an account."""
_FUNDS: Final = "no_funds"


class PlannerBusy(OurError):  # noqa: N818
    """Too many manifests and tasks wait, or it took too long."""

    code = "busy"


@dataclass(frozen=True, slots=True)
class ReadManifest:
    """A manifest as it goes onto the chain."""

    text: bytes
    manifest: Manifest
    spec: TaskSpec

    @property
    def deposit(self) -> int:
        """The base units that all pods together can have deposited at the beginning."""
        return deposit(self.spec.max_rate_per_hour, self.spec.max_duration_ms) * self.spec.pods_max


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """What would become of a task at a block. `report`: None if no forecast was asked for."""

    at: BlockRef
    now_ms: int
    refusals: tuple[CheckFailed, ...]
    report: FeasibilityReport | None


def read_manifest(text: str, variables: dict[str, str]) -> ReadManifest:
    """Return a manifest with its variables replaced. Raises ManifestError with every problem."""
    data = resolve(text, variables).encode("utf-8", errors="surrogatepass")
    manifest = parse_manifest(data)
    return ReadManifest(data, manifest, to_task_spec(manifest, manifest_digest(data)))


class PlacementPlanner:
    """Forecasts, one at a time. `open_chain` returns a connection for the planner's thread."""

    def __init__(self, open_chain: Callable[[], ChainPort], *, limit_s: float = LIMIT_S) -> None:
        self._open_chain = open_chain
        self._limit_s = limit_s
        self._chain: ChainPort | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._asked = 0
        self._turns: asyncio.Lock | None = None
        self._snapshot: tuple[float, BlockRef, Snapshot] | None = None
        """The time from which on it is too old, its block, and the snapshot."""
        self._reading: asyncio.Task[None] | None = None

    async def read(self, text: str, variables: dict[str, str]) -> ReadManifest:
        """Read a manifest in the thread. Raises ManifestError, and PlannerBusy."""

        async def work() -> ReadManifest:
            return read_manifest(text, variables)

        try:
            return await self._run(work())
        except TimeoutError:
            raise PlannerBusy(
                f"The manifest was not read within {self._limit_s:g} s: others are before it.", "Try again in a minute."
            ) from None

    async def check(
        self, task: ReadManifest, account: str | None, *, forecast: bool, count: int = 1
    ) -> PlannedTask | None:
        """Return what the chain and the schedulers would refuse, and with `forecast` when the task would start.

        `count`: tasks that are submitted together. None if there was no time. Raises PlannerBusy, and the errors of the
        chain.
        """
        try:
            return await self._run(self._check(task, account, forecast=forecast, count=count))
        except TimeoutError:
            return None

    async def explain(self, number: int) -> tuple[BlockRef, FeasibilityReport]:
        """Return the feasibility of a live task, at a block that was final some seconds ago.

        Raises CheckFailed for other tasks (:func:`why_not_live`), PlannerBusy, and the errors of the chain.
        """
        try:
            return await self._run(self._explain(number))
        except TimeoutError:
            raise PlannerBusy(
                f"The planner had no time for task {number} within {self._limit_s:g} s.", "Try again in a minute."
            ) from None

    async def close(self) -> None:
        """End the thread; a forecast that runs in it is left to the end of the process."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(_in(loop, self._end()), _END_S)
        loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(thread.join, _END_S)

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._chain is not None:
            await self._chain.close()

    async def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._asked >= MOST_WAITING:
            work.close()
            raise PlannerBusy(
                f"{MOST_WAITING} manifests and tasks wait to be planned, which is the limit.", "Try again in a minute."
            )
        self._asked += 1
        try:
            return await asyncio.wait_for(_in(self._started(), work), self._limit_s)
        finally:
            self._asked -= 1

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            # A daemon: a forecast cannot be interrupted, and must not keep a gateway that is stopped.
            self._thread = threading.Thread(target=_serve, args=(self._loop,), name="planner", daemon=True)
            self._thread.start()
        return self._loop

    async def _check(self, task: ReadManifest, account: str | None, *, forecast: bool, count: int) -> PlannedTask:
        async with self._turn():
            at, snapshot = await self._present()
            tenant = account or _ANYBODY
            hosts = tuple(snapshot.hosts.values())
            terms = await read_terms(self._connection(), tenant, at.hash)
            refusals = _refusals(task, tenant, replace(terms, hosts=hosts), count, with_funds=account is not None)
            report = None
            if forecast:
                report = await report_at(GantryChain(self._connection()), snapshot, task.spec, tenant)
            return PlannedTask(at, snapshot.now_ms, refusals, report)

    async def _explain(self, number: int) -> tuple[BlockRef, FeasibilityReport]:
        async with self._turn():
            at, snapshot = await self._present()
            chain = GantryChain(self._connection())
            if number not in snapshot.tasks and number >= await chain.next_task(at.hash):
                head = await self._connection().finalized_head()
                if number < await chain.next_task(head.hash):
                    # The task is newer than the snapshot.
                    self._snapshot = None
                    at, snapshot = await self._present()
            found = report_of(snapshot, number)
            if found is None:
                raise await why_not_live(self._connection(), number, at)
            return at, found

    def _turn(self) -> asyncio.Lock:
        # Made in the loop of the thread.
        if self._turns is None:
            self._turns = asyncio.Lock()
        return self._turns

    def _connection(self) -> ChainPort:
        if self._chain is None:
            self._chain = self._open_chain()
        return self._chain

    async def _present(self) -> tuple[BlockRef, Snapshot]:
        """Return a snapshot of a block that was final some seconds ago."""
        if self._snapshot is None or time.monotonic() > self._snapshot[0]:
            if self._reading is None:
                self._reading = asyncio.create_task(self._read_snapshot())
            # A network that takes longer to read than a client waits is read to the end, for the next client.
            await asyncio.shield(self._reading)
        assert self._snapshot is not None  # noqa: S101  (it was read)
        return self._snapshot[1:]

    async def _read_snapshot(self) -> None:
        try:
            chain, began_s = self._connection(), time.monotonic()
            head = await chain.finalized_head()
            found = await SnapshotReader(chain).snapshot(head)
            ended_s = time.monotonic()
            self._snapshot = ended_s + max(_SNAPSHOT_AGE_S, _READS * (ended_s - began_s)), head, found
        finally:
            self._reading = None


def _refusals(
    task: ReadManifest, tenant: str, found: TaskConditions, count: int, *, with_funds: bool
) -> tuple[CheckFailed, ...]:
    """Return what the checks before a submission find, all of it."""
    failed: list[CheckFailed] = []
    checks: tuple[Callable[[], object], ...] = (
        *term_checks(task.spec, len(task.text), found, count),
        partial(check_hosts, task.spec, found.hosts, tenant, found.params.audit_surcharge_ppm),
        partial(_check_confidential, task.manifest),
    )
    for check in checks:
        try:
            check()
        except CheckFailed as error:
            if with_funds or error.code != _FUNDS:
                failed.append(error)
    return tuple(failed)


def _check_confidential(manifest: Manifest) -> None:
    """Raise CheckFailed for a confidential task that names no hosts: only a tenant's own program may ask them."""
    if manifest.confidential is not None and not manifest.placement.hosts:
        raise CheckFailed(
            "x-gantry.confidential asks for hosts that prove what they are, and a gateway cannot ask them: any host "
            "could get the task.",
            "Name hosts in x-gantry.placement.hosts, or submit it with gantry submit or the SDK, which ask them.",
            code="hosts_not_named",
        )


async def _in(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in another loop and return its result."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()
