"""What a pod has used: samples of its containers folded into sums that never fall. Pure.

Every counter belongs to one *run* of a container, from its start to its end, so a container that is started again
begins at zero under another name and its sums add up. Within a run a counter only grows: a reading that falls is a
fault of whoever reads it and adds nothing. What is seen once is never counted twice, whatever comes in which order.

Time between two samples is taken from a clock that nobody sets (`steady_ms`, counted from the machine's start, which
`boot` names). What has no counter (memory, disk, GPUs) is summed as the newest reading times that time; where no sample
came for :data:`LONGEST_GAP_MS` these sums get nothing for it, and the time is told as unmetered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from offchain.schema.protocol.receipt import MIB, Totals

LONGEST_GAP_MS: Final = 60_000
FIRST_MS: Final = 10_000
"""The most that a run counts for before it is seen first: a little more than the time between two samples."""
MOST_RUNS: Final = 64
"""So many runs of one pod are remembered; those that are over for longest are forgotten first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerRun:
    """One run of a container at one moment. `name` is used for no other run, ever.

    `age_ms`: since its start. `cpu_us`, `received_bytes` and `sent_bytes` count from its start, `memory_bytes` is now.
    `own` False: not the tenant's (what only holds a pod's network), so that it is no sign of the pod running.
    """

    name: str
    age_ms: int = 0
    cpu_us: int = 0
    memory_bytes: int = 0
    received_bytes: int = 0
    sent_bytes: int = 0
    own: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReading:
    """A device that one pod has to itself, now. `busy_ppm`: the share of time it worked; None: nobody can tell."""

    busy_ppm: int | None
    memory_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSample:
    """A pod at one moment. `gpus`: empty where it has none, or nobody reads them; `disk_bytes` None: not known."""

    boot: str
    steady_ms: int
    runs: tuple[ContainerRun, ...]
    gpus: tuple[GpuReading, ...] = ()
    disk_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedRun:
    """How far a run was counted. `seen`: whether the newest sample had it."""

    name: str
    cpu_us: int
    received_bytes: int
    sent_bytes: int
    seen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MeteredUsage:
    """All that was folded for one pod. Survives the agent; sums are exact, and none of them ever falls."""

    boot: str = ""
    steady_ms: int | None = None
    runs: tuple[CountedRun, ...] = ()
    """The longest unseen first."""
    wall_ms: int = 0
    unmetered_ms: int = 0
    cpu_us: int = 0
    memory_byte_ms: int = 0
    memory_peak_bytes: int = 0
    gpu_ppm_ms: int | None = None
    gpu_memory_byte_ms: int | None = None
    gpu_memory_peak_bytes: int | None = None
    received_bytes: int = 0
    sent_bytes: int = 0
    disk_byte_ms: int = 0
    disk_peak_bytes: int = 0

    @property
    def totals(self) -> Totals:
        """In the units of receipts, each rounded down but for peaks, which are rounded up."""
        return Totals(
            wall_ms=self.wall_ms,
            unmetered_ms=self.unmetered_ms,
            cpu_ms=self.cpu_us // 1000,
            memory_mib_s=_mib_s(self.memory_byte_ms),
            memory_peak_mib=_mib_up(self.memory_peak_bytes),
            gpu_ms=None if self.gpu_ppm_ms is None else self.gpu_ppm_ms // 1_000_000,
            gpu_memory_mib_s=None if self.gpu_memory_byte_ms is None else _mib_s(self.gpu_memory_byte_ms),
            gpu_memory_peak_mib=None if self.gpu_memory_peak_bytes is None else _mib_up(self.gpu_memory_peak_bytes),
            received_bytes=self.received_bytes,
            sent_bytes=self.sent_bytes,
            disk_mib_s=_mib_s(self.disk_byte_ms),
            disk_peak_mib=_mib_up(self.disk_peak_bytes),
        )


