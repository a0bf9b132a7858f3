"""The values a manifest is parsed into. Frozen; units are in the names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["job"]
Billing = Literal["second", "hour", "day"]
Verification = Literal["acceptance"]
Tier = Literal["consumer", "professional", "datacenter"]


@dataclass(frozen=True, slots=True)
class ImageRef:
    """A container image pinned by digest. `digest` is "sha256:" and 64 hex digits."""

    name: str
    digest: str

    @property
    def reference(self) -> str:
        """What a container engine calls it: name@sha256:..."""
        return f"{self.name}@{self.digest}"


@dataclass(frozen=True, slots=True)
class TmpfsMount:
    """A memory file system inside the container. Its pages count against the memory limit."""

    path: str
    options: str
    """Mount options as the engine takes them, for example "size=67108864,mode=1777"; "" for none."""


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


@dataclass(frozen=True, slots=True)
class GpuNeed:
    """GPUs of one pod. `count` 0: none. `milli` is the share of each device (1000: whole). `models` empty: any."""

    count: int
    milli: int
    min_vram_mib: int
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResultSpec:
    """Where the result is: what the container wrote to standard output, or one file in it."""

    source: Literal["stdout", "file"]
    path: str | None


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
    duration_ms: int
    max_rate_per_hour: int
    """Price limit of one pod in base units (10^12 to a GTY)."""
    billing: Billing
    deadline_ms: int | None
    """Unix time in ms by which the task must be assigned."""
    priority: int
    queue: str
    verification: Verification
    placement: PlacementSpec

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
        """One readable line for each problem: file:line: key path: what is wrong. What to do."""
        return [
            f"{self.source}:{problem.line}: {problem.path + ': ' if problem.path else ''}{problem.message}. "
            f"{problem.remedy}{'' if problem.remedy.endswith('?') else '.'}"
            for problem in self.problems
        ]
