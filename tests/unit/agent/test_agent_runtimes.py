"""OCI runtimes that a provider may choose for tenants' containers. No engine needed."""

import platform
import subprocess
from dataclasses import replace

import docker
import pytest
import requests
from agent_builders import HOST, MANIFEST, a_lease

from node_agent.core.admission import LeaseRejected, admit, read_manifest
from node_agent.core.values import HostFailure, PodSpec
from node_agent.drivers.docker.engine_features import (
    Isolation,
    OciRuntime,
    checked_runtime,
    choose_runtime,
    isolation_of,
    sandboxing_runtimes,
    trial_program,
    why_not_sandboxed,
)
from node_agent.drivers.docker.spec import PodContext, container_arguments, pod_sandbox_arguments

GVISOR = {"path": "/usr/bin/runsc", "runtimeArgs": ["--platform=ptrace", "--network=host"]}
RUNTIMES = {
    "runc": {"path": "runc"},
    "crun": {"path": "/usr/bin/crun"},
    "runsc": GVISOR,
    "runsc-gpu": {"path": "/opt/runsc", "runtimeArgs": ["-network=host", "--nvproxy=true"]},
    "runsc-alone": {"path": "/usr/bin/runsc"},
    "kata": {"runtimeType": "io.containerd.kata.v2"},
}


@pytest.mark.parametrize(
    ("name", "isolation"),
    [
        ("runc", Isolation.KERNEL),
        ("crun", Isolation.KERNEL),
        ("runsc", Isolation.GVISOR),
        ("runsc-alone", Isolation.GVISOR),
        ("kata", Isolation.KATA),
    ],
)
def test_the_isolation_follows_from_the_runtimes_program(name, isolation):
    assert isolation_of(RUNTIMES[name]) is isolation


def test_a_runtime_is_chosen_by_its_name():
    assert choose_runtime("crun", RUNTIMES) == OciRuntime("crun", Isolation.KERNEL)
    assert choose_runtime("runsc", RUNTIMES) == OciRuntime("runsc", Isolation.GVISOR, gpus=False, more_pids=256)
    assert choose_runtime("runsc-gpu", RUNTIMES).gpus
    assert (choose_runtime("runsc", RUNTIMES).sandboxed, choose_runtime("crun", RUNTIMES).sandboxed) == (True, False)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("runs", "no runtime 'runs'; it has: crun, kata, runc, runsc, runsc-alone, runsc-gpu"),
        ("runsc-alone", "--network=host"),
        ("kata", "not supported"),
    ],
)
def test_a_runtime_under_which_pods_cannot_run_is_refused_with_the_reason(name, says):
    with pytest.raises(ValueError, match=says):
        choose_runtime(name, RUNTIMES)


def test_sandboxing_runtimes_are_listed():
    assert sandboxing_runtimes(RUNTIMES) == ("runsc", "runsc-gpu")
    assert sandboxing_runtimes({"runc": {"path": "runc"}}) == ()


def test_tenants_containers_use_the_runtime_and_the_pod_sandbox_does_not():
    spec = admit(HOST, a_lease(), read_manifest(MANIFEST))
    context = PodContext("net", {}, {}, cdi=False, runc=True, runtime=choose_runtime("runsc", RUNTIMES))
    made = container_arguments(spec, "main", 1, image="i", context=context)["host_config"]
    assert (made["runtime"], made["pids_limit"]) == ("runsc", 32 + 256)
    # The pod sandbox runs a program of the agent.
    assert pod_sandbox_arguments(spec, image="i", context=context)["host_config"]["runtime"] == "runc"


INFO = {"Runtimes": RUNTIMES, "Architecture": "x86_64", "KernelVersion": "6.1.0"}


class Engine:
    """The calls of Docker's SDK that a trial makes. `outcome`: what its container prints, or what its start raises."""

    def __init__(self, outcome):
        self.outcome = outcome
        self.runtimes = []
        self.containers = set()

    def load_image(self, archive):
        assert archive
        return []

    def create_host_config(self, **options):
        assert options["network_mode"] == "none"
        self.runtimes.append(options["runtime"])
        return {}

    def create_container(self, image, *, host_config, labels):
        assert (image.startswith("sha256:"), host_config, labels) == (True, {}, {"gantry.role": "sandbox-trial"})
        self.containers.add("c")
        return {"Id": "c"}

    def start(self, container):
        assert container in self.containers
        if isinstance(self.outcome, Exception):
            raise self.outcome

    def wait(self, container, *, timeout):
        assert container in self.containers
        assert timeout > 0

    def logs(self, container, *, stdout, stderr):
        assert (container in self.containers, stdout, stderr) == (True, True, False)
        return self.outcome

    def remove_container(self, container, *, force):
        assert force
        self.containers.remove(container)


def test_a_sandbox_is_usable_where_a_container_has_another_kernel():
    engine = Engine(b"4.4.0" + bytes(60))
    assert checked_runtime(engine, INFO, "runsc").sandboxed
    assert (engine.runtimes, engine.containers) == (["runsc"], set())


def test_a_runtime_on_the_machines_kernel_is_not_tried_out():
    assert not checked_runtime(None, INFO, "crun").sandboxed


@pytest.mark.parametrize(
    ("outcome", "says"),
    [
        (b"6.1.0" + bytes(60), "on the machine's kernel 6.1.0"),
        (b"", "prints nothing"),
        (docker.errors.APIError("500", explanation="cannot use ptrace"), "does not start under it: cannot use ptrace"),
        (requests.exceptions.ReadTimeout(), "has not ended"),
    ],
)
def test_a_sandbox_that_does_not_isolate_is_refused_with_the_reason(outcome, says):
    engine = Engine(outcome)
    with pytest.raises(ValueError, match=says):
        checked_runtime(engine, INFO, "runsc")
    assert not engine.containers


def test_no_trial_on_an_architecture_without_a_program():
    assert "riscv64" in why_not_sandboxed(Engine(b"4.4.0"), "runsc", "riscv64", "6.1.0")


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_the_program_of_the_trial_prints_the_kernels_release(tmp_path, architecture):
    assert trial_program(architecture).startswith(b"\x7fELF")
    if architecture != platform.machine():
        return
    path = tmp_path / "trial"
    path.write_bytes(trial_program(architecture))
    path.chmod(0o700)
    printed = subprocess.run([path], check=True, capture_output=True, timeout=10).stdout
    assert printed.partition(b"\0")[0].decode() == platform.release()


def test_a_task_that_asks_for_a_sandbox_is_given_back_by_a_host_without_one():
    lease, manifest = a_lease(sandboxed=True), read_manifest(MANIFEST)
    assert isinstance(admit(replace(HOST, sandboxed=True), lease, manifest), PodSpec)
    refused = admit(HOST, lease, manifest)
    assert isinstance(refused, LeaseRejected)
    assert (refused.reason, "placement.isolation" in refused.message) == (HostFailure.RESOURCES_UNAVAILABLE, True)
