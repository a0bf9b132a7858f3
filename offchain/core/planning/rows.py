"""For each want, the points of every host; kept, and counted anew for hosts that have changed since."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from offchain.core.fleet.filters.price import surely_within
from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.rules import allowed
from offchain.core.fleet.want import Want
from offchain.core.placing.cluster import Bools, Floats, Ints
from offchain.core.placing.worth import Lane, Worth
from offchain.core.planning.scores import Weights, beside_room, parts_beside_room
from offchain.core.planning.scores.draw import draw

Points = npt.NDArray[np.float32]
Devices = npt.NDArray[np.int32]

MOST_ROWS = 1024
"""Wants that are kept; of more, those that were asked for longest ago go."""

_NOBODY: Ints = np.zeros(0, dtype=np.int64)


class _Row:
    """Narrow columns: with 400 wants and 100,000 hosts there are 40 million of each."""

    __slots__ = ("facts_seen", "lane", "room_seen")

    def __init__(self) -> None:
        self.lane = Lane(
            np.zeros(0, dtype=np.float32),
            np.zeros(0, dtype=np.int32),
            np.zeros(0, dtype=np.float32),
            np.zeros(0, dtype=np.bool_),
        )
        self.room_seen = 0
        self.facts_seen = 0

    def __len__(self) -> int:
        return len(self.lane.points)

    def grow(self, hosts: int) -> None:
        """To so many hosts."""
        self.lane = Lane(*(_longer(column, hosts) for column in self.lane))


class _Log:
    """Which hosts have changed, in order; cut off at the front when it is long."""

    def __init__(self) -> None:
        self._hosts: list[int] = []
        self._cut = 0

    @property
    def end(self) -> int:
        return self._cut + len(self._hosts)

    def add(self, changed: Iterable[int], hosts: int) -> None:
        self._hosts.extend(changed)
        if len(self._hosts) > 4 * hosts + 4096:
            # Whoever has not looked for so long counts everything anew, which is less work by now.
            half = len(self._hosts) // 2
            del self._hosts[:half]
            self._cut += half

    def since(self, seen: int, hosts: int) -> Ints | None:
        """Each once; None where that is most of them."""
        if seen < self._cut or self.end - seen >= hosts:
            return None
        return np.array(list(set(self._hosts[seen - self._cut :])), dtype=np.int64)


class Rows:
    """Less is better; infinite where the pod cannot go. The same fleet and seed give the same points."""

    def __init__(self, fleet: Fleet, policy: Worth, weights: Weights, seed: bytes) -> None:
        self._fleet = fleet
        self._policy = policy
        self._weights = weights
        self._seed = seed
        self._rows: OrderedDict[Want, _Row] = OrderedDict()
        self._room, self._facts = _Log(), _Log()
        self._draw: Floats = np.zeros(0)
        self._closed: Bools = np.zeros(0, dtype=np.bool_)

    def close(self, hosts: Bools) -> None:
        """[host]: nobody can go there, until this is called again; to hosts that come later anybody can."""
        before, self._closed = self._closed, hosts
        rows = np.arange(max(len(before), len(hosts)))
        self._room.add(rows[_at(before, rows) != _at(hosts, rows)].tolist(), len(self._fleet.cluster))

    def is_closed(self, host: int) -> bool:
        """Whether nobody can go there now."""
        return host < len(self._closed) and bool(self._closed[host])

    def changed(self, host: int, *, facts: bool = False) -> None:
        """What is free there is not what it was. `facts`: nor is something else, or the host is new."""
        self._room.add((host,), len(self._fleet.cluster))
        if facts:
            self._facts.add((host,), len(self._fleet.cluster))

    def use(self, policy: Worth) -> None:
        """Score by another policy from now on."""
        self._policy = policy
        self._rows.clear()

    def fill(self, want: Want, pods: int) -> tuple[list[int], list[int], int]:
        """Place up to so many pods, one after the other, each on the best host, and take their shares.

        Gives their hosts, their devices as bits, and the host at which it stopped because only the exact rule knows
        whether it is too dear; -1: at none.
        """
        row = self._row(want)
        chosen, on = np.empty(pods, dtype=np.int64), np.empty(pods, dtype=np.int64)
        placed, stopped = self._policy.fill(want.shape, _NOBODY, row.lane, chosen, on)
        hosts: list[int] = chosen[:placed].tolist()
        self._room.add(dict.fromkeys(hosts), len(self._fleet.cluster))
        row.room_seen = self._room.end
        return hosts, on[:placed].tolist(), stopped

    def points(self, want: Want) -> Points:
        """Of all hosts."""
        points: Points = self._row(want).lane.points
        return points

    def devices(self, want: Want) -> Devices:
        """[host]: those that the pod would take there, as bits; -1 where it has no room."""
        devices: Devices = self._row(want).lane.devices
        return devices

    def parts(self, want: Want, hosts: Ints) -> dict[str, Floats]:
        """For each of these hosts, where the pod fits, what its points are made of, by name; they add up to them."""
        count = len(self._fleet.cluster)
        scores, devices = np.zeros(count), np.zeros(count, dtype=np.int64)
        self._policy.score(want.shape, hosts, scores, devices)
        beside = parts_beside_room(want, self._fleet.facts.at(hosts), self._weights)
        return self._policy.parts(scores[hosts]) | beside | {"draw": self._drawn()[hosts]}

    def affordable(self, want: Want, host: int) -> bool:
        """Whether pods of this want surely cost no more than their limit there, on whatever devices."""
        return bool(self._row(want).lane.sure[host])

    def afford(self, want: Want, host: int) -> None:
        """It was found so; it holds until something but the room of the host changes."""
        self._row(want).lane.sure[host] = True

    def exclude(self, want: Want, host: int) -> None:
        """No pod of this want can go there, as an exact rule has found; until the host changes."""
        self._row(want).lane.points[host] = np.inf

    def _row(self, want: Want) -> _Row:
        row = self._rows.get(want)
        if row is None:
            row = self._rows[want] = _Row()
            if len(self._rows) > MOST_ROWS:
                self._rows.popitem(last=False)
        self._rows.move_to_end(want)
        hosts = len(self._fleet.cluster)
        known = len(row)
        if row.room_seen == self._room.end and row.facts_seen == self._facts.end and known == hosts:
            return row
        if known < hosts:
            row.grow(hosts)
        everything = np.arange(hosts, dtype=np.int64)
        facts = None if not known else self._facts.since(row.facts_seen, hosts)
        if facts is None or len(facts):
            self._judge(want, row.lane, everything if facts is None else facts)
        room = None if not known else self._room.since(row.room_seen, hosts)
        if room is None or len(room):
            counted = everything if room is None else room
            self._policy.fill(want.shape, counted, row.lane, _NOBODY, _NOBODY)
            if len(self._closed):
                row.lane.points[counted[_at(self._closed, counted)]] = np.inf
        row.facts_seen, row.room_seen = self._facts.end, self._room.end
        return row

    def _judge(self, want: Want, lane: Lane, hosts: Ints) -> None:
        """What does not depend on room."""
        facts = self._fleet.facts if len(hosts) == len(lane.more) else self._fleet.facts.at(hosts)
        against = beside_room(want, facts, self._weights) + self._drawn()[hosts]
        lane.more[hosts] = np.where(allowed(want, facts), against, np.inf)
        lane.sure[hosts] = surely_within(want, facts)

    def _drawn(self) -> Floats:
        """[host]: a number that depends on its name and the seed."""
        names = self._fleet.cluster.names
        if len(self._draw) < len(names):
            more = [draw(name, self._seed) for name in names[len(self._draw) :]]
            self._draw = np.concatenate([self._draw, np.array(more) * self._weights.draw])
        return self._draw


def _at(column: Bools, rows: Ints) -> Bools:
    """False beyond its end."""
    found = np.zeros(len(rows), dtype=np.bool_)
    known = rows < len(column)
    found[known] = column[rows[known]]
    return found


def _longer(column: npt.NDArray[np.generic], rows: int) -> npt.NDArray[np.generic]:
    more = np.zeros(rows, dtype=column.dtype)
    more[: len(column)] = column
    return more
