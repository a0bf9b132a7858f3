"""When a pod's folder is saved, when the chain is told, which files are kept. Functions of what is known, no more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from node_agent.core.containers import Stage
from node_agent.core.states import Phase, Pod
from node_agent.core.steps import main_of

AFTER_SIGNAL_MS = 30_000
"""A program that was told to leave has so long to write its work down before it is saved; half of the notice at most."""
RETRY_MS = 30_000
"""Where a folder could not be saved, it is tried again after this."""

PodKey = tuple[int, int]
"""Task and number of the pod: what a checkpoint belongs to, whichever lease runs it."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A file in this host's store."""

    task: int
    pod: int
    digest: bytes
    """SHA-256 of the file."""
    size: int
    saved_at_ms: int
    lease: int | None
    """The lease of this host whose pod it was saved from; None where it came from another host."""

    @property
    def key(self) -> PodKey:
        """Whose it is."""
        return self.task, self.pod


@dataclass(frozen=True, slots=True)
class Known:
    """The last checkpoint of a pod as the chain has it. `host` had the file; `at_ms`: when it said so."""

    digest: bytes
    size: int
    host: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class TaskView:
    """What the chain says of a task. `standby`: pods of it for which this host stands by."""

    final: bool
    known: Mapping[int, Known]
    standby: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Past:
    """What was done for a lease since this agent started."""

    tried_at_ms: int | None = None
    failed: bool = False
    """The last try did not save anything."""
    notice_ends_ms: int | None = None
    """The notice after which it was saved."""
    noticed_at_ms: int | None = None
    """When the notice that it has now was first seen."""


def can_be_saved(pod: Pod) -> bool:
    """Whether its main container runs now, and its manifest names a folder."""
    if pod.phase is not Phase.RUNNING or pod.spec is None or pod.spec.checkpoint is None:
        return False
    return main_of(pod).stage is Stage.RUNNING


def save_at(pod: Pod, past: Past, last: Kept | None) -> int | None:
    """When the folder of this pod is to be saved next, Unix ms; None: not while all stays as it is.

    `last`: the newest file that was saved from this lease.
    """
    if not can_be_saved(pod):
        return None
    assert pod.spec is not None  # noqa: S101  (said by can_be_saved)
    assert pod.spec.checkpoint is not None  # noqa: S101
    began_ms = main_of(pod).began_at_ms or 0
    times = [began_ms, *([last.saved_at_ms] if last else []), *([past.tried_at_ms] if past.tried_at_ms else [])]
    at_ms = max(times) + pod.spec.checkpoint.every_ms
    if past.failed and past.tried_at_ms is not None:
        at_ms = past.tried_at_ms + min(RETRY_MS, pod.spec.checkpoint.every_ms)
    ends_ms = pod.lease.notice_ends_ms
    if ends_ms is not None and past.notice_ends_ms != ends_ms and past.noticed_at_ms is not None:
        wait_ms = min(AFTER_SIGNAL_MS, max(0, ends_ms - past.noticed_at_ms) // 2)
        at_ms = min(at_ms, past.noticed_at_ms + wait_ms)
    return at_ms


def noticed(pod: Pod, past: Past, now_ms: int) -> Past:
    """The past with the notice that the pod has now."""
    ends_ms = pod.lease.notice_ends_ms
    if ends_ms is None or past.notice_ends_ms == ends_ms:
        return Past(past.tried_at_ms, past.failed, past.notice_ends_ms)
    if past.noticed_at_ms is not None:
        return past
    return Past(past.tried_at_ms, past.failed, past.notice_ends_ms, now_ms)


def tried(pod: Pod, past: Past, now_ms: int, *, failed: bool) -> Past:
    """The past after a try at `now_ms`, which was the time when it began."""
    told = pod.lease.notice_ends_ms is not None and past.noticed_at_ms is not None
    due = told and now_ms >= (save_at(pod, Past(noticed_at_ms=past.noticed_at_ms), None) or 0)
    if due and not failed:
        return Past(now_ms, failed, pod.lease.notice_ends_ms)
    return Past(now_ms, failed, past.notice_ends_ms, past.noticed_at_ms)


def to_report(pod: Pod, newest: Kept | None, known: Known | None, *, least_ms: int, now_ms: int) -> Kept | None:
    """What the chain is to be told of a pod now. `least_ms`: so long it takes no other after the last one."""
    if newest is None or newest.lease != pod.lease.number or not pod.started_known:
        return None
    if known is not None and (known.digest == newest.digest or now_ms < known.at_ms + least_ms):
        return None
    return newest


def newest(kept: Iterable[Kept], key: PodKey, *, lease: int | None = None) -> Kept | None:
    """The youngest file of a pod; with `lease`, of those that were saved from it."""
    own = [one for one in kept if one.key == key and lease in (None, one.lease)]
    return max(own, key=lambda one: one.saved_at_ms, default=None)


def superfluous(kept: Iterable[Kept], pods: Iterable[Pod], tasks: Mapping[int, TaskView | None]) -> tuple[Kept, ...]:
    """Files that nobody will ask for. `tasks` None: the chain has none of this number any more; not named: not known.

    What stays: the file that the chain has for a pod, as long as its task is not final, and the youngest one that was
    saved from a lease that this host runs.
    """
    there = tuple(kept)
    running = {pod.lease.number for pod in pods if pod.phase is not Phase.ENDING}
    goes = []
    for one in there:
        if one.task not in tasks:
            continue
        view = tasks[one.task]
        if view is None or view.final:
            goes.append(one)
            continue
        known = view.known.get(one.pod)
        if known is not None and known.digest == one.digest:
            continue
        if one.lease in running and one is newest(there, one.key, lease=one.lease):
            continue
        goes.append(one)
    return tuple(goes)


def to_fetch(known: Known | None, key: PodKey, kept: Iterable[Kept]) -> Known | None:
    """What this host lacks of a pod that it runs, or stands by for."""
    if known is None or any(one.key == key and one.digest == known.digest for one in kept):
        return None
    return known
