"""Arguments of the engine's create calls for a pod, with every limit that a tenant's container runs under."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from docker.types import DeviceRequest, Healthcheck, LogConfig, Mount, Ulimit

from node_agent.core.values import SSH_KEYS, ContainerSpec, PodSpec
from node_agent.drivers.docker.engine_features import OciRuntime, cdi_name
from node_agent.drivers.docker.seccomp_profile import SECURITY_OPTION
from offchain.schema.manifest.protected_paths import NOTICES
from offchain.schema.manifest.types import WHOLE_GPU

MIB = 1 << 20
NANOSECONDS = 1_000_000
"""In a millisecond."""
LABEL_HOST = "gantry.host"
LABEL_LEASE = "gantry.lease"
LABEL_TASK = "gantry.task"
LABEL_POD = "gantry.pod"
LABEL_ATTEMPT = "gantry.attempt"
LABEL_START = "gantry.start"
LABEL_SERVICE = "gantry.service"
LABEL_INDEX = "gantry.index"
"""The container's position in its pod, from 0."""
LABEL_ROLE = "gantry.role"
"""Always set, because labels that a container does not set itself are inherited from its image."""
SANDBOX = "holder"
"""The role of the container that holds a pod's network (the stored value predates the term)."""
TRIAL = "trial"
"""The role of the agent's own containers for comparisons."""
LABEL_CHALLENGE = "gantry.challenge"
"""The host whose challenge program runs in the container, which is no pod's and has no :data:`LABEL_HOST`."""
WORKER = "worker"
"""The role of all others."""

SNAPSHOT_PREFIX = "gantry-snapshot-"
BRIDGE_PREFIX = "gtr"
"""Prefix of the names of all pods' bridges, which the firewall rules match."""
BRIDGE_HOST_DIGITS = 5
BRIDGE_LEASE_DIGITS = 7
LOG_FILE_MIB = 100
LOG_FILES = 2
TMP_MIB = 64
SANDBOX_MEMORY_MIB = 8
MAX_OPEN_FILES = 8_192
"""Low enough for engines that may not raise their own limit."""
OOM_SCORE = 500
"""When the machine runs out of memory, the kernel kills tenants' processes before the host's own."""
NOBODY = "65534:65534"
NOTICE = f"{NOTICES}/notice"
"""Path of the termination notice in a container."""
AMD_PREFIX = "AMD-"
"""Prefix of the identifiers of AMD GPUs; all others are NVIDIA's."""
NVIDIA_HOOK_PIDS: Final = 256
"""Threads of the hooks of NVIDIA's container toolkit, which count against the limit of the container that starts.

They are Go programs, with more threads on machines with more cores: with 16 cores, a limit of 16 was too low.
"""


@dataclass(frozen=True, slots=True)
class DeviceFiles:
    """Device files, and the numbers of the groups that may use them."""

    files: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PodContext:
    """What a pod's containers use on this host, and the features of the engine."""

    network: str
    """Network mode of the containers."""
    files: Mapping[str, Path]
    """Paths of delivered files by name."""
    volumes: Mapping[str, str]
    """The engine's names of the pod's volumes."""
    cdi: bool
    runc: bool
    amd: DeviceFiles = field(default_factory=DeviceFiles)
    """Device files for the container's AMD GPUs."""
    quota: bool = False
    """The engine can limit the size of a container's own layer."""
    runtime: OciRuntime | None = None
    """The runtime that the provider chose."""
    notices: Path | None = None
    """The folder of termination notices, if the pod may get one."""


def pod_labels(spec: PodSpec) -> dict[str, str]:
    """Return the labels of every object that the engine holds for this pod."""
    return {
        LABEL_HOST: spec.host,
        LABEL_LEASE: str(spec.lease),
        LABEL_TASK: str(spec.task),
        LABEL_POD: str(spec.pod),
        LABEL_ATTEMPT: str(spec.attempt),
    }


def pod_name(host: str, lease: int) -> str:
    """Return a name that is unique for each lease of a host: the engine refuses duplicate networks and containers."""
    # The first character of an address is the same for all accounts.
    return f"gantry-{host[1:13]}-{lease}"


