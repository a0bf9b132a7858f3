"""Images on one host: pulled by digest, checked, shared between pods, and removed beyond a quota."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from node_agent.drivers.port import DriverError, ImageInvalid, ImageUnavailable, PullProgress, ResourcesUnavailable
from node_agent.images.logins import NOBODY, ImageAccess
from node_agent.images.policy import (
    Disk,
    Mirror,
    PulledImage,
    PullFailed,
    PullFault,
    PullFrom,
    PullPause,
    PullSearch,
    accounts_after,
    fault_of,
    has_room,
    images_to_evict,
    images_to_prefetch,
    may_use,
    next_round,
    next_step,
    pull_references,
    record_refusal,
)
from node_agent.images.ports import ImageEngine, LocalImage, PullRefused, PullResult
from offchain.files import replace_file
from offchain.schema.manifest.types import ImageRef

MAX_PULLS = 3
MAX_PULLS_OF_ACCOUNT = 2
"""Most concurrent pulls of one account, so that one tenant's slow registry leaves capacity for others."""
GIB = 1 << 30
log = logging.getLogger(__name__)


@dataclass(slots=True)
class _ActivePull:
    """A pull in progress, or in the queue."""

    progress: PullProgress
    task: asyncio.Task[LocalImage] | None = None
    moved_at_ms: int | None = None
    """Time of its last progress."""


