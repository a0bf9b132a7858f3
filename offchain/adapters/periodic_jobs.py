"""Periodic work in the event loop, by APScheduler."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, Self

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from offchain.errors import BadReply, ChainUnreachable, GantryError

log = logging.getLogger(__name__)

# A run that is skipped because the one before it still runs is no warning.
logging.getLogger("apscheduler").setLevel(logging.ERROR)

CLOCK_STEP_S: Final = 0.1
"""Changes of the machine's clock up to this are adjustments of its rate."""


@dataclass(frozen=True, slots=True)
class NextRun:
    """The answer of work that decides when it runs again: in `in_s` seconds, instead of after the job's interval."""

    in_s: float


Work = Callable[[], Awaitable[object] | object]
"""What it returns is ignored unless it is a :class:`NextRun`."""


class PeriodicJobs:
    """Jobs that run until the end of the `async with` block, which cancels running ones and waits for them.

    The first run is immediate or after `delay_s`. Runs of one job do not overlap: one that is due while the last still
    runs is skipped. A run that fails is counted in `failures` and logged, unless :meth:`wait_for_failure` takes it; an
    unreachable node is logged for debugging only, since others report it.
    """

    def __init__(self) -> None:
        self._scheduler = _SteadyScheduler(
            timezone=UTC, job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        )
        self._runs: set[asyncio.Task[Any]] = set()
        self._is_closing = False
        self._failure: asyncio.Future[None] | None = None
        self.failures: Counter[str] = Counter()

    async def __aenter__(self) -> Self:
        self._scheduler.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_closing = True
        self._scheduler.shutdown(wait=False)
        for run in self._runs:
            run.cancel()
        await asyncio.gather(*self._runs, return_exceptions=True)
        await asyncio.sleep(0)  # the scheduler stops in a callback of the loop

    def add(
        self, name: str, work: Work, seconds: float, *, delay_s: float = 0.0, jitter_s: float | None = None
    ) -> None:
        """Run `work` every `seconds`, earlier or later by up to `jitter_s`. `name` is unique, and for the log."""
        self._scheduler.add_job(
            partial(self._run, name, work),
            "interval",
            id=name,
            seconds=seconds,
            jitter=jitter_s or None,
            next_run_time=self._scheduler.time_in(delay_s),
        )

    async def wait_for_failure(self) -> None:
        """Wait until a run fails, and raise its error."""
        self._failure = asyncio.get_running_loop().create_future()
        await self._failure

    async def _run(self, name: str, work: Work) -> None:
        run = asyncio.current_task()
        assert run is not None  # noqa: S101  (a coroutine runs in a task)
        self._runs.add(run)
        try:
            result = work()
            found = await result if inspect.isawaitable(result) else result
            if isinstance(found, NextRun):
                next_run = self._scheduler.time_in(found.in_s)
                # Not before the scheduler has noted the end of this run: it skips a run that is due while one lasts.
                run.add_done_callback(lambda _: self._plan(name, next_run))
        except Exception as error:  # noqa: BLE001  (logged, or raised by wait_for_failure)
            self._note_failure(name, error)
        except asyncio.CancelledError:
            if not self._is_closing:
                raise
        finally:
            self._runs.discard(run)

    def _plan(self, name: str, next_run: datetime) -> None:
        if not self._is_closing:
            self._scheduler.modify_job(name, next_run_time=next_run)

    def _note_failure(self, name: str, error: Exception) -> None:
        self.failures[name] += 1
        if self._failure is not None:
            if not self._failure.done():
                self._failure.set_exception(error)
        elif isinstance(error, (ChainUnreachable, BadReply)):
            log.debug("%s: waits for the chain: %s", name, error)
        elif isinstance(error, GantryError):
            log.warning("%s: %s", name, error)
        else:
            log.error("%s: failed (failures so far: %d)", name, self.failures[name], exc_info=error)


class _SteadyScheduler(AsyncIOScheduler):  # type: ignore[misc]  # apscheduler has no types
    """A scheduler whose jobs keep their intervals when the machine's clock is set.

    APScheduler plans by that clock, but waits by the event loop's. Times of runs are made with one difference between
    the two; when it changes, all planned runs are moved.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._offset_s = _clock_offset_s()

    def time_in(self, seconds: float) -> datetime:
        """Return the time of a run after this pause."""
        return datetime.fromtimestamp(time.monotonic() + self._offset_s + seconds, UTC)

    def _process_jobs(self) -> float | None:
        step_s = _clock_offset_s() - self._offset_s
        if abs(step_s) > CLOCK_STEP_S:
            self._offset_s += step_s
            for job in self.get_jobs():
                job.modify(next_run_time=job.next_run_time + timedelta(seconds=step_s))
        pause_s: float | None = super()._process_jobs()
        return pause_s


def _clock_offset_s() -> float:
    """Return the difference between the machine's clock and the event loop's, in seconds."""
    return time.time() - time.monotonic()
