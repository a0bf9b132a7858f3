"""Port of a running challenge program: orders and answers, one JSON object a line.

The form of the program (a child process, a container) only moves bytes; :class:`ProofProgram` has the messages and
their limits.
"""

from __future__ import annotations

import abc
import asyncio
import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from node_agent.telemetry.hardware import HostDevice
from offchain.schema.challenge.failures import remedy_for
from offchain.schema.challenge.order import ChallengeCommitment, ChallengeWork, read_commitment
from offchain.schema.protocol.fields import canonical_json

MOST_LINE: Final = 1 << 21
"""Longest line that is read from the program, in bytes."""
MOST_REASON: Final = 1000
"""Most characters of the program's own words in a message."""
COMPUTE_S: Final = 600
"""Most seconds that the program computes."""
_ANSWERS: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "prepare": ("ready", frozenset({"device", "probes"})),
    "compute": ("committed", frozenset({"commitment", "seconds"})),
    "open": ("opened", frozenset({"opening"})),
}
"""Type of the answer to each order, and the fields that are used of it."""
_IMAGE: Final = re.compile(r"(?:[^\s@]+@)?sha256:[0-9a-f]{64}")


class ProofComputationError(Exception):
    """The program could not be started, ended, was too slow or answered with an error.

    The message names the cause, without a full stop; `remedy`: what the provider can do, as a sentence.
    """

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(cause)
        self.remedy = remedy or remedy_for(cause)


class ProofProgram(abc.ABC):
    """A running program. Orders are answered one at a time. An exchange that fails ends the program."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._unread = bytearray()

    @property
    @abc.abstractmethod
    def is_running(self) -> bool:
        """Whether the program can answer, as far as is known."""

    @abc.abstractmethod
    async def write(self, data: bytes) -> None:
        """Write to the program's standard input. Raises OSError."""

    @abc.abstractmethod
    async def read(self) -> bytes:
        """Return the next piece of the program's standard output; empty at its end. Raises OSError."""

    @abc.abstractmethod
    async def cause_of_end(self) -> str:
        """Return how the program ended, in words; empty if that is not known."""

    @abc.abstractmethod
    async def close(self) -> None:
        """End the program; nothing of it is left. Never raises."""

    async def ask(self, order: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """Return the answer to an order. Raises :class:`ProofComputationError`.

        The program is ended if its answer is late, malformed, longer than :data:`MOST_LINE`, or not one line.
        """
        kind = str(order["type"])
        async with self._turn:
            try:
                async with asyncio.timeout(timeout_s):
                    await self.write(json.dumps(order).encode() + b"\n")
                    line = await self._line()
            except TimeoutError:
                await self.close()
                raise ProofComputationError(f"no answer to {kind} within {timeout_s:g} s") from None
            except OSError as error:
                line, ended = b"", str(error)
            except ValueError as error:
                await self.close()
                raise ProofComputationError(f"{kind}: {error}") from None
            else:
                ended = ""
            if not line:
                why = await self.cause_of_end() or ended
                await self.close()
                raise ProofComputationError(f"the program ended at the order {kind}{f': {why}' if why else ''}")
            try:
                return _read_answer(kind, line)
            except ValueError as error:
                await self.close()
                raise ProofComputationError(f"{kind}: {error}") from None

    async def compute(self, seed: bytes, timeout_s: float) -> tuple[ChallengeCommitment, dict[str, float]]:
        """Return the commitment of the proof for a seed, and the seconds of each part of its computation.

        The program must be prepared. Raises :class:`ProofComputationError`, WireError for a malformed commitment.
        """
        answer = await self.ask({"type": "compute", "seed": seed.hex()}, timeout_s)
        return read_commitment(canonical_json(answer["commitment"])), dict(answer["seconds"])

    async def open(self, rows: Sequence[int], chains: Sequence[int], timeout_s: float) -> bytes:
        """Return the opening of these rows and chains. Raises :class:`ProofComputationError`."""
        answer = await self.ask({"type": "open", "rows": list(rows), "chains": list(chains)}, timeout_s)
        return canonical_json(answer["opening"])

    async def _line(self) -> bytes:
        """Return the one line that answers an order; empty at the end of the output. Raises ValueError, OSError."""
        while (end := self._unread.find(b"\n")) < 0:
            if len(self._unread) > MOST_LINE:
                raise ValueError(f"the program's answer is longer than {MOST_LINE} bytes")
            piece = await self.read()
            if not piece:
                return b""
            self._unread += piece
        line = bytes(self._unread[:end])
        del self._unread[: end + 1]
        if self._unread:
            raise ValueError("the program printed more than one line")
        return line or b" "


def _read_answer(kind: str, line: bytes) -> dict[str, Any]:
    """Return the answer in a line. Raises ValueError if it is none, ProofComputationError if it is an error."""
    wanted, fields = _ANSWERS[kind]
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError(f"the program's answer is not JSON: {line[:60]!r}") from None
    found = answer.get("type") if isinstance(answer, dict) else None
    if found == "error":
        raise ProofComputationError(f"{kind}: {str(answer.get('message'))[:MOST_REASON]}")
    if found != wanted or not fields <= answer.keys():
        raise ValueError(f"the program's answer is not {wanted!r} with {', '.join(sorted(fields))}")
    return dict(answer)


class ProgramSource(Protocol):
    """Starts the program for devices of this host."""

    async def check(self) -> None:
        """Raise :class:`ProofComputationError` if a start would fail for a reason that is known before."""

    async def start(self, device: HostDevice, work: ChallengeWork) -> ProofProgram:
        """Start a program that can use this device only, with memory for this work.

        What an earlier program of this source left is removed before. Raises :class:`ProofComputationError`.
        """

    async def clear(self) -> None:
        """Remove what an earlier program left, if this agent was killed. Raises :class:`ProofComputationError`."""

    async def close(self) -> None:
        """Close connections."""


def backend_of(device: HostDevice) -> str:
    """Return the program's back-end for a device."""
    return "numpy" if device.simulated else "cupy"


def prepare_order(work: ChallengeWork, backend: str) -> dict[str, Any]:
    """Return the first order. The program sees one device only, so that its number is 0."""
    return {
        "type": "prepare",
        "work": dataclasses.asdict(work),
        "backend": backend,
        "device": 0,
        "time_limit_s": COMPUTE_S,
        "folder": "",
    }


def parse_challenge_image(text: str) -> str:
    """Return the reference of an image by its digest. Raises ValueError."""
    if _IMAGE.fullmatch(text) is None:
        raise ValueError(
            f"{text!r} does not name an image by its digest: write sha256: and 64 hex digits, which "
            "docker image inspect --format '{{.Id}}' NAME prints, or NAME@sha256:…"
        )
    return text
