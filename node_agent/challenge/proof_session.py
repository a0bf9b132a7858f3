"""The program of one challenge, from its start to the opening of its proof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from node_agent.challenge.program_port import (
    COMPUTE_S,
    ProgramSource,
    ProofComputationError,
    ProofProgram,
    backend_of,
    prepare_order,
)
from node_agent.telemetry.hardware import HostDevice
from offchain.schema.challenge.order import ChallengeCommitment, ChallengeWork

READY_S: Final = 60.0
"""Timeout for the program's start."""
OPEN_S: Final = 60.0
"""Timeout for the opening."""


class ProofSession:
    """Holds at most one running program. `programs`: starts it."""

    def __init__(self, programs: ProgramSource) -> None:
        self._programs = programs
        self._program: ProofProgram | None = None
        self._prepared_for: int | None = None
        self._computed: bytes | None = None

    @property
    def computed(self) -> bytes | None:
        """The seed whose proof the program holds in memory; None if there is none, or the program has ended."""
        return self._computed if self._program is not None and self._program.is_running else None

    async def prepare(self, challenge: int, device: HostDevice, work: ChallengeWork) -> str | None:
        """Start and prepare the program unless it is; return the device's name if it was started.

        Raises :class:`ProofComputationError`.
        """
        if self._program is not None and self._program.is_running and self._prepared_for == challenge:
            return None
        await self.release()
        self._program = await self._programs.start(device, work)
        answer = await self._program.ask(prepare_order(work, backend_of(device)), READY_S)
        self._prepared_for = challenge
        return str(answer["device"])

    async def compute(self, seed: bytes) -> tuple[ChallengeCommitment, Mapping[str, float]]:
        """Compute the proof; return its commitment and the seconds of each part. The program must be prepared.

        Raises :class:`ProofComputationError`, WireError for a malformed commitment.
        """
        return await self._running().compute(seed, COMPUTE_S + OPEN_S)

    def keep(self, seed: bytes) -> None:
        """Note that the proof in the program's memory is the stored one."""
        self._computed = seed

    async def open(self, rows: Sequence[int], chains: Sequence[int]) -> bytes:
        """Return the opening of these rows and chains. Raises :class:`ProofComputationError`."""
        return await self._running().open(rows, chains, OPEN_S)

    async def release(self) -> None:
        """End the program, which frees the device."""
        program, self._program, self._prepared_for, self._computed = self._program, None, None, None
        if program is not None:
            await program.close()

    def _running(self) -> ProofProgram:
        if self._program is None:
            raise ProofComputationError("the program has ended")
        return self._program
