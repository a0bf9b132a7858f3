"""The agent as a unit of systemd."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from node_agent.install.launch import ROOT
from offchain.errors import OurError

UNITS = Path("/etc/systemd/system")
BOOTED = Path("/run/systemd/system")
DEFAULT_NAME = "gantry-agent"
_COMMAND_S = 90


def has_systemd() -> bool:
    """Whether systemd runs this machine."""
    return BOOTED.is_dir() and shutil.which("systemctl") is not None


def unit_name(state: Path, default_state: Path) -> str:
    """One unit for each agent's folder; the usual folder's has the plain name."""
    if state == default_state:
        return f"{DEFAULT_NAME}.service"
    return f"{DEFAULT_NAME}-{hashlib.sha256(os.fsencode(state)).hexdigest()[:8]}.service"


def unit_text(state: Path, *, python: str = sys.executable, root: Path = ROOT) -> str:
    """The unit. The launcher in it starts whichever release is in use."""
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
    """See :class:`node_agent.install.service.AgentService`."""

    kind = "systemd"

    def __init__(self, state: Path, name: str, *, units: Path = UNITS) -> None:
        self.name = name
        self._state = state
        self._unit = units / name

    def running(self) -> bool:
        """See :class:`node_agent.install.service.AgentService`."""
        return self._asked("is-active", "--quiet", self.name)

    def install(self) -> None:
        """See :class:`node_agent.install.service.AgentService`."""
        wanted = unit_text(self._state)
        try:
            if not self._unit.exists() or self._unit.read_text(encoding="utf-8") != wanted:
                part = self._unit.with_name(f".{self._unit.name}.part")
                part.write_text(wanted, encoding="utf-8")
                part.chmod(0o644)
                part.replace(self._unit)
        except OSError as error:
            raise OurError(f"The unit {self._unit} cannot be written: {error.strerror}.", "Run this as root.") from None
        self._do("daemon-reload")
        self._do("enable", "--quiet", self.name)

    def start(self) -> None:
        """See :class:`node_agent.install.service.AgentService`."""
        self._do("start", self.name)

    def stop(self) -> None:
        """See :class:`node_agent.install.service.AgentService`."""
        self._do("stop", self.name)

    def restart(self) -> None:
        """See :class:`node_agent.install.service.AgentService`."""
        self._do("restart", self.name)

    def remove(self) -> None:
        """See :class:`node_agent.install.service.AgentService`."""
        if self._unit.exists():
            self._do("disable", "--quiet", "--now", self.name)
            self._unit.unlink(missing_ok=True)
            self._do("daemon-reload")

    def log(self, lines: int, *, follow: bool) -> Iterator[str]:
        """See :class:`node_agent.install.service.AgentService`."""
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
    """A word of a command line in a unit: quoted, and with nothing that systemd would replace."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _plain(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text).replace("%", "%%")
