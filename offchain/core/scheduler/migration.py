"""Migration: reports pods on hosts that deteriorate, moves them, and names standbys.

Places are found as for any pod. The chain checks each call again: that the host deteriorates, that the other host is
healthy and the pod feasible on it, and that no standby is named yet. A refused call is planned again after a growing
pause.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from offchain.backoff import Backoff
from offchain.core.scheduler.cluster import HostSlot
from offchain.core.scheduler.columns import AnyInts, Bools, device_bits, device_indices
from offchain.core.scheduler.cycle_filters import HostFilter, excluded_by_pods
from offchain.core.scheduler.events import MovePod, NameStandby, ReportRisk
from offchain.core.scheduler.host_health import FailureHistory
from offchain.core.scheduler.host_risk import HealthLimits, HealthSigns, health_signs, risk_of
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.migration_watch import MigrationCandidate, MigrationWatch
from offchain.core.scheduler.partition import WorkPartition, class_key_of
from offchain.core.scheduler.placement import Planner
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.scheduler.task_registry import TaskRegistry
from offchain.core.values import Host, Layout, Lease, Task
from offchain.schema.chain_types.ids import lease_parts

MAX_MOVES: Final = 4
"""Moves under way at once by one scheduler: later ones see where these went."""
MAX_STANDBYS: Final = 16
"""Standbys being named at once."""
_MAX_HOSTS_TRIED: Final = 8
"""Hosts examined for one pod: the best may deteriorate themselves."""


NO_LIMITS: Final = HealthLimits(poor_ppm=0, heartbeat_ms=1 << 60, notice_ms=1 << 60)
"""Before the chain's are known: nothing is moved."""


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    moves: tuple[MovePod, ...] = ()
    standbys: tuple[NameStandby, ...] = ()
    unconfirmed: frozenset[str] = frozenset()
    """Hosts whose heartbeat is to be read before the next cycle."""


class RiskMonitor:
    """Finds the pods on hosts that have begun to deteriorate."""

    def __init__(self, hosts: Mapping[str, Host], tasks: Mapping[int, Task], memory: FailureHistory) -> None:
        self.changed: set[str] = set()
        """Hosts whose record changed, or of which something was observed, since the last report."""
        self._hosts = hosts
        self._tasks = tasks
        self._memory = memory
        self._signs: dict[str, HealthSigns] = {}
        """[host]: the health signs of deteriorating hosts."""

    def report(self, now_ms: int) -> list[ReportRisk]:
        """Return the pods at risk on hosts whose health signs are new."""
        worse: set[str] = set()
        for name in self.changed:
            host = self._hosts.get(name)
            signs = None if host is None else health_signs(host, self._memory.score(name, now_ms))
            if signs and signs != self._signs.get(name):
                worse.add(name)
            if signs:
                self._signs[name] = signs
            else:
                self._signs.pop(name, None)
        self.changed.clear()
        found: list[ReportRisk] = []
        for task in self._tasks.values() if worse else ():
            for lease in task.leases:
                if lease.host in worse:
                    risk = risk_of(lease, self._hosts[lease.host], self._memory.score(lease.host, now_ms))
                    if risk is not None:
                        failures = tuple(str(what) for what, _ in self._memory.recent_failures(lease.host))
                        found.append(ReportRisk(task.id, lease.id, lease.host, risk, failures))
        return found


