"""Supervision of child processes: one that ends is restarted, after a pause that grows if it ends soon."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass

from offchain.devnet.paths import DevnetError
from offchain.devnet.processes import Child, die_with_parent

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 10.0
_STEADY_SECONDS = 30.0
_PATIENCE = 3


@dataclass(slots=True)
class _SupervisedChild:
    child: Child
    pidfd: int | None
    started: float
    deaths: int = 0
    due: float | None = None


class ProcessSupervisor:
    """Owns the children. During start-up the restarts of each child are limited; later they are not."""

    def __init__(self) -> None:
        self._children: list[_SupervisedChild] = []
        self.starting = True
        self.restarts = 0

    def add(self, child: Child) -> Child:
        """Start a child and keep it running."""
        pid = child.start()
        self._children.append(_SupervisedChild(child, os.pidfd_open(pid), time.monotonic()))
        return child

    def wait(self, seconds: float, *extra: int) -> list[int]:
        """Supervise the children for a while. Returns early with those of the `extra` descriptors that can be read."""
        limit = time.monotonic() + seconds
        while True:
            now = time.monotonic()
            pauses = [one.due - now for one in self._children if one.due is not None]
            room = max(0.0, min([limit - now, *pauses]))
            by_fd = {one.pidfd: one for one in self._children if one.pidfd is not None}
            readable, _, _ = select.select([*by_fd, *extra], [], [], room)
            for fd in readable:
                if fd in by_fd:
                    self._died(by_fd[fd])
            self._revive()
            ready = [fd for fd in readable if fd not in by_fd]
            if ready or time.monotonic() >= limit:
                return ready

    def stop(self) -> None:
        """Stop all children, the last started first."""
        for one in reversed(self._children):
            one.child.stop()
            if one.pidfd is not None:
                os.close(one.pidfd)
        self._children.clear()

    def _died(self, one: _SupervisedChild) -> None:
        if one.pidfd is not None:
            os.close(one.pidfd)
        one.pidfd = None
        one.child.reap()
        if time.monotonic() - one.started > _STEADY_SECONDS:
            one.deaths = 0
        one.deaths += 1
        if self.starting and one.deaths >= _PATIENCE:
            raise DevnetError(
                f"{one.child.name} ends as soon as it is started. Its last lines:\n{one.child.last_lines()}",
                f"The whole log is {one.child.log_path}",
            )
        one.due = time.monotonic() + min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (one.deaths - 1))

    def _revive(self) -> None:
        for one in self._children:
            if one.due is not None and time.monotonic() >= one.due:
                one.due = None
                one.pidfd = os.pidfd_open(one.child.start())
                one.started = time.monotonic()
                self.restarts += 1


class BackgroundCommand:
    """A command that runs beside the network until `finish` returns or `stop` ends it."""

    def __init__(self, command: list[str], env: Mapping[str, str], supervisor: ProcessSupervisor) -> None:
        self._supervisor = supervisor
        # Errors and progress go to the terminal.
        self._process = subprocess.Popen(
            [*die_with_parent(), *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=env
        )

    def finish(self) -> tuple[int, str]:
        """Wait for its end while supervising the network, and return its exit status and standard output."""
        assert self._process.stdout is not None  # noqa: S101  (asked for above)
        chunks: list[bytes] = []
        fd = self._process.stdout.fileno()
        while True:
            if self._supervisor.wait(3600, fd):
                chunk = os.read(fd, 65536)
                if not chunk:
                    break
                chunks.append(chunk)
        self._process.stdout.close()
        return self._process.wait(), b"".join(chunks).decode()

    def stop(self) -> None:
        """End it if it still runs."""
        if self._process.poll() is None:
            self._process.terminate()
        with self._process:
            pass
