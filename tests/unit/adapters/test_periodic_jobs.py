"""Periodic jobs: intervals, failures, overlaps, the end, and a clock that is set."""

import asyncio
import logging
import time
from datetime import datetime, timedelta

import pytest

from offchain.adapters import periodic_jobs
from offchain.adapters.periodic_jobs import NextRun, PeriodicJobs
from offchain.errors import ChainUnreachable, StoreStuck


class Runs:
    """Counts runs, and wakes the test after each."""

    def __init__(self, raises=None):
        self.count = 0
        self._raises = raises
        self._ran = asyncio.Event()

    async def __call__(self):
        self.count += 1
        self._ran.set()
        if self._raises is not None:
            raise self._raises

    async def until(self, count):
        async with asyncio.timeout(10):
            while self.count < count:
                self._ran.clear()
                await self._ran.wait()


async def test_a_job_runs_at_once_and_then_periodically():
    runs, plain = Runs(), []
    async with PeriodicJobs() as jobs:
        jobs.add("async", runs, 0.01)
        jobs.add("plain", lambda: plain.append(1), 0.01)
        await runs.until(3)
    assert len(plain) >= 2
    assert not jobs.failures


async def test_work_decides_when_it_runs_again():
    runs = Runs()

    async def work():
        await runs()
        return NextRun(0.01)

    async with PeriodicJobs() as jobs:
        jobs.add("job", work, 3600)
        await runs.until(3)


@pytest.mark.parametrize("returned", [0, 1.5, True, "done"])
async def test_other_results_of_work_do_not_change_its_interval(returned):
    often, seldom = Runs(), Runs()

    async def work():
        await seldom()
        return returned

    async with PeriodicJobs() as jobs:
        jobs.add("seldom", work, 3600)
        jobs.add("often", often, 0.01)
        await often.until(20)
    assert seldom.count == 1


@pytest.mark.parametrize("pause_s", [0.0, -1.0])
async def test_the_next_run_may_be_due_when_the_last_one_ends(pause_s):
    """A busy machine may need longer to end a run than the pause after it."""
    runs = Runs()

    async def work():
        await runs()
        return NextRun(pause_s)

    async with PeriodicJobs() as jobs:
        jobs.add("job", work, 3600)
        await runs.until(5)


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (ValueError("wrong"), logging.ERROR),
        (StoreStuck("full", ""), logging.WARNING),
        (ChainUnreachable("away"), logging.DEBUG),
    ],
)
async def test_a_failed_run_is_counted_and_logged_and_the_job_continues(error, level, caplog):
    caplog.set_level(logging.DEBUG, logger=periodic_jobs.__name__)
    runs = Runs(error)
    async with PeriodicJobs() as jobs:
        jobs.add("job", runs, 0.01)
        await runs.until(2)
    assert jobs.failures["job"] >= 2
    assert {record.levelno for record in caplog.records} == {level}


async def test_a_failure_can_be_waited_for(caplog):
    async with PeriodicJobs() as jobs:
        jobs.add("job", Runs(ValueError("wrong")), 0.01)
        with pytest.raises(ValueError, match="wrong"):
            await jobs.wait_for_failure()
    assert not caplog.records


async def test_runs_of_a_job_do_not_overlap_and_the_end_cancels_them():
    slow, other, cancelled = Runs(), Runs(), []

    async def work():
        await slow()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(1)
            raise

    async with PeriodicJobs() as jobs:
        jobs.add("slow", work, 0.01)
        jobs.add("other", other, 0.01)
        await other.until(5)
    assert (slow.count, cancelled) == (1, [1])


@pytest.mark.parametrize("step_s", [-3600, 3600])
async def test_jobs_keep_their_interval_when_the_clock_is_set(monkeypatch, step_s):
    runs, short = Runs(), Runs()

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(seconds=step_s)

    async def decides():
        await short()
        return NextRun(0.02)

    async with PeriodicJobs() as jobs:
        jobs.add("job", runs, 0.02)
        jobs.add("decides", decides, 3600)
        await runs.until(2)
        time_of_day = time.time
        monkeypatch.setattr(periodic_jobs.time, "time", lambda: time_of_day() + step_s)
        monkeypatch.setattr("apscheduler.schedulers.base.datetime", Clock)
        before, before_short = runs.count, short.count
        await runs.until(before + 3)
        await short.until(before_short + 3)
        assert max(runs.count - before, short.count - before_short) < 10
