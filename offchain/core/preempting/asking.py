"""Whom a blocked task asks to leave: the chain's records, made into what the choice of victims looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from offchain.core.preempting.rules import HOUR, Past, Preemption, Rules, Running, Wanting, amount_of
from offchain.core.preempting.victims import Refused, preempt
from offchain.core.preempting.who import by_shares
from offchain.core.queues.rights import Rights
from offchain.core.scheduler.cluster import Cluster, HostSlot
from offchain.core.scheduler.columns import Bools, device_bits
from offchain.core.scheduler.cycle_filters import excluded_by_pods, spread_groups
from offchain.core.scheduler.filters import permitted
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.values import Task

MOST_VICTIMS = 16
"""So many one call tells."""


@dataclass(frozen=True, slots=True)
class Queues:
    """What the queues say of who may have whom leave: the `rights`, and which part of theirs a task belongs to."""

    rights: Rights
    part_of: Callable[[Task], int]

    def why(self, task: Task, refused: Refused) -> str:
        """Why nobody leaves for a task, for people."""
        if refused is not Refused.SHARES:
            return str(refused.value)
        return by_shares(self.rights, self.part_of(task), amount_of(PodRequest.of(task).shape, task.least))

    def on_their_way(self, leaving: Iterable[Task], coming: Iterable[Task]) -> None:
        """Count what these are about to leave as not held, and what is kept for those as held."""
        for task in leaving:
            self.rights.goes(self.part_of(task), amount_of(PodRequest.of(task).shape, len(task.leases)))
        for task in coming:
            self.rights.comes(self.part_of(task), amount_of(PodRequest.of(task).shape, task.least))


def victims(
    task: Task, spot: Iterable[Task], fleet: HostTable, now_ms: int, past: Past, kept: Bools | None, queues: Queues
) -> Preemption | Refused:
    """The cheapest of `spot` whose end makes room for `task`, on hosts where it may go and nothing is `kept`.

    Only as the `queues` let it.
    """
    want = PodRequest.of(task)
    closed = ~permitted(want, fleet.attributes)
    # What victims have of the disk is not looked at: where it does not do without, nobody is sent away for nothing.
    closed |= fleet.cluster.free.disk < want.shape.disk_gib
    closed |= excluded_by_pods(want, fleet)
    if kept is not None:
        closed |= kept
    wanting = Wanting(task.id, task.tenant, task.priority, want.shape, task.least, task.max_duration_ms)
    seen = (_running(victim, fleet.cluster, queues.part_of(victim)) for victim in spot)
    running = [one for one in seen if one is not None]
    lie = spread_groups(want.layout, fleet.attributes)
    takings = queues.rights.taking(queues.part_of(task), wanting.amount)
    found = preempt(wanting, running, fleet.cluster, now_ms, Rules(), past, takings, closed, lie)
    if isinstance(found, Preemption) and len(found.victims) > MOST_VICTIMS:
        return Refused.NOBODY
    return found


def _running(task: Task, cluster: Cluster, part: int) -> Running | None:
    """None where one of its hosts is no more."""
    if not all(lease.host in cluster for lease in task.leases):
        return None
    places = tuple(HostSlot(cluster.row(lease.host), device_bits(lease.devices)) for lease in task.leases)
    rate_per_hour = sum(lease.escrow.rate_per_hour for lease in task.leases)
    return Running(
        task=task.id,
        part=part,
        priority=task.priority,
        spot=task.spot,
        shape=PodRequest.of(task).shape,
        places=places,
        rate_per_ms=rate_per_hour // HOUR,
        started_ms=task.changed_at,
    )
