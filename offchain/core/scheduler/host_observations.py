"""Observations of hosts and pods in the chain's events, as they concern the health of hosts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from offchain.core.scheduler.pod_request import PodRequest, PodShape
from offchain.core.snapshot import Event, Snapshot
from offchain.core.values import Lease, Task
from offchain.schema.chain_types import _generated_chain as chain
from offchain.schema.chain_types.ids import lease_parts


class ObservationKind(StrEnum):
    """What was observed, in words for people."""

    STARTED = "a pod started"
    SLOW_START = "a slow start"
    ROUND_TRIP = "a round trip measured"
    LATENCY = "a latency that has grown"
    START_TIMEOUT = "no start in time"
    NOT_RUN = "an image or a manifest that it could not use"
    REFUSED = "an error of its engine"
    LACKED = "less than it offers"
    NO_ROOM = "no room, as the chain says"
    LOST = "a pod lost"
    ABSENT = "absent"
    DEVICE_FAULT = "a GPU out of order"
    PROVED_FAULT = "a fault that was proved"


FAILURE_WEIGHT: Final = {
    ObservationKind.STARTED: 0.0,
    ObservationKind.SLOW_START: 0.25,
    ObservationKind.ROUND_TRIP: 0.0,
    ObservationKind.LATENCY: 0.25,
    ObservationKind.START_TIMEOUT: 1.0,
    # A tenant can cause it.
    ObservationKind.NOT_RUN: 0.0,
    ObservationKind.REFUSED: 1.0,
    ObservationKind.LACKED: 2.0,
    ObservationKind.NO_ROOM: 0.5,
    # Observed for each of its pods.
    ObservationKind.LOST: 0.5,
    ObservationKind.ABSENT: 2.0,
    ObservationKind.DEVICE_FAULT: 1.0,
    ObservationKind.PROVED_FAULT: 3.0,
}
"""How much each counts against the host, in errors of its container engine."""

SHAPE_FAILURES: Final = frozenset({ObservationKind.REFUSED, ObservationKind.LACKED, ObservationKind.NO_ROOM})
"""After these the host is in cool-down for pods with the same request."""

MANIFEST_FAILURES: Final = frozenset({ObservationKind.NOT_RUN, ObservationKind.START_TIMEOUT})
"""After these the host is in cool-down for pods with the same manifest only: its images may be the cause."""


@dataclass(frozen=True, slots=True)
class HostObservation:
    """`at_ms`: chain time. `shape`, `manifest` and `lease` of the pod, if it concerns one.

    `took_ms`: duration of a start since its assignment, or of a round trip. `before_ms`: round trip that the chain had
    on record until then; 0: none.
    """

    host: str
    kind: ObservationKind
    at_ms: int
    shape: PodShape | None = None
    manifest: bytes = b""
    lease: int | None = None
    took_ms: int = 0
    before_ms: int = 0


_PROVED: Final = frozenset(
    fault.value for fault in (chain.Fault.FAILED_CHALLENGE, chain.Fault.WRONG_RESULT, chain.Fault.DATA_LOST)
)

NO_ROOM_ERRORS: Final = frozenset(
    {
        *("NotEnoughCpu", "NotEnoughMemory", "NotEnoughDisk", "WrongDeviceCount", "NoSuchDevice", "DeviceBusy"),
        "DeviceChallenged",
    }
)
"""Errors of the pallet `hosts` by which a pod does not fit on a host."""


def pod_observations(snapshot: Snapshot, events: Iterable[Event], now_ms: int) -> Iterator[HostObservation]:
    """Yield what happened to pods. `snapshot`: before these events; `now_ms`: chain time of their block."""
    for event in events:
        if event.pallet != "Tasks" or event.name not in ("PodStarted", "Requeued", "PodLost", "LeaseMoved"):
            continue
        number = event.fields["from" if event.name == "LeaseMoved" else "lease"]
        task = snapshot.tasks.get(lease_parts(number)[0])
        lease = None if task is None else next((one for one in task.leases if one.id == number), None)
        if task is None or lease is None:
            continue
        if event.name == "PodStarted":
            took_ms = max(0, now_ms - lease.created_at)
            yield pod_observation(task, lease, ObservationKind.STARTED, now_ms, took_ms=took_ms)
        else:
            reason = event.fields["reason"]
            # A moved pod did not fail; at a failover to a standby the reason is one of a lost pod.
            kind = None if reason == "Moved" else _failure(chain.RequeueReason.decode(reason))
            if kind is not None:
                yield pod_observation(task, lease, kind, now_ms)


def host_observations(snapshot: Snapshot, events: Iterable[Event], now_ms: int) -> Iterator[HostObservation]:
    """Yield what happened to hosts. Of final blocks only: duplicates are not recognised."""
    for event in events:
        if event.pallet != "Hosts":
            continue
        if event.name == "AbsenceReported":
            yield HostObservation(event.fields["host"], ObservationKind.ABSENT, now_ms)
        elif event.name == "Slashed" and event.fields["fault"] in _PROVED:
            yield HostObservation(event.fields["host"], ObservationKind.PROVED_FAULT, now_ms)
        elif event.name == "NetworkMeasured":
            measured = snapshot.hosts.get(event.fields["host"])
            yield HostObservation(
                event.fields["host"],
                ObservationKind.ROUND_TRIP,
                now_ms,
                took_ms=event.fields["latency_ms"],
                before_ms=0 if measured is None else measured.latency_ms,
            )
        elif event.name == "DeviceHealthChanged":
            host = snapshot.hosts.get(event.fields["host"])
            known = {index for index, device in enumerate(host.devices) if not device.healthy} if host else set()
            for _ in set(event.fields["unhealthy"]) - known:
                yield HostObservation(event.fields["host"], ObservationKind.DEVICE_FAULT, now_ms)


def pod_observation(
    task: Task, lease: Lease, kind: ObservationKind, at_ms: int, *, took_ms: int = 0
) -> HostObservation:
    """Return an observation of the pod of this lease."""
    shape = PodRequest.of(task).shape
    return HostObservation(lease.host, kind, at_ms, shape, task.manifest, lease.id, took_ms)


def _failure(reason: chain.RequeueReason) -> ObservationKind | None:
    """Return None if the pod did not fail."""
    match reason:
        case chain.RequeueReasonHostRefused(chain.HostFailure.RESOURCES_UNAVAILABLE):
            return ObservationKind.LACKED
        case chain.RequeueReasonHostRefused(chain.HostFailure.DRIVER_ERROR):
            return ObservationKind.REFUSED
        case chain.RequeueReasonHostRefused():
            return ObservationKind.NOT_RUN
        case chain.RequeueReasonStartTimeout():
            return ObservationKind.START_TIMEOUT
        case chain.RequeueReasonHostLost():
            return ObservationKind.LOST
        case _:
            return None
