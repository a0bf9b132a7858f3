"""Runs the core's commands: one queue for each lease, in order; what comes of them goes back as events."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol, TypeVar

from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.admission import read_manifest
from node_agent.core.deletion_receipt import deletion_record
from node_agent.core.preemption_notice import termination_notice
from node_agent.core.states import Phase, Pod
from node_agent.core.steps import main_container
from node_agent.core.values import Handle, HostLease, LeaseReport, PodSpec, ReportStatus
from node_agent.drivers.port import Collected, Driver, DriverError, FolderRefused, PodGone, Seed
from node_agent.logs.collector import LogCollector
from node_agent.runtime.background import run_unless_cancelled
from node_agent.runtime.state_dir import StateDir
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.sealed_box import seal
from offchain.errors import BadKey, TheirError
from offchain.schema.chain_types._generated_chain import PodResult, ReportDataLost, ReportPurged, calls
from offchain.schema.chain_types.reasons import code
from offchain.schema.chain_types.values import Call
from offchain.schema.manifest.types import ResultSpec

T = TypeVar("T")

log = logging.getLogger(__name__)

PAUSES_S = (0.5, 1.0, 2.0, 5.0, 10.0)


class ReportSender(Protocol):
    """The durable way to the chain."""

    async def send(self, key: str, call: Call) -> tuple[ReportStatus, str]:
        """Have this call done once, however often it is asked for; what became of it, and why.

        LookupError where it was taken back.
        """
        ...


class StartCheckpoints(Protocol):
    """What pods go on from."""

    async def ready(self, spec: PodSpec) -> str:
        """Have the file that a pod is to start from, or wait for it in vain; gives what its log is to say then."""
        ...

    def seed(self, spec: PodSpec, start: int) -> Seed | None:
        """What the main container has when it is made for this start."""
        ...


class CommandRunner:
    """Executes commands until it is closed. `emit` takes the events, `wake_at` asks for a tick at a time.

    `may_report` returns when it is known whose the leases are by now, so that this report may be sent. `say` tells the
    tenant of a lease.
    """

    def __init__(
        self,
        host: str,
        driver: Driver,
        state: StateDir,
        chain: GantryChain,
        reports: ReportSender,
        checkpoints: StartCheckpoints,
        *,
        emit: Callable[[ev.PodEvent], None],
        wake_at: Callable[[int], None],
        pod_of: Callable[[int], Pod | None],
        may_report: Callable[[LeaseReport], Awaitable[None]],
        say: Callable[[int, str], None],
    ) -> None:
        self._host = host
        self._driver = driver
        self._state = state
        self._chain = chain
        self._reports = reports
        self._checkpoints = checkpoints
        self._emit = emit
        self._wake_at = wake_at
        self._pod_of = pod_of
        self._may_report = may_report
        self._say = say
        self._logs = LogCollector(driver, state.logs, pod_of)
        self._queues: dict[int, asyncio.Queue[cmd.Command]] = {}
        self._watches: dict[int, dict[str, asyncio.Task[None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._given_up: dict[int, asyncio.Event] = {}
        """Of each pod that is being prepared: it waits for an image, and is not to wait any longer."""

    def run(self, commands: list[cmd.Command]) -> None:
        """Take commands; returns at once."""
        for command in commands:
            if isinstance(command, (cmd.ScheduleStop, cmd.ScheduleRetry)):
                self._wake_at(command.at_ms)
                continue
            if isinstance(command, cmd.ExplainLateStart):
                self._spawn(self._explain(command))
                continue
            if isinstance(command, cmd.SubmitFailed) and not self._has_started(command.number):
                # Told at once, also while the engine is still busy with an earlier command: the start timeout is near.
                # Of a pod that has started, the report of its start is told first.
                self._report(command)
                continue
            queue = self._queues.get(command.number)
            if queue is None:
                queue = self._queues[command.number] = asyncio.Queue()
                self._spawn(self._drain(command.number, queue))
            queue.put_nowait(command)

    def _has_started(self, number: int) -> bool:
        pod = self._pod_of(number)
        return pod is not None and (pod.started_sent or pod.started_known)

    async def close(self) -> None:
        """Stop where it is; every command is repeated after the next start if its event was not kept."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, work: Awaitable[None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _drain(self, number: int, queue: asyncio.Queue[cmd.Command]) -> None:
        while not queue.empty():
            command = queue.get_nowait()
            attempt = 0
            while not await self._executed(command):
                await asyncio.sleep(_pause_s(attempt))
                attempt += 1
        del self._queues[number]

    async def _executed(self, command: cmd.Command) -> bool:
        try:
            await self._execute(command)
        except Exception:
            # A full disk, or a fault of ours. Commands are safe to repeat, and a lease must not be forgotten.
            log.exception("lease %d: %s failed, trying again", command.number, type(command).__name__)
            return False
        return True

    async def _execute(self, command: cmd.Command) -> None:  # noqa: C901, PLR0912  (one case for each command)
        match command:
            case cmd.FetchManifest():
                await self._fetch(command)
            case cmd.PrefetchImages():
                self._driver.prefetch(command.spec)
            case cmd.PreparePod():
                await self._prepare(command)
            case cmd.StartContainer():
                await self._start(command)
            case cmd.WatchContainer():
                self._watch(command)
            case cmd.StopContainer():
                log.info("lease %d: stopping %s (%s)", command.number, command.handle.service, command.reason)
                await self._until_answered(
                    lambda: self._driver.stop_container(command.handle), f"lease {command.number}: stopping a container"
                )
            case cmd.StopPod():
                log.info("lease %d: stopping its containers (%s)", command.number, command.reason)
                with contextlib.suppress(DriverError):  # what follows removes them in any case
                    await self._driver.stop(command.number)
            case cmd.WriteNotice():
                await self._tell(command)
            case cmd.SignalPod():
                log.info("lease %d: it has to leave, its containers get %s", command.number, command.signal)
                with contextlib.suppress(DriverError):  # of one that cannot be told, the work is lost, and no more
                    await self._driver.signal(command.number, command.signal)
            case cmd.PausePod():
                await self._pause(command)
            case cmd.DestroyPod() | cmd.SweepOrphan():
                await self._destroy(command.number, keep_data=command.keep_data)
            case cmd.CollectResult():
                await self._collect(command)
            case cmd.TakeInventory():
                await self._take_inventory(command)
            case cmd.PurgeData():
                await self._until_answered(
                    lambda: self._driver.purge(command.number), f"lease {command.number}: deleting its data"
                )
                self._emit(ev.DataPurged(command.number))
            case _:
                self._report(command)

    async def _fetch(self, command: cmd.FetchManifest) -> None:
        manifest = await self._until_answered(
            lambda: self._chain.manifest(command.task), f"lease {command.number}: manifest of task {command.task}"
        )
        fetched = None if manifest is None else await asyncio.to_thread(read_manifest, manifest)
        self._emit(ev.ManifestFetched(command.number, fetched))

    async def _prepare(self, command: cmd.PreparePod) -> None:
        number = command.number
        fetching = self._spawn(self._have_checkpoint(command))
        given_up = self._given_up.setdefault(number, asyncio.Event())
        try:
            self._state.files.put_keys(command.spec)
            if not await run_unless_cancelled(self._driver.prepare(command.spec), given_up):
                return
            await fetching
        except DriverError as error:
            log.warning("lease %d: its pod could not be prepared: %s", number, error)
            self._emit(ev.DriverFailed(number, None, error.reason, str(error), error.transient))
            return
        finally:
            fetching.cancel()
            self._given_up.pop(number, None)
        self._emit(ev.PodPrepared(number))

    async def _explain(self, command: cmd.ExplainLateStart) -> None:
        number = command.number
        why = self._driver.why_late(command.spec)
        log.warning("lease %d: its pod has not started in time: %s", number, why)
        if self._driver.progress(command.spec) and (given_up := self._given_up.get(number)) is not None:
            # Nothing of the pod is made before its images are here. The pull itself goes on for whoever needs it next.
            given_up.set()
        self._emit(ev.DriverFailed(number, None, why.reason, str(why), transient=False))

    async def _have_checkpoint(self, command: cmd.PreparePod) -> None:
        """What the pod goes on from, while its images come. One that ran on this host before has its own files."""
        pod = self._pod_of(command.number)
        if pod is None or pod.spec is None or any(one.start for one in pod.containers):
            return
        if said := await self._checkpoints.ready(command.spec):
            self._say(command.number, said)

    async def _start(self, command: cmd.StartContainer) -> None:
        number, spec, name = command.number, command.spec, command.service
        try:
            if command.start > 1 and not command.follows:
                await self._logs.save_all(number, name, before=command.start)
            handle = await self._started(command)
        except DriverError as error:
            log.warning("lease %d: %s did not start: %s", number, name, error)
            self._emit(ev.DriverFailed(number, name, error.reason, str(error), error.transient))
            return
        log.info("lease %d: %s runs (task %d, start %d)", number, name, spec.task, handle.start)
        self._emit(ev.ContainerStarted(number, handle))

    async def _started(self, command: cmd.StartContainer) -> Handle:
        spec, name, start = command.spec, command.service, command.start
        seed = None
        if name == spec.main.service.name and not command.follows:
            seed = self._checkpoints.seed(spec, start)
        if seed is not None:
            self._say(spec.lease, f"it goes on from the checkpoint {seed.archive.stem}")
        try:
            return await self._driver.start(spec, name, start, command.follows, seed)
        except FolderRefused as error:
            self._say(spec.lease, f"its checkpoint cannot be used, and it starts from nothing: {error}")
            return await self._driver.start(spec, name, start, command.follows)

    def _watch(self, command: cmd.WatchContainer) -> None:
        watches = self._watches.setdefault(command.number, {})
        before = watches.pop(command.handle.service, None)
        if before is not None:
            before.cancel()
        watches[command.handle.service] = self._spawn(self._follow(command.handle))

    def _unwatch(self, number: int) -> None:
        for task in self._watches.pop(number, {}).values():
            task.cancel()

    async def _follow(self, handle: Handle) -> None:
        lease, name, start = handle.lease, handle.service, handle.start
        healthy: bool | None = None

        async def follow() -> ev.ContainerExited:
            nonlocal healthy
            async with aclosing(self._driver.watch(handle)) as seen:
                async for now in seen:
                    if now.ending is not None:
                        kind, code = now.ending.kind.value, now.ending.exit_code
                        log.info("lease %d: %s ended (%s) with exit code %d", lease, name, kind, code)
                        if now.ending.no_space:
                            await self._look_for_excess(lease)
                        return ev.ContainerExited(lease, name, start, now.ending)
                    if now.healthy is not None and now.healthy != healthy:
                        healthy = now.healthy
                        self._emit(ev.HealthChanged(lease, name, start, healthy))
            raise PodGone(f"{handle.reference} is gone")

        try:
            ended = await self._until_answered(follow, f"lease {lease}: watching {name}")
        except PodGone:
            log.warning("lease %d: %s was removed by somebody else", lease, name)
            ended = ev.ContainerExited(lease, name, start, None)
        self._emit(ended)

    async def _look_for_excess(self, number: int) -> None:
        """Where a disk is full, it may be the pod itself that filled it."""
        pod = self._pod_of(number)
        mib = (await self._driver.upkeep()).get(number, 0)
        if pod is not None and pod.spec is not None and (excess := disk_excess(pod.spec, mib)):
            self._emit(ev.LimitExceeded(number, excess))

    async def _tell(self, command: cmd.WriteNotice) -> None:
        try:
            await self._driver.tell(
                command.number, None if command.ends_ms is None else termination_notice(command.ends_ms)
            )
        except (DriverError, OSError) as error:  # what follows does not wait for it
            log.warning("lease %d: its containers do not find until when they may run: %s", command.number, error)

    async def _pause(self, command: cmd.PausePod) -> None:
        number = command.number
        log.info("lease %d: stopping its containers (%s)", number, command.reason)
        self._unwatch(number)

        async def stop() -> tuple[tuple[str, str], ...]:
            await self._driver.stop(number)
            return tuple((found.handle.service, found.mark) for found in await self._driver.recover(number))

        marks = await self._until_answered(stop, f"lease {number}: stopping its containers")
        self._emit(ev.PodPaused(number, marks))

    async def _destroy(self, number: int, *, keep_data: bool) -> None:
        self._unwatch(number)

        async def destroy() -> None:
            await self._logs.save_all(number)
            with contextlib.suppress(PodGone):
                await self._driver.destroy(number, keep_data=keep_data)
            self._state.files.remove(number)

        await self._until_answered(destroy, f"lease {number}: removing its containers")
        self._emit(ev.PodDestroyed(number))

    async def _collect(self, command: cmd.CollectResult) -> None:
        number = command.number
        try:
            collected = Collected(b"")
            if command.handle is not None:
                collected = await self._driver.collect(command.handle, command.result)
            collected = seal_result(collected, command.result)
            note = "; ".join(text for text in (command.note, collected.note) if text)
            if (pod := self._pod_of(number)) is not None:
                main = main_container(pod)
                await self._logs.save(number, main.name, main.start, note)
            digest = self._state.put_blob(collected.data)
        except (DriverError, OSError) as error:
            log.warning("lease %d: its result could not be kept: %s", number, error)
            self._emit(ev.CollectFailed(number, str(error)))
            return
        self._emit(ev.ResultStored(number, digest, collected.too_large))

    async def _take_inventory(self, command: cmd.TakeInventory) -> None:
        number = command.number
        pod = self._pod_of(number)
        if pod is None:
            return
        there = await self._until_answered(lambda: self._driver.volumes(number), f"lease {number}: looking at its data")
        missing = tuple(sorted(set(command.volumes) - {volume.name for volume in there}))
        if missing:
            log.error("lease %d: retained data is gone: %s", number, ", ".join(missing))
        made = await self._until_answered(lambda: self._driver.snapshots(number), f"lease {number}: its snapshots")
        record = deletion_record(self._host, pod.lease, there, made)
        self._emit(ev.DataFound(number, self._state.put_blob(record), missing))

    def _report(self, command: cmd.Command) -> None:
        match command:
            case cmd.SubmitStarted(number):
                self._send(number, LeaseReport.STARTED, calls.tasks_report_started(lease=number))
            case cmd.SubmitResult(number, digest, exit_code, usage):
                result = PodResult(digest=digest, exit_code=exit_code, usage=usage)
                self._send(number, LeaseReport.RESULT, calls.tasks_report_result(lease=number, result=result))
            case cmd.SubmitFailed(number, reason, message):
                log.warning("lease %d: given back with %s: %s", number, reason.value, message)
                self._say(number, f"the host gave this pod back ({code(reason.value)}): {message}")
                self._send(number, LeaseReport.FAILED, calls.tasks_report_failed(lease=number, reason=reason))
            case cmd.SubmitPurged(number, receipt, attempt):
                call = calls.tasks_report(lease=number, report=ReportPurged(receipt=receipt))
                self._send(number, LeaseReport.PURGED, call, attempt)
            case cmd.SubmitDataLost(number):
                self._send(number, LeaseReport.DATA_LOST, calls.tasks_report(lease=number, report=ReportDataLost()))
            case _:
                raise AssertionError(command)

    def _send(self, number: int, report: LeaseReport, call: Call, attempt: int = 0) -> None:
        pod = self._pod_of(number)
        if pod is not None:
            key = report_key(pod.lease, report) + (f"/{attempt}" if attempt else "")
            self._spawn(self._sent(pod.lease, report, key, call))

    async def _sent(self, lease: HostLease, report: LeaseReport, key: str, call: Call) -> None:
        number = lease.number
        await self._may_report(report)
        pod = self._pod_of(number)
        if pod is None or pod.phase is Phase.ENDING or not pod.lease.is_same_as(lease):
            log.warning("lease %d: its report %s is not sent, since the lease is over", number, report.value)
            return
        try:
            outcome, why = await self._reports.send(key, call)
        except LookupError:
            log.warning("lease %d: its report %s is taken back, since the lease is over", number, report.value)
            return
        level = logging.INFO if outcome is ReportStatus.INCLUDED else logging.ERROR
        log.log(level, "lease %d: report %s %s %s", number, report.value, outcome.value, why)
        self._emit(ev.ReportOutcome(number, report, outcome, why))

    async def _until_answered(self, ask: Callable[[], Awaitable[T]], what: str) -> T:
        attempt = 0
        while True:
            try:
                return await ask()
            except PodGone:
                raise
            except (DriverError, TheirError) as error:
                log.warning("%s: %s; trying again", what, error)
            await asyncio.sleep(_pause_s(attempt))
            attempt += 1


def report_key(lease: HostLease, report: LeaseReport) -> str:
    """The report's name. A lease number may come twice when a block is reverted; its time of opening does not."""
    return f"lease/{lease.number}/{lease.created_at_ms}/{report.value}"


def disk_excess(spec: PodSpec, mib: int) -> str:
    """What is wrong with so much disk; empty where it is within the lease."""
    most_mib = spec.disk_gib * 1024
    return f"the pod took {mib} MiB of disk, its lease is for {most_mib}" if mib > most_mib else ""


def _pause_s(attempt: int) -> float:
    return PAUSES_S[min(attempt, len(PAUSES_S) - 1)]


def seal_result(collected: Collected, result: ResultSpec) -> Collected:
    """The result as it is kept: in a box that only the tenant opens, where the manifest names a key."""
    if result.seal_to is None:
        return collected
    try:
        return replace(collected, data=seal(result.seal_to, collected.data))
    except BadKey as error:
        # In the clear it must not be kept, and the container is over.
        return Collected(b"", f"the result is not kept, since it cannot be sealed: {error}")
