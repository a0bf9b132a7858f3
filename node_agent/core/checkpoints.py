"""Checkpoint schedule: when to save the folder of a pod, when to report it, which files to keep and fetch. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from node_agent.core.containers import Stage
from node_agent.core.pod_steps import main_container
from node_agent.core.states import Phase, Pod

AFTER_SIGNAL_MS = 30_000
"""Time for a program to write its work after the checkpoint signal; at most half of the notice period."""
RETRY_MS = 30_000
"""Time after which a failed save is repeated."""

PodKey = tuple[int, int]
"""Task and number of the pod: a checkpoint belongs to these, not to a lease."""


@dataclass(frozen=True, slots=True)
class CheckpointFile:
    """A checkpoint in the store of this host."""

    task: int
    pod: int
    digest: bytes
    """SHA-256 of the file."""
    size: int
    saved_at_ms: int
    lease: int | None
    """The lease of this host whose pod was saved; None if another host sent the file."""

    @property
    def key(self) -> PodKey:
        """Return the pod to which the checkpoint belongs."""
        return self.task, self.pod


@dataclass(frozen=True, slots=True)
class ReportedCheckpoint:
    """The last checkpoint of a pod on the chain: `host` had the file and reported it at `at_ms`."""

    digest: bytes
    size: int
    host: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class TaskCheckpoints:
    """The checkpoints of a task on the chain."""

    final: bool
    known: Mapping[int, ReportedCheckpoint]
    """By the number of the pod."""
    standby: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    """Pods for which this host is the standby, each with the lease that names it."""
    sources: Mapping[int, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """Other hosts that may have the file of a pod, the most likely first."""


@dataclass(frozen=True, slots=True)
class SaveAttempt:
    """The last attempt to save a folder: its start in Unix ms, and whether it failed."""

    at_ms: int
    failed: bool


def can_be_saved(pod: Pod) -> bool:
    """Whether the main container is running and the manifest names a folder."""
    if pod.phase is not Phase.RUNNING or pod.spec is None or pod.spec.checkpoint is None:
        return False
    return main_container(pod).stage is Stage.RUNNING


def next_save_ms(pod: Pod, tried: SaveAttempt | None, last: CheckpointFile | None, *, notice_ms: int) -> int | None:
    """Return when to save the folder of this pod next, in Unix ms; None if nothing is due in this state.

    `last`: the newest file saved from this lease. `notice_ms`: the notice period of a preemption.
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
    """Return the checkpoint to report to the chain now. `least_ms`: the minimum time between two reports."""
    if newest is None or newest.lease != pod.lease.number or not pod.started_known:
        return None
    if known is not None and (known.digest == newest.digest or now_ms < known.at_ms + least_ms):
        return None
    return newest


def newest_file(kept: Iterable[CheckpointFile], key: PodKey, *, lease: int | None = None) -> CheckpointFile | None:
    """Return the newest file of a pod; with `lease`, the newest one saved from that lease."""
    own = [one for one in kept if one.key == key and lease in (None, one.lease)]
    return max(own, key=lambda one: one.saved_at_ms, default=None)


def unneeded_files(
    kept: Iterable[CheckpointFile], pods: Iterable[Pod], tasks: Mapping[int, TaskCheckpoints | None]
) -> tuple[CheckpointFile, ...]:
    """Return the files that no host needs. `tasks`: None means that the chain has no such task, a missing key unknown.

    Kept are the file that the chain names, until its task is final, and the newest file of each pod that this host runs
    or stands by for, because the host with the named file may be lost.
    """
    files = tuple(kept)
    running = {(pod.lease.task, pod.lease.pod) for pod in pods if pod.phase is not Phase.ENDING}
    unneeded = []
    for one in files:
        if one.task not in tasks:
            continue
        view = tasks[one.task]
        if view is None or view.final:
            unneeded.append(one)
            continue
        known = view.known.get(one.pod)
        concerned = one.key in running or one.pod in view.standby
        stays = (known is not None and known.digest == one.digest) or (concerned and one is newest_file(files, one.key))
        if not stays:
            unneeded.append(one)
    return tuple(unneeded)


def checkpoint_to_fetch(
    known: ReportedCheckpoint | None, key: PodKey, kept: Iterable[CheckpointFile]
) -> ReportedCheckpoint | None:
    """Return the checkpoint that this host lacks for a pod that it runs or stands by for."""
    if known is None or any(one.key == key and one.digest == known.digest for one in kept):
        return None
    return known
