"""The scheduler's core with many hosts and tasks: a round, single placements, a snapshot's changes, memory; a plot."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import growth_world as world
import numpy as np
from table import Figure

from offchain.core.scheduler.events import CycleDue, HostsChanged, TasksChanged, TasksRemoved, plan_of
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import Host, Task
from offchain.devnet.paths import ROOT
from offchain.services.compiling import compile_kernels

HOSTS = 100_000
TASKS = 100_000
SHAPES = 400
ACCOUNTS = 100
PLOT = ROOT / "docs" / "scheduling-growth.svg"

_ROUND_HOSTS = 10_000
_ALONE = 2000
_BLOCKS = 3
_BLOCK_MS = 2000
_TURNOVER = 5
"""A fifth of what runs ends in each block: 20,000 tasks of 100,000, which is 10,000 a second."""
_EVENTS = 1000
_SHARERS, _SHARES_EACH = 1000, 3
_UNPLACEABLE, _CYCLES, _CHANGED = 6000, 40, 50
_SEED = b"growth"
_NOW_MS = 10**8


@dataclass(frozen=True)
class Point:
    """What was measured with so many hosts. Times in seconds."""

    hosts: int
    round_s: float
    placed: int
    online_per_s: float
    alone_per_s: float
    events_s: float


def measure(hosts: int, tasks: int, say: Callable[[str], None], *, plot: Path | None) -> list[Figure]:
    """Rounds with 100, 1,000, 10,000... hosts up to `hosts`; the figures are those of 10,000, or of the most."""
    compile_kernels()
    sizes = [size for size in (100, 1000, 10_000, 100_000) if size < hosts] + [hosts]
    points = []
    for size in sizes:
        points.append(_point(size, min(tasks, 10 * size)))
        say(f"{size} hosts: {_said(points[-1])}")
    few = min(hosts, _ROUND_HOSTS)
    shares_s = _shares(few, min(tasks, 10 * few))
    say(f"{few} hosts with shares of {_SHARERS} accounts: {shares_s:.2f} s")
    unplaceable_ms = _unplaceable(few, min(tasks, _UNPLACEABLE))
    say(f"{few} full hosts and different requests of one account: at most {max(unplaceable_ms):.0f} ms a cycle")
    resident = _resident(hosts, 10 * tasks)
    say(f"{hosts} hosts and {10 * tasks} waiting tasks: {resident:.0f} MB")
    if plot is not None:
        draw(plot, points)
    of = next((point for point in points if point.hosts == _ROUND_HOSTS), points[-1])
    return [
        Figure("plan-round", "s", (of.round_s,), 1.0),
        Figure("plan-round-placed", "tasks", (float(of.placed),)),
        Figure("plan-online", "tasks/s", (of.online_per_s,), 10_000, at_least=True),
        Figure("plan-shares", "s", (shares_s,)),
        Figure("plan-unplaceable", "ms", unplaceable_ms, 200, target_p95=200),
        Figure("plan-alone", "tasks/s", (of.alone_per_s,)),
        Figure("plan-events", "ms", (1000 * of.events_s,), 50),
        Figure("plan-memory", "MB", (resident,), 2000),
    ]


def filled(hosts: Iterable[Host], tasks: Iterable[Task]) -> SchedulerState:
    """A scheduler state that knows these. Python's collector is paused meanwhile: nothing becomes garbage."""
    gc.disable()
    state = SchedulerState(_SEED)
    state.handle(HostsChanged(tuple(hosts)), 0)
    state.handle(TasksChanged(tuple(tasks)), 0)
    gc.enable()
    return state


def draw(path: Path, points: list[Point]) -> None:
    """Times by the number of hosts, both as logarithms."""
    from matplotlib import rc_context  # noqa: PLC0415  (slow to load)
    from matplotlib.figure import Figure as Drawing  # noqa: PLC0415

    lines = (
        ("a task in a round, µs", [1e6 * point.round_s / max(1, point.placed) for point in points]),
        ("a task that a block brings, µs", [1e6 / point.online_per_s for point in points]),
        ("a task placed by itself, µs", [1e6 / point.alone_per_s for point in points]),
        ("an event, µs", [1e6 * point.events_s / _EVENTS for point in points]),
    )
    # The same points give the same file: no date, no random names.
    with rc_context({"svg.hashsalt": "gantry"}):
        drawing = Drawing(figsize=(8, 5), layout="constrained")
        axes = drawing.subplots()
        for label, values in lines:
            axes.plot([point.hosts for point in points], values, marker="o", label=label)
        axes.set(xscale="log", yscale="log", xlabel="hosts", title="What the scheduler's core needs")
        axes.grid(visible=True, which="both", linewidth=0.3)
        axes.legend()
        drawing.savefig(path, format="svg", metadata={"Date": None})


