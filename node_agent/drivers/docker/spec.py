"""From a pod to the arguments of the engine's create calls: every limit a tenant's container runs under is here."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
"""The container's place in its pod, from 0."""
LABEL_ROLE = "gantry.role"
"""Always set: an image has labels too, and those that a container does not set itself are taken from there."""
SANDBOX = "holder"
TRIAL = "trial"
"""The role of the container that holds a pod's network."""
WORKER = "worker"
"""The role of all others."""

SNAPSHOT_PREFIX = "gantry-snapshot-"
BRIDGE_PREFIX = "gtr"
"""What the names of all pods' bridges start with; the rules that isolate pods go by it."""
BRIDGE_HOST_DIGITS = 5
BRIDGE_LEASE_DIGITS = 7
LOG_FILE_MIB = 100
LOG_FILES = 2
TMP_MIB = 64
SANDBOX_MEMORY_MIB = 8
MAX_OPEN_FILES = 8_192
"""Low enough for engines that may not raise their own limit."""
OOM_SCORE = 500
"""When the machine runs out of memory the kernel takes tenants' processes before the host's own."""
NOBODY = "65534:65534"
NOTICE = f"{NOTICES}/notice"
"""Where a container finds that it has to leave."""
AMD_PREFIX = "AMD-"
"""What the identities of AMD's GPUs start with; all others are NVIDIA's."""


@dataclass(frozen=True, slots=True)
class DeviceFiles:
    """Device files, and the numbers of the groups that may use them."""

    files: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PodContext:
    """What a pod's containers stand on, and what the engine can do."""

    network: str
    """The network mode of its containers."""
    files: Mapping[str, Path]
    """Where delivered files lie, by name."""
    volumes: Mapping[str, str]
    """The engine's names of the pod's volumes."""
    cdi: bool
    runc: bool
    amd: DeviceFiles = field(default_factory=DeviceFiles)
    """What this container needs for its AMD GPUs."""
    quota: bool = False
    """The engine can limit the size of a container's own layer."""
    runtime: OciRuntime | None = None
    """The runtime that the provider chose."""
    notices: Path | None = None
    """The folder in which containers find that they have to leave, where they may have to."""


def pod_labels(spec: PodSpec) -> dict[str, str]:
    """What marks everything the engine holds for this pod."""
    return {
        LABEL_HOST: spec.host,
        LABEL_LEASE: str(spec.lease),
        LABEL_TASK: str(spec.task),
        LABEL_POD: str(spec.pod),
        LABEL_ATTEMPT: str(spec.attempt),
    }


def pod_name(host: str, lease: int) -> str:
    """One name for each lease of a host: the engine itself refuses a second network or container for it."""
    # The first character of an address is the same for all accounts.
    return f"gantry-{host[1:13]}-{lease}"


def container_name(spec: PodSpec, service: str) -> str:
    """The engine's name for one container. The main one has the pod's own."""
    place = spec.index(service)
    return pod_name(spec.host, spec.lease) + (f"-{place}" if place else "")


def bridge_name(host: str, lease: int, other: int = 0) -> str:
    """The pod's network interface on this machine: 15 characters at most. `other`: which of its further names."""
    digest = hashlib.sha256(f"{host}/{lease}{f'/{other}' if other else ''}".encode()).hexdigest()
    return bridge_prefix(host) + digest[:BRIDGE_LEASE_DIGITS]


def bridge_prefix(host: str) -> str:
    """What the names of one host's bridges start with: several agents may share a machine."""
    return BRIDGE_PREFIX + hashlib.sha256(host.encode()).hexdigest()[:BRIDGE_HOST_DIGITS]


def snapshot_prefix(host: str) -> str:
    """What the names of the images that are made of a host's containers begin with. Engines take small letters."""
    return f"{SNAPSHOT_PREFIX}{hashlib.sha256(host.encode()).hexdigest()[:12]}-"


def snapshot_name(host: str, data: int) -> str:
    """The name of such images, without a tag; `data`: the number under which the lease's data is."""
    return f"{snapshot_prefix(host)}{data}"


