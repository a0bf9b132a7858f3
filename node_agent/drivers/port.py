"""The port through which the agent runs pods, and its errors."""

# ruff: noqa: N818  (errors are named for the fact, as on the chain)

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from node_agent.core.values import Ending, FoundContainer, Handle, HostFailure, PodSpec, Usage
from offchain.schema.manifest.types import ResultSpec
from offchain.schema.protocol.snapshots import RentalSnapshot

MAX_RESULT_BYTES = 16 << 20
MAX_LOG_BYTES = 32 << 20
MAX_LOG_LINES = 250_000
"""The end of a container's log that is kept after the container is removed: at most this many bytes and lines."""


class DriverError(Exception):
    """A driver operation failed. `transient`: a later attempt may succeed. The text is fit for users."""

    reason = HostFailure.DRIVER_ERROR
    transient = False


class EngineUnreachable(DriverError):
    """The engine does not answer."""

    transient = True


class EngineBusy(DriverError):
    """The engine answered with an internal error."""

    transient = True


class ImageUnavailable(DriverError):
    """The image is not on the host and cannot be pulled."""

    reason = HostFailure.IMAGE_UNAVAILABLE


class ImageInvalid(DriverError):
    """The image is on the host, but the manifest cannot be run with it."""

    reason = HostFailure.IMAGE_INVALID


class ImageCannotRun(DriverError):
    """The image is valid, but the program that the manifest or the image names cannot be started."""

    reason = HostFailure.IMAGE_CANNOT_RUN


class ImageTooSlow(DriverError):
    """The image is not on the host yet. Neither the tenant nor the host alone causes the delay."""

    reason = HostFailure.IMAGE_TOO_SLOW


class ResourcesUnavailable(DriverError):
    """The machine lacks resources that the lease is for."""

    reason = HostFailure.RESOURCES_UNAVAILABLE


class PodGone(DriverError):
    """The pod or the container does not exist."""


class SnapshotRefused(DriverError):
    """A snapshot cannot be taken or removed, or does not exist. The text is fit for users."""


class FolderMissing(DriverError):
    """The container has no such folder, or not yet."""


class FolderRefused(DriverError):
    """An archive cannot be unpacked in a container."""


@dataclass(frozen=True, slots=True)
class Seed:
    """Initial content of a new container: the folder `path`, unpacked from a checked archive before its start."""

    path: str
    archive: Path


@dataclass(frozen=True, slots=True)
class PullProgress:
    """Progress of an image pull. Sizes are of the compressed layers that the engine knows so far."""

    reference: str
    done_bytes: int
    total_bytes: int
    idle_ms: int | None
    """Time since data was last received or unpacked; None before the first data."""
    tries: int
    """Number of attempts; 0 while the pull waits in the queue."""
    trouble: str = ""
    """The error of the last attempt."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a driver found on this machine."""

    driver: str
    version: str
    cgroup_version: int
    cdi: bool
    """GPUs can be requested by CDI name."""
    isolated: bool = True
    """Pods can be isolated from this machine and from each other, and so may have a network."""
    isolation: str = "the machine's kernel"
    """What separates a container from the machine."""
    sandboxed: bool = False
    """Containers have a kernel of their own, as a trial container proved."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """State of a container. `ending` is None exactly while it runs, `healthy` before the first health check."""

    running: bool
    ending: Ending | None
    healthy: bool | None = None


@dataclass(frozen=True, slots=True)
class CollectedResult:
    """A pod's result. `note` explains an empty result that the program caused; it is not the host's fault.

    `too_large`: the result exceeds the size limit.
    """

    data: bytes
    note: str = ""
    too_large: bool = False


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume with a lease's data. `size_bytes` is None if unknown; `created` is the driver's own text."""

    name: str
    created: str
    size_bytes: int | None


class PodFiles(Protocol):
    """Delivered files of tenants on this machine."""

    def path(self, lease: int, name: str) -> Path:
        """Return the path of a delivered file. The file exists before a pod that needs it is prepared."""

    def allow_reading(self, lease: int, name: str, user: int | None) -> None:
        """Make a file readable for one user of a container; None: for all users of the container."""

    def notice_folder(self, lease: int) -> Path:
        """Return the folder that holds the notice for the pod's containers, created if missing."""

    def set_notice(self, lease: int, notice: bytes | None) -> None:
        """Write the notice; None removes it."""


