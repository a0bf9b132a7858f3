"""The start gate, and the command lines of containers with it."""

import os
import platform
import subprocess
from pathlib import Path

import pytest
from agent_builders import a_service, a_spec

from node_agent.core.values import ContainerSpec
from node_agent.drivers.docker.container_paths import (
    GATE_WORDS,
    HEALTH_CHECK_WORDS,
    command_line,
    command_refusal,
    tenant_command,
    tenant_config,
)
from node_agent.drivers.docker.mount_checks import MountChecker
from node_agent.drivers.docker.spec import PodContext, container_arguments
from node_agent.drivers.docker.start_gate import StartGates, add_gate, gate_program, is_open, open_gate
from node_agent.drivers.docker.static_programs import elf, is_static
from offchain.schema.manifest.types import HealthCheck


@pytest.fixture
def gate(tmp_path):
    if platform.machine() != "x86_64":
        pytest.skip("machine code of another architecture")
    path = tmp_path / "gate"
    path.write_bytes(gate_program("x86_64"))
    path.chmod(0o555)
    return path


def test_a_gate_executes_a_program_when_it_is_opened_and_not_before(gate):
    words = [gate, "/bin/sh", "-c", 'echo "$0 $1 $FROM"; exit 7', "zero", "one two"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, env={"FROM": "here"})
    # It has slept often enough to have seen the file.
    while int(_status(process.pid)["voluntary_ctxt_switches"]) < 3:
        os.sched_yield()
    assert Path(f"/proc/{process.pid}/exe").samefile(gate)
    open_gate(gate)
    output, _ = process.communicate(timeout=10)
    assert (output, process.returncode) == (b"zero one two here\n", 7)


def _status(pid):
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def test_an_open_gate_starts_the_program_at_once_and_a_missing_program_is_an_error(gate):
    open_gate(gate)
    assert subprocess.run([gate, "/bin/true"], check=False).returncode == 0
    assert subprocess.run([gate, "/no/such/program"], check=False).returncode == 125


def test_a_gate_without_its_file_ends(gate):
    process = subprocess.Popen([gate, "/bin/true"])
    gate.unlink()
    assert process.wait(timeout=10) == 125


def test_gates_are_made_closed_and_closed_again(tmp_path):
    gates = StartGates(tmp_path)
    gates._program = elf("x86_64", b"code")
    gates.init.write_bytes(b"init")
    path = gates.make("one")
    assert not is_open(path)
    open_gate(path)
    assert is_open(path)
    gates.close(path)
    assert not is_open(path)
    with pytest.raises(OSError, match="not a gate"):
        gates.close(tmp_path.parent / "else")
    for name in ("one-1", "one1", "two"):
        gates.make(name)
    gates.forget("one")
    assert {found.name for found in tmp_path.iterdir()} == {"init", "one1", "two"}


def test_an_init_that_needs_a_loader_is_not_used():
    assert is_static(gate_program("x86_64"))
    assert not is_static(Path("/bin/sh").read_bytes())
    assert not is_static(b"")
    assert not is_static(b"#!/bin/sh\n" * 20)
    assert not is_static(gate_program("x86_64")[:100])
    assert not is_static(gate_program("x86_64")[:54] + b"\xff" * 4 + gate_program("x86_64")[58:])


def test_the_programs_of_both_architectures_are_elf_files():
    for architecture, machine in (("x86_64", 62), ("aarch64", 183)):
        data = gate_program(architecture)
        assert data[:4] == b"\x7fELF"
        assert int.from_bytes(data[18:20], "little") == machine
        assert len(data) < 512


IMAGE = {"Entrypoint": ["/entry", "a"], "Cmd": ["b"], "WorkingDir": "/app"}


@pytest.mark.parametrize(
    ("entrypoint", "command", "config", "found"),
    [
        (None, None, IMAGE, (["/entry", "a"], ["b"])),
        (None, ("c",), IMAGE, (["/entry", "a"], ["c"])),
        (("e",), None, IMAGE, (["e"], [])),
        (("e",), ("c",), IMAGE, (["e"], ["c"])),
        ((), None, IMAGE, ([], ["b"])),
        ((), ("c",), IMAGE, ([], ["c"])),
        (None, (), IMAGE, (["/entry", "a"], ["b"])),
        (None, None, {"Entrypoint": None, "Cmd": None}, ([], [])),
    ],
)
def test_a_command_line_is_put_together_as_the_engine_does(entrypoint, command, config, found):
    assert command_line(entrypoint, command, config) == found


