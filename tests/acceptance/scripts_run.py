"""Running scripts/up and its kin, and seeing what they leave."""

from __future__ import annotations

import contextlib
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from offchain.local.ports import free
from offchain.local.process import read_record

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass
class Scripts:
    state: Path
    port: int = field(default_factory=free)
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def env(self) -> dict[str, str]:
        return {**os.environ, "GANTRY_STATE": str(self.state)}

    def path(self, name: str) -> Path:
        return ROOT / "scripts" / name

    def run(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.path(name)), *arguments], env=self.env, capture_output=True, text=True, check=False, timeout=300
        )

    def up(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run("up", "--rpc-port", str(self.port), *arguments)

    def start_up(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [str(self.path("up")), "--rpc-port", str(self.port)],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def running(self) -> dict[str, int]:
        """The recorded processes that live, by name."""
        found = {path.stem: read_record(path) for path in (self.state / "run").glob("*.json")}
        return {name: pid for name, pid in found.items() if pid is not None}

    def processes(self) -> list[int]:
        """Every process that was started for this state folder, recorded or not, and lives."""
        mine = f"GANTRY_STATE={self.state}".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mine in path.read_bytes().split(b"\0"):
                    found.append(int(path.parent.name))
        return found

    def left(self) -> list[str]:
        """What is in the state folder besides logs and the empty lock."""
        return sorted(path.name for path in self.state.iterdir() if path.name not in ("log", "lock"))


def read_until(stream: IO[str] | None, start: str) -> list[str]:
    """The lines up to the one that starts so. Fails where the stream ends before."""
    assert stream is not None
    lines = []
    for line in stream:
        lines.append(line)
        if line.startswith(start):
            return lines
    raise AssertionError(f"no line starts with {start!r}: {lines}")
