"""Checks of container mounts between the start by the engine and the start of the program (ADR 0042)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
import secrets
from collections.abc import Mapping
from typing import Any, Final

from node_agent.drivers.docker.data_volumes import DockerVolumes
from node_agent.drivers.docker.engine import Engine
from node_agent.drivers.docker.pod_network import load_sandbox_image
from node_agent.drivers.docker.spec import trial_arguments
from node_agent.drivers.docker.start_gate import (
    StartGates,
    add_gate,
    gate_of,
    is_open,
    masked_paths,
    mounts_inside,
    open_gate,
)
from node_agent.drivers.kernel_mounts import NO_DEVIATIONS, READ_ONLY, MountDeviations, deviations_of, why_unsafe
from node_agent.drivers.port import DriverError, ImageInvalid, ResourcesUnavailable

log = logging.getLogger(__name__)

SHARED_KERNEL: Final = frozenset({"runc", "io.containerd.runc.v2", "crun", "nvidia"})
"""Runtimes whose containers use the machine's kernel, which lists their mounts. Others, such as gVisor, have a kernel
of their own, whose files are not visible on the machine."""


def hidden_path_options() -> dict[str, list[str]]:
    """Return the engine's host configuration for hidden and read-only kernel files.

    The engine's own lists depend on its version.
    """
    return {"MaskedPaths": list(masked_paths()), "ReadonlyPaths": list(READ_ONLY)}


class MountChecker:
    def __init__(self, engine: Engine, data: DockerVolumes, gates: StartGates) -> None:
        self._engine = engine
        self._data = data
        self._gates = gates
        self._deviations: dict[str, MountDeviations] = {}
        """Deviations by runtime, determined when a container's mounts first differed from the list."""

    async def put_gate(self, arguments: dict[str, Any], config: Mapping[str, Any]) -> None:
        """Add a gate to the creation arguments of a container, if gates are supported here.

        `config`: the image's configuration. Raises :class:`ResourcesUnavailable`.
        """
        if self._gates.trouble or arguments["host_config"].get("runtime") not in SHARED_KERNEL:
            return
        try:
            gate = await asyncio.to_thread(self._gates.make, arguments["name"])
        except OSError as error:
            raise ResourcesUnavailable(f"the agent cannot write {error.filename}: {error.strerror}") from None
        add_gate(arguments, gate, self._gates.init, config)

    async def close_gate(self, inspection: Mapping[str, Any]) -> None:
        """Close the gate of a stopped container, if it has one, so that its next start waits.

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
        """Check the mounts of a started container, and let its program start. Does nothing if it has ended.

        Raises :class:`ImageInvalid` if the tenant made the mounts unsafe, and other kinds of :class:`DriverError`.
        """
        inspection = await self._engine.call(lambda: self._engine.api.inspect_container(identity))
        gate, pid = gate_of(inspection), int(inspection["State"].get("Pid") or 0)
        if not pid or (gate is None and not self._is_checked_late(inspection)):
            return
        try:
            if gate is not None and await asyncio.to_thread(is_open, gate):
                return
            trouble = await self._why_unsafe(pid, inspection)
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
        # Only a link redirects a mount, and only volumes can have links that did not exist at the check.
        if any(one.get("Type") == "volume" for one in inspection.get("Mounts") or ()):
            raise ImageInvalid(f"{text}; change no link that leads to a mount while a container starts")
        raise DriverError(text)

    async def _why_unsafe(self, pid: int, inspection: Mapping[str, Any]) -> str | None:
        """Return what is wrong with the mounts of a container's process; None if nothing is.

        If they differ from the list, they are also compared with those of a trial container of the agent: unknown
        engines and kernels may mount more. Raises as `mounts_inside`, and :class:`DriverError` if the engine does not
        hide what it was configured to.
        """
        mounts, wanted = await asyncio.to_thread(mounts_inside, pid, inspection)
        runtime = str((inspection.get("HostConfig") or {}).get("Runtime"))
        known = self._deviations.get(runtime)
        trouble = why_unsafe(mounts, wanted, os.path.lexists, known or NO_DEVIATIONS)
        if trouble is None:
            return None
        if known is None:
            try:
                known = self._deviations[runtime] = await self._try(runtime)
            except DriverError as error:
                log.warning("no container could be made to compare mounts with: %s", error)
                return trouble
            others = ", ".join(f"{kind} at {path}" for path, kind in sorted(known.others))
            if others:
                log.warning(
                    "the engine's runtime %s mounts what this agent does not know; accepted: %s", runtime, others
                )
        if known.missing:
            paths = ", ".join(sorted(known.missing))
            raise DriverError(f"the engine's runtime {runtime} does not hide, or make read-only, {paths}")
        return why_unsafe(mounts, wanted, os.path.lexists, known)

    async def _try(self, runtime: str) -> MountDeviations:
        """Return the deviations of a runtime, from a container without tenant content. Raises DriverError."""
        engine, api = self._engine, self._engine.api
        image = await load_sandbox_image(engine, platform.machine())
        arguments = trial_arguments(f"gantry-trial-{secrets.token_hex(4)}", image=image, runtime=runtime)
        host_config = api.create_host_config(**arguments.pop("host_config")) | hidden_path_options()
        created = await engine.call(lambda: api.create_container(**arguments, host_config=host_config))
        identity = str(created["Id"])
        try:
            await engine.call(lambda: api.start(identity))
            inspection = await engine.call(lambda: api.inspect_container(identity))
            pid = int(inspection["State"].get("Pid") or 0)
            return deviations_of(*await asyncio.to_thread(mounts_inside, pid, inspection), os.path.lexists)
        except (OSError, ValueError) as error:
            raise DriverError(f"its mounts cannot be read: {error}") from None
        finally:
            with contextlib.suppress(DriverError):
                await engine.call(lambda: api.remove_container(identity, force=True))

    def _is_checked_late(self, inspection: Mapping[str, Any]) -> bool:
        """Return whether a container without a gate is checked after its start.

        It is if gates are unsupported here and its mounts are visible; otherwise it belongs to another agent or
        runtime.
        """
        runtime = (inspection.get("HostConfig") or {}).get("Runtime")
        return bool(self._gates.trouble) and self._gates.sees_processes and runtime in SHARED_KERNEL

    async def let_through_or_remove(self, identity: str) -> None:
        """Call :meth:`let_through`; remove a container whose mounts are unsafe."""
        try:
            await self.let_through(identity)
        except DriverError as error:
            if not error.transient:
                with contextlib.suppress(DriverError):
                    await self._data.remove_container(identity)
            raise

    async def is_let_through(self, found: Mapping[str, Any]) -> bool:
        """Return whether the program of a running container may run; `found`: the engine's list entry.

        A container whose agent ended just after the start may still wait at its gate.
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
