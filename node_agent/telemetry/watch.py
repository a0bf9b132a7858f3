"""Watches the host's GPUs while the agent runs: moves pods off one that is out of order, and tells the chain."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from node_agent.core import devices as core
from node_agent.runtime.join_config import write_private
from node_agent.telemetry.hardware import Device
from node_agent.telemetry.source import DeviceSource
from offchain.adapters.chain.typed import GantryChain
from offchain.errors import BadReply, ChainUnreachable
from offchain.schema.chain_types._generated_chain import calls, storage
from offchain.schema.chain_types.values import Call

log = logging.getLogger(__name__)

LOOK_EVERY_S = 5.0
LISTEN_S = 1.0
TELL_EVERY_S = 3.0
COMPARE_EVERY_S = 60.0
"""The chain's own word is compared with ours now and then, even where nothing has changed here."""
FAULTS = "faults.json"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Carrier(Protocol):
    """What the watch needs of the agent."""

    @property
    def chain(self) -> GantryChain:
        """The chain's state."""
        ...

    @property
    def host(self) -> str:
        """The host's address."""
        ...

    def devices_failed(self, devices: frozenset[int], message: str) -> None:
        """Pods on these devices are to be given back. May be said again and again."""
        ...

    async def send(self, key: str, call: Call) -> bool:
        """Have a call of the host included, once at a time for each key; whether it took effect."""
        ...


class DeviceWatch:
    """The health of one host's devices. `faults` is where faults are remembered until the machine is started anew."""

    def __init__(
        self,
        devices: Sequence[Device],
        sources: Sequence[DeviceSource],
        faults: Path,
        *,
        now_ms: Callable[[], int],
        boot_id: str,
        look_every_s: float = LOOK_EVERY_S,
        listen_s: float = LISTEN_S,
    ) -> None:
        self._devices = tuple(devices)
        self._uuids = tuple(device.uuid for device in devices)
        self._sources = tuple(sources)
        self._faults = faults
        self._now_ms = now_ms
        self._boot_id = boot_id
        self._look_every_s = look_every_s
        self._listen_s = listen_s
        self._state = core.initial_state(len(devices), load_faults(faults, self._uuids, boot_id))
        self._changed = asyncio.Event()

    @property
    def state(self) -> core.DevicesState:
        """What is known of each device."""
        return self._state

    def troubles(self) -> dict[int, str]:
        """What is wrong with each device that is out of order, for people."""
        return {index: device.why for index, device in self._state.devices.items() if not device.healthy}

    async def run(self, agent: Carrier) -> None:
        """Watch until cancelled. A machine without real GPUs has nothing to watch, and nothing to tell."""
        if not any(uuid is not None for uuid in self._uuids):
            return
        async with asyncio.TaskGroup() as group:
            for source in self._sources:
                group.create_task(self._watch(source, agent))
            group.create_task(self._tell(agent))

    def take(self, seen: Sequence[core.Observation]) -> None:
        """Take note of what was seen."""
        before, self._state = self._state, core.apply_observations(self._state, seen, self._now_ms())
        for index in sorted(self._state.unhealthy - before.unhealthy):
            log.error("GPU %d (%s) takes no more work: %s", index, self._name(index), self._state.devices[index].why)
        for index in sorted(before.unhealthy - self._state.unhealthy):
            log.info("GPU %d (%s) is in order again", index, self._name(index))
        if faults_of(before) != faults_of(self._state):
            save_faults(self._faults, faults_of(self._state), self._uuids, self._boot_id)
        if before.unhealthy != self._state.unhealthy:
            self._changed.set()

    async def _watch(self, source: DeviceSource, agent: Carrier) -> None:
        clock = asyncio.get_running_loop()
        looked_s = float("-inf")
        try:
            while True:
                seen = await asyncio.to_thread(source.wait, self._uuids, self._listen_s)
                if clock.time() - looked_s >= self._look_every_s:
                    seen = [*seen, *await asyncio.to_thread(source.look, self._uuids)]
                    looked_s = clock.time()
                self.take(seen)
                self._move_pods(agent)
        finally:
            source.close()

    def _move_pods(self, agent: Carrier) -> None:
        # Said at every round: a lease that was assigned before the chain knew is given back, too.
        for index, why in self.troubles().items():
            agent.devices_failed(frozenset({index}), f"GPU {index} ({self._name(index)}) is out of order: {why}.")

    async def _tell(self, agent: Carrier) -> None:
        while True:
            self._changed.clear()
            try:
                agrees = await self.tell_once(agent)
            except (ChainUnreachable, BadReply) as error:
                log.debug("the health of the devices waits for the chain: %s", error)
                agrees = False
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), COMPARE_EVERY_S if agrees else TELL_EVERY_S)

    async def tell_once(self, agent: Carrier) -> bool:
        """Send the health of the devices where the chain has it otherwise, and the call is free. Whether both agree."""
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
    """The devices with a fault of their hardware."""
    return {index: device.fault for index, device in state.devices.items() if device.fault}


def load_faults(path: Path, uuids: Sequence[str | None], boot_id: str) -> dict[int, str]:
    """The faults remembered since this start of the machine, by the places of these devices."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        kept = document["faults"] if document["boot_id"] == boot_id else {}
        return {index: str(kept[uuid]) for index, uuid in enumerate(uuids) if uuid in kept}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("%s cannot be read (%s): devices count as in order until seen otherwise", path, error)
        return {}


def save_faults(path: Path, faults: Mapping[int, str], uuids: Sequence[str | None], boot_id: str) -> None:
    """Remember the faults of devices until the machine is started anew."""
    kept = {str(uuids[index]): why for index, why in faults.items()}
    write_private(path, json.dumps({"boot_id": boot_id, "faults": kept}, indent=2) + "\n")


def this_boot() -> str:
    """A name for the time since the machine was started; empty where the kernel gives none."""
    try:
        return BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