class MigrationPlanner:
    """Plans moves and standbys for the pods of the tasks that :attr:`watch` follows."""

    def __init__(self, planner: Planner, registry: TaskRegistry, partition: WorkPartition) -> None:
        self._planner = planner
        self._registry = registry
        self._partition = partition
        self.watch = MigrationWatch(planner.hosts.records, NO_LIMITS)
        self._moving: dict[int, int] = {}
        """[task]: the lease of the pod that is being moved."""
        self._naming: set[int] = set()
        """Leases whose standby is being named."""

    def is_due(self, now_ms: int) -> bool:
        """Whether there may be something to do now."""
        return self.watch.limits is not NO_LIMITS and self.watch.is_due(now_ms)

    def plan(self, filters: Sequence[HostFilter], now_ms: int) -> MigrationPlan:
        """Return what to do now; `filters` restrict the hosts in addition to the scheduler's partition and rules."""
        if self.watch.limits is NO_LIMITS:
            return MigrationPlan()
        moving, unguarded = self.watch.due(now_ms, self._standby_fits)
        moves = tuple(self._moves(moving, filters, now_ms))
        standbys = tuple(self._standbys(unguarded, filters, now_ms))
        return MigrationPlan(moves, standbys, self.watch.take_unconfirmed(now_ms))

    def _moves(
        self, candidates: Iterable[MigrationCandidate], filters: Sequence[HostFilter], now_ms: int
    ) -> Iterator[MovePod]:
        for one in candidates:
            if len(self._moving) >= MAX_MOVES:
                return
            place = None if one.task.id in self._moving else self._try(one, filters, now_ms, self.watch.move_retries)
            if place is not None and one.risk is not None:
                self._hold(one.task, one.lease, place)
                yield MovePod(one.task.id, one.lease.id, *self._details(one.task, place), one.risk)

    def _standbys(
        self, candidates: Iterable[MigrationCandidate], filters: Sequence[HostFilter], now_ms: int
    ) -> Iterator[NameStandby]:
        for one in candidates:
            if len(self._naming) >= MAX_STANDBYS:
                return
            known = one.lease.id in self._naming or one.task.id in self._moving
            place = None if known else self._try(one, filters, now_ms, self.watch.standby_retries)
            if place is not None:
                self._naming.add(one.lease.id)
                yield NameStandby(one.task.id, one.lease.id, *self._details(one.task, place))

    def _try(
        self, one: MigrationCandidate, filters: Sequence[HostFilter], now_ms: int, retries: Backoff[int]
    ) -> HostSlot | None:
        """Find a place and record the attempt, unless a heartbeat is unconfirmed or another scheduler is in charge."""
        is_responsible = self._partition.is_alone or self._partition.is_mine(
            class_key_of(PodRequest.of(one.task), 1, 1), now_ms
        )
        if not is_responsible:
            return None
        place = self._find_place(one.task, one.lease, filters, now_ms, is_move=one.risk is not None)
        if place is not None or not self.watch.has_unconfirmed:
            key = one.lease.id if one.risk is None else one.task.id
            self.watch.examine_at(one.task.id, retries.refused(key, now_ms))
        return place

    def put_task(self, task: Task) -> None:
        """Update from a record of a task that is not final."""
        self.watch.put_task(task)
        lease = self._moving.get(task.id)
        if lease is not None:
            # Once the chain has moved it, its resources are in the record of its new host.
            self._planner.set_assumed(_key(lease), assumed=any(one.id == lease for one in task.leases))

    def move_finished(self, task: int, lease: int) -> None:
        """Release the new place: the chain has executed or refused the move, and that is final."""
        del self._moving[task]
        self._planner.release((_key(lease),))

    def naming_finished(self, lease: int) -> None:
        """Note that the chain has executed or refused naming this lease's standby."""
        self._naming.discard(lease)

    def next_ms(self, now_ms: int) -> int | None:
        """Return when there may be something to do although no record changes."""
        if self.watch.limits is NO_LIMITS:
            return None
        # Another scheduler's task may be this scheduler's in the next leadership term.
        term = self._partition.next_ms(now_ms) if self.watch.has_work else None
        moments = term, self.watch.next_ms(now_ms)
        return min((moment for moment in moments if moment is not None), default=None)

    def _hold(self, task: Task, lease: Lease, place: HostSlot) -> None:
        """Reserve the new place."""
        pod, want = self._single_pod(task, lease)
        self._planner.assume(replace(pod, id=_key(lease.id)), want, place)
        self._moving[task.id] = lease.id

    def _find_place(
        self, task: Task, lease: Lease, filters: Sequence[HostFilter], now_ms: int, *, is_move: bool
    ) -> HostSlot | None:
        """Return the place for the pod, or for its standby; None: nowhere, or a heartbeat is unconfirmed."""
        pod, want = self._single_pod(task, lease)
        planner, watch = self._planner, self.watch
        records, names = planner.hosts.records, planner.hosts.cluster.names
        exclusion = HostExclusion(planner.hosts, lease, other_provider=not is_move)
        closed = (*filters, exclusion)
        standby = self._standby_place(lease, want) if is_move else None
        # Its last checkpoint most likely is at its standby.
        if standby is not None and not planner.is_excluded(pod, want, (standby,), closed):
            if watch.is_healthy(records[names[standby.host]], now_ms):
                return standby
            exclusion.exclude(standby.host)
        for _ in range(_MAX_HOSTS_TRIED):
            best = planner.best_slot(pod, want, closed)
            if best is None or watch.is_healthy(records[names[best.host]], now_ms):
                return best
            if watch.has_unconfirmed:
                return None
            exclusion.exclude(best.host)
        return None

    def _standby_place(self, lease: Lease, want: PodRequest) -> HostSlot | None:
        """Return the standby's place, if the pod fits there and it costs no more than when it was named."""
        planner = self._planner
        if lease.standby is None or lease.standby.host not in planner.hosts.records:
            return None
        place = HostSlot(planner.hosts.cluster.row(lease.standby.host), device_bits(lease.standby.devices))
        if planner.hosts.rate_per_hour(want, *place) > lease.standby.rate_per_hour:
            return None
        return place if planner.is_feasible(want, *place) else None

    def _standby_fits(self, task: Task, lease: Lease) -> bool:
        """Return whether the pod fits on its standby, beside the task's other pods: then the chain accepts no other."""
        pod, want = self._single_pod(task, lease)
        place = self._standby_place(lease, want)
        if place is None:
            return False
        pods = replace(want, beside=frozenset(one.host for one in pod.leases))
        return not excluded_by_pods(pods, self._planner.hosts)[place.host]

    def _single_pod(self, task: Task, lease: Lease) -> tuple[Task, PodRequest]:
        """Return the task as if only this pod had no place, and the pod's request beside the others."""
        others = tuple(one for one in task.leases if one.id != lease.id)
        pod = replace(task, leases=others, open_pods=(lease_parts(lease.id)[1],))
        want = self._registry.request_of(pod)
        if want.layout in (Layout.HOSTS, Layout.PROVIDERS):
            # The standbys of its other pods count like their hosts.
            standbys = frozenset(one.standby.host for one in others if one.standby is not None)
            want = replace(want, beside=want.beside | standbys)
        return pod, want

    def _details(self, task: Task, place: HostSlot) -> tuple[str, bytes, int]:
        """Return host, devices and rate of the place."""
        fleet = self._planner.hosts
        rate = fleet.rate_per_hour(self._registry.request_of(task), *place)
        return fleet.cluster.names[place.host], bytes(device_indices(place.devices)), rate


def _key(lease: int) -> int:
    """Return the number under which the planner holds the new place of a pod: not a task's number."""
    return ~lease


class HostExclusion(HostFilter):
    """A filter for one pod: excludes the host of its lease, or all of its provider's, and others one by one."""

    def __init__(self, fleet: HostTable, lease: Lease, *, other_provider: bool) -> None:
        self._closed: Bools = np.zeros(len(fleet.attributes), dtype=np.bool_)
        if lease.host in fleet.cluster:
            row = fleet.cluster.row(lease.host)
            self._closed[row] = True
            if other_provider:
                self._closed |= fleet.attributes.provider == fleet.attributes.provider[row]

    def exclude(self, host: int) -> None:
        self._closed[host] = True

    def excluded(self, task: Task, request: PodRequest, devices: AnyInts) -> Bools:
        del task, request, devices
        return self._closed
