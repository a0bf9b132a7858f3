"""What is left of a run among the machine's processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from offchain.processes import process_files

_SHOWN = 120


def naming(folder: Path) -> list[str]:
    """Processes that name a folder in their command line: those of the network itself, and its engine's."""
    return [f"{pid}: {line[:_SHOWN]}" for pid, line in _lines() if str(folder) in line and pid != os.getpid()]


def shims(sockets: Path) -> int:
    """Shims of the engine with these sockets."""
    return sum("containerd-shim" in line and str(sockets) in line for _, line in _lines())


def in_containers(folder: Path) -> list[str]:
    """Processes of containers whose engine keeps its data in a folder, whether that engine knows of them or not.

    Their root lies there. The folder's name has to be unique.
    """
    return [f"{pid}: {line[:_SHOWN]}" for pid, line in _lines() if folder.name in _root(pid)]


def _root(pid: int) -> str:
    """What the kernel says of the file system that a process has at its root."""
    try:
        lines = Path(f"/proc/{pid}/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    # Another process that is just leaving the machine's mounts still has all of them, below the machine's root.
    return next((line for line in lines if line.split()[4] == "/"), "")


def _lines() -> Iterator[tuple[int, str]]:
    for pid, line in process_files("cmdline"):
        yield pid, line.replace(b"\0", b" ").decode(errors="replace").strip()
