"""Processes identified by pid and start time, so that none is mistaken for another. Standard library only."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from pathlib import Path


def start_time(pid: int) -> int | None:
    """Return the start of a process in clock ticks after boot; None if it does not exist or is a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])


def is_same_process(pid: int, began: int) -> bool:
    """Whether the process with this pid and start time still exists."""
    return start_time(pid) == began


def end_process(pid: int, began: int, *, term_s: float, kill_s: float = 5.0) -> bool:
    """Terminate a process, and kill it after `term_s`. Return False if it still exists after `kill_s`."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return True
    try:
        if not is_same_process(pid, began):
            return True
        for number, limit_s in ((signal.SIGTERM, term_s), (signal.SIGKILL, kill_s)):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, number)
            if select.select([handle], [], [], limit_s)[0]:
                return True
    finally:
        os.close(handle)
    return False
