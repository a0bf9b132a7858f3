"""Arguments of the engine's create call for the container of the challenge program, with all of its limits. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from docker.types import LogConfig

from node_agent.drivers.docker.spec import (
    LABEL_CHALLENGE,
    LABEL_ROLE,
    MIB,
    NVIDIA_HOOK_PIDS,
    DeviceFiles,
    amd_devices,
    confined,
    device_requests,
    nvidia_gpus,
)
from node_agent.telemetry.hardware import HostDevice
from offchain.schema.challenge.order import ChallengeWork

CHALLENGE: Final = "challenge"
"""The role of containers that answer challenges."""
SELF_TEST: Final = "challenge-test"
"""The role of containers in which `gantry agent join` tries the program."""
USER: Final = 65534
LIFE_S: Final = 3600
"""Seconds after which the program ends in any case, also if no agent is left to end it."""
CPUS: Final = 2
PIDS: Final = 128
SCRATCH_MIB: Final = 128
"""Memory file system at /tmp: the program's archive, and kernels that were compiled."""
GPU_BASE_MIB: Final = 3072
"""Memory for Python, CUDA or ROCm, and a pinned buffer of 1 GiB with which copies are measured."""
SIMULATED_BASE_MIB: Final = 768
"""Memory for Python, numpy, and 256 MiB with which copies are measured."""
_START: Final = """\
import runpy, signal, sys
signal.alarm({seconds})
with open("/tmp/challenge.pyz", "wb") as file:
    file.write(sys.stdin.buffer.read({size}))
runpy.run_path("/tmp/challenge.pyz", run_name="__main__")
"""
"""Program text that reads the archive from standard input: no folder of this machine has to be mounted."""


@dataclass(frozen=True, slots=True)
class ContainerSite:
    """What the container uses on this machine. `cdi`, `runc`: features of the engine; `processors`: of the machine.

    `amd`: device files, if the device is one of AMD.
    """

    cdi: bool
    runc: bool
    processors: int
    amd: DeviceFiles = field(default_factory=DeviceFiles)


def memory_limit_mib(device: HostDevice, work: ChallengeWork) -> int:
    """Return the memory limit of the program for this work: the tables of a proof, and what the libraries need.

    A simulated device also holds its pages and matrices in that memory.
    """
    tables = 2 * 8 * (work.rows + work.chains)
    if not device.simulated:
        return GPU_BASE_MIB + tables // MIB
    return SIMULATED_BASE_MIB + (tables + 4 * work.memory_bytes + 64 * work.dimension**2) // MIB


def program_name(host: str, role: str) -> str:
    """Return the container's name, of which the engine accepts one."""
    # The first character of an address is the same for all accounts.
    return f"gantry-{host[1:13]}-{role}"


def program_labels(host: str, role: str) -> dict[str, str]:
    """Return the labels by which a later agent finds the container."""
    return {LABEL_CHALLENGE: host, LABEL_ROLE: role}


def program_arguments(
    name: str,
    labels: dict[str, str],
    image: str,
    device: HostDevice,
    work: ChallengeWork,
    size: int,
    site: ContainerSite,
) -> dict[str, Any]:
    """Return arguments of the SDK's `create_container`, with the host configuration as a plain `host_config`.

    `image`: the engine's id; `size`: bytes of the archive that the program reads first. The container has no network,
    no capabilities, a read-only root, another user than root, and no device but this one.
    """
    nvidia = nvidia_gpus(() if device.uuid is None else (device.uuid,))
    return {
        "image": image,
        "name": name,
        "entrypoint": ["python3", "-I", "-c", _START.format(seconds=LIFE_S, size=size)],
        "working_dir": "/",
        "user": f"{USER}:{USER}",
        "labels": labels,
        "healthcheck": {"test": ["NONE"]},
        # The engine closes the program's input when the agent that wrote to it is gone; then the program ends.
        "stdin_open": True,
        "detach": False,
        "environment": {
            "HOME": "/tmp",  # noqa: S108  (inside the container)
            "CUPY_CACHE_DIR": "/tmp/cupy",  # noqa: S108
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            # See `environment` of the pods' containers.
            "NVIDIA_VISIBLE_DEVICES": ",".join(nvidia) or "void",
            "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
        },
        "host_config": confined(memory_limit_mib(device, work), PIDS + (NVIDIA_HOOK_PIDS if nvidia else 0))
        | {
            "ipc_mode": "private",
            "init": True,
            "network_mode": "none",
            "nano_cpus": min(CPUS, site.processors) * 10**9,
            "read_only": True,
            # runc gives it the mode that the image's /tmp has, so that only its owner is sure to write.
            "tmpfs": {"/tmp": f"size={SCRATCH_MIB * MIB},uid={USER},gid={USER},noexec,nosuid,nodev"},  # noqa: S108
            "log_config": LogConfig(type="none"),
            "device_requests": device_requests(nvidia, cdi=site.cdi),
            **amd_devices(site.amd),
            **({"runtime": "runc"} if site.runc else {}),
        },
    }
