"""Why a pod whose start timeout is near has not started, as far as its images tell. No IO, no clock.

A tenant chooses the registry, so a registry that is silent is the tenant's. How fast an image arrives depends on the
host, the registry and the network between them: an image that still arrives is held against nobody
(docs/adr/0037-tenant-side-refusals.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from node_agent.drivers.port import DriverError, ImageTooSlow, ImageUnavailable, PullProgress

STALLED_MS: Final = 15_000
"""A pull of which nothing has come for so long stands still."""
_GIB: Final = 1 << 30
_MIB: Final = 1 << 20


def cause(pulls: Sequence[PullProgress]) -> DriverError:
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
