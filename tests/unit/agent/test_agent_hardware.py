"""Hardware profiles, the probe, announced capabilities, and heartbeat times."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from node_agent.chain.registration import hardware_spec
from node_agent.core.host_presence import PresenceCall, due_calls
from node_agent.drivers.docker.engine_features import offers_cdi_devices
from node_agent.runtime.settings import AgentSettings, check_isolation, probe_hardware
from node_agent.telemetry import hardware as hw
from node_agent.telemetry.probe import Reserve, capabilities_of, probe, tier_of
from offchain.errors import OurError
from offchain.schema.chain_types._generated_chain import (
    Capabilities,
    HostStatusOnline,
    HostStatusRetired,
    HostStatusUnverified,
    HostStatusVerified,
    Tier,
)
from tests.support.chain_records import host_record


def record(status=None, *, last_heartbeat=1_000_000, endpoint=b"here"):
    return host_record("5P", status=status or HostStatusOnline(), last_heartbeat=last_heartbeat, endpoint=endpoint)


@pytest.mark.parametrize(
    ("host", "now_ms", "wanted"),
    [
        (record(), 1_000_000, set()),
        (record(), 1_047_999, set()),
        (record(), 1_048_000, {PresenceCall.HEARTBEAT}),
        (record(last_heartbeat=0), 1, {PresenceCall.HEARTBEAT}),
        (record(HostStatusVerified()), 1_000_000, {PresenceCall.HEARTBEAT}),
        (record(endpoint=b"there"), 1_000_000, {PresenceCall.ENDPOINT}),
        (record(HostStatusRetired(), endpoint=b"there"), 9_000_000, set()),
        (record(HostStatusUnverified()), 9_000_000, set()),
        # The chain lets nobody challenge a host that is silent.
        (replace(record(HostStatusUnverified()), answers_challenges=True), 9_000_000, {PresenceCall.HEARTBEAT}),
    ],
)
def test_what_is_due(host, now_ms, wanted):
    assert due_calls(host, 60_000, b"here", now_ms) == wanted


@pytest.mark.parametrize("name", hw.profile_names())
def test_profiles_that_ship_are_simulated(name):
    devices = hw.load_profile(name)
    assert devices
    assert all(device.simulated and device.model.startswith("Simulated ") for device in devices)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "not valid"),
        ('{"devices": [{"vendor": "Nvidia", "model": "x"}]}', "vram_mib"),
        ('{"devices": [{"vendor": "ACME", "model": "x", "vram_mib": 1}]}', "ACME"),
        ('{"devices": [{"vendor": "Amd", "model": "", "vram_mib": 1}]}', "model"),
        ('{"devices": [{"vendor": "Amd", "model": "x", "vram_mib": -1}]}', "vram_mib"),
        (json.dumps({"devices": [{"vendor": "Amd", "model": "x", "vram_mib": 1}] * 17}), "17 devices"),
    ],
)
def test_a_bad_profile_is_one_clear_message(tmp_path, content, says):
    path = tmp_path / "profile.json"
    path.write_text(content)
    with pytest.raises(OurError, match=says):
        hw.load_profile(str(path))


def test_an_unknown_profile_names_those_there_are():
    with pytest.raises(OurError, match="a100x2"):
        hw.load_profile("b200x99")


def test_the_probe_subtracts_the_owners_reserve(tmp_path):
    simulated = hw.load_profile("a100x2")
    everything = probe(tmp_path, Reserve(0, 0, 0), simulated)
    left = probe(tmp_path, Reserve(500, 100, 1), simulated)
    assert everything.cpu_milli - left.cpu_milli == 500
    assert everything.memory_mib - left.memory_mib == 100
    assert left.devices == simulated
    with pytest.raises(OurError, match="CPU"):
        probe(tmp_path, Reserve(cpu_milli=10_000_000), simulated)


def test_hardware_survives_the_file_and_reaches_the_chain(tmp_path):
    devices = (*hw.load_profile("rtx4090"), hw.HostDevice("Nvidia", "Real", 5, "GPU-5"))
    runs = Capabilities(docker=True, kvm=True, kubernetes=False, cdi=True, mig=False, shares=False, sandboxed=True)
    hardware = hw.Hardware(1, 2, 3, devices, Tier.PROFESSIONAL, runs)
    hw.save(tmp_path / "hardware.json", hardware)
    assert hw.load(tmp_path / "hardware.json") == hardware
    assert hw.load(tmp_path / "none.json") is None
    spec = hardware_spec(hardware)
    assert [device.simulated for device in spec.devices] == [True, False]
    assert (spec.tier, spec.capabilities, spec.network_mbps_down, spec.network_mbps_up) == (
        Tier.PROFESSIONAL,
        runs,
        0,
        0,
    )


@pytest.mark.parametrize(
    ("models", "tier"),
    [
        ((), Tier.CONSUMER),
        (("NVIDIA GeForce RTX 4090",), Tier.CONSUMER),
        (("NVIDIA RTX A6000",), Tier.PROFESSIONAL),
        (("NVIDIA RTX 6000 Ada Generation",), Tier.PROFESSIONAL),
        (("NVIDIA A100-SXM4-80GB",), Tier.DATACENTER),
        (("NVIDIA GeForce RTX 3090", "Tesla T4"), Tier.DATACENTER),
    ],
)
def test_the_tier_is_that_of_the_best_model(models, tier):
    assert tier_of([hw.HostDevice("Nvidia", model, 1, "GPU-1") for model in models]) is tier


def test_mig_is_announced_if_there_are_slices():
    assert capabilities_of(()) == hw.DOCKER_ONLY
    sliced = hw.HostDevice("Nvidia", "A100", 1, "GPU-1", mig=True)
    assert capabilities_of((sliced,)) == replace(hw.DOCKER_ONLY, mig=True)


class _EngineWithCdi:
    """An engine that reads CDI files in one folder."""

    def __init__(self, *folders: Path) -> None:
        self._folders = folders

    def info(self) -> dict[str, list[str]]:
        return {"CDISpecDirs": [str(folder) for folder in self._folders]}

    def close(self) -> None:
        pass


CDI_FILE = """
kind: nvidia.com/gpu
devices:
  - name: GPU-1
  - name: GPU-2
