"""Runs the core's commands: one queue for each lease, in order; what comes of them goes back as events."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.values import Handle, Lease, Outcome, Report
from node_agent.ports import Driver, DriverError, PodGone
from node_agent.state_dir import LogKey, StateDir
from offchain.link.errors import TheirError
from offchain.link.typed import GantryChain
from offchain.schema._generated_chain import PodResult, calls
from offchain.schema.chain import Call

T = TypeVar("T")

log = logging.getLogger(__name__)

PAUSES_S = (0.5, 1.0, 2.0, 5.0, 10.0)


class Reports(Protocol):
    """The durable way to the chain."""

    async def send(self, key: str, call: Call) -> tuple[Outcome, str]:
        """Have this call done once, however often it is asked for; what became of it, and why."""
        ...


class CommandRunner:
    """Executes commands until it is closed. `emit` takes the events, `wake_at` asks for a tick at a time."""

    def __init__(
        self,
        driver: Driver,
        state: StateDir,
        chain: GantryChain,
        reports: Reports,
        *,
        emit: Callable[[ev.PodEvent], None],
        wake_at: Callable[[int], None],
        lease_of: Callable[[int], Lease | None],
    ) -> None:
        self._driver = driver
        self._state = state
        self._chain = chain
        self._reports = reports
        self._emit = emit
        self._wake_at = wake_at
        self._lease_of = lease_of
        self._queues: dict[int, asyncio.Queue[cmd.Command]] = {}
        self._watches: dict[int, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, commands: list[cmd.Command]) -> None:
        """Take commands; returns at once."""
        for command in commands:
            if isinstance(command, (cmd.ScheduleStop, cmd.ScheduleRetry)):
                self._wake_at(command.at_ms)
                continue
            queue = self._queues.get(command.number)
            if queue is None:
                queue = self._queues[command.number] = asyncio.Queue()
                self._spawn(self._drain(command.number, queue))
            queue.put_nowait(command)

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

    async def _execute(self, command: cmd.Command) -> None:
        match command:
            case cmd.FetchManifest():
                await self._fetch(command)
            case cmd.StartPod():
                await self._start(command)
            case cmd.WatchPod():
                self._watch(command)
            case cmd.StopPod():
                log.info("lease %d: stopping its container (%s)", command.number, command.reason)
                with contextlib.suppress(DriverError):  # what follows removes it in any case
                    await self._driver.stop(command.number, command.grace_ms / 1000)
            case cmd.DestroyPod() | cmd.SweepOrphan():
                await self._destroy(command.number)
            case cmd.CollectResult():
                await self._collect(command)
            case _:
                self._report(command)

    async def _fetch(self, command: cmd.FetchManifest) -> None:
        manifest = await self._until_answered(
            lambda: self._chain.manifest(command.task), f"lease {command.number}: manifest of task {command.task}"
        )
        self._emit(ev.ManifestFetched(command.number, manifest))

    async def _start(self, command: cmd.StartPod) -> None:
        number, spec = command.number, command.spec
        try:
            if spec.start > 1:
                await self._save_logs(number, before=spec.start)
            handle = await self._driver.start(spec)
        except DriverError as error:
            log.warning("lease %d: its container did not start: %s", number, error)
            self._emit(ev.DriverFailed(number, error.reason, str(error), error.transient))
            return
        log.info("lease %d: container runs (task %d, start %d)", number, spec.task, handle.start)
        self._emit(ev.DriverStarted(number, handle))

    def _watch(self, command: cmd.WatchPod) -> None:
        self._unwatch(command.number)
        self._watches[command.number] = self._spawn(self._wait(command.handle))

    def _unwatch(self, number: int) -> None:
        task = self._watches.pop(number, None)
        if task is not None:
            task.cancel()

    async def _wait(self, handle: Handle) -> None:
        try:
            ending = await self._until_answered(lambda: self._driver.wait(handle), f"lease {handle.lease}: waiting")
            log.info(
                "lease %d: container ended (%s) with exit code %d", handle.lease, ending.kind.value, ending.exit_code
            )
        except PodGone:
            log.warning("lease %d: its container was removed by somebody else", handle.lease)
            ending = None
        self._emit(ev.Exited(handle.lease, handle.start, ending))

    async def _destroy(self, number: int) -> None:
        self._unwatch(number)

        async def destroy() -> None:
            await self._save_logs(number, before=None)
            with contextlib.suppress(PodGone):
                await self._driver.destroy(number)

        await self._until_answered(destroy, f"lease {number}: removing its container")
        self._emit(ev.Destroyed(number))

    async def _collect(self, command: cmd.CollectResult) -> None:
        number = command.number
        try:
            collected = await self._driver.collect(command.handle, command.result)
            await self._save_log(number, command.handle.start, collected.note)
            digest = self._state.put_blob(collected.data)
        except (DriverError, OSError) as error:
            log.warning("lease %d: its result could not be kept: %s", number, error)
            self._emit(ev.CollectFailed(number, str(error)))
            return
        self._emit(ev.ResultStored(number, digest))

    async def _save_logs(self, number: int, *, before: int | None) -> None:
        """Keep the log of the lease's container, if it is one of a start before this one."""
        for found in await self._driver.recover():
            if found.handle.lease == number and (before is None or found.handle.start < before):
                await self._save_log(number, found.handle.start)

    async def _save_log(self, number: int, start: int, note: str = "") -> None:
        lease = self._lease_of(number)
        if lease is None:
            return  # an orphan: nobody can be told whose log it is
        key = LogKey(number, lease.created_at_ms)
        try:
            await self._state.save_log(key, start, self._driver.logs(number, follow=False), note)
        except PodGone:
            pass
        except (DriverError, OSError) as error:
            log.warning("lease %d: its log could not be kept: %s", number, error)

    def _report(self, command: cmd.Command) -> None:
        match command:
            case cmd.SubmitStarted(number):
                self._send(number, Report.STARTED, calls.tasks_report_started(lease=number))
            case cmd.SubmitResult(number, digest, exit_code, usage):
                result = PodResult(digest=digest, exit_code=exit_code, usage=usage)
                self._send(number, Report.RESULT, calls.tasks_report_result(lease=number, result=result))
            case cmd.SubmitFailed(number, reason, message):
                log.warning("lease %d: given back with %s: %s", number, reason.value, message)
                self._send(number, Report.FAILED, calls.tasks_report_failed(lease=number, reason=reason))
            case _:
                raise AssertionError(command)

    def _send(self, number: int, report: Report, call: Call) -> None:
        lease = self._lease_of(number)
        if lease is not None:
            # A lease number may come twice when a block is reverted; its time of opening does not.
            key = f"lease/{number}/{lease.created_at_ms}/{report.value}"
            self._spawn(self._sent(number, report, key, call))

    async def _sent(self, number: int, report: Report, key: str, call: Call) -> None:
        outcome, why = await self._reports.send(key, call)
        level = logging.INFO if outcome is Outcome.INCLUDED else logging.ERROR
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


def _pause_s(attempt: int) -> float:
    return PAUSES_S[min(attempt, len(PAUSES_S) - 1)]
