"""The values a manifest is parsed into. Frozen; units are in the names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["job", "service", "rental"]
Restart = Literal["no", "on-failure", "always"]
Metric = Literal["cpu", "gpu", "memory"]
Billing = Literal["second", "hour", "day"]
Verification = Literal["acceptance", "redundant"]
Survival = Literal["restart", "move", "standby"]
Tier = Literal["consumer", "professional", "datacenter"]

WHOLE_GPU: Final = 1000
"""Thousandths of a GPU."""
DOCKER_HUB: Final = "docker.io"
"""The registry of images whose names begin with no registry."""
MAX_LINES: Final = 50
"""Problems of one manifest that are written out."""


@dataclass(frozen=True, slots=True)
class ImageRef:
    """A container image pinned by digest. `digest` is "sha256:" and 64 hex digits."""

    name: str
    digest: str

    @property
    def reference(self) -> str:
        """What a container engine calls it: name@sha256:..."""
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
class HealthCheck:
    """A command in the container that says whether it is well: exit code 0.

    Failures within `start_period_ms` do not count; `retries` in a row make it unhealthy.
    """

    test: tuple[str, ...]
    interval_ms: int
    timeout_ms: int
    retries: int
    start_period_ms: int


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """Whether a container that ended by itself is started again in the same lease. `attempts` None: without limit."""

    when: Restart
    attempts: int | None


@dataclass(frozen=True, slots=True)
class Dependency:
    """A service of the same pod that must be so far before this one starts."""

    service: str
    until: Literal["started", "healthy", "completed"]


@dataclass(frozen=True, slots=True)
class DeliveredFile:
    """A file the tenant sends to the host once it is known, read-only in the container at `path`.

    Secrets have no digest and lie in memory; inputs have one (SHA-256, 32 bytes) and lie on disk.
    """

    name: str
    path: str
    digest: bytes | None


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """One container of a pod."""

    name: str
    image: ImageRef
    command: tuple[str, ...] | None
    """None: what the image says."""
    entrypoint: tuple[str, ...] | None
    """None: what the image says; an empty tuple clears it."""
    environment: tuple[tuple[str, str], ...]
    cpu_milli: int
    memory_mib: int
    pids: int
    working_dir: str | None
    user: str | None
    read_only: bool
    tmpfs: tuple[TmpfsMount, ...]
    gpu_count: int = 0
    """How many of the pod's GPUs this container is given."""
    volumes: tuple[VolumeMount, ...] = ()
    ports: tuple[int, ...] = ()
    """TCP ports it listens on, as told to tenants; none is open to anybody else."""
    healthcheck: HealthCheck | None = None
    restart: RestartPolicy = RestartPolicy("no", None)
    stop_signal: str | None = None
    """None: what the image says, else SIGTERM."""
    stop_grace_ms: int = 10_000
    depends_on: tuple[Dependency, ...] = ()
    files: tuple[DeliveredFile, ...] = ()


@dataclass(frozen=True, slots=True)
class GpuNeed:
    """GPUs of one pod. `count` 0: none. `milli` is the share of each device (1000: whole). `models` empty: any.

    Less than whole is had of one device alone, beside pods of the same account.
    """

    count: int
    milli: int
    min_vram_mib: int
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResultSpec:
    """Where the result is: what the first container wrote to standard output, or one file in it.

    `seal_to`: X25519 public key, 32 bytes; the result is stored as a sealed box for it. None: as it is.
    """

    source: Literal["stdout", "file"]
    path: str | None
    seal_to: bytes | None = None


@dataclass(frozen=True, slots=True)
class PodMetric:
    """A number that a pod tells by itself: on a page in the text format of Prometheus, on one of its ports.

    Samples that differ only in their labels are added up. What the page calls a counter counts by what it grows in a
    second.
    """

    port: int
    path: str
    name: str
    target_milli: int
    """Thousandths of the number that one pod is to have."""


@dataclass(frozen=True, slots=True)
class ScalingSpec:
    """How a service follows its load: pods are added while they have more of the metric than wanted."""

    metric: Metric | PodMetric
    target_percent: int | None
    """Of what a pod has; None where the metric has a target of its own."""
    stabilisation_ms: int
    """A smaller number of pods is taken only after the load allowed it for so long."""


