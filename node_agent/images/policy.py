"""Decisions about images: where to ask for one, what a refusal means, which to remove. No IO, no clock.

Images are known by digest, so nobody who hands one over has to be trusted: a mirror is a shorter way, not an authority.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from node_agent.drivers.port import DriverError, ImageTooSlow, ImageUnavailable, PullProgress
from offchain.schema.manifest.types import DOCKER_HUB, ImageRef

PAUSES_S = (1.0, 3.0, 9.0, 20.0)
"""After each round in which all that went wrong may pass."""
KEEP_MS = 10 * 60_000
"""An image that was asked for so recently is not removed: its container may not be there yet."""
FLOOR_SHARE, FLOOR_BYTES = 0.05, 2 << 30
"""So much of the engine's disk is left free whatever a tenant asks for: the lesser of the two."""
MAX_ACCOUNTS = 64
"""So many accounts of an image that was pulled with logins are remembered; an earlier one has to log in again."""
_GIB = 1 << 30
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_HOST = re.compile(r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::\d{1,5})?", re.ASCII)
_PREFIX = re.compile(r"(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*", re.ASCII)


class PullFault(StrEnum):
    """What a failed pull means."""

    ABSENT = "not there"
    DENIED = "not for everybody"
    CORRUPT = "not what its digest says"
    PLATFORM = "for other machines"
    UNFIT = "not an image"
    FULL = "too big"
    PASSING = "out of reach"
    SLOW = "too slow"
    FORBIDDEN = "at a place that is not allowed"


_FAULTS: Sequence[tuple[PullFault, re.Pattern[str]]] = [
    (fault, re.compile(pattern, re.IGNORECASE))
    for fault, pattern in (
        (PullFault.FULL, r"no space left|disk quota exceeded|not enough space"),
        (PullFault.PLATFORM, r"no matching manifest|does not match the specified platform|image operating system"),
        (
            PullFault.CORRUPT,
            r"verification failed|digest mismatch|did not match|unexpected commit digest|invalid checksum",
        ),
        (PullFault.PASSING, r"toomanyrequests|rate limit|\b429\b"),
        (PullFault.UNFIT, r"unsupported media ?type|media ?type .*(?:not supported|unsupported)|invalid manifest"),
        (PullFault.DENIED, r"unauthori[sz]ed|access denied|denied:|forbidden|authentication required"),
        (PullFault.ABSENT, r"manifest unknown|name unknown|not found|does not exist"),
    )
]


def fault_of(message: str, reference: str) -> PullFault:
    """What an engine's message about a failed pull means; what is not known may pass.

    `reference`: what was pulled. Its name is not looked at: it may have any number or word in it.
    """
    name = reference.partition("@")[0]
    message = message.replace(reference, "").replace(name if "/" in name else reference, "")
    if "no such host" in message:
        return PullFault.PASSING
    return next((fault for fault, pattern in _FAULTS if pattern.search(message)), PullFault.PASSING)


@dataclass(frozen=True, slots=True)
class Mirror:
    """A registry that keeps copies: its host (with port), and a path before the names in it ("" or "/path").

    `plain`: without TLS.
    """

    host: str
    prefix: str
    plain: bool = False


def parse_mirror(url: str) -> Mirror:
    """The mirror at this address. Raises ValueError with a sentence for the operator."""
    refusal = f'"{url}" is not the address of a registry; write for example https://mirror.example:5000'
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ValueError(refusal) from None
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(parts.netloc) or parts.query or parts.fragment:
        raise ValueError(refusal)
    prefix = parts.path.rstrip("/")
    if not _PREFIX.fullmatch(prefix):
        raise ValueError(f'"{prefix}" cannot stand before image names; use small letters, digits and dashes')
    if parts.scheme == "http" and not parts.netloc.startswith(_LOOPBACK):
        raise ValueError(
            f'"{url}" is not encrypted, and the engine takes that from this machine only; write https://{parts.netloc}'
        )
    return Mirror(parts.netloc, prefix, parts.scheme == "http")


def pull_references(image: ImageRef, mirror: Mirror | None) -> tuple[str, ...]:
    """The references to pull by, in this order: from the mirror, then from where the manifest says."""
    path = image.name.removeprefix(f"{image.registry}/")
    if image.registry == DOCKER_HUB and "/" not in image.name:
        path = f"library/{image.name}"
    found = () if mirror is None else (f"{mirror.host}{mirror.prefix}/{path}@{image.digest}",)
    return (*found, image.reference) if image.reference not in found else found


