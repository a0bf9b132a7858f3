"""Metrics of an agent and its devices."""

import asyncio
import inspect
import re
import threading
from types import SimpleNamespace

import pytest
from agent_world import HARDWARE, RUNS

from node_agent.runtime.agent import NodeAgent
from node_agent.runtime.agent_metrics import SUBJECTS, AgentMetrics
from node_agent.runtime.journal import EarningsJournal
from node_agent.telemetry import device_metrics
from node_agent.telemetry.device_metrics import DeviceMetrics
from node_agent.telemetry.device_readings import DeviceReading
from node_agent.telemetry.hardware import HostDevice
from node_agent.telemetry.watch import DeviceMonitor, XidErrors
from offchain.adapters.outbox.store import Store

GPU = HostDevice("Nvidia", "NVIDIA H100", 81_559, "GPU-0")
SIMULATED = HARDWARE.devices[0]


def values(source):
    return {(one.metric.name, *one.labels): one.value for one in source()}


@pytest.fixture
def monitor(tmp_path):
    return DeviceMonitor([GPU, SIMULATED], [], tmp_path / "faults", now_ms=lambda: 0, boot_id="")


async def test_a_device_has_the_values_that_its_driver_knows(monitor):
    reading = DeviceReading(utilisation_percent=80, power_watts=312.5, throttled=frozenset({"power_cap"}))
    monitor.xids[0] = XidErrors(31, 2)
    source = DeviceMetrics([GPU, SIMULATED], monitor, lambda uuids: dict.fromkeys(uuids, reading))
    await source.refresh()
    found = values(source)
    assert found["gantry_device_info", "0", "GPU-0", "NVIDIA H100", "false"] == 1
    assert found["gantry_device_info", "1", "", SIMULATED.model, "true"] == 1
    assert found["gantry_device_healthy", "1", ""] == 1
    assert found["gantry_device_utilisation_percent", "0", "GPU-0"] == 80
    assert found["gantry_device_power_watts", "0", "GPU-0"] == 312.5
    assert found["gantry_device_throttled", "0", "GPU-0", "power_cap"] == 1
    assert found["gantry_device_throttled", "0", "GPU-0", "thermal_hardware"] == 0
    assert found["gantry_device_xid_errors_total", "0", "GPU-0"] == 2
    assert found["gantry_device_last_xid", "0", "GPU-0"] == 31
    assert not any(name == "gantry_device_temperature_celsius" for name, *_ in found)
    assert {name for name, device, *_ in found if device == "1"} == {"gantry_device_info", "gantry_device_healthy"}


async def test_drivers_are_asked_once_in_five_seconds_and_a_driver_that_hangs_holds_one_thread(monitor, monkeypatch):
    asked, go_on = [], threading.Event()

    def read(uuids):
        asked.append(uuids)
        go_on.wait(30)
        return dict.fromkeys(uuids, DeviceReading(utilisation_percent=1))

    source = DeviceMetrics([GPU], monitor, read)
    for _ in range(3):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(source.refresh(), 0.01)
    assert not any(name == "gantry_device_utilisation_percent" for name, *_ in values(source))
    go_on.set()
    await source.refresh()
    await source.refresh()
    assert asked == [["GPU-0"]]
    assert values(source)["gantry_device_utilisation_percent", "0", "GPU-0"] == 1
    monkeypatch.setattr(device_metrics, "STALE_S", 0.0)
    assert not any(name == "gantry_device_utilisation_percent" for name, *_ in values(source))


async def test_an_agent_counts_pods_heartbeats_and_problems(world):
    world.program = RUNS
    gateways = SimpleNamespace(states=(SimpleNamespace(is_registered=True), SimpleNamespace(is_registered=False)))
    journal = EarningsJournal(Store(":memory:"))
    async with world.agent() as agent:
        source = AgentMetrics(agent, lambda: {"clock": "it is wrong"}, gateways, journal)
        lease = world.open_lease()
        await world.until(lambda: values(source)["gantry_agent_pods", "running"] and agent.heartbeat.beats)
        found = values(source)
        assert lease in agent.state.pods
    assert sum(value for (name, *_), value in found.items() if name == "gantry_agent_pods") == 1
    assert found["gantry_agent_heartbeats_total",] >= 1
    assert 0 <= found["gantry_agent_heartbeat_age_seconds",] < 30
    assert found["gantry_agent_heartbeat_period_seconds",] > 0
    assert found["gantry_agent_suspended",] == 0
    assert {one: found["gantry_agent_trouble", one] for one in SUBJECTS} == {one: one == "clock" for one in SUBJECTS}
    assert (found["gantry_agent_gateways", "attached"], found["gantry_agent_gateways", "detached"]) == (1, 1)
    assert (found["gantry_agent_earned_gty_total",], found["gantry_agent_open_leases",]) == (0, 0)


def test_the_rounded_total_is_that_of_the_journal():
    store = Store(":memory:")
    journal = EarningsJournal(store)
    for lease, (paid, fee, final) in enumerate([(10**20, 10**18, 1), (7 * 10**12, 0, 0)]):
        store.run("INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?)", lease, 0, lease, str(paid), str(fee), final)
    earned, open_leases = journal.rounded_total()
    total = journal.total()
    assert earned == pytest.approx(total.earned)
    assert open_leases == total.open_leases == 1


def test_the_subjects_are_those_of_the_agents_problems():
    written = inspect.getsource(NodeAgent.troubles.fget)
    assert set(re.findall(r'"(\w+)"(?:\]|:)', written)) == set(SUBJECTS)
