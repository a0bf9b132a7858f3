"""What a running agent says of itself to other programs on the machine: `gantry agent status`, and the updater."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from node_agent.runtime.config import write_private
from node_agent.runtime.processes import is_same_process, start_time

log = logging.getLogger(__name__)

NAME = "running.json"
EVERY_S = 10.0
MAX_BYTES = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStatus:
    """A running agent. `release`: the digest of the release it was started from, empty for the installed one."""

    pid: int
    start_time: int
    release: str
    ready: bool
    started_ms: int
    said_ms: int
    addresses: tuple[str, ...] = ()
    pods: Mapping[str, str] = field(default_factory=dict)
    """Lease number to phase."""
    devices: Mapping[str, str] = field(default_factory=dict)
    """What is wrong with a GPU, by its number on the chain."""
    network: Mapping[str, Any] = field(default_factory=dict)
    troubles: Mapping[str, str] = field(default_factory=dict)
    """What keeps the host from its work, by what it is about."""
    gateways: Mapping[str, str] = field(default_factory=dict)
    """Address to `attached`, or to what is wrong."""
    suspension: Mapping[str, int] = field(default_factory=dict)
    """`since_ms`: the chain's time at which the agent saw the host's suspension begin, if it did."""


def read_status(folder: Path) -> AgentStatus | None:
    """The agent that runs with this folder; None where none does."""
    try:
        with (folder / NAME).open(encoding="utf-8") as file:
            document = json.loads(file.read(MAX_BYTES))
        found = AgentStatus(
            pid=int(document["pid"]),
            start_time=int(document["start_time"]),
            release=str(document["release"]),
            ready=bool(document["ready"]),
            started_ms=int(document["started_ms"]),
            said_ms=int(document["said_ms"]),
            addresses=tuple(map(str, document["addresses"])),
            pods=dict(document["pods"]),
            devices=dict(document["devices"]),
            network=dict(document["network"]),
            troubles=dict(document.get("troubles", {})),  # agents of older releases have none
            gateways=dict(document.get("gateways", {})),
            suspension={name: int(value) for name, value in document.get("suspension", {}).items()},
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if is_same_process(found.pid, found.start_time) else None


class StatusFile:
    """Keeps the file up to date while the agent runs. `facts` gives pods, devices and so on as they are now."""

    def __init__(
        self,
        folder: Path,
        release: str,
        addresses: tuple[str, ...],
        facts: Callable[[], Mapping[str, Mapping[str, Any]]],
        *,
        now_ms: Callable[[], int],
    ) -> None:
        self._folder = folder
        self._release = release
        self._addresses = addresses
        self._facts = facts
        self._now_ms = now_ms
        self._started_ms = now_ms()

    async def run(self, ready: asyncio.Event) -> None:
        """Say that the agent is there, then that it is ready, then how it is, until cancelled."""
        while not ready.is_set():
            self._try_to_say(ready=False)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ready.wait(), EVERY_S)
        while True:
            self._try_to_say(ready=True)
            await asyncio.sleep(EVERY_S)

    def _try_to_say(self, *, ready: bool) -> None:
        try:
            self._say(ready=ready)
        except OSError as error:  # a full disk is no reason to end
            log.warning("%s cannot be written: %s", self._folder / NAME, error)

    def _say(self, *, ready: bool) -> None:
        pid = os.getpid()
        document = {
            "pid": pid,
            "start_time": start_time(pid),
            "release": self._release,
            "ready": ready,
            "started_ms": self._started_ms,
            "said_ms": self._now_ms(),
            "addresses": self._addresses,
            **{name: dict(values) for name, values in self._facts().items()},
        }
        write_private(self._folder / NAME, json.dumps(document) + "\n")
