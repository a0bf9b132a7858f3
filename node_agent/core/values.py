"""What the agent knows about leases, pods and how they ended. Times are Unix milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from offchain.schema._generated_chain import HostFailure, Usage
from offchain.schema.manifest_types import ResultSpec, ServiceSpec

__all__ = [
    "EndKind",
    "Ending",
    "Found",
    "Handle",
    "Host",
    "HostFailure",
    "Lease",
    "LocalDevice",
    "Outcome",
    "PodSpec",
    "Report",
    "Usage",
]


class Report(StrEnum):
    """What the agent tells the chain about a lease; each at most once."""

    STARTED = "started"
    RESULT = "result"
    FAILED = "failed"


class Outcome(StrEnum):
    """What became of a report: in a finalized block, refused by the chain, or given up by the outbox."""

    INCLUDED = "included"
    FAILED = "failed"
    DEAD = "dead"


class EndKind(StrEnum):
    """Who ended a container.

    SELF: its own process exited, or the kernel killed it for exceeding its memory limit. That is a result.
    KILLED: somebody else had the engine stop, kill or remove it, or the engine itself was stopped. A fault of the host.
    UNEXPLAINED: the exit code is the one of a kill (137, 143), no memory limit was hit, and the engine has no record
    of a kill. It may be a kill from outside the engine, or a program that exits with this code.
    """

    SELF = "self"
    KILLED = "killed"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a container ended. `exit_code` as a shell shows it (128 + signal for a signal)."""

    kind: EndKind
    exit_code: int
    oom_killed: bool
    usage: Usage


@dataclass(frozen=True, slots=True)
class LocalDevice:
    """One GPU of this host at its index in `HostRecord.devices`. `uuid` is None exactly where it is simulated."""

    uuid: str | None
    model: str
    vram_mib: int

    @property
    def simulated(self) -> bool:
        """True for a device from a profile."""
        return self.uuid is None


@dataclass(frozen=True, slots=True)
class Host:
    """The agent's own host: its key as SS58 address, and its devices in the order of the chain's record."""

    address: str
    devices: tuple[LocalDevice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A live lease of this host, joined with what its task says."""

    number: int
    task: int
    pod: int
    attempt: int
    """The lease's generation: which lease of the task for this pod it is."""
    plain_job: bool
    """A job whose result its tenant judges: all that this agent can run."""
    devices: tuple[int, ...]
    cpu_milli: int
    memory_mib: int
    manifest_digest: bytes
    max_duration_ms: int
    created_at_ms: int
    started: bool
    """The chain has the started report."""
    depletes_at_ms: int | None
    """When the escrow is used up; None until started."""

    def is_same_as(self, other: Lease) -> bool:
        """Whether both are one lease. Numbers are reused when a block that was not final is reverted."""
        return (self.number, self.task, self.pod, self.attempt, self.created_at_ms) == (
            other.number,
            other.task,
            other.pod,
            other.attempt,
            other.created_at_ms,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSpec:
    """What a driver starts. `start` counts the starts of this pod, from 1: a higher one replaces a lower one."""

    lease: int
    task: int
    pod: int
    attempt: int
    start: int
    host: str
    service: ServiceSpec
    result: ResultSpec
    gpu_uuids: tuple[str, ...]
    simulated_gpus: int


@dataclass(frozen=True, slots=True)
class Handle:
    """A driver's own name for a pod, kept across restarts of the agent. `version` is the driver's."""

    driver: str
    version: int
    lease: int
    start: int
    reference: str


@dataclass(frozen=True, slots=True)
class Found:
    """A pod of this host that the driver knows of."""

    handle: Handle
    running: bool
