"""Supervision of child processes: restarts with growing pauses, bounded logs, and an orderly end.

Standard library only: the supervisor of an agent outlives the agent's updates.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from offchain.backoff import backoff
from offchain.processes import KILL_S, TERM_S, die_with_parent, write_record

FIRST_PAUSE_S = 0.5
LOG_FILES = 3
LOG_EVERY_S = 5.0
"""Interval of the check of the logs' sizes."""
PATIENCE = 3
"""Early ends of a child during start-up after which it is given up."""


class Child:
    """A process with a log and, in the folder `run`, a record of its own. The kernel ends it with its parent.

    `term_s`: time to end after SIGTERM. The log has at most :data:`LOG_FILES` files of about `log_bytes` each:
    NAME.log, NAME.log.1, and so on.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        run: Path | None,
        env: Mapping[str, str],
        term_s: float = TERM_S,
        log_bytes: int = 64 << 20,
    ) -> None:
        self.name = name
        self.command = list(command)
        self.env = dict(env)
        self.log_path = log / f"{name}.log"
        self.record_path = None if run is None else run / f"{name}.json"
        self.process: subprocess.Popen[bytes] | None = None
        self._term_s = term_s
        self._log_bytes = log_bytes

    def start(self) -> int:
        """Start it, and return the pid. Raises OSError."""
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [*die_with_parent(), *self.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.env,
                start_new_session=True,
            )
        if self.record_path is not None:
            write_record(self.record_path, self.process.pid)
        return self.process.pid

    def ended(self) -> int | None:
        """Return its exit status, or None while it runs."""
        return None if self.process is None else self.process.poll()

    def reap(self) -> int | None:
        """Wait for the process after its end, and return its exit status."""
        return None if self.process is None else self.process.wait()

    def stop(self) -> None:
        """End it, and remove its record."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(self._term_s)
            except subprocess.TimeoutExpired:
                self.note(f"{self.name} did not end within {self._term_s:g} s; it is killed")
                self.process.kill()
                self.process.wait(KILL_S)
        if self.record_path is not None:
            self.record_path.unlink(missing_ok=True)

    def note(self, text: str) -> None:
        """Add a line of the supervisor to the log; it is lost if the disk is full."""
        with contextlib.suppress(OSError), self.log_path.open("a", encoding="utf-8") as log:
            log.write(f"{time.strftime('%H:%M:%S')} SUPERVISOR {text}\n")

    def rotate_log(self) -> None:
        """Move the log's content to older files if it is too long. The process keeps its open file."""
        with contextlib.suppress(OSError):
            if self.log_path.stat().st_size <= self._log_bytes:
                return
            for number in range(LOG_FILES - 1, 1, -1):
                with contextlib.suppress(FileNotFoundError):
                    _numbered(self.log_path, number - 1).replace(_numbered(self.log_path, number))
            try:
                shutil.copyfile(self.log_path, _numbered(self.log_path, 1))
            finally:
                os.truncate(self.log_path, 0)

    def last_lines(self, count: int = 5) -> str:
        """Return the end of its log, for a message."""
        return "\n".join(f"  {line}" for line in tail_log(self.log_path, count))


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


class _SupervisedChild:
    """A child with the times of its starts and early ends."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.pidfd: int | None = None
        self.started_s = 0.0
        self.early_ends = 0
        self.due_s: float | None = 0.0
        """When it is started; None while it runs."""

    def close(self) -> None:
        if self.pidfd is not None:
            os.close(self.pidfd)
        self.pidfd = None


class Supervisor:
    """Keeps children running, in one thread. One that ends is restarted, after a pause that grows if it ends soon.

    `steady_s`: a child that ran for longer has not ended early. `give_up` raises an error if a child ends
    :data:`PATIENCE` times while `starting` is set; None: it is restarted without end.
    """

    def __init__(
        self,
        *,
        longest_pause_s: float,
        steady_s: float,
        give_up: Callable[[Child], None] | None = None,
    ) -> None:
        self._children: list[_SupervisedChild] = []
        self._longest_pause_s = longest_pause_s
        self._steady_s = steady_s
        self._give_up = give_up
        self._logs_due_s = 0.0
        self.starting = give_up is not None
        self.restarts = 0

    def add(self, child: Child) -> Child:
        """Start a child and keep it running."""
        added = _SupervisedChild(child)
        self._children.append(added)
        self._start(added)
        return child

    def wait(self, seconds: float, *extra: int) -> list[int]:
        """Supervise the children for a while. Return early with those of the `extra` descriptors that can be read."""
        limit_s = time.monotonic() + seconds
        while True:
            now_s = time.monotonic()
            due_s = [one.due_s for one in self._children if one.due_s is not None]
            by_fd = {one.pidfd: one for one in self._children if one.pidfd is not None}
            pause_s = max(0.0, min([limit_s, now_s + LOG_EVERY_S, *due_s]) - now_s)
            readable, _, _ = select.select([*by_fd, *extra], [], [], pause_s)
            for fd in readable:
                if fd in by_fd:
                    self._ended(by_fd[fd])
            for one in self._children:
                if one.due_s is not None and time.monotonic() >= one.due_s:
                    self._start(one)
                    self.restarts += 1
            self._rotate_logs()
            ready = [fd for fd in readable if fd not in by_fd]
            if ready or time.monotonic() >= limit_s:
                return ready

    def restart(self) -> None:
        """Restart all children at once."""
        for one in self._children:
            one.child.stop()
            one.close()
            one.early_ends = 0
            self._start(one)

    def stop(self) -> None:
        """Stop all children, the last started first."""
        for one in reversed(self._children):
            one.child.stop()
            one.close()
        self._children.clear()

    def _start(self, one: _SupervisedChild) -> None:
        one.started_s, one.due_s = time.monotonic(), None
        try:
            one.pidfd = os.pidfd_open(one.child.start())
        except OSError as error:
            self._plan_restart(one, f"{one.child.name} cannot be started: {error}")

    def _ended(self, one: _SupervisedChild) -> None:
        one.close()
        self._plan_restart(one, f"{one.child.name} ended with status {one.child.reap()}")

    def _plan_restart(self, one: _SupervisedChild, what: str) -> None:
        now_s = time.monotonic()
        one.early_ends = 1 if now_s - one.started_s > self._steady_s else one.early_ends + 1
        if self.starting and self._give_up is not None and one.early_ends >= PATIENCE:
            self._give_up(one.child)
        pause_s = backoff(one.early_ends - 1, FIRST_PAUSE_S, self._longest_pause_s)
        one.due_s = now_s + pause_s
        one.child.note(f"{what}; starting it again in {pause_s:.1f} s")

    def _rotate_logs(self) -> None:
        if time.monotonic() >= self._logs_due_s:
            self._logs_due_s = time.monotonic() + LOG_EVERY_S
            for one in self._children:
                one.child.rotate_log()
