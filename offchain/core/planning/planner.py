"""The planner: keeps hosts and what is on its way to them, and finds places for waiting tasks.

A state machine: records and verdicts go in, placements come out; what it has placed stays taken until the chain has
it in its records or refuses it. It reads no clock, and the same inputs and seed give the same placements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from offchain.core.fit import Misfit
from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.rules import allowed
from offchain.core.fleet.want import Want
from offchain.core.placing import board
from offchain.core.placing.free import Bools
from offchain.core.placing.shapes import Mix
from offchain.core.placing.worth import Worth
from offchain.core.planning.candidates import Seen, look
from offchain.core.planning.gates import Gate, Leaning
from offchain.core.planning.held import Held
from offchain.core.planning.order import Order, Run
from offchain.core.planning.placements import Batch, Placements, Places
from offchain.core.planning.rows import Points, Rows
from offchain.core.planning.scores import Weights
from offchain.core.values import Host, Task


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

    placements: Placements
    blocked: tuple[Blocked, ...]


class Planner:
    """`seed` decides between hosts that are alike."""

    def __init__(self, seed: bytes, weights: Weights | None = None) -> None:
        self.fleet = Fleet()
        self._rows = Rows(self.fleet, Worth(self.fleet.cluster, Mix()), weights or Weights(), seed)
        self._held = Held()
        self._grown: set[int] = set()
        self._short: set[int] = set()
        """The rows of hosts of which the records leave no room for all that is held there."""
        self._lost: set[int] = set()
        """The rows of hosts that are no more."""

    def grown(self) -> set[int]:
        """The rows of hosts that have got room back since this was last asked, other than by records of theirs."""
        found, self._grown = self._grown, set()
        return found

    def use(self, policy: Worth) -> None:
        """Score by another policy from now on."""
        self._rows.use(policy)

    def close(self, hosts: Bools) -> None:
        """[host]: nothing is to be placed there, until this is called again."""
        self._rows.close(hosts)

    def put_hosts(self, hosts: Iterable[Host]) -> list[int]:
        """Take in records of the chain. Gives the rows of hosts whose room is another one now."""
        rooms, facts = self.fleet.put(hosts)
        self._lost.difference_update(facts)
        self._hold_again(rooms)
        self._rows.changed(rooms)
        self._rows.changed(facts, facts=True)
        return rooms

    def hosts_gone(self, hosts: Iterable[str]) -> None:
        """These are no more."""
        for host in hosts:
            row = self.fleet.gone(host)
            if row is not None:
                self._lost.add(row)
                self._rows.changed((row,), facts=True)

    def troubled(self, host: str, trouble: float) -> None:
        """So much failed there lately, from 0 to 1."""
        row = self.fleet.troubled(host, trouble)
        if row is not None:
            self._rows.changed((row,), facts=True)

    def ran(self, manifest: bytes, host: str) -> None:
        """A pod of this manifest runs there."""
        self._rows.changed(self.fleet.ran(manifest, host), facts=True)

    def follow(self, task: int, *, ahead: bool) -> None:
        """Whether what was placed of this task is ahead of the records, or in them, in a block that may go again."""
        if self._held.follow(task, ahead=ahead):
            for row in self.batch(task).rows(task):
                self._reset(row)

    def release(self, task: int) -> None:
        """What the planner has placed of this task is in the chain's records for good, or never will be."""
        self.release_all((task,))

    def release_all(self, tasks: Iterable[int]) -> None:
        """The same of many."""
        known: dict[int, int] = {}
        wants: list[Want] = []
        rows: list[int] = []
        devices: list[int] = []
        asks: list[int] = []
        anew: dict[int, None] = {}
        odd = self._short | self._lost
        for held, pods, behind in self._held.drop(tasks):
            hosts = held.hosts
            ask = known.get(id(held.want))
            if ask is None:
                ask = known[id(held.want)] = len(wants)
                wants.append(held.want)
            for pod in pods:
                row = hosts[pod]
                if row in odd:
                    anew[row] = None
                elif not behind:
                    # As everything held there has taken its share, this one is given back.
                    rows.append(row)
                    devices.append(held.devices[pod])
                    asks.append(ask)
        for row in anew:
            self._reset(row)
        if rows:
            self.fleet.cluster.give_all(rows, devices, asks, [want.shape for want in wants])
            self._freed(rows)

    def placed_pods(self, task: int) -> frozenset[int]:
        """The pods of this task that were placed and not yet released."""
        held = self._held.get(task)
        return frozenset(held.pods(task)) if held else frozenset()

    def holds(self, task: int) -> bool:
        """Whether something was placed of this task and not yet released."""
        return task in self._held

    def pods_ahead(self, task: int) -> frozenset[int]:
        """Of these, the ones that the records do not have yet."""
        return frozenset() if self._held.is_behind(task) else self.placed_pods(task)

    def places_ahead(self, task: int) -> Places | None:
        """Where those are to go; None where there are none."""
        held = None if self._held.is_behind(task) else self._held.get(task)
        return None if held is None else held.places(task)

    def batch(self, task: int) -> Batch:
        """With which others this task was placed. KeyError: nothing of it is on its way."""
        held = self._held.get(task)
        if held is None:
            raise KeyError(task)
        return held

    @property
    def held(self) -> frozenset[int]:
        """The tasks of which something is on its way."""
        return frozenset(self._held.tasks)

    def plan(self, order: Order, gates: Sequence[Gate] = (), made: list[Batch] | None = None) -> Round:
        """Place whoever has room, in this order, where no gate is closed to it. What is placed is held.

        `made`: what has its place in this round already.
        """
        made = [] if made is None else made
        blocked: list[Blocked] = []
        full: dict[tuple[Want, int, int], int] = {}
        while (turn := order.run()) is not None:
            tasks, _, want = turn
            first = tasks[0]
            same = want, first.least, len(first.open_pods)
            # Room only falls during a round.
            if same in full:
                blocked.append(Blocked(first.id, want, full[same], first.least))
                order.blocked(first)
                continue
            free = self._free(first, want, gates)
            if free:
                placed, fitting = self._run(turn, gates, made)
            else:
                placed, fitting = self._one(first, want, gates, made)
            if placed:
                order.ran(placed)
            if placed < (len(tasks) if free else 1):
                failed = tasks[placed]
                if free:
                    full[same] = fitting
                blocked.append(Blocked(failed.id, want, fitting, failed.least))
                order.blocked(failed)
        return Round(Placements(made, self.fleet), tuple(blocked))

    def closed(self, task: Task, want: Want, where: Sequence[board.Place], gates: Sequence[Gate]) -> bool:
        """Whether one of these places is closed to it, by a gate or to all."""
        if any(self._rows.is_closed(place.host) for place in where):
            return True
        devices = self._rows.devices(want)
        masks = [mask for gate in gates if (mask := gate.closed(task, want, devices)) is not None]
        return any(mask[place.host] for mask in masks for place in where)

    def room_on(self, rows: Iterable[int], want: Want) -> board.Place | None:
        """The best of these hosts for such a pod; None where it has room on none of them."""
        points, devices = self._rows.points(want), self._rows.devices(want)
        best = min((row for row in rows if points[row] < np.inf), key=lambda row: (points[row], row), default=None)
        return None if best is None else board.Place(best, int(devices[best]))

    def place_at(self, task: Task, want: Want, where: Sequence[board.Place], made: list[Batch]) -> bool:
        """Place its first pods just there, and hold that; False where a rule is against it."""
        for place, (host, devices) in enumerate(where):
            if not self.takes(want, host, devices):
                self._give(want, *_columns(where[:place]))
                return False
            self._take(want, host, devices)
        hosts, devices_of = _columns(where)
        self._hold(Batch(want, (task,), hosts, devices_of), made)
        return True

    def peek(self, task: Task, want: Want, gates: Sequence[Gate]) -> board.Place | None:
        """The best place for one pod of this task now, which it is not given; None where there is none."""
        found = self._best(task, want, gates)
        return None if found is None else board.Place(*found)

    def hold(self, task: Task, want: Want, place: board.Place) -> None:
        """Take this place for the one pod of the task, until :meth:`release` of its number."""
        self._take(want, place.host, place.devices)
        self._held.add(Batch(want, (task,), (place.host,), (place.devices,)))

    def takes(self, want: Want, host: int, devices: int) -> bool:
        """Whether the host takes such a pod on these devices, by the chain's own rules."""
        if not allowed(want, self.fleet.facts.at(np.array([host])))[0]:
            return False
        rate = self.fleet.rate_per_hour(want, host, devices)
        return rate <= want.max_rate_per_hour and self.fleet.cluster.fits_on(host, want.shape, devices)

    def excluded(self, want: Want) -> Mapping[Misfit, int]:
        """How many hosts each rule excludes now."""
        return self.fleet.excluded(want)

    def look(self, task: Task, want: Want, gates: Sequence[Gate], most: int) -> Seen | None:
        """What speaks for and against hosts now, with at most so many of the best; None where there is room nowhere."""
        return look(self.fleet, self._rows, task, want, gates, most)

    def _free(self, task: Task, want: Want, gates: Sequence[Gate]) -> bool:
        """Whether all that ask for the same as this task can be placed without asking a gate in between."""
        if not gates:
            return True
        if len(task.open_pods) != 1:
            return False
        devices = self._rows.room(want)
        return all(gate.closed(task, want, devices) is None for gate in gates)

    def _run(self, run: Run, gates: Sequence[Gate], made: list[Batch]) -> tuple[int, int]:
        """Place these, one after the other; how many found a place, and how many pods of the first that did not."""
        tasks, numbers, want = run
        least, each = tasks[0].least, len(tasks[0].open_pods)
        hosts, devices = self._places(want, len(tasks) * each)
        placed, over = divmod(len(hosts), each)
        if over >= least:
            placed, over = placed + 1, 0
        elif over:
            self._give(want, hosts[-over:], devices[-over:])
        if placed:
            pods = min(len(hosts), placed * each)
            self._hold(Batch(want, tasks[:placed], hosts[:pods], devices[:pods], numbers[:placed]), made)
            for gate in gates:
                for pod in range(pods):
                    gate.taken(tasks[pod // each], want, hosts[pod], devices[pod])
        return placed, over

    def _one(self, task: Task, want: Want, gates: Sequence[Gate], made: list[Batch]) -> tuple[int, int]:
        """The same for one task, for which gates are asked before each of its pods."""
        hosts: list[int] = []
        devices: list[int] = []
        for _ in task.open_pods:
            found = self._best(task, want, gates)
            if found is None:
                break
            host, on = found
            self._take(want, host, on)
            for gate in gates:
                gate.taken(task, want, host, on)
            hosts.append(host)
            devices.append(on)
        if len(hosts) < task.least:
            self._give(want, hosts, devices)
            for gate in gates:
                for host, on in zip(hosts, devices, strict=True):
                    gate.given(task, want, host, on)
            return 0, len(hosts)
        self._hold(Batch(want, (task,), hosts, devices), made)
        return 1, len(hosts)

    def _places(self, want: Want, pods: int) -> tuple[list[int], list[int]]:
        """The best hosts for so many pods, and their devices as bits, taken off what is free."""
        hosts, devices, doubtful = self._rows.fill(want, pods)
        while doubtful >= 0:
            on = self._rows.devices_on(want, doubtful)
            if self._within(want, doubtful, on):
                self._take(want, doubtful, on)
                hosts.append(doubtful)
                devices.append(on)
            more, on_more, doubtful = self._rows.fill(want, pods - len(hosts))
            hosts += more
            devices += on_more
        return hosts, devices

    def _best(self, task: Task, want: Want, gates: Sequence[Gate]) -> tuple[int, int] | None:
        """The best of the hosts that are open to it, whose price is within the limit by the chain's own rule."""
        while True:
            points, devices = self._rows.points(want), self._rows.devices(want)
            closed = [mask for gate in gates if (mask := gate.closed(task, want, devices)) is not None]
            left = np.where(np.logical_or.reduce(closed), np.inf, points) if closed else points
            for gate in gates:
                if isinstance(gate, Leaning):
                    left = _leaning(gate, task, want, left)
            host = int(np.argmin(left)) if len(left) else -1
            if host < 0 or left[host] == np.inf:
                return None
            if self._rows.affordable(want, host) or self._within(want, host, int(devices[host])):
                return host, int(devices[host])

    def _within(self, want: Want, host: int, devices: int) -> bool:
        """Whether the price there is within the limit, by the chain's own rule; where it is not, nothing goes there."""
        if self.fleet.rate_per_hour(want, host, devices) > want.max_rate_per_hour:
            self._rows.exclude(want, host)
            return False
        record = self.fleet.records[self.fleet.cluster.names[host]]
        if len({device.spec.model for device in record.devices}) <= 1:
            self._rows.afford(want, host)
        return True

    def _take(self, want: Want, host: int, devices: int) -> None:
        self.fleet.cluster.take(host, want.shape, devices)
        self._rows.changed((host,))

    def _give(self, want: Want, hosts: Sequence[int], devices: Sequence[int]) -> None:
        for host, on in zip(hosts, devices, strict=True):
            self.fleet.cluster.give(host, want.shape, on)
            self._rows.changed((host,))

    def _hold(self, batch: Batch, made: list[Batch]) -> None:
        self._held.add(batch)
        made.append(batch)

    def _reset(self, row: int) -> None:
        """Back to the chain's record, less what is held."""
        record = self.fleet.records.get(self.fleet.cluster.names[row])
        if record is not None:
            self.fleet.put_room(record)
            self._hold_again((row,))
        self._freed((row,))

    def _freed(self, rows: Sequence[int]) -> None:
        """There may be more room."""
        self._grown.update(rows)
        self._rows.changed(rows)

    def _hold_again(self, rows: Sequence[int]) -> None:
        """Take what is held off records that have just come in. What these have overtaken takes nothing."""
        self._short.difference_update(rows)
        self._short.update(self._held.take(rows, self.fleet.cluster))


def _leaning(gate: Leaning, task: Task, want: Want, points: Points) -> Points:
    """The points of those hosts alone to which the gate sends the pod first, if there are any."""
    takes = points < np.inf
    first = gate.first(task, want, takes) if takes.any() else None
    if first is None or not (first & takes).any():
        return points
    left = points.copy()
    left[~first] = np.inf
    return left


def _columns(places: Sequence[board.Place]) -> tuple[list[int], list[int]]:
    """Hosts, and devices."""
    return [place.host for place in places], [place.devices for place in places]
