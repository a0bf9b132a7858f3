"""Records with harmless defaults."""

from __future__ import annotations

from typing import Any

from offchain.core.snapshot import Snapshot
from offchain.core.values import (
    Ask,
    Capacity,
    Device,
    DeviceSpec,
    GpuRequest,
    Host,
    HostStatus,
    Lease,
    LeaseState,
    Periods,
    Placement,
    Resources,
    Task,
    TaskState,
    Vendor,
)

GTY = 10**12
PERIODS = Periods(start_timeout_ms=60_000, dispute_window_ms=10_000, absence_limit_ms=30_000)
NO_GPU = GpuRequest(count=0, milli=0, min_vram_mib=0, models=())
ANYWHERE = Placement(regions=(), hosts=(), allow_simulated=True)


def gpu(**changes: Any) -> Device:
    values = {"vendor": Vendor.NVIDIA, "model": b"A100", "vram_mib": 40_960, "simulated": False} | changes
    return Device(milli_free=values.pop("milli_free", 1000), attested=False, spec=DeviceSpec(**values))


def wants(count: int = 1, **changes: Any) -> GpuRequest:
    return GpuRequest(**({"count": count, "milli": 1000, "min_vram_mib": 0, "models": ()} | changes))


def pod(**changes: Any) -> Resources:
    return Resources(**({"cpu_milli": 1000, "memory_mib": 1024, "disk_gib": 1, "gpus": NO_GPU} | changes))


def host(id: str = "h1", **changes: Any) -> Host:  # noqa: A002
    values = {
        "id": id,
        "provider": "p",
        "status": HostStatus.ONLINE,
        "free": Capacity(4000, 8192, 100),
        "devices": (),
        "ask": Ask(GTY, GTY // 10, GTY // 100, GTY // 1000),
        "region": b"eu",
        "last_heartbeat": 0,
        "live_leases": 0,
    }
    return Host(**(values | changes))


def task(id: int = 1, **changes: Any) -> Task:  # noqa: A002
    values = {
        "id": id,
        "tenant": "t",
        "state": TaskState.QUEUED,
        "resources": pod(),
        "placement": ANYWHERE,
        "pods_min": 1,
        "max_rate_per_hour": 100 * GTY,
        "max_duration_ms": 3_600_000,
        "deadline": None,
        "priority": 0,
        "attempts": 0,
        "submitted_at": id,
        "reported_at": None,
    }
    return Task(**(values | changes))


def lease(id: int = 1, **changes: Any) -> Lease:  # noqa: A002
    values = {"id": id, "task": 1, "host": "h1", "state": LeaseState.PENDING, "created_at": 0, "depletes_at": None}
    return Lease(**(values | changes))


def snapshot(*records: Host | Task | Lease, now: int = 0) -> Snapshot:
    return Snapshot(
        number=1,
        now_ms=now,
        periods=PERIODS,
        hosts={r.id: r for r in records if isinstance(r, Host)},
        tasks={r.id: r for r in records if isinstance(r, Task)},
        leases={r.id: r for r in records if isinstance(r, Lease)},
    )
