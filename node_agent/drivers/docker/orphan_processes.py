"""Ends what is left of a container that its engine takes for one that does not run.

An engine that is killed between the start of a container and its note of it knows of no start afterwards: it neither
stops nor kills what runs there, removes the container around it, and cannot start it again ("already exists"). The
kernel still knows: processes of a container are in a control group that has the container's id in its name, and the
process between it and containerd, the shim, has the id among its arguments.

The other way round, an engine that was killed when a container ended may take it for one that runs for ever: its shim
is there and waits for somebody to tell. Without the shim the engine sees that it has ended.
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
"""In this time the shim of a container that has ended is gone by itself."""
_SHIM = "containerd-shim"
_ID = re.compile(r"[0-9a-f]{64}")


def end_orphan_processes(container: str) -> int:
    """End every process of a container that is not to run, and its shim; gives how many processes it had.

    `container` is the engine's full id. Processes that this one may not see or end, because it has not the rights or is
    in a container itself, are left.
    """
    ended = sum(_end(pid, lambda pid: _is_in(pid, container), 0) for pid in _all(lambda pid: _is_in(pid, container)))
    if ended:
        log.warning("container %.12s: ended %d processes that the engine did not know of", container, ended)
    for pid in _all(lambda pid: _is_shim(pid, container)):
        # containerd sees it go, and puts its own books in order.
        if _end(pid, lambda pid: _is_shim(pid, container), _SHIM_GOES_S):
            log.warning("container %.12s: ended the shim that the engine had left", container)
    return ended


def processes_of(container: str) -> list[int]:
    """The processes of a container, by the engine's full id, that this one can see."""
    return _all(lambda pid: _is_in(pid, container))


class DeadContainerDetector:
    """Finds containers that run in their engine's eyes only."""

    def __init__(self) -> None:
        self._before: frozenset[str] = frozenset()

    def look(self, running: Collection[str]) -> None:
        """End the shims of those of these containers, by their full ids, that have had no process twice in a row."""
        empty = _empty(running) if running else frozenset()
        for container in empty & self._before:
            log.warning("container %.12s: it has ended, and the engine was not told", container)
            end_orphan_processes(container)
        self._before = empty


def _empty(containers: Collection[str]) -> frozenset[str]:
    """Those that have a shim and no process. None where the machine's processes are not to be seen from here."""
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
    """Kill a process that does not go by itself in this time, and wait for its end."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        # Its number may have been given to another process before the handle was there.
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
    """Whether it has ended, and its parent has not asked how."""
    return _text(pid, "stat").rpartition(")")[2].split()[:1] == ["Z"]


def _is_shim(pid: int, container: str) -> bool:
    program, *arguments = _text(pid, "cmdline").split("\0")
    return _SHIM in program and container in arguments


def _text(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
