"""Child processes that can be found and ended later, and are never confused with others.

A record contains the pid and the start time by the kernel's clock; a reused pid does not match.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

_STOP_SECONDS = 10.0
_KILL_SECONDS = 5.0


def start_time(pid: int) -> int | None:
    """Return the start time of a process in clock ticks after boot; None if it does not exist, or is a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])


def write_record(path: Path, pid: int) -> None:
    """Record a process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps({"pid": pid, "start_time": start_time(pid)}), encoding="utf-8")
    part.replace(path)


def read_record(path: Path) -> int | None:
    """Return the pid of a recorded process if it is still the same one."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        pid, began = int(record["pid"]), record["start_time"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return pid if began is not None and start_time(pid) == began else None


def end(pid: int, *, seconds: float = _STOP_SECONDS) -> None:
    """End a process: terminate, wait, then kill. Returns when it is gone."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        for number, limit in ((signal.SIGTERM, seconds), (signal.SIGKILL, _KILL_SECONDS)):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, number)
            if select.select([handle], [], [], limit)[0]:
                return
    finally:
        os.close(handle)


def marked(name: str, value: str) -> list[int]:
    """Return the processes with this value of this environment variable, except this one and its ancestors."""
    wanted = os.fsencode(f"{name}={value}")
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # another user's, or gone by now
            if wanted in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
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
    """Return a prefix for a command that lets the kernel end it with its parent; empty if setpriv is missing."""
    tool = shutil.which("setpriv")
    return [tool, "--pdeathsig", "TERM", "--"] if tool else []


class Child:
    """A process of the local network, with a log and a record of its own. It ends with its parent."""

    def __init__(self, name: str, command: Sequence[str], *, log: Path, run: Path, env: Mapping[str, str]) -> None:
        self.name = name
        self.command = list(command)
        self.env = dict(env)
        self.log_path = log / f"{name}.log"
        self.record_path = run / f"{name}.json"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> int:
        """Start it, and return the pid."""
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        log: IO[bytes]
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [*die_with_parent(), *self.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.env,
                start_new_session=True,
            )
        write_record(self.record_path, self.process.pid)
        return self.process.pid

    def ended(self) -> int | None:
        """Return its exit status, or None while it runs."""
        return None if self.process is None else self.process.poll()

    def reap(self) -> None:
        """Wait for the process after its end."""
        if self.process is not None:
            self.process.wait()

    def stop(self) -> None:
        """End it, and remove its record."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(_KILL_SECONDS)
        self.record_path.unlink(missing_ok=True)

    def last_lines(self, count: int = 5) -> str:
        """Return the end of its log, for a message."""
        try:
            with self.log_path.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - 4096))
                lines = log.read().decode(errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(f"  {line}" for line in lines[-count:])
