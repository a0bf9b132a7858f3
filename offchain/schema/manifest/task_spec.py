"""What goes on the chain of a manifest: the `TaskSpec` of docs/protocol.md, the digest, and the task it replaces.

The last line of the manifest of a new version of a service names the task that it replaces. The line is a comment, so
every reader of manifests ignores it, and it fits under any YAML. It comes onto the chain in the same call as the new
version and stays as long as that: every worker finds the same.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from offchain.schema.chain_types._generated_chain import (
    BillingUnit,
    Capabilities,
    GpuRequest,
    Layout,
    Placement,
    Resources,
    SlaTerms,
    Survival,
    TaskKind,
    TaskSpec,
    Tier,
    VerificationPolicyAcceptance,
    VerificationPolicyRedundant,
)
from offchain.schema.manifest.types import WHOLE_GPU, Manifest, PlacementSpec

_REPLACED = re.compile(rb"\n# gantry: takes the place of task (\d{1,19}), (\d{1,2}) pods, sha256:([0-9a-f]{64})\n\Z")
_KINDS = {"job": TaskKind.JOB, "service": TaskKind.SERVICE, "rental": TaskKind.RENTAL}
_UNITS = {"second": BillingUnit.SECOND, "hour": BillingUnit.HOUR, "day": BillingUnit.DAY}
_SURVIVALS = {"restart": Survival.RESTART, "move": Survival.MOVE, "standby": Survival.STANDBY}
_SPREADS = {"hosts": Layout.HOSTS, "providers": Layout.PROVIDERS}
_TIERS = {"consumer": Tier.CONSUMER, "professional": Tier.PROFESSIONAL, "datacenter": Tier.DATACENTER}


def manifest_digest(text: bytes) -> bytes:
    """Return the SHA-256 of the manifest's exact bytes."""
    return hashlib.sha256(text).digest()


def to_task_spec(manifest: Manifest, digest: bytes) -> TaskSpec:
    """Return the `TaskSpec` of a manifest whose bytes have this digest."""
    gpus, place, redundant = manifest.gpus, manifest.placement, manifest.verification == "redundant"
    return TaskSpec(
        kind=_KINDS[manifest.kind],
        manifest_digest=digest,
        resources=Resources(
            cpu_milli=manifest.cpu_milli,
            memory_mib=manifest.memory_mib,
            disk_gib=manifest.disk_gib,
            gpus=GpuRequest(gpus.count, gpus.milli, gpus.min_vram_mib, tuple(name.encode() for name in gpus.models)),
        ),
        pods_min=manifest.pods_min,
        pods_max=manifest.pods,
        max_rate_per_hour=manifest.max_rate_per_hour,
        unit=_UNITS[manifest.billing],
        max_duration_ms=manifest.duration_ms,
        deadline=manifest.deadline_ms,
        priority=manifest.priority,
        queue=manifest.queue.encode(),
        verification=VerificationPolicyRedundant(manifest.pods) if redundant else VerificationPolicyAcceptance(),
        placement=Placement(
            regions=tuple(name.encode() for name in place.regions),
            hosts=place.hosts,
            providers_allowed=place.providers_allowed,
            providers_denied=place.providers_denied,
            tiers=tuple(_TIERS[tier] for tier in place.tiers),
            verified_only=place.verified_only,
            allow_simulated=place.allow_simulated,
            min_network_mbps=place.min_network_mbps,
            max_latency_ms=place.max_latency_ms,
            capabilities=Capabilities(
                docker=True,
                kvm=False,
                kubernetes=False,
                cdi=False,
                mig=False,
                shares=gpus.milli < WHOLE_GPU,
                sandboxed=place.sandboxed,
            ),
            layout=_layout(place),
            min_terms=SlaTerms(0, 0, 0, 0),
        ),
        data_from=manifest.data_from,
        spot=manifest.spot is not None,
        survival=_SURVIVALS[manifest.survival],
    )


def _layout(place: PlacementSpec) -> Layout:
    if place.spread is not None:
        return _SPREADS[place.spread]
    return Layout.PACKED if place.pack else Layout.ANY


@dataclass(frozen=True, slots=True)
class ReplacedTask:
    """A task that a new version of a service replaces: its number and pods, and the SHA-256 of its manifest's bytes."""

    task: int
    pods: int
    manifest: bytes


def with_replaced_task(text: bytes, replaced: ReplacedTask) -> bytes:
    """Return the manifest with the line that names the replaced task, instead of one that it has."""
    line = (
        f"\n# gantry: takes the place of task {replaced.task}, {replaced.pods} pods, sha256:{replaced.manifest.hex()}\n"
    )
    return without_replaced_task(text) + line.encode()


def without_replaced_task(text: bytes) -> bytes:
    """Return the manifest as its tenant wrote it."""
    return _REPLACED.sub(b"", text)


def replaced_task(text: bytes) -> ReplacedTask | None:
    found = _REPLACED.search(text)
    return None if found is None else ReplacedTask(int(found[1]), int(found[2]), bytes.fromhex(found[3].decode()))
