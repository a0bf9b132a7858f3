"""Commands of the core to the shell. Those of one lease run in order, each to its end."""

from __future__ import annotations

from dataclasses import dataclass

from node_agent.core.values import Handle, HostFailure, PodSpec, Usage
from offchain.schema.manifest.types import ResultSpec


@dataclass(frozen=True, slots=True)
class FetchManifest:
    """Read the task's manifest from the chain; answered by ManifestFetched."""

    number: int
    task: int


@dataclass(frozen=True, slots=True)
class PrefetchImages:
    """Start pulling the images while the pod waits for something else. No answer."""

    number: int
    spec: PodSpec


@dataclass(frozen=True, slots=True)
class PreparePod:
    """Prepare images, network, volumes and files; answered by PodPrepared or DriverFailed."""

    number: int
    spec: PodSpec


@dataclass(frozen=True, slots=True)
class ExplainLateStart:
    """Find out why a pod is still being prepared, concurrently with other commands; answered by DriverFailed."""

    number: int
    spec: PodSpec


@dataclass(frozen=True, slots=True)
class StartContainer:
    """Start a container, or adopt it if this start was made before; answered by ContainerStarted or DriverFailed.

    `follows`: the mark of the ended run after which the same container starts again; "" for a new container.
    """

    number: int
    spec: PodSpec
    service: str
    start: int
    follows: str = ""


@dataclass(frozen=True, slots=True)
class WatchContainer:
    """Watch a container concurrently with other commands; answered by HealthChanged and finally ContainerExited."""

    number: int
    handle: Handle


@dataclass(frozen=True, slots=True)
class StopContainer:
    """Stop one container, and kill it after its grace period. The watch reports its end."""

    number: int
    handle: Handle
    reason: str


@dataclass(frozen=True, slots=True)
class StopPod:
    """Stop all containers, and kill each after its grace period. No answer."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class WriteNotice:
    """Write the termination notice for the containers: they may run until `ends_ms`, Unix ms; None removes it.

    No answer.
    """

    number: int
    ends_ms: int | None


@dataclass(frozen=True, slots=True)
class SignalPod:
    """Send the checkpoint signal to all running containers. No answer."""

    number: int
    signal: str


@dataclass(frozen=True, slots=True)
class PausePod:
    """Stop all containers and keep them; answered by PodPaused."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class DestroyPod:
    """Save the logs, then remove the pod, and its data unless `keep_data`; answered by PodDestroyed."""

    number: int
    keep_data: bool = False


@dataclass(frozen=True, slots=True)
class SweepOrphan:
    """Remove a pod that no live lease covers; answered by PodDestroyed."""

    number: int
    keep_data: bool = False


@dataclass(frozen=True, slots=True)
class CollectResult:
    """Store log and result, with a note in the log; answered by ResultStored or CollectFailed.

    `handle`: the main container; None if there is none, and the result is empty.
    """

    number: int
    handle: Handle | None
    result: ResultSpec
    note: str = ""


@dataclass(frozen=True, slots=True)
class TakeInventory:
    """List the retained data of the lease and store the record; answered by DataFound. `volumes`: the expected ones."""

    number: int
    volumes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PurgeData:
    """Delete the retained data of the lease; answered by DataPurged."""

    number: int


@dataclass(frozen=True, slots=True)
class SubmitStarted:
    """Submit report_started; answered by ReportOutcome."""

    number: int


@dataclass(frozen=True, slots=True)
class SubmitResult:
    """Submit report_result; answered by ReportOutcome."""

    number: int
    digest: bytes
    exit_code: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class SubmitFailed:
    """Submit report_failed; answered by ReportOutcome."""

    number: int
    reason: HostFailure
    message: str


@dataclass(frozen=True, slots=True)
class SubmitPurged:
    """Submit the receipt for deleted data; answered by ReportOutcome. `attempt`: number of refused receipts."""

    number: int
    receipt: bytes
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class SubmitDataLost:
    """Report that retained data is lost; answered by ReportOutcome."""

    number: int


@dataclass(frozen=True, slots=True)
class ScheduleStop:
    """Tick at this time, at which the escrow is used up."""

    number: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class ScheduleRetry:
    """Tick at this time, at which a retry is due."""

    number: int
    at_ms: int


Command = (
    FetchManifest
    | PrefetchImages
    | PreparePod
    | ExplainLateStart
    | StartContainer
    | WatchContainer
    | StopContainer
    | StopPod
    | WriteNotice
    | SignalPod
    | PausePod
    | DestroyPod
    | SweepOrphan
    | CollectResult
    | TakeInventory
    | PurgeData
    | SubmitStarted
    | SubmitResult
    | SubmitFailed
    | SubmitPurged
    | SubmitDataLost
    | ScheduleStop
    | ScheduleRetry
)
