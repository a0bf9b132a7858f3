"""Scheduling cycles in a thread: the event loop goes on, and events wait for the end of the cycle."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from offchain.core.scheduler import events as ev
from offchain.services.planning_thread import PlanningThread


class State:
    """A state whose cycle takes until it is released."""

    def __init__(self) -> None:
        self.handled: list[tuple[Any, str]] = []
        self.began, self.may_end = threading.Event(), threading.Event()

    def handle(self, event: ev.Event, now_ms: int) -> list[ev.Command]:
        self.handled.append((event, threading.current_thread().name))
        if isinstance(event, ev.CycleDue):
            self.began.set()
            assert self.may_end.wait(60)
            return [ev.ReportReservation(1, now_ms)]
        return []


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1, thread_name_prefix="planning") as made:
        yield made


async def test_events_that_arrive_during_a_cycle_are_applied_after_it(executor: ThreadPoolExecutor) -> None:
    state = State()
    planning = PlanningThread(state, executor)  # type: ignore[arg-type]
    before, first, second = (ev.TasksRemoved([number]) for number in range(3))
    planning.handle(before, 1)
    cycle = asyncio.create_task(planning.run_cycle(ev.CycleDue(), 2))
    await asyncio.to_thread(state.began.wait, 60)
    planning.handle(first, 3)
    planning.handle(second, 4)
    idle = asyncio.create_task(planning.until_idle())
    await asyncio.sleep(0)
    assert [event for event, _ in state.handled] == [before, ev.CycleDue()], "the loop runs on, and the events wait"
    assert not idle.done()
    state.may_end.set()
    assert await cycle == [ev.ReportReservation(1, 2)]
    await idle
    assert [event for event, _ in state.handled] == [before, ev.CycleDue(), first, second]
    here = threading.current_thread().name
    assert [name == here for _, name in state.handled] == [True, False, True, True]


async def test_without_an_executor_a_cycle_runs_in_the_loop() -> None:
    state = State()
    state.may_end.set()
    planning = PlanningThread(state, None)  # type: ignore[arg-type]
    assert await planning.run_cycle(ev.CycleDue(), 2) == [ev.ReportReservation(1, 2)]
    await planning.until_idle()
    assert state.handled == [(ev.CycleDue(), threading.current_thread().name)]
