"""Ports: the agent's images, and the image operations of an engine."""

# ruff: noqa: N818  (errors are named for the fact, as on the chain)

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from node_agent.drivers.port import PullProgress
from node_agent.images.logins import NOBODY, ImageAccess
from node_agent.images.policy import Disk, Platform, PulledImage, PullFault
from offchain.schema.manifest.types import ImageRef

SNAPSHOT_MARK = "gantry-snapshot "
"""Prefix of the comment of an image that is a snapshot of a tenant's container, which no manifest may name."""


class PullRefused(Exception):
    """An image could not be pulled. `fault`: the meaning; None if only the engine's text is known."""

    def __init__(self, message: str, fault: PullFault | None = None) -> None:
        self.fault = fault
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class LocalImage:
    """An image on the engine."""

    id: str
    platform: Platform
    size_bytes: int
    by_agent: bool = False
    """All names of the image on the engine are from pulls of agents."""


@dataclass(frozen=True, slots=True)
class PullResult:
    """A completed pull: the engine's name of the image, and the digests of its blobs."""

    name: str
    blobs: tuple[str, ...] = ()


MayContinue = Callable[[int, Disk | None], bool]
"""Called during a pull with the image's size as far as known and the current disk; False aborts it."""
OnProgress = Callable[[int, int], None]
"""Called during a pull when data was received or unpacked, with received and total bytes as far as known."""


class ImageEngine(Protocol):
    """An engine's images. Raises :class:`node_agent.drivers.port.EngineUnreachable` and `EngineBusy`."""

    async def platform(self) -> Platform:
        """Return the platform of the engine."""

    async def find(self, image: ImageRef) -> LocalImage | None:
        """Return the image with this digest under any name."""

    async def pull(
        self,
        reference: str,
        may_continue: MayContinue,
        on_progress: OnProgress,
        access: ImageAccess = NOBODY,
        pulled: tuple[PulledImage, ...] = (),
    ) -> PullResult:
        """Pull an image while `may_continue` permits; :meth:`remove` takes the returned name.

        `pulled`: earlier pulls. Blobs that the engine has from other accounts' logins must be delivered by this image's
        registry, too. Raises :class:`PullRefused`. `may_continue` and `on_progress` may be called by another thread.
        """

    async def remove(self, reference: str) -> bool:
        """Remove a name of an image, and the image with its last name. False if it is in use and stays."""

    async def in_use(self) -> frozenset[str]:
        """Return the ids of the images that containers use, running or not."""

    async def disk(self) -> Disk | None:
        """Return the file system of the images; None if it is not visible from here."""

    async def close(self) -> None:
        """Close the connection and stop pulls in progress."""


class Images(Protocol):
    """Images on this host."""

    async def ensure(self, image: ImageRef, access: ImageAccess = NOBODY) -> str:
        """Pull the image if missing, and return the engine's id of it.

        An image that was pulled with a login is available to the accounts that did so; for another account, its
        registry is asked. Repeated calls are cheap. Raises `ImageUnavailable`, `ImageInvalid` (wrong platform or
        digest), `ResourcesUnavailable` (no space) and `EngineUnreachable`; the texts are fit for users.
        """

    def prefetch(self, images: Iterable[ImageRef], access: ImageAccess = NOBODY) -> None:
        """Start to pull these images; returns at once and never raises: `ensure` reports errors."""

    def progress(self, image: ImageRef, account: str = "") -> PullProgress | None:
        """Return the progress of the image's pull, running or queued; None if there is none."""

    async def tidy(self) -> None:
        """Remove unused images beyond the quota, least recently used first."""

    async def close(self) -> None:
        """Stop pulls in progress."""
