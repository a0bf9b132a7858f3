"""The challenge program as a child process of the agent, for simulated devices."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any, Final, Self

from node_agent.challenge.bundle import PROGRAM, bundle
from offchain.files import replace_file

MOST_LINE: Final = 1 << 21
"""Longest line that is read from the program, in bytes."""
NICE: Final = 10


class ProofComputationError(Exception):
    """The program ended, was too slow or answered with an error. The message says which."""


class ChildProgram:
    """A running program. Orders are answered one at a time. It ends with the agent, whose pipe it reads."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._turn = asyncio.Lock()

    @classmethod
    async def start(cls, folder: Path) -> Self:
        """Write the program's archive to a folder, and start it."""
        path = folder / PROGRAM
        replace_file(path, await asyncio.to_thread(bundle))
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
            limit=MOST_LINE,
            env={"PATH": os.defpath, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        return cls(process)

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    async def ask(self, order: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Return the answer to an order. Raises :class:`ProofComputationError`; the program is ended if it is late."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None  # noqa: S101  (pipes)
        assert stdout is not None  # noqa: S101
        async with self._turn:
            try:
                async with asyncio.timeout(timeout_s):
                    stdin.write(json.dumps(order).encode() + b"\n")
                    await stdin.drain()
                    line = await stdout.readline()
            except TimeoutError:
                await self.close()
                raise ProofComputationError(f"no answer to {order['type']} within {timeout_s:g} s") from None
            except (OSError, ValueError) as error:
                raise ProofComputationError(f"{order['type']}: {error}") from None
        if not line:
            raise ProofComputationError(f"the program ended at the order {order['type']}")
        answer: dict[str, Any] = json.loads(line)
        if answer["type"] == "error":
            raise ProofComputationError(f"{order['type']}: {answer['message']}")
        return answer

    async def close(self) -> None:
        """End the program."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