def has_pod_sandbox(spec: PodSpec) -> bool:
    """Whether the network belongs to a container of its own, so that each of the others may come and go."""
    return len(spec.containers) > 1


def is_pod_sandbox(marks: Mapping[str, str]) -> bool:
    """Whether a container with these labels only holds a pod's network."""
    return marks.get(LABEL_ROLE) == SANDBOX


def environment(spec: PodSpec, container: ContainerSpec) -> dict[str, str]:
    """The manifest's variables and ours; ours win."""
    return (
        dict(container.service.environment)
        | ({"GANTRY_NOTICE": NOTICE} if spec.may_be_told else {})
        | ({"GANTRY_GPU_SHARE": f"{container.gpu_milli / WHOLE_GPU:g}"} if container.has_share else {})
        | {
            "GANTRY_LEASE": str(spec.lease),
            "GANTRY_TASK": str(spec.task),
            "GANTRY_POD": str(spec.pod),
            "GANTRY_ATTEMPT": str(spec.attempt),
            "GANTRY_SERVICE": container.service.name,
            "GANTRY_SIMULATED_GPUS": str(container.simulated_gpus),
            # An image may ask for every GPU of the machine; engines with NVIDIA's runtime as default would obey.
            "NVIDIA_VISIBLE_DEVICES": ",".join(_nvidia(container.gpu_uuids)) or "void",
        }
    )


def network_identity(spec: PodSpec) -> dict[str, Any]:
    """What belongs to whoever has the pod's network: its name, and the names of its services, which all are here."""
    hosts = {one.service.name: "127.0.0.1" for one in spec.containers}
    return {"hostname": f"pod-{spec.lease}", "extra_hosts": hosts}


def container_arguments(spec: PodSpec, service: str, start: int, *, image: str, ground: PodContext) -> dict[str, Any]:
    """Arguments of the SDK's `create_container`, the host configuration under `host_config` still plain."""
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
        "host_config": _confined(says.memory_mib, says.pids + (ground.runtime.more_pids if ground.runtime else 0))
        | {
            "ipc_mode": "private",
            "init": True,
            "network_mode": ground.network,
            "nano_cpus": says.cpu_milli * 1_000_000,
            "shm_size": max(says.memory_mib // 2, 1) * MIB,
            "read_only": says.read_only,
            "tmpfs": tmpfs_options(spec, container),
            "mounts": container_mounts(spec, container, ground),
            "log_config": LogConfig(
                type=LogConfig.types.JSON, config={"max-size": f"{LOG_FILE_MIB}m", "max-file": str(LOG_FILES)}
            ),
            "device_requests": device_requests(_nvidia(container.gpu_uuids), cdi=ground.cdi),
            **amd_devices(ground.amd),
            # See NVIDIA_VISIBLE_DEVICES above: devices come by request only.
            **({"runtime": "runc"} if ground.runc else {}),
            **({"runtime": ground.runtime.name} if ground.runtime else {}),
            **({"storage_opt": {"size": f"{spec.disk_gib}G"}} if ground.quota else {}),
            **own,
        },
    }


def pod_sandbox_arguments(spec: PodSpec, *, image: str, ground: PodContext) -> dict[str, Any]:
    """Return the engine's arguments for the container that holds the pod's network."""
    own = network_identity(spec)
    return {
        "image": image,
        "name": f"{pod_name(spec.host, spec.lease)}-net",
        "hostname": own.pop("hostname"),
        "user": NOBODY,
        "labels": pod_labels(spec) | {LABEL_ROLE: SANDBOX},
        "detach": True,
        "host_config": _confined(SANDBOX_MEMORY_MIB, 8)
        | {
            "network_mode": ground.network,
            "read_only": True,
            "log_config": LogConfig(type="none"),
            **({"runtime": "runc"} if ground.runc else {}),
            **own,
        },
    }