@dataclass(frozen=True, slots=True)
class PullSearch:
    """How far the search for one image has come: places still open, those tried in this round, and what they said."""

    open: tuple[str, ...]
    tried: tuple[str, ...] = ()
    round: int = 0
    said: tuple[tuple[str, PullFault, str], ...] = ()
    """The last refusal of each place: reference, fault, message."""


@dataclass(frozen=True, slots=True)
class PullFrom:
    """Ask this place."""

    reference: str


@dataclass(frozen=True, slots=True)
class PullPause:
    """Wait before the next round."""

    seconds: float


@dataclass(frozen=True, slots=True)
class PullFailed:
    """The image cannot be had: the fault that says most, and what each place said."""

    fault: PullFault
    said: tuple[tuple[str, PullFault, str], ...]


_OF_THE_IMAGE = frozenset({PullFault.FULL, PullFault.PLATFORM, PullFault.UNFIT})
"""Faults that are the same wherever the image comes from, because its digest says what it is."""


def record_refusal(search: PullSearch, reference: str, fault: PullFault, message: str) -> PullSearch:
    """A place did not give the image. Only what may pass is asked again."""
    said = (*(entry for entry in search.said if entry[0] != reference), (reference, fault, message))
    still = search.open
    if fault in _OF_THE_IMAGE:
        still = ()
    elif fault is not PullFault.PASSING:
        still = tuple(place for place in search.open if place != reference)
    return replace(search, open=still, tried=(*search.tried, reference), said=said)


def next_step(search: PullSearch) -> PullFrom | PullPause | PullFailed:
    """What to do now. After a Pause: :func:`next_round`."""
    for reference in search.open:
        if reference not in search.tried:
            return PullFrom(reference)
    if search.open and search.round < len(PAUSES_S):
        return PullPause(PAUSES_S[search.round])
    return PullFailed(_worst(search.said), search.said)


def next_round(search: PullSearch) -> PullSearch:
    """The places that are still open, once more."""
    return replace(search, tried=(), round=search.round + 1)


_WEIGHT = (
    PullFault.FULL, PullFault.PLATFORM, PullFault.UNFIT, PullFault.PASSING, PullFault.SLOW, PullFault.FORBIDDEN,
    PullFault.DENIED, PullFault.CORRUPT, PullFault.ABSENT,
)  # fmt: skip
"""What says most about the image comes first. A mirror's copy may be corrupt while the origin is only out of reach."""


def _worst(said: Iterable[tuple[str, PullFault, str]]) -> PullFault:
    faults = {fault for _, fault, _ in said}
    return next((fault for fault in _WEIGHT if fault in faults), PullFault.ABSENT)


@dataclass(frozen=True, slots=True)
class Platform:
    """What an image runs on, in the words of OCI: linux, amd64."""

    os: str
    architecture: str

    def runs(self, image: Platform) -> bool:
        """Whether an engine of this platform runs an image of that; one that does not say is taken at its word."""
        return image.os in ("", self.os) and image.architecture in ("", self.architecture)


_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i386": "386", "i686": "386"}


def engine_platform(os: str, architecture: str) -> Platform:
    """The engine's own platform from what it says of its kernel."""
    return Platform(os.lower() or "linux", _ARCHITECTURES.get(architecture, architecture))


@dataclass(frozen=True, slots=True)
class PulledImage:
    """An image that the agent pulled. Images that it found on the engine are not its own, and are never removed."""

    reference: str
    id: str
    size_bytes: int
    """Layers that images share are counted for each."""
    last_used_ms: int
    local_name: str = ""
    """What the engine calls it; empty: by its reference, as earlier releases pulled it."""
    accounts: tuple[str, ...] = ()
    """The accounts that pulled it with a login; empty: it was pulled without one, and every account may use it."""
    blobs: tuple[str, ...] = ()
    """The digests of its configuration and its layers; empty where an earlier release pulled it."""

    @property
    def removed_by(self) -> str:
        """The name by which the engine removes it."""
        return self.local_name or self.reference


def may_use(held: Iterable[PulledImage], image_id: str, account: str, *, by_agent: bool) -> bool:
    """Whether a pod of this account may be made of an image that the engine has, without asking its registry.

    `by_agent`: all the names that the engine has for it are of agents' pulls. Such an image that is not in `held` was
    pulled by another agent, or its pull is not complete.
    """
    found = [image for image in held if image.id == image_id]
    if not found:
        return not by_agent
    return any(not image.accounts or (account and account in image.accounts) for image in found)


