"""Orphaned processes and shims of containers that the engine does not track.

An engine that is killed between the start of a container and its record of it does not know of the start: it neither
stops nor kills the processes, removes the container around them, and cannot start it again ("already exists"). The
kernel still knows them: processes of a container are in a control group whose name has the container's id, and the
process between it and containerd, the shim, has the id among its arguments.

Conversely, an engine that was killed when a container ended may report it as running for ever: its shim waits to report
the end. Without the shim the engine sees that it has ended.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import select
import signal
from collections.abc import Callable, Collection
from pathlib import Path

log = logging.getLogger(__name__)

_PATIENCE_S = 5.0
_SHIM_GOES_S = 2.0
"""Time in which the shim of an ended container exits by itself."""
_SHIM = "containerd-shim"
_ID = re.compile(r"[0-9a-f]{64}")


def end_orphan_processes(container: str) -> int:
    """End every process of a container that should not run, and its shim; return the number of processes.

    `container`: the engine's full id. Processes that this one may not see or end, because it lacks the rights or is in
    a container itself, are left.
    """
    ended = sum(_end(pid, lambda pid: _is_in(pid, container), 0) for pid in _all(lambda pid: _is_in(pid, container)))
    if ended:
        log.warning("container %.12s: ended %d processes that the engine did not know of", container, ended)
    for pid in _all(lambda pid: _is_shim(pid, container)):
        # containerd sees it exit, and updates its own records.
        if _end(pid, lambda pid: _is_shim(pid, container), _SHIM_GOES_S):
            log.warning("container %.12s: ended the shim that the engine had left", container)
    return ended


def processes_of(container: str) -> list[int]:
    """Return the visible processes of a container, by the engine's full id."""
    return _all(lambda pid: _is_in(pid, container))


class DeadContainerDetector:
    """Finds containers that the engine reports as running but that have no process."""

    def __init__(self) -> None:
        self._before: frozenset[str] = frozenset()

    def end_shims(self, running: Collection[str]) -> None:
        """End the shims of the containers, by full ids, that had no process in two successive calls."""
        empty = _empty(running) if running else frozenset()
        for container in empty & self._before:
            log.warning("container %.12s: it has ended without a report to the engine", container)
            end_orphan_processes(container)
        self._before = empty


def _empty(containers: Collection[str]) -> frozenset[str]:
    """Return the containers with a shim and no process; none if the machine's processes are not visible from here."""
    shims: set[str] = set()
    alive: set[str] = set()
    for path in Path("/proc").glob("[0-9]*"):
        pid = int(path.name)
        program, *arguments = _text(pid, "cmdline").split("\0")
        if _SHIM in program:
            shims.update(arguments)
        elif not _is_zombie(pid):
            alive.update(_ID.findall(_text(pid, "cgroup")))
    return frozenset(shims.intersection(containers) - alive)


def _all(wanted: Callable[[int], bool]) -> list[int]:
    return [pid for path in Path("/proc").glob("[0-9]*") if wanted(pid := int(path.name))]


def _end(pid: int, wanted: Callable[[int], bool], goes_s: float) -> bool:
    """Kill a process that does not exit by itself within `goes_s`, and wait for its end."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        # The number may have been reused before the handle was opened.
        if not wanted(pid) or select.select([handle], [], [], goes_s)[0]:
            return False
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        return bool(select.select([handle], [], [], _PATIENCE_S)[0])
    finally:
        os.close(handle)


def _is_in(pid: int, container: str) -> bool:
    return container in _text(pid, "cgroup")


def _is_zombie(pid: int) -> bool:
    """Return whether a process has ended and its parent has not waited for it."""
    return _text(pid, "stat").rpartition(")")[2].split()[:1] == ["Z"]


def _is_shim(pid: int, container: str) -> bool:
    program, *arguments = _text(pid, "cmdline").split("\0")
    return _SHIM in program and container in arguments


def _text(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
