"""The values that a manifest is parsed into, and the errors about one. Frozen; units are in the names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from offchain.schema.attestation.policy import AttestationPolicy

Kind = Literal["job", "service", "rental"]
Restart = Literal["no", "on-failure", "always"]
Metric = Literal["cpu", "gpu", "memory"]
Billing = Literal["second", "hour", "day"]
Verification = Literal["acceptance", "deterministic", "redundant", "audit"]
Survival = Literal["restart", "move", "standby"]
Tier = Literal["consumer", "professional", "datacenter"]
DependencyState = Literal["started", "healthy", "completed"]

WHOLE_GPU: Final = 1000
"""Thousandths of a GPU."""
DOCKER_HUB: Final = "docker.io"
"""The registry of an image whose name begins with no registry."""
MAX_NAME_BYTES: Final = 64
"""The longest name of a manifest."""
MAX_LINES: Final = 50
"""The most problems of one manifest that are written out."""


@dataclass(frozen=True, slots=True)
class ImageRef:
    """A container image pinned by digest. `digest` is "sha256:" and 64 hex digits."""

    name: str
    digest: str

    @property
    def reference(self) -> str:
        """The reference that container engines take: name@sha256:..."""
        return f"{self.name}@{self.digest}"

    @property
    def registry(self) -> str:
        """The registry that the name begins with, as HOST or HOST:PORT; "docker.io" where it names none."""
        first, slash, _ = self.name.partition("/")
        return first if slash and ("." in first or ":" in first or first == "localhost") else DOCKER_HUB


@dataclass(frozen=True, slots=True)
class TmpfsMount:
    """A memory file system inside the container. Its pages count against the memory limit."""

    path: str
    options: str
    """Mount options as the engine takes them, for example "size=67108864,mode=1777"; "" for none."""


@dataclass(frozen=True, slots=True)
class VolumeMount:
    """A volume of the pod inside a container."""

    volume: str
    path: str
    read_only: bool


@dataclass(frozen=True, slots=True)
class DeliveredFile:
    """A file that the tenant sends to each host of the task, mounted read-only at `path`.

    A secret has no digest and lies in memory; an input has one (SHA-256, 32 bytes) and lies on disk.
    """

    name: str
    path: str
    digest: bytes | None


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """A command in the container whose exit code 0 means healthy.

    Failures within `start_period_ms` do not count; `retries` failures in a row make the container unhealthy.
    """

    test: tuple[str, ...]
    interval_ms: int
    timeout_ms: int
    retries: int
    start_period_ms: int


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """When a container that ended is restarted within the same lease. `attempts` None: without limit."""

    when: Restart
    attempts: int | None


@dataclass(frozen=True, slots=True)
class Dependency:
    """A service of the same pod that must have reached a state before this one starts."""

    service: str
    until: DependencyState


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """One container of a pod. `command`, `entrypoint` and `stop_signal` None: those of the image."""

    name: str
    image: ImageRef
    command: tuple[str, ...] | None
    entrypoint: tuple[str, ...] | None
    """An empty tuple clears the image's."""
    environment: tuple[tuple[str, str], ...]
    cpu_milli: int
    memory_mib: int
    pids: int
    working_dir: str | None
    user: str | None
    read_only: bool
    tmpfs: tuple[TmpfsMount, ...]
    gpu_count: int = 0
    """How many of the pod's GPUs this container has."""
    volumes: tuple[VolumeMount, ...] = ()
    ports: tuple[int, ...] = ()
    """TCP ports on which it listens. Tenants reach them by forwarding; nobody else does."""
    healthcheck: HealthCheck | None = None
    restart: RestartPolicy = RestartPolicy("no", None)
    stop_signal: str | None = None
    stop_grace_ms: int = 10_000
    depends_on: tuple[Dependency, ...] = ()
    files: tuple[DeliveredFile, ...] = ()


@dataclass(frozen=True, slots=True)
class GpuRequirements:
    """GPUs of one pod. `count` 0: none. `milli`: share of each device (1000: whole). `models` empty: any.

    A share below 1000 is of one device, which only pods of the same account use at the same time.
    """

    count: int
    milli: int
    min_vram_mib: int
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResultSpec:
    """Where a job's result is: the standard output of the first container, or one file in it.

    `seal_to`: X25519 public key, 32 bytes, for which the result is stored as a sealed box. None: not sealed.
    """

    source: Literal["stdout", "file"]
    path: str | None
    seal_to: bytes | None = None


@dataclass(frozen=True, slots=True)
class PodMetric:
    """A metric that each pod publishes in the text format of Prometheus on one of its ports.

    Samples that differ only in their labels are added up. A counter is measured by its increase per second.
    """

    port: int
    path: str
    name: str
    target_milli: int
    """Target for one pod, in thousandths of the metric."""


@dataclass(frozen=True, slots=True)
class ScalingSpec:
    """How a service follows its load: pods are added while the metric of one pod is above its target."""

    metric: Metric | PodMetric
    target_percent: int | None
    """Per cent of what a pod has; None for a :class:`PodMetric`, which has a target of its own."""
    stabilisation_ms: int
    """The number of pods is reduced only after the load allowed it for this long."""


@dataclass(frozen=True, slots=True)
class SpotSpec:
    """The task may be preempted by one of higher priority. `checkpoint_signal` is sent to its containers then."""

    checkpoint_signal: str | None = None