@dataclass(frozen=True, slots=True)
class SpotSpec:
    """It may be told to leave for a task of higher priority. Its containers get `checkpoint_signal` then, if any."""

    checkpoint_signal: str | None = None


@dataclass(frozen=True, slots=True)
class RegistryLogin:
    """With which secret (USER:PASSWORD) hosts pull the images at one registry, HOST or HOST:PORT.

    The secret is delivered like others and mounted into no container.
    """

    registry: str
    secret: str


@dataclass(frozen=True, slots=True)
class CheckpointSpec:
    """The folder `path` of the main container is saved so often, and is there again where its pod goes on elsewhere."""

    path: str
    every_ms: int


@dataclass(frozen=True, slots=True)
class SshSpec:
    """How a rental is logged into: keys written to `path` in the first container, whose server listens on `port`."""

    authorized_keys: tuple[str, ...]
    path: str
    port: int


@dataclass(frozen=True, slots=True)
class PlacementSpec:
    """Where pods may run. Empty tuples: anywhere; `providers_denied`: none. Hosts and providers are SS58 addresses."""

    regions: tuple[str, ...]
    hosts: tuple[str, ...]
    providers_allowed: tuple[str, ...]
    providers_denied: tuple[str, ...]
    tiers: tuple[Tier, ...]
    verified_only: bool
    """Only GPUs that a challenge proved to be real."""
    allow_simulated: bool
    min_network_mbps: int
    """Mbit/s to and from the host, as it measured; 0: any."""
    spread: Literal["hosts", "providers"] | None = None
    """No two of its pods on the same of these."""
    pack: bool = False
    """Its pods on as few hosts as have room."""
    max_latency_ms: int = 0
    """The longest round trip that a host may have measured; 0: any, also none."""
    sandboxed: bool = False
    """Only on hosts that run pods in a sandbox with a kernel of its own."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A task, described. Resources and price are per pod."""

    name: str | None
    services: tuple[ServiceSpec, ...]
    kind: Kind
    result: ResultSpec
    gpus: GpuNeed
    disk_gib: int
    pods: int
    """The most pods; a job has exactly so many."""
    duration_ms: int
    max_rate_per_hour: int
    """Price limit of one pod in base units (10^12 to a GTY)."""
    billing: Billing
    deadline_ms: int | None
    """Unix time in ms by which the task must be assigned."""
    priority: int
    queue: str
    verification: Verification
    """redundant: every pod runs the same job, and their results are compared; `pods` is the number of replicas."""
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
    """A snapshot among that data, of which the first service is made in place of its image."""
    spot: SpotSpec | None = None
    """None: nobody makes it leave."""
    survival: Survival = "restart"
    """Whether its pods start anew where their host fails, may be moved before, or go on at a host named in advance."""
    checkpoint: CheckpointSpec | None = None
    registry_login: RegistryLogin | None = None
    """None: hosts pull the images without a login."""

    @property
    def deliveries(self) -> tuple[str, ...]:
        """The names of the files that each pod waits for, each once."""
        files = [file.name for service in self.services for file in service.files]
        return tuple(dict.fromkeys(files + ([self.registry_login.secret] if self.registry_login is not None else [])))

    @property
    def main(self) -> ServiceSpec:
        """The first service: its end is the pod's, its output or file the result."""
        return self.services[0]

    @property
    def cpu_milli(self) -> int:
        """CPU of one pod, thousandths of a core."""
        return sum(service.cpu_milli for service in self.services)

    @property
    def memory_mib(self) -> int:
        """Memory of one pod."""
        return sum(service.memory_mib for service in self.services)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a manifest. Lines count from 1."""

    line: int
    path: str
    message: str
    remedy: str


class ManifestError(Exception):
    """The manifest cannot be used. Carries every problem found, in the order of their lines."""

    def __init__(self, source: str, problems: list[Problem]) -> None:
        self.source = source
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        super().__init__("\n".join(self.lines()))

    def lines(self) -> list[str]:
        """One readable line for each of the first problems: file:line: key path: what is wrong. What to do."""
        lines = [
            f"{self.source}:{problem.line}: {problem.path + ': ' if problem.path else ''}{problem.message}. "
            f"{problem.remedy}{'' if problem.remedy.endswith('?') else '.'}"
            for problem in self.problems[:MAX_LINES]
        ]
        left = len(self.problems) - len(lines)
        return lines if left <= 0 else [*lines, f"{self.source}: {left} more problems. Correct these first."]
