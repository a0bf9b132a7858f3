"""Commands of the core to the shell. Those of one lease run in order, each to its end."""

from __future__ import annotations

from dataclasses import dataclass

from node_agent.core.values import Handle, HostFailure, PodSpec, Usage
from offchain.schema.manifest.types import ResultSpec


@dataclass(frozen=True, slots=True)
class Command:
    """A command for the lease with this number."""

    number: int


@dataclass(frozen=True, slots=True)
class FetchManifest(Command):
    """Read the task's manifest from the chain; answered by ManifestFetched."""

    task: int


@dataclass(frozen=True, slots=True)
class PrefetchImages(Command):
    """Start pulling the images while the pod waits for something else. No answer."""

    spec: PodSpec


@dataclass(frozen=True, slots=True)
class PreparePod(Command):
    """Prepare images, network, volumes and files; answered by PodPrepared or DriverFailed."""

    spec: PodSpec


@dataclass(frozen=True, slots=True)
class ExplainLateStart(Command):
    """Find out why a pod is still being prepared, concurrently with other commands; answered by DriverFailed."""

    spec: PodSpec


@dataclass(frozen=True, slots=True)
class StartContainer(Command):
    """Start a container, or adopt it if this start was made before; answered by ContainerStarted or DriverFailed.

    `follows`: the mark of the ended run after which the same container starts again; "" for a new container.
    """

    spec: PodSpec
    service: str
    start: int
    follows: str = ""


@dataclass(frozen=True, slots=True)
class WatchContainer(Command):
    """Watch a container concurrently with other commands; answered by HealthChanged and finally ContainerExited."""

    handle: Handle


@dataclass(frozen=True, slots=True)
class StopContainer(Command):
    """Stop one container, and kill it after its grace period. The watch reports its end."""

    handle: Handle
    reason: str


@dataclass(frozen=True, slots=True)
class StopPod(Command):
    """Stop all containers, and kill each after its grace period. No answer."""

    reason: str


@dataclass(frozen=True, slots=True)
class WriteNotice(Command):
    """Write the termination notice for the containers: they may run until `ends_ms`, Unix ms; None removes it.

    No answer.
    """

    ends_ms: int | None


@dataclass(frozen=True, slots=True)
class SignalPod(Command):
    """Send the checkpoint signal to all running containers. No answer."""

    signal: str


@dataclass(frozen=True, slots=True)
class PausePod(Command):
    """Stop all containers and keep them; answered by PodPaused."""

    reason: str


@dataclass(frozen=True, slots=True)
class DestroyPod(Command):
    """Save the logs, then remove the pod, and its data unless `keep_data`; answered by PodDestroyed."""

    keep_data: bool = False


@dataclass(frozen=True, slots=True)
class SweepOrphan(Command):
    """Remove a pod that no live lease covers; answered by PodDestroyed."""

    keep_data: bool = False


@dataclass(frozen=True, slots=True)
class CollectResult(Command):
    """Store log and result, with a note in the log; answered by ResultStored or CollectFailed.

    `handle`: the main container; None: the result is empty.
    """

    handle: Handle | None
    result: ResultSpec
    note: str = ""


@dataclass(frozen=True, slots=True)
class TakeInventory(Command):
    """List the retained data of the lease and store the record; answered by DataFound. `volumes`: the expected ones."""

    volumes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PurgeData(Command):
    """Delete the retained data of the lease; answered by DataPurged."""


@dataclass(frozen=True, slots=True)
class SubmitStarted(Command):
    """Submit report_started; answered by ReportOutcome."""


@dataclass(frozen=True, slots=True)
class SubmitResult(Command):
    """Submit report_result, or commit a result that is compared; answered by ReportOutcome."""

    digest: bytes
    exit_code: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class SubmitFailed(Command):
    """Submit report_failed; answered by ReportOutcome."""

    reason: HostFailure
    message: str


@dataclass(frozen=True, slots=True)
class SubmitPurged(Command):
    """Submit the receipt for deleted data; answered by ReportOutcome. `attempt`: number of refused receipts."""

    receipt: bytes
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class SubmitDataLost(Command):
    """Report that retained data is lost; answered by ReportOutcome."""


@dataclass(frozen=True, slots=True)
class ScheduleStop(Command):
    """Tick at this time, at which the escrow is used up."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class ScheduleRetry(Command):
    """Tick at this time, at which a retry is due."""

    at_ms: int
