"""Metrics of an agent and its devices."""

import asyncio
import inspect
import re
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest
from agent_world import HARDWARE, RUNS

from node_agent.metering import pod_metrics
from node_agent.metering.pod_metrics import PodMetrics, PodUsage, usage_at
from node_agent.metering.usage import ContainerRun, GpuReading, MeteredUsage, PodSample, fold
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


async def test_links_have_the_counters_that_their_driver_knows(monitor):
    known = DeviceReading(pcie_replays=0, nvlink_sent_bytes=2**40, nvlink_errors={"replay": 3, "recovery": 0})
    for reading, wanted in (
        (
            known,
            {
                ("gantry_device_pcie_replays_total", "0", "GPU-0"): 0,
                ("gantry_device_nvlink_transmit_bytes_total", "0", "GPU-0"): 2**40,
                ("gantry_device_nvlink_errors_total", "0", "GPU-0", "replay"): 3,
                ("gantry_device_nvlink_errors_total", "0", "GPU-0", "recovery"): 0,
            },
        ),
        (DeviceReading(), {}),
    ):
        source = DeviceMetrics([GPU], monitor, lambda uuids, reading=reading: dict.fromkeys(uuids, reading))
        await source.refresh()
        found = values(source)
        assert {key: value for key, value in found.items() if "nvlink" in key[0] or "pcie" in key[0]} == wanted


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


def usage(task, **changes):
    made = {"cpu_cores": 0.5, "memory_bytes": 1024, "gpu_percent": None, "gpu_memory_bytes": None}
    return PodUsage(task=task, pod=3, **(made | changes))


def test_pods_keep_their_places_and_new_ones_take_the_lowest_free():
    source = PodMetrics()
    assert values(source) == {}
    source.update({10: usage(1), 20: usage(2), 30: usage(3, gpu_percent=25.0, gpu_memory_bytes=7)})
    found = values(source)
    assert [found["gantry_pod_task", place] for place in "012"] == [1, 2, 3]
    assert (found["gantry_pod_number", "0"], found["gantry_pod_cpu_cores", "0"]) == (3, 0.5)
    assert {name for name, place in found if place == "0"}.isdisjoint(
        {"gantry_pod_gpu_utilisation_percent", "gantry_pod_gpu_memory_bytes"}
    )
    assert found["gantry_pod_gpu_utilisation_percent", "2"] == 25
    assert found["gantry_pod_gpu_memory_bytes", "2"] == 7
    source.update({5: usage(9), 30: usage(3), 40: usage(4)})
    found = values(source)
    assert [found["gantry_pod_task", place] for place in "012"] == [9, 4, 3]
    assert {place for _, place in found} == {"0", "1", "2"}


def test_usage_of_pods_that_is_old_is_not_given(monkeypatch):
    source = PodMetrics()
    source.update({10: usage(1)})
    assert values(source)
    monkeypatch.setattr(pod_metrics, "STALE_S", 0.0)
    assert values(source) == {}


def test_the_usage_at_a_sample_is_that_of_running_containers():
    run = ContainerRun(name="a@1", age_ms=5_000, cpu_us=1_000_000, memory_bytes=64)
    sandbox = ContainerRun(name="b@1", own=False)
    gpus = (GpuReading(busy_ppm=500_000, memory_bytes=10), GpuReading(busy_ppm=None, memory_bytes=5))
    first = PodSample(boot="b", steady_ms=5_000, runs=(run, sandbox), gpus=gpus)
    once = fold(MeteredUsage(), first)
    found = usage_at(7, 1, MeteredUsage(), once, first)
    assert found == PodUsage(task=7, pod=1, cpu_cores=None, memory_bytes=64, gpu_percent=50.0, gpu_memory_bytes=15)
    later = replace(first, steady_ms=7_000, runs=(replace(run, cpu_us=4_000_000),), gpus=())
    found = usage_at(7, 1, once, fold(once, later), later)
    assert found == PodUsage(task=7, pod=1, cpu_cores=1.5, memory_bytes=64, gpu_percent=None, gpu_memory_bytes=None)
    after_boot = replace(later, boot="c", steady_ms=9_000)
    assert usage_at(7, 1, once, fold(once, after_boot), after_boot).cpu_cores is None
    late = replace(first, steady_ms=4_000)
    assert usage_at(7, 1, once, fold(once, late), late).cpu_cores is None
    ended = replace(later, runs=(sandbox,))
    assert usage_at(7, 1, once, fold(once, ended), ended) is None


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