def test_a_snapshot_has_the_tenants_command_line():
    assert tenant_command({"Entrypoint": [*GATE_WORDS, "e", "a"], "Cmd": ["c"]}) == (["e", "a"], ["c"])
    assert tenant_command({"Entrypoint": [*GATE_WORDS], "Cmd": ["c"]}) == ([], ["c"])
    assert tenant_command({"Entrypoint": ["e"], "Cmd": None}) == (["e"], [])
    check = {"Test": [*HEALTH_CHECK_WORDS, "curl", "x"], "Interval": 7}
    assert tenant_config({"Entrypoint": [*GATE_WORDS, "e"], "Cmd": ["c"], "Healthcheck": check}) == {
        "Entrypoint": ["e"],
        "Cmd": ["c"],
        "Healthcheck": {"Test": ["CMD", "curl", "x"], "Interval": 7},
    }
    assert "Healthcheck" not in tenant_config({"Cmd": ["c"], "Healthcheck": {"Test": ["NONE"]}})


@pytest.mark.parametrize(
    ("entrypoint", "command", "folder", "trouble"),
    [
        (("/proc/self/exe",), None, None, "'/proc/self/exe' lies in /proc"),
        (None, ("/proc/self/exe",), None, None),
        ((), ("/proc/self/exe",), None, "lies in /proc"),
        (("../proc/self/exe", "x"), None, None, "lies in /proc"),
        (("self/exe",), None, "/proc", "lies in /proc"),
        (("./x",), None, "/dev/shm/..", "lies in /dev"),
        (("/.gantry-init",), None, None, "lies in /.gantry-init"),
        (("exe",), None, "/proc/self", None),
        (("sh", "/proc/self/exe"), None, None, None),
    ],
)
def test_the_manifests_program_is_not_in_a_protected_folder(entrypoint, command, folder, trouble):
    found = command_refusal(entrypoint, command, folder, IMAGE)
    assert (found is None) if trouble is None else (trouble in (found or ""))


def test_a_container_starts_its_gate_first_and_its_health_check_waits_too(tmp_path):
    check = HealthCheck(("curl", "x"), 1_000, 1_000, retries=1, start_period_ms=0)
    spec = a_spec(containers=(ContainerSpec(a_service(healthcheck=check, entrypoint=None, command=("c", "d"))),))
    context = PodContext(network="net", files={}, volumes={}, cdi=True, runc=True)
    arguments = container_arguments(spec, "main", 1, image="sha256:1", context=context)
    add_gate(arguments, tmp_path / "gate", tmp_path / "init", IMAGE)
    assert arguments["entrypoint"] == ["/.gantry-gate", "/.gantry-init", "--", "/entry", "a"]
    assert arguments["command"] == ["c", "d"]
    assert arguments["healthcheck"]["Test"] == ["CMD", "/.gantry-gate", "/.gantry-init", "-s", "--", "curl", "x"]
    host = arguments["host_config"]
    assert host["init"] is False
    mounted = {mount["Target"]: (mount["Source"], mount["Type"], mount["ReadOnly"]) for mount in host["mounts"]}
    assert mounted["/.gantry-gate"] == (str(tmp_path / "gate"), "bind", True)
    assert mounted["/.gantry-init"] == (str(tmp_path / "init"), "bind", True)


@pytest.mark.parametrize(("runtime", "has_gate"), [("runc", True), ("nvidia", True), ("runsc", False), (None, False)])
async def test_containers_under_runtimes_with_a_kernel_of_their_own_have_no_gate(tmp_path, runtime, has_gate):
    gates = StartGates(tmp_path)
    gates.trouble = ""
    spec = a_spec(containers=(ContainerSpec(a_service()),))
    context = PodContext(network="net", files={}, volumes={}, cdi=True, runc=False)
    arguments = container_arguments(spec, "main", 1, image="sha256:1", context=context)
    arguments["host_config"]["runtime"] = runtime
    await MountChecker(None, None, gates).put_gate(arguments, IMAGE)
    assert arguments["host_config"]["init"] is not has_gate
    assert ((arguments["entrypoint"] or [])[:1] == ["/.gantry-gate"]) is has_gate


def test_an_empty_command_line_is_left_to_the_engine(tmp_path):
    spec = a_spec(containers=(ContainerSpec(a_service(entrypoint=None, command=None)),))
    context = PodContext(network="net", files={}, volumes={}, cdi=True, runc=True)
    arguments = container_arguments(spec, "main", 1, image="sha256:1", context=context)
    add_gate(arguments, tmp_path / "gate", tmp_path / "init", {})
    assert (arguments["entrypoint"], arguments["command"], arguments["host_config"]["init"]) == (None, None, True)
