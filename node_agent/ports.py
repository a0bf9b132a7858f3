"""What the agent needs from whatever runs pods, and how that can fail."""

# ruff: noqa: N818  (errors are named for the fact, as on the chain)

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from node_agent.core.values import Ending, Found, Handle, HostFailure, PodSpec, Usage
from offchain.schema.manifest_types import ResultSpec

MAX_RESULT_BYTES = 16 << 20
MAX_LOG_BYTES = 32 << 20


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


class ResourcesUnavailable(DriverError):
    """The machine does not have what the lease is for."""

    reason = HostFailure.RESOURCES_UNAVAILABLE


class PodGone(DriverError):
    """There is no such pod any more."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a driver found on this machine."""

    driver: str
    version: str
    cgroup_version: int
    cdi: bool
    """GPUs can be asked for by CDI name."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """A pod now. `ending` None exactly while it runs."""

    running: bool
    ending: Ending | None


@dataclass(frozen=True, slots=True)
class Collected:
    """A pod's result. `note` says why it is empty where the program left none; that is no fault of the host."""

    data: bytes
    note: str = ""


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

    async def start(self, spec: PodSpec) -> Handle:
        """Run the pod. A pod of the same lease from this or a later start is adopted, one from an earlier is replaced.

        When it returns, the container was started; it may have ended already.
        """
        ...

    async def wait(self, handle: Handle) -> Ending:
        """Wait for its end and meter it meanwhile. Raises :class:`PodGone` where it was removed."""
        ...

    async def stop(self, lease: int, grace_s: float) -> None:
        """Ask it to end, kill it after the grace time. Nothing where there is none."""
        ...

    async def destroy(self, lease: int) -> None:
        """Remove everything of it. Nothing where there is none."""
        ...

    async def inspect(self, handle: Handle) -> Inspection:
        """Raises :class:`PodGone`."""
        ...

    async def stats(self, handle: Handle) -> Usage:
        """What it used so far."""
        ...

    def logs(self, lease: int, *, follow: bool) -> AsyncGenerator[bytes, None]:
        """Both outputs with time stamps, in pieces; with `follow` until it ends. Raises :class:`PodGone`."""
        ...

    async def collect(self, handle: Handle, result: ResultSpec) -> Collected:
        """The result of an ended pod. Raises :class:`PodGone`."""
        ...

    async def recover(self) -> tuple[Found, ...]:
        """Every pod of this host that the engine has."""
        ...

    async def close(self) -> None:
        """Let go of the engine; pods run on."""
        ...
