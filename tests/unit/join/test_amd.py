"""AMD's GPUs by the kernel's files."""

import os

import pytest

from node_agent.core.devices import DeviceGone, DeviceHealthy
from node_agent.drivers.docker.spec import DeviceFiles, amd_devices, amd_gpus
from node_agent.telemetry.amd import AmdSysfs
from node_agent.telemetry.hardware import HostDevice
from tests.gpu_stub.amd import add_gpu, add_processor, unplug


@pytest.fixture
def machine(tmp_path):
    add_processor(tmp_path, 0)
    add_gpu(tmp_path, 1, unique_id="a1b2", product="AMD Instinct MI300X OAM")
    add_gpu(tmp_path, 2, vram_mib=24_560)
    add_gpu(tmp_path, 10, unique_id="c3d4", vram_mib=512)
    return tmp_path


def test_gpus_are_found_and_what_draws_the_screen_is_not(machine):
    assert [(one.gpu, one.device) for one in AmdSysfs(machine).devices()] == [
        (0, HostDevice("Amd", "AMD Instinct MI300X OAM", 196_592, "AMD-a1b2")),
        (1, HostDevice("Amd", "AMD GPU 74a1", 24_560, "AMD-pci-0000-0200")),
    ]


def test_a_machine_without_the_driver(tmp_path):
    assert AmdSysfs(tmp_path).devices() == ()
    assert AmdSysfs(tmp_path).observe(["AMD-a1b2"]) == [DeviceGone(0, "the driver does not find it any more")]


def test_health(machine):
    driver = AmdSysfs(machine)
    uuids = ["GPU-1", "AMD-a1b2", "AMD-pci-0000-0200"]
    assert driver.observe(uuids) == [DeviceHealthy(1, 0), DeviceHealthy(2, 0)]
    (machine / "sys/class/drm/renderD128/device/ras/umc_err_count").write_text("ue: 2\nce: 3\n")
    assert driver.observe(uuids)[0] == DeviceHealthy(1, 2)
    unplug(machine, 1)
    assert driver.observe(uuids) == [DeviceGone(1, "the driver does not find it any more"), DeviceHealthy(2, 0)]
    add_gpu(machine, 1, unique_id="a1b2")
    assert driver.observe(uuids)[0] == DeviceHealthy(1, 0)


def test_a_card_that_does_not_answer_is_gone(machine):
    (machine / "sys/class/drm/renderD128/device/mem_info_vram_used").unlink()
    (seen,) = AmdSysfs(machine).observe(["AMD-a1b2"])
    assert isinstance(seen, DeviceGone)


def test_the_files_that_a_container_needs(machine):
    driver = AmdSysfs(machine)
    assert driver.files(()) == ((), ())
    files, groups = driver.files(("AMD-pci-0000-0200",))
    assert files == ("/dev/kfd", "/dev/dri/renderD129")
    assert groups == (str(os.getgid()),)
    arguments = amd_devices(DeviceFiles(files, groups))
    assert arguments == {"devices": [f"{file}:{file}:rw" for file in files], "group_add": list(groups)}
    assert amd_devices(DeviceFiles()) == {}
    assert amd_gpus(("GPU-1", "AMD-a1b2")) == ("AMD-a1b2",)
    with pytest.raises(LookupError, match="AMD-gone"):
        driver.files(("AMD-gone",))
