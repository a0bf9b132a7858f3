"""Compiles the loops of planner and queues before they are needed: up to a minute for new sources, else a moment."""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import Final

import numpy as np

from offchain.core.placing.cluster import Cluster, HostSpec
from offchain.core.placing.shapes import Shape
from offchain.core.planning.chains import Chains
from offchain.core.planning.desk import Desk
from offchain.core.scheduler.fair_share import FairShareQueue, QueuedTask
from offchain.core.scheduler.queue_definitions import DEFAULT, queue_tree
from offchain.core.scheduler.resources import ResourceAmount, ResourceUsage
from offchain.core.values import (
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

_ROOM: Final = Capacity(1000, 1024, 10)
_GPU: Final = DeviceSpec(Vendor.NVIDIA, b"any", 1024, simulated=False)
_CAPABLE: Final = Capabilities(
    docker=True, kvm=False, kubernetes=False, cdi=False, mig=False, shares=False, sandboxed=False
)
_HOST: Final = Host(
    id="a",
    provider="a",
    status=HostStatus.ONLINE,
    total=_ROOM,
    free=_ROOM,
    devices=(Device(_GPU, 1000, shared_by=None, attested=True, healthy=True),),
    ask=Ask((), 0, 0, 0, 0, 0, 0, 1, 1, 1),
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


def warm() -> None:
    """A few rounds with one host, and turns that these do not take."""
    _plan()
    _take_off()
    _take_turns()


def _plan() -> None:
    """Of four tasks one runs, and a place is reserved for others; when it has ended, one that is new is looked at."""
    desk = Desk(b"")
    desk.put_hosts([_HOST])
    for number in range(4):
        desk.put_task(replace(_TASK, id=number, open_pods=(0, 1) if number == 3 else (0,)))
    blocked = desk.round(1).blocked
    desk.planner.excluded(blocked[0].want)
    desk.task_gone(0)
    desk.put_task(replace(_TASK, id=4))
    desk.round(1)
    desk.put_hosts([replace(_HOST, last_heartbeat=1, free=replace(_ROOM, cpu_milli=500))])
    desk.round(2)


def _take_off() -> None:
    """What is held on a host comes off it once more."""
    cluster = Cluster.of([HostSpec("a", 1000, 1024, 2, "any")])
    chains = Chains()
    chains.add([array("i", [0])], [array("i", [1])], [Shape(100, 100, 1, 500)])
    chains.take([0], cluster)
    chains.take_each([0], [0], cluster)
    cluster.share_all(np.array([0]), np.array([1]), "a")


def _take_turns() -> None:
    """Of three tasks one runs, one is blocked, and one waits no more."""
    whole, part = ResourceAmount(1000, 1024, 1000), ResourceAmount(100, 100, 500)
    queue = FairShareQueue(queue_tree(), whole)
    for number in range(3):
        queue.add(QueuedTask(number, DEFAULT, "a", number, part, 0, 0))
    queue.begin_cycle(1, whole)
    queue.next()
    queue.next_batch()
    queue.commit_batch(1)
    queue.release(ResourceUsage(DEFAULT, "a", part))
    queue.mark_unschedulable(1)
    queue.entitlements()
    queue.remove(2)
