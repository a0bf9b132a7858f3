"""Which pods may have one GPU at the same time: those of one account, each with a share of it. Pure.

The chain gives shares of a device to one account at a time. What it gives away again may still be in use here, since a
pod takes its time to end: so a pod waits until others' are gone, and is given back where that takes too long.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from node_agent.core.states import Phase, Pod
from node_agent.core.values import HostLease
from offchain.schema.manifest.types import WHOLE_GPU

_ELSEWHERE: Final = frozenset({Phase.ABSENT, Phase.ASSIGNED, Phase.SUSPENDING, Phase.SUSPENDED})
_COMING: Final = frozenset({Phase.AWAITING, Phase.PREPARING})
_ON_DEVICES: Final = _COMING | {
    Phase.STARTING,
    Phase.RUNNING,
    Phase.SUSPENDING,
    Phase.EXITED,
    Phase.REFUSING,
    Phase.REFUSED,
    Phase.DEPLETED,
    Phase.RETIRING,
    Phase.ENDING,
}
"""Containers may run, or may be about to."""


def takes_devices(before: Phase, after: Phase) -> bool:
    """Whether a pod is about to take its devices."""
    return before in _ELSEWHERE and after in _COMING


def conflicting_pod(lease: HostLease, pods: Mapping[int, Pod]) -> Pod | None:
    """A pod of another account on one of the lease's devices, where one of the two has a share of it only."""
    for number, pod in pods.items():
        other = pod.lease
        same = number == lease.number or other.tenant == lease.tenant
        shares = min(lease.gpu_milli, other.gpu_milli) < WHOLE_GPU
        if not same and shares and pod.phase in _ON_DEVICES and not set(lease.devices).isdisjoint(other.devices):
            return pod
    return None
