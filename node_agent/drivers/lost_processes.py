"""Ends what runs in a container that its engine takes for one that does not run.

An engine that is killed between the start of a container and its note of it knows of no start afterwards: it neither
stops nor kills what runs there, and removes the container around it. The kernel still knows: processes of a container
are in a control group that has the container's id in its name.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path

log = logging.getLogger(__name__)

_PATIENCE_MS = 5_000


def end_lost(container: str) -> int:
    """Kill every process of a container that is not to run, and wait for their ends; gives how many there were.

    `container` is the engine's full id. Processes that this one may not see or end, because it has not the rights or is
    in a container itself, are left.
    """
    ended = 0
    for pid in list(_processes_of(container)):
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(pid)
            try:
                # Its number may have been given to another process before the handle was there.
                if _is_of(pid, container):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                    select.select([handle], [], [], _PATIENCE_MS / 1000)
                    ended += 1
            finally:
                os.close(handle)
    if ended:
        log.warning("container %.12s: ended %d processes that the engine did not know of", container, ended)
    return ended


def _processes_of(container: str) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/cgroup"):
        pid = int(path.parts[2])
        if _is_of(pid, container):
            yield pid


def _is_of(pid: int, container: str) -> bool:
    try:
        return container in Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
