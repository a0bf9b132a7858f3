"""A trial of a sandboxing runtime: a container is run to find out whether its kernel is another than the machine's.

The container's image is made here, of one program of a few instructions that prints the release of the kernel it runs
on, so no registry is asked for it.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Mapping
from typing import Any, Final

import docker
import requests.exceptions

from node_agent.drivers.docker.engine import SDK_ERRORS, Engine
from node_agent.drivers.docker.runtimes import Runtime, choose
from node_agent.drivers.docker.sandbox import program_image
from node_agent.drivers.docker.static_program import elf

_X86_64: Final = bytes.fromhex(
    "4881ec00020000 4889e7 b83f000000 0f05"  # room for a result; uname(room)
    "bf01000000 488db42482000000 ba41000000 b801000000 0f05"  # write(1, room + 130, 65): the release
    "31ff b83c000000 0f05"  # exit(0)
)
_AARCH64: Final = struct.pack(
    "<12I",
    *(0xD10803FF, 0x910003E0, 0xD2801408, 0xD4000001),  # room for a result; uname(room)
    *(0xD2800020, 0x91020BE1, 0xD2800822, 0xD2800808, 0xD4000001),  # write(1, room + 130, 65): the release
    *(0xD2800000, 0xD2800BA8, 0xD4000001),  # exit(0)
)
_CODE: Final = {"x86_64": _X86_64, "aarch64": _AARCH64}
_ROLE: Final = "sandbox-trial"
_TAG: Final = "gantry/sandbox-trial:1"
TRIAL_S: Final = 60
"""The longest that one call of the engine may take in a trial."""


def program(architecture: str) -> bytes:
    """Return the program as a static ELF file. Raises KeyError where there is none for the architecture."""
    return elf(architecture, _CODE[architecture])


def usable(api: Any, info: Mapping[str, Any], name: str) -> Runtime:
    """Return the engine's runtime with this name, tried out where it is a sandbox. Blocks.

    `api`: the SDK's low-level client; `info`: what the engine says of itself. Raises ValueError where pods cannot run
    under the runtime, or would not be sandboxed although it is a sandbox.
    """
    runtime = choose(name, info.get("Runtimes") or {})
    if runtime.sandboxed:
        trouble = try_out(api, name, str(info.get("Architecture")), str(info.get("KernelVersion")))
        if trouble:
            raise ValueError(f"the runtime {name!r} is {runtime.isolation.value}, but {trouble}")
    return runtime


def is_sandboxed(url: str | None, name: str | None) -> bool:
    """Return whether pods run in a sandbox under this runtime of the engine at `url`; False where that is unknown.

    Blocks. `name` None: the engine's usual runtime.
    """
    if name is None:
        return False
    with contextlib.suppress(ValueError, *SDK_ERRORS):
        api = Engine(url).client(TRIAL_S)
        try:
            return usable(api, api.info(), name).sandboxed
        finally:
            api.close()
    return False


def try_out(api: Any, runtime: str, architecture: str, kernel: str) -> str:
    """Return why containers under a runtime are not known to have a kernel of their own; empty where they have one.

    Blocks. `kernel`: the release of the machine's kernel.
    """
    if architecture not in _CODE:
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
    """Return the release of the kernel that a container under this runtime has; empty where it did not print it."""
    image, archive = program_image(architecture, "trial", program(architecture), role=_ROLE, tag=_TAG)
    list(api.load_image(archive))
    host_config = api.create_host_config(
        runtime=runtime,
        network_mode="none",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        log_config={"Type": "json-file", "Config": {}},
    )
    container = api.create_container(image, host_config=host_config, labels={"gantry.role": _ROLE})["Id"]
    try:
        api.start(container)
        api.wait(container, timeout=TRIAL_S)
        printed: bytes = api.logs(container, stdout=True, stderr=False)
    finally:
        with contextlib.suppress(docker.errors.APIError):
            api.remove_container(container, force=True)
    return printed.partition(b"\0")[0].decode(errors="replace").strip()