def container_name(spec: PodSpec, service: str) -> str:
    """Return the engine's name of a container. The main one has the pod's name."""
    place = spec.index(service)
    return pod_name(spec.host, spec.lease) + (f"-{place}" if place else "")


def bridge_name(host: str, lease: int, other: int = 0) -> str:
    """Return the name of the pod's network interface, at most 15 characters. `other`: number of an alternative name."""
    digest = hashlib.sha256(f"{host}/{lease}{f'/{other}' if other else ''}".encode()).hexdigest()
    return bridge_prefix(host) + digest[:BRIDGE_LEASE_DIGITS]


def bridge_prefix(host: str) -> str:
    """Return the prefix of the names of one host's bridges: several agents may share a machine."""
    return BRIDGE_PREFIX + hashlib.sha256(host.encode()).hexdigest()[:BRIDGE_HOST_DIGITS]


def snapshot_prefix(host: str) -> str:
    """Return the prefix of the names of a host's snapshot images. Engines accept lower case only."""
    return f"{SNAPSHOT_PREFIX}{hashlib.sha256(host.encode()).hexdigest()[:12]}-"


def snapshot_name(host: str, data: int) -> str:
    """Return the name of snapshot images without a tag; `data`: the number of the lease's data."""
    return f"{snapshot_prefix(host)}{data}"


def has_pod_sandbox(spec: PodSpec) -> bool:
    """Return whether a container of its own holds the network, so that each of the others may be restarted."""
    return len(spec.containers) > 1


def is_pod_sandbox(marks: Mapping[str, str]) -> bool:
    """Return whether a container with these labels is a pod sandbox."""
    return marks.get(LABEL_ROLE) == SANDBOX


def environment(spec: PodSpec, container: ContainerSpec) -> dict[str, str]:
    """Return the variables of the manifest and of the agent; the agent's take precedence. Replicas have equal ones."""
    lease, pod, attempt = (0, 0, 0) if spec.is_replica else (spec.lease, spec.pod, spec.attempt)
    return (
        dict(container.service.environment)
        | ({"GANTRY_NOTICE": NOTICE} if spec.receives_notices else {})
        | ({"GANTRY_GPU_SHARE": f"{container.gpu_milli / WHOLE_GPU:g}"} if container.has_share else {})
        | {
            "GANTRY_LEASE": str(lease),
            "GANTRY_TASK": str(spec.task),
            "GANTRY_ARRAY_INDEX": str(spec.array_index),
            "GANTRY_POD": str(pod),
            "GANTRY_ATTEMPT": str(attempt),
            "GANTRY_SERVICE": container.service.name,
            "GANTRY_SIMULATED_GPUS": str(container.simulated_gpus),
            # An image may ask for every GPU of the machine; engines with NVIDIA's runtime as default would obey.
            "NVIDIA_VISIBLE_DEVICES": ",".join(nvidia_gpus(container.gpu_uuids)) or "void",
        }
    )


def network_identity(spec: PodSpec) -> dict[str, Any]:
    """Return the host name and the names of the services, for the container that holds the pod's network."""
    hosts = {one.service.name: "127.0.0.1" for one in spec.containers}
    return {"hostname": f"pod-{spec.task if spec.is_replica else spec.lease}", "extra_hosts": hosts}


