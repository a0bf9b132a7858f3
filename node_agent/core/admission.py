"""From a lease and its manifest to what a driver starts, or to the reason why not."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import PurePosixPath

from node_agent.core.values import Host, HostFailure, Lease, PodSpec
from offchain.schema.manifest import parse_manifest
from offchain.schema.manifest_types import Manifest, ManifestError


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why a lease cannot be served on this host."""

    reason: HostFailure
    message: str


def admit(host: Host, lease: Lease, manifest: bytes | None) -> PodSpec | Unfit:
    """The pod to start for this lease. A pure function of what the chain says."""
    if manifest is None:
        return Unfit(HostFailure.MANIFEST_INVALID, f"The chain keeps no manifest for task {lease.task}.")
    digest = hashlib.sha256(manifest).digest()
    if digest != lease.manifest_digest:
        return Unfit(
            HostFailure.MANIFEST_INVALID,
            f"The manifest's SHA-256 is {digest.hex()}, the task says {lease.manifest_digest.hex()}.",
        )
    try:
        parsed = parse_manifest(manifest)
    except ManifestError as error:
        return Unfit(HostFailure.MANIFEST_INVALID, "; ".join(error.lines()))
    problem = _task_problem(lease, parsed)
    if problem is not None:
        return Unfit(HostFailure.MANIFEST_INVALID, problem)
    unknown = [index for index in lease.devices if index >= len(host.devices)]
    if unknown:
        return Unfit(
            HostFailure.RESOURCES_UNAVAILABLE,
            f"The lease is for device {unknown[0]}, but this host has {len(host.devices)} devices now.",
        )
    devices = [host.devices[index] for index in lease.devices]
    return PodSpec(
        lease=lease.number,
        task=lease.task,
        pod=lease.pod,
        attempt=lease.attempt,
        start=0,
        host=host.address,
        service=parsed.services[0],
        result=parsed.result,
        gpu_uuids=tuple(device.uuid for device in devices if device.uuid is not None),
        simulated_gpus=sum(device.simulated for device in devices),
    )


def _task_problem(lease: Lease, manifest: Manifest) -> str | None:
    if not lease.plain_job:
        return "This agent runs jobs whose results are accepted by their tenants, and nothing else."
    if len(manifest.services) != 1:
        return f"The manifest has {len(manifest.services)} services; a job has exactly one."
    service = manifest.services[0]
    if service.cpu_milli > lease.cpu_milli:
        return f"The manifest asks for {service.cpu_milli} cpu_milli, the lease is for {lease.cpu_milli}."
    if service.memory_mib > lease.memory_mib:
        return f"The manifest asks for {service.memory_mib} MiB of memory, the lease is for {lease.memory_mib}."
    path = manifest.result.path
    for mount in service.tmpfs:
        # A tmpfs is gone when the container ends, and the result with it.
        if path is not None and PurePosixPath(path).is_relative_to(mount.path):
            return f"The result {path} lies in the tmpfs {mount.path}, which is gone when the container ends."
    return None
