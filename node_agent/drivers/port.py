"""What the agent needs from whatever runs pods, and how that can fail."""

# ruff: noqa: N818  (errors are named for the fact, as on the chain)

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from node_agent.core.values import Ending, FoundContainer, Handle, HostFailure, PodSpec, Usage
from offchain.schema.manifest.types import ResultSpec
from offchain.schema.protocol.snapshots import Snapshot

MAX_RESULT_BYTES = 16 << 20
MAX_LOG_BYTES = 32 << 20
MAX_LOG_LINES = 250_000
"""Of a container's log, so much is kept when it is gone: the end of it."""


class DriverError(Exception):
    """A driver could not do what was asked. `transient`: the same may work later. The text is fit for users."""

    reason = HostFailure.DRIVER_ERROR
    transient = False


class EngineUnreachable(DriverError):
    """The engine does not answer."""

    transient = True


class EngineBusy(DriverError):
    """The engine answered with a fault of its own."""

    transient = True


class ImageUnavailable(DriverError):
    """The image is neither here nor can it be pulled."""

    reason = HostFailure.IMAGE_UNAVAILABLE


class ImageInvalid(DriverError):
    """The image is here, but what the manifest says cannot be run in it."""

    reason = HostFailure.IMAGE_INVALID


class ImageCannotRun(DriverError):
    """The image is here and sound, but no program of it can be started as the manifest or the image says."""

    reason = HostFailure.IMAGE_CANNOT_RUN


class ImageTooSlow(DriverError):
    """The image is not here yet, and how long it takes is neither the tenant's nor this host's doing alone."""

    reason = HostFailure.IMAGE_TOO_SLOW


class ResourcesUnavailable(DriverError):
    """The machine does not have what the lease is for."""

    reason = HostFailure.RESOURCES_UNAVAILABLE


class PodGone(DriverError):
    """There is no such pod any more."""


class SnapshotRefused(DriverError):
    """A snapshot cannot be taken, or is needed, or is not there. The text is fit for users."""


class FolderMissing(DriverError):
    """The container has no such folder, or not yet."""


class FolderRefused(DriverError):
    """An archive cannot be unpacked in a container."""


@dataclass(frozen=True, slots=True)
class Seed:
    """What a new container has before its program starts: the folder `path`, out of a checked archive of it."""

    path: str
    archive: Path


@dataclass(frozen=True, slots=True)
class PullProgress:
    """How far the pull of an image is. Sizes are of its compressed layers, as far as the engine knows them yet."""

    reference: str
    done_bytes: int
    total_bytes: int
    idle_ms: int | None
    """For how long nothing of it has come or was unpacked; None: nothing has come yet."""
    tries: int
    """How often it was begun; 0: it waits for its turn."""
    trouble: str = ""
    """Why the last try failed."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a driver found on this machine."""

    driver: str
    version: str
    cgroup_version: int
    cdi: bool
    """GPUs can be asked for by CDI name."""
    isolated: bool = True
    """Pods can be kept away from this machine and from each other, and so may have a network."""
    isolation: str = "the machine's kernel"
    """What is between a container and the machine."""
    sandboxed: bool = False
    """Containers have a kernel of their own, as a trial showed."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """A container now. `ending` None exactly while it runs; `healthy` None where no check has come to an end."""

    running: bool
    ending: Ending | None
    healthy: bool | None = None


@dataclass(frozen=True, slots=True)
class Collected:
    """A pod's result. `note` says why it is empty where the program left none; that is no fault of the host.

    `too_large`: it left more than a result may have.
    """

    data: bytes
    note: str = ""
    too_large: bool = False


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume with a lease's data. `size_bytes` None where the driver cannot tell; `created` as the driver says it."""

    name: str
    created: str
    size_bytes: int | None


class PodFiles(Protocol):
    """Where files that tenants delivered lie on this machine."""

    def path(self, lease: int, name: str) -> Path:
        """The file. It is there before a pod that needs it is prepared."""
        ...

    def own(self, lease: int, name: str, user: int | None) -> None:
        """Let this user of a container read it; None: whoever runs in the container."""
        ...

    def notices(self, lease: int) -> Path:
        """The folder in which the notice for the pod's containers is, when there is one. Made where it is missing."""
        ...

    def tell(self, lease: int, notice: bytes | None) -> None:
        """Put the notice there; None: take it away."""
        ...


