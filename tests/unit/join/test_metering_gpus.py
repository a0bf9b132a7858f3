"""Utilisation of GPUs, by nvidia-ml-py over a stub and by the kernel's files of AMD."""

import contextlib

from node_agent.metering.gpus import MachineGpuSource
from node_agent.metering.usage import GpuReading
from tests.gpu_stub import amd
from tests.gpu_stub.build import Gpu as StubGpu

MIB = 1 << 20
SLICES = [("MIG-aaaa", 1, 19_968, "NVIDIA A100-SXM4-40GB MIG 3g.20gb")]


def test_work_and_memory_of_nvidia_gpus_and_slices(nvidia):
    nvidia([StubGpu("GPU-0", busy_percent=75, used_mib=1_000), StubGpu("GPU-1", slices=SLICES), StubGpu("GPU-2")])
    with contextlib.closing(MachineGpuSource()) as gauges:
        found = gauges.read(["GPU-0", "MIG-aaaa", "GPU-2"])
    assert found == {
        "GPU-0": GpuReading(busy_ppm=750_000, memory_bytes=1_000 * MIB),
        "MIG-aaaa": GpuReading(busy_ppm=None, memory_bytes=0),
        "GPU-2": GpuReading(busy_ppm=0, memory_bytes=0),
    }


def test_a_gpu_that_is_lost_is_left_out_and_read_again_when_it_is_back(nvidia):
    machine = nvidia([StubGpu("GPU-0"), StubGpu("GPU-1")])
    with contextlib.closing(MachineGpuSource()) as gauges:
        machine.gpus[1].state = "gone"
        machine.write()
        assert set(gauges.read(["GPU-0", "GPU-1"])) == {"GPU-0"}
        machine.gpus[1].state = "ok"
        machine.write()
        assert set(gauges.read(["GPU-0", "GPU-1"])) == {"GPU-0", "GPU-1"}


def test_a_machine_without_a_driver_reads_nothing(nvidia, tmp_path):
    nvidia([]).gone()
    gauges = MachineGpuSource(tmp_path)
    assert gauges.read(["GPU-0", "AMD-1"]) == {}
    gauges.close()


def test_work_and_memory_of_amd_gpus(tmp_path):
    one = amd.add_gpu(tmp_path, 1, unique_id="a1")
    amd.add_gpu(tmp_path, 2, unique_id="a2")
    (one / "gpu_busy_percent").write_text("40\n")
    (one / "mem_info_vram_used").write_text(f"{7 * MIB}\n")
    found = MachineGpuSource(tmp_path).read(["AMD-a1", "AMD-a2", "AMD-a3"])
    assert found == {
        "AMD-a1": GpuReading(busy_ppm=400_000, memory_bytes=7 * MIB),
        "AMD-a2": GpuReading(busy_ppm=None, memory_bytes=0),
    }
