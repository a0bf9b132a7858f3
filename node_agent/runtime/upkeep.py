"""Upkeep of the driver: repair of the isolation of pods, and their limit of disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from node_agent.core import events as ev
from node_agent.core.states import Pod
from node_agent.drivers.port import Driver, DriverError

log = logging.getLogger(__name__)

PATIENCE_S = 10
"""An engine that has not answered for this time is reported as a problem."""


class DriverUpkeep:
    """Upkeep for one driver. `emit` takes exceeded limits."""

    def __init__(
        self, driver: Driver, pod_of: Callable[[int], Pod | None], emit: Callable[[ev.PodEvent], None]
    ) -> None:
        self._driver = driver
        self._pod_of = pod_of
        self._emit = emit
        self._request_s: float | None = None
        """Start of a request to the engine that is not answered yet."""
        self._trouble = ""
        self.disk_mib: Mapping[int, int] = {}
        """Disk usage of each lease's pod in MiB, from the last measurement."""

    @property
    def trouble(self) -> str:
        """A sentence about an engine that does not answer; empty if it does."""
        waited_s = 0 if self._request_s is None else asyncio.get_running_loop().time() - self._request_s
        if waited_s >= PATIENCE_S:
            return f"the engine has not answered for {waited_s:.0f} s; its containers run on, none is started"
        return self._trouble

    async def run(self) -> None:
        """Repair the isolation of pods, and report those that use more disk than their lease has."""
        self._request_s = asyncio.get_running_loop().time()
        try:
            self.disk_mib = await self._driver.upkeep()
        except DriverError as error:
            self._trouble = str(error)
            log.warning("%s", error)
            return
        finally:
            self._request_s = None
        self._trouble = ""
        for number, mib in self.disk_mib.items():
            self._check_limit(number, mib)

    async def check_disk(self, number: int) -> None:
        """Find out whether this pod filled the disk. Raises DriverError."""
        self._check_limit(number, (await self._driver.upkeep()).get(number, 0))

    def _check_limit(self, number: int, mib: int) -> None:
        pod = self._pod_of(number)
        if pod is None or pod.spec is None:
            return
        most_mib = pod.spec.disk_gib * 1024
        if mib > most_mib:
            text = f"the pod took {mib} MiB of disk, its lease is for {most_mib}"
            self._emit(ev.LimitExceeded(number, text))
