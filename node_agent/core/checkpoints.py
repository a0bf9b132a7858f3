"""When a pod's folder is saved, when the chain is told, which files are kept. Functions of what is known, no more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from node_agent.core.containers import Stage
from node_agent.core.states import Phase, Pod
from node_agent.core.steps import main_container

AFTER_SIGNAL_MS = 30_000
"""So long a program has to write its work down when it was told to leave; half of the notice at most."""
RETRY_MS = 30_000
"""Where a folder could not be saved, it is tried again after this."""

PodKey = tuple[int, int]
"""Task and number of the pod: what a checkpoint belongs to, whichever lease runs it."""


@dataclass(frozen=True, slots=True)
class CheckpointFile:
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
class ReportedCheckpoint:
    """The last checkpoint of a pod as the chain has it. `host` had the file; `at_ms`: when it said so."""

    digest: bytes
    size: int
    host: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class TaskCheckpoints:
    """What the chain says of a task."""

    final: bool
    known: Mapping[int, ReportedCheckpoint]
    """By the number of the pod."""
    standby: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    """Pods for which this host stands by, each with the lease that names it."""
    sources: Mapping[int, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """Other hosts that may have the file of a pod, the likeliest first."""


@dataclass(frozen=True, slots=True)
class SaveAttempt:
    """The last time that a folder was saved, or was to be: when that began, Unix ms, and whether it failed."""

    at_ms: int
    failed: bool


def can_be_saved(pod: Pod) -> bool:
    """Whether its main container runs now, and its manifest names a folder."""
    if pod.phase is not Phase.RUNNING or pod.spec is None or pod.spec.checkpoint is None:
        return False
    return main_container(pod).stage is Stage.RUNNING


def next_save_ms(pod: Pod, tried: SaveAttempt | None, last: CheckpointFile | None, *, notice_ms: int) -> int | None:
    """When the folder of this pod is to be saved next, Unix ms; None: not while all stays as it is.

    `last`: the youngest file that was saved from this lease. `notice_ms`: so long before it has to leave is a pod told.
    """
    if not can_be_saved(pod):
        return None
    assert pod.spec is not None  # noqa: S101  (said by can_be_saved)
    assert pod.spec.checkpoint is not None  # noqa: S101
    every_ms = pod.spec.checkpoint.every_ms
    if tried is not None and tried.failed:
        return tried.at_ms + min(RETRY_MS, every_ms)
    done_ms = max(main_container(pod).began_at_ms, last.saved_at_ms if last else 0, tried.at_ms if tried else 0)
    if pod.lease.notice_ends_ms is not None:
        told_ms = pod.lease.notice_ends_ms - notice_ms
        written_ms = told_ms + min(AFTER_SIGNAL_MS, notice_ms // 2)
        if done_ms < written_ms:
            return min(written_ms, done_ms + every_ms)
    return done_ms + every_ms


def file_to_report(
    pod: Pod, newest: CheckpointFile | None, known: ReportedCheckpoint | None, *, least_ms: int, now_ms: int
) -> CheckpointFile | None:
    """What the chain is to be told of a pod now. `least_ms`: so long it takes no other after the last one."""
    if newest is None or newest.lease != pod.lease.number or not pod.started_known:
        return None
    if known is not None and (known.digest == newest.digest or now_ms < known.at_ms + least_ms):
        return None
    return newest


def newest_file(kept: Iterable[CheckpointFile], key: PodKey, *, lease: int | None = None) -> CheckpointFile | None:
    """The youngest file of a pod; with `lease`, of those that were saved from that lease."""
    own = [one for one in kept if one.key == key and lease in (None, one.lease)]
    return max(own, key=lambda one: one.saved_at_ms, default=None)


def unneeded_files(
    kept: Iterable[CheckpointFile], pods: Iterable[Pod], tasks: Mapping[int, TaskCheckpoints | None]
) -> tuple[CheckpointFile, ...]:
    """Files that nobody will ask for. `tasks` None: the chain has none of this number any more; not named: not known.

    What stays: the file that the chain has for a pod, as long as its task is not final; and the youngest of each pod
    that this host runs or stands by for, since the one that the chain has may be lost with its host.
    """
    there = tuple(kept)
    running = {(pod.lease.task, pod.lease.pod) for pod in pods if pod.phase is not Phase.ENDING}
    goes = []
    for one in there:
        if one.task not in tasks:
            continue
        view = tasks[one.task]
        if view is None or view.final:
            goes.append(one)
            continue
        known = view.known.get(one.pod)
        concerned = one.key in running or one.pod in view.standby
        stays = (known is not None and known.digest == one.digest) or (concerned and one is newest_file(there, one.key))
        if not stays:
            goes.append(one)
    return tuple(goes)


def checkpoint_to_fetch(
    known: ReportedCheckpoint | None, key: PodKey, kept: Iterable[CheckpointFile]
) -> ReportedCheckpoint | None:
    """What this host lacks of a pod that it runs, or stands by for."""
    if known is None or any(one.key == key and one.digest == known.digest for one in kept):
        return None
    return known
