"""The chain's records in plain form made into the values decisions are made of. The one place that knows both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from offchain.core.values import (
    Ask,
    Capacity,
    Device,
    GpuRequest,
    Host,
    HostStatus,
    Lease,
    LeaseState,
    Periods,
    Placement,
    PodPlacement,
    Resources,
    Task,
    TaskState,
)

Plain = Mapping[str, Any]

LIVE_TASK_STATES = tuple(TaskState)
_TASK_STATES = frozenset(TaskState)
_LEASE_STATES = frozenset(LeaseState)


def variant(value: Any) -> str:
    """The name of an enum's variant, with or without payload."""
    if isinstance(value, str):
        return value
    (name,) = value
    return str(name)


def host_of(host_id: str, record: Plain) -> Host:
    """A `HostRecord`."""
    return Host(
        id=host_id,
        provider=record["provider"],
        status=HostStatus(variant(record["status"])),
        free=_capacity(record["free"]),
        devices=tuple(_device(device) for device in record["devices"]),
        ask=Ask(**record["ask"]),
        region=bytes(record["region"]),
        last_heartbeat=record["last_heartbeat"],
        live_leases=record["live_leases"],
    )


def task_of(task_id: int, record: Plain) -> Task | None:
    """A `TaskRecord`; None where the task is final."""
    state = variant(record["state"])
    if state not in _TASK_STATES:
        return None
    spec = record["spec"]
    return Task(
        id=task_id,
        tenant=record["tenant"],
        state=TaskState(state),
        resources=_resources(spec["resources"]),
        placement=_placement(spec["placement"]),
        pods_min=spec["pods_min"],
        max_rate_per_hour=spec["max_rate_per_hour"],
        max_duration_ms=spec["max_duration_ms"],
        deadline=spec["deadline"],
        priority=spec["priority"],
        attempts=record["attempts"],
        submitted_at=record["submitted_at"],
        reported_at=record["reported_at"],
    )


def lease_of(lease_id: int, record: Plain, escrow: Plain | None) -> Lease | None:
    """A `LeaseRecord` and its `Escrow`; None where the lease holds nothing any more."""
    state = variant(record["state"])
    if state not in _LEASE_STATES:
        return None
    return Lease(
        id=lease_id,
        task=record["task"],
        host=record["host"],
        state=LeaseState(state),
        created_at=record["created_at"],
        depletes_at=None if escrow is None else escrow["depletes_at"],
    )


def periods_of(tasks_params: Plain, hosts_params: Plain) -> Periods:
    """The `Params` of the pallets Tasks and Hosts."""
    return Periods(
        start_timeout_ms=tasks_params["start_timeout_ms"],
        dispute_window_ms=tasks_params["dispute_window_ms"],
        absence_limit_ms=hosts_params["absence_limit_ms"],
    )


def plain_placement(placement: PodPlacement) -> Plain:
    """A `PodPlacement` as an argument of `Tasks.assign`."""
    return {"pod": placement.pod, "host": placement.host, "devices": bytes(placement.devices)}


def _capacity(record: Plain) -> Capacity:
    return Capacity(record["cpu_milli"], record["memory_mib"], record["disk_gib"])


def _device(record: Plain) -> Device:
    spec = record["spec"]
    return Device(
        model=bytes(spec["model"]),
        vram_mib=spec["vram_mib"],
        simulated=spec["simulated"],
        milli_free=record["milli_free"],
    )


def _resources(record: Plain) -> Resources:
    gpus = record["gpus"]
    return Resources(
        cpu_milli=record["cpu_milli"],
        memory_mib=record["memory_mib"],
        disk_gib=record["disk_gib"],
        gpus=GpuRequest(
            count=gpus["count"],
            milli=gpus["milli"],
            min_vram_mib=gpus["min_vram_mib"],
            models=tuple(bytes(model) for model in gpus["models"]),
        ),
    )


def _placement(record: Plain) -> Placement:
    return Placement(
        regions=tuple(bytes(region) for region in record["regions"]),
        hosts=tuple(record["hosts"]),
        allow_simulated=record["allow_simulated"],
    )
