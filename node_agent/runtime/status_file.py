"""Status of a running agent for other programs on the machine: `gantry agent status` and the updater."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

from offchain.adapters.periodic_jobs import PeriodicJobs
from offchain.files import replace_file
from offchain.processes import is_same_process, start_time

log = logging.getLogger(__name__)

NAME = "running.json"
EVERY_S = 10.0
MAX_BYTES = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStatus:
    """A running agent. `release`: digest of its release, empty for the installed code.

    Fields with a default are missing in the files of earlier releases.
    """

    pid: int
    start_time: int
    release: str
    ready: bool
    started_ms: int
    said_ms: int
    addresses: tuple[str, ...] = ()
    pods: Mapping[str, str] = field(default_factory=dict)
    """Phases by lease number."""
    devices: Mapping[str, str] = field(default_factory=dict)
    """Problems of GPUs by their index on the chain."""
    network: Mapping[str, Any] = field(default_factory=dict)
    troubles: Mapping[str, str] = field(default_factory=dict)
    """Problems that keep the host from its work, by subject."""
    gateways: Mapping[str, str] = field(default_factory=dict)
    """By address: `attached`, or the problem."""
    suspension: Mapping[str, int] = field(default_factory=dict)
    """`since_ms`: chain time at which the agent saw the suspension begin, if it did."""
    challenge: Mapping[str, str] = field(default_factory=dict)
    """`state`: what is done about the open challenge of the host, if there is one; `last`: how the last ended."""


_STATUS: Final = TypeAdapter(AgentStatus)


def read_status(folder: Path) -> AgentStatus | None:
    """Return the status of the agent that runs with this folder; None if none does."""
    try:
        with (folder / NAME).open(encoding="utf-8") as file:
            found = _STATUS.validate_json(file.read(MAX_BYTES))
    except (OSError, ValueError):
        return None
    return found if is_same_process(found.pid, found.start_time) else None


class StatusFile:
    """Keeps the status file up to date while the agent runs. `facts` returns pods, devices and so on."""

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
        """Write the status until cancelled: first that the agent starts, then that it is ready."""
        async with PeriodicJobs() as jobs:
            jobs.add("status file", lambda: self._try_to_write(ready=ready.is_set()), EVERY_S)
            await ready.wait()
            self._try_to_write(ready=True)
            await asyncio.Event().wait()

    def _try_to_write(self, *, ready: bool) -> None:
        try:
            self._write(ready=ready)
        except OSError as error:  # a full disk must not end the agent
            log.warning("%s cannot be written: %s", self._folder / NAME, error)

    def _write(self, *, ready: bool) -> None:
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
        replace_file(self._folder / NAME, json.dumps(document) + "\n")
