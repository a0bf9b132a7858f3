"""Supervisor without systemd: restarts the agent with a growing delay and keeps its log.

Standard library only: this process outlives updates of the agent. SIGHUP restarts the agent, SIGTERM ends both. If the
supervisor is killed, the kernel ends the agent with it; containers keep running in any case.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

from node_agent.runtime.processes import start_time
from offchain.schema.backoff import backoff

RECORD = "supervisor.json"
LOCK = "supervisor.lock"
LOG = "logs/agent.log"
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 60.0
STEADY_S = 60.0
STOP_S = 30.0
CHUNK = 65_536
_PR_SET_PDEATHSIG = 1
_TO_PARENT = 63
"""The descriptor on which a foreground process waits."""


FILE_BYTES = 5 << 20
FILES = 3


class LogFile:
    """A log of bounded size: at most `files` files of `file_bytes` each, NAME, NAME.1, NAME.2, ..."""

    def __init__(self, path: Path, *, file_bytes: int = FILE_BYTES, files: int = FILES) -> None:
        self._path = path
        self._file_bytes = file_bytes
        self._files = files
        self._open()

    def write(self, data: bytes) -> None:
        """Append these bytes. They are lost if the disk is full."""
        try:
            if self._size + len(data) > self._file_bytes and self._size:
                self._turn()
            os.write(self._handle, data)
        except OSError:
            return
        self._size += len(data)

    def close(self) -> None:
        os.close(self._handle)

    def _open(self) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._handle).st_size

    def _turn(self) -> None:
        for number in range(self._files - 1, 0, -1):
            older, newer = _numbered(self._path, number), _numbered(self._path, number - 1)
            if newer.exists():
                newer.replace(older)
        os.close(self._handle)
        self._open()


def tail_log(path: Path, lines: int) -> list[str]:
    """Return the last lines of a log with its older files, oldest first."""
    found: list[str] = []
    number = 0
    while len(found) < lines and (file := _numbered(path, number)).exists():
        found = file.read_text(encoding="utf-8", errors="replace").splitlines()[-(lines - len(found)) :] + found
        number += 1
    return found


def _numbered(path: Path, number: int) -> Path:
    return path if number == 0 else path.with_name(f"{path.name}.{number}")


def restart_delay_s(deaths: int) -> float:
    """Return the delay after this number of consecutive early ends."""
    return backoff(deaths - 1, FIRST_PAUSE_S, LONGEST_PAUSE_S)


class Supervisor:
    """Supervises one child process in one thread. `command` starts it."""

    def __init__(self, command: list[str], log: LogFile) -> None:
        self._command = command
        self._log = log
        self._child: subprocess.Popen[bytes] | None = None
        self._deaths = 0
        self._started_s = 0.0
        self._due_s = 0.0
        self._stopping = False
        self._restart = False
        self._wake_r, self._wake_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def run(self) -> None:
        """Supervise the child until SIGTERM."""
        signal.set_wakeup_fd(self._wake_w, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, self._on_signal)
        while not self._stopping:
            if self._child is None and time.monotonic() >= self._due_s:
                self._start()
            self._turn()
        if self._child is not None:
            self._end_child()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number in (signal.SIGTERM, signal.SIGINT):
            self._stopping = True
        elif number == signal.SIGHUP:
            self._restart = True

    def _turn(self) -> None:
        """Wait for an event and handle it."""
        child = self._child
        pipe = child.stdout.fileno() if child is not None and child.stdout is not None else None
        limit_s = 60.0 if child is not None else max(0.0, self._due_s - time.monotonic())
        readable, _, _ = select.select([self._wake_r, *([pipe] if pipe is not None else [])], [], [], limit_s)
        if self._wake_r in readable:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_r, CHUNK)
        if pipe in readable and pipe is not None:
            self._log.write(os.read(pipe, CHUNK))
        if self._restart:
            self._restart = False
            if self._child is not None:
                self._end_child()
            self._deaths, self._due_s = 0, 0.0
        elif child is not None and child.poll() is not None:
            self._ended(child)

    def _start(self) -> None:
        self._started_s = time.monotonic()
        try:
            self._child = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                # There is one thread here, so this is safe between fork and exec.
                preexec_fn=_end_with_parent,  # noqa: PLW1509
            )
        except OSError as error:
            self._note(f"the agent cannot be started: {error}")
            self._plan_next()

    def _ended(self, child: subprocess.Popen[bytes]) -> None:
        self._drain(child)
        self._child = None
        if time.monotonic() - self._started_s > STEADY_S:
            self._deaths = 0
        self._plan_next()
        wait_s = self._due_s - time.monotonic()
        self._note(f"the agent ended with status {child.returncode}; starting it again in {wait_s:.1f} s")

    def _plan_next(self) -> None:
        self._deaths += 1
        self._due_s = time.monotonic() + restart_delay_s(self._deaths)

    def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        child.terminate()
        limit_s = time.monotonic() + STOP_S
        while child.poll() is None and time.monotonic() < limit_s:
            self._drain(child, 0.2)
        if child.poll() is None:
            self._note(f"the agent did not end within {STOP_S:g} s; it is killed")
            child.kill()
            child.wait()
        self._drain(child)

    def _drain(self, child: subprocess.Popen[bytes], wait_s: float = 0.0) -> None:
        """Read the child's output; until its end if the child has ended."""
        if child.stdout is None:
            return
        pipe = child.stdout.fileno()
        while select.select([pipe], [], [], wait_s)[0]:
            data = os.read(pipe, CHUNK)
            if not data:
                time.sleep(min(wait_s, 0.05))  # it closed its outputs and may still run
                break
            self._log.write(data)
            wait_s = 0.0
        if child.returncode is not None:
            child.stdout.close()

    def _note(self, text: str) -> None:
        self._log.write(f"{time.strftime('%H:%M:%S')} SUPERVISOR {text}\n".encode())


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)


def _is_parent() -> bool:
    """Continue in a child with its own session; return True in the parent once the child is up or has ended."""
    from_child, to_parent = os.pipe()
    if os.fork():
        os.close(to_parent)
        os.read(from_child, 1)
        return True
    os.close(from_child)
    os.setsid()
    os.dup2(to_parent, _TO_PARENT)
    os.close(to_parent)
    return False


def _let_parent_go() -> None:
    os.close(_TO_PARENT)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    os.close(nowhere)


def main(argv: list[str]) -> int:
    """Run `python -m node_agent.install.supervise STATE`: supervise this folder unless another process does.

    Goes into the background; the foreground process ends once the supervisor is up.
    """
    state = Path(argv[0]).absolute()
    os.umask(0o077)
    lock = os.open(state / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.stderr.write(f"another supervisor runs for {state}\n")
        return 1
    if _is_parent():
        return 0
    record = state / RECORD
    part = record.with_name(f".{RECORD}.part")
    part.write_text(json.dumps({"pid": os.getpid(), "start_time": start_time(os.getpid())}), encoding="utf-8")
    part.replace(record)
    log = LogFile(state / LOG)
    _let_parent_go()
    try:
        Supervisor([sys.executable, "-m", "node_agent.install.launch", str(state)], log).run()
    finally:
        log.close()
        record.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
