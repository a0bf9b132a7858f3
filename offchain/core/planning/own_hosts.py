"""The hosts of the scheduler's own account, which take no pod where another host is as good and clearly cheaper."""

from __future__ import annotations

import numpy as np

from offchain.core.fleet.facts import Facts
from offchain.core.fleet.filters.price import least_rates, most_rates
from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.offers import ALL
from offchain.core.fleet.rules import allowed
from offchain.core.fleet.want import Want
from offchain.core.placing.devices import Wish
from offchain.core.placing.free import AnyInts, Bools, Ints
from offchain.core.placing.shapes import Shape
from offchain.core.timing.loops import counts
from offchain.core.values import Task

_SAVING = 0.1
"""The chain takes a part of the bond of a scheduler that places a pod on a host of its own where another host costs
less by this part of the rate (`report_self_assignment`)."""


class OwnHosts:
    """A gate, made anew for a round.

    It closes more than the chain's rule asks for: scores are not compared, and rates are bounds over all devices of a
    host.
    """

    def __init__(self, fleet: Fleet, account: str) -> None:
        self._fleet = fleet
        self._account = account
        self._own = own_hosts(fleet.facts, account)

    def closed(self, task: Task, want: Want, devices: AnyInts) -> Bools | None:
        """[host]: whether it is an own one and a host with room costs at least a tenth less."""
        if len(task.open_pods) != 1 or task.tenant == self._account or want.takes_over is not None:
            return None
        facts = self._fleet.facts
        takes = allowed(want, facts) & _has_room(self._fleet, want.shape)
        if not takes.any():
            return None
        cheapest = float(least_rates(want, facts.offers, ALL)[facts.offer][takes].min())
        most = most_rates(want, facts.offers, ALL)[facts.offer]
        closed: Bools = self._own & (devices >= 0) & (cheapest < most) & (cheapest <= most * (1 - _SAVING))
        return closed if closed.any() else None

    def taken(self, task: Task, want: Want, host: int, devices: int) -> None:
        """Nothing changes."""

    def given(self, task: Task, want: Want, host: int, devices: int) -> None:
        """Nothing changes."""


def own_hosts(facts: Facts, account: str) -> Bools:
    """[host]: whether the account is its provider."""
    return facts.providers.among({account}, facts.provider)


def _has_room(fleet: Fleet, shape: Shape) -> Bools:
    """[host]: whether a pod fits by what is free, in other schedulers' parts, too."""
    free = fleet.cluster.free
    pods: Ints = np.zeros(len(free.cpu), dtype=np.int64)
    counts(free, Wish.of(shape, fleet.cluster), 1, pods)
    found: Bools = (pods > 0) & (free.disk >= shape.disk_gib)
    return found
