"""Explanations of a cycle's decisions: the hosts that a placed task could choose from, and what waiting tasks lack.

A look at all hosts takes about a millisecond for 10,000 of them, so only the first tasks of a cycle with different
requests are explained in full; of others it is recorded where they went, and which explained task has an equal request.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offchain.core.feasibility import Misfit
from offchain.core.scheduler.columns import Bools, device_indices
from offchain.core.scheduler.cycle_filters import HostFilter
from offchain.core.scheduler.filters import count_excluded
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.placement import Planner
from offchain.core.scheduler.plan import PlanResult, UnschedulableTask
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.scheduler.score_cache import ScoreCache
from offchain.core.values import PodPlacement, Task


@dataclass(frozen=True, slots=True)
class Candidate:
    """A feasible host.

    `points`: its cost, the sum of `parts`, lower is better; `devices`: those that the pod would take.

    `closed`: a filter of the cycle excludes the host.
    """

    host: str
    devices: tuple[int, ...]
    points: float
    parts: Mapping[str, float]
    closed: bool


@dataclass(frozen=True, slots=True)
class CandidateReport:
    """All hosts from the view of a task before its first pod is placed.

    `fitting`: hosts that no rule excludes; `closed`: those of them excluded by filters of the cycle. `excluded`: of the
    rest, how many by each rule. `best`: the best hosts, then the best excluded ones.
    """

    hosts: int
    fitting: int
    closed: int
    excluded: Mapping[Misfit, int]
    best: tuple[Candidate, ...]


def explain_candidates(
    table: HostTable,
    scores: ScoreCache,
    task: Task,
    request: PodRequest,
    filters: Sequence[HostFilter],
    limit: int,
) -> CandidateReport | None:
    """Return the report of a task; None where no host is feasible."""
    costs, devices = scores.costs(request), scores.devices(request)
    fits = np.isfinite(costs)
    open_to = int(fits.sum())
    if not open_to:
        return None
    excluded = count_excluded(request, table)
    # Closed hosts have no costs at all.
    fitting = max(open_to, len(table.records) - sum(excluded.values()))
    excluded_hosts: Bools = np.zeros(len(costs), dtype=np.bool_)
    for filter_ in filters:
        mask = filter_.excluded(task, request, devices)
        if mask is not None:
            excluded_hosts |= mask
    excluded_hosts &= fits
    # Two short lists, so that a cycle that excludes nearly all hosts shows both.
    columns = (
        (np.where(excluded_hosts, np.inf, costs), np.where(excluded_hosts, costs, np.inf))
        if excluded_hosts.any()
        else (costs,)
    )
    best = [host for column in columns for host in _lowest(column, limit)][:limit]
    cost_parts = scores.cost_parts(request, np.array(best, dtype=np.int64)) if best else {}
    candidates: list[Candidate] = []
    for place, host in enumerate(best):
        mine = {name: float(column[place]) for name, column in cost_parts.items()}
        on = tuple(device_indices(int(devices[host])))
        candidates.append(
            Candidate(table.cluster.names[host], on, sum(mine.values()), mine, bool(excluded_hosts[host]))
        )
    return CandidateReport(
        len(table.records), fitting, int(excluded_hosts.sum()) + fitting - open_to, excluded, tuple(candidates)
    )


def _lowest(column: npt.NDArray[np.floating[Any]], limit: int) -> list[int]:
    """Return the indexes of the lowest finite values in ascending order; of equals the first."""
    if not limit:
        return []
    some = np.argpartition(column, limit)[:limit] if len(column) > limit else np.arange(len(column))
    found = some[np.isfinite(column[some])]
    return [int(place) for place in found[np.lexsort((found, column[found]))]]


@dataclass(frozen=True, slots=True)
class WaitReason:
    """Why a task waits: how many hosts each rule excludes, and how many of its pods are feasible."""

    task: int
    hosts: int
    excluded: Mapping[Misfit, int]
    pods_fitting: int
    pods_needed: int
    deadline_passed: bool = False
    closed: int = 0
    """Hosts with enough free that filters keep for others."""

    def __str__(self) -> str:
        """Return one line for people."""
        if self.deadline_passed:
            return "its deadline has passed"
        if self.hosts == 0:
            return "no host is registered"
        counts = [f"{count} {misfit}" for misfit, count in self.excluded.items()]
        reasons = ", ".join([*counts, f"{self.closed} kept for others"] if self.closed else counts)
        if self.pods_fitting:
            return f"{self.pods_fitting} of {self.pods_needed} pods fit now; of {self.hosts} hosts: {reasons}"
        return f"of {self.hosts} hosts: {reasons}"


def explain_waiting(planner: Planner, unschedulable: UnschedulableTask) -> WaitReason:
    """Return why a task could not be placed, by the current state of hosts."""
    excluded = count_excluded(unschedulable.request, planner.hosts)
    hosts = len(planner.hosts.records)
    # A host that no rule excludes is kept for others.
    excluded_by_filters = 0 if unschedulable.pods_fitting else hosts - sum(excluded.values())
    return WaitReason(
        unschedulable.task,
        hosts,
        excluded,
        unschedulable.pods_fitting,
        unschedulable.pods_needed,
        closed=max(0, excluded_by_filters),
    )


MAX_FULL: Final = 8
"""Placed tasks of a cycle that are explained in full."""

MAX_LOOKS: Final = 64
"""Tasks that are looked at to find them."""

MAX_SHORT: Final = 10_000
"""Placed tasks of a cycle that are recorded at all."""

BEST_HOSTS: Final = 5
"""The best hosts recorded for each."""


@dataclass(frozen=True, slots=True)
class PlacedTask:
    """A placed task. `turn`: its position among the cycle's `placed` tasks, from 1.

    `seen`: the hosts before its first pod was placed; None: equal to that of task `like` of the same cycle, or unknown
    (both None).
    """

    task: int
    pods: tuple[PodPlacement, ...]
    turn: int
    placed: int
    seen: CandidateReport | None
    like: int | None


class DecisionLog:
    """Records the decisions of each cycle without influencing them. `is_on`: whether placed tasks are recorded."""

    def __init__(self, planner: Planner, *, is_on: bool = True) -> None:
        self._planner = planner
        self._is_on = is_on
        self.filters: Sequence[HostFilter] = ()
        """Of the cycle."""
        self._reports: dict[int, CandidateReport] = {}
        self._first: dict[PodRequest, int] = {}
        self._looks = 0

    def begin(self) -> None:
        """Begin a new cycle."""
        self._looks = 0
        self._reports, self._first = {}, {}

    def look(self, task: Task, request: PodRequest) -> None:
        """Report on this task before it is placed."""
        if not self._is_on or len(self._reports) >= MAX_FULL or self._looks >= MAX_LOOKS or request in self._first:
            return
        self._looks += 1
        report = self._report(task, request, BEST_HOSTS)
        if report is not None:
            self._reports[task.id] = report
            self._first[request] = task.id

    def placed_tasks(self, result: PlanResult) -> tuple[PlacedTask, ...]:
        """Return the first tasks that the cycle has placed."""
        found: list[PlacedTask] = []
        for position, (number, pods) in enumerate(itertools.islice(result.placements.items(), MAX_SHORT), start=1):
            report = self._reports.get(number)
            like = self._first.get(result.placements.request(number)) if report is None else None
            found.append(PlacedTask(number, pods, position, len(result.placements), report, like))
        return tuple(found)

    def why_waiting(self, task: Task, unschedulable: UnschedulableTask) -> WaitReason:
        """Return why a task of the cycle waits, by the current state of hosts."""
        reason = explain_waiting(self._planner, unschedulable)
        # Some pods of a gang are feasible: then not all other hosts are kept from it.
        report = self._report(task, unschedulable.request, 0) if unschedulable.pods_fitting else None
        return reason if report is None else replace(reason, closed=report.closed)

    def _report(self, task: Task, request: PodRequest, limit: int) -> CandidateReport | None:
        planner = self._planner
        return explain_candidates(planner.hosts, planner.scores, task, request, self.filters, limit)
