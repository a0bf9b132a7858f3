"""Checks the mounts of containers between their start by the engine and the start of their programs (ADR 0042)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import Any, Final

from node_agent.drivers.docker_data import DockerData
from node_agent.drivers.docker_engine import Engine
from node_agent.drivers.docker_gate import (
    Gates,
    gate_of,
    is_open,
    masked_paths,
    open_gate,
    put_before,
    why_unsafe_inside,
)
from node_agent.drivers.kernel_mounts import READ_ONLY
from node_agent.ports import DriverError, ImageInvalid, ResourcesUnavailable

log = logging.getLogger(__name__)

SHARED_KERNEL: Final = frozenset({"runc", "io.containerd.runc.v2", "crun", "nvidia"})
"""Runtimes whose containers have the mounts that the machine's kernel lists for them. Others, such as gVisor, have a
kernel of their own, whose files the machine does not show."""


def hidden_paths() -> dict[str, list[str]]:
    """What containers do not see and cannot change of the kernel's files, for the host configuration of the engine.

    The engine's own lists depend on its version.
    """
    return {"MaskedPaths": list(masked_paths()), "ReadonlyPaths": list(READ_ONLY)}


class DockerChecks:
    """The checks of one engine's containers."""

    def __init__(self, engine: Engine, data: DockerData, gates: Gates) -> None:
        self._engine = engine
        self._data = data
        self._gates = gates

    async def put_gate(self, arguments: dict[str, Any], config: Mapping[str, Any]) -> None:
        """Have a container that is to be made start with a gate, where that is possible here.

        `arguments`: of its creation; `config`: the image's configuration. Raises :class:`ResourcesUnavailable`.
        """
        if self._gates.trouble or arguments["host_config"].get("runtime") not in SHARED_KERNEL:
            return
        try:
            gate = await asyncio.to_thread(self._gates.make, arguments["name"])
        except OSError as error:
            raise ResourcesUnavailable(f"the agent cannot write {error.filename}: {error.strerror}") from None
        put_before(arguments, gate, self._gates.init, config)

    async def close_gate(self, inspection: Mapping[str, Any]) -> None:
        """Have a container that does not run wait at its next start, if it was made with a gate.

        Raises :class:`ResourcesUnavailable`.
        """
        gate = gate_of(inspection)
        if gate is None:
            return
        try:
            await asyncio.to_thread(self._gates.close, gate)
        except OSError as error:
            raise ResourcesUnavailable(f"the container cannot be checked at its start: {error}") from None

    async def let_through(self, identity: str) -> None:
        """Check the mounts of a container that was started, and let its program start; nothing where it has ended.

        Raises :class:`ImageInvalid` where the tenant made the mounts unsafe, and other kinds of :class:`DriverError`.
        """
        inspection = await self._engine.call(lambda: self._engine.api.inspect_container(identity))
        gate, pid = gate_of(inspection), int(inspection["State"].get("Pid") or 0)
        if not pid or (gate is None and not self._is_checked_late(inspection)):
            return
        try:
            if gate is not None and await asyncio.to_thread(is_open, gate):
                return
            trouble = await asyncio.to_thread(why_unsafe_inside, pid, inspection)
            if trouble is None and gate is not None:
                await asyncio.to_thread(open_gate, gate)
        except ProcessLookupError:
            return  # It has ended.
        except (OSError, ValueError) as error:
            raise ResourcesUnavailable(f"the mounts of the container cannot be checked: {error}") from None
        if trouble is None:
            return
        when = "just after" if gate is None else "before"
        text = f"the container was ended {when} its program started: {trouble}"
        # A mount goes astray by a link alone, and links that were not there before are in volumes.
        if any(one.get("Type") == "volume" for one in inspection.get("Mounts") or ()):
            raise ImageInvalid(f"{text}; change no link that leads to a mount while a container starts")
        raise DriverError(text)

    def _is_checked_late(self, inspection: Mapping[str, Any]) -> bool:
        """Whether a container without a gate is checked all the same: where none is given one, and its mounts are seen.

        Else it is of another agent or runtime.
        """
        runtime = (inspection.get("HostConfig") or {}).get("Runtime")
        return bool(self._gates.trouble) and self._gates.sees_processes and runtime in SHARED_KERNEL

    async def let_through_or_remove(self, identity: str) -> None:
        """As :meth:`let_through`; a container whose mounts are unsafe is removed."""
        try:
            await self.let_through(identity)
        except DriverError as error:
            if not error.transient:
                with contextlib.suppress(DriverError):
                    await self._data.remove_container(identity)
            raise

    async def is_let_through(self, found: Mapping[str, Any]) -> bool:
        """Whether the program of a container that runs may run; `found`: as the engine lists the container.

        An agent that ended just after the start of a container has left it waiting.
        """
        gate = gate_of(found)
        try:
            if gate is not None and not await asyncio.to_thread(is_open, gate):
                await self.let_through_or_remove(str(found["Id"]))
        except OSError as error:
            log.warning("container %.12s: %s", found["Id"], error)
        except DriverError as error:
            if error.transient:
                raise
            log.warning("container %.12s: %s", found["Id"], error)
            return False
        return True
