"""What `gantry agent join` tells of a machine that is to answer challenges."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from node_agent.challenge.container_options import memory_limit_mib
from node_agent.challenge.program_port import ProofComputationError
from node_agent.challenge.self_test import TrialResult
from node_agent.runtime.settings import AgentSettings, check_can_answer
from node_agent.runtime.status_file import NAME
from node_agent.telemetry.hardware import HostDevice
from node_agent.telemetry.probe import Reserve
from offchain.cli.kit.output import StepOutput
from offchain.cli.provider import challenge_check
from offchain.cli.provider.challenge_check import challenge_checks, require_challenge_program
from offchain.cli.provider.machine_checks import CheckResult, CheckVerdict
from offchain.errors import OurError
from offchain.processes import start_time
from offchain.schema.challenge.order import MeasuredClass
from offchain.schema.challenge.sizing import terms_of

HOST = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"
H200 = HostDevice("Nvidia", "NVIDIA H200", 143_771, "GPU-7")
UNKNOWN = HostDevice("Nvidia", "NVIDIA H200 MIG 1g.18gb", 18_000, "MIG-7")
SIMULATED = HostDevice("Nvidia", "SIM-1", 24_576, None)
IMAGE = "sha256:" + "0" * 64


@pytest.fixture
def settings(tmp_path: Path) -> AgentSettings:
    state = tmp_path / "agent"
    state.mkdir()
    engine = f"unix://{tmp_path}/none.sock"
    return AgentSettings(url="ws://node:9944", state=state, answer_challenges=True, docker_host=engine)


async def checks(settings: AgentSettings, *devices: HostDevice) -> tuple[CheckResult, ...]:
    return await challenge_checks(settings, HOST, devices)


async def test_a_host_that_answers_no_challenges_is_not_checked(settings: AgentSettings) -> None:
    assert await checks(replace(settings, answer_challenges=False), H200) == ()
    assert await challenge_checks(settings, HOST, "there is no driver") == ()
    check_can_answer(replace(settings, answer_challenges=False), (H200, UNKNOWN))


async def test_a_simulated_gpu_is_tried_as_a_child_process(settings: AgentSettings) -> None:
    (found,) = await checks(settings, SIMULATED)
    assert (found.check, found.verdict, found.hint) == ("challenges of GPU 0", CheckVerdict.PASS, "")
    assert found.found.startswith("simulated computes right proofs: ")
    assert "TFLOP/s in products" in found.found


@pytest.mark.parametrize(
    ("image", "device", "found", "hint"),
    [
        (None, H200, "To prove NVIDIA H200, the agent needs the image", "--challenge-image sha256:"),
        (IMAGE, UNKNOWN, "The table of GPU models does not have 'NVIDIA H200 MIG 1g.18gb'", "--keep-gpu"),
        (IMAGE, H200, "no Docker engine answers at unix://", "--docker-host"),
        (IMAGE, SIMULATED, "no Docker engine answers at unix://", "--docker-host"),
    ],
)
async def test_what_is_missing_is_one_sentence_with_its_remedy(
    settings: AgentSettings, image: str | None, device: HostDevice, found: str, hint: str
) -> None:
    first, *_ = await checks(replace(settings, challenge_image=image), device)
    assert first.verdict is CheckVerdict.FAIL
    assert first.found.startswith(found)
    assert hint in first.hint
    with pytest.raises(OurError, match=r"^The host cannot answer challenges: "):
        await require_challenge_program(
            replace(settings, challenge_image=image), HOST, (device,), StepOutput(as_json=False)
        )


def test_a_machine_that_can_never_answer_is_not_registered_so(settings: AgentSettings) -> None:
    with pytest.raises(OurError, match="needs the image of the challenge program"):
        check_can_answer(settings, (SIMULATED, H200))
    check_can_answer(replace(settings, challenge_image=IMAGE), (SIMULATED, H200))
    with pytest.raises(OurError, match="MIG"):
        check_can_answer(replace(settings, challenge_image=IMAGE), (H200, UNKNOWN))


@pytest.mark.parametrize(
    ("pods", "challenge", "why"),
    [({"3": "Running"}, {}, "pods run here"), ({}, {"state": "challenge 7: waiting"}, "a challenge is open")],
)
async def test_nothing_is_tried_beside_pods_or_a_challenge(
    settings: AgentSettings, pods: dict[str, str], challenge: dict[str, str], why: str
) -> None:
    status: dict[str, Any] = {
        "pid": os.getpid(), "start_time": start_time(os.getpid()), "release": "", "ready": True, "started_ms": 1,
        "said_ms": 1, "addresses": [], "pods": pods, "devices": {}, "network": {}, "challenge": challenge,
    }  # fmt: skip
    (settings.state / NAME).write_text(json.dumps(status))
    (found,) = await checks(settings, SIMULATED)
    assert found.verdict is CheckVerdict.WARN
    assert found.found.endswith(why)
    status |= {"pods": {}, "challenge": {"last": "the host passed challenge 6"}}
    (settings.state / NAME).write_text(json.dumps(status))
    (found,) = await checks(settings, SIMULATED)
    assert found.verdict is CheckVerdict.PASS


@pytest.mark.parametrize(
    ("gflops", "mbs", "verdict"),
    [
        (650_000, 4_300_000, CheckVerdict.PASS),
        (300_000, 4_300_000, CheckVerdict.WARN),
        (650_000, 51_000, CheckVerdict.WARN),
    ],
)
async def test_a_gpu_slower_than_its_model_is_told(
    settings: AgentSettings, monkeypatch: pytest.MonkeyPatch, gflops: int, mbs: int, verdict: CheckVerdict
) -> None:
    result = TrialResult("NVIDIA H200", MeasuredClass(gflops, mbs, 1024, is_simulated=False), {})

    async def tried(_programs: object, _device: HostDevice) -> TrialResult:
        return result

    monkeypatch.setattr(challenge_check, "try_program", tried)
    terms = terms_of(H200.model, H200.vram_mib, simulated=False)
    assert terms is not None
    needed = memory_limit_mib(H200, terms.work)
    roomy = replace(settings, challenge_image=IMAGE, reserve=Reserve(memory_mib=needed))
    (found,) = await checks(roomy, H200)
    assert (found.verdict, bool(found.hint)) == (verdict, verdict is CheckVerdict.WARN)
    assert f"{gflops / 1000:.1f} TFLOP/s" in found.found
    _, memory = await checks(replace(roomy, reserve=Reserve(memory_mib=512)), H200)
    assert memory.verdict is CheckVerdict.WARN
    assert memory.hint.startswith(f"Keep them with --reserve-memory-mib {needed}")


@pytest.mark.parametrize(
    "cause", ["cupy is not installed here", "cudaErrorNoDevice: no CUDA-capable device is detected"]
)
async def test_what_the_program_says_of_its_container_is_a_failure(
    settings: AgentSettings, monkeypatch: pytest.MonkeyPatch, cause: str
) -> None:
    async def tried(_programs: object, _device: HostDevice) -> TrialResult:
        raise ProofComputationError(f"prepare: {cause}")

    monkeypatch.setattr(challenge_check, "try_program", tried)
    found, *_ = await checks(replace(settings, challenge_image=IMAGE), H200)
    assert (found.verdict, found.found) == (CheckVerdict.FAIL, f"prepare: {cause}")
    assert "docker" in found.hint
