"""What a block's events say about hosts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from offchain.core.conduct.seen import Seen, What
from offchain.core.scheduler.pod_request import shape_of, sharing_account
from offchain.core.snapshot import Event, Snapshot
from offchain.core.values import Lease, Task
from offchain.schema.chain_types import _generated_chain as chain
from offchain.schema.chain_types.ids import lease_parts

_PROVED: Final = frozenset(
    fault.value for fault in (chain.Fault.FAILED_CHALLENGE, chain.Fault.WRONG_RESULT, chain.Fault.DATA_LOST)
)

ROOM: Final = frozenset(
    {
        *("NotEnoughCpu", "NotEnoughMemory", "NotEnoughDisk", "WrongDeviceCount", "NoSuchDevice", "DeviceBusy"),
        "DeviceChallenged",
    }
)
"""Errors of the pallet of hosts that say that a host has no room for a pod."""


def of_pods(snapshot: Snapshot, events: Iterable[Event], now_ms: int) -> Iterator[Seen]:
    """What became of pods. `snapshot`: before these events, `now_ms`: chain time of their block."""
    for event in events:
        if event.pallet != "Tasks" or event.name not in ("PodStarted", "Requeued", "PodLost", "LeaseMoved"):
            continue
        number = event.fields["from" if event.name == "LeaseMoved" else "lease"]
        task = snapshot.tasks.get(lease_parts(number)[0])
        lease = None if task is None else next((one for one in task.leases if one.id == number), None)
        if task is None or lease is None:
            continue
        if event.name == "PodStarted":
            yield of_pod(task, lease, What.STARTED, now_ms, took_ms=max(0, now_ms - lease.created_at))
        else:
            reason = event.fields["reason"]
            # A pod that was moved did not fail; where its standby took over, the reason is one of those of a lost pod.
            what = None if reason == "Moved" else _failure(chain.RequeueReason.decode(reason))
            if what is not None:
                yield of_pod(task, lease, what, now_ms)


def of_hosts(snapshot: Snapshot, events: Iterable[Event], now_ms: int) -> Iterator[Seen]:
    """What became of hosts. Of final blocks alone: nothing tells one that is seen twice."""
    for event in events:
        if event.pallet != "Hosts":
            continue
        if event.name == "AbsenceReported":
            yield Seen(event.fields["host"], What.ABSENT, now_ms)
        elif event.name == "Slashed" and event.fields["fault"] in _PROVED:
            yield Seen(event.fields["host"], What.PROVED_FAULT, now_ms)
        elif event.name == "NetworkMeasured":
            measured = snapshot.hosts.get(event.fields["host"])
            before_ms = 0 if measured is None else measured.latency_ms
            took_ms = event.fields["latency_ms"]
            yield Seen(event.fields["host"], What.ROUND_TRIP, now_ms, took_ms=took_ms, before_ms=before_ms)
        elif event.name == "DeviceHealthChanged":
            host = snapshot.hosts.get(event.fields["host"])
            known = {place for place, device in enumerate(host.devices) if not device.healthy} if host else set()
            for _ in set(event.fields["unhealthy"]) - known:
                yield Seen(event.fields["host"], What.DEVICE_FAULT, now_ms)


def of_pod(task: Task, lease: Lease, what: What, at_ms: int, *, took_ms: int = 0) -> Seen:
    """What became of the pod of this lease."""
    shape = shape_of(task.resources, task.placement, account=sharing_account(task))
    return Seen(lease.host, what, at_ms, shape, task.manifest, lease.id, took_ms)


def _failure(reason: chain.RequeueReason) -> What | None:
    """None where the pod did not fail."""
    match reason:
        case chain.RequeueReasonHostRefused(chain.HostFailure.RESOURCES_UNAVAILABLE):
            return What.LACKED
        case chain.RequeueReasonHostRefused(chain.HostFailure.DRIVER_ERROR):
            return What.REFUSED
        case chain.RequeueReasonHostRefused():
            return What.NOT_RUN
        case chain.RequeueReasonStartTimeout():
            return What.START_TIMEOUT
        case chain.RequeueReasonHostLost():
            return What.LOST
        case _:
            return None
