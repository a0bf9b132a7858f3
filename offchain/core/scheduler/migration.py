"""Migration: moves pods off hosts that deteriorate, and names standbys; places are found as for any pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from offchain.backoff import Backoff
from offchain.core.scheduler.cluster import HostSlot
from offchain.core.scheduler.columns import AnyInts, Bools, device_bits, device_indices
from offchain.core.scheduler.cycle_filters import HostFilter, excluded_by_pods
from offchain.core.scheduler.host_risk import HealthLimits, Risk
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.migration_watch import MigrationCandidate, MigrationWatch
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import Layout, Lease, Task
from offchain.schema.chain_types.ids import lease_parts

MAX_MOVES: Final = 4
"""Moves under way at once by one scheduler: later ones see where these went."""
MAX_STANDBYS: Final = 16
"""Standbys being named at once."""
_MAX_HOSTS_TRIED: Final = 8
"""Hosts examined for one pod: the best may deteriorate themselves."""


@dataclass(frozen=True, slots=True)
class PodMove:
    """A move of a pod. Its new place is reserved until :meth:`MigrationPlanner.move_finished`."""

    task: int
    lease: int
    host: str
    devices: bytes
    rate_per_hour: int
    risk: Risk


@dataclass(frozen=True, slots=True)
class StandbyNaming:
    """The place that a lease's standby is to have."""

    task: int
    lease: int
    host: str
    devices: bytes
    rate_per_hour: int


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    moves: tuple[PodMove, ...]
    standbys: tuple[StandbyNaming, ...]
    unconfirmed: frozenset[str]
    """Hosts whose heartbeat is to be read before the next cycle."""


class MigrationPlanner:
    """Give :attr:`watch` every record that the scheduler state is given."""

    def __init__(self, state: SchedulerState, limits: HealthLimits) -> None:
        self._state = state
        self.watch = MigrationWatch(state.planner.hosts.records, limits)
        self._moving: dict[int, int] = {}
        """[task]: the lease of the pod that is being moved."""
        self._naming: set[int] = set()
        """Leases whose standby is being named."""

    def plan(self, gates: Sequence[HostFilter], now_ms: int) -> MigrationPlan:
        """Return what to do now; `gates` restrict the hosts in addition to the scheduler's partition and rules."""
        moving, unguarded = self.watch.due(now_ms, self._standby_fits)
        moves = tuple(self._moves(moving, gates, now_ms))
        standbys = tuple(self._standbys(unguarded, gates, now_ms))
        return MigrationPlan(moves, standbys, self.watch.take_unconfirmed(now_ms))

    def _moves(
        self, candidates: Iterable[MigrationCandidate], gates: Sequence[HostFilter], now_ms: int
    ) -> Iterator[PodMove]:
        for one in candidates:
            if len(self._moving) >= MAX_MOVES:
                return
            place = None if one.task.id in self._moving else self._try(one, gates, now_ms, self.watch.move_retries)
            if place is not None and one.risk is not None:
                self._hold(one.task, one.lease, place)
                yield PodMove(one.task.id, one.lease.id, *self._details(one.task, place), one.risk)

    def _standbys(
        self, candidates: Iterable[MigrationCandidate], gates: Sequence[HostFilter], now_ms: int
    ) -> Iterator[StandbyNaming]:
        for one in candidates:
            if len(self._naming) >= MAX_STANDBYS:
                return
            known = one.lease.id in self._naming or one.task.id in self._moving
            place = None if known else self._try(one, gates, now_ms, self.watch.standby_retries)
            if place is not None:
                self._naming.add(one.lease.id)
                yield StandbyNaming(one.task.id, one.lease.id, *self._details(one.task, place))

    def _try(
        self, one: MigrationCandidate, gates: Sequence[HostFilter], now_ms: int, retries: Backoff[int]
    ) -> HostSlot | None:
        """Find a place and record the attempt, unless a heartbeat is unconfirmed or another scheduler is in charge."""
        if not self._state.is_responsible_for(one.task, now_ms):
            return None
        place = self._find_place(one.task, one.lease, gates, now_ms, is_move=one.risk is not None)
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
            self._state.planner.set_assumed(_key(lease), assumed=any(one.id == lease for one in task.leases))

    def move_finished(self, move: PodMove) -> None:
        """Release the new place: the chain has executed or refused the move, and that is final."""
        del self._moving[move.task]
        self._state.planner.release(_key(move.lease))

    def naming_finished(self, naming: StandbyNaming) -> None:
        self._naming.discard(naming.lease)

    def next_ms(self, now_ms: int) -> int | None:
        """Return when there may be something to do although no record changes."""
        # Another scheduler's task may be this scheduler's in the next leadership term.
        shift = self._state.next_slot_ms(now_ms) if self.watch.has_work else None
        moments = shift, self.watch.next_ms(now_ms)
        return min((moment for moment in moments if moment is not None), default=None)

    def _hold(self, task: Task, lease: Lease, place: HostSlot) -> None:
        """Reserve the new place."""
        pod, want = self._single_pod(task, lease)
        self._state.planner.assume(replace(pod, id=_key(lease.id)), want, place)
        self._moving[task.id] = lease.id

    def _find_place(
        self, task: Task, lease: Lease, gates: Sequence[HostFilter], now_ms: int, *, is_move: bool
    ) -> HostSlot | None:
        """Return the place for the pod, or for its standby; None: nowhere, or a heartbeat is unconfirmed."""
        pod, want = self._single_pod(task, lease)
        planner, watch = self._state.planner, self.watch
        records, names = planner.hosts.records, planner.hosts.cluster.names
        exclusion = HostExclusion(planner.hosts, lease, other_provider=not is_move)
        closed = (*gates, exclusion)
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
        planner = self._state.planner
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
        return not excluded_by_pods(pods, self._state.planner.hosts)[place.host]

    def _single_pod(self, task: Task, lease: Lease) -> tuple[Task, PodRequest]:
        """Return the task as if only this pod had no place, and the pod's request beside the others."""
        others = tuple(one for one in task.leases if one.id != lease.id)
        pod = replace(task, leases=others, open_pods=(lease_parts(lease.id)[1],))
        want = self._state.request_of(pod)
        if want.layout in (Layout.HOSTS, Layout.PROVIDERS):
            # The standbys of its other pods count like their hosts.
            standbys = frozenset(one.standby.host for one in others if one.standby is not None)
            want = replace(want, beside=want.beside | standbys)
        return pod, want

    def _details(self, task: Task, place: HostSlot) -> tuple[str, bytes, int]:
        """Return host, devices and rate of the place."""
        fleet = self._state.planner.hosts
        rate = fleet.rate_per_hour(self._state.request_of(task), *place)
        return fleet.cluster.names[place.host], bytes(device_indices(place.devices)), rate


def _key(lease: int) -> int:
    """Return the number under which the planner holds the new place of a pod: not a task's number."""
    return ~lease


class HostExclusion:
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

    def excluded(self, task: Task, want: PodRequest, devices: AnyInts) -> Bools:
        """See :class:`offchain.core.scheduler.cycle_filters.HostFilter`."""
        del task, want, devices
        return self._closed

    def on_assume(self, task: Task, want: PodRequest, host: int, devices: int) -> None:
        """Placements do not change what is excluded."""

    def on_forget(self, task: Task, want: PodRequest, host: int, devices: int) -> None:
        """Placements do not change what is excluded."""
