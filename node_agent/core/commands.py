"""What the core wants done. The shell runs the commands of one lease in order, each to its end."""

from __future__ import annotations

from dataclasses import dataclass

from node_agent.core.values import Handle, HostFailure, PodSpec, Usage
from offchain.schema.manifest.types import ResultSpec


@dataclass(frozen=True, slots=True)
class FetchManifest:
    """Read the task's manifest from the chain; answer with ManifestFetched."""

    number: int
    task: int


@dataclass(frozen=True, slots=True)
class PrefetchImages:
    """Begin to get its images while something else is waited for. No answer."""

    number: int
    spec: PodSpec


@dataclass(frozen=True, slots=True)
class PreparePod:
    """Have images, network, volumes and files ready; answer with Prepared or DriverFailed."""

    number: int
    spec: PodSpec


@dataclass(frozen=True, slots=True)
class ExplainLateStart:
    """Say what a pod that is still being prepared waits for, beside all other commands; answer with DriverFailed."""

    number: int
    spec: PodSpec


@dataclass(frozen=True, slots=True)
class StartContainer:
    """Start it, or adopt it where this start was made before; answer with ContainerStarted or DriverFailed.

    `follows`: the mark of the ended run after which the same container is started again; "" for a new container.
    """

    number: int
    spec: PodSpec
    service: str
    start: int
    follows: str = ""


@dataclass(frozen=True, slots=True)
class WatchContainer:
    """Follow it beside all other commands; answer with HealthChanged, and at its end with Exited."""

    number: int
    handle: Handle


@dataclass(frozen=True, slots=True)
class StopContainer:
    """Ask one container to end, kill it after its grace time. No answer but what the watch sees."""

    number: int
    handle: Handle
    reason: str


@dataclass(frozen=True, slots=True)
class StopPod:
    """Ask all containers to end, kill each after its grace time. No answer."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class WriteNotice:
    """Have its containers find until when they may run, Unix ms; None: nobody makes them leave. No answer."""

    number: int
    ends_ms: int | None


@dataclass(frozen=True, slots=True)
class SignalPod:
    """Send all containers that run the signal to save their work. No answer."""

    number: int
    signal: str


@dataclass(frozen=True, slots=True)
class PausePod:
    """Stop all containers and keep them; answer with Paused."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class DestroyPod:
    """Keep its logs, then remove all of it, its data but where it is to be kept; answer with Destroyed."""

    number: int
    keep_data: bool = False


@dataclass(frozen=True, slots=True)
class SweepOrphan:
    """Remove a pod that no live lease covers; answer with Destroyed."""

    number: int
    keep_data: bool = False


@dataclass(frozen=True, slots=True)
class CollectResult:
    """Store log and result, with a note for the log; answer with ResultStored or CollectFailed.

    `handle`: of the main container; None where there is none to read from, and the result is empty.
    """

    number: int
    handle: Handle | None
    result: ResultSpec
    note: str = ""


@dataclass(frozen=True, slots=True)
class TakeInventory:
    """List and keep a record of the lease's retained data; answer with DataFound. `volumes`: what should be there."""

    number: int
    volumes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PurgeData:
    """Delete the lease's retained data; answer with DataPurged."""

    number: int


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
class SubmitPurged:
    """Send the receipt of deleted data; answer with ReportOutcome. `attempt` counts those the chain refused."""

    number: int
    receipt: bytes
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class SubmitDataLost:
    """Say that retained data is gone; answer with ReportOutcome."""

    number: int


@dataclass(frozen=True, slots=True)
class ScheduleStop:
    """Tick at this time: the escrow is used up then."""

    number: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class ScheduleRetry:
    """Tick at this time: something is due again."""

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
