"""Detection of engine features: OCI runtimes and their isolation, and GPUs by CDI.

A sandboxing runtime is tried out: a container is run to find out whether its kernel differs from the machine's. Its
image is built here, of one program of a few instructions that prints the release of its kernel, so that no registry is
needed.
"""

from __future__ import annotations

import contextlib
import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import docker
import requests.exceptions
import yaml

from node_agent.drivers.docker.engine import SDK_ERRORS, Engine
from node_agent.drivers.docker.static_programs import elf, program_image

RUNTIME_OPTION = "--runtime"
GVISOR_PIDS = 256
"""gVisor's own threads and processes, which count against a container's limit in addition to the tenant's."""
_TRIAL_X86_64: Final = bytes.fromhex(
    "4881ec00020000 4889e7 b83f000000 0f05"  # room for a result; uname(room)
    "bf01000000 488db42482000000 ba41000000 b801000000 0f05"  # write(1, room + 130, 65): the release
    "31ff b83c000000 0f05"  # exit(0)
)
_TRIAL_AARCH64: Final = struct.pack(
    "<12I",
    *(0xD10803FF, 0x910003E0, 0xD2801408, 0xD4000001),  # room for a result; uname(room)
    *(0xD2800020, 0x91020BE1, 0xD2800822, 0xD2800808, 0xD4000001),  # write(1, room + 130, 65): the release
    *(0xD2800000, 0xD2800BA8, 0xD4000001),  # exit(0)
)
_TRIAL_CODE: Final = {"x86_64": _TRIAL_X86_64, "aarch64": _TRIAL_AARCH64}
_TRIAL_ROLE: Final = "sandbox-trial"
_TRIAL_TAG: Final = "gantry/sandbox-trial:1"
TRIAL_S: Final = 60
"""Timeout of each engine call in a trial."""
_FILE_BYTES: Final = 4 << 20
_SUFFIXES: Final = (".json", ".yaml", ".yml")
_ANSWER_S: Final = 10


class Isolation(StrEnum):
    """What separates a container from the machine."""

    KERNEL = "the machine's kernel"
    GVISOR = "gVisor"
    KATA = "Kata Containers"


@dataclass(frozen=True, slots=True)
class OciRuntime:
    """A runtime of the engine."""

    name: str
    isolation: Isolation
    gpus: bool = True
    """Containers can have GPUs under it."""
    more_pids: int = 0
    """Number of processes of the runtime itself within a container's process limit."""

    @property
    def sandboxed(self) -> bool:
        """Whether containers have a kernel of their own under it."""
        return self.isolation is not Isolation.KERNEL


@dataclass(slots=True)
class EngineFeatures:
    """Capabilities of the engine as detected."""

    cdi: bool = False
    runc: bool = False
    runtime: OciRuntime | None = None
    """The runtime that the provider chose."""
    quota: bool = False
    """The engine limits the size of a container's own layer, as far as known."""


def isolation_of(entry: Mapping[str, Any]) -> Isolation:
    """Return the isolation of containers under a runtime, from its entry in the engine's list."""
    program = f"{entry.get('path') or ''} {entry.get('runtimeType') or ''}"
    for word, isolation in (("runsc", Isolation.GVISOR), ("kata", Isolation.KATA)):
        if word in program:
            return isolation
    return Isolation.KERNEL


def choose_runtime(name: str, runtimes: Mapping[str, Mapping[str, Any]]) -> OciRuntime:
    """Return the runtime with this name from the engine's list. Raises ValueError if pods cannot run under it."""
    if name not in runtimes:
        known = ", ".join(sorted(runtimes)) or "none"
        raise ValueError(f"the engine has no runtime {name!r}; it has: {known}")
    entry = runtimes[name]
    isolation = isolation_of(entry)
    arguments = [str(one).lstrip("-") for one in entry.get("runtimeArgs") or ()]
    if isolation is Isolation.KATA:
        raise ValueError(
            f"the runtime {name!r} is Kata Containers, which is not supported: the agent reaches a pod's ports by its "
            "network namespace, and a virtual machine has its sockets elsewhere"
        )
    if isolation is Isolation.GVISOR:
        if "network=host" not in arguments:
            raise ValueError(
                f"the runtime {name!r} is gVisor with a network stack of its own, where the agent reaches no port of "
                "a pod; add \"--network=host\" (the pod's network, not the machine's) to its runtimeArgs"
            )
        return OciRuntime(name, isolation, bool({"nvproxy", "nvproxy=true"} & set(arguments)), GVISOR_PIDS)
    return OciRuntime(name, isolation)


