"""Service that keeps the agent running: systemd if it runs the machine, else the agent's own supervisor."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from node_agent.install import supervise
from node_agent.install.launch import ROOT
from offchain.errors import OurError
from offchain.files import replace_file
from offchain.processes import end, read_record, start_time
from offchain.supervisor import tail_log

START_S = 30.0
STOP_S = supervise.STOP_S + 10.0
_FOLLOW_S = 0.5


class AgentService(Protocol):
    """Service of one agent. Every method may be repeated. Raises :class:`offchain.errors.OurError`."""

    @property
    def kind(self) -> str:
        """Name for people."""

    def running(self) -> bool:
        """Whether the agent runs or is about to be restarted."""

    def install(self) -> None:
        """Install or update the service."""

    def start(self) -> None:
        """Start the agent unless it runs."""

    def stop(self) -> None:
        """Stop the agent and wait for its end. Containers keep running."""

    def restart(self) -> None:
        """Restart the agent with the release that is chosen now."""

    def remove(self) -> None:
        """Stop and uninstall the service."""

    def log(self, lines: int, *, follow: bool) -> Iterator[str]:
        """Yield the last lines of the log and, with `follow`, those that come."""


class SupervisedService:
    """Service without systemd: a supervisor process (:mod:`node_agent.install.supervise`)."""

    kind = "own supervisor"

    def __init__(self, state: Path) -> None:
        self._state = state

    def running(self) -> bool:
        return self._pid() is not None

    def install(self) -> None:
        """Do nothing: the supervisor needs no installation."""

    def start(self) -> None:
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
            raise OurError(f"The supervisor does not start: {reason}", "Fix this, then try again.")

    def stop(self) -> None:
        pid = self._pid()
        if pid is not None and not end(pid, began=start_time(pid), term_s=STOP_S):
            raise OurError(f"The supervisor (process {pid}) does not stop.", "End it with kill -9.")

    def restart(self) -> None:
        pid = self._pid()
        if pid is None:
            self.start()
        else:
            os.kill(pid, signal.SIGHUP)

    def remove(self) -> None:
        self.stop()

    def log(self, lines: int, *, follow: bool) -> Iterator[str]:
        path = self._state / supervise.LOG
        place, rest = path.stat().st_size if path.exists() else 0, b""
        yield from tail_log(path, lines)
        if not follow:
            return
        while True:
            if path.exists():
                with path.open("rb") as file:
                    if os.fstat(file.fileno()).st_size < place:  # its content was moved to an older file
                        place, rest = 0, b""
                    file.seek(place)
                    *whole, rest = (rest + file.read()).split(b"\n")
                    place = file.tell()
                for line in whole:
                    yield line.decode(errors="replace")
            time.sleep(_FOLLOW_S)

    def _pid(self) -> int | None:
        return read_record(self._state / supervise.RECORD)


def service_for(state: Path, default_state: Path) -> AgentService:
    """Return the service for this machine and user."""
    if has_systemd() and os.getuid() == 0:
        return SystemdService(state, unit_name(state, default_state))
    return SupervisedService(state)


UNITS = Path("/etc/systemd/system")
BOOTED = Path("/run/systemd/system")
DEFAULT_NAME = "gantry-agent"
_COMMAND_S = 90


def has_systemd() -> bool:
    """Whether systemd runs this machine."""
    return BOOTED.is_dir() and shutil.which("systemctl") is not None


def unit_name(state: Path, default_state: Path) -> str:
    """Return the name of the unit: one for each agent's folder, the default folder without a suffix."""
    if state == default_state:
        return f"{DEFAULT_NAME}.service"
    return f"{DEFAULT_NAME}-{hashlib.sha256(os.fsencode(state)).hexdigest()[:8]}.service"


def unit_text(state: Path, *, python: str = sys.executable, root: Path = ROOT) -> str:
    """Return the unit. The launcher in it starts the release in use."""
    start = " ".join(_quoted(part) for part in (python, "-m", "node_agent.install.launch", str(state)))
    return f"""\
# Written by gantry agent join; removed by gantry agent leave.
[Unit]
Description=Gantry agent ({_plain(str(state))})
After=network-online.target docker.service
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart={start}
Environment={_quoted(f"PYTHONPATH={root}")} PYTHONSAFEPATH=1 PYTHONUNBUFFERED=1
UMask=0077
NoNewPrivileges=yes
Restart=always
RestartSec=2
RestartSteps=5
RestartMaxDelaySec=60
# Containers belong to the engine and run on while the agent is away.
KillMode=mixed
TimeoutStopSec=30
OOMScoreAdjust=-500
LimitNOFILE=65536

[Install]
WantedBy=multi-user.target
"""


class SystemdService:
    """Service with systemd."""

    kind = "systemd"

    def __init__(self, state: Path, name: str, *, units: Path = UNITS) -> None:
        self.name = name
        self._state = state
        self._unit = units / name

    def running(self) -> bool:
        return self._asked("is-active", "--quiet", self.name)

    def install(self) -> None:
        wanted = unit_text(self._state)
        try:
            if not self._unit.exists() or self._unit.read_text(encoding="utf-8") != wanted:
                replace_file(self._unit, wanted, mode=0o644)
        except OSError as error:
            raise OurError(f"The unit {self._unit} cannot be written: {error.strerror}.", "Run this as root.") from None
        self._do("daemon-reload")
        self._do("enable", "--quiet", self.name)

    def start(self) -> None:
        self._do("start", self.name)

    def stop(self) -> None:
        self._do("stop", self.name)

    def restart(self) -> None:
        self._do("restart", self.name)

    def remove(self) -> None:
        if self._unit.exists():
            self._do("disable", "--quiet", "--now", self.name)
            self._unit.unlink(missing_ok=True)
            self._do("daemon-reload")

    def log(self, lines: int, *, follow: bool) -> Iterator[str]:
        command = ["journalctl", "--unit", self.name, "--output", "short-iso", "--no-pager", "--lines", str(lines)]
        command += ["--follow"] if follow else []
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
            try:
                for line in process.stdout or ():
                    yield line.rstrip("\n")
            finally:
                process.terminate()

    def _do(self, *arguments: str) -> None:
        done = _systemctl(*arguments)
        if done.returncode != 0:
            raise OurError(
                f"systemctl {' '.join(arguments)} failed: {done.stderr.strip()[-500:]}",
                f"Look with: systemctl status {self.name}",
            )

    def _asked(self, *arguments: str) -> bool:
        return _systemctl(*arguments).returncode == 0


def _systemctl(*arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["systemctl", *arguments], capture_output=True, text=True, check=False, timeout=_COMMAND_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OurError(f"systemctl {' '.join(arguments)} failed: {error}.", "Look with: systemctl status") from None


def _quoted(text: str) -> str:
    """Quote a word of a command line in a unit, without anything that systemd would replace."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _plain(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text).replace("%", "%%")
