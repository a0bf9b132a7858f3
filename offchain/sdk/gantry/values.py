"""Values that the SDK returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from offchain.schema.manifest.values import format_amount
from offchain.services.dispute_view import DisputeView


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The results of a finished task. `data`: the bytes of each pod, by its number, as hashed on the chain."""

    task: int
    state: str
    data: Mapping[int, bytes]
    exit_codes: Mapping[int, int]

    @property
    def text(self) -> str:
        """The result of the first pod as text; bytes that are not UTF-8 are replaced."""
        return self.data[min(self.data)].decode("utf-8", errors="replace")


@dataclass(frozen=True, slots=True)
class PodBill:
    """The bill of a pod's lease. `paid`, `fee` (a part of it), `rate_per_hour`: base units of 10⁻¹² GTY."""

    pod: int
    lease: int
    host: str
    rate_per_hour: int
    paid: int
    fee: int
    seconds: float | None
    """From start to end; None where it has not ended."""


@dataclass(frozen=True, slots=True)
class TaskCost:
    """What a task has cost so far, in base units of 10⁻¹² GTY."""

    task: int
    pods: tuple[PodBill, ...]

    @property
    def paid(self) -> int:
        """The sum of all pods, the protocol fee included."""
        return sum(pod.paid for pod in self.pods)

    @property
    def fee(self) -> int:
        """The protocol fee in it."""
        return sum(pod.fee for pod in self.pods)

    def __str__(self) -> str:
        return f"{format_amount(self.paid)}, of which {format_amount(self.fee)} protocol fee"


@dataclass(frozen=True, slots=True)
class OpenedDispute:
    """A dispute that was opened. `file`: the archive of its evidence on this machine; `sha256`: its digest.

    `problems`: what a host did not send, or what differs from the chain.
    """

    dispute: DisputeView
    file: Path
    sha256: bytes
    problems: tuple[str, ...]
