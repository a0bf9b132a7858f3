"""What keeps the agent running: systemd where it runs the machine, else a supervisor of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from node_agent.install import supervise
from node_agent.install.launch import ROOT
from node_agent.install.logfile import tail_log
from node_agent.install.systemd import SystemdService, has_systemd, unit_name
from node_agent.runtime.processes import end_process, is_same_process
from offchain.errors import OurError

START_S = 30.0
STOP_S = supervise.STOP_S + 10.0
_FOLLOW_S = 0.5


class AgentService(Protocol):
    """One agent's service. Every method may be called again. Raises :class:`offchain.errors.OurError`."""

    @property
    def kind(self) -> str:
        """What it is, for people."""
        ...

    def running(self) -> bool:
        """Whether it runs: the agent is up, or about to be started again."""
        ...

    def install(self) -> None:
        """Make it known to the machine, or bring it up to date."""
        ...

    def start(self) -> None:
        """Start it. Nothing where it runs."""
        ...

    def stop(self) -> None:
        """Stop it; it is stopped when this returns. Containers run on. Nothing where it does not run."""
        ...

    def restart(self) -> None:
        """Start the agent anew, with the release that is to run now."""
        ...

    def remove(self) -> None:
        """Stop it, and have the machine forget it."""
        ...

    def log(self, lines: int, *, follow: bool) -> Iterator[str]:
        """The last lines of its log, then, with `follow`, those that come."""
        ...


class SupervisedService:
    """See :class:`AgentService`."""

    kind = "own supervisor"

    def __init__(self, state: Path) -> None:
        self._state = state

    def running(self) -> bool:
        """See :class:`AgentService`."""
        return self._process() is not None

    def install(self) -> None:
        """See :class:`AgentService`. Nothing has to be made known."""

    def start(self) -> None:
        """See :class:`AgentService`."""
        if self.running():
            return
        (self._state / "logs").mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            done = subprocess.run(
                [sys.executable, "-m", "node_agent.install.supervise", str(self._state)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=START_S,
                cwd="/",
                env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1", "PYTHONUNBUFFERED": "1"},
            )
            reason = "" if self.running() else done.stderr.strip()[-500:] or "it gives no reason"
        except subprocess.TimeoutExpired:
            reason = f"it is not up after {START_S:g} s"
        if reason:
            raise OurError(f"The supervisor does not start: {reason}", "Mend that, then try again.")

    def stop(self) -> None:
        """See :class:`AgentService`."""
        found = self._process()
        if found is not None and not end_process(*found, term_s=STOP_S):
            raise OurError(f"The supervisor (process {found[0]}) does not end.", "End it with kill -9.")

    def restart(self) -> None:
        """See :class:`AgentService`."""
        found = self._process()
        if found is None:
            self.start()
        else:
            os.kill(found[0], signal.SIGHUP)

    def remove(self) -> None:
        """See :class:`AgentService`."""
        self.stop()

    def log(self, lines: int, *, follow: bool) -> Iterator[str]:
        """See :class:`AgentService`."""
        path = self._state / supervise.LOG
        seen = path.stat() if path.exists() else None
        yield from tail_log(path, lines)
        if not follow:
            return
        place, inode = (seen.st_size, seen.st_ino) if seen is not None else (0, 0)
        rest = b""
        while True:
            if path.exists():
                with path.open("rb") as file:
                    now = os.fstat(file.fileno())
                    if now.st_ino != inode:
                        place, inode, rest = 0, now.st_ino, b""
                    file.seek(place)
                    *whole, rest = (rest + file.read()).split(b"\n")
                    place = file.tell()
                for line in whole:
                    yield line.decode(errors="replace")
            time.sleep(_FOLLOW_S)

    def _process(self) -> tuple[int, int] | None:
        """Pid and start time of the supervisor that runs."""
        try:
            record = json.loads((self._state / supervise.RECORD).read_text(encoding="utf-8"))
            found = int(record["pid"]), int(record["start_time"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return found if is_same_process(*found) else None


def service_for(state: Path, default_state: Path) -> AgentService:
    """The service that fits this machine and user."""
    if has_systemd() and os.getuid() == 0:
        return SystemdService(state, unit_name(state, default_state))
    return SupervisedService(state)
