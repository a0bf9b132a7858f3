"""Values of leases, pods and their ends. Times are Unix milliseconds."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
"""File name of a rental's keys beside delivered files, whose names start with a letter or a digit."""
NO_USAGE = Usage(wall_ms=0, cpu_ms=0, memory_peak_mib=0)


class LeaseReport(StrEnum):
    """A report about a lease to the chain; each is sent at most once."""

    STARTED = "started"
    RESULT = "result"
    FAILED = "failed"
    PURGED = "purged"
    DATA_LOST = "data-lost"


class ReportStatus(StrEnum):
    """Status of a report: in a finalized block, refused by the chain, or given up by the outbox."""

    INCLUDED = "included"
    FAILED = "failed"
    DEAD = "dead"


class LeaseStatus(StrEnum):
    """States in which a lease holds resources of its host."""

    PENDING = "Pending"
    ACTIVE = "Active"
    SUSPENDED = "Suspended"
    RETAINED = "Retained"


class EndKind(StrEnum):
    """The cause of a container's end.

    SELF: its process exited, or the kernel killed it for exceeding its memory limit. That is a result. KILLED: the
    engine stopped, killed or removed it at a request, or was stopped itself. A fault of the host. UNEXPLAINED: the
    exit code is the one of a kill (137, 143), no memory limit was hit, and the engine has no record of a kill. It may
    be a kill from outside the engine, or a program that exits with this code.
    """

    SELF = "self"
    KILLED = "killed"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run of a container ended. `exit_code` as in a shell (128 + signal for a signal).

    `mark`: the driver's identifier of this ended run, which a start in the same container names. `no_space`: the
    engine's disk was full, so that output of the program, and its log, may be lost.
    """

    kind: EndKind
    exit_code: int
    oom_killed: bool
    usage: Usage
    mark: str = ""
    no_space: bool = False


@dataclass(frozen=True, slots=True)
class LocalDevice:
    """One GPU of this host at its index in `HostRecord.devices`. `uuid` is None exactly if it is simulated."""

    uuid: str | None
    model: str
    vram_mib: int

    @property
    def simulated(self) -> bool:
        """Whether the device is from a profile."""
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
    """A lease that holds resources of this host, joined with its task."""

    number: int
    task: int
    pod: int
    attempt: int
    """Generation of the lease: the number of the task's lease for this pod."""
    kind: TaskKind
    redundant: bool
    """It is a replica or an audited job: its result is committed, and compared with those of other hosts."""
    status: LeaseStatus
    devices: tuple[int, ...]
    gpu_milli: int
    """Share of each device, in thousandths; 1000: all of it."""
    cpu_milli: int
    memory_mib: int
    disk_gib: int
    manifest_digest: bytes
    max_duration_ms: int
    created_at_ms: int
    started: bool
    """The chain has the started report."""
    depletes_at_ms: int | None
    """End of the paid time; None until started. Moves with top-ups, extensions and downtime."""
    retained_until_ms: int | None = None
    """Time after which its data may be purged; None unless retained."""
    data_from: int | None = None
    """A lease of this host whose retained volumes this one takes over."""
    notice_ends_ms: int | None = None
    """End of the notice if its task is preempted or its provider reclaims the host."""
    moves_after_ms: int | None = None
    """Notice period of a pod that moves because its host is drained or reclaimed."""
    start_by_ms: int | None = None
    """Chain time by which the pod must have started or is given back; None once it has started."""
    tenant: str = ""
    """The account that pays; "" if an agent without shares of GPUs stored it."""
    sandboxed: bool = False
    """The task asks for pods in a sandbox."""
    array_index: int = 0
    """Place of the task among those that were submitted together, from 0."""

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

    def reopens(self, other: HostLease) -> bool:
        """Whether it is `other`, opened again by a block of another fork: equal but for time and state."""
        unchanged = {name: getattr(other, name) for name in _OF_BLOCK}
        return self.created_at_ms != other.created_at_ms and replace(self, **unchanged) == other


_OF_BLOCK = (
    "status",
    "created_at_ms",
    "started",
    "depletes_at_ms",
    "retained_until_ms",
    "notice_ends_ms",
    "moves_after_ms",
    "start_by_ms",
)
"""Fields of a lease that depend on the blocks, not on the assignment alone."""


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """One container of a pod with its own GPUs."""

    service: ServiceSpec
    gpu_uuids: tuple[str, ...] = ()
    simulated_gpus: int = 0
    gpu_milli: int = WHOLE_GPU
    """Share of each GPU, in thousandths; other pods of the same account may use the rest."""

    @property
    def has_share(self) -> bool:
        """Whether it has a share of a GPU, not all of it."""
        return self.gpu_milli < WHOLE_GPU and (bool(self.gpu_uuids) or self.simulated_gpus > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSpec:
    """A pod of a lease: containers with one network and common volumes. The first is the main container."""

    lease: int
    task: int
    pod: int
    attempt: int
    host: str
    containers: tuple[ContainerSpec, ...]
    result: ResultSpec
    disk_gib: int = 1
    """Limit for the containers' own layers and the volumes together."""
    volumes: tuple[str, ...] = ()
    keeps_data: bool = False
    data_from: int | None = None
    base: str | None = None
    """The snapshot from which the main container is made; None: the image of its service."""
    ssh: SshSpec | None = None
    checkpoint: CheckpointSpec | None = None
    checkpoint_signal: str | None = None
    """Signal to containers that have to leave; None: no signal."""
    receives_notices: bool = False
    """The pod may be preempted or moved; then its containers find a notice with the time."""
    account: str = ""
    """The account that pays; "" if unknown."""
    registry_login: RegistryLogin | None = None
    """The secret for pulling images from one registry; None: without a login."""
    is_replica: bool = False
    """It is a replica or an audited job: its containers have no network and find nothing that tells one pod of the task
    from another, and nobody may enter them."""
    array_index: int = 0
    """Place of the task among those that were submitted together, from 0."""

    @property
    def main(self) -> ContainerSpec:
        """The container whose end is the pod's."""
        return self.containers[0]

    def container(self, name: str) -> ContainerSpec:
        """Return the container of a service. Raises KeyError."""
        for one in self.containers:
            if one.service.name == name:
                return one
        raise KeyError(name)

    def index(self, name: str) -> int:
        """Return the index of the container in the pod, from 0. Raises KeyError."""
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
    """The driver's identifier of a container, valid across restarts of the agent. `version` is the driver's."""

    driver: str
    version: int
    lease: int
    service: str
    start: int
    reference: str


@dataclass(frozen=True, slots=True)
class FoundContainer:
    """A container of this host in the driver. `mark`: see :class:`Ending`; "" while it runs."""

    handle: Handle
    running: bool
    mark: str = ""
