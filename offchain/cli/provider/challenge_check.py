"""Check whether this machine can answer challenges: the program is tried with each GPU, in its container."""

from __future__ import annotations

import tempfile
from pathlib import Path

from node_agent.challenge.container_options import SELF_TEST, memory_limit_mib
from node_agent.challenge.program_port import ProgramSource, ProofComputationError
from node_agent.challenge.self_test import TrialResult, try_program
from node_agent.challenge.sources import program_source
from node_agent.runtime.settings import AgentSettings, check_can_answer
from node_agent.runtime.status_file import read_status
from node_agent.telemetry.hardware import HostDevice
from offchain.cli.kit.output import StepOutput
from offchain.cli.provider.check_output import print_results
from offchain.cli.provider.machine_checks import CheckResult, CheckVerdict, failed
from offchain.errors import OurError
from offchain.schema.challenge.models import model_named
from offchain.schema.challenge.sizing import SLACK, terms_of

CHECK = "challenges"


async def challenge_checks(
    settings: AgentSettings, host: str, devices: tuple[HostDevice, ...] | str
) -> tuple[CheckResult, ...]:
    """Return a result for each GPU; none if the host is not to answer challenges. `host`: its address.

    A GPU is not tried while pods run here or a challenge is open: both would be disturbed.
    """
    if not settings.answer_challenges or isinstance(devices, str):
        return ()
    try:
        check_can_answer(settings, devices)
    except OurError as error:
        return (CheckResult(CHECK, CheckVerdict.FAIL, error.message, error.hint),)
    running = read_status(settings.state)
    if running is not None and (running.pods or running.challenge.get("state")):
        why = "pods run here" if running.pods else "a challenge is open"
        hint = "Repeat this with --check when the host has no leases and no open challenge."
        return (CheckResult(CHECK, CheckVerdict.WARN, f"the challenge program was not tried, because {why}", hint),)
    with tempfile.TemporaryDirectory() as folder:
        programs = program_source(settings.challenge_image, settings.docker_host, host, Path(folder), SELF_TEST)
        try:
            found = [await _check(programs, number, device) for number, device in enumerate(devices)]
        finally:
            await programs.close()
    return (*found, *_memory(settings, devices))


async def require_challenge_program(
    settings: AgentSettings, host: str, devices: tuple[HostDevice, ...], output: StepOutput
) -> None:
    """Print the results of :func:`challenge_checks`. Raises OurError if one of them failed."""
    found = await challenge_checks(settings, host, devices)
    print_results(found, output)
    for one in failed(found):
        raise OurError(f"The host cannot answer challenges: {one.found}.", one.hint)


async def _check(programs: ProgramSource, number: int, device: HostDevice) -> CheckResult:
    name = f"{CHECK} of GPU {number}"
    try:
        result = await try_program(programs, device)
    except ProofComputationError as error:
        return CheckResult(name, CheckVerdict.FAIL, str(error), error.remedy)
    return _judged(name, device, result)


def _judged(name: str, device: HostDevice, result: TrialResult) -> CheckResult:
    measured = result.measured
    found = (
        f"{result.device} computes right proofs: {measured.gemm_gflops / 1000:.1f} TFLOP/s in products, "
        f"{measured.read_mbs / 1000:.1f} GB/s in reads"
    )
    model = None if device.simulated else model_named(device.model)
    if model is not None:
        least = (model.expected_flops / SLACK / 1e9, model.expected_read_rate / SLACK / 1e6)
        if measured.gemm_gflops < least[0] or measured.read_mbs < least[1]:
            return CheckResult(
                name,
                CheckVerdict.WARN,
                f"{found}; proofs of this model need {least[0] / 1000:.0f} TFLOP/s and {least[1] / 1000:.0f} GB/s",
                "End other programs on the GPU; check its power limit, clocks and temperature (nvidia-smi).",
            )
    return CheckResult(name, CheckVerdict.PASS, found)


def _memory(settings: AgentSettings, devices: tuple[HostDevice, ...]) -> tuple[CheckResult, ...]:
    """Return a warning if the memory that the owner keeps is less than what a proof of a real GPU needs."""
    needed = 0
    for device in devices:
        terms = None if device.simulated else terms_of(device.model, device.vram_mib, simulated=False)
        needed = max(needed, 0 if terms is None else memory_limit_mib(device, terms.work))
    if settings.reserve.memory_mib >= needed:
        return ()
    found = f"a proof needs up to {needed} MiB of the machine's memory, and {settings.reserve.memory_mib} are kept"
    hint = f"Keep them with --reserve-memory-mib {needed}; else a proof fails while tenants use all of the memory."
    return (CheckResult(f"{CHECK}, memory", CheckVerdict.WARN, found, hint),)
