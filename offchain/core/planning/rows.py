"""For each want, the points of every host; kept, and counted anew for hosts that have changed since."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from offchain.core.fleet.filters.price import surely_within
from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.offers import Offers
from offchain.core.fleet.rules import affordable, welcome
from offchain.core.fleet.want import Want
from offchain.core.placing.cluster import AnyInts, Bools, Floats, Ints
from offchain.core.placing.columns import as_long
from offchain.core.placing.devices import Wish
from offchain.core.placing.lanes import Beside, empty, longer, renew
from offchain.core.placing.worth import Worth
from offchain.core.planning.changes import Changes
from offchain.core.planning.scores import Weights, beside_price, for_price, parts_beside_room
from offchain.core.planning.scores.draw import draw
from offchain.core.values import Placement, RetainedData

Points = npt.NDArray[np.float32]

MOST_ROWS = 1024
"""Wants that are kept; of more, those that were asked for longest ago go."""

_NOBODY: Ints = np.zeros(0, dtype=np.int64)

_Who = tuple[Placement, RetainedData | None, bytes | None]
"""What of a want decides what speaks against hosts beside their room and their price."""


class _Against:
    """[host]: points whatever is free, without those for the price; infinite: not allowed. For many wants the same."""

    __slots__ = ("__weakref__", "points", "seen")

    def __init__(self) -> None:
        self.points: Floats = np.zeros(0)
        self.seen = 0
        """How many changes of facts."""


class _Row:
    """What is kept for one want."""

    __slots__ = ("against", "lane", "price", "renumbered", "room_seen", "sure", "wish")

    def __init__(self, wish: Wish, against: _Against) -> None:
        self.lane = empty()
        self.room_seen = 0
        self.wish = wish
        self.against = against
        self.price: Floats = np.zeros(0)
        """[list]: points for what the host asks; infinite: not allowed."""
        self.sure: Bools = np.zeros(0, dtype=np.bool_)
        """[list]: whether it surely costs no more than its limit there."""
        self.renumbered = 0

    def __len__(self) -> int:
        return len(self.lane.points)

    def ask(self, want: Want, offers: Offers, weights: Weights) -> None:
        """Look at price lists that are new."""
        if self.renumbered != offers.renumbered:
            self.renumbered, self.price, self.sure = offers.renumbered, self.price[:0], self.sure[:0]
        if len(self.price) < len(offers):
            new = slice(len(self.price), len(offers))
            points = np.where(affordable(want, offers, new), for_price(want, offers, new, weights), np.inf)
            self.price = np.concatenate([self.price, points])
            self.sure = np.concatenate([self.sure, surely_within(want, offers, new)])


class Rows:
    """Less is better; infinite where the pod cannot go. The same fleet and seed give the same points."""

    def __init__(self, fleet: Fleet, policy: Worth, weights: Weights, seed: bytes) -> None:
        self._fleet = fleet
        self._policy = policy
        self._weights = weights
        self._seed = seed
        self._rows: OrderedDict[Want, _Row] = OrderedDict()
        self._against: WeakValueDictionary[_Who, _Against] = WeakValueDictionary()
        self._room, self._facts = Changes(), Changes()
        self._excluded: set[int] = set()
        """Hosts that were too dear for some want by the devices that it would have taken."""
        self._draw: Floats = np.zeros(0)
        self._closed: Bools = np.zeros(0, dtype=np.bool_)

    def close(self, hosts: Bools) -> None:
        """[host]: nobody can go there, until this is called again; to hosts that come later anybody can."""
        before, self._closed = self._shut(), hosts
        self._room.add(np.flatnonzero(before != self._shut()).tolist())

    def is_closed(self, host: int) -> bool:
        """Whether nobody can go there now."""
        return bool(self._shut()[host])

    def changed(self, hosts: Iterable[int], *, facts: bool = False) -> None:
        """What is free there is not what it was. `facts`: nor is something else, or the host is new."""
        self._room.add(hosts)
        if facts:
            self._facts.add(hosts)

    def use(self, policy: Worth) -> None:
        """Score by another policy from now on."""
        self._policy = policy
        self._rows.clear()

    def fill(self, want: Want, pods: int) -> tuple[list[int], list[int], int]:
        """Place up to so many pods, one after the other, each on the best host, and take their shares.

        Gives their hosts, their devices as bits, and the host at which it stopped because only the exact rule knows
        whether it is too dear; -1: at none.
        """
        row, stale = self._judged(want)
        chosen, on = np.empty(pods, dtype=np.int64), np.empty(pods, dtype=np.int64)
        placed, stopped = self._policy.fill(row.wish, stale, row.lane, self._beside(row), chosen, on)
        hosts: list[int] = chosen[:placed].tolist()
        self._room.took(chosen[:placed])
        row.room_seen = self._room.end()
        if self._excluded and not self._excluded.isdisjoint(hosts):
            # Other devices are the cheapest there now.
            self._room.add(self._excluded.intersection(hosts))
        return hosts, on[:placed].tolist(), stopped

    def points(self, want: Want) -> Points:
        """Of all hosts."""
        points: Points = self._row(want).lane.points
        return points

    def devices(self, want: Want) -> AnyInts:
        """[host]: those that the pod would take there, as bits; -1 where it cannot go."""
        points, devices, _ = self._row(want).lane
        return np.where(points < np.inf, devices.astype(np.int32), -1)

    def devices_on(self, want: Want, host: int) -> int:
        """The same of one host."""
        points, devices, _ = self._row(want).lane
        return int(devices[host]) if points[host] < np.inf else -1

    def parts(self, want: Want, hosts: Ints) -> dict[str, Floats]:
        """For each of these hosts, where the pod fits, what its points are made of, by name; they add up to them."""
        count = len(self._fleet.cluster)
        scores, devices = np.zeros(count), np.zeros(count, dtype=np.int64)
        self._policy.score(want.shape, hosts, scores, devices)
        beside = parts_beside_room(want, self._fleet.facts.at(hosts), self._weights)
        return self._policy.parts(scores[hosts]) | beside | {"draw": self._drawn()[hosts]}

    def affordable(self, want: Want, host: int) -> bool:
        """Whether pods of this want surely cost no more than their limit there, on whatever devices."""
        return bool(self._row(want).sure[self._fleet.facts.offer[host]])

    def afford(self, want: Want, host: int) -> None:
        """It was found so, there and so on all hosts with the same devices that ask the same."""
        self._row(want).sure[self._fleet.facts.offer[host]] = True

    def exclude(self, want: Want, host: int) -> None:
        """No pod of this want can go there, as an exact rule has found; until the host changes."""
        lane = self._row(want).lane
        lane.points[host] = np.inf
        self._excluded.add(host)
        renew(lane, np.array([host]))

    def _row(self, want: Want) -> _Row:
        row, stale = self._judged(want)
        if len(stale):
            self._policy.fill(row.wish, stale, row.lane, self._beside(row), _NOBODY, _NOBODY)
            row.room_seen = self._room.end()
        return row

    def _judged(self, want: Want) -> tuple[_Row, Ints]:
        """The row, and the hosts that are to be scored anew in it."""
        row = self._rows.get(want)
        if row is None:
            row = self._rows[want] = _Row(Wish.of(want.shape, self._fleet.cluster), self._against_of(want))
            if len(self._rows) > MOST_ROWS:
                self._rows.popitem(last=False)
        self._rows.move_to_end(want)
        self._judge(want, row)
        hosts = len(self._fleet.cluster)
        if len(row) < hosts:
            row.lane = longer(row.lane, hosts)
        if row.room_seen == self._room.end():
            return row, _NOBODY
        return row, self._room.since_for(row.room_seen, row.lane.points)

    def _judge(self, want: Want, row: _Row) -> None:
        """What does not depend on room."""
        fleet, against = self._fleet, row.against
        if len(row.wish.accepts) < len(fleet.cluster.kinds):
            row.wish = Wish.of(want.shape, fleet.cluster)
        row.ask(want, fleet.facts.offers, self._weights)
        if against.seen != self._facts.end():
            hosts = self._facts.since(against.seen, len(fleet.cluster))
            facts = fleet.facts.at(hosts)
            points = beside_price(want, facts, self._weights) + self._drawn()[hosts]
            if len(against.points) < len(fleet.cluster):
                against.points = as_long(against.points, len(fleet.cluster))
            against.points[hosts] = np.where(welcome(want, facts), points, np.inf)
            against.seen = self._facts.end()

    def _against_of(self, want: Want) -> _Against:
        who = want.placement, want.takes_over, want.manifest
        found = self._against.get(who)
        if found is None:
            found = self._against[who] = _Against()
        return found

    def _beside(self, row: _Row) -> Beside:
        return Beside(row.against.points, self._fleet.facts.offer, row.price, row.sure, self._shut())

    def _shut(self) -> Bools:
        """[host]: whether it is closed."""
        hosts = len(self._fleet.cluster)
        if len(self._closed) < hosts:
            self._closed = as_long(self._closed, hosts)
        return self._closed

    def _drawn(self) -> Floats:
        """[host]: a number that depends on its name and the seed."""
        names = self._fleet.cluster.names
        if len(self._draw) < len(names):
            more = [draw(name, self._seed) for name in names[len(self._draw) :]]
            self._draw = np.concatenate([self._draw, np.array(more) * self._weights.draw])
        return self._draw
