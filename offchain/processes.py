"""Processes that can be found and ended later, and are never confused with others. Standard library only.

A record contains the pid and the start time by the kernel's clock; a reused pid does not match.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from offchain.files import replace_file

TERM_S = 10.0
KILL_S = 5.0
_DIE_WITH_PARENT = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 15); os.execvp(sys.argv[1], sys.argv[1:])"
"""PR_SET_PDEATHSIG with SIGTERM, for machines without setpriv."""


def start_time(pid: int) -> int | None:
    """Return the start time of a process in clock ticks after boot; None if it does not exist, or is a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])


def is_same_process(pid: int, began: int) -> bool:
    """Return whether the process with this pid and start time still exists."""
    return start_time(pid) == began


def write_record(path: Path, pid: int) -> None:
    """Record a process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, json.dumps({"pid": pid, "start_time": start_time(pid)}), durable=False)


def read_record(path: Path) -> int | None:
    """Return the pid of a recorded process if it is still the same one."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        pid, began = int(record["pid"]), int(record["start_time"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return pid if is_same_process(pid, began) else None


def end(pid: int, *, began: int | None = None, term_s: float = TERM_S, kill_s: float = KILL_S) -> bool:
    """Terminate a process, and kill it after `term_s`. Return False if it still exists after `kill_s`.

    `began`: the process's start time; another process with this pid is left alone.
    """
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return True
    try:
        if began is not None and not is_same_process(pid, began):
            return True
        for number, limit_s in ((signal.SIGTERM, term_s), (signal.SIGKILL, kill_s)):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, number)
            if select.select([handle], [], [], limit_s)[0]:
                return True
    finally:
        os.close(handle)
    return False


def process_files(name: str) -> Iterator[tuple[int, bytes]]:
    """Yield each process and what this file of it in /proc has, without processes of other users or gone by now."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                content = (folder / name).read_bytes()
            except OSError:
                continue
            yield int(folder.name), content


def marked(name: str, value: str) -> list[int]:
    """Return the processes with this value of this environment variable, except this one and its ancestors."""
    wanted = os.fsencode(f"{name}={value}")
    found = [pid for pid, environment in process_files("environ") if wanted in environment.split(b"\0")]
    ours = _ancestors()
    return [pid for pid in found if pid not in ours]


def command_line(pid: int) -> bytes:
    """Return the arguments of a process, each with a trailing zero byte; empty if there is no such process."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _ancestors() -> set[int]:
    """Return the pids of the calling process, its parent, and so on."""
    ours, pid = set(), os.getpid()
    while pid > 1 and pid not in ours:
        ours.add(pid)
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            break
        pid = int(stat.rpartition(")")[2].split()[1])
    return ours


def die_with_parent() -> list[str]:
    """Return a prefix for a command that lets the kernel end it with its parent."""
    tool = shutil.which("setpriv")
    return [tool, "--pdeathsig", "TERM", "--"] if tool else [sys.executable, "-c", _DIE_WITH_PARENT]
