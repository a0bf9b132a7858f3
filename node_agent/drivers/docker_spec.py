"""From a pod to the arguments of the engine's create call: every limit a tenant's container runs under is here."""

from __future__ import annotations

import re
from typing import Any

from docker.types import DeviceRequest, LogConfig, Ulimit

from node_agent.core.values import PodSpec

MIB = 1 << 20
LABEL_HOST = "gantry.host"
LABEL_LEASE = "gantry.lease"
LABEL_TASK = "gantry.task"
LABEL_POD = "gantry.pod"
LABEL_ATTEMPT = "gantry.attempt"
LABEL_START = "gantry.start"

LOG_FILE_MIB = 100
LOG_FILES = 2
TMP_MIB = 64
MAX_OPEN_FILES = 8_192
"""Low enough for engines that may not raise their own limit."""
OOM_SCORE = 500
"""When the machine runs out of memory the kernel takes tenants' processes before the host's own."""


def labels(spec: PodSpec) -> dict[str, str]:
    """What marks everything the engine holds for this pod."""
    return {
        LABEL_HOST: spec.host,
        LABEL_LEASE: str(spec.lease),
        LABEL_TASK: str(spec.task),
        LABEL_POD: str(spec.pod),
        LABEL_ATTEMPT: str(spec.attempt),
        LABEL_START: str(spec.start),
    }


def pod_name(host: str, lease: int) -> str:
    """One name for each lease of a host: the engine itself refuses a second container for it."""
    # The first character of an address is the same for all accounts.
    return f"gantry-{host[1:13]}-{lease}"


def environment(spec: PodSpec) -> dict[str, str]:
    """The manifest's variables and ours; ours win."""
    return dict(spec.service.environment) | {
        "GANTRY_LEASE": str(spec.lease),
        "GANTRY_TASK": str(spec.task),
        "GANTRY_POD": str(spec.pod),
        "GANTRY_ATTEMPT": str(spec.attempt),
        "GANTRY_SIMULATED_GPUS": str(spec.simulated_gpus),
        # An image may ask for every GPU of the machine; engines with NVIDIA's runtime as default would obey.
        "NVIDIA_VISIBLE_DEVICES": ",".join(spec.gpu_uuids) or "void",
    }


def container_arguments(spec: PodSpec, *, image: str, network: str, cdi: bool, runc: bool) -> dict[str, Any]:
    """Arguments of the SDK's `create_container`, the host configuration under `host_config` still plain."""
    service = spec.service
    return {
        "image": image,
        "name": pod_name(spec.host, spec.lease),
        "hostname": f"pod-{spec.lease}",
        "command": None if service.command is None else list(service.command),
        "entrypoint": None if service.entrypoint is None else list(service.entrypoint),
        "environment": environment(spec),
        "working_dir": service.working_dir,
        "user": service.user,
        "labels": labels(spec),
        "healthcheck": {"test": ["NONE"]},
        "detach": True,
        "host_config": {
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges:true"],
            "privileged": False,
            "ipc_mode": "private",
            "init": True,
            "network_mode": network,
            "mem_limit": service.memory_mib * MIB,
            "memswap_limit": service.memory_mib * MIB,
            "nano_cpus": service.cpu_milli * 1_000_000,
            "pids_limit": service.pids,
            "shm_size": max(service.memory_mib // 2, 1) * MIB,
            "read_only": service.read_only,
            "tmpfs": tmpfs(spec),
            "oom_score_adj": OOM_SCORE,
            "ulimits": [
                Ulimit(name="nofile", soft=MAX_OPEN_FILES, hard=MAX_OPEN_FILES),
                Ulimit(name="core", soft=0, hard=0),
            ],
            "log_config": LogConfig(
                type=LogConfig.types.JSON, config={"max-size": f"{LOG_FILE_MIB}m", "max-file": str(LOG_FILES)}
            ),
            "device_requests": device_requests(spec.gpu_uuids, cdi=cdi),
            # See NVIDIA_VISIBLE_DEVICES above: devices come by request only.
            **({"runtime": "runc"} if runc else {}),
        },
    }


def tmpfs(spec: PodSpec) -> dict[str, str]:
    """The manifest's memory file systems, and a small /tmp unless the result is to be written there."""
    mounts = {mount.path: mount.options for mount in spec.service.tmpfs}
    path = spec.result.path or ""
    if not path.startswith("/tmp/"):  # noqa: S108  (inside the container)
        mounts.setdefault("/tmp", f"size={TMP_MIB * MIB},mode=1777")  # noqa: S108
    return mounts


def device_requests(uuids: tuple[str, ...], *, cdi: bool) -> list[DeviceRequest]:
    """GPUs by CDI name; by the engine's older NVIDIA driver where it has no CDI."""
    if not uuids:
        return []
    if cdi:
        return [DeviceRequest(driver="cdi", device_ids=[f"nvidia.com/gpu={uuid}" for uuid in uuids])]
    return [DeviceRequest(driver="nvidia", device_ids=list(uuids), capabilities=[["gpu"]])]


_IMAGE_FAULTS = re.compile(
    r"executable file not found|no such file or directory|permission denied|exec format error|is a directory"
    r"|not a directory|unable to find user|no matching entries in passwd|unable to find group|No command specified"
    r"|no command|invalid user|chdir to cwd",
    re.IGNORECASE,
)
_RESOURCE_FAULTS = re.compile(
    r"could not select device driver|unresolvable CDI|CDI device injection|nvidia-container-cli|Minimum memory limit"
    r"|range of CPUs|no space left|address pools have been fully subnetted|non-overlapping IPv4 address pool",
    re.IGNORECASE,
)


def is_image_fault(message: str) -> bool:
    """Whether the engine's refusal to start is about what the manifest runs in the image."""
    return _IMAGE_FAULTS.search(message) is not None and not is_resource_fault(message)


def is_resource_fault(message: str) -> bool:
    """Whether the engine's refusal is about what this machine has."""
    return _RESOURCE_FAULTS.search(message) is not None
