"""NVIDIA's GPUs by nvidia-ml-py, over a library that says what a test wants."""

import contextlib

import pytest

from node_agent.core.devices import DeviceGone, DeviceHealthy, DeviceXid
from node_agent.telemetry.hardware import HostDevice
from node_agent.telemetry.nvml import Nvml, driver_version
from node_agent.telemetry.probe import found_devices, offered
from offchain.errors import OurError
from tests.gpu_stub.build import Gpu, eight

SLICES = [
    ("MIG-aaaa", 1, 19_968, "NVIDIA A100-SXM4-40GB MIG 3g.20gb"),
    ("MIG-bbbb", 2, 4_864, "NVIDIA A100-SXM4-40GB MIG 1g.5gb"),
]


@pytest.fixture
def nvml(nvidia):
    opened = []

    def make(gpus):
        machine = nvidia(gpus)
        opened.append(Nvml())
        return machine, opened[-1]

    yield make
    for one in opened:
        one.close()


def test_eight_gpus_in_the_drivers_order(nvml):
    machine, driver = nvml(eight())
    found = driver.devices()
    assert [one.gpu for one in found] == list(range(8))
    assert [one.device.uuid for one in found] == [gpu.uuid for gpu in machine.gpus]
    assert found[0].device == HostDevice("Nvidia", "NVIDIA H100 80GB HBM3", 81_559, machine.gpus[0].uuid)
    assert driver_version() == "560.35.03"


def test_slices_are_devices_of_their_own_and_their_gpu_is_none(nvml):
    _, driver = nvml([Gpu("GPU-0"), Gpu("GPU-1", slices=SLICES)])
    found = driver.devices()
    assert [(one.gpu, one.device.uuid, one.device.parent) for one in found] == [
        (0, "GPU-0", None),
        (1, "MIG-aaaa", "GPU-1"),
        (1, "MIG-bbbb", "GPU-1"),
    ]
    assert (found[2].device.model, found[2].device.vram_mib) == (SLICES[1][3], 4_864)


def test_a_gpu_that_is_kept_is_kept_with_its_slices(nvml):
    nvml([Gpu("GPU-0"), Gpu("GPU-1", slices=SLICES)])
    found = found_devices()
    assert [device.uuid for device in offered(found, (1,))] == ["GPU-0"]
    assert [device.uuid for device in offered(found, (0,))] == ["MIG-aaaa", "MIG-bbbb"]
    with pytest.raises(OurError, match="There is no GPU 2 to keep; this machine has GPUs 0 to 1"):
        offered(found, (2,))


def test_a_gpu_that_is_lost_stands_in_the_way_of_no_other(nvml):
    machine, driver = nvml(eight())
    machine.gpus[3].state = "lost"
    machine.write()
    assert [one.gpu for one in driver.devices()] == [0, 1, 2, 4, 5, 6, 7]


def test_a_machine_without_the_driver(nvidia, monkeypatch):
    nvidia([])
    monkeypatch.delenv("GANTRY_NVML_STUB")
    driver = Nvml()
    assert not driver.there
    assert driver.devices() == ()
    assert driver.driver_version() == ""
    assert driver.wait((), 0.001) == []


def test_health_of_gpus_and_slices(nvml):
    machine, driver = nvml([Gpu("GPU-0", uncorrected=-1), Gpu("GPU-1", uncorrected=2, slices=SLICES)])
    uuids = (None, "GPU-0", "MIG-bbbb", "AMD-7", "GPU-9")
    assert driver.observe(uuids)[:2] == [DeviceHealthy(1, None), DeviceHealthy(2, 2)]
    machine.gpus[1].uncorrected = 3
    machine.write()
    assert driver.observe(uuids)[1] == DeviceHealthy(2, 3)
    assert driver.observe(uuids)[2] == DeviceGone(4, "the driver does not find it any more")


def test_fallen_off_the_bus_unplugged_and_put_back(nvml):
    machine, driver = nvml(eight())
    uuids = [gpu.uuid for gpu in machine.gpus]
    machine.gpus[5].state = "lost"
    machine.gpus[6].state = "gone"
    machine.write()
    first, second = driver.observe(uuids), driver.observe(uuids)
    for seen in (first, second):
        assert [one for one in seen if isinstance(one, DeviceGone)] == seen[5:7]
    assert "fallen off the bus" in second[5].why
    assert "does not find it" in second[6].why
    machine.gpus[5].state = machine.gpus[6].state = "ok"
    machine.write()
    driver.observe(uuids)
    assert driver.observe(uuids) == [DeviceHealthy(index, 0) for index in range(8)]


def test_the_driver_is_unloaded_and_loaded_again(nvml):
    machine, driver = nvml(eight())
    uuids = [gpu.uuid for gpu in machine.gpus]
    machine.gone()
    assert all(isinstance(one, DeviceGone) for one in driver.observe(uuids))
    assert all(one == DeviceGone(index, "the NVIDIA driver is gone") for index, one in enumerate(driver.observe(uuids)))
    machine.write()
    assert driver.observe(uuids) == [DeviceHealthy(index, 0) for index in range(8)]


def heard(driver, uuids):
    """What comes within a few waits."""
    for _ in range(50):
        if found := driver.wait(uuids, 0.1):
            return found
    return []


def test_faults_are_heard_from_the_driver(nvml):
    machine, driver = nvml(eight())
    uuids = [gpu.uuid for gpu in machine.gpus]
    assert driver.wait(uuids, 0.01) == []
    machine.xid(uuids[2], 79)
    machine.xid(uuids[4], 13)
    assert heard(driver, uuids) == [DeviceXid(2, 79)]
    assert heard(driver, uuids) == [DeviceXid(4, 13)]
    assert driver.wait(uuids, 0.01) == []


def test_a_fault_of_a_slice_is_the_slices_and_one_of_the_gpu_is_of_all_its_slices(nvml):
    machine, driver = nvml([Gpu("GPU-0"), Gpu("GPU-1", slices=SLICES)])
    uuids = ["GPU-0", "MIG-aaaa", "MIG-bbbb"]
    driver.wait(uuids, 0.01)
    machine.xid("GPU-1", 94, instance=2)
    assert heard(driver, uuids) == [DeviceXid(2, 94)]
    machine.xid("GPU-1", 79)
    assert heard(driver, uuids) == [DeviceXid(1, 79), DeviceXid(2, 79)]


def test_closing_twice_is_no_harm(nvml):
    _, driver = nvml(eight())
    driver.close()
    driver.close()
    assert driver.devices() == ()


def test_a_library_that_fails_is_one_clear_message(nvml, monkeypatch):
    machine, driver = nvml(eight())
    machine.gone()
    with contextlib.suppress(KeyError):
        monkeypatch.delenv("GANTRY_NVML_STUB")
    with pytest.raises(OurError, match="nvidia-smi"):
        driver.devices()
