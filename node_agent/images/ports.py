"""What the agent needs of images, and what its store needs of an engine."""

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
"""What the comment on an image begins with that is a snapshot of a tenant's container: no manifest names it."""


class PullRefused(Exception):
    """An image could not be pulled. `fault`: what that means; None where only the engine's text tells."""

    def __init__(self, message: str, fault: PullFault | None = None) -> None:
        self.fault = fault
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class LocalImage:
    """An image that the engine has."""

    id: str
    platform: Platform
    size_bytes: int
    by_agent: bool = False
    """All the names that the engine has for it are of pulls of agents."""


@dataclass(frozen=True, slots=True)
class PullResult:
    """An image that was pulled: the name that the engine has for it, and the digests of its blobs."""

    name: str
    blobs: tuple[str, ...] = ()


MayContinue = Callable[[int, Disk | None], bool]
"""Asked during a pull with the image's size as far as it is known, and the disk as it is then."""
OnProgress = Callable[[int, int], None]
"""Told during a pull when something came or was unpacked: bytes that are here, and bytes in all as far as known."""


class ImageEngine(Protocol):
    """An engine's images. Raises :class:`node_agent.drivers.port.EngineUnreachable` and `EngineBusy`."""

    async def platform(self) -> Platform:
        """What it can run."""
        ...

    async def find(self, image: ImageRef) -> LocalImage | None:
        """The image with this digest, whatever it is called."""
        ...

    async def pull(
        self,
        reference: str,
        go_on: MayContinue,
        came: OnProgress,
        access: ImageAccess = NOBODY,
        held: tuple[PulledImage, ...] = (),
    ) -> PullResult:
        """Fetch an image as long as `go_on` says so; :meth:`remove` takes the name that is returned.

        `held`: what was pulled before. Blobs that the engine has of other accounts' logins have to come from this
        image's registry, too. Raises :class:`PullRefused`. `go_on` and `came` may be called by another thread.
        """
        ...

    async def remove(self, reference: str) -> bool:
        """Let go of it by this name; it is gone with its last name. False where it is in use and stays."""
        ...

    async def in_use(self) -> frozenset[str]:
        """Ids of the images that containers are made of, running or not."""
        ...

    async def disk(self) -> Disk | None:
        """Where it keeps them; None where that cannot be seen from here."""
        ...

    async def close(self) -> None:
        """Let go of the engine; pulls under way are stopped."""
        ...


class Images(Protocol):
    """Images on this host."""

    async def ensure(self, image: ImageRef, access: ImageAccess = NOBODY) -> str:
        """Have the image here, and give what the engine calls it (its id).

        An image that was pulled with a login is used for the accounts that did so; for another, its registry is asked.
        Asking again is cheap. Raises `ImageUnavailable`, `ImageInvalid` (wrong platform or
        digest), `ResourcesUnavailable` (no room) and `EngineUnreachable`; the texts are fit for users.
        """
        ...

    def prefetch(self, images: Iterable[ImageRef], access: ImageAccess = NOBODY) -> None:
        """Begin with these; returns at once, and never fails: `ensure` says what is wrong with them."""
        ...

    def progress(self, image: ImageRef, account: str = "") -> PullProgress | None:
        """How far its pull is, or that it waits for its turn; None where none is under way."""
        ...

    async def tidy(self) -> None:
        """Remove what is above the quota and not in use, the longest unused first."""
        ...

    async def close(self) -> None:
        """Stop what is under way."""
        ...