class Driver(Protocol):
    """Runs pods. One object serves one host key; pods of other hosts on the same engine do not exist for it.

    Every method may be called again after a crash at any instruction. Raises :class:`DriverError`.
    """

    @property
    def name(self) -> str:
        """The driver's name in handles."""
        ...

    async def fingerprint(self) -> Fingerprint:
        """Whether and what the driver can run here."""
        ...

    def prefetch(self, spec: PodSpec) -> None:
        """Begin to get the pod's images. Returns at once and never fails: preparing says what is wrong with them."""
        ...

    async def prepare(self, spec: PodSpec) -> None:
        """Have ready what the pod's containers need: images, network, volumes (those of `data_from` are taken over)."""
        ...

    def why_late(self, spec: PodSpec) -> DriverError:
        """What a pod that is still being prepared waits for. Returns at once.

        :class:`ImageUnavailable` where an image's pull stands still, :class:`ImageTooSlow` where it goes on or has not
        begun, and another error where the pod waits for something else.
        """
        ...

    def progress(self, spec: PodSpec) -> tuple[PullProgress, ...]:
        """How far the pulls of the pod's images are; none of images that are here."""
        ...

    async def start(
        self, spec: PodSpec, service: str, start: int, follows: str = "", seed: Seed | None = None
    ) -> Handle:
        """Run the container of a service of a prepared pod.

        With `follows`, the mark of an ended run, the same container goes on after that run. Without, a container of
        this or a later start is adopted, one of an earlier start is replaced. When it returns, the container was
        started; it may have ended already. One that is made anew has the `seed` before its program runs; raises
        :class:`FolderRefused` where it cannot have it, and then there is no container.
        """
        ...

    def save_path(self, handle: Handle, path: str) -> AsyncGenerator[bytes, None]:
        """A folder of a container that runs, as a tar stream whose names begin with the last part of the path.

        The program runs on meanwhile. Raises :class:`PodGone`, :class:`FolderMissing`.
        """
        ...

    def watch(self, handle: Handle) -> AsyncGenerator[Inspection, None]:
        """The container as it is, and after each change of health; the last one has its ending. Meters it meanwhile.

        Raises :class:`PodGone` where it was removed.
        """
        ...

    async def stop(self, lease: int) -> None:
        """Ask all its containers to end, kill each after its own grace time. Nothing where there is none."""
        ...

    async def tell(self, lease: int, notice: bytes | None) -> None:
        """Have its containers, also those that come, find this in the file that GANTRY_NOTICE names; None: no file.

        They cannot change it. Nothing where the pod's spec says that it is never told.
        """
        ...

    async def signal(self, lease: int, name: str) -> None:
        """Send all its containers that run a signal, by name: SIGUSR1. It ends programs that do not listen for it."""
        ...

    async def stop_container(self, handle: Handle) -> None:
        """Ask one container to end, kill it after its grace time. Nothing where it is gone."""
        ...

    async def destroy(self, lease: int, *, keep_data: bool) -> None:
        """Remove everything of it; its volumes only where they are not to be kept. Nothing where there is nothing."""
        ...

    async def inspect(self, handle: Handle) -> Inspection:
        """Raises :class:`PodGone`."""
        ...

    async def stats(self, handle: Handle) -> Usage:
        """What it used so far."""
        ...

    def logs(
        self, lease: int, *, follow: bool, service: str | None = None, tail: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Both outputs with time stamps, in pieces; with `follow` until the end. Raises :class:`PodGone`.

        Without `service`, of all containers; where these are several, each line names its service. `tail`: of each
        container only so many of the lines that are there already, the last.
        """
        ...

    async def collect(self, handle: Handle, result: ResultSpec) -> Collected:
        """The result of an ended container. Raises :class:`PodGone`."""
        ...

    async def volumes(self, lease: int) -> tuple[Volume, ...]:
        """The volumes with the lease's data, by name; none that another lease has taken over."""
        ...

    async def purge(self, lease: int) -> None:
        """Delete the lease's data, snapshots too. Nothing where another lease has taken it over, or there is none."""
        ...

    async def snapshot(self, lease: int, name: str, most_mib: int) -> Snapshot:
        """Keep the main container's own file system under a name, as part of the lease's data.

        Mounted volumes, delivered files and what is in memory are not in it. A pod whose spec has the name as `base`
        is made of it. `most_mib`: what the lease's containers, volumes and snapshots may take together. Raises
        :class:`SnapshotRefused` where they would take more, and where the name is taken; :class:`PodGone`.
        """
        ...

    async def snapshots(self, lease: int) -> tuple[Snapshot, ...]:
        """What is kept of the lease's snapshots, the oldest first; none that another lease has taken over."""
        ...

    async def remove_snapshot(self, lease: int, name: str) -> None:
        """Nothing where there is none. Raises :class:`SnapshotRefused` where a container is made of it."""
        ...

    def archive(self, lease: int, name: str) -> AsyncGenerator[bytes, None]:
        """A snapshot with all it stands on, as engines load it; the same bytes each time. SnapshotRefused: none."""
        ...

    async def recover(self, lease: int | None = None) -> tuple[FoundContainer, ...]:
        """Every container of this host's pods that the engine has, or of one of them. `start`: as when it was made."""
        ...

    async def leases(self) -> frozenset[int]:
        """Every lease of which the engine has anything: a container, a network, a volume."""
        ...

    async def upkeep(self) -> Mapping[int, int]:
        """Look after what runs: mend the isolation of pods, and give the disk that each uses, MiB by lease."""
        ...

    async def tidy(self) -> None:
        """Now and then: remove what no pod has needed for long."""
        ...

    async def close(self) -> None:
        """Let go of the engine; pods run on."""
        ...