@dataclass(frozen=True, slots=True)
class RegistryLogin:
    """The secret (USER:PASSWORD) with which hosts pull the images at one registry, HOST or HOST:PORT.

    The secret is delivered like others and mounted into no container.
    """

    registry: str
    secret: str


@dataclass(frozen=True, slots=True)
class CheckpointSpec:
    """The folder `path` of the first container is saved periodically, and restored where its pod is started again."""

    path: str
    every_ms: int


@dataclass(frozen=True, slots=True)
class SshSpec:
    """Login to a rental: keys are written to `path` in the first container, whose SSH server listens on `port`."""

    authorized_keys: tuple[str, ...]
    path: str
    port: int


@dataclass(frozen=True, slots=True)
class PlacementSpec:
    """Hosts on which pods may run. Empty tuples: any (`providers_denied`: none). Addresses are SS58."""

    regions: tuple[str, ...]
    hosts: tuple[str, ...]
    providers_allowed: tuple[str, ...]
    providers_denied: tuple[str, ...]
    tiers: tuple[Tier, ...]
    verified_only: bool
    """Only GPUs that a challenge proved to be genuine."""
    allow_simulated: bool
    min_network_mbps: int
    """Mbit/s to and from the host, as it measured; 0: any."""
    spread: Literal["hosts", "providers"] | None = None
    """Anti-affinity: no two pods of the task on the same host, or on hosts of the same provider."""
    pack: bool = False
    """Affinity: the pods on as few hosts as possible."""
    max_latency_ms: int = 0
    """The longest round trip that a host may have measured; 0: any, or none measured."""
    sandboxed: bool = False
    """Only hosts that run pods in a sandbox with a kernel of its own."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of a task. Resources and price are per pod."""

    name: str | None
    services: tuple[ServiceSpec, ...]
    kind: Kind
    result: ResultSpec
    gpus: GpuRequirements
    disk_gib: int
    pods: int
    """The most pods; a job has exactly this number."""
    duration_ms: int
    max_rate_per_hour: int
    """Price limit of one pod in base units (10^12 to a GTY)."""
    billing: Billing
    deadline_ms: int | None
    """Unix time in ms by which the task must be assigned."""
    priority: int
    queue: str
    verification: Verification
    """redundant: every pod runs the same job, and their results are compared; `pods` is the number of replicas.

    audit: one pod runs the job, and the chain draws if another host repeats it, so that the results are compared.
    deterministic: two executions give the same result, so that jurors of a dispute may execute the job again.
    """
    placement: PlacementSpec
    pods_min: int = 1
    volumes: tuple[str, ...] = ()
    """Names of the pod's volumes. They live as long as the pod; those of a rental also while it is stopped or
    retained."""
    scaling: ScalingSpec | None = None
    ssh: SshSpec | None = None
    data_from: int | None = None
    """A lease whose retained data this rental takes over."""
    snapshot: str | None = None
    """A snapshot among that data, from which the first service is created instead of its image."""
    spot: SpotSpec | None = None
    """None: the task is not preempted."""
    survival: Survival = "restart"
    """restart: pods of a failed host are started anew; move: they may be moved before; standby: they continue on a
    host named in advance."""
    checkpoint: CheckpointSpec | None = None
    registry_login: RegistryLogin | None = None
    confidential: AttestationPolicy | None = None
    """What a host has to prove before secrets and inputs are sent to it; None: nothing."""

    @property
    def deliveries(self) -> tuple[str, ...]:
        """The names of the files that each pod waits for, each once."""
        files = [file.name for service in self.services for file in service.files]
        return tuple(dict.fromkeys(files + ([self.registry_login.secret] if self.registry_login is not None else [])))

    @property
    def is_compared(self) -> bool:
        """Whether its results are compared, so that all honest hosts must compute the same."""
        return self.verification in ("redundant", "audit")

    @property
    def main(self) -> ServiceSpec:
        """The first service: the pod ends with it, and its output or file is the result."""
        return self.services[0]

    @property
    def cpu_milli(self) -> int:
        """CPU of one pod in thousandths of a core."""
        return sum(service.cpu_milli for service in self.services)

    @property
    def memory_mib(self) -> int:
        """Memory of one pod."""
        return sum(service.memory_mib for service in self.services)


@dataclass(frozen=True, slots=True)
class Problem:
    """One error in a manifest. Lines count from 1; `hint` says what to write instead."""

    line: int
    path: str
    message: str
    hint: str


class ManifestError(Exception):
    """The manifest cannot be used. `problems` has every error found, in the order of their lines."""

    def __init__(self, source: str, problems: list[Problem]) -> None:
        self.source = source
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        super().__init__("\n".join(self.lines()))

    def lines(self) -> list[str]:
        """One line for each of the first problems: file:line: key path: what is wrong. What to do."""
        lines = [
            f"{self.source}:{problem.line}: {problem.path + ': ' if problem.path else ''}{problem.message}. "
            f"{problem.hint}{'' if problem.hint.endswith('?') else '.'}"
            for problem in self.problems[:MAX_LINES]
        ]
        left = len(self.problems) - len(lines)
        return lines if left <= 0 else [*lines, f"{self.source}: {left} more problems. Correct these first."]
