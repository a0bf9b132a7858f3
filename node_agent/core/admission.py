"""Admission of a lease: its manifest as a pod spec, or the reason for a refusal. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from node_agent.core.values import ContainerSpec, HostFailure, HostLease, LocalDevice, LocalHost, PodSpec, TaskKind
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.types import Manifest, ManifestError


@dataclass(frozen=True, slots=True)
class LeaseRejected:
    """The reason for which a lease cannot be served on this host."""

    reason: HostFailure
    message: str


@dataclass(frozen=True, slots=True)
class FetchedManifest:
    """A manifest of the chain: its SHA-256 and its content, or the error in it."""

    digest: bytes
    content: Manifest | ManifestError


def read_manifest(data: bytes) -> FetchedManifest:
    """Parse the manifest in `data`. It takes up to 0.1 s of processor time; callers on an event loop use a thread."""
    content: Manifest | ManifestError
    try:
        content = parse_manifest(data)
    except ManifestError as error:
        content = error
    return FetchedManifest(hashlib.sha256(data).digest(), content)


def admit(host: LocalHost, lease: HostLease, manifest: FetchedManifest | None) -> PodSpec | LeaseRejected:
    """Return the pod spec of a lease, or the reason for a refusal. `manifest` is None if the chain has none."""
    if manifest is None:
        return LeaseRejected(HostFailure.MANIFEST_INVALID, f"The chain keeps no manifest for task {lease.task}.")
    if manifest.digest != lease.manifest_digest:
        return LeaseRejected(
            HostFailure.MANIFEST_INVALID,
            f"The manifest's SHA-256 is {manifest.digest.hex()}, the task says {lease.manifest_digest.hex()}.",
        )
    if isinstance(manifest.content, ManifestError):
        return LeaseRejected(HostFailure.MANIFEST_INVALID, "; ".join(manifest.content.lines()))
    return admit_parsed(host, lease, manifest.content)


def admit_parsed(host: LocalHost, lease: HostLease, manifest: Manifest) -> PodSpec | LeaseRejected:
    """Return the pod spec of a lease whose parsed manifest has the digest of the task."""
    problem = _task_problem(lease, manifest)
    if problem is not None:
        return LeaseRejected(HostFailure.MANIFEST_INVALID, problem)
    if lease.sandboxed and not host.sandboxed:
        return LeaseRejected(
            HostFailure.RESOURCES_UNAVAILABLE,
            "The task asks for a sandbox (placement.isolation), and pods of this host use the machine's kernel now.",
        )
    unknown = [index for index in lease.devices if index >= len(host.devices)]
    if unknown:
        return LeaseRejected(
            HostFailure.RESOURCES_UNAVAILABLE,
            f"The lease is for device {unknown[0]}, but this host has {len(host.devices)} devices now.",
        )
    return PodSpec(
        lease=lease.number,
        task=lease.task,
        pod=lease.pod,
        attempt=lease.attempt,
        host=host.address,
        containers=_containers(manifest, [host.devices[index] for index in lease.devices], lease.gpu_milli),
        result=manifest.result,
        disk_gib=lease.disk_gib,
        volumes=manifest.volumes,
        keeps_data=lease.keeps_data,
        data_from=lease.data_from,
        array_index=lease.array_index,
        base=manifest.snapshot,
        ssh=manifest.ssh,
        checkpoint=manifest.checkpoint,
        checkpoint_signal=manifest.spot.checkpoint_signal if manifest.spot is not None else None,
        account=lease.tenant,
        registry_login=manifest.registry_login,
        receives_notices=manifest.spot is not None or lease.kind is not TaskKind.JOB or manifest.survival != "restart",
        is_replica=lease.redundant,
    )


def _containers(manifest: Manifest, devices: Sequence[LocalDevice], gpu_milli: int) -> tuple[ContainerSpec, ...]:
    """Return each service with its own devices, in the order of the manifest."""
    made = []
    first = 0
    for service in manifest.services:
        own = devices[first : first + service.gpu_count]
        first += service.gpu_count
        uuids = tuple(device.uuid for device in own if device.uuid is not None)
        made.append(ContainerSpec(service, uuids, sum(device.simulated for device in own), gpu_milli))
    return tuple(made)


def _task_problem(lease: HostLease, manifest: Manifest) -> str | None:
    if lease.redundant != manifest.is_compared:
        asks, has = ("is", "does not ask for that") if lease.redundant else ("is not", "asks for that")
        return f"The result of the task {asks} compared with those of other hosts, and the manifest {has}."
    if manifest.kind != lease.kind.value.lower():
        return f"The manifest is of a {manifest.kind}, the task is a {lease.kind.value.lower()}."
    gpus = sum(service.gpu_count for service in manifest.services)
    for asked, given, what in (
        (manifest.cpu_milli, lease.cpu_milli, "cpu_milli"),
        (manifest.memory_mib, lease.memory_mib, "MiB of memory"),
        (manifest.disk_gib, lease.disk_gib, "GiB of disk"),
    ):
        if asked > given:
            return f"The manifest asks for {asked} {what}, the lease is for {given}."
    if gpus != len(lease.devices):
        return f"The manifest's services ask for {gpus} GPUs, the lease is for {len(lease.devices)}."
    if gpus and lease.gpu_milli < manifest.gpus.milli:
        # Otherwise pods of others would share the devices, and nobody would pay for the rest.
        asked_milli = manifest.gpus.milli
        return f"The manifest asks for {asked_milli} thousandths of a GPU, the lease is for {lease.gpu_milli}."
    return _result_problem(manifest)


def _result_problem(manifest: Manifest) -> str | None:
    path = manifest.result.path
    if path is None:
        return None
    for mount in manifest.main.tmpfs:
        # A tmpfs is removed with the container, and the result with it.
        if PurePosixPath(path).is_relative_to(mount.path):
            return f"The result {path} lies in the tmpfs {mount.path}, which is gone when the container ends."
    return None