def trial_arguments(name: str, *, image: str, runtime: str) -> dict[str, Any]:
    """Return the arguments of a container of the agent's own, made as tenants' containers are, of a holder's image."""
    return {
        "image": image,
        "name": name,
        "user": NOBODY,
        "labels": {LABEL_ROLE: TRIAL},
        "detach": True,
        "host_config": _confined(SANDBOX_MEMORY_MIB, 8)
        | {
            "network_mode": "none",
            "ipc_mode": "private",
            "read_only": True,
            "log_config": LogConfig(type="none"),
            "runtime": runtime,
        },
    }


def _confined(memory_mib: int, pids: int) -> dict[str, Any]:
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
    """The check, which the engine itself carries out: it goes on while the agent is away."""
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


def container_mounts(spec: PodSpec, container: ContainerSpec, ground: PodContext) -> list[Mount]:
    """The pod's volumes, files that were delivered, and notices. Nothing else of this machine is ever mounted."""
    made = [
        Mount(target=mount.path, source=ground.volumes[mount.volume], type="volume", read_only=mount.read_only)
        for mount in container.service.volumes
    ]
    files = [(file.path, file.name) for file in container.service.files]
    if spec.ssh is not None and container is spec.main:
        files.append((spec.ssh.path, SSH_KEYS))
    made += [Mount(target=path, source=str(ground.files[name]), type="bind", read_only=True) for path, name in files]
    if ground.notices is not None:
        made.append(Mount(target=NOTICES, source=str(ground.notices), type="bind", read_only=True))
    return made


def tmpfs_options(spec: PodSpec, container: ContainerSpec) -> dict[str, str]:
    """The manifest's memory file systems, and a small /tmp unless something else is to be there."""
    mounted = {mount.path: mount.options for mount in container.service.tmpfs}
    result = spec.result.path or "" if container is spec.main else ""
    kept = any(volume.path.rstrip("/") == "/tmp" for volume in container.service.volumes)  # noqa: S108
    if not kept and not result.startswith("/tmp/"):  # noqa: S108  (inside the container)
        mounted.setdefault("/tmp", f"size={TMP_MIB * MIB},mode=1777")  # noqa: S108
    return mounted


def user_id(user: str | None) -> int | None:
    """The number of a container's user; None where only its image knows."""
    name = (user or "0").partition(":")[0]
    if name == "root":
        return 0
    return int(name) if name.isdecimal() else None


def amd_devices(amd: DeviceFiles) -> dict[str, Any]:
    """AMD's GPUs are device files; who uses them has to be in the groups that these belong to."""
    if not amd.files:
        return {}
    return {"devices": [f"{file}:{file}:rw" for file in amd.files], "group_add": list(amd.groups)}


def amd_gpus(uuids: tuple[str, ...]) -> tuple[str, ...]:
    """Return the identifiers of AMD's GPUs among these."""
    return tuple(uuid for uuid in uuids if uuid.startswith(AMD_PREFIX))


def _nvidia(uuids: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(uuid for uuid in uuids if not uuid.startswith(AMD_PREFIX))


def device_requests(uuids: tuple[str, ...], *, cdi: bool) -> list[DeviceRequest]:
    """GPUs by CDI name; by the engine's older NVIDIA driver where it has no CDI."""
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
    r"|range of CPUs|no space left|address pools have been fully subnetted|non-overlapping IPv4 address pool",
    re.IGNORECASE,
)
_NO_QUOTA = re.compile(r"storage-opt|--storage-opt", re.IGNORECASE)


def is_image_fault(message: str) -> bool:
    """Whether the engine's refusal to start is about what the manifest runs in the image."""
    return _IMAGE_FAULTS.search(message) is not None and not is_resource_fault(message)


def is_resource_fault(message: str) -> bool:
    """Whether the engine's refusal is about what this machine has."""
    return _RESOURCE_FAULTS.search(message) is not None


def is_quota_fault(message: str) -> bool:
    """Whether the engine cannot limit the size of a container's own layer after all."""
    return _NO_QUOTA.search(message) is not None