def container_arguments(spec: PodSpec, service: str, start: int, *, image: str, context: PodContext) -> dict[str, Any]:
    """Return arguments of the SDK's `create_container`, with the host configuration as a plain `host_config`."""
    container = spec.container(service)
    says = container.service
    own = {} if has_pod_sandbox(spec) else network_identity(spec)
    marks = {
        LABEL_SERVICE: service,
        LABEL_INDEX: str(spec.index(service)),
        LABEL_START: str(start),
        LABEL_ROLE: WORKER,
    }
    return {
        "image": image,
        "name": container_name(spec, service),
        "hostname": own.pop("hostname", None),
        "command": None if says.command is None else list(says.command),
        "entrypoint": None if says.entrypoint is None else list(says.entrypoint),
        "environment": environment(spec, container),
        "working_dir": says.working_dir,
        "user": says.user,
        "labels": pod_labels(spec) | marks,
        "healthcheck": healthcheck(container),
        "stop_signal": says.stop_signal,
        "detach": True,
        "host_config": confined(says.memory_mib, says.pids + _other_pids(container, context))
        | {
            "ipc_mode": "private",
            "init": True,
            "network_mode": context.network,
            "nano_cpus": says.cpu_milli * 1_000_000,
            "shm_size": max(says.memory_mib // 2, 1) * MIB,
            "read_only": says.read_only,
            "tmpfs": tmpfs_options(spec, container),
            "mounts": container_mounts(spec, container, context),
            "log_config": LogConfig(
                type=LogConfig.types.JSON, config={"max-size": f"{LOG_FILE_MIB}m", "max-file": str(LOG_FILES)}
            ),
            "device_requests": device_requests(nvidia_gpus(container.gpu_uuids), cdi=context.cdi),
            **amd_devices(context.amd),
            # See NVIDIA_VISIBLE_DEVICES above: GPUs are added by device request only.
            **({"runtime": "runc"} if context.runc else {}),
            **({"runtime": context.runtime.name} if context.runtime else {}),
            **({"storage_opt": {"size": f"{spec.disk_gib}G"}} if context.quota else {}),
            **own,
        },
    }


def _other_pids(container: ContainerSpec, context: PodContext) -> int:
    """Return the number of processes in the container's process limit that are not the tenant's."""
    of_runtime = context.runtime.more_pids if context.runtime else 0
    return of_runtime + (NVIDIA_HOOK_PIDS if nvidia_gpus(container.gpu_uuids) else 0)


def pod_sandbox_arguments(spec: PodSpec, *, image: str, context: PodContext) -> dict[str, Any]:
    own = network_identity(spec)
    return {
        "image": image,
        "name": f"{pod_name(spec.host, spec.lease)}-net",
        "hostname": own.pop("hostname"),
        "user": NOBODY,
        "labels": pod_labels(spec) | {LABEL_ROLE: SANDBOX},
        "detach": True,
        "host_config": confined(SANDBOX_MEMORY_MIB, 8)
        | {
            "network_mode": context.network,
            "read_only": True,
            "log_config": LogConfig(type="none"),
            **({"runtime": "runc"} if context.runc else {}),
            **own,
        },
    }


def trial_arguments(name: str, *, image: str, runtime: str) -> dict[str, Any]:
    """Return the arguments of a container of the agent, of the pod sandbox's image, configured as tenants' are."""
    return {
        "image": image,
        "name": name,
        "user": NOBODY,
        "labels": {LABEL_ROLE: TRIAL},
        "detach": True,
        "host_config": confined(SANDBOX_MEMORY_MIB, 8)
        | {
            "network_mode": "none",
            "ipc_mode": "private",
            "read_only": True,
            "log_config": LogConfig(type="none"),
            "runtime": runtime,
        },
    }


def confined(memory_mib: int, pids: int) -> dict[str, Any]:
    """Return the options that hold for every container: limits, no capabilities, the agent's seccomp profile."""
    return {
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true", SECURITY_OPTION],
        "privileged": False,
        "mem_limit": memory_mib * MIB,
        "memswap_limit": memory_mib * MIB,
        "pids_limit": pids,
        "oom_score_adj": OOM_SCORE,
        "ulimits": [
            Ulimit(name="nofile", soft=MAX_OPEN_FILES, hard=MAX_OPEN_FILES),
            Ulimit(name="core", soft=0, hard=0),
        ],
    }


def healthcheck(container: ContainerSpec) -> Any:
    """Return the health check, which the engine runs itself: it continues while the agent is down."""
    check = container.service.healthcheck
    if check is None:
        return {"test": ["NONE"]}
    return Healthcheck(
        test=["CMD", *check.test],
        interval=check.interval_ms * NANOSECONDS,
        timeout=check.timeout_ms * NANOSECONDS,
        retries=check.retries,
        start_period=check.start_period_ms * NANOSECONDS,
    )


def container_mounts(spec: PodSpec, container: ContainerSpec, context: PodContext) -> list[Mount]:
    """Return the mounts of volumes, delivered files and notices. Nothing else of this machine is ever mounted."""
    made = [
        Mount(target=mount.path, source=context.volumes[mount.volume], type="volume", read_only=mount.read_only)
        for mount in container.service.volumes
    ]
    files = [(file.path, file.name) for file in container.service.files]
    if spec.ssh is not None and container is spec.main:
        files.append((spec.ssh.path, SSH_KEYS))
    made += [Mount(target=path, source=str(context.files[name]), type="bind", read_only=True) for path, name in files]
    if context.notices is not None:
        made.append(Mount(target=NOTICES, source=str(context.notices), type="bind", read_only=True))
    return made


def tmpfs_options(spec: PodSpec, container: ContainerSpec) -> dict[str, str]:
    """Return the manifest's memory file systems, and a small /tmp unless the manifest uses the path otherwise."""
    mounted = {mount.path: mount.options for mount in container.service.tmpfs}
    result = spec.result.path or "" if container is spec.main else ""
    kept = any(volume.path.rstrip("/") == "/tmp" for volume in container.service.volumes)  # noqa: S108
    if not kept and not result.startswith("/tmp/"):  # noqa: S108  (inside the container)
        mounted.setdefault("/tmp", f"size={TMP_MIB * MIB},mode=1777")  # noqa: S108
    return mounted


def user_id(user: str | None) -> int | None:
    """Return the number of a container's user; None if only its image defines it."""
    name = (user or "0").partition(":")[0]
    if name == "root":
        return 0
    return int(name) if name.isdecimal() else None


def amd_devices(amd: DeviceFiles) -> dict[str, Any]:
    """Return the options for AMD's GPUs: device files, and the groups that they belong to."""
    if not amd.files:
        return {}
    return {"devices": [f"{file}:{file}:rw" for file in amd.files], "group_add": list(amd.groups)}


def amd_gpus(uuids: tuple[str, ...]) -> tuple[str, ...]:
    """Return the identifiers of AMD's GPUs among these."""
    return tuple(uuid for uuid in uuids if uuid.startswith(AMD_PREFIX))


def nvidia_gpus(uuids: tuple[str, ...]) -> tuple[str, ...]:
    """Return the identifiers of NVIDIA's GPUs among these."""
    return tuple(uuid for uuid in uuids if not uuid.startswith(AMD_PREFIX))


def device_requests(uuids: tuple[str, ...], *, cdi: bool) -> list[DeviceRequest]:
    """Return requests for GPUs by CDI name, or by the engine's older NVIDIA driver without CDI."""
    if not uuids:
        return []
    if cdi:
        return [DeviceRequest(driver="cdi", device_ids=[cdi_name(uuid) for uuid in uuids])]
    return [DeviceRequest(driver="nvidia", device_ids=list(uuids), capabilities=[["gpu"]])]


_IMAGE_FAULTS = re.compile(
    r"executable file not found|no such file or directory|permission denied|exec format error|is a directory"
    r"|not a directory|unable to find user|no matching entries in passwd|unable to find group|No command specified"
    r"|no command|invalid user|chdir to cwd|too many levels of symbolic links"
    # A volume that the image itself declares over a protected path.
    r"|cannot be mounted because it is",
    re.IGNORECASE,
)
_RESOURCE_FAULTS = re.compile(
    r"could not select device driver|unresolvable CDI|CDI device injection|nvidia-container-cli|Minimum memory limit"
    # What brings a GPU's driver into a container: hooks of NVIDIA's container toolkit.
    r"|error running (?:\w+ )?hook"
    r"|range of CPUs|no space left|address pools have been fully subnetted|non-overlapping IPv4 address pool",
    re.IGNORECASE,
)
_NO_QUOTA = re.compile(r"storage-opt|--storage-opt", re.IGNORECASE)


def is_image_fault(message: str) -> bool:
    """Return whether the engine's refusal to start concerns the program that the manifest runs in the image."""
    return _IMAGE_FAULTS.search(message) is not None and not is_resource_fault(message)


def is_resource_fault(message: str) -> bool:
    """Return whether the engine's refusal concerns the resources of this machine."""
    return _RESOURCE_FAULTS.search(message) is not None


def is_quota_fault(message: str) -> bool:
    """Return whether the engine cannot limit the size of a container's own layer after all."""
    return _NO_QUOTA.search(message) is not None
