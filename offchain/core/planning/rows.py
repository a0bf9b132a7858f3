"""For each want, the points of every host; kept, and counted anew for hosts that have changed since."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from offchain.core.fleet.filters.price import surely_within
from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.offers import Offers
from offchain.core.fleet.rules import affordable, welcome
from offchain.core.fleet.want import Want
from offchain.core.placing.cluster import Cluster
from offchain.core.placing.columns import as_long
from offchain.core.placing.devices import Wish
from offchain.core.placing.free import AnyInts, Bools, Floats, Ints
from offchain.core.placing.kinds import NOBODY
from offchain.core.placing.lanes import AnyFloats, Beside, empty, longer, renew
from offchain.core.placing.run import unknown
from offchain.core.placing.shapes import Shape
from offchain.core.placing.worth import Worth
from offchain.core.planning.changes import Changes
from offchain.core.planning.scores import Weights, beside_price, for_price, parts_beside_room
from offchain.core.planning.scores.draw import draw
from offchain.core.values import Placement, RetainedData

Points = npt.NDArray[np.float32]

MOST_ROWS = 8192
"""Wants that are kept; of more, those that were asked for longest ago go."""

ROWS = 1024
"""At least so many are kept, and no more where these would be more points of hosts than"""
MOST_POINTS = 40_000_000
"""this, at 6 bytes each."""

FEW = 16
"""So many hosts are scored at once, without asking for bounds."""

LEAST = np.float32(-1e9)
"""Below all points and bounds."""

_NOBODY: Ints = np.zeros(0, dtype=np.int64)
_NO_BOUNDS: AnyFloats = np.zeros(0, dtype=np.float32)

_Who = tuple[Placement, RetainedData | None, tuple[str, ...], bytes | None]
"""What of a want decides what speaks against hosts beside their room and their price."""


class _Wish:
    """What compiled loops are told of a shape. Kinds of devices that others have shares of are beyond it."""

    __slots__ = ("_found", "_seen", "shape")

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._found = Wish.accepting(shape, np.zeros(0, dtype=np.bool_))
        self._seen = 0
        """How many kinds."""

    def now(self, cluster: Cluster) -> Wish:
        """With all kinds that there are."""
        kinds = cluster.kinds
        if len(kinds) > len(self._found.accepts):
            # No device of another account's shares will do, nor is it ever free as a whole.
            self._found = self._found._replace(accepts=as_long(self._found.accepts, 1 << len(kinds).bit_length()))
        if len(kinds) > self._seen:
            for kind in cluster.kinds_since(self._seen, self.shape.account):
                self._found.accepts[kind] = self.shape.accepts(kinds[kind])
            self._seen = len(kinds)
        return self._found


class _Against:
    """[host]: points whatever is free, without those for the price; infinite: not allowed. For many wants the same."""

    __slots__ = ("__weakref__", "points", "seen")

    def __init__(self) -> None:
        self.points: Floats = np.zeros(0)
        self.seen = 0
        """How many changes of facts."""


class _Bounds:
    """What no pod that asks for the same GPUs scores less than, but for what it leaves less full. For many wants.

    Of shares: on devices of which nobody has any.
    """

    __slots__ = ("__weakref__", "lane", "room_seen", "wish")

    def __init__(self, wish: _Wish) -> None:
        self.lane = empty()._replace(least=np.zeros(0, dtype=np.float32))
        self.room_seen = 0
        self.wish = wish


class _Row:
    """What is kept for one want."""

    __slots__ = ("against", "bounded", "bounds", "lane", "price", "renumbered", "room_seen", "sure", "wish")

    def __init__(self, wish: _Wish, against: _Against, bounds: _Bounds) -> None:
        self.lane = empty()
        self.room_seen = 0
        self.wish = wish
        self.against = against
        self.bounds = bounds
        self.bounded = False
        """Whether hosts may have points that are too low: they were not the best of any, and are still to be scored."""
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
        self._bounds: WeakValueDictionary[Shape, _Bounds] = WeakValueDictionary()
        """[shape that asks for nothing but GPUs]"""
        self._room, self._facts = Changes(), Changes()
        self._most = fleet.cluster.most.tolist()
        """What points are counted by how full hosts are of."""
        self._excluded: set[int] = set()
        """Hosts that were too dear for some want by the devices that it would have taken."""
        self._everybody = _NOBODY
        """The rows of all hosts."""
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
        most = self._fleet.cluster.most.tolist()
        if most != self._most:
            # All are less full by that.
            self._most = most
            self._room.add(range(len(self._fleet.cluster)))

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
        bounds = self._bounds_for(row, stale)
        placed, stopped = self._policy.fill(
            row.wish.now(self._fleet.cluster), stale, row.lane, self._beside(row), chosen, on, bounds
        )
        hosts: list[int] = chosen[:placed].tolist()
        if want.shape.account:
            self._fleet.cluster.share_all(chosen[:placed], on[:placed], want.shape.account)
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

    def room(self, want: Want) -> AnyInts:
        """[host]: -1 where the pod cannot go, else 0."""
        return (self._roughly(want).lane.points < np.inf).astype(np.int32) - 1

    def devices_on(self, want: Want, host: int) -> int:
        """The devices that the pod would take on one host, as bits; -1 where it cannot go."""
        row = self._roughly(want)
        points, devices, _ = row.lane
        if row.bounded and devices[host] == unknown(row.wish.shape.gpus):
            self._score(row, np.array([host]))
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
        return bool(self._roughly(want).sure[self._fleet.facts.offer[host]])

    def afford(self, want: Want, host: int) -> None:
        """It was found so, there and so on all hosts with the same devices that ask the same."""
        self._roughly(want).sure[self._fleet.facts.offer[host]] = True

    def exclude(self, want: Want, host: int) -> None:
        """No pod of this want can go there, as an exact rule has found; until the host changes."""
        lane = self._roughly(want).lane
        lane.points[host] = np.inf
        self._excluded.add(host)
        renew(lane, np.array([host]))

    def _row(self, want: Want) -> _Row:
        row, stale = self._judged(want)
        if row.bounded:
            points, devices, _ = row.lane
            low = np.flatnonzero((devices == unknown(row.wish.shape.gpus)) & (points < np.inf))
            row.bounded, stale = False, np.union1d(stale, low)
        if len(stale):
            self._score(row, stale)
            row.room_seen = self._room.end()
        return row

    def _roughly(self, want: Want) -> _Row:
        """The same, but where it is to be scored anew, a host may have points that are too low."""
        row, stale = self._judged(want)
        if len(stale):
            bounds = self._bounds_for(row, stale)
            self._policy.fill(
                row.wish.now(self._fleet.cluster), stale, row.lane, self._beside(row), _NOBODY, _NOBODY, bounds
            )
            row.room_seen = self._room.end()
            if len(bounds) and row.wish.shape.account:
                # Nothing is known of those before they are scored.
                self._score(row, np.flatnonzero(row.lane.points < LEAST / 2))
        return row

    def _score(self, row: _Row, hosts: Ints) -> None:
        self._policy.fill(row.wish.now(self._fleet.cluster), hosts, row.lane, self._beside(row), _NOBODY, _NOBODY)

    def _bounds_for(self, row: _Row, stale: Ints) -> AnyFloats:
        """The bounds that these hosts are to have until they are scored; none where they are few."""
        if len(stale) <= FEW:
            return _NO_BOUNDS
        of, hosts = row.bounds, len(self._fleet.cluster)
        if len(of.lane.points) < hosts:
            of.lane = longer(of.lane, hosts)
        if of.room_seen != self._room.end():
            wish = of.wish.now(self._fleet.cluster)
            self._policy.bound(wish, self._room.since_for(of.room_seen, of.lane.points), of.lane)
            of.room_seen = self._room.end()
        row.bounded = True
        own = self._fleet.cluster.with_shares_of(row.wish.shape.account) if row.wish.shape.account else _NOBODY
        if not len(own):
            return of.lane.points
        points = of.lane.points.copy()
        points[own] = LEAST
        return points

    def _judged(self, want: Want) -> tuple[_Row, Ints]:
        """The row, and the hosts that are to be scored anew in it."""
        row = self._rows.get(want)
        if row is None:
            row = self._rows[want] = _Row(_Wish(want.shape), self._against_of(want), self._bounds_of(want.shape))
            if len(self._rows) > min(MOST_ROWS, max(ROWS, MOST_POINTS // (1 + len(self._fleet.cluster)))):
                self._rows.popitem(last=False)
        self._rows.move_to_end(want)
        self._judge(want, row)
        hosts = len(self._fleet.cluster)
        if len(row) < hosts:
            row.lane = longer(row.lane, hosts)
        if row.room_seen == self._room.end():
            return row, _NOBODY
        if not row.room_seen:
            if len(self._everybody) != hosts:
                self._everybody = np.arange(hosts)
            return row, self._everybody
        return row, self._room.since_for(row.room_seen, row.lane.points)

    def _judge(self, want: Want, row: _Row) -> None:
        """What does not depend on room."""
        fleet, against = self._fleet, row.against
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
        who = want.placement, want.takes_over, want.refused_by, want.manifest
        found = self._against.get(who)
        if found is None:
            found = self._against[who] = _Against()
        return found

    def _bounds_of(self, shape: Shape) -> _Bounds:
        account = NOBODY if shape.account else ""
        of = replace(shape, cpu_milli=0, memory_mib=0, disk_gib=0, account=account)
        found = self._bounds.get(of)
        if found is None:
            found = self._bounds[of] = _Bounds(_Wish(of))
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
