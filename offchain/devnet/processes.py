"""Child processes that can be found and ended again, and never mistaken for another's.

A record holds pid and start time as the kernel counts it; a pid that was given to a new process does not match.
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
    """Clock ticks after boot at which a process began; None where there is none, or only its corpse is left."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])


def write_record(path: Path, pid: int) -> None:
    """Remember a process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps({"pid": pid, "start_time": start_time(pid)}), encoding="utf-8")
    part.replace(path)


def read_record(path: Path) -> int | None:
    """The pid of a remembered process that is still the same one."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        pid, began = int(record["pid"]), record["start_time"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return pid if began is not None and start_time(pid) == began else None


def end(pid: int, *, seconds: float = _STOP_SECONDS) -> None:
    """End a process: ask, wait, then force. Returns when it is gone."""
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
    """The processes whose environment has this variable with this value, but for this one and its ancestors."""
    wanted = os.fsencode(f"{name}={value}")
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # another user's, or gone by now
            if wanted in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    ours = _ancestors()
    return [pid for pid in found if pid not in ours]


def command_line(pid: int) -> bytes:
    """The arguments of a process, each with a zero byte behind it; empty where there is no such process."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _ancestors() -> set[int]:
    """Return the numbers of the calling process, its parent, and so on."""
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
    """Return a prefix of a command that has the kernel end it when its parent ends; empty where setpriv is missing."""
    tool = shutil.which("setpriv")
    return [tool, "--pdeathsig", "TERM", "--"] if tool else []


class Child:
    """A process of the local network, with a log and a record of its own. Outlives nothing: it dies with its parent."""

    def __init__(self, name: str, command: Sequence[str], *, log: Path, run: Path, env: Mapping[str, str]) -> None:
        self.name = name
        self.command = list(command)
        self.env = dict(env)
        self.log_path = log / f"{name}.log"
        self.record_path = run / f"{name}.json"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> int:
        """Start it; gives the pid."""
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
        """Its exit status, or None while it runs."""
        return None if self.process is None else self.process.poll()

    def reap(self) -> None:
        """Take note of its end."""
        if self.process is not None:
            self.process.wait()

    def stop(self) -> None:
        """End it and forget it."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(_KILL_SECONDS)
        self.record_path.unlink(missing_ok=True)

    def last_lines(self, count: int = 5) -> str:
        """The end of its log, for a message."""
        try:
            with self.log_path.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - 4096))
                lines = log.read().decode(errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(f"  {line}" for line in lines[-count:])
