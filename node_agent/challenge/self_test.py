"""Trial of the challenge program with a device, before the host promises to answer challenges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from node_agent.challenge.program_port import (
    ProgramSource,
    ProofComputationError,
    ProofProgram,
    backend_of,
    prepare_order,
)
from node_agent.telemetry.hardware import HostDevice
from offchain.schema.challenge.order import ChallengeCommitment, ChallengeWork, MeasuredClass
from offchain.schema.challenge.sizing import SIMULATED_WORK
from offchain.schema.protocol.fields import WireError

SMALL_WORK: Final = ChallengeWork(256, 2, 256, 256, 4, 1024, 16)
"""Work whose result is compared with that of numpy."""
RATES_WORK: Final = ChallengeWork(8192, 64, 1 << 19, 512, 6, 1 << 16, 64)
"""Work of a tenth of a second to some seconds on a GPU, in 1 GiB of its memory."""
SEED: Final = bytes(range(32))
PREPARE_S: Final = 120.0
"""Timeout for a first start: the libraries are read from the disk, and kernels are compiled."""
TRIAL_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class TrialResult:
    """Result of a trial. `device`: its name by the program; `measured`: rates of a short work.

    `seconds`: of each part of that work.
    """

    device: str
    measured: MeasuredClass
    seconds: dict[str, float]


async def try_program(programs: ProgramSource, device: HostDevice) -> TrialResult:
    """Run the program with a small work on numpy and on the device, compare both, and measure the device.

    Raises :class:`ProofComputationError` if it fails, or the device computes another result than numpy.
    """
    work = SIMULATED_WORK if device.simulated else RATES_WORK
    program = await programs.start(device, work)
    try:
        expected, _, _ = await _commitment(program, SMALL_WORK, "numpy")
        found, _, _ = await _commitment(program, SMALL_WORK, backend_of(device))
        if (found.rows_root, found.chains_root) != (expected.rows_root, expected.chains_root):
            raise ProofComputationError(
                f"{device.model} computes another result than numpy",
                "Check the GPU for errors (nvidia-smi -q shows its memory's), and the driver.",
            )
        commitment, ready, seconds = await _commitment(program, work, backend_of(device))
        numbers = list(range(20))
        await program.open(numbers, numbers, TRIAL_S)
    finally:
        await program.close()
    return TrialResult(str(ready["device"]), commitment.measured, seconds)


async def _commitment(
    program: ProofProgram, work: ChallengeWork, backend: str
) -> tuple[ChallengeCommitment, dict[str, Any], dict[str, float]]:
    ready = await program.ask(prepare_order(work, backend), PREPARE_S)
    try:
        commitment, seconds = await program.compute(SEED, TRIAL_S)
    except WireError as error:
        raise ProofComputationError(f"the program's commitment is malformed: {error}") from None
    return commitment, ready, seconds
