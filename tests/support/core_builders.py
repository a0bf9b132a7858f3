"""Records with harmless defaults."""

from __future__ import annotations

from typing import Any

from offchain.core.snapshot import Snapshot
from offchain.core.values import (
    BillingUnit,
    Capacity,
    Device,
    DeviceSpec,
    GpuRequest,
    Host,
    HostStatus,
    Lease,
    LeaseState,
    Periods,
    Resources,
    Task,
    TaskKind,
    TaskState,
    Tier,
    Vendor,
)
from tests.support.chain_records import DOCKER, ask, escrow, placement

GTY = 10**12
PERIODS = Periods(
    start_timeout_ms=60_000,
    dispute_window_ms=10_000,
    report_grace_ms=5_000,
    absence_limit_ms=30_000,
    archive_after_ms=100_000,
    late_ms=20_000,
    poor_ppm=300_000,
    notice_ms=120_000,
)
NO_GPU = GpuRequest(count=0, milli=0, min_vram_mib=0, models=())
ANYWHERE = placement()


def gpu(**changes: Any) -> Device:
    values = {"vendor": Vendor.NVIDIA, "model": b"A100", "vram_mib": 40_960, "simulated": False} | changes
    free, whose, attested, healthy = (
        values.pop(name, default)
        for name, default in (("milli_free", 1000), ("shared_by", None), ("attested", False), ("healthy", True))
    )
    return Device(milli_free=free, shared_by=whose, attested=attested, healthy=healthy, spec=DeviceSpec(**values))


def wants(count: int = 1, **changes: Any) -> GpuRequest:
    return GpuRequest(**({"count": count, "milli": 1000, "min_vram_mib": 0, "models": ()} | changes))


def pod(**changes: Any) -> Resources:
    return Resources(**({"cpu_milli": 1000, "memory_mib": 1024, "disk_gib": 1, "gpus": NO_GPU} | changes))


def host(id: str = "h1", **changes: Any) -> Host:  # noqa: A002
    values = {
        "id": id,
        "provider": "p",
        "status": HostStatus.ONLINE,
        "total": Capacity(4000, 8192, 100),
        "free": Capacity(4000, 8192, 100),
        "devices": (),
        "ask": ask(
            gpu_per_hour=GTY,
            cpu_core_per_hour=GTY // 10,
            memory_gib_per_hour=GTY // 100,
            disk_gib_per_hour=GTY // 1000,
        ),
        "region": b"eu",
        "tier": Tier.CONSUMER,
        "capabilities": DOCKER,
        "network_mbps_down": 0,
        "network_mbps_up": 0,
        "latency_ms": 0,
        "last_heartbeat": 0,
        "downtime_ms": 0,
        "live_leases": 0,
    }
    return Host(**(values | changes))


def task(id: int = 1, *leases: Lease, **changes: Any) -> Task:  # noqa: A002
    values = {
        "id": id,
        "tenant": "t",
        "state": TaskState.QUEUED,
        "kind": TaskKind.JOB,
        "resources": pod(),
        "placement": ANYWHERE,
        "unit": BillingUnit.SECOND,
        "pods_min": 1,
        "max_rate_per_hour": 100 * GTY,
        "max_duration_ms": 3_600_000,
        "deadline": None,
        "priority": 0,
        "queue": b"default",
        "generation": 0,
        "submitted_at": id,
        "changed_at": id,
        "leases": leases,
    }
    values |= changes
    queued = values["state"] is TaskState.QUEUED
    return Task(**({"open_pods": tuple(range(values["pods_min"])) if queued else ()} | values))


def lease(id: int = 1, *, until: int | None = None, **changes: Any) -> Lease:  # noqa: A002
    """`until`: billed since 0, up to then at most."""
    paid_for = escrow(rate_per_hour=0) if until is None else escrow(rate_per_hour=0, since=0, until=until)
    values = {
        "id": id,
        "host": "h1",
        "devices": (),
        "state": LeaseState.PENDING,
        "created_at": 0,
        "escrow": paid_for,
        "reclaim_at": None,
    }
    return Lease(**(values | changes))


def running(held: Lease) -> Task:
    """A task that does nothing but hold this lease."""
    return task(9, held, state=TaskState.RUNNING)


def snapshot(*records: Host | Task, now: int = 0, **changes: Any) -> Snapshot:
    return Snapshot(
        number=1,
        now_ms=now,
        periods=PERIODS,
        hosts={r.id: r for r in records if isinstance(r, Host)},
        tasks={r.id: r for r in records if isinstance(r, Task)},
        **changes,
    )
