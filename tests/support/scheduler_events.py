"""Short forms of the events that tests send to a scheduler state."""

from __future__ import annotations

from collections.abc import Iterable

from offchain.core.scheduler.events import (
    AssignmentOvertaken,
    AssignmentRefused,
    CycleDue,
    HostsChanged,
    HostsRemoved,
    SchedulersChanged,
    TasksChanged,
    TasksRemoved,
    plan_of,
)
from offchain.core.scheduler.plan import PlanResult
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import Host, Task


def put(state: SchedulerState, *records: Host | Task) -> None:
    """Change these records, one after the other."""
    for record in records:
        state.handle(HostsChanged([record]) if isinstance(record, Host) else TasksChanged([record]), 0)


def put_tasks(state: SchedulerState, tasks: Iterable[Task]) -> None:
    state.handle(TasksChanged(list(tasks)), 0)


def put_hosts(state: SchedulerState, hosts: Iterable[Host]) -> None:
    state.handle(HostsChanged(list(hosts)), 0)


def remove(state: SchedulerState, *tasks: int) -> None:
    state.handle(TasksRemoved(tasks), 0)


def remove_host(state: SchedulerState, name: str) -> None:
    state.handle(HostsRemoved([name]), 0)


def release(state: SchedulerState, number: int) -> None:
    """Release what was placed of a task."""
    state.handle(AssignmentOvertaken(number), 0)


def refuse(state: SchedulerState, number: int, now_ms: int) -> None:
    """Refuse what was placed of a task: it is planned again after a pause of 4 s."""
    task = state.task(number)
    assert task is not None
    release(state, number)
    state.handle(AssignmentRefused(task, frozenset()), now_ms)


def set_schedulers(state: SchedulerState, accounts: Iterable[str]) -> None:
    state.handle(SchedulersChanged(frozenset(accounts)), 0)


def run_cycle(state: SchedulerState, now_ms: int) -> PlanResult:
    return plan_of(state.handle(CycleDue(), now_ms))
