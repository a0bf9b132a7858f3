"""From the driver to the chain: a GPU that fails loses its pods, and the chain learns of it, once a period."""

import asyncio
import contextlib

import pytest

from node_agent.telemetry.nvml import Nvml
from node_agent.telemetry.watch import DeviceMonitor, XidErrors, load_faults
from offchain.adapters.chain.typed import GantryChain
from offchain.schema.chain_types._generated_chain import HostStatusOnline, HostStatusRetired
from tests.gpu_stub.build import eight
from tests.support.chain_records import device, host_record, hosts_params
from tests.support.fake_chain import FakeChain

HOST = "5Host"


class Carrier:
    """What the device monitor needs of an agent."""

    def __init__(self, devices):
        self.port = FakeChain()
        self.chain = GantryChain(self.port)
        self.host = HOST
        self.moved = {}
        self.sent = []
        self.changed = asyncio.Event()
        self.put(host_record("5P", status=HostStatusOnline(), devices=tuple(device() for _ in range(devices))))
        self.port.storage["Hosts", "Params"][()] = hosts_params()
        self.port.storage["Timestamp", "Now"][()] = 1_000_000

    def put(self, record):
        self.port.storage["Hosts", "Hosts"][(HOST,)] = record.encode()

    def devices_failed(self, devices, message):
        for index in devices:
            self.moved[index] = message
        self.changed.set()

    async def send(self, key, call):
        assert key == "health"
        self.sent.append(bytes(call.args["unhealthy"]))
        record = self.port.storage["Hosts", "Hosts"][(HOST,)]
        for index, listed in enumerate(record["devices"]):
            listed["healthy"] = index not in self.sent[-1]
        now = self.port.storage["Timestamp", "Now"][()]
        self.port.storage["Hosts", "HealthChangedAt"][(HOST,)] = now
        self.changed.set()
        return True

    def pass_time(self, ms):
        self.port.storage["Timestamp", "Now"][()] += ms

    async def until(self, holds):
        async with asyncio.timeout(30):
            while not holds():
                self.changed.clear()
                await self.changed.wait()


@pytest.fixture
async def watched(nvidia, tmp_path, monkeypatch):
    monkeypatch.setattr("node_agent.telemetry.watch.REPORT_EVERY_S", 0.01)
    machine = nvidia(eight())
    driver = Nvml()
    devices = [found.device for found in driver.devices()]
    carrier = Carrier(len(devices))
    driver.wait([device.uuid for device in devices], 0.001)  # from here on faults are heard
    watch = DeviceMonitor(
        devices, [driver], tmp_path / "faults", now_ms=lambda: 0, boot_id="this", observe_every_s=0.0, listen_s=0.02
    )
    running = asyncio.create_task(watch.run(carrier))
    yield machine, carrier, watch
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running


async def test_a_fault_moves_the_pods_and_reaches_the_chain(watched):
    machine, carrier, watch = watched
    machine.xid(machine.gpus[2].uuid, 13)
    machine.xid(machine.gpus[5].uuid, 79)
    await carrier.until(lambda: carrier.sent and 5 in carrier.moved)
    assert "fallen off the bus" in carrier.moved[5]
    assert "NVIDIA H100" in carrier.moved[5]
    assert carrier.sent == [b"\x05"]
    assert watch.problems().keys() == {5}
    assert watch.xids == {2: XidErrors(13, 1), 5: XidErrors(79, 1)}
    machine.xid(machine.gpus[2].uuid, 31)
    await carrier.until(lambda: watch.xids[2] == XidErrors(31, 2))


async def test_an_unplugged_gpu_is_reported_and_present_ones_are_not(watched):
    machine, carrier, _ = watched
    machine.gpus[1].state = "gone"
    machine.write()
    await carrier.until(lambda: carrier.sent)
    assert carrier.sent == [b"\x01"]
    assert set(carrier.moved) == {1}


async def test_more_than_one_change_a_period_waits(watched):
    machine, carrier, watch = watched
    machine.gpus[1].state = "lost"
    machine.write()
    await carrier.until(lambda: carrier.sent)
    machine.gpus[2].state = "lost"
    machine.write()
    await carrier.until(lambda: 2 in carrier.moved)
    await watch.report_once(carrier)
    assert carrier.sent == [b"\x01"]
    carrier.pass_time(60_000)
    await carrier.until(lambda: len(carrier.sent) > 1)
    assert carrier.sent[-1] == b"\x01\x02"


async def test_nothing_is_sent_for_a_retired_or_unknown_host(watched):
    machine, carrier, watch = watched
    carrier.put(host_record("5P", status=HostStatusRetired(), devices=tuple(device() for _ in range(8))))
    machine.gpus[1].state = "lost"
    machine.write()
    await carrier.until(lambda: 1 in carrier.moved)
    await watch.report_once(carrier)
    del carrier.port.storage["Hosts", "Hosts"][(HOST,)]
    await watch.report_once(carrier)
    assert carrier.sent == []


async def test_faults_are_remembered_until_the_machine_is_started_anew(watched, tmp_path):
    machine, carrier, watch = watched
    uuids = [gpu.uuid for gpu in machine.gpus]
    machine.xid(uuids[3], 48)
    await carrier.until(lambda: 3 in carrier.moved)
    assert load_faults(tmp_path / "faults", uuids, "this").keys() == {3}
    assert load_faults(tmp_path / "faults", list(reversed(uuids)), "this").keys() == {4}
    assert load_faults(tmp_path / "faults", uuids, "another boot") == {}
    again = DeviceMonitor(
        [found.device for found in Nvml().devices()], [], tmp_path / "faults", now_ms=lambda: 0, boot_id="this"
    )
    assert again.state.unhealthy == {3}
    assert watch.state.unhealthy == {3}


@pytest.mark.parametrize("text", ["", "[]", '{"boot_id": "this"}', '{"boot_id": "this", "faults": 3}'])
def test_a_damaged_memory_is_none(tmp_path, text):
    (tmp_path / "faults").write_text(text)
    assert load_faults(tmp_path / "faults", ["GPU-1"], "this") == {}


async def test_simulated_devices_are_not_watched(tmp_path):
    carrier = Carrier(1)
    device_watch = DeviceMonitor([], [], tmp_path / "faults", now_ms=lambda: 0, boot_id="")
    await device_watch.run(carrier)
    assert carrier.sent == []
