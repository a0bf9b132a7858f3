"""The challenge program as a child process of the agent, for simulated devices."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from node_agent.challenge.bundle import PROGRAM, bundle
from node_agent.challenge.program_port import ProofComputationError, ProofProgram
from node_agent.telemetry.hardware import HostDevice
from offchain.files import replace_file
from offchain.schema.challenge.order import ChallengeWork

PIECE: Final = 1 << 17
NICE: Final = 10
END_S: Final = 5.0
"""Time between the end of the output and the end of the process."""


class ChildProgram(ProofProgram):
    """A child process. It ends with the agent, whose pipe it reads."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        super().__init__()
        self.process = process

    @property
    def is_running(self) -> bool:
        return self.process.returncode is None

    async def write(self, data: bytes) -> None:
        assert self.process.stdin is not None  # noqa: S101  (a pipe)
        self.process.stdin.write(data)
        await self.process.stdin.drain()

    async def read(self) -> bytes:
        assert self.process.stdout is not None  # noqa: S101  (a pipe)
        return await self.process.stdout.read(PIECE)

    async def cause_of_end(self) -> str:
        try:
            async with asyncio.timeout(END_S):
                code = await self.process.wait()
        except TimeoutError:
            return "it closed its output"
        return f"signal {-code}" if code < 0 else f"exit status {code}"

    async def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()


class ChildPrograms:
    """Starts child processes. `folder`: where the program's archive is written; `archive` makes it."""

    def __init__(self, folder: Path, archive: Callable[[], bytes] = bundle) -> None:
        self._folder = folder
        self._archive = archive

    async def check(self) -> None:
        if find_spec("numpy") is None:
            raise ProofComputationError(
                f"numpy is not installed for {sys.executable}",
                f"Run: {sys.executable} -m pip install numpy, or name an image with --challenge-image.",
            )

    async def start(self, device: HostDevice, work: ChallengeWork) -> ChildProgram:
        del work
        if not device.simulated:
            raise ProofComputationError(
                f"{device.model} cannot be proven outside of a container",
                "Name the image of the program: gantry agent join --challenge-image sha256:…",
            )
        path = self._folder / PROGRAM
        replace_file(path, await asyncio.to_thread(self._archive))
        # -I: neither the environment nor the working folder adds modules.
        process = await asyncio.create_subprocess_exec(
            "nice",
            f"-n{NICE}",
            sys.executable,
            "-I",
            str(path),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=PIECE,
            env={"PATH": os.defpath, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        return ChildProgram(process)

    async def clear(self) -> None:
        """Nothing is left: a child process ends with its agent."""

    async def close(self) -> None:
        """There is no connection."""
