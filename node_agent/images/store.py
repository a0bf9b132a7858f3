"""Images on one host: pulled by digest, checked, shared between pods, and removed when there are too many."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

from node_agent.images import decide
from node_agent.images.book import ImageBook
from node_agent.images.decide import Disk, Fault, GiveUp, Held, Mirror, Pause, Pull, Search
from node_agent.images.ports import ImageEngine, LocalImage, PullRefused
from node_agent.ports import DriverError, ImageInvalid, ImageUnavailable, PullProgress, ResourcesUnavailable
from offchain.schema.manifest_types import ImageRef

MAX_PULLS = 3
GIB = 1 << 30
log = logging.getLogger(__name__)


class ImageStore:
    """The agent's images. `quota_bytes`: for the images it pulled; those that it found are the machine's own.

    `now_ms`: Unix time; `pause`: waits for so many seconds.
    """

    def __init__(
        self,
        engine: ImageEngine,
        book: ImageBook,
        *,
        mirror: Mirror | None,
        quota_bytes: int,
        now_ms: Callable[[], int],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._engine = engine
        self._book = book
        self._mirror = mirror
        self._quota_bytes = quota_bytes
        self._now_ms = now_ms
        self._pause = pause
        self._slots = asyncio.Semaphore(MAX_PULLS)
        self._under_way: dict[str, asyncio.Task[LocalImage]] = {}
        self._progress: dict[str, PullProgress] = {}
        """Of the images that are being pulled, or wait for it, by their references."""
        self._moved_at_ms: dict[str, int] = {}
        self._tidying = asyncio.Lock()

    async def ensure(self, image: ImageRef) -> str:
        """See :class:`node_agent.images.ports.Images`."""
        # Whoever asks first does the work; that one of them no longer waits does not stop it for the others.
        found = await asyncio.shield(self._start(image))
        self._book.touch(found.id, self._now_ms())
        return found.id

    def prefetch(self, images: Iterable[ImageRef]) -> None:
        """See :class:`node_agent.images.ports.Images`."""
        for image in decide.to_prefetch(images, self._under_way, MAX_PULLS):
            self._start(image)

    def progress(self, image: ImageRef) -> PullProgress | None:
        """See :class:`node_agent.images.ports.Images`."""
        found, moved_at_ms = self._progress.get(image.reference), self._moved_at_ms.get(image.reference)
        if found is None or moved_at_ms is None:
            return found
        return replace(found, idle_ms=max(0, self._now_ms() - moved_at_ms))

    async def tidy(self) -> None:
        """See :class:`node_agent.images.ports.Images`."""
        await self._evict(all_idle=False)

    async def close(self) -> None:
        """See :class:`node_agent.images.ports.Images`."""
        tasks = tuple(self._under_way.values())
        for task in tasks:
            task.cancel()
        await self._engine.close()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, image: ImageRef) -> asyncio.Task[LocalImage]:
        found = self._under_way.get(image.reference)
        if found is None:
            found = self._under_way[image.reference] = asyncio.create_task(self._obtain(image))
            found.add_done_callback(lambda task: self._ended(image, task))
        return found

    def _ended(self, image: ImageRef, task: asyncio.Task[LocalImage]) -> None:
        self._under_way.pop(image.reference, None)
        self._progress.pop(image.reference, None)
        self._moved_at_ms.pop(image.reference, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            # Read here, because of a prefetched image nobody may ask for the error.
            log.info("%s is not to be had: %s", image.reference, error)

    async def _obtain(self, image: ImageRef) -> LocalImage:
        platform = await self._engine.platform()
        found = await self._engine.find(image)
        if found is None:
            self._progress[image.reference] = PullProgress(image.reference, 0, 0, None, 0)
            async with self._slots:
                found = await self._search(image)
        if not platform.runs(found.platform):
            await self._let_go(image)
            raise ImageInvalid(
                f"the image {image.reference} is for {found.platform.os}/{found.platform.architecture}, and this host "
                f"is {platform.os}/{platform.architecture}; name the digest of the image for it, or of its list"
            )
        return found

    async def _search(self, image: ImageRef) -> LocalImage:
        """Ask one place after the other, again where that may help."""
        search = Search(decide.places(image, self._mirror))
        made_room = False
        while True:
            match decide.next_step(search):
                case Pull(reference):
                    refused = await self._pull(image, reference)
                    if not isinstance(refused, PullRefused):
                        return refused
                    fault = refused.fault or decide.fault_of(str(refused), reference)
                    if fault is Fault.FULL and not made_room:
                        made_room = await self._evict(all_idle=True) > 0
                        fault = Fault.PASSING if made_room else fault
                    log.info("%s: %s (%s)", reference, refused, fault.value)
                    search = decide.refused(search, reference, fault, str(refused))
                case Pause(seconds):
                    await self._pause(seconds)
                    search = decide.next_round(search)
                case GiveUp() as end:
                    raise _failure(image, end, self._quota_bytes)

    async def _pull(self, image: ImageRef, reference: str) -> LocalImage | PullRefused:
        def go_on(pulled_bytes: int, disk: Disk | None) -> bool:
            return decide.has_room(pulled_bytes, self._quota_bytes, disk)

        def came(done_bytes: int, total_bytes: int) -> None:
            self._moved_at_ms[image.reference] = self._now_ms()
            self._see(image, done_bytes=done_bytes, total_bytes=total_bytes)

        self._see(image, tries=self._progress[image.reference].tries + 1)
        try:
            if not go_on(0, await self._engine.disk()):
                raise PullRefused("not enough space on the host's disk", Fault.FULL)  # noqa: TRY301
            name = await self._engine.pull(reference, go_on, came)
            found = await self._engine.find(image)
            if found is None:
                raise PullRefused("what came did not match the digest", Fault.CORRUPT)  # noqa: TRY301
        except PullRefused as error:
            self._see(image, trouble=str(error))
            return error
        self._book.add(Held(reference, found.id, found.size_bytes, self._now_ms(), name))
        log.info("pulled %s (%d MiB)", reference, found.size_bytes >> 20)
        await self._evict(all_idle=False)
        return found

    def _see(self, image: ImageRef, **changes: Any) -> None:
        before = self._progress.get(image.reference)
        if before is not None:  # else the pull was cancelled, and its engine has not heard of it yet
            self._progress[image.reference] = replace(before, **changes)

    async def _let_go(self, image: ImageRef) -> None:
        """Remove what was pulled of it, and only that."""
        for reference in decide.places(image, self._mirror):
            ours = next((held for held in self._book.held if held.reference == reference), None)
            if ours is not None and await self._engine.remove(ours.removed_by):
                self._book.drop(reference)

    async def _evict(self, *, all_idle: bool) -> int:
        """Remove images; how many."""
        async with self._tidying:
            try:
                used = await self._engine.in_use()
                going = decide.evict(self._book.held, used, self._now_ms(), self._quota_bytes, all_idle=all_idle)
                gone = [held for held in going if await self._engine.remove(held.removed_by)]
            except DriverError as error:
                log.warning("images could not be removed: %s", error)
                return 0
            for held in gone:
                self._book.drop(held.reference)
                log.info("removed %s (%d MiB)", held.reference, held.size_bytes >> 20)
            return len(gone)


def _failure(image: ImageRef, end: GiveUp, quota_bytes: int) -> DriverError:
    """The error for whoever wanted the image."""
    said = "; ".join(f"{reference.partition('@')[0]}: {message}" for reference, _, message in end.said)
    match end.fault:
        case Fault.FULL:
            return ResourcesUnavailable(
                f"the image {image.reference} does not fit into the {quota_bytes / GIB:g} GiB that this host has for "
                f"images, or its disk is full ({said})"
            )
        case Fault.PLATFORM | Fault.UNFIT:
            return ImageInvalid(f"the image {image.reference} cannot run on this host ({said})")
        case Fault.CORRUPT:
            return ImageInvalid(f"what its registry gives for {image.reference} is not what its digest says ({said})")
    sentence = _UNAVAILABLE.get(end.fault, _UNAVAILABLE[Fault.PASSING])
    return ImageUnavailable(f"{sentence.format(image=image.reference)} ({said})")


_UNAVAILABLE = {
    Fault.DENIED: "the image {image} is not for everybody; make it public",
    # Not ImageInvalid: the operator of another host may allow the registry.
    Fault.FORBIDDEN: "this host pulls no images from where {image} is: push it to a public registry, or ask the host's "
    "operator to allow the registry (--allow-registry)",
    Fault.SLOW: "the registry of {image} is too slow",
    Fault.ABSENT: "there is no image {image}",
    Fault.PASSING: "the registry of {image} is out of reach",
}
