"""Which hosts have changed since when: each one's last change, and the changes one by one as far back as they are kept.

Who was away for a while looks only at what has changed since.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from offchain.core.placing.columns import as_long
from offchain.core.placing.compiled import compiled
from offchain.core.placing.free import Ints

Floats = npt.NDArray[np.floating[Any]]

_FEW: Final = 16
_KEPT: Final = 1 << 15
"""So many changes are kept one by one."""

_IN_ORDER: Final = 8
"""To go through all hosts in their order takes as long as to look at so many times fewer here and there."""


class _Log(NamedTuple):
    """Changes are numbered from 1 on."""

    last: Ints
    """[host]: the number of its last change."""
    gained: Ints
    """[host]: the number of the last after which more may go there."""
    hosts: Ints
    """[number modulo its length]: whose change it was."""


class Changes:
    """Of hosts, by their rows."""

    def __init__(self) -> None:
        self._end = 0
        self._log = _Log(np.zeros(_FEW, np.int64), np.zeros(_FEW, np.int64), np.zeros(_KEPT, np.int64))
        self._new: list[int] = []
        """Not entered yet; more may go to each of them."""

    def end(self) -> int:
        """How many there were."""
        self._take_in()
        return self._end

    def add(self, hosts: Iterable[int]) -> None:
        """These have changed, and more may go there than before."""
        self._new.extend(hosts)

    def took(self, hosts: Ints) -> None:
        """Less can go to these than before."""
        self._take_in()
        self._enter(hosts, gains=False)

    def since(self, seen: int, hosts: int) -> Ints:
        """Of the first so many hosts those that have changed after the change with this number."""
        self._take_in()
        found: Ints = np.flatnonzero(self._log.last[:hosts] > seen)
        return found

    def since_for(self, seen: int, points: Floats) -> Ints:
        """Of these, those that may have other points now: what had no room has none while it only gets less.

        `points`: [host], infinite: no room.
        """
        self._take_in()
        found: Ints = _since(self._log, self._end, seen, points)
        return found

    def _take_in(self) -> None:
        if self._new:
            rows, self._new = np.array(self._new, dtype=np.int64), []
            self._enter(rows, gains=True)

    def _enter(self, hosts: Ints, *, gains: bool) -> None:
        if len(hosts):
            most, (last, gained, kept) = 1 + int(hosts.max()), self._log
            if most > len(last):
                self._log = _Log(as_long(last, 2 * most), as_long(gained, 2 * most), kept)
            _enter(self._log, self._end, hosts, gains)
            self._end += len(hosts)


@compiled
def _enter(log: _Log, end: int, hosts: Ints, gains: bool) -> None:  # noqa: FBT001 - compiled loops have no keywords
    """Give them numbers after `end`."""
    last, gained, kept = log
    for host in hosts:
        end += 1
        last[host] = end
        if gains:
            gained[host] = end
        kept[end % len(kept)] = host


@compiled
def _since(log: _Log, end: int, seen: int, points: Floats) -> Ints:
    """See :meth:`Changes.since_for`. Each once."""
    last, gained, kept = log
    each, count = end - seen <= min(len(kept), len(points) // _IN_ORDER), 0
    found = np.empty(end - seen if each else len(points), dtype=np.int64)
    if each:
        for number in range(seen + 1, end + 1):
            host = kept[number % len(kept)]
            if last[host] == number and (points[host] < np.inf or gained[host] > seen):
                found[count] = host
                count += 1
    else:
        # Without a question, which processors guess wrong half of the time.
        for host in range(min(len(points), len(last))):
            found[count] = host
            count += (last[host] > seen) & ((points[host] < np.inf) | (gained[host] > seen))
    return found[:count]