def fold(metered: MeteredUsage, sample: PodSample) -> MeteredUsage:
    """The sums with one sample more."""
    same_boot = metered.boot == sample.boot and metered.steady_ms is not None
    if same_boot and metered.steady_ms is not None and sample.steady_ms < metered.steady_ms:
        return _counters(metered, sample)[0]  # It comes late: its counters hold, its moment is past.
    between_ms = sample.steady_ms - metered.steady_ms if same_boot and metered.steady_ms is not None else None
    went_on = {one.name for one in metered.runs if one.seen}
    after, fresh = _counters(metered, sample)
    own = [run for run in sample.runs if run.own]
    if between_ms is not None and any(run.name in went_on for run in own):
        passed_ms = between_ms
    else:
        # It was not running at the last sample, or there was none.
        ages = [max(0, run.age_ms) for run in own if run.name in fresh]
        passed_ms = min(max(ages, default=0), FIRST_MS if between_ms is None else min(between_ms, FIRST_MS))
    after = replace(after, boot=sample.boot, steady_ms=sample.steady_ms, wall_ms=after.wall_ms + passed_ms)
    after = _peaks(after, sample)
    if passed_ms > LONGEST_GAP_MS:
        # Nothing is summed over the gap, but a GPU that is read from now on counts from nought.
        after, passed_ms = replace(after, unmetered_ms=after.unmetered_ms + passed_ms), 0
    return _areas(after, sample, passed_ms, between_ms)


def _counters(metered: MeteredUsage, sample: PodSample) -> tuple[MeteredUsage, frozenset[str]]:
    """The counters of all runs taken in; and the names of the runs that were not known."""
    known = {one.name: one for one in metered.runs}
    cpu_us, received_bytes, sent_bytes = metered.cpu_us, metered.received_bytes, metered.sent_bytes
    now: list[CountedRun] = []
    fresh = set()
    for run in {run.name: run for run in sample.runs}.values():
        before = known.get(run.name)
        if before is None:
            fresh.add(run.name)
            before = CountedRun(name=run.name, cpu_us=0, received_bytes=0, sent_bytes=0, seen=False)
        one = CountedRun(
            name=run.name,
            cpu_us=max(run.cpu_us, before.cpu_us),
            received_bytes=max(run.received_bytes, before.received_bytes),
            sent_bytes=max(run.sent_bytes, before.sent_bytes),
            seen=True,
        )
        cpu_us += one.cpu_us - before.cpu_us
        received_bytes += one.received_bytes - before.received_bytes
        sent_bytes += one.sent_bytes - before.sent_bytes
        now.append(one)
    names = {one.name for one in now}
    over = [replace(one, seen=False) for one in metered.runs if one.name not in names]
    runs = (*over[max(0, len(over) + len(now) - MOST_RUNS) :], *now)
    after = replace(metered, runs=runs, cpu_us=cpu_us, received_bytes=received_bytes, sent_bytes=sent_bytes)
    return after, frozenset(fresh)


def _peaks(metered: MeteredUsage, sample: PodSample) -> MeteredUsage:
    on_gpus = _gpu_memory(sample)
    peak = metered.gpu_memory_peak_bytes
    return replace(
        metered,
        memory_peak_bytes=max(metered.memory_peak_bytes, _memory(sample)),
        gpu_memory_peak_bytes=peak if on_gpus is None else max(peak or 0, on_gpus),
        disk_peak_bytes=max(metered.disk_peak_bytes, sample.disk_bytes or 0),
    )


def _areas(metered: MeteredUsage, sample: PodSample, passed_ms: int, between_ms: int | None) -> MeteredUsage:
    """What is summed over time. The disk is taken also while nothing runs."""
    busy = [gpu.busy_ppm for gpu in sample.gpus if gpu.busy_ppm is not None]
    on_gpus = _gpu_memory(sample)
    work, held = metered.gpu_ppm_ms, metered.gpu_memory_byte_ms
    kept_ms = max(passed_ms, between_ms or 0)
    return replace(
        metered,
        memory_byte_ms=metered.memory_byte_ms + _memory(sample) * passed_ms,
        gpu_ppm_ms=(work or 0) + sum(min(max(0, one), 1_000_000) for one in busy) * passed_ms if busy else work,
        gpu_memory_byte_ms=held if on_gpus is None else (held or 0) + on_gpus * passed_ms,
        disk_byte_ms=metered.disk_byte_ms + ((sample.disk_bytes or 0) * kept_ms if kept_ms <= LONGEST_GAP_MS else 0),
    )


def _memory(sample: PodSample) -> int:
    return sum(max(0, run.memory_bytes) for run in sample.runs if run.own)


def _gpu_memory(sample: PodSample) -> int | None:
    known = [gpu.memory_bytes for gpu in sample.gpus if gpu.memory_bytes is not None]
    return sum(max(0, one) for one in known) if known else None


def _mib_s(byte_ms: int) -> int:
    return byte_ms // (MIB * 1000)


def _mib_up(count: int) -> int:
    return -(-count // MIB)
