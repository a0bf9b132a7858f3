"""Health of the host's GPUs: moves pods off failed devices, and reports them to the chain."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from node_agent.core import devices as core
from node_agent.telemetry.hardware import HostDevice
from node_agent.telemetry.ports import DeviceAgent, DeviceSource
from offchain.errors import BadReply, ChainUnreachable
from offchain.files import replace_file
from offchain.schema.chain_types._generated_chain import calls, storage

log = logging.getLogger(__name__)

OBSERVE_EVERY_S = 5.0
LISTEN_S = 1.0
REPORT_EVERY_S = 3.0
COMPARE_EVERY_S = 60.0
"""Interval of the comparison with the chain without local changes."""
FAULTS = "faults.json"


@dataclass(frozen=True, slots=True)
class XidErrors:
    """The code of the last XID error of a device, and how many there were."""

    last: int
    count: int


NO_XIDS = XidErrors(0, 0)


class DeviceMonitor:
    """The health of one host's devices. `faults`: file that stores faults until the machine is restarted."""

    def __init__(
        self,
        devices: Sequence[HostDevice],
        sources: Sequence[DeviceSource],
        faults: Path,
        *,
        now_ms: Callable[[], int],
        boot_id: str,
        observe_every_s: float = OBSERVE_EVERY_S,
        listen_s: float = LISTEN_S,
    ) -> None:
        self._devices = tuple(devices)
        self._uuids = tuple(device.uuid for device in devices)
        self._sources = tuple(sources)
        self._faults = faults
        self._now_ms = now_ms
        self._boot_id = boot_id
        self._observe_every_s = observe_every_s
        self._listen_s = listen_s
        self._state = core.initial_state(len(devices), load_faults(faults, self._uuids, boot_id))
        self._changed = asyncio.Event()
        self.xids: dict[int, XidErrors] = {}
        """XID errors of devices that had any since the agent started."""

    @property
    def state(self) -> core.DevicesState:
        return self._state

    def problems(self) -> dict[int, str]:
        """Return the problem of each failed device, for people."""
        return {index: device.why for index, device in self._state.devices.items() if not device.healthy}

    async def run(self, agent: DeviceAgent) -> None:
        """Watch until cancelled. Returns at once on a machine without real GPUs."""
        if not any(uuid is not None for uuid in self._uuids):
            return
        async with asyncio.TaskGroup() as group:
            for source in self._sources:
                group.create_task(self._watch(source, agent))
            group.create_task(self._report(agent))

    def process(self, observations: Sequence[core.Observation]) -> None:
        for one in observations:
            if isinstance(one, core.DeviceXid):
                self.xids[one.device] = XidErrors(one.code, 1 + self.xids.get(one.device, NO_XIDS).count)
        before, self._state = self._state, core.apply_observations(self._state, observations, self._now_ms())
        for index in sorted(self._state.unhealthy - before.unhealthy):
            log.error("GPU %d (%s) takes no more work: %s", index, self._name(index), self._state.devices[index].why)
        for index in sorted(before.unhealthy - self._state.unhealthy):
            log.info("GPU %d (%s) is in order again", index, self._name(index))
        if faults_of(before) != faults_of(self._state):
            save_faults(self._faults, faults_of(self._state), self._uuids, self._boot_id)
        if before.unhealthy != self._state.unhealthy:
            self._changed.set()

    async def _watch(self, source: DeviceSource, agent: DeviceAgent) -> None:
        clock = asyncio.get_running_loop()
        observed_s = float("-inf")
        try:
            while True:
                observations = await asyncio.to_thread(source.wait, self._uuids, self._listen_s)
                if clock.time() - observed_s >= self._observe_every_s:
                    observations = [*observations, *await asyncio.to_thread(source.observe, self._uuids)]
                    observed_s = clock.time()
                self.process(observations)
                self._move_pods(agent)
        finally:
            source.close()

    def _move_pods(self, agent: DeviceAgent) -> None:
        # Repeated in every round, for leases that were assigned before the chain knew.
        for index, why in self.problems().items():
            agent.devices_failed(frozenset({index}), f"GPU {index} ({self._name(index)}) is out of order: {why}.")

    async def _report(self, agent: DeviceAgent) -> None:
        while True:
            self._changed.clear()
            try:
                agrees = await self.report_once(agent)
            except (ChainUnreachable, BadReply) as error:
                log.debug("the health of the devices waits for the chain: %s", error)
                agrees = False
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), COMPARE_EVERY_S if agrees else REPORT_EVERY_S)

    async def report_once(self, agent: DeviceAgent) -> bool:
        """Report the devices' health if the chain's differs and a report is free; return whether both agree."""
        record = await agent.chain.host(agent.host)
        if record is None or record.status.tag in ("Retiring", "Retired") or len(record.devices) != len(self._uuids):
            return False
        if self._state.unhealthy == {index for index, device in enumerate(record.devices) if not device.healthy}:
            return True
        params = await agent.chain.params("Hosts")
        changed_at: int | None = await agent.chain.read(storage.hosts_health_changed_at, agent.host)
        wrong = core.health_to_report(
            (device.healthy for device in record.devices),
            self._state.unhealthy,
            changed_at,
            params.heartbeat_period_ms,
            await agent.chain.now_ms(),
        )
        if wrong is None or not await agent.send("health", calls.hosts_set_device_health(unhealthy=wrong)):
            return False
        log.info("the chain knows: %s", f"GPUs {list(wrong)} are out of order" if wrong else "all GPUs are in order")
        return True

    def _name(self, index: int) -> str:
        device = self._devices[index]
        return f"{device.model}, {device.uuid}"


def faults_of(state: core.DevicesState) -> dict[int, str]:
    return {index: device.fault for index, device in state.devices.items() if device.fault}


def load_faults(path: Path, uuids: Sequence[str | None], boot_id: str) -> dict[int, str]:
    """Load the faults since this start of the machine, by the indices of these devices."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        kept = document["faults"] if document["boot_id"] == boot_id else {}
        return {index: str(kept[uuid]) for index, uuid in enumerate(uuids) if uuid in kept}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("%s cannot be read (%s): devices count as in order until observed otherwise", path, error)
        return {}


def save_faults(path: Path, faults: Mapping[int, str], uuids: Sequence[str | None], boot_id: str) -> None:
    """Store the faults of devices until the machine is restarted."""
    kept = {str(uuids[index]): why for index, why in faults.items()}
    replace_file(path, json.dumps({"boot_id": boot_id, "faults": kept}, indent=2) + "\n")
