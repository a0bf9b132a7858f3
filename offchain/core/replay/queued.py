"""The product's own order: queues, shares and priorities, as the scheduler worker has them."""

from __future__ import annotations

from collections.abc import Container

from offchain.core.placing.cluster import Cluster
from offchain.core.replay.arrival import Arrival, Kind
from offchain.core.scheduler.fair_share import FairShareQueue, QueuedTask
from offchain.core.scheduler.queue_definitions import QueueTree, queue_tree
from offchain.core.scheduler.resources import ResourceAmount, ResourceUsage


class Queued:
    """:class:`Turn` over the tasks of a trace. Made when nothing runs on the cluster.

    `by_length`: where one does not fit, others that ask for the same may, if they run for much less: with a backfill.
    """

    def __init__(self, cluster: Cluster, queues: QueueTree | None = None, *, by_length: bool = False) -> None:
        whole = cluster.whole
        totals = ResourceAmount(int(whole.cpu.sum()), int(whole.memory.sum()), int(whole.device.sum()))
        self._turn = FairShareQueue(queues or queue_tree(), totals)
        self._by_length = by_length
        self._kinds: dict[Kind, int] = {}
        self._waiting: dict[int, Arrival] = {}

    def add(self, arrival: Arrival) -> None:
        """See :class:`Order`, here and below."""
        kind = arrival.kind(by_length=self._by_length)
        claim = QueuedTask(
            id=arrival.number,
            queue=arrival.queue,
            account=arrival.account,
            class_id=self._kinds.setdefault(kind, len(self._kinds)),
            amount=_amount(arrival),
            priority=arrival.priority,
            submitted_at=arrival.arrival_ms,
        )
        self._waiting[arrival.number] = arrival
        self._turn.add(claim)

    def begin(self, now_ms: int, away: Container[Kind] = ()) -> None:
        """All may be next again but those that are away."""
        self._turn.begin_cycle(now_ms, skipped_classes=[number for kind, number in self._kinds.items() if kind in away])

    def next(self) -> Arrival | None:
        """Of the queue with the least share, the task with the highest effective priority."""
        number = self._turn.next()
        return None if number is None else self._waiting[number]

    def placed(self, arrival: Arrival) -> None:
        """It counts from now on."""
        del self._waiting[arrival.number]
        self._turn.commit(arrival.number)

    def blocked(self, arrival: Arrival) -> None:
        """Its kind is passed over in this round."""
        self._turn.mark_unschedulable(arrival.number)

    def dropped(self, arrival: Arrival) -> None:
        """It leaves the queue."""
        del self._waiting[arrival.number]
        self._turn.remove(arrival.number)

    def may(self, arrival: Arrival) -> bool:
        """Whether no queue and no account holds too much for it."""
        return self._turn.quota_exceeded(arrival.number) is None

    def called(self, arrival: Arrival) -> None:
        """It counts from now on."""
        self.placed(arrival)

    def ended(self, arrival: Arrival) -> None:
        """It counts no longer."""
        self._turn.release(ResourceUsage(arrival.queue, arrival.account, _amount(arrival)))


def _amount(arrival: Arrival) -> ResourceAmount:
    shape = arrival.shape
    return ResourceAmount(shape.cpu_milli, shape.memory_mib, shape.total_milli).times(arrival.pods)
