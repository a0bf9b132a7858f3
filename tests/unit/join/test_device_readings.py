"""Values of GPUs for monitoring, by nvidia-ml-py over a stub and by the kernel's files of AMD."""

import contextlib

from node_agent.telemetry.device_readings import DeviceReader, DeviceReading
from tests.gpu_stub import amd
from tests.gpu_stub.build import Gpu as StubGpu

MIB = 1 << 20
SENSORS = (64, 312_500, 1_755, 2_619, 5, 16, 200, 300, 18, 0x04 | 0x40)
SLICES = [("MIG-of-readings", 1, 19_968, "NVIDIA A100-SXM4-40GB MIG 3g.20gb")]


def read(*uuids):
    with contextlib.closing(DeviceReader()) as reader:
        return reader.read(uuids)


def test_everything_that_a_driver_has_is_read(nvidia):
    nvidia([StubGpu("GPU-0", vram_mib=81_559, busy_percent=75, used_mib=1_000, uncorrected=2, sensors=SENSORS)])
    assert read("GPU-0") == {
        "GPU-0": DeviceReading(
            utilisation_percent=75,
            memory_used_bytes=1_000 * MIB,
            memory_total_bytes=81_559 * MIB,
            temperature_celsius=64,
            power_watts=312.5,
            sm_clock_mhz=1_755,
            memory_clock_mhz=2_619,
            pcie_generation=5,
            pcie_lanes=16,
            pcie_received_bytes_per_s=300 * 1024,
            pcie_sent_bytes_per_s=200 * 1024,
            nvlinks_active=18,
            ecc_corrected=2,
            ecc_uncorrected=2,
            throttled=frozenset({"power_cap", "thermal_hardware"}),
        )
    }


def test_what_a_driver_does_not_have_is_left_out(nvidia):
    nvidia([StubGpu("GPU-0", vram_mib=24_564, uncorrected=-1)])
    assert read("GPU-0") == {
        "GPU-0": DeviceReading(utilisation_percent=0, memory_used_bytes=0, memory_total_bytes=24_564 * MIB)
    }


def test_a_slice_has_its_own_memory_and_the_temperature_of_its_gpu(nvidia):
    nvidia([StubGpu("GPU-0", sensors=SENSORS, slices=SLICES)])
    found = read("MIG-of-readings")["MIG-of-readings"]
    assert (found.memory_total_bytes, found.temperature_celsius) == (19_968 * MIB, 64)
    assert (found.utilisation_percent, found.power_watts) == (None, None)


def test_a_gpu_that_is_gone_is_left_out(nvidia):
    nvidia([StubGpu("GPU-0"), StubGpu("GPU-1", state="gone")])
    assert set(read("GPU-0", "GPU-1")) == {"GPU-0"}


def test_a_machine_without_a_driver_reads_nothing(nvidia, tmp_path):
    nvidia([]).gone()
    with contextlib.closing(DeviceReader(tmp_path)) as reader:
        assert reader.read(["GPU-0", "AMD-1"]) == {}


def test_the_files_of_amd_gpus(tmp_path):
    files = amd.add_gpu(tmp_path, 1, unique_id="a1")
    sensors = files / "hwmon" / "hwmon3"
    sensors.mkdir(parents=True)
    for name, text in (("temp1_input", "51000"), ("power1_average", "203000000"), ("freq1_input", "2100000000")):
        (sensors / name).write_text(text + "\n")
    for name, text in (("gpu_busy_percent", "40"), ("mem_info_vram_used", str(7 * MIB)), ("current_link_width", "16")):
        (files / name).write_text(text + "\n")
    found = DeviceReader(tmp_path).read(["AMD-a1", "AMD-a2"])
    assert set(found) == {"AMD-a1"}
    assert found["AMD-a1"] == DeviceReading(
        utilisation_percent=40,
        memory_used_bytes=7 * MIB,
        memory_total_bytes=found["AMD-a1"].memory_total_bytes,
        temperature_celsius=51,
        power_watts=203,
        sm_clock_mhz=2_100,
        pcie_lanes=16,
    )
