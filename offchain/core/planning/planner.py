"""The planner: keeps hosts and what is on its way to them, and finds places for waiting tasks.

A state machine: records and verdicts go in, placements come out; what it has placed stays taken until the chain has
it in its records or refuses it. It reads no clock, and the same inputs and seed give the same placements.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from offchain.core.fit import Misfit
from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.want import Want
from offchain.core.placing.cluster import Floats, indices
from offchain.core.placing.policy import Policy
from offchain.core.placing.shapes import Mix
from offchain.core.placing.worth import Worth
from offchain.core.planning.gates import Gate, Leaning
from offchain.core.planning.order import Order
from offchain.core.planning.rows import Rows
from offchain.core.planning.scores import Weights
from offchain.core.rate import rate_per_hour
from offchain.core.values import Host, PodPlacement, Task


@dataclass(frozen=True, slots=True)
class Place:
    """A pod's place: the row of its host, and the devices as bits."""

    pod: int
    host: int
    devices: int


@dataclass(frozen=True, slots=True)
class Blocked:
    """A task that found no place, for itself and all that ask for the same: how many of its pods would."""

    task: int
    want: Want
    pods_fitting: int
    pods_needed: int


@dataclass(frozen=True, slots=True)
class Round:
    """What one round has decided: what to assign, in this order, and who found no place."""

    placements: Mapping[int, tuple[PodPlacement, ...]]
    blocked: tuple[Blocked, ...]


@dataclass(slots=True)
class _Held:
    want: Want
    places: tuple[Place, ...]
    ahead: bool = True
    """Whether it is still to come into the chain's records."""


