"""What the core wants done. The shell runs the commands of one lease in order, each to its end."""

from __future__ import annotations

from dataclasses import dataclass

from node_agent.core.values import Handle, HostFailure, PodSpec, Usage
from offchain.schema.manifest_types import ResultSpec


@dataclass(frozen=True, slots=True)
class FetchManifest:
    """Read the task's manifest from the chain; answer with ManifestFetched."""

    number: int
    task: int


@dataclass(frozen=True, slots=True)
class StartPod:
    """Start it, or adopt it where this start was made before; answer with DriverStarted or DriverFailed."""

    number: int
    spec: PodSpec


@dataclass(frozen=True, slots=True)
class WatchPod:
    """Wait for its end beside all other commands; answer with Exited."""

    number: int
    handle: Handle


@dataclass(frozen=True, slots=True)
class StopPod:
    """Ask it to end, kill it after the grace time. No answer."""

    number: int
    grace_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class DestroyPod:
    """Keep its log, then remove all of it; answer with Destroyed."""

    number: int


@dataclass(frozen=True, slots=True)
class SweepOrphan:
    """Remove a pod that no live lease covers; answer with Destroyed."""

    number: int


@dataclass(frozen=True, slots=True)
class CollectResult:
    """Store log and result; answer with ResultStored or CollectFailed."""

    number: int
    handle: Handle
    result: ResultSpec


@dataclass(frozen=True, slots=True)
class SubmitStarted:
    """Send report_started; answer with ReportOutcome."""

    number: int


@dataclass(frozen=True, slots=True)
class SubmitResult:
    """Send report_result; answer with ReportOutcome."""

    number: int
    digest: bytes
    exit_code: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class SubmitFailed:
    """Send report_failed; answer with ReportOutcome."""

    number: int
    reason: HostFailure
    message: str


@dataclass(frozen=True, slots=True)
class ScheduleStop:
    """Tick at this time: the escrow is used up then."""

    number: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class ScheduleRetry:
    """Tick at this time: something failed and is tried again."""

    number: int
    at_ms: int


Command = (
    FetchManifest
    | StartPod
    | WatchPod
    | StopPod
    | DestroyPod
    | SweepOrphan
    | CollectResult
    | SubmitStarted
    | SubmitResult
    | SubmitFailed
    | ScheduleStop
    | ScheduleRetry
)
