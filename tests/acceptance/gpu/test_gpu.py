"""A real NVIDIA GPU: the agent finds it and reads its state, and a task computes on it, is metered and paid."""

import contextlib
import csv
import json
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from node_agent.core.devices import DeviceHealthy
from node_agent.metering.gpus import MachineGpuSource
from node_agent.telemetry.device_readings import DeviceReader
from node_agent.telemetry.nvml import Nvml, driver_version
from offchain.devnet.paths import ROOT
from offchain.schema.chain_types._generated_chain import HostStatusOnline
from offchain.schema.chain_types.ids import lease_id
from tests.integration.test_usage import the_receipt
from tests.support.local_network import TENANT, Net

pytestmark = pytest.mark.skipif(not Path("/dev/nvidiactl").exists(), reason="this machine has no NVIDIA GPU")
MANIFEST = Path(__file__).with_name("cuda_check.yaml")
COMPUTES_S = 8
"""Long enough for several samples of the agent, which meters once a second."""
FIELDS = ("uuid", "name", "memory.total", "driver_version")


def smi() -> list[dict[str, str]]:
    """Return what nvidia-smi says of each GPU."""
    command = ["nvidia-smi", f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [dict(zip(FIELDS, row, strict=True)) for row in csv.reader(done.stdout.splitlines(), skipinitialspace=True)]


def test_nvml_finds_what_nvidia_smi_shows(gpus):
    whole = [one.device for one in gpus if not one.device.mig]
    expected = smi()
    assert [(device.uuid, device.model) for device in whole] == [(one["uuid"], one["name"]) for one in expected]
    # nvidia-smi leaves out what the driver keeps for itself.
    for device, one in zip(whole, expected, strict=True):
        assert device.vram_mib == pytest.approx(int(one["memory.total"]), rel=0.02)
    assert driver_version() == expected[0]["driver_version"]


def test_a_working_gpu_is_healthy_and_sends_no_event(gpus):
    nvml = Nvml()
    uuids = [one.device.uuid for one in gpus]
    try:
        seen = nvml.observe(uuids)
        assert [type(one) for one in seen] == [DeviceHealthy] * len(gpus), seen
        assert nvml.wait(uuids, 0.2) == []
    finally:
        nvml.close()


def test_a_program_shows_in_the_readings_of_its_gpu(gpus, cuda_check):
    source = MachineGpuSource()
    uuid = gpus[0].device.uuid
    idle = source.read([uuid])[uuid]
    busiest, most = 0, 0
    try:
        with subprocess.Popen([cuda_check, "6"], stdout=subprocess.PIPE, text=True) as process:
            while process.poll() is None:
                reading = source.read([uuid])[uuid]
                busiest, most = max(busiest, reading.busy_ppm), max(most, reading.memory_bytes)
            assert process.stdout is not None
            assert json.loads(process.stdout.read())["wrong"] == 0
    finally:
        source.close()
    assert busiest > 500_000
    assert most > idle.memory_bytes + (64 << 20)


def test_the_counters_of_links_are_those_of_nvidia_smi(gpus):
    whole = [one.device.uuid for one in gpus if not one.device.mig]
    done = subprocess.run(["nvidia-smi", "-q", "-x"], capture_output=True, text=True, check=True)
    said = {one.findtext("uuid"): one for one in ET.fromstring(done.stdout).iter("gpu")}  # noqa: S314  (ours)
    with contextlib.closing(DeviceReader()) as reader:
        found = reader.read(whole)
    for uuid in whole:
        replays = said[uuid].findtext("pci/replay_counter", "N/A")
        assert found[uuid].pcie_replays == (int(replays) if replays.isdecimal() else None)
        # Links that are there have traffic and errors, or none of both if the driver does not count them.
        if found[uuid].nvlinks_active is None:
            assert (found[uuid].nvlink_received_bytes, found[uuid].nvlink_errors) == (None, None)


async def test_a_task_computes_on_the_gpu_of_its_lease(net: Net, gpus, cuda_image):
    variables = {"CUDA_IMAGE": cuda_image, "CUDA_SECONDS": str(COMPUTES_S)}
    done = await net.check("submit", MANIFEST, "--account", TENANT, "--json", env=variables)
    task = int(done.json["task"])
    await net.until(task, {"Running"})
    await net.until(task, {"Settled"})
    logs = await net.gantry("task", "logs", str(task), "--account", TENANT)
    assert "error:" not in logs.out + logs.err, logs.said
    shown = json.loads((await net.check("task", "result", str(task), "--account", TENANT)).out)
    (lease,) = await net.leases(task)
    host = await net.typed.host(lease.host)
    assert host is not None
    assert host.status == HostStatusOnline()
    leased = [host.devices[index] for index in lease.devices]
    assert not any(device.spec.simulated for device in leased)
    (seen,) = shown["devices"]
    assert shown["wrong"] == 0
    assert seen["uuid"] in {one.device.uuid for one in gpus}
    assert [seen["model"]] == [device.spec.model.decode() for device in leased]
    await net.assert_paid_once(task)
    receipt, _ = await the_receipt(net, task, "--countersign")
    # Sampled once a second; the first sample of a pod has no earlier one to compare with.
    assert receipt.totals.gpu_ms is not None
    assert receipt.totals.gpu_ms > COMPUTES_S * 1000 // 2
    assert receipt.totals.gpu_memory_peak_mib is not None
    assert receipt.totals.gpu_memory_peak_mib >= 64
    assert lease_id(task, lease.pod, lease.generation) == receipt.lease


@pytest.mark.usefixtures("gpus")
async def test_a_small_task_gets_a_share_of_the_gpu(net: Net):
    # 32 MiB and 16 processes: the hooks that bring the driver into the container run within these limits.
    done = await net.check("submit", ROOT / "examples" / "share.yaml", "--account", TENANT, "--wait", "--json")
    task = int(done.json["task"])
    shown = await net.check("task", "result", str(task), "--account", TENANT)
    assert shown.out == "my share of the GPU is 0.5\n"
    (lease,) = await net.leases(task)
    host = await net.typed.host(lease.host)
    assert host is not None
    assert [host.devices[index].spec.simulated for index in lease.devices] == [False]


async def test_a_pod_without_a_gpu_has_no_driver(net: Net, cuda_image, tmp_path):
    manifest = MANIFEST.read_text(encoding="utf-8")
    before, _, rest = manifest.partition("        reservations:\n")
    without = tmp_path / "without.yaml"
    without.write_text(before + "\n" + rest[rest.index("x-gantry:") :], encoding="utf-8")
    variables = {"CUDA_IMAGE": cuda_image, "CUDA_SECONDS": "0"}
    done = await net.gantry("submit", without, "--account", TENANT, "--wait", "--json", env=variables)
    assert done.code == 3, done.said
    logs = await net.check("task", "logs", str(done.json["task"]), "--account", TENANT)
    assert "libcuda.so.1" in logs.out + logs.err, logs.said
