"""Chooses which pods go on elsewhere, and which leases get a standby, and finds the places as for any pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from offchain.core.conduct.deteriorating import Limits, Risk
from offchain.core.moving.elsewhere import Elsewhere
from offchain.core.moving.watch import Leaving, Unguarded, Watch
from offchain.core.scheduler.cluster import HostSlot
from offchain.core.scheduler.columns import device_bits, device_indices
from offchain.core.scheduler.cycle_filters import HostFilter, excluded_by_pods
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import Layout, Lease, Task
from offchain.schema.chain_types.ids import lease_parts

MOST_MOVING: Final = 4
"""So many pods are on their way elsewhere at once, by one scheduler: whoever comes later sees where these went."""
MOST_NAMED: Final = 16
"""So many standbys are named at once."""
_TRIES: Final = 8
"""So many hosts are looked at for one pod: the best may deteriorate themselves."""


@dataclass(frozen=True, slots=True)
class Move:
    """A pod goes on there. Its room is held until :meth:`Mover.moved`."""

    task: int
    lease: int
    host: str
    devices: bytes
    rate_per_hour: int
    risk: Risk


@dataclass(frozen=True, slots=True)
class Naming:
    """A lease's standby is to be there."""

    task: int
    lease: int
    host: str
    devices: bytes
    rate_per_hour: int


@dataclass(frozen=True, slots=True)
class Moving:
    """What one round has decided."""

    moves: tuple[Move, ...]
    namings: tuple[Naming, ...]
    doubts: frozenset[str]
    """Hosts of which is to be read whether a heartbeat came, before another round."""


