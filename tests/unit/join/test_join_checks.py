"""What is said of a machine that wants to be a host."""

from dataclasses import replace

import pytest

from node_agent.telemetry.hardware import HostDevice
from node_agent.telemetry.probe import Reserve
from offchain.cli.provider.machine_checks import (
    ChainFacts,
    CheckVerdict,
    EngineFacts,
    FundsFacts,
    MachineFacts,
    check_machine,
    failed,
    version_of,
)

GTY = 10**12
GPU = HostDevice("Nvidia", "NVIDIA H100", 81_559, "GPU-1")
SIMULATED = HostDevice("Nvidia", "Simulated H100", 81_559, None)
AMD = HostDevice("Amd", "AMD Instinct MI300X", 196_592, "AMD-7")
ENGINE = EngineFacts(
    "28.1.0", 2, cdi=True, cdi_devices=frozenset({"nvidia.com/gpu=GPU-1"}), runtimes=frozenset({"runc"})
)
GOOD = MachineFacts(
    engine=ENGINE,
    devices=(GPU,),
    driver="560.35",
    disk_free_gib=500,
    memory_mib=65_536,
    cores=16,
    reserve=Reserve(),
    addresses=("8.8.8.8:4434",),
    chain=ChainFacts("ws://node:9944", 7, -1_500),
    funds=FundsFacts("5P", 200 * GTY, 100 * GTY),
    systemd=True,
    root=True,
)


def found(facts, check):
    (finding,) = [finding for finding in check_machine(facts) if finding.check == check]
    return finding


def test_a_good_machine_has_nothing_to_mend():
    assert {finding.verdict for finding in check_machine(GOOD)} == {CheckVerdict.PASS}
    assert not any(finding.hint for finding in check_machine(GOOD))


def test_a_provider_reads_what_isolates_containers():
    assert "use the machine's kernel" in found(GOOD, "isolation").found
    offered = replace(GOOD, engine=replace(ENGINE, sandboxes=("runsc",)))
    assert "--runtime runsc" in found(offered, "isolation").found
    chosen = replace(GOOD, engine=replace(ENGINE, runtime="runsc", sandboxes=("runsc",)))
    assert found(chosen, "isolation").found.endswith("run under the runtime runsc, on the machine's kernel")
    tried = replace(GOOD, engine=replace(chosen.engine, sandboxed=True))
    assert found(tried, "isolation").found.endswith(
        "run under the runtime runsc, in a sandbox with a kernel of its own"
    )


BAD_ENGINE = replace(ENGINE, cdi_devices=frozenset())
OLD = replace(ENGINE, cdi=False, version="24.0.1")


@pytest.mark.parametrize(
    ("changes", "check", "verdict", "says", "hint"),
    [
        ({"engine": "no Docker engine answers"}, "Docker", "fail", "no Docker engine", "docker.io"),
        ({"engine": replace(ENGINE, version="19.3.1")}, "Docker", "fail", "19.3.1", "20.10"),
        ({"engine": replace(ENGINE, seccomp=False)}, "Docker", "fail", "cannot filter", "CONFIG_SECCOMP_FILTER"),
        ({"engine": replace(ENGINE, runtime_trouble="no runtime")}, "isolation", "fail", "no runtime", "daemon.json"),
        ({"engine": replace(ENGINE, cgroup_version=1)}, "cgroups", "warn", "version 1", "unified_cgroup_hierarchy"),
        ({"devices": "The NVIDIA driver does not answer."}, "GPUs", "fail", "does not answer", "nvidia-smi"),
        ({"devices": ()}, "GPUs", "warn", "only cores, memory and disk", "driver"),
        ({"devices": (), "kept_gpus": 2}, "GPUs", "warn", "2 kept by you", "driver"),
        ({"devices": (SIMULATED,)}, "GPUs", "warn", "simulated", "--simulate"),
        ({"engine": BAD_ENGINE}, "GPU access", "fail", "GPU-1", "--device-name-strategy=uuid"),
        ({"engine": OLD}, "GPU access", "fail", "cannot give GPUs", "runtime configure"),
        ({"engine": replace(ENGINE, cdi=False)}, "GPU access", "fail", "cannot give GPUs", "cdi generate"),
        ({"disk_free_gib": 2}, "disk", "fail", "2 GiB free", "--reserve-disk-gib"),
        ({"disk_free_gib": 9}, "disk", "warn", "few images", "Free up"),
        (
            {"disk_trouble": "the agent is not root"},
            "disk limits",
            "warn",
            "only measured every 10 s: the agent is not",
            "as root",
        ),
        ({"gate_trouble": "no init is installed"}, "mount checks", "warn", "program starts: no init", "docker-init"),
        ({"engine": replace(ENGINE, storage="vfs")}, "disk limits", "warn", "storage driver is vfs", "overlay2"),
        ({"memory_mib": 600}, "memory and cores", "fail", "600 MiB", "--reserve-memory-mib"),
        ({"reserve": Reserve(cpu_milli=16_000)}, "memory and cores", "fail", "16 cores kept", "--reserve-cpus"),
        ({"addresses": "cannot listen on UDP"}, "UDP", "fail", "cannot listen", "--bind"),
        ({"addresses": ("192.168.1.4:4434",)}, "UDP", "warn", "192.168.1.4:4434", "Forward a UDP port"),
        ({"chain": "No chain node answers"}, "node", "fail", "No chain node", "--url"),
        ({"chain": ChainFacts("ws://n", 0, 0, "0xab")}, "node", "fail", "0xab", "--genesis"),
        ({"chain": ChainFacts("ws://n", 7, 20_000)}, "clock", "warn", "20.0 s behind", "set-ntp"),
        ({"chain": ChainFacts("ws://n", 7, 3_600_000)}, "clock", "fail", "3600.0 s behind", "set-ntp"),
        ({"chain": ChainFacts("ws://n", 7, -3_600_000)}, "clock", "fail", "3600.0 s old", "makes no blocks"),
        ({"funds": FundsFacts("5P", 99 * GTY, 100 * GTY)}, "bond", "fail", "99 GTY", "Send that account"),
        ({"systemd": False}, "service", "warn", "no systemd", "at boot"),
        ({"root": False}, "service", "warn", "without root", "sudo"),
    ],
)
def test_each_trouble_is_named_with_its_hint(changes, check, verdict, says, hint):
    finding = found(replace(GOOD, **changes), check)
    assert finding.verdict == verdict
    assert says in finding.found
    assert hint in finding.hint
    assert (finding in failed(check_machine(replace(GOOD, **changes)))) == (verdict == "fail")


def test_the_engines_own_runtime_serves_where_cdi_does_not():
    engine = replace(BAD_ENGINE, runtimes=frozenset({"runc", "nvidia"}))
    assert found(replace(GOOD, engine=engine), "GPU access").verdict is CheckVerdict.PASS


def test_amd_needs_no_toolkit():
    assert not [f for f in check_machine(replace(GOOD, devices=(AMD,), engine=OLD)) if f.check == "GPU access"]


@pytest.mark.parametrize(
    ("text", "version"), [("28.1.0", (28, 1)), ("20.10.5+dfsg1", (20, 10)), ("25", (25, 0)), ("dev", (0, 0))]
)
def test_versions(text, version):
    assert version_of(text) == version
