"""Image policy: where to pull from, meaning of refusals, eviction, and the cause of a delayed start. No IO, no clock.

Images are identified by digest, so no source has to be trusted: a mirror is a shorter way, not an authority.
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
"""Pauses after each round of attempts in which all failures may be temporary."""
KEEP_MS = 10 * 60_000
"""An image that was requested this recently is not removed: its container may not exist yet."""
FLOOR_SHARE, FLOOR_BYTES = 0.05, 2 << 30
"""Free space that is always left on the engine's disk: the lesser of the two."""
MAX_ACCOUNTS = 64
"""Most accounts stored for an image that was pulled with logins; an earlier one has to log in again."""
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_HOST = re.compile(r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::\d{1,5})?", re.ASCII)
_PREFIX = re.compile(r"(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*", re.ASCII)
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i386": "386", "i686": "386"}
STALLED_MS: Final = 15_000
"""A pull without data for this long has stalled."""
_MIB: Final = 1 << 20
_GIB: Final = 1 << 30


class PullFault(StrEnum):
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
    """Classify an engine's message about a failed pull; unknown messages count as temporary.

    `reference`: the pulled image. Its name is ignored in the message: it may contain any number or word.
    """
    name = reference.partition("@")[0]
    message = message.replace(reference, "").replace(name if "/" in name else reference, "")
    if "no such host" in message:
        return PullFault.PASSING
    return next((fault for fault, pattern in _FAULTS if pattern.search(message)), PullFault.PASSING)


@dataclass(frozen=True, slots=True)
class Mirror:
    """A registry with copies: its host (with port), and a path prefix before image names ("" or "/path").

    `plain`: without TLS.
    """

    host: str
    prefix: str
    plain: bool = False


def parse_mirror(url: str) -> Mirror:
    """Return the mirror at this address. Raises ValueError with a sentence for the operator."""
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
    """Return the references to pull by, in this order: the mirror's, then the manifest's."""
    path = image.name.removeprefix(f"{image.registry}/")
    if image.registry == DOCKER_HUB and "/" not in image.name:
        path = f"library/{image.name}"
    found = () if mirror is None else (f"{mirror.host}{mirror.prefix}/{path}@{image.digest}",)
    return (*found, image.reference) if image.reference not in found else found


@dataclass(frozen=True, slots=True)
class PullSearch:
    """Progress of the search for one image: open references, those tried in this round, and their refusals."""

    open: tuple[str, ...]
    tried: tuple[str, ...] = ()
    round: int = 0
    refusals: tuple[tuple[str, PullFault, str], ...] = ()
    """The last refusal of each reference: reference, fault, message."""


@dataclass(frozen=True, slots=True)
class PullFrom:
    reference: str


@dataclass(frozen=True, slots=True)
class PullPause:
    seconds: float


@dataclass(frozen=True, slots=True)
class PullFailed:
    """The image cannot be pulled: the most informative fault, and the refusal of each reference."""

    fault: PullFault
    refusals: tuple[tuple[str, PullFault, str], ...]


_OF_THE_IMAGE = frozenset({PullFault.FULL, PullFault.PLATFORM, PullFault.UNFIT})
"""Faults that are the same at every source, because the digest determines the content."""


def record_refusal(search: PullSearch, reference: str, fault: PullFault, message: str) -> PullSearch:
    """Record a failed pull. Only temporary faults are retried."""
    refusals = (*(entry for entry in search.refusals if entry[0] != reference), (reference, fault, message))
    still = search.open
    if fault in _OF_THE_IMAGE:
        still = ()
    elif fault is not PullFault.PASSING:
        still = tuple(place for place in search.open if place != reference)
    return replace(search, open=still, tried=(*search.tried, reference), refusals=refusals)


def next_step(search: PullSearch) -> PullFrom | PullPause | PullFailed:
    """Return the next action. After a pause: :func:`next_round`."""
    for reference in search.open:
        if reference not in search.tried:
            return PullFrom(reference)
    if search.open and search.round < len(PAUSES_S):
        return PullPause(PAUSES_S[search.round])
    return PullFailed(_worst(search.refusals), search.refusals)


def next_round(search: PullSearch) -> PullSearch:
    """Start another round over the open references."""
    return replace(search, tried=(), round=search.round + 1)


_WEIGHT = (
    PullFault.FULL, PullFault.PLATFORM, PullFault.UNFIT, PullFault.PASSING, PullFault.SLOW, PullFault.FORBIDDEN,
    PullFault.DENIED, PullFault.CORRUPT, PullFault.ABSENT,
)  # fmt: skip
"""The most informative fault first. A mirror's copy may be corrupt while the origin is only out of reach."""


def _worst(refusals: Iterable[tuple[str, PullFault, str]]) -> PullFault:
    faults = {fault for _, fault, _ in refusals}
    return next((fault for fault in _WEIGHT if fault in faults), PullFault.ABSENT)


@dataclass(frozen=True, slots=True)
class Platform:
    """Operating system and architecture in the terms of OCI: linux, amd64."""

    os: str
    architecture: str

    def runs(self, image: Platform) -> bool:
        """Return whether an engine of this platform can run an image; unknown fields of the image match."""
        return image.os in ("", self.os) and image.architecture in ("", self.architecture)