def accounts_after(before: PulledImage | None, image_id: str, account: str, *, with_login: bool) -> tuple[str, ...]:
    """The accounts of an image after one more pull of its reference, the latest last."""
    if not with_login:
        return ()
    others = before.accounts if before is not None and before.id == image_id else ()
    return (*(other for other in others if other != account), account)[-MAX_ACCOUNTS:]


def images_to_evict(
    held: Iterable[PulledImage], in_use: frozenset[str], now_ms: int, most_bytes: int, *, all_idle: bool = False
) -> tuple[PulledImage, ...]:
    """Which images to remove so that at most `most_bytes` are left, the longest unused first.

    Never one in use (`in_use`: ids of images with containers), nor one that was asked for just now. `all_idle`: every
    other, because the disk is full.
    """
    images = sorted(held, key=lambda image: (image.last_used_ms, image.reference))
    over = sum(image.size_bytes for image in images) - most_bytes
    going: list[PulledImage] = []
    for image in images:
        if over <= 0 and not all_idle:
            break
        if image.id not in in_use and now_ms - image.last_used_ms >= KEEP_MS:
            going.append(image)
            over -= image.size_bytes
    return tuple(going)


@dataclass(frozen=True, slots=True)
class Disk:
    """The file system that the engine keeps images on."""

    total_bytes: int
    free_bytes: int


def default_quota_bytes(disk: Disk | None) -> int:
    """Room for images where the operator does not say: a quarter of the disk, at most 200 GiB; 50 if unknown."""
    return 50 * _GIB if disk is None else min(disk.total_bytes // 4, 200 * _GIB)


def has_room(pulled_bytes: int, most_bytes: int, disk: Disk | None) -> bool:
    """Whether a pull may go on. `pulled_bytes`: what is known of the image's size, compressed."""
    if pulled_bytes > most_bytes:
        return False
    return disk is None or disk.free_bytes >= min(disk.total_bytes * FLOOR_SHARE, FLOOR_BYTES)


def images_to_prefetch(wanted: Iterable[ImageRef], pulling: Iterable[str], most: int) -> tuple[ImageRef, ...]:
    """Which images to begin with before their containers are due: each once, none twice, at most so many at a time."""
    busy = set(pulling)
    found: dict[str, ImageRef] = {}
    for image in wanted:
        if image.reference not in busy:
            found.setdefault(image.reference, image)
    return tuple(found.values())[: max(0, most - len(busy))]


STALLED_MS: Final = 15_000
"""A pull of which nothing has come for so long stands still."""
_MIB: Final = 1 << 20


def delay_cause(pulls: Sequence[PullProgress]) -> DriverError:
    """What a pod waits for: the pulls are those of its images that are not here yet."""
    stalled = [pull for pull in pulls if _stands_still(pull)]
    if stalled:
        return ImageUnavailable(_stalled_text(stalled[0]))
    if pulls:
        return ImageTooSlow(f"the start timeout is near, and {progress_text(pulls[0])}")
    return DriverError("the host did not prepare the pod before its start timeout")


def progress_text(pull: PullProgress) -> str:
    """How far a pull is, for the tenant."""
    if pull.tries == 0:
        return f"the image {pull.reference} waits until other images are pulled"
    so_far = f"{pull.tries} tries" if pull.tries > 1 else "no data yet"
    if pull.total_bytes:
        so_far = f"{size_text(pull.done_bytes)} of {size_text(pull.total_bytes)}"
    trouble = f"; the last try failed: {pull.trouble}" if pull.trouble else ""
    return f"the image {pull.reference} is being pulled: {so_far}{trouble}"


def size_text(size_bytes: int) -> str:
    """A size in GiB, or in MiB below one."""
    return f"{size_bytes / _GIB:.1f} GiB" if size_bytes >= _GIB else f"{size_bytes / _MIB:.1f} MiB"


def _stands_still(pull: PullProgress) -> bool:
    return pull.tries > 0 and (pull.idle_ms is None or pull.idle_ms >= STALLED_MS)


def _stalled_text(pull: PullProgress) -> str:
    silent = "its registry sent nothing" if pull.idle_ms is None else f"nothing came for {pull.idle_ms // 1000} s"
    tries = f" in {pull.tries} tries" if pull.tries > 1 else ""
    trouble = f" ({pull.trouble})" if pull.trouble else ""
    return f"the image {pull.reference} could not be pulled before the start timeout: {silent}{tries}{trouble}"