class Driver(Protocol):
    """Runs the pods of one host key. Pods of other hosts on the same engine are invisible to it.

    Every method may be called again after a crash at any instruction. Raises :class:`DriverError`.
    """

    @property
    def name(self) -> str:
        """The driver's name in handles."""

    async def fingerprint(self) -> Fingerprint:
        """Detect whether and how the driver can run pods on this machine."""

    def prefetch(self, spec: PodSpec) -> None:
        """Start to pull the pod's images. Returns at once and never raises; :meth:`prepare` reports errors."""

    async def prepare(self, spec: PodSpec) -> None:
        """Provide images, network and volumes of the pod. Takes over the volumes of `data_from`."""

    def explain_delay(self, spec: PodSpec) -> DriverError:
        """Return why a pod is not prepared yet, without blocking.

        :class:`ImageUnavailable` if the pull of an image has stalled, :class:`ImageTooSlow` if it progresses or is
        queued, and another error if the pod waits for something else.
        """

    def progress(self, spec: PodSpec) -> tuple[PullProgress, ...]:
        """Return the progress of the pod's image pulls, without images that are on the host."""

    async def start(
        self, spec: PodSpec, service: str, start: int, follows: str = "", seed: Seed | None = None
    ) -> Handle:
        """Start the container of one service of a prepared pod.

        With `follows`, the mark of an ended run, the same container is started again after that run. Without it, a
        container of this or a later start is adopted and one of an earlier start is replaced. When the method returns,
        the container was started, and may have ended. A new container gets the `seed` before its program starts; raises
        :class:`FolderRefused`, and leaves no container, if that fails.
        """

    def save_path(self, handle: Handle, path: str) -> AsyncGenerator[bytes, None]:
        """Return a folder of a running container as a tar stream whose names begin with the last part of the path.

        The program keeps running. Raises :class:`PodGone`, :class:`FolderMissing`.
        """

    def watch(self, handle: Handle) -> AsyncGenerator[Inspection, None]:
        """Yield the state of a container now and after each change of health, and last with its ending. Meters it.

        Raises :class:`PodGone` if it was removed.
        """

    async def stop(self, lease: int) -> None:
        """Stop all containers of the lease; each is killed after its own grace time. Does nothing if there are none."""

    async def set_notice(self, lease: int, notice: bytes | None) -> None:
        """Put the notice into the file that GANTRY_NOTICE names, for present and later containers; None removes it.

        Containers cannot change the file. Does nothing if the pod's spec excludes notices.
        """

    async def signal(self, lease: int, name: str) -> None:
        """Send a signal by name, such as SIGUSR1, to all running containers. Programs without a handler end."""

    async def stop_container(self, handle: Handle) -> None:
        """Stop one container; it is killed after its grace time. Does nothing if it does not exist."""

    async def destroy(self, lease: int, *, keep_data: bool) -> None:
        """Remove everything of the lease; its volumes only unless `keep_data`. Does nothing if there is nothing."""

    async def inspect(self, handle: Handle) -> Inspection:
        """Return the state of a container. Raises :class:`PodGone`."""

    async def stats(self, handle: Handle) -> Usage:
        """Return the container's usage so far."""

    def logs(
        self, lease: int, *, follow: bool, service: str | None = None, tail: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield both outputs with time stamps; with `follow` until the containers end. Raises :class:`PodGone`.

        Without `service`, of all containers; if there are several, each line names its service. `tail`: only this many
        of the last existing lines of each container.
        """

    async def collect(self, handle: Handle, result: ResultSpec) -> CollectedResult:
        """Return the result of an ended container. Raises :class:`PodGone`."""

    async def volumes(self, lease: int) -> tuple[Volume, ...]:
        """Return the volumes with the lease's data by name, without those that another lease has taken over."""

    async def purge(self, lease: int) -> None:
        """Delete the lease's data and snapshots, unless another lease has taken them over."""

    async def snapshot(self, lease: int, name: str, most_mib: int) -> RentalSnapshot:
        """Save the main container's own file system under a name, as part of the lease's data.

        Mounted volumes, delivered files and memory are not included. A pod whose spec names the snapshot as `base` is
        created from it. `most_mib`: the limit of all containers, volumes and snapshots of the lease together. Raises
        :class:`SnapshotRefused` if the limit would be exceeded or the name is taken; :class:`PodGone`.
        """

    async def snapshots(self, lease: int) -> tuple[RentalSnapshot, ...]:
        """Return the lease's snapshots, oldest first, without those that another lease has taken over."""

    async def remove_snapshot(self, lease: int, name: str) -> None:
        """Remove a snapshot if it exists. Raises :class:`SnapshotRefused` if a container uses it."""

    def archive(self, lease: int, name: str) -> AsyncGenerator[bytes, None]:
        """Yield a snapshot with its base layers as an archive that engines load; the bytes are the same each time.

        Raises :class:`SnapshotRefused` if there is no such snapshot.
        """

    async def recover(self, lease: int | None = None) -> tuple[FoundContainer, ...]:
        """Return every container of this host's pods, or of one lease, that the engine has.

        Each handle has the `start` with which its container was created.
        """

    async def leases(self) -> frozenset[int]:
        """Return every lease of which the engine has a container, a network or a volume."""

    async def upkeep(self) -> Mapping[int, int]:
        """Repair the isolation of pods, and return the disk usage of each lease in MiB."""

    async def tidy(self) -> None:
        """Remove what no pod has needed for a long time."""

    async def close(self) -> None:
        """Close the connection to the engine; pods keep running."""