def engine_platform(os: str, architecture: str) -> Platform:
    """Return the engine's platform from its system information."""
    return Platform(os.lower() or "linux", _ARCHITECTURES.get(architecture, architecture))


@dataclass(frozen=True, slots=True)
class PulledImage:
    """An image that the agent pulled. Other images on the engine are not the agent's, and are never removed."""

    reference: str
    id: str
    size_bytes: int
    """Shared layers count for each image."""
    last_used_ms: int
    local_name: str = ""
    """The engine's name of it; empty: its reference, as earlier releases pulled it."""
    accounts: tuple[str, ...] = ()
    """Accounts that pulled it with a login; empty: it was pulled without one, and every account may use it."""
    blobs: tuple[str, ...] = ()
    """Digests of its configuration and its layers; empty if an earlier release pulled it."""

    @property
    def removed_by(self) -> str:
        """The name by which the engine removes it."""
        return self.local_name or self.reference


def may_use(pulled: Iterable[PulledImage], image_id: str, account: str, *, by_agent: bool) -> bool:
    """Return whether a pod of this account may use an image on the engine without a request to its registry.

    `by_agent`: all names of the image on the engine are from agents' pulls. Such an image that is not in `pulled` was
    pulled by another agent, or its pull is not complete.
    """
    found = [image for image in pulled if image.id == image_id]
    if not found:
        return not by_agent
    return any(not image.accounts or (account and account in image.accounts) for image in found)


def accounts_after(before: PulledImage | None, image_id: str, account: str, *, with_login: bool) -> tuple[str, ...]:
    """Return the accounts of an image after another pull of its reference, the latest last."""
    if not with_login:
        return ()
    others = before.accounts if before is not None and before.id == image_id else ()
    return (*(other for other in others if other != account), account)[-MAX_ACCOUNTS:]


def images_to_evict(
    pulled: Iterable[PulledImage], in_use: frozenset[str], now_ms: int, most_bytes: int, *, all_idle: bool = False
) -> tuple[PulledImage, ...]:
    """Return the images to remove so that at most `most_bytes` are left, least recently used first.

    Images in use (`in_use`: ids of images with containers) and recently requested ones are kept. `all_idle`: return all
    others, because the disk is full.
    """
    images = sorted(pulled, key=lambda image: (image.last_used_ms, image.reference))
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
    """The file system on which the engine stores images."""

    total_bytes: int
    free_bytes: int


def has_room(pulled_bytes: int, most_bytes: int, disk: Disk | None) -> bool:
    """Return whether a pull may continue. `pulled_bytes`: compressed size of the image as far as known."""
    if pulled_bytes > most_bytes:
        return False
    return disk is None or disk.free_bytes >= min(disk.total_bytes * FLOOR_SHARE, FLOOR_BYTES)


def images_to_prefetch(wanted: Iterable[ImageRef], pulling: Iterable[str], most: int) -> tuple[ImageRef, ...]:
    """Return the images to pull in advance: each once, none that is being pulled, at most `most` at a time."""
    busy = set(pulling)
    found: dict[str, ImageRef] = {}
    for image in wanted:
        if image.reference not in busy:
            found.setdefault(image.reference, image)
    return tuple(found.values())[: max(0, most - len(busy))]


def delay_cause(pulls: Sequence[PullProgress]) -> DriverError:
    """Return why a pod is not prepared before its start timeout, from the pulls of its missing images.

    A tenant chooses the registry, so a silent registry is the tenant's fault. The speed of a pull depends on the host,
    the registry and the network between them: a slow pull is nobody's fault (docs/adr/0037-tenant-side-refusals.md).
    """
    stalled = [pull for pull in pulls if _stands_still(pull)]
    if stalled:
        return ImageUnavailable(_stalled_text(stalled[0]))
    if pulls:
        return ImageTooSlow(f"the start timeout is near, and {progress_text(pulls[0])}")
    return DriverError("the host did not prepare the pod before its start timeout")


def progress_text(pull: PullProgress) -> str:
    """Describe the progress of a pull for the tenant."""
    if pull.tries == 0:
        return f"the image {pull.reference} waits until other images are pulled"
    so_far = f"{pull.tries} tries" if pull.tries > 1 else "no data yet"
    if pull.total_bytes:
        so_far = f"{size_text(pull.done_bytes)} of {size_text(pull.total_bytes)}"
    trouble = f"; the last try failed: {pull.trouble}" if pull.trouble else ""
    return f"the image {pull.reference} is being pulled: {so_far}{trouble}"


def size_text(size_bytes: int) -> str:
    """Format a size in GiB, or in MiB below one."""
    return f"{size_bytes / _GIB:.1f} GiB" if size_bytes >= _GIB else f"{size_bytes / _MIB:.1f} MiB"


def _stands_still(pull: PullProgress) -> bool:
    return pull.tries > 0 and (pull.idle_ms is None or pull.idle_ms >= STALLED_MS)


def _stalled_text(pull: PullProgress) -> str:
    silent = "its registry sent nothing" if pull.idle_ms is None else f"nothing came for {pull.idle_ms // 1000} s"
    tries = f" in {pull.tries} tries" if pull.tries > 1 else ""
    trouble = f" ({pull.trouble})" if pull.trouble else ""
    return f"the image {pull.reference} could not be pulled before the start timeout: {silent}{tries}{trouble}"