"""


def test_cdi_is_announced_where_the_engine_offers_every_gpu_by_it(tmp_path, monkeypatch):
    (tmp_path / "nvidia.yaml").write_text(CDI_FILE)
    (tmp_path / "broken.json").write_text("{")
    monkeypatch.setattr("node_agent.drivers.docker.engine_features.Engine.client", lambda *_: _EngineWithCdi(tmp_path))
    assert offers_cdi_devices(None, ["GPU-1", "GPU-2"])
    assert not offers_cdi_devices(None, ["GPU-1", "GPU-3"])
    assert not offers_cdi_devices(None, [])
    # An engine that does not read the folder: CDI is switched off.
    monkeypatch.setattr("node_agent.drivers.docker.engine_features.Engine.client", lambda *_: _EngineWithCdi())
    assert not offers_cdi_devices(None, ["GPU-1"])


def test_no_cdi_is_announced_without_an_engine(tmp_path):
    assert not offers_cdi_devices(f"unix://{tmp_path}/none.sock", ["GPU-1"])


def test_no_capability_is_announced_that_no_driver_provides(monkeypatch):
    # A machine whose owner may use /dev/kvm.
    monkeypatch.setattr("os.access", lambda *_: True)
    found = capabilities_of(())
    assert (found.kvm, found.kubernetes) == (False, False)


def test_a_file_of_the_first_release_is_read(tmp_path):
    path = tmp_path / "hardware.json"
    path.write_text('{"cpu_milli": 1, "memory_mib": 2, "disk_gib": 3, "devices": []}')
    assert hw.load(path) == hw.Hardware(1, 2, 3, ())


def test_a_file_from_before_shares_allows_none(tmp_path):
    path = tmp_path / "hardware.json"
    before = {"docker": True, "kvm": True, "kubernetes": False, "cdi": True, "mig": False}
    kept = {"cpu_milli": 1, "memory_mib": 2, "disk_gib": 3, "devices": [], "capabilities": before}
    path.write_text(json.dumps(kept))
    found = hw.load(path)
    assert found is not None
    assert found.capabilities == Capabilities.decode({**before, "shares": False, "sandboxed": False})


@pytest.mark.parametrize("works", [True, False])
def test_a_sandbox_is_announced_where_a_trial_of_the_runtime_showed_it(tmp_path, monkeypatch, works):
    tried = []
    monkeypatch.setattr("node_agent.runtime.settings.is_sandboxed", lambda *given: tried.append(given) or works)
    settings = AgentSettings(url="ws://node:9944", state=tmp_path, simulate="rtx4090", runtime="runsc")
    assert probe_hardware(settings).capabilities.sandboxed is works
    assert tried == [(None, "runsc")]


def test_no_sandbox_is_announced_without_a_runtime_or_without_an_engine(tmp_path):
    settings = AgentSettings(url="ws://node:9944", state=tmp_path, simulate="rtx4090")
    assert not probe_hardware(settings).capabilities.sandboxed
    away = replace(settings, runtime="runsc", docker_host=f"unix://{tmp_path}/none.sock")
    assert not probe_hardware(away).capabilities.sandboxed


def test_an_agent_does_not_isolate_pods_less_than_its_host_is_registered_with():
    plain, sandboxed = hw.DOCKER_ONLY, replace(hw.DOCKER_ONLY, sandboxed=True)
    told: list[str] = []
    check_isolation(sandboxed, sandboxed=True, warn=told.append)
    check_isolation(plain, sandboxed=False, warn=told.append)
    assert told == []
    check_isolation(plain, sandboxed=True, warn=told.append)
    assert len(told) == 1
    with pytest.raises(OurError, match="registered as one that runs pods in a sandbox"):
        check_isolation(sandboxed, sandboxed=False, warn=told.append)


def test_a_known_result_of_the_trial_is_not_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr("node_agent.runtime.settings.is_sandboxed", lambda *_: pytest.fail("the runtime was tried"))
    settings = AgentSettings(url="ws://node:9944", state=tmp_path, simulate="rtx4090", runtime="runsc")
    assert probe_hardware(settings, sandboxed=True).capabilities.sandboxed


def test_shares_are_announced_if_the_owner_allows_them(tmp_path):
    settings = AgentSettings(url="ws://node:9944", state=tmp_path, simulate="rtx4090", share_gpus=True)
    assert probe_hardware(settings).capabilities.shares
    assert not probe_hardware(replace(settings, share_gpus=False)).capabilities.shares
