"""Values of GPUs for monitoring, by nvidia-ml-py over a stub and by the kernel's files of AMD."""

import contextlib

from node_agent.telemetry.device_readings import DeviceReader, DeviceReading
from tests.gpu_stub import amd
from tests.gpu_stub.build import Gpu as StubGpu

MIB = 1 << 20
SENSORS = (64, 312_500, 1_755, 2_619, 5, 16, 200, 300, 18, 0x04 | 0x40)
COUNTERS = (7, 1_000, 2_000, 1, 2, 0, -1, -1)
"""Replays of PCIe; of each link: KiB sent and received, replays, recoveries and CRC errors of flow control."""
SLICES = [("MIG-of-readings", 1, 19_968, "NVIDIA A100-SXM4-40GB MIG 3g.20gb")]


def read(*uuids):
    with contextlib.closing(DeviceReader()) as reader:
        return reader.read(uuids)


def test_everything_that_a_driver_has_is_read(nvidia):
    nvidia(
        [
            StubGpu(
                "GPU-0",
                vram_mib=81_559,
                busy_percent=75,
                used_mib=1_000,
                uncorrected=2,
                sensors=SENSORS,
                counters=COUNTERS,
            )
        ]
    )
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
            pcie_replays=7,
            nvlinks_active=18,
            nvlink_received_bytes=18 * 2_000 * 1024,
            nvlink_sent_bytes=18 * 1_000 * 1024,
            nvlink_errors={"replay": 18, "recovery": 36, "crc_flit": 0},
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


def test_counters_that_a_driver_does_not_have_are_unknown_and_not_0(nvidia):
    nvidia([StubGpu("GPU-0", sensors=SENSORS), StubGpu("GPU-1", sensors=SENSORS, counters=(0, -1, 0, *[-1] * 5))])
    found = read("GPU-0", "GPU-1")
    without, some = found["GPU-0"], found["GPU-1"]
    assert (without.nvlinks_active, some.nvlinks_active) == (18, 18)
    assert (without.pcie_replays, some.pcie_replays) == (None, 0)
    assert (without.nvlink_received_bytes, without.nvlink_sent_bytes, without.nvlink_errors) == (None, None, None)
    assert (some.nvlink_received_bytes, some.nvlink_sent_bytes, some.nvlink_errors) == (0, None, None)


def test_a_gpu_without_links_has_no_traffic_of_links(nvidia):
    no_links = (*SENSORS[:8], 0, SENSORS[9])
    nvidia([StubGpu("GPU-0", sensors=no_links, counters=COUNTERS)])
    found = read("GPU-0")["GPU-0"]
    assert found.pcie_replays == 7
    assert (found.nvlinks_active, found.nvlink_received_bytes, found.nvlink_errors) == (None, None, None)


def test_a_slice_has_its_own_memory_and_the_temperature_of_its_gpu(nvidia):
    nvidia([StubGpu("GPU-0", sensors=SENSORS, counters=COUNTERS, slices=SLICES)])
    found = read("MIG-of-readings")["MIG-of-readings"]
    assert (found.pcie_replays, found.nvlink_sent_bytes) == (7, 18 * 1_000 * 1024)
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
    link = (("current_link_width", "16"), ("pcie_replay_count", "3"))
    for name, text in (("gpu_busy_percent", "40"), ("mem_info_vram_used", str(7 * MIB)), *link):
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
        pcie_replays=3,
    )
