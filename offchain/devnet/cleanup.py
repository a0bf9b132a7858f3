"""Removal of a local network: its remaining processes, and its files but the logs."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Final

from offchain.devnet import engine
from offchain.devnet.paths import ROOT, DevnetPaths
from offchain.files import part_of
from offchain.processes import command_line, end, marked, read_record

MARK: Final = "GANTRY_LOCAL_NETWORK"
"""Environment variable of all processes of a local network, and of no other: the network's state folder."""
_CLEAR_SECONDS = 60.0
_LOOKS = 5


def clean(paths: DevnetPaths) -> bool:
    """End the remaining processes of a network, and remove its files but the logs.

    Return whether anything was running.
    """
    found = False
    records = sorted(paths.run.glob("*.json"), key=lambda path: (path.stem == "docker", path.stem != "supervisor"))
    for record in records:
        if record.stem == "docker":
            continue
        pid = read_record(record)
        if pid is not None and pid != os.getpid():
            found = True
            end(pid, term_s=40 if record.stem == "supervisor" else 10)
        record.unlink(missing_ok=True)
    # Those without a record: commands beside the network, and what a supervisor had just started when it was killed.
    # The kernel ends a child with its parent only once the child has asked for that. Each may have started another
    # process before its own end.
    found = _end_all(lambda: _unrecorded(paths)) or found
    found = read_record(paths.run / "docker.json") is not None or found
    shared = paths.shared_engine_file
    used = [shared.read_text(encoding="utf-8")] if shared.is_file() else []
    had_pods = paths.agent.exists()
    engine.remove_private_engine(paths)
    if had_pods or found:
        _clear(str(paths.agent), *used)
    # What the engine had started itself, iptables for example, may outlive it for a moment.
    _end_all(lambda: marked(MARK, str(paths.state)))
    kept = (paths.node, paths.workers, paths.index, paths.gateway, paths.agent, paths.monitoring, paths.run)
    for folder in kept:
        shutil.rmtree(folder, ignore_errors=True)
    for file in (paths.network_file, paths.env_file):
        file.unlink(missing_ok=True)
        # Left by one who was killed while it wrote.
        part_of(file).unlink(missing_ok=True)
    return found


def _end_all(look: Callable[[], list[int]]) -> bool:
    """End the processes that `look` finds until it finds none; return whether there were any."""
    found = False
    for _ in range(_LOOKS):
        left = look()
        if not left:
            break
        found = True
        for pid in left:
            end(pid)
    return found


def _unrecorded(paths: DevnetPaths) -> list[int]:
    """Return the processes of a network except those of its Docker engine, which end with the engine."""
    engine_files = os.fsencode(paths.sockets)
    return [pid for pid in marked(MARK, str(paths.state)) if engine_files not in command_line(pid)]


def _clear(*what: str) -> None:
    """Run the agent's removal of what it has created on this machine. See node_agent.drivers.docker.clear."""
    command = [sys.executable, "-m", "node_agent.drivers.docker.clear", *what]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"}
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(command, env=env, check=False, timeout=_CLEAR_SECONDS, stdout=subprocess.DEVNULL)