def sandboxing_runtimes(runtimes: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the names of supported runtimes that isolate better than the machine's kernel."""
    found = []
    for name in sorted(runtimes):
        try:
            if choose_runtime(name, runtimes).sandboxed:
                found.append(name)
        except ValueError:
            continue
    return tuple(found)


def trial_program(architecture: str) -> bytes:
    """Return the program as a static ELF file. Raises KeyError for an unsupported architecture."""
    return elf(architecture, _TRIAL_CODE[architecture])


def checked_runtime(api: Any, info: Mapping[str, Any], name: str) -> OciRuntime:
    """Return the engine's runtime with this name, after a trial if it is a sandbox. Blocks.

    `api`: the SDK's low-level client; `info`: the engine's system information. Raises ValueError if pods cannot run
    under the runtime, or a sandboxing runtime does not sandbox them.
    """
    runtime = choose_runtime(name, info.get("Runtimes") or {})
    if runtime.sandboxed:
        trouble = why_not_sandboxed(api, name, str(info.get("Architecture")), str(info.get("KernelVersion")))
        if trouble:
            raise ValueError(f"the runtime {name!r} is {runtime.isolation.value}, but {trouble}")
    return runtime


def is_sandboxed(url: str | None, name: str | None) -> bool:
    """Return whether pods are sandboxed under this runtime of the engine at `url`; False if unknown. Blocks.

    `name` None: the engine's default runtime.
    """
    if name is None:
        return False
    with contextlib.suppress(ValueError, *SDK_ERRORS):
        api = Engine(url).client(TRIAL_S)
        try:
            return checked_runtime(api, api.info(), name).sandboxed
        finally:
            api.close()
    return False


def why_not_sandboxed(api: Any, runtime: str, architecture: str, kernel: str) -> str:
    """Return why containers under a runtime are not proved to have their own kernel; empty if they are. Blocks.

    `kernel`: the release of the machine's kernel.
    """
    if architecture not in _TRIAL_CODE:
        return f"there is no program to try it out with on {architecture}"
    try:
        released = _kernel_inside(api, runtime, architecture)
    except docker.errors.APIError as error:
        return f"a container does not start under it: {error.explanation or error}"
    except requests.exceptions.Timeout:
        return f"a container has not ended under it after {TRIAL_S} s"
    if not released:
        return "a program prints nothing under it"
    return f"its containers run on the machine's kernel {kernel}" if released == kernel else ""


def _kernel_inside(api: Any, runtime: str, architecture: str) -> str:
    """Return the kernel release that a container under this runtime prints; empty if it prints none."""
    image, archive = program_image(architecture, "trial", trial_program(architecture), role=_TRIAL_ROLE, tag=_TRIAL_TAG)
    list(api.load_image(archive))
    host_config = api.create_host_config(
        runtime=runtime,
        network_mode="none",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        log_config={"Type": "json-file", "Config": {}},
    )
    container = api.create_container(image, host_config=host_config, labels={"gantry.role": _TRIAL_ROLE})["Id"]
    try:
        api.start(container)
        api.wait(container, timeout=TRIAL_S)
        printed: bytes = api.logs(container, stdout=True, stderr=False)
    finally:
        with contextlib.suppress(docker.errors.APIError):
            api.remove_container(container, force=True)
    return printed.partition(b"\0")[0].decode(errors="replace").strip()


def cdi_name(uuid: str) -> str:
    """Return the full CDI name of an NVIDIA GPU or of a slice of one."""
    return f"nvidia.com/gpu={uuid}"


def cdi_devices(folders: Iterable[Path]) -> frozenset[str]:
    """Return the full names of all devices in the CDI files of these folders. Unreadable files are skipped."""
    names: set[str] = set()
    for folder in folders:
        for file in sorted(folder.iterdir()) if folder.is_dir() else ():
            if file.suffix not in _SUFFIXES:
                continue
            try:
                if file.stat().st_size > _FILE_BYTES:
                    continue
                text = file.read_text(encoding="utf-8")
                document = json.loads(text) if file.suffix == ".json" else yaml.safe_load(text)
                names |= {f"{document['kind']}={device['name']}" for device in document["devices"]}
            except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError):
                continue
    return frozenset(names)


def offers_cdi_devices(url: str | None, uuids: Iterable[str]) -> bool:
    """Return whether the engine at `url` offers each of these NVIDIA devices by CDI. Blocks.

    False for no devices, and if the engine has no CDI or does not answer.
    """
    wanted = {cdi_name(uuid) for uuid in uuids}
    if not wanted:
        return False
    with contextlib.suppress(*SDK_ERRORS):
        api = Engine(url).client(_ANSWER_S)
        try:
            folders = api.info().get("CDISpecDirs") or ()
        finally:
            api.close()
        return wanted <= cdi_devices(map(Path, folders))
    return False