class Mover:
    """Give :attr:`watch` every record that the desk is given. It reads no clock, and draws as the desk does."""

    def __init__(self, desk: SchedulerState, limits: Limits) -> None:
        self._desk = desk
        self.watch = Watch(desk.planner.hosts.records, limits)
        self._moving: dict[int, int] = {}
        """[task]: the lease of the pod that is on its way."""
        self._naming: set[int] = set()
        """Leases."""

    def round(self, gates: Sequence[HostFilter], now_ms: int) -> Moving:
        """What to do now; nothing is closed to a pod but by these gates, the desk's part and the rules."""
        leaving, unguarded = self.watch.due(now_ms, self._has_room)
        moves = tuple(self._moves(leaving, gates, now_ms))
        namings = tuple(self._namings(unguarded, gates, now_ms))
        return Moving(moves, namings, self.watch.doubts(now_ms))

    def _moves(self, leaving: Iterable[Leaving], gates: Sequence[HostFilter], now_ms: int) -> Iterator[Move]:
        for one in leaving:
            task, lease = one.task, one.lease
            if len(self._moving) >= MOST_MOVING:
                return
            if task.id in self._moving or not self._desk.is_responsible_for(task, now_ms):
                continue
            place = self._place(task, lease, gates, now_ms, moves=True)
            if place is None and self.watch.in_doubt:
                continue
            self.watch.again(task.id, self.watch.moved.tried(task.id, now_ms))
            if place is not None:
                self._hold(task, lease, place)
                yield Move(task.id, lease.id, *self._told(task, place), one.risk)

    def _namings(self, unguarded: Iterable[Unguarded], gates: Sequence[HostFilter], now_ms: int) -> Iterator[Naming]:
        for needs in unguarded:
            task, lease = needs.task, needs.lease
            if len(self._naming) >= MOST_NAMED:
                return
            known = lease.id in self._naming or task.id in self._moving
            if known or not self._desk.is_responsible_for(task, now_ms):
                continue
            place = self._place(task, lease, gates, now_ms, moves=False)
            if place is None and self.watch.in_doubt:
                continue
            self.watch.again(task.id, self.watch.named.tried(lease.id, now_ms))
            if place is not None:
                self._naming.add(lease.id)
                yield Naming(task.id, lease.id, *self._told(task, place))

    def put_task(self, task: Task) -> None:
        """Take in a record of a task that is not final."""
        self.watch.put_task(task)
        lease = self._moving.get(task.id)
        if lease is not None:
            # Once the chain has moved it, the room is in the records of its new host.
            self._desk.planner.set_assumed(_key(lease), assumed=any(one.id == lease for one in task.leases))

    def moved(self, move: Move) -> None:
        """The chain has answered, and that is final."""
        del self._moving[move.task]
        self._desk.planner.release(_key(move.lease))

    def named(self, naming: Naming) -> None:
        """Likewise."""
        self._naming.discard(naming.lease)

    def next_ms(self, now_ms: int) -> int | None:
        """When there may be something to do although no record changes."""
        # What is another's now may be this scheduler's in the next shift.
        shift = self._desk.next_slot_ms(now_ms) if self.watch.anything else None
        moments = shift, self.watch.next_ms(now_ms)
        return min((moment for moment in moments if moment is not None), default=None)

    def _hold(self, task: Task, lease: Lease, place: HostSlot) -> None:
        """Keep its new room from others."""
        pod, want = self._alone(task, lease)
        self._desk.planner.assume(replace(pod, id=_key(lease.id)), want, place)
        self._moving[task.id] = lease.id

    def _place(
        self, task: Task, lease: Lease, gates: Sequence[HostFilter], now_ms: int, *, moves: bool
    ) -> HostSlot | None:
        """Where the pod goes now, or its standby is to be. None: nowhere, or there is a doubt."""
        pod, want = self._alone(task, lease)
        planner, watch = self._desk.planner, self.watch
        records, names = planner.hosts.records, planner.hosts.cluster.names
        elsewhere = Elsewhere(planner.hosts, lease, other_provider=not moves)
        closed = (*gates, elsewhere)
        standby = self._standby(lease, want) if moves else None
        # Its last checkpoint is at its standby, most likely.
        if standby is not None and not planner.is_excluded(pod, want, (standby,), closed):
            if watch.in_order(records[names[standby.host]], now_ms):
                return standby
            elsewhere.close(standby.host)
        for _ in range(_TRIES):
            best = planner.best_slot(pod, want, closed)
            if best is None or watch.in_order(records[names[best.host]], now_ms):
                return best
            if watch.in_doubt:
                return None
            elsewhere.close(best.host)
        return None

    def _standby(self, lease: Lease, want: PodRequest) -> HostSlot | None:
        """Where it could go on at once, and costs no more than when it was named."""
        planner = self._desk.planner
        if lease.standby is None or lease.standby.host not in planner.hosts.records:
            return None
        place = HostSlot(planner.hosts.cluster.row(lease.standby.host), device_bits(lease.standby.devices))
        if planner.hosts.rate_per_hour(want, *place) > lease.standby.rate_per_hour:
            return None
        return place if planner.is_feasible(want, *place) else None

    def _has_room(self, task: Task, lease: Lease) -> bool:
        """Whether its standby has, beside the task's other pods. Where it has, the chain takes no other."""
        pod, want = self._alone(task, lease)
        place = self._standby(lease, want)
        if place is None:
            return False
        pods = replace(want, beside=frozenset(one.host for one in pod.leases))
        return not excluded_by_pods(pods, self._desk.planner.hosts)[place.host]

    def _alone(self, task: Task, lease: Lease) -> tuple[Task, PodRequest]:
        """The task as if this pod alone had no place, and what the pod asks for beside the others."""
        others = tuple(one for one in task.leases if one.id != lease.id)
        pod = replace(task, leases=others, open_pods=(lease_parts(lease.id)[1],))
        want = self._desk.request_of(pod)
        if want.layout in (Layout.HOSTS, Layout.PROVIDERS):
            # Where others of its pods would go on counts as where they are.
            standbys = frozenset(one.standby.host for one in others if one.standby is not None)
            want = replace(want, beside=want.beside | standbys)
        return pod, want

    def _told(self, task: Task, place: HostSlot) -> tuple[str, bytes, int]:
        """The host, the devices and the rate there."""
        fleet = self._desk.planner.hosts
        rate = fleet.rate_per_hour(self._desk.request_of(task), *place)
        return fleet.cluster.names[place.host], bytes(device_indices(place.devices)), rate


def _key(lease: int) -> int:
    """Under which the planner holds the new place of a pod: no task's number."""
    return ~lease
