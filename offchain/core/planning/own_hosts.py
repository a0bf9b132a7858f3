"""The hosts of the scheduler's own account, which take no pod where another host is as good and clearly cheaper."""

from __future__ import annotations

import numpy as np

from offchain.core.fit import Fit, fit
from offchain.core.fleet.facts import Facts
from offchain.core.fleet.filters.price import least_rates, most_rates
from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.offers import ALL
from offchain.core.fleet.rules import allowed
from offchain.core.fleet.want import Want
from offchain.core.placing.free import AnyInts, Bools
from offchain.core.values import Task

_SAVING = 0.1
"""The chain takes a part of the bond of a scheduler that places a pod on a host of its own where another host costs
less by this part of the rate (`report_self_assignment`)."""

_NOWHERE = float("inf")


class OwnHosts:
    """A gate, made anew for a round.

    It closes more than the chain's rule asks for. Scores are not compared, and rates are bounds over all devices of a
    host. A host counts while it has room by its record: an assignment that is on its way there may be refused.
    """

    def __init__(self, fleet: Fleet, account: str) -> None:
        self._fleet = fleet
        self._account = account
        self._own = own_hosts(fleet.facts, account)
        self._cheapest: dict[Want, float] = {}

    def closed(self, task: Task, want: Want, devices: AnyInts) -> Bools | None:
        """[host]: whether it is an own one and a host with room costs at least a tenth less."""
        if len(task.open_pods) != 1 or task.tenant == self._account or want.takes_over is not None:
            return None
        facts = self._fleet.facts
        takes = self._own & (devices >= 0)
        if not takes.any():
            return None
        most = most_rates(want, facts.offers, ALL)[facts.offer]
        if want not in self._cheapest:
            limit = float(most[self._own].max()) * (1 - _SAVING)
            self._cheapest[want] = self._cheapest_of(task, want, limit)
        cheapest = self._cheapest[want]
        closed: Bools = takes & (cheapest < most) & (cheapest <= most * (1 - _SAVING))
        return closed if closed.any() else None

    def taken(self, task: Task, want: Want, host: int, devices: int) -> None:
        """Nothing changes."""

    def given(self, task: Task, want: Want, host: int, devices: int) -> None:
        """Nothing changes."""

    def _cheapest_of(self, task: Task, want: Want, limit: float) -> float:
        """A lower bound of the rate at the cheapest host with room by its record; infinite where none is in `limit`."""
        fleet = self._fleet
        rows = np.flatnonzero(allowed(want, fleet.facts))
        least = least_rates(want, fleet.facts.offers, ALL)[fleet.facts.offer][rows]
        for place in np.argsort(least, kind="stable").tolist():
            if least[place] > limit:
                break
            host = fleet.records.get(fleet.cluster.names[rows[place]])
            if host is None:
                continue
            found = fit(host, want.resources, want.placement, want.unit, want.max_rate_per_hour, task.tenant)
            if isinstance(found, Fit):
                return float(least[place])
        return _NOWHERE


def own_hosts(facts: Facts, account: str) -> Bools:
    """[host]: whether the account is its provider."""
    return facts.providers.among({account}, facts.provider)
