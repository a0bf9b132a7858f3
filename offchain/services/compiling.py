"""Compiles the scheduler's kernels once for all processes on this machine.

`python -m offchain.services.compiling` does it ahead: scripts/up and scripts/test run it beside other work.
"""

from __future__ import annotations

import fcntl
from array import array
from contextlib import suppress
from dataclasses import replace
from typing import Final

import numpy as np

from offchain.core.scheduler.cluster import Cluster, HostSpec
from offchain.core.scheduler.events import CycleDue, HostsChanged, TasksChanged, TasksRemoved
from offchain.core.scheduler.fair_share import FairShareQueue, QueuedTask
from offchain.core.scheduler.filters import count_excluded
from offchain.core.scheduler.pod_request import PodRequest, PodShape, ResourceAmount, ResourceUsage
from offchain.core.scheduler.pods_by_host import PodsByHost
from offchain.core.scheduler.queue_definitions import DEFAULT, EQUAL_SHARES
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import (
    NO_TERMS,
    Ask,
    BillingUnit,
    Capabilities,
    Capacity,
    Device,
    DeviceSpec,
    GpuRequest,
    Host,
    HostStatus,
    Layout,
    Placement,
    Resources,
    Task,
    TaskKind,
    TaskState,
    Tier,
    Vendor,
)
from offchain.services.kernel_cache import enable_kernel_cache

_CAPACITY: Final = Capacity(1000, 1024, 10)
_GPU: Final = DeviceSpec(Vendor.NVIDIA, b"any", 1024, simulated=False)
_CAPABLE: Final = Capabilities(
    docker=True, kvm=False, kubernetes=False, cdi=False, mig=False, shares=False, sandboxed=False
)
_HOST: Final = Host(
    id="a",
    provider="a",
    status=HostStatus.ONLINE,
    total=_CAPACITY,
    free=_CAPACITY,
    devices=(Device(_GPU, 1000, shared_by=None, attested=True, healthy=True),),
    ask=Ask((), 0, 0, 0, 0, 0, 0, 1, 1, 1, NO_TERMS),
    region=b"a",
    tier=Tier.CONSUMER,
    capabilities=_CAPABLE,
    network_mbps_down=1,
    network_mbps_up=1,
    latency_ms=1,
    last_heartbeat=0,
    downtime_ms=0,
    live_leases=0,
)
_TASK: Final = Task(
    id=0,
    tenant="a",
    state=TaskState.QUEUED,
    kind=TaskKind.JOB,
    resources=Resources(100, 100, 1, GpuRequest(1, 1000, 0, ())),
    placement=Placement(
        (),
        (),
        (),
        (),
        (),
        verified_only=False,
        allow_simulated=True,
        min_network_mbps=0,
        max_latency_ms=0,
        capabilities=_CAPABLE,
        layout=Layout.ANY,
        min_terms=NO_TERMS,
    ),
    unit=BillingUnit.SECOND,
    pods_min=1,
    max_rate_per_hour=1,
    max_duration_ms=1000,
    deadline=None,
    priority=1,
    queue=b"default",
    generation=0,
    submitted_at=0,
    changed_at=0,
    open_pods=(0,),
)


def compile_kernels() -> None:
    """Run every compiled function of planner and queues once, with arguments of the types that occur."""
    _run_cycles()
    _allocate_assumed_pods()
    _use_queues()


def _run_cycles() -> None:
    """Cycles with a placed task, reservations, a freed host and a changed record."""
    state = SchedulerState(b"")
    tasks = [replace(_TASK, id=number, open_pods=(0, 1) if number == 3 else (0,)) for number in range(5)]
    state.handle(HostsChanged([_HOST]), 1)
    for task in tasks[:4]:
        state.handle(TasksChanged([task]), 1)
    state.handle(CycleDue(), 1)
    count_excluded(PodRequest.of(_TASK), state.planner.hosts)
    state.handle(TasksRemoved([0]), 1)
    state.handle(TasksChanged(tasks[4:]), 1)
    state.handle(CycleDue(), 1)
    state.handle(HostsChanged([replace(_HOST, last_heartbeat=1, free=replace(_CAPACITY, cpu_milli=500))]), 2)
    state.handle(CycleDue(), 2)


def _allocate_assumed_pods() -> None:
    """Allocate assumed pods."""
    cluster = Cluster.of([HostSpec("a", 1000, 1024, 2, "any")])
    pods = PodsByHost()
    pods.add([array("i", [0])], [array("i", [1])], [PodShape(100, 100, 1, 500, account="a")])
    pods.allocate([0], cluster)
    pods.allocate_each([0], [0], cluster)
    cluster.share_all(np.array([0]), np.array([1]), "a")


def _use_queues() -> None:
    """Queue operations that the cycles above do not use."""
    whole, part = ResourceAmount(1000, 1024, 1000), ResourceAmount(100, 100, 500)
    turn = FairShareQueue(EQUAL_SHARES, whole)
    for number in range(3):
        turn.add(QueuedTask(number, DEFAULT, "a", number, part, 0, 0))
    turn.begin_cycle(1, whole)
    turn.next()
    turn.next_batch()
    turn.commit_batch(1)
    turn.release(ResourceUsage(DEFAULT, "a", part))
    turn.mark_unschedulable(1)
    turn.entitlements()
    turn.remove(2)


def compile_once() -> None:
    """Load the kernels, and compile those that are not cached: up to a minute for new sources.

    One process compiles while all others that need the kernels wait.
    """
    folder = enable_kernel_cache()
    if folder is not None and not (folder / "all").exists():
        # Where the folder is not writable or was removed, each process compiles for itself.
        with suppress(OSError), (folder / "lock").open("w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "all").exists():
                compile_kernels()
                (folder / "all").touch()
                return
    compile_kernels()


if __name__ == "__main__":
    compile_once()
