"""Execution of the core's commands: one ordered queue for each lease; outcomes come back as events."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import TypeVar

from node_agent.chain.reports import ReportSender
from node_agent.checkpoints.manager import CheckpointManager
from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.admission import read_manifest
from node_agent.core.pod_steps import main_container, termination_notice
from node_agent.core.retention import deletion_record
from node_agent.core.states import Pod
from node_agent.core.values import Handle
from node_agent.drivers.port import CollectedResult, Driver, DriverError, FolderRefused, PodGone
from node_agent.logs.store import LogCollector
from node_agent.runtime.background import run_unless_cancelled
from node_agent.runtime.state_dir import StateDir
from node_agent.runtime.upkeep import DriverUpkeep
from offchain.adapters.background_tasks import BackgroundTasks
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.sealed_box import seal
from offchain.backoff import backoff
from offchain.errors import BadKey, TheirError
from offchain.schema.manifest.types import ResultSpec

T = TypeVar("T")

log = logging.getLogger(__name__)

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 10.0


class CommandRunner:
    """Executes commands until it is closed.

    `emit` takes the events, `wake_at` requests a tick. `say` writes to the log of a lease's pod.
    """

    def __init__(
        self,
        host: str,
        driver: Driver,
        state: StateDir,
        chain: GantryChain,
        reports: ReportSender,
        checkpoints: CheckpointManager,
        upkeep: DriverUpkeep,
        *,
        emit: Callable[[ev.PodEvent], None],
        wake_at: Callable[[int], None],
        pod_of: Callable[[int], Pod | None],
        say: Callable[[int, str], None],
    ) -> None:
        self._host = host
        self._driver = driver
        self._state = state
        self._chain = chain
        self._reports = reports
        self._checkpoints = checkpoints
        self._upkeep = upkeep
        self._emit = emit
        self._wake_at = wake_at
        self._pod_of = pod_of
        self._say = say
        self._logs = LogCollector(driver, state.logs, pod_of)
        self._queues: dict[int, asyncio.Queue[cmd.Command]] = {}
        self._watches: dict[int, dict[str, asyncio.Task[None]]] = {}
        self._tasks = BackgroundTasks()
        self._cancelled: dict[int, asyncio.Event] = {}
        """For each pod in preparation: set when it must not wait for its images any longer."""

    def run(self, commands: list[cmd.Command]) -> None:
        """Take commands; returns at once."""
        for command in commands:
            if isinstance(command, (cmd.ScheduleStop, cmd.ScheduleRetry)):
                self._wake_at(command.at_ms)
                continue
            if isinstance(command, cmd.ExplainLateStart):
                self._tasks.run(self._explain(command))
                continue
            if isinstance(command, cmd.SubmitFailed) and not self._has_started(command.number):
                # Reported at once, even while the engine executes an earlier command: the start timeout is near. For a
                # started pod, the report of its start comes first.
                self._reports.submit(command)
                continue
            queue = self._queues.get(command.number)
            if queue is None:
                queue = self._queues[command.number] = asyncio.Queue()
                self._tasks.run(self._drain(command.number, queue))
            queue.put_nowait(command)

    def _has_started(self, number: int) -> bool:
        pod = self._pod_of(number)
        return pod is not None and (pod.started_sent or pod.started_known)

    async def close(self) -> None:
        """Stop all work. Commands without a stored event are repeated after the next start."""
        await self._tasks.close()

    async def _drain(self, number: int, queue: asyncio.Queue[cmd.Command]) -> None:
        while not queue.empty():
            command = queue.get_nowait()
            attempt = 0
            while not await self._executed(command):
                await asyncio.sleep(backoff(attempt, FIRST_PAUSE_S, LONGEST_PAUSE_S))
                attempt += 1
        del self._queues[number]

    async def _executed(self, command: cmd.Command) -> bool:
        try:
            await self._execute(command)
        except Exception:
            # A full disk or a bug. Commands are safe to repeat, and no lease may be forgotten.
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
                with contextlib.suppress(DriverError):  # the next command removes them in any case
                    await self._driver.stop(command.number)
            case cmd.WriteNotice():
                await self._write_notice(command)
            case cmd.SignalPod():
                log.info("lease %d: it has to leave, its containers get %s", command.number, command.signal)
                with contextlib.suppress(DriverError):  # a container that gets no signal loses only its work
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
                self._reports.submit(command)

    async def _fetch(self, command: cmd.FetchManifest) -> None:
        manifest = await self._until_answered(
            lambda: self._chain.manifest(command.task), f"lease {command.number}: manifest of task {command.task}"
        )
        fetched = None if manifest is None else await asyncio.to_thread(read_manifest, manifest)
        self._emit(ev.ManifestFetched(command.number, fetched))

    async def _prepare(self, command: cmd.PreparePod) -> None:
        number = command.number
        fetching = self._tasks.run(self._fetch_checkpoint(command))
        cancelled = self._cancelled.setdefault(number, asyncio.Event())
        try:
            self._state.files.put_keys(command.spec)
            if not await run_unless_cancelled(self._driver.prepare(command.spec), cancelled):
                return
            await fetching
        except DriverError as error:
            log.warning("lease %d: its pod could not be prepared: %s", number, error)
            self._emit(ev.DriverFailed(number, None, error.reason, str(error), error.transient))
            return
        finally:
            fetching.cancel()
            self._cancelled.pop(number, None)
        self._emit(ev.PodPrepared(number))

    async def _explain(self, command: cmd.ExplainLateStart) -> None:
        number = command.number
        why = self._driver.explain_delay(command.spec)
        log.warning("lease %d: its pod has not started in time: %s", number, why)
        if self._driver.progress(command.spec) and (cancelled := self._cancelled.get(number)) is not None:
            # Nothing of the pod exists before its images are pulled. The pull goes on for the next pod that needs it.
            cancelled.set()
        self._emit(ev.DriverFailed(number, None, why.reason, str(why), transient=False))

    async def _fetch_checkpoint(self, command: cmd.PreparePod) -> None:
        """Fetch the checkpoint of a pod while its images are pulled. A pod that ran on this host has its own files."""
        pod = self._pod_of(command.number)
        if pod is None or pod.spec is None or any(one.start for one in pod.containers):
            return
        if text := await self._checkpoints.ready(command.spec):
            self._say(command.number, text)

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
            self._say(spec.lease, f"it continues from the checkpoint {seed.archive.stem}")
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
        watches[command.handle.service] = self._tasks.run(self._follow(command.handle))

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
                            await self._upkeep.check_disk(lease)
                        return ev.ContainerExited(lease, name, start, now.ending)
                    if now.healthy is not None and now.healthy != healthy:
                        healthy = now.healthy
                        self._emit(ev.HealthChanged(lease, name, start, healthy))
            raise PodGone(f"{handle.reference} is gone")

        try:
            ended = await self._until_answered(follow, f"lease {lease}: watching {name}")
        except PodGone:
            log.warning("lease %d: %s was removed from outside the agent", lease, name)
            ended = ev.ContainerExited(lease, name, start, None)
        self._emit(ended)

    async def _write_notice(self, command: cmd.WriteNotice) -> None:
        try:
            await self._driver.set_notice(
                command.number, None if command.ends_ms is None else termination_notice(command.ends_ms)
            )
        except (DriverError, OSError) as error:  # the next commands do not depend on it
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
            collected = CollectedResult(b"")
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
        volumes = await self._until_answered(
            lambda: self._driver.volumes(number), f"lease {number}: looking at its data"
        )
        missing = tuple(sorted(set(command.volumes) - {volume.name for volume in volumes}))
        if missing:
            log.error("lease %d: retained data is gone: %s", number, ", ".join(missing))
        snapshots = await self._until_answered(lambda: self._driver.snapshots(number), f"lease {number}: its snapshots")
        record = deletion_record(self._host, pod.lease, volumes, snapshots)
        self._emit(ev.DataFound(number, self._state.put_blob(record), missing))

    async def _until_answered(self, ask: Callable[[], Awaitable[T]], what: str) -> T:
        attempt = 0
        while True:
            try:
                return await ask()
            except PodGone:
                raise
            except (DriverError, TheirError) as error:
                log.warning("%s: %s; trying again", what, error)
            await asyncio.sleep(backoff(attempt, FIRST_PAUSE_S, LONGEST_PAUSE_S))
            attempt += 1


def seal_result(collected: CollectedResult, result: ResultSpec) -> CollectedResult:
    """Return the result as stored: sealed for the tenant if the manifest names a key."""
    if result.seal_to is None:
        return collected
    try:
        return replace(collected, data=seal(result.seal_to, collected.data))
    except BadKey as error:
        # In the clear it must not be kept, and the container is over.
        return CollectedResult(b"", f"the result is not kept, since it cannot be sealed: {error}")
