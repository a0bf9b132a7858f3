"""Whom a blocked task asks to leave: the chain's records, made into what the choice of victims looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.layouts import apart, closed_beside
from offchain.core.fleet.rules import allowed
from offchain.core.fleet.want import Want
from offchain.core.placing.board import Place
from offchain.core.placing.cluster import Cluster
from offchain.core.placing.free import Bools, bits
from offchain.core.preempting.rules import HOUR, Past, Preemption, Rules, Running, Wanting, amount_of
from offchain.core.preempting.victims import Refused, preempt
from offchain.core.scheduler.entitlements import Entitlements, shares_reason
from offchain.core.values import Task

MOST_VICTIMS = 16
"""So many one call tells."""


@dataclass(frozen=True, slots=True)
class Queues:
    """What the queues say of who may have whom leave: the `rights`, and which part of theirs a task belongs to."""

    rights: Entitlements
    part_of: Callable[[Task], int]

    def why(self, task: Task, refused: Refused) -> str:
        """Why nobody leaves for a task, for people."""
        if refused is not Refused.SHARES:
            return str(refused.value)
        return shares_reason(self.rights, self.part_of(task), amount_of(Want.of(task).shape, task.least))

    def on_their_way(self, leaving: Iterable[Task], coming: Iterable[Task]) -> None:
        """Count what these are about to leave as not held, and what is kept for those as held."""
        for task in leaving:
            self.rights.remove_usage(self.part_of(task), amount_of(Want.of(task).shape, len(task.leases)))
        for task in coming:
            self.rights.add_usage(self.part_of(task), amount_of(Want.of(task).shape, task.least))


def victims(
    task: Task, spot: Iterable[Task], fleet: Fleet, now_ms: int, past: Past, kept: Bools | None, queues: Queues
) -> Preemption | Refused:
    """The cheapest of `spot` whose end makes room for `task`, on hosts where it may go and nothing is `kept`.

    Only as the `queues` let it.
    """
    want = Want.of(task)
    closed = ~allowed(want, fleet.facts)
    # What victims have of the disk is not looked at: where it does not do without, nobody is sent away for nothing.
    closed |= fleet.cluster.free.disk < want.shape.disk_gib
    closed |= closed_beside(want, fleet)
    if kept is not None:
        closed |= kept
    wanting = Wanting(task.id, task.tenant, task.priority, want.shape, task.least, task.max_duration_ms)
    seen = (_running(victim, fleet.cluster, queues.part_of(victim)) for victim in spot)
    running = [one for one in seen if one is not None]
    lie = apart(want.layout, fleet.facts)
    takings = queues.rights.reclaim_policies(queues.part_of(task), wanting.amount)
    found = preempt(wanting, running, fleet.cluster, now_ms, Rules(), past, takings, closed, lie)
    if isinstance(found, Preemption) and len(found.victims) > MOST_VICTIMS:
        return Refused.NOBODY
    return found


def _running(task: Task, cluster: Cluster, part: int) -> Running | None:
    """None where one of its hosts is no more."""
    if not all(lease.host in cluster for lease in task.leases):
        return None
    places = tuple(Place(cluster.number(lease.host), bits(lease.devices)) for lease in task.leases)
    rate_per_hour = sum(lease.escrow.rate_per_hour for lease in task.leases)
    return Running(
        task=task.id,
        part=part,
        priority=task.priority,
        spot=task.spot,
        shape=Want.of(task).shape,
        places=places,
        rate_per_ms=rate_per_hour // HOUR,
        started_ms=task.changed_at,
    )