def _said(point: Point) -> str:
    return (
        f"{point.placed} placed in {point.round_s:.2f} s, {point.online_per_s:.0f} a second block by block, "
        f"{point.alone_per_s:.0f} one by one, "
        f"{_EVENTS} events in {1000 * point.events_s:.0f} ms"
    )


def _point(hosts: int, tasks: int) -> Point:
    records = world.hosts(hosts)
    state = filled(records, world.tasks(tasks, SHAPES, ACCOUNTS))
    gc.collect()
    began = time.perf_counter()
    made = plan_of(state.handle(CycleDue(), _NOW_MS))
    took = time.perf_counter() - began
    placed = list(made.placements)
    alone = _alone(state, placed, tasks)
    events = _events(state, records, placed, 2 * tasks)
    online = _online(state, 10 * tasks)
    return Point(hosts, took, len(placed), online, alone, events)


def _shares(hosts: int, tasks: int) -> float:
    """Seconds of a round in which many accounts ask for shares of GPUs, each for a few."""
    state = filled(world.hosts(hosts), world.shared(tasks, SHAPES, _SHARERS, _SHARES_EACH))
    gc.collect()
    began = time.perf_counter()
    state.handle(CycleDue(), _NOW_MS)
    return time.perf_counter() - began


def _unplaceable(hosts: int, tasks: int) -> tuple[float, ...]:
    """Milliseconds of each cycle with full hosts and tasks of one account, all different, none of which fits.

    Between two cycles a few hosts change.
    """
    full = [replace(host, free=replace(host.free, cpu_milli=500)) for host in world.hosts(hosts)]
    state = filled(full, world.different(tasks))
    took = []
    for cycle in range(_CYCLES):
        began = time.perf_counter()
        state.handle(CycleDue(), _NOW_MS + _BLOCK_MS * cycle)
        took.append(1000 * (time.perf_counter() - began))
        changed = [full[(cycle * _CHANGED + at) % hosts] for at in range(_CHANGED)]
        state.handle(HostsChanged([replace(host, free=replace(host.free, memory_mib=900)) for host in changed]), 0)
    return tuple(took)


def _online(state: SchedulerState, first: int) -> float:
    """Placements a second where each block brings the ends of many tasks and as many new ones like them."""
    random = np.random.default_rng(7)
    placements, took = 0, 0.0
    for block in range(1, 1 + _BLOCKS):
        running = sorted(state.planner.held_tasks)
        ends = random.permutation(running)[: max(1, len(running) // _TURNOVER)].tolist()
        new = [replace(task, id=first + at) for at, number in enumerate(ends) if (task := state.task(number))]
        first += len(new)
        began = time.perf_counter()
        now_ms = _NOW_MS + block * _BLOCK_MS
        state.handle(TasksRemoved(ends), now_ms)
        state.handle(TasksChanged(new), now_ms)
        placements += len(plan_of(state.handle(CycleDue(), now_ms)).placements)
        took += time.perf_counter() - began
    return placements / took


def _alone(state: SchedulerState, placed: list[int], first: int) -> float:
    """Placements a second where each is a round of its own, after one task has ended and one like it has come."""
    ends = placed[:: max(1, len(placed) // _ALONE)][:_ALONE]
    again = [replace(task, id=first + task.id) for number in ends if (task := state.task(number)) is not None]
    state.handle(CycleDue(), _NOW_MS)
    placements = 0
    began = time.perf_counter()
    for ended, task in zip(ends, again, strict=True):
        state.handle(TasksRemoved((ended,)), _NOW_MS)
        state.handle(TasksChanged((task,)), _NOW_MS)
        placements += len(plan_of(state.handle(CycleDue(), _NOW_MS)).placements)
    return placements / (time.perf_counter() - began)


def _events(state: SchedulerState, records: list[Host], placed: list[int], first: int) -> float:
    """Seconds for what blocks bring: four in ten hosts with other room, three new tasks, three that have ended."""
    part = _EVENTS // 10
    changed = [
        replace(host, free=replace(host.free, cpu_milli=host.free.cpu_milli - 1000), last_heartbeat=1)
        for host in records[: 4 * part]
    ]
    new = [replace(task, id=first + task.id) for task in world.tasks(3 * part, SHAPES, ACCOUNTS)]
    ended = placed[-3 * part :]
    began = time.perf_counter()
    state.handle(HostsChanged(changed), _NOW_MS)
    state.handle(TasksChanged(new), _NOW_MS)
    state.handle(TasksRemoved(ended), _NOW_MS)
    return time.perf_counter() - began


def _resident(hosts: int, tasks: int) -> float:
    """MB that a process with so many has resident after a round, in a process of its own."""
    here = Path(__file__).parent
    command = [sys.executable, str(here / "growth_memory.py"), str(hosts), str(tasks)]
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(here)))}
    return float(subprocess.run(command, capture_output=True, text=True, check=True, env=paths).stdout)
