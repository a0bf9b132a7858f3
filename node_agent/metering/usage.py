"""Usage of a pod: samples of its containers folded into sums that never fall. Pure.

Every counter belongs to one *run* of a container, from its start to its end, so a restarted container begins at zero
under another name and its sums add up. Within a run a counter only grows: a reading that falls is an error of its
source and adds nothing. Nothing is counted twice, in any order of samples.

Time between two samples is taken from a clock that nobody sets (`steady_ms`, counted from the machine's start, which
`boot` identifies). What has no counter (memory, disk, GPUs) is summed as the newest reading times that time; after a
gap of more than :data:`LONGEST_GAP_MS` nothing is added for the gap, and its time is reported as unmetered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from offchain.schema.protocol.receipt import MIB, Totals

LONGEST_GAP_MS: Final = 60_000
FIRST_MS: Final = 10_000
"""Most time that a run counts for before its first sample: slightly more than the sampling interval."""
MOST_RUNS: Final = 64
"""Most runs of one pod that are stored; those that ended first are removed first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerRun:
    """One run of a container at one moment. `name` is never reused for another run.

    `age_ms`: since its start. `cpu_us`, `received_bytes` and `sent_bytes` count from its start, `memory_bytes` is
    current. `own` False: a pod sandbox, not the tenant's container, so that it does not show that the pod runs.
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
    """A device of one pod at one moment. `busy_ppm`: the share of time it worked; None: unknown."""

    busy_ppm: int | None
    memory_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSample:
    """A pod at one moment. `gpus`: empty without readable GPUs; `disk_bytes` None: unknown."""

    boot: str
    steady_ms: int
    runs: tuple[ContainerRun, ...]
    gpus: tuple[GpuReading, ...] = ()
    disk_bytes: int | None = None

    @property
    def memory_bytes(self) -> int:
        """Memory of the tenant's containers."""
        return sum(max(0, run.memory_bytes) for run in self.runs if run.own)

    @property
    def gpu_memory_bytes(self) -> int | None:
        """Memory in use on all GPUs; None: unknown."""
        known = [gpu.memory_bytes for gpu in self.gpus if gpu.memory_bytes is not None]
        return sum(max(0, one) for one in known) if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedRun:
    """Counters of a run that are included in the sums. `seen`: whether the newest sample had the run."""

    name: str
    cpu_us: int
    received_bytes: int
    sent_bytes: int
    seen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MeteredUsage:
    """The usage of one pod. Stored across restarts; sums are exact and never fall."""

    boot: str = ""
    steady_ms: int | None = None
    runs: tuple[CountedRun, ...] = ()
    """The runs that ended first come first."""
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
        """The sums in the units of receipts, rounded down; peaks are rounded up."""
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
    """Return the sums with one more sample."""
    same_boot = metered.boot == sample.boot and metered.steady_ms is not None
    if same_boot and metered.steady_ms is not None and sample.steady_ms < metered.steady_ms:
        return _counters(metered, sample)[0]  # A late sample: only its counters are used.
    between_ms = sample.steady_ms - metered.steady_ms if same_boot and metered.steady_ms is not None else None
    went_on = {one.name for one in metered.runs if one.seen}
    after, fresh = _counters(metered, sample)
    own = [run for run in sample.runs if run.own]
    if between_ms is not None and any(run.name in went_on for run in own):
        passed_ms = between_ms
    else:
        # The pod was not running at the last sample, or there was none.
        ages = [max(0, run.age_ms) for run in own if run.name in fresh]
        passed_ms = min(max(ages, default=0), FIRST_MS if between_ms is None else min(between_ms, FIRST_MS))
    after = replace(after, boot=sample.boot, steady_ms=sample.steady_ms, wall_ms=after.wall_ms + passed_ms)
    after = _peaks(after, sample)
    if passed_ms > LONGEST_GAP_MS:
        # Nothing is summed over the gap, but GPU sums start at zero from the first reading on.
        after, passed_ms = replace(after, unmetered_ms=after.unmetered_ms + passed_ms), 0
    return _areas(after, sample, passed_ms, between_ms)


def _counters(metered: MeteredUsage, sample: PodSample) -> tuple[MeteredUsage, frozenset[str]]:
    """Return the sums with the counters of all runs, and the names of the new runs."""
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
    on_gpus = sample.gpu_memory_bytes
    peak = metered.gpu_memory_peak_bytes
    return replace(
        metered,
        memory_peak_bytes=max(metered.memory_peak_bytes, sample.memory_bytes),
        gpu_memory_peak_bytes=peak if on_gpus is None else max(peak or 0, on_gpus),
        disk_peak_bytes=max(metered.disk_peak_bytes, sample.disk_bytes or 0),
    )


def _areas(metered: MeteredUsage, sample: PodSample, passed_ms: int, between_ms: int | None) -> MeteredUsage:
    """Return the sums over time. The disk counts also while nothing runs."""
    busy = [gpu.busy_ppm for gpu in sample.gpus if gpu.busy_ppm is not None]
    on_gpus = sample.gpu_memory_bytes
    work, held = metered.gpu_ppm_ms, metered.gpu_memory_byte_ms
    kept_ms = max(passed_ms, between_ms or 0)
    return replace(
        metered,
        memory_byte_ms=metered.memory_byte_ms + sample.memory_bytes * passed_ms,
        gpu_ppm_ms=(work or 0) + sum(min(max(0, one), 1_000_000) for one in busy) * passed_ms if busy else work,
        gpu_memory_byte_ms=held if on_gpus is None else (held or 0) + on_gpus * passed_ms,
        disk_byte_ms=metered.disk_byte_ms + ((sample.disk_bytes or 0) * kept_ms if kept_ms <= LONGEST_GAP_MS else 0),
    )


def _mib_s(byte_ms: int) -> int:
    return byte_ms // (MIB * 1000)


def _mib_up(count: int) -> int:
    return -(-count // MIB)