class ImageStore:
    """The agent's images. `quota_bytes`: for images that the agent pulled; others on the engine are the machine's.

    `now_ms`: Unix time; `pause`: waits for a number of seconds.
    """

    def __init__(
        self,
        engine: ImageEngine,
        inventory: ImageInventory,
        *,
        mirror: Mirror | None,
        quota_bytes: int,
        now_ms: Callable[[], int],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._engine = engine
        self._inventory = inventory
        self._mirror = mirror
        self._quota_bytes = quota_bytes
        self._now_ms = now_ms
        self._pause = pause
        self._slots = asyncio.Semaphore(MAX_PULLS)
        self._slots_of: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        """The semaphore for pulls of each account that has any."""
        self._asked: dict[tuple[str, ImageAccess], asyncio.Task[LocalImage]] = {}
        """Requests in progress by reference and access."""
        self._waiting: set[tuple[str, ImageAccess]] = set()
        """Requests that need a pull."""
        self._pulls: dict[tuple[str, ImageAccess], _ActivePull] = {}
        """Pulls by reference and access: NOBODY without a login, because accounts share such a pull."""
        self._tidying = asyncio.Lock()

    async def ensure(self, image: ImageRef, access: ImageAccess = NOBODY) -> str:
        # The first caller starts the work; a cancelled caller does not stop it for the others.
        found = await asyncio.shield(self._start(image, access.to(image)))
        self._inventory.touch(found.id, self._now_ms())
        return found.id

    def prefetch(self, images: Iterable[ImageRef], access: ImageAccess = NOBODY) -> None:
        busy = [reference for reference, other in self._asked if other.account == access.account]
        for image in images_to_prefetch(images, busy, MAX_PULLS):
            self._start(image, access.to(image))

    def progress(self, image: ImageRef, account: str = "") -> PullProgress | None:
        accounts = {account, NOBODY.account}
        pulls = [
            pull
            for (reference, access), pull in self._pulls.items()
            if reference == image.reference and access.account in accounts
        ]
        if pulls:
            pull = pulls[0]
            if pull.moved_at_ms is None:
                return pull.progress
            return replace(pull.progress, idle_ms=max(0, self._now_ms() - pull.moved_at_ms))
        if any(reference == image.reference and access.account in accounts for reference, access in self._waiting):
            return PullProgress(image.reference, 0, 0, None, 0)
        return None

    async def tidy(self) -> None:
        await self._evict(all_idle=False)

    async def close(self) -> None:
        pulls = (pull.task for pull in self._pulls.values() if pull.task is not None)
        tasks = (*self._asked.values(), *pulls)
        for task in tasks:
            task.cancel()
        await self._engine.close()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, image: ImageRef, access: ImageAccess) -> asyncio.Task[LocalImage]:
        key = (image.reference, access)
        found = self._asked.get(key)
        if found is None:
            found = self._asked[key] = asyncio.create_task(self._obtain(image, access))
            found.add_done_callback(lambda task: self._ended(key, task))
        return found

    def _ended(self, key: tuple[str, ImageAccess], task: asyncio.Task[LocalImage]) -> None:
        self._asked.pop(key, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            # Retrieved here, because nobody may await a prefetched image.
            log.info("%s cannot be pulled: %s", key[0], error)

    async def _obtain(self, image: ImageRef, access: ImageAccess) -> LocalImage:
        platform = await self._engine.platform()
        found = await self._usable(image, access)
        if found is None:
            found = await self._obtain_by_pull(image, access)
        if not platform.runs(found.platform):
            await self._let_go(image)
            raise ImageInvalid(
                f"the image {image.reference} is for {found.platform.os}/{found.platform.architecture}, and this host "
                f"is {platform.os}/{platform.architecture}; name the digest of the image for it, or of its list"
            )
        return found

    async def _obtain_by_pull(self, image: ImageRef, access: ImageAccess) -> LocalImage:
        """Pull an image within the account's limit.

        Pulls wait for their account's limit before they share a pull, so that no pod waits for another account.
        """
        key = (image.reference, access)
        self._waiting.add(key)
        try:
            slots = self._slots_of.setdefault(access.account, asyncio.Semaphore(MAX_PULLS_OF_ACCOUNT))
            has_waited = slots.locked()
            async with slots:
                found = await self._usable(image, access) if has_waited else None
                if found is None:
                    found = await asyncio.shield(self._shared(image, access))
                return found
        finally:
            self._waiting.discard(key)

    async def _usable(self, image: ImageRef, access: ImageAccess) -> LocalImage | None:
        """Return the image if the engine has it and the account may use it; None if its registry has to be asked."""
        found = await self._engine.find(image)
        if found is None:
            return None
        may = may_use(self._inventory.images, found.id, access.account, by_agent=found.by_agent)
        return found if may else None

    def _shared(self, image: ImageRef, access: ImageAccess) -> asyncio.Task[LocalImage]:
        """Return the pull of this image: one for all accounts without a login."""
        key = (image.reference, NOBODY if access.login is None else access)
        pull = self._pulls.get(key)
        if pull is None or pull.task is None:
            pull = self._pulls[key] = _ActivePull(PullProgress(image.reference, 0, 0, None, 0))
            pull.task = asyncio.create_task(self._in_turn(image, key[1], pull))
            pull.task.add_done_callback(lambda task: self._pulled(key, task))
        return pull.task

    def _pulled(self, key: tuple[str, ImageAccess], task: asyncio.Task[LocalImage]) -> None:
        self._pulls.pop(key, None)
        if not task.cancelled():
            task.exception()  # marks it as retrieved: its callers may have been cancelled

    async def _in_turn(self, image: ImageRef, access: ImageAccess, pull: _ActivePull) -> LocalImage:
        async with self._slots:
            return await self._search(image, access, pull)

    async def _search(self, image: ImageRef, access: ImageAccess, pull: _ActivePull) -> LocalImage:
        """Try one reference after the other, repeatedly if that may help."""
        search = PullSearch(pull_references(image, None if access.login is not None else self._mirror))
        made_room = False
        while True:
            match next_step(search):
                case PullFrom(reference):
                    refused = await self._pull(image, reference, access, pull)
                    if not isinstance(refused, PullRefused):
                        return refused
                    fault = refused.fault or fault_of(str(refused), reference)
                    if fault is PullFault.FULL and not made_room:
                        made_room = await self._evict(all_idle=True) > 0
                        fault = PullFault.PASSING if made_room else fault
                    log.info("%s: %s (%s)", reference, refused, fault.value)
                    search = record_refusal(search, reference, fault, str(refused))
                case PullPause(seconds):
                    await self._pause(seconds)
                    search = next_round(search)
                case PullFailed() as end:
                    raise _failure(image, end, self._quota_bytes, with_login=access.login is not None)

    async def _pull(
        self, image: ImageRef, reference: str, access: ImageAccess, pull: _ActivePull
    ) -> LocalImage | PullRefused:
        def may_continue(pulled_bytes: int, disk: Disk | None) -> bool:
            return has_room(pulled_bytes, self._quota_bytes, disk)

        def on_progress(done_bytes: int, total_bytes: int) -> None:
            pull.moved_at_ms = self._now_ms()
            pull.progress = replace(pull.progress, done_bytes=done_bytes, total_bytes=total_bytes)

        pull.progress = replace(pull.progress, tries=pull.progress.tries + 1)
        try:
            if not may_continue(0, await self._engine.disk()):
                raise PullRefused("not enough space on the host's disk", PullFault.FULL)  # noqa: TRY301
            pulled = await self._engine.pull(reference, may_continue, on_progress, access, self._inventory.images)
            found = await self._engine.find(image)
            if found is None:
                raise PullRefused("what on_progress did not match the digest", PullFault.CORRUPT)  # noqa: TRY301
        except PullRefused as error:
            pull.progress = replace(pull.progress, trouble=str(error))
            return error
        await self._note(reference, found, pulled, access)
        log.info("pulled %s (%d MiB)", reference, found.size_bytes >> 20)
        await self._evict(all_idle=False)
        return found

    async def _note(self, reference: str, found: LocalImage, pulled: PullResult, access: ImageAccess) -> None:
        """Record a pull; remove the engine's name from an earlier pull of the reference."""
        before = self._inventory.get(reference)
        accounts = accounts_after(before, found.id, access.account, with_login=access.login is not None)
        self._inventory.add(
            PulledImage(reference, found.id, found.size_bytes, self._now_ms(), pulled.name, accounts, pulled.blobs)
        )
        if before is not None and before.removed_by != pulled.name:
            try:
                await self._engine.remove(before.removed_by)
            except DriverError as error:
                log.warning("an earlier name of %s could not be removed: %s", reference, error)

    async def _let_go(self, image: ImageRef) -> None:
        """Remove the images that were pulled for this one."""
        for reference in pull_references(image, self._mirror):
            ours = next((image for image in self._inventory.images if image.reference == reference), None)
            if ours is not None and await self._engine.remove(ours.removed_by):
                self._inventory.drop(reference)

    async def _evict(self, *, all_idle: bool) -> int:
        async with self._tidying:
            try:
                used = await self._engine.in_use()
                going = images_to_evict(
                    self._inventory.images, used, self._now_ms(), self._quota_bytes, all_idle=all_idle
                )
                gone = [image for image in going if await self._engine.remove(image.removed_by)]
            except DriverError as error:
                log.warning("images could not be removed: %s", error)
                return 0
            for image in gone:
                self._inventory.drop(image.reference)
                log.info("removed %s (%d MiB)", image.reference, image.size_bytes >> 20)
            return len(gone)


def _failure(image: ImageRef, end: PullFailed, quota_bytes: int, *, with_login: bool) -> DriverError:
    refusals = "; ".join(f"{reference.partition('@')[0]}: {message}" for reference, _, message in end.refusals)
    match end.fault:
        case PullFault.FULL:
            return ResourcesUnavailable(
                f"the image {image.reference} does not fit into the {quota_bytes / GIB:g} GiB that this host has for "
                f"images, or its disk is full ({refusals})"
            )
        case PullFault.PLATFORM | PullFault.UNFIT:
            return ImageInvalid(f"the image {image.reference} cannot run on this host ({refusals})")
        case PullFault.CORRUPT:
            return ImageInvalid(
                f"what its registry gives for {image.reference} is not what its digest says ({refusals})"
            )
    sentence = _UNAVAILABLE.get(end.fault, _UNAVAILABLE[PullFault.PASSING])
    if with_login and end.fault is PullFault.DENIED:
        sentence = _LOGIN_DENIED
    return ImageUnavailable(f"{sentence.format(image=image.reference)} ({refusals})")


_UNAVAILABLE = {
    PullFault.DENIED: "the image {image} is not for everybody; make it public, or name a login "
    "(x-gantry.registry_login)",
    # Not ImageInvalid: the operator of another host may allow the registry.
    PullFault.FORBIDDEN: "this host pulls no images from where {image} is: push it to a public registry, or ask the "
    "host's operator to allow the registry (--allow-registry)",
    PullFault.SLOW: "the registry of {image} is too slow",
    PullFault.ABSENT: "there is no image {image}",
    PullFault.PASSING: "the registry of {image} is out of reach",
}
_LOGIN_DENIED = (
    "the registry of {image} denies it for the login of x-gantry.registry_login; check user and password "
    "(USER:PASSWORD in one line), and that the user may pull it"
)


MAX_BYTES = 64 << 20
log = logging.getLogger(__name__)


class ImageInventory:
    """Images that the agent pulled, with their last use, in a file that only its owner can read.

    If the file is lost or invalid, the images in it stay, and their registries are asked before they are used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._images = _read(path)

    @property
    def images(self) -> tuple[PulledImage, ...]:
        return tuple(self._images.values())

    def get(self, reference: str) -> PulledImage | None:
        return self._images.get(reference)

    def add(self, image: PulledImage) -> None:
        self._images[image.reference] = image
        self._write()

    def touch(self, image_id: str, now_ms: int) -> None:
        """Record the use of an image. The machine's own images are not recorded."""
        found = [image for image in self._images.values() if image.id == image_id]
        for image in found:
            self._images[image.reference] = replace(image, last_used_ms=max(now_ms, image.last_used_ms))
        if found:
            self._write()

    def drop(self, reference: str) -> None:
        if self._images.pop(reference, None) is not None:
            self._write()

    def _write(self) -> None:
        text = json.dumps([asdict(image) for image in self._images.values()])
        try:
            replace_file(self._path, text, durable=False)
        except OSError as error:
            # An image that is not recorded stays for ever at worst, which stops no pod.
            log.warning("%s cannot be written (%s); images may stay longer than the quota says", self._path, error)


def _read(path: Path) -> dict[str, PulledImage]:
    try:
        with path.open("rb") as file:
            found = [_pulled_image(entry) for entry in json.loads(file.read(MAX_BYTES))]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError) as error:
        log.warning("%s cannot be read (%s); images pulled before are left as they are", path, error)
        return {}
    return {image.reference: image for image in found}


def _pulled_image(entry: dict[str, Any]) -> PulledImage:
    return PulledImage(
        str(entry["reference"]),
        str(entry["id"]),
        int(entry["size_bytes"]),
        int(entry["last_used_ms"]),
        str(entry.get("local_name", "")),
        tuple(map(str, entry.get("accounts", ()))),
        tuple(map(str, entry.get("blobs", ()))),
    )
