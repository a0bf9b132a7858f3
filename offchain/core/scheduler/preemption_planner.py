"""Preemption for one waiting task, by the chain's records and the scheduler state: who may leave, and where not.

The worker and the forecast of a task's start use it. Reserved hosts follow from the records, so that all schedulers
reserve the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from offchain.core.scheduler.entitlements import is_preemptible
from offchain.core.scheduler.preemption import (
    GRACE_MS,
    PreemptionDecision,
    PreemptionHistory,
    PreemptionPolicy,
    PreemptionRefused,
    QueueEntitlements,
    ReservedHosts,
    ReservedHostsFilter,
    ReservedHostsTracker,
    choose_victims,
)
from offchain.core.scheduler.reservation_filter import max_hold_ms
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import Task, TaskState


class PreemptionPlanner:
    """Pass it every record of a task that the scheduler state receives."""

    def __init__(self, state: SchedulerState) -> None:
        self._state = state
        self.spot: dict[int, Task] = {}
        """Tasks that may be preempted."""
        self.pending: dict[int, frozenset[int]] = {}
        """[task]: its victims, until the chain has executed or refused the call."""
        self.history = PreemptionHistory()
        self.reserved_hosts = ReservedHostsTracker()
        self._preempted: dict[int, Task] = {}
        """Preempted tasks that still run."""

    def put_task(self, task: Task) -> None:
        """Update from a record of a task that is not final."""
        self.reserved_hosts.put_task(task)
        if is_preemptible(task):
            self.spot[task.id] = task
        else:
            self.spot.pop(task.id, None)
        if task.state is TaskState.RUNNING and task.preemption is not None:
            self._preempted[task.id] = task
        else:
            self._preempted.pop(task.id, None)

    def task_gone(self, number: int) -> None:
        """Remove a task that is final."""
        self.reserved_hosts.task_gone(number)
        self.spot.pop(number, None)
        self._preempted.pop(number, None)
        self.history = self.history.ended(number)

    def host_filters(self, now_ms: int) -> tuple[ReservedHostsFilter, ...]:
        """Return the filter of reserved hosts for a cycle that starts now; none if no host is reserved."""
        kept = self.reserved_hosts.reserved(now_ms)
        self._state.keep_rooms(kept)
        return (ReservedHostsFilter(kept, self._state.planner.hosts.cluster),) if kept else ()

    def choose(self, task: Task, now_ms: int, queues: QueueEntitlements) -> PreemptionDecision | PreemptionRefused:
        """Return whom to preempt for an unschedulable task. `queues`: the result of :meth:`entitlements`."""
        fleet = self._state.planner.hosts
        pending = frozenset[int]().union(*self.pending.values())
        spot = [one for one in self.spot.values() if one.id not in pending]
        reserved = self.reserved_hosts.reserved(now_ms)
        host_filter = ReservedHostsFilter({**reserved, **self._binding_reservations(task, now_ms)}, fleet.cluster)
        return choose_victims(task, spot, fleet, now_ms, self.history, host_filter.excluded_for(task.id), queues)

    def entitlements(self, now_ms: int) -> QueueEntitlements:
        """Return the entitlements as if all announced and pending preemptions had been carried out."""
        pending = {number for numbers in self.pending.values() for number in numbers}
        leaving = *self._preempted.values(), *(self.spot[number] for number in pending & self.spot.keys())
        found = self._state.queues()
        found.apply_pending(leaving, self._waiting_preemptors(now_ms))
        return found

    def _waiting_preemptors(self, now_ms: int) -> Iterable[Task]:
        for number in {*self.reserved_hosts.reserved(now_ms), *self.pending}:
            task = self._state.task(number) if number in self._state.waiting else None
            if task is not None:
                yield task

    def _binding_reservations(self, task: Task, now_ms: int) -> dict[int, ReservedHosts]:
        """Return the hosts with reservations that bind `task` and start before its end, by the reservation's task.

        Preempting there would be useless, because the reservation excludes the task.
        """
        names = self._state.planner.hosts.cluster.names
        over_ms = now_ms + PreemptionPolicy().notice_ms + GRACE_MS + max_hold_ms(task)
        return {
            number: ReservedHosts(frozenset(names[place.host] for place in found.places), 0)
            for number, found in self._state.reservations_binding_on(task, now_ms).items()
            if found.start_ms < over_ms
        }