class Planner:
    """`seed` decides between hosts that are alike."""

    def __init__(self, seed: bytes, weights: Weights | None = None) -> None:
        self.fleet = Fleet()
        self._rows = Rows(self.fleet, Worth(self.fleet.cluster, Mix()), weights or Weights(), seed)
        self._held: dict[int, _Held] = {}
        self._held_at: defaultdict[int, set[int]] = defaultdict(set)
        """[row]: the tasks that hold something there."""

    def use(self, policy: Policy) -> None:
        """Score by another policy from now on."""
        self._rows.use(policy)

    def put_hosts(self, hosts: Iterable[Host]) -> None:
        """Take in records of the chain."""
        for host in hosts:
            change = self.fleet.put(host)
            if change.room:
                self._hold_again(change.row)
            if change.room or change.facts:
                self._rows.changed(change.row, facts=change.facts)

    def hosts_gone(self, hosts: Iterable[str]) -> None:
        """These are no more."""
        for host in hosts:
            change = self.fleet.gone(host)
            if change is not None:
                self._rows.changed(change.row, facts=True)

    def troubled(self, host: str, trouble: float) -> None:
        """So much failed there lately, from 0 to 1."""
        change = self.fleet.troubled(host, trouble)
        if change is not None:
            self._rows.changed(change.row, facts=True)

    def ran(self, manifest: bytes, host: str) -> None:
        """A pod of this manifest runs there."""
        for change in self.fleet.ran(manifest, host):
            self._rows.changed(change.row, facts=True)

    def follow(self, task: int, *, ahead: bool) -> None:
        """Whether what was placed of this task is ahead of the records, or in them, in a block that may go again."""
        held = self._held.get(task)
        if held is not None and held.ahead != ahead:
            held.ahead = ahead
            for row in {place.host for place in held.places}:
                self._reset(row)

    def release(self, task: int) -> None:
        """What the planner has placed of this task is in the chain's records for good, or never will be."""
        held = self._held.pop(task, None)
        for row in {place.host for place in held.places} if held else ():
            self._held_at[row].discard(task)
            if not self._held_at[row]:
                del self._held_at[row]
            self._reset(row)

    def placed_pods(self, task: int) -> frozenset[int]:
        """The pods of this task that were placed and not yet released."""
        held = self._held.get(task)
        return frozenset(place.pod for place in held.places) if held else frozenset()

    def pods_ahead(self, task: int) -> frozenset[int]:
        """Of these, the ones that the records do not have yet."""
        held = self._held.get(task)
        return self.placed_pods(task) if held and held.ahead else frozenset()

    @property
    def held(self) -> frozenset[int]:
        """The tasks of which something is on its way."""
        return frozenset(self._held)

    def plan(self, order: Order, gates: Sequence[Gate] = ()) -> Round:
        """Place whoever has room, in this order, where no gate is closed to it. What is placed is held."""
        placements: dict[int, tuple[PodPlacement, ...]] = {}
        blocked: list[Blocked] = []
        full: dict[tuple[Want, int, int], int] = {}
        while (turn := order.next()) is not None:
            task, want = turn
            same = want, task.least, len(task.open_pods)
            # Room only falls during a round.
            places = [] if same in full else self._find(task, want, gates)
            if len(places) < task.least:
                self._give(task, want, places, gates)
                fitting = full.setdefault(same, len(places))
                blocked.append(Blocked(task.id, want, fitting, task.least))
                order.blocked(task)
                continue
            self._hold(task.id, want, places)
            placements[task.id] = tuple(
                PodPlacement(place.pod, self.fleet.cluster.names[place.host], bytes(indices(place.devices)))
                for place in places
            )
            order.placed(task, len(places))
        return Round(placements, tuple(blocked))

    def excluded(self, want: Want) -> Mapping[Misfit, int]:
        """How many hosts each rule excludes now."""
        return self.fleet.excluded(want)

    def _find(self, task: Task, want: Want, gates: Sequence[Gate]) -> list[Place]:
        """Places for as many of its open pods as there are, taken off what is free."""
        places: list[Place] = []
        for pod in task.open_pods:
            found = self._best(task, want, gates)
            if found is None:
                break
            host, devices = found
            self.fleet.cluster.take(host, want.shape, devices)
            self._rows.changed(host)
            for gate in gates:
                gate.taken(task, want, host, devices)
            places.append(Place(pod, host, devices))
        return places

    def _best(self, task: Task, want: Want, gates: Sequence[Gate]) -> tuple[int, int] | None:
        """The best host whose price is within the limit by the chain's own rule."""
        while (found := self._first(task, want, gates)) is not None:
            host, devices = found
            if self._rows.affordable(want, host):
                return found
            record = self.fleet.records[self.fleet.cluster.names[host]]
            rate = rate_per_hour(want.resources, record.devices, indices(devices), record.ask, want.unit)
            if rate <= want.max_rate_per_hour:
                if len({device.spec.model for device in record.devices}) <= 1:
                    self._rows.afford(want, host)
                return found
            self._rows.exclude(want, host)
        return None

    def _first(self, task: Task, want: Want, gates: Sequence[Gate]) -> tuple[int, int] | None:
        """The host with the least points, of those that are open to it."""
        if not gates:
            return self._rows.best(want)
        points, devices = self._rows.points(want), self._rows.devices(want)
        closed = [mask for gate in gates if (mask := gate.closed(task, want, devices)) is not None]
        if not closed:
            return self._rows.best(want)
        left = np.where(np.logical_or.reduce(closed), np.inf, points)
        for gate in gates:
            if isinstance(gate, Leaning):
                left = _leaning(gate, task, want, left)
        if not len(left):
            return None
        host = int(np.argmin(left))
        return None if left[host] == np.inf else (host, int(devices[host]))

    def _give(self, task: Task, want: Want, places: Sequence[Place], gates: Sequence[Gate]) -> None:
        for place in places:
            self.fleet.cluster.give(place.host, want.shape, place.devices)
            self._rows.changed(place.host)
            for gate in gates:
                gate.given(task, want, place.host, place.devices)

    def _hold(self, task: int, want: Want, places: Sequence[Place]) -> None:
        self._held[task] = _Held(want, tuple(places))
        for place in places:
            self._held_at[place.host].add(task)

    def _reset(self, row: int) -> None:
        """Back to the chain's record, less what is held."""
        record = self.fleet.records.get(self.fleet.cluster.names[row])
        if record is not None:
            self.fleet.put_room(record)
            self._hold_again(row)
        self._rows.changed(row)

    def _hold_again(self, row: int) -> None:
        """Take what is held off a record that has just come in. What the record has overtaken takes nothing."""
        for task in sorted(self._held_at.get(row, ())):
            held = self._held[task]
            for place in held.places if held.ahead else ():
                if place.host == row and self.fleet.cluster.fits_on(row, held.want.shape, place.devices):
                    self.fleet.cluster.take(row, held.want.shape, place.devices)


def _leaning(gate: Leaning, task: Task, want: Want, points: Floats) -> Floats:
    """The points of those hosts alone to which the gate sends the pod first, if there are any."""
    takes = points < np.inf
    first = gate.first(task, want, takes) if takes.any() else None
    return points if first is None or not (first & takes).any() else np.where(first, points, np.inf)
