"""What the agent knows about leases, pods and how they ended. Times are Unix milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from offchain.schema.chain_types._generated_chain import HostFailure, TaskKind, Usage
from offchain.schema.manifest.types import (
    WHOLE_GPU,
    CheckpointSpec,
    RegistryLogin,
    ResultSpec,
    ServiceSpec,
    SshSpec,
)

__all__ = [
    "ContainerSpec",
    "EndKind",
    "Ending",
    "FoundContainer",
    "Handle",
    "HostFailure",
    "HostLease",
    "LeaseReport",
    "LeaseStatus",
    "LocalDevice",
    "LocalHost",
    "PodSpec",
    "ReportStatus",
    "TaskKind",
    "Usage",
]

SSH_KEYS = ".authorized_keys"
"""Under this name a rental's keys lie beside delivered files, whose names start with a letter or a digit."""
NO_USAGE = Usage(wall_ms=0, cpu_ms=0, memory_peak_mib=0)


class LeaseReport(StrEnum):
    """What the agent tells the chain about a lease; each at most once."""

    STARTED = "started"
    RESULT = "result"
    FAILED = "failed"
    PURGED = "purged"
    DATA_LOST = "data-lost"


class ReportStatus(StrEnum):
    """What became of a report: in a finalized block, refused by the chain, or given up by the outbox."""

    INCLUDED = "included"
    FAILED = "failed"
    DEAD = "dead"


class LeaseStatus(StrEnum):
    """The states in which a lease holds something of its host."""

    PENDING = "Pending"
    ACTIVE = "Active"
    SUSPENDED = "Suspended"
    RETAINED = "Retained"


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
    """How a run of a container ended. `exit_code` as a shell shows it (128 + signal for a signal).

    `mark` is the driver's own word for this ended run, by which a start in the same container says what it follows.
    `no_space`: the engine's disk was full then. What the program wrote may be lost, its log too.
    """

    kind: EndKind
    exit_code: int
    oom_killed: bool
    usage: Usage
    mark: str = ""
    no_space: bool = False


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
class LocalHost:
    """The agent's own host: its key as SS58 address, and its devices in the order of the chain's record."""

    address: str
    devices: tuple[LocalDevice, ...]
    sandboxed: bool = False
    """Its pods run in a sandbox with a kernel of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLease:
    """A lease that holds something of this host, joined with what its task says."""

    number: int
    task: int
    pod: int
    attempt: int
    """The lease's generation: which lease of the task for this pod it is."""
    kind: TaskKind
    redundant: bool
    """Its result is compared with those of other hosts."""
    status: LeaseStatus
    devices: tuple[int, ...]
    gpu_milli: int
    """What the lease has, and pays for, of each device; 1000: all of it."""
    cpu_milli: int
    memory_mib: int
    disk_gib: int
    manifest_digest: bytes
    max_duration_ms: int
    created_at_ms: int
    started: bool
    """The chain has the started report."""
    depletes_at_ms: int | None
    """When what is paid for is used up; None until started. Moves with top-ups, extensions and downtime."""
    retained_until_ms: int | None = None
    """Exactly while retained: from when on its data may be purged."""
    data_from: int | None = None
    """A lease of this host whose retained volumes this one takes over."""
    notice_ends_ms: int | None = None
    """Its task was told to leave for another, or its provider takes the host back; it may run on until then."""
    moves_after_ms: int | None = None
    """Its host works but is drained, or taken back: its pod is to go on elsewhere, so long after it was told."""
    start_by_ms: int | None = None
    """Chain time by which the pod must have started, or the lease is given back; None once it has started."""
    tenant: str = ""
    """The account that pays; "" where an agent kept it that did not know of shares, and so had none."""
    sandboxed: bool = False
    """The task asks for pods in a sandbox."""

    @property
    def keeps_data(self) -> bool:
        """Whether its volumes outlive its containers."""
        return self.kind is TaskKind.RENTAL

    def is_same_as(self, other: HostLease) -> bool:
        """Whether both are one lease. Numbers are reused when a block that was not final is reverted."""
        return (self.number, self.task, self.pod, self.attempt, self.created_at_ms) == (
            other.number,
            other.task,
            other.pod,
            other.attempt,
            other.created_at_ms,
        )


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """One container of a pod, with the GPUs that it is given; of the pod it alone."""

    service: ServiceSpec
    gpu_uuids: tuple[str, ...] = ()
    simulated_gpus: int = 0
    gpu_milli: int = WHOLE_GPU
    """What it may use of each, thousandths; the rest is other pods' of the same account."""

    @property
    def has_share(self) -> bool:
        """Whether it has a GPU, and not all of it."""
        return self.gpu_milli < WHOLE_GPU and (bool(self.gpu_uuids) or self.simulated_gpus > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSpec:
    """What a driver runs for a lease: containers with one network and common volumes. The first is the main one."""

    lease: int
    task: int
    pod: int
    attempt: int
    host: str
    containers: tuple[ContainerSpec, ...]
    result: ResultSpec
    disk_gib: int = 1
    """The most that the containers' own layers and the volumes may take together."""
    volumes: tuple[str, ...] = ()
    keeps_data: bool = False
    data_from: int | None = None
    base: str | None = None
    """The snapshot that the main container is made of; None: the image of its service."""
    ssh: SshSpec | None = None
    checkpoint: CheckpointSpec | None = None
    checkpoint_signal: str | None = None
    """Tells containers that they have to leave; None: they get no signal."""
    may_be_told: bool = False
    """It may have to leave before its time: then its containers find a notice that says when."""
    account: str = ""
    """The account that pays; "" where that is not known."""
    registry_login: RegistryLogin | None = None
    """The secret with which the images at one registry are pulled; None: without a login."""

    @property
    def main(self) -> ContainerSpec:
        """The container whose end is the pod's."""
        return self.containers[0]

    def container(self, name: str) -> ContainerSpec:
        """The container of a service. Raises KeyError."""
        for one in self.containers:
            if one.service.name == name:
                return one
        raise KeyError(name)

    def index(self, name: str) -> int:
        """The container's place in the pod, from 0. Raises KeyError."""
        for place, one in enumerate(self.containers):
            if one.service.name == name:
                return place
        raise KeyError(name)

    @property
    def files(self) -> frozenset[str]:
        """Names of the files that the tenant has to deliver before any container starts."""
        mounted = frozenset(file.name for one in self.containers for file in one.service.files)
        return mounted if self.registry_login is None else mounted | {self.registry_login.secret}


@dataclass(frozen=True, slots=True)
class Handle:
    """A driver's own name for a container, kept across restarts of the agent. `version` is the driver's."""

    driver: str
    version: int
    lease: int
    service: str
    start: int
    reference: str


@dataclass(frozen=True, slots=True)
class FoundContainer:
    """A container of this host that the driver knows of. `mark`: see :class:`Ending`; "" while it runs."""

    handle: Handle
    running: bool
    mark: str = ""
