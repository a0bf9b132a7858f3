"""Images without an engine: registries and a disk in memory, for the fake driver and for tests."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from node_agent.drivers.port import EngineUnreachable
from node_agent.images.logins import NOBODY, ImageAccess
from node_agent.images.policy import Disk, Platform, PulledImage, PullFault
from node_agent.images.ports import LocalImage, MayContinue, OnProgress, PullRefused, PullResult
from offchain.schema.manifest.types import ImageRef

LINUX = Platform("linux", "amd64")


@dataclass(frozen=True, slots=True)
class FakeImage:
    """An image in a registry. `refusal`: the registry refuses with this text.

    `logins`: only these logins (user and password) may pull the image; None: no login is needed.
    """

    image: LocalImage
    refusal: str = ""
    logins: frozenset[tuple[str, str]] | None = None


@dataclass(slots=True)
class FakeImages:
    """An engine's images in memory. `registry`: images that can be pulled, `local`: images here, by reference."""

    registry: dict[str, FakeImage] = field(default_factory=dict)
    local: dict[str, LocalImage] = field(default_factory=dict)
    containers: list[str] = field(default_factory=list)
    """Ids of images that containers use."""
    runs_on: Platform = LINUX
    room: Disk | None = None
    reachable: bool = True
    pulls: list[str] = field(default_factory=list)
    """All pulls that were started."""
    on_progress: dict[str, OnProgress] = field(default_factory=dict)
    """Progress callbacks of the last pull of each reference."""
    gate: asyncio.Event | None = None
    """Pulls wait for this event."""

    async def platform(self) -> Platform:
        self._answer()
        return self.runs_on

    async def find(self, image: ImageRef) -> LocalImage | None:
        self._answer()
        for reference, found in self.local.items():
            if image.digest in (found.id, reference.rpartition("@")[2]):
                return found
        return None

    async def pull(
        self,
        reference: str,
        may_continue: MayContinue,
        on_progress: OnProgress,
        access: ImageAccess = NOBODY,
        pulled: tuple[PulledImage, ...] = (),  # noqa: ARG002  (there are no layers)
    ) -> PullResult:
        self._answer()
        self.pulls.append(reference)
        self.on_progress[reference] = on_progress
        if self.gate is not None:
            await self.gate.wait()
        found = self.registry.get(reference)
        if found is None:
            raise PullRefused(f"manifest for {reference} not found: manifest unknown")
        if found.refusal:
            raise PullRefused(found.refusal)
        login = (access.login.user, access.login.password) if access.login is not None else ("", "")
        if found.logins is not None and login not in found.logins:
            raise PullRefused("the registry denies the manifest (401)", PullFault.DENIED)
        if not may_continue(found.image.size_bytes, self.room):
            raise PullRefused("stopped for want of room", PullFault.FULL)
        on_progress(found.image.size_bytes, found.image.size_bytes)
        self.local[reference] = replace(found.image, by_agent=True)
        if self.room is not None:
            self.room = replace(self.room, free_bytes=self.room.free_bytes - found.image.size_bytes)
        return PullResult(reference)

    async def remove(self, reference: str) -> bool:
        self._answer()
        found = self.local.get(reference)
        if found is None:
            return True
        if found.id in self.containers:
            return False
        del self.local[reference]
        if self.room is not None:
            self.room = replace(self.room, free_bytes=self.room.free_bytes + found.size_bytes)
        return True

    async def in_use(self) -> frozenset[str]:
        self._answer()
        return frozenset(self.containers)

    async def disk(self) -> Disk | None:
        return self.room

    async def close(self) -> None:
        """Do nothing."""

    def _answer(self) -> None:
        if not self.reachable:
            raise EngineUnreachable("the engine does not answer")
