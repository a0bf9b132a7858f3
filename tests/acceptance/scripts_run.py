"""Running scripts/up and its kin, and seeing what they leave."""

import os
import socket
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from offchain.devnet.paths import ROOT
from offchain.devnet.ports import free
from offchain.processes import command_line, process_files, read_record

COMPILING = b"offchain.services.compiling"
PODS_BRIDGES = "gtr"


@dataclass
class Scripts:
    state: Path
    genesis: Path | None = None
    """The file of a genesis patch for `up`."""
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
        return self.run("up", *self.options, *arguments)

    @property
    def options(self) -> list[str]:
        """The options of every `up`."""
        return ["--rpc-port", str(self.port), *([] if self.genesis is None else [f"--genesis-patch={self.genesis}"])]

    def start_up(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [str(self.path("up")), *self.options],
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
        """Every process that was started for this state folder, recorded or not, and lives.

        What compiles the scheduler's loops is for all clones, and is left to its end.
        """
        mine = f"GANTRY_STATE={self.state}".encode()
        return [
            pid
            for pid, environment in process_files("environ")
            if mine in environment.split(b"\0") and COMPILING not in command_line(pid)
        ]

    def traces(self) -> list[str]:
        """What a network leaves on the machine outside its folder: programs of its engine, mounts, bridges of pods."""
        folder = str(self.state)
        programs = [str(pid) for pid, line in process_files("cmdline") if f"{folder}/".encode() in line]
        mounts = [line for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines() if folder in line]
        bridges = [name for _, name in socket.if_nameindex() if name.startswith(PODS_BRIDGES)]
        return [*programs, *mounts, *bridges]

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
