"""Keeps child processes running: one that dies is started again, later each time it dies soon."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass

from offchain.devnet.paths import LocalError
from offchain.devnet.processes import Child, die_with_parent

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 10.0
_STEADY_SECONDS = 30.0
_PATIENCE = 3


@dataclass(slots=True)
class _Kept:
    child: Child
    pidfd: int | None
    started: float
    deaths: int = 0
    due: float | None = None


class Keeper:
    """Owns the children. Deaths during start-up count against each child's patience; later ones are always mended."""

    def __init__(self) -> None:
        self._kept: list[_Kept] = []
        self.starting = True
        self.restarts = 0

    def add(self, child: Child) -> Child:
        """Start a child and keep it running."""
        pid = child.start()
        self._kept.append(_Kept(child, os.pidfd_open(pid), time.monotonic()))
        return child

    def wait(self, seconds: float, *extra: int) -> list[int]:
        """Mind the children for a while. Returns early with those of the `extra` descriptors that can be read."""
        limit = time.monotonic() + seconds
        while True:
            now = time.monotonic()
            pauses = [kept.due - now for kept in self._kept if kept.due is not None]
            room = max(0.0, min([limit - now, *pauses]))
            by_fd = {kept.pidfd: kept for kept in self._kept if kept.pidfd is not None}
            readable, _, _ = select.select([*by_fd, *extra], [], [], room)
            for fd in readable:
                if fd in by_fd:
                    self._died(by_fd[fd])
            self._revive()
            ready = [fd for fd in readable if fd not in by_fd]
            if ready or time.monotonic() >= limit:
                return ready

    def stop(self) -> None:
        """End all, the last started first."""
        for kept in reversed(self._kept):
            kept.child.stop()
            if kept.pidfd is not None:
                os.close(kept.pidfd)
        self._kept.clear()

    def _died(self, kept: _Kept) -> None:
        if kept.pidfd is not None:
            os.close(kept.pidfd)
        kept.pidfd = None
        kept.child.reap()
        if time.monotonic() - kept.started > _STEADY_SECONDS:
            kept.deaths = 0
        kept.deaths += 1
        if self.starting and kept.deaths >= _PATIENCE:
            raise LocalError(
                f"{kept.child.name} ends as soon as it is started. Its last lines:\n{kept.child.last_lines()}",
                f"The whole log is {kept.child.log_path}",
            )
        kept.due = time.monotonic() + min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (kept.deaths - 1))

    def _revive(self) -> None:
        for kept in self._kept:
            if kept.due is not None and time.monotonic() >= kept.due:
                kept.due = None
                kept.pidfd = os.pidfd_open(kept.child.start())
                kept.started = time.monotonic()
                self.restarts += 1


class Command:
    """A command that runs beside the network, from now on, until `finish` returns or `stop` ends it."""

    def __init__(self, command: list[str], env: Mapping[str, str], keeper: Keeper) -> None:
        self._keeper = keeper
        # Errors and progress go to the terminal.
        self._process = subprocess.Popen(
            [*die_with_parent(), *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=env
        )

    def finish(self) -> tuple[int, str]:
        """Wait for its end while minding the network's processes; return exit status and standard output."""
        assert self._process.stdout is not None  # noqa: S101  (asked for above)
        chunks: list[bytes] = []
        fd = self._process.stdout.fileno()
        while True:
            if self._keeper.wait(3600, fd):
                chunk = os.read(fd, 65536)
                if not chunk:
                    break
                chunks.append(chunk)
        self._process.stdout.close()
        return self._process.wait(), b"".join(chunks).decode()

    def stop(self) -> None:
        """End it, if it still runs."""
        if self._process.poll() is None:
            self._process.terminate()
        with self._process:
            pass
