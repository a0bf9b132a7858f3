"""The OCI runtime that runs tenants' containers, where the provider chose one, and what isolates them there. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

OPTION = "--runtime"
GVISOR_PIDS = 256
"""gVisor's own threads and processes, which count against a container's limit beside the tenant's."""


class Isolation(StrEnum):
    """What is between a container and the machine."""

    KERNEL = "the machine's kernel"
    GVISOR = "gVisor"
    KATA = "Kata Containers"


@dataclass(frozen=True, slots=True)
class Runtime:
    """A runtime of the engine."""

    name: str
    isolation: Isolation
    gpus: bool = True
    """Containers can have GPUs under it."""
    more_pids: int = 0
    """By how much a container's limit of processes has to be higher than what the tenant gets."""

    @property
    def sandboxed(self) -> bool:
        """Whether containers have a kernel of their own under it."""
        return self.isolation is not Isolation.KERNEL


def isolation_of(entry: Mapping[str, Any]) -> Isolation:
    """Return what isolates containers under a runtime, from its entry in the engine's list."""
    program = f"{entry.get('path') or ''} {entry.get('runtimeType') or ''}"
    for word, isolation in (("runsc", Isolation.GVISOR), ("kata", Isolation.KATA)):
        if word in program:
            return isolation
    return Isolation.KERNEL


def choose(name: str, runtimes: Mapping[str, Mapping[str, Any]]) -> Runtime:
    """Return the runtime with this name of the engine's list. Raises ValueError where pods cannot run under it."""
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
        return Runtime(name, isolation, bool({"nvproxy", "nvproxy=true"} & set(arguments)), GVISOR_PIDS)
    return Runtime(name, isolation)


def offers(runtimes: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the names of the engine's runtimes that isolate better than the machine's kernel, and can be chosen."""
    found = []
    for name in sorted(runtimes):
        try:
            if choose(name, runtimes).sandboxed:
                found.append(name)
        except ValueError:
            continue
    return tuple(found)
