"""Arguments of the challenge program's container. No engine needed."""

from typing import Any

import pytest

from node_agent.challenge.container_options import (
    CHALLENGE,
    GPU_BASE_MIB,
    PIDS,
    SELF_TEST,
    ContainerSite,
    memory_limit_mib,
    program_arguments,
    program_labels,
    program_name,
)
from node_agent.challenge.program_port import parse_challenge_image
from node_agent.drivers.docker.seccomp_profile import SECURITY_OPTION
from node_agent.drivers.docker.spec import LABEL_HOST, NVIDIA_HOOK_PIDS, DeviceFiles
from node_agent.telemetry.hardware import HostDevice
from offchain.schema.challenge.models import model_named
from offchain.schema.challenge.sizing import SIMULATED_WORK, work_of

HOST = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"
H200 = HostDevice("Nvidia", "NVIDIA H200", 143_771, "GPU-7")
AMD = HostDevice("Amd", "AMD Instinct MI300X", 196_592, "AMD-7")
SIMULATED = HostDevice("Nvidia", "SIM-1", 24_576, None)
DIGEST = "sha256:" + "0123456789abcdef" * 4


def arguments(device: HostDevice, **site: Any) -> dict[str, Any]:
    made = ContainerSite(**{"cdi": True, "runc": True, "processors": 16, **site})
    labels = program_labels(HOST, CHALLENGE)
    return program_arguments("name", labels, "sha256:1", device, SIMULATED_WORK, 20_000, made)


@pytest.mark.parametrize("device", [H200, AMD, SIMULATED])
def test_the_program_is_confined(device: HostDevice) -> None:
    made = arguments(device)
    host = made["host_config"]
    assert made["user"] == "65534:65534"
    assert host["cap_drop"] == ["ALL"]
    assert host["security_opt"] == ["no-new-privileges:true", SECURITY_OPTION]
    assert (host["network_mode"], host["read_only"], host["privileged"]) == ("none", True, False)
    assert host["mem_limit"] == host["memswap_limit"] == memory_limit_mib(device, SIMULATED_WORK) << 20
    assert host["nano_cpus"] == 2 * 10**9
    assert host["tmpfs"] == {"/tmp": "size=134217728,uid=65534,gid=65534,noexec,nosuid,nodev"}
    assert host["log_config"].type == "none"
    assert host["runtime"] == "runc"
    assert not {"binds", "mounts", "volumes_from", "pid_mode", "cap_add"} & host.keys()
    assert (made["stdin_open"], made["detach"]) == (True, False), "the engine closes the input of a lost agent"


def test_the_program_sees_the_challenged_device_only() -> None:
    (request,) = arguments(H200)["host_config"]["device_requests"]
    assert (request.driver, request.device_ids) == ("cdi", ["nvidia.com/gpu=GPU-7"])
    assert arguments(H200)["environment"]["NVIDIA_VISIBLE_DEVICES"] == "GPU-7"
    (request,) = arguments(H200, cdi=False)["host_config"]["device_requests"]
    assert (request.driver, request.device_ids) == ("nvidia", ["GPU-7"])
    files = DeviceFiles(("/dev/kfd", "/dev/dri/renderD128"), ("44",))
    made = arguments(AMD, amd=files)
    assert made["host_config"]["devices"] == ["/dev/kfd:/dev/kfd:rw", "/dev/dri/renderD128:/dev/dri/renderD128:rw"]
    assert made["host_config"]["group_add"] == ["44"]
    assert made["environment"]["NVIDIA_VISIBLE_DEVICES"] == "void"
    made = arguments(SIMULATED)
    assert made["host_config"]["device_requests"] == []
    assert made["environment"]["NVIDIA_VISIBLE_DEVICES"] == "void"


def test_limits_follow_the_work_and_the_machine() -> None:
    model = model_named(H200.model)
    assert model is not None
    work = work_of(model, H200.vram_mib)
    assert memory_limit_mib(H200, work) == GPU_BASE_MIB + 16 * (work.rows + work.chains) // 2**20
    assert 4096 < memory_limit_mib(H200, work) < 8192
    assert memory_limit_mib(SIMULATED, SIMULATED_WORK) < 1024
    assert arguments(SIMULATED, processors=1)["host_config"]["nano_cpus"] == 10**9
    assert arguments(SIMULATED)["host_config"]["pids_limit"] == PIDS
    assert arguments(H200)["host_config"]["pids_limit"] == PIDS + NVIDIA_HOOK_PIDS
    assert "runtime" not in arguments(SIMULATED, runc=False)["host_config"]


def test_a_pod_is_never_taken_for_the_program_nor_a_trial_for_a_challenge() -> None:
    assert LABEL_HOST not in arguments(SIMULATED)["labels"]
    assert program_labels(HOST, SELF_TEST) != program_labels(HOST, CHALLENGE)
    assert program_name(HOST, SELF_TEST) != program_name(HOST, CHALLENGE) == "gantry-GrwvaEF5zXb2-challenge"


@pytest.mark.parametrize("text", [DIGEST, f"gantry-challenge@{DIGEST}", f"registry.lan:5000/a/b@{DIGEST}"])
def test_an_image_is_named_by_its_digest(text: str) -> None:
    assert parse_challenge_image(text) == text


@pytest.mark.parametrize(
    "text", ["", "gantry-challenge:latest", "sha256:12", DIGEST.upper(), f"a b@{DIGEST}", DIGEST + "0"]
)
def test_an_image_without_a_digest_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="does not name an image by its digest"):
        parse_challenge_image(text)
