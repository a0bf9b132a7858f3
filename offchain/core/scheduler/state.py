"""The scheduler's state machine: `SchedulerState.handle(event, now_ms) -> commands`. It reads no clock and does no IO.

Events and commands are in `events.py`. Equal events in equal order with an equal seed give equal commands. The state is
mutable, because copies of a hundred thousand tasks would take longer than placing them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final

from offchain.backoff import Backoff
from offchain.core.scheduler import events as ev
from offchain.core.scheduler.config import ReservationWindow
from offchain.core.scheduler.cycle import SchedulingCycle
from offchain.core.scheduler.explain import DecisionLog
from offchain.core.scheduler.fair_share import FairShareQueue, WaitingCounts
from offchain.core.scheduler.host_health import FailureHistory
from offchain.core.scheduler.host_observations import NO_ROOM_ERRORS, HostObservation, ObservationKind
from offchain.core.scheduler.migration import MigrationPlanner, RiskMonitor
from offchain.core.scheduler.partition import WorkPartition
from offchain.core.scheduler.placement import Planner
from offchain.core.scheduler.plan import UnschedulableTask
from offchain.core.scheduler.pod_request import NO_RESOURCES, shape_of, sharing_account
from offchain.core.scheduler.preemption_planner import PreemptionPlanner
from offchain.core.scheduler.queue_definitions import EQUAL_SHARES, QueueTree
from offchain.core.scheduler.queue_usage import QuotaExceeded
from offchain.core.scheduler.reservation_manager import ReservationManager
from offchain.core.scheduler.reservations import Reservation
from offchain.core.scheduler.scores import ScoreWeights
from offchain.core.scheduler.task_registry import TaskRegistry
from offchain.core.values import Layout, Task
from offchain.schema.protocol.decisions import SchedulingStatus

_APART: Final = {Layout.HOSTS: "on different hosts", Layout.PROVIDERS: "on hosts of different providers"}


class SchedulerState:
    """`queues`: their definitions; by default all accounts have equal shares. `account`: the scheduler's own.

    `windows`: times for which hosts are reserved for some accounts. `seed` decides between equal hosts.
    `records_decisions`: whether :attr:`decisions` records placed tasks, for people who ask why.
    """

    def __init__(
        self,
        seed: bytes,
        queues: QueueTree = EQUAL_SHARES,
        weights: ScoreWeights | None = None,
        account: str = "",
        windows: Sequence[ReservationWindow] = (),
        *,
        records_decisions: bool = True,
    ) -> None:
        self.planner = Planner(seed, weights)
        self._memory = FailureHistory()
        self._partition = WorkPartition(account)
        self._reservations = ReservationManager(self.planner, queues, windows)
        self._queue = FairShareQueue(queues, NO_RESOURCES)
        self._registry = TaskRegistry(self.planner, self._reservations, self._queue, self._memory)
        self.preemption = PreemptionPlanner(self.planner.hosts, self._registry, self._queue, self._reservations)
        self._migration = MigrationPlanner(self.planner, self._registry, self._partition)
        self._risks = RiskMonitor(self.planner.hosts.records, self._registry.tasks, self._memory)
        self._cycle = SchedulingCycle(
            account,
            self.planner,
            self._registry,
            self._queue,
            self._reservations,
            self._memory,
            self._migration,
            self._partition,
            records_decisions=records_decisions,
        )
        self._submitted: dict[int, int] = {}
        """[task]: its generation for which a placement is on its way to the chain."""
        self._refusals: Backoff[int] = Backoff()
        self._waiting_reasons: dict[int, tuple[int, str]] = {}
        """[task]: when its reason for waiting was computed last, and the reason."""
        self._reported_starts: dict[int, int] = {}
        """[task]: the reserved start that was reported last."""

    def handle(self, event: ev.Event, now_ms: int) -> Sequence[ev.Command]:
        """Update the state by the event, and return what to do. Only `CycleDue` leads to commands."""
        if isinstance(event, ev.CycleDue):
            return self._run_cycle(event, now_ms)
        self._HANDLERS[type(event)](self, event, now_ms)
        return ()

    def next_ms(self, now_ms: int) -> int | None:
        """Return when a cycle is due although no record changes; None: not before the next change."""
        more = (
            self._cycle.next_ms(now_ms),
            self._reservations.next_ms(now_ms),
            self.preemption.next_ms(now_ms),
            self._migration.next_ms(now_ms),
        )
        moments = [*self._registry.not_before.values(), *(moment for moment in more if moment is not None)]
        return min(moments, default=None)

    def standing(self, number: int, now_ms: int) -> SchedulingStatus:
        """Return the current state of a task."""
        queued = number in self._queue
        delayed_until = self._registry.not_before.get(number)
        refused_victims = self.preemption.why(number)
        if not queued and delayed_until is None:
            return SchedulingStatus(
                "placed" if self.planner.holds(number) else "unknown", nobody_leaves=refused_victims
            )
        limit = self.limit(number)
        classes = self._registry.classes
        theirs = queued and not self._partition.is_mine(classes.class_key(self._registry.class_of(number)), now_ms)
        reservation = self.reserved.get(number)
        return SchedulingStatus(
            "waits",
            None if limit is None else str(limit),
            delayed_until,
            theirs,
            None if reservation is None else reservation.start_ms,
            nobody_leaves=refused_victims,
        )

    def last_unschedulable(self, number: int) -> int | None:
        """Return the last task with an equal request that could not be placed."""
        if number not in self._queue:
            return None
        return self._registry.classes.last_unschedulable(self._registry.class_of(number))

    def limit(self, number: int) -> QuotaExceeded | None:
        """Return the limit of a queue or an account that keeps a task waiting."""
        return self._queue.quota_exceeded(number) if number in self._queue else None

    def task(self, number: int) -> Task | None:
        """Return the record of a task."""
        return self._registry.tasks.get(number)

    @property
    def waiting(self) -> Collection[int]:
        """The tasks in the queues."""
        return self._queue

    def waiting_counts(self) -> WaitingCounts:
        """Return how many tasks wait, by queue."""
        return self._queue.waiting_counts()

    @property
    def reserved(self) -> Mapping[int, Reservation]:
        """[task]: its reservation."""
        return self._reservations.reservations

    @property
    def decisions(self) -> DecisionLog:
        """The decisions of the last cycle."""
        return self._cycle.decisions

    def _on_hosts_changed(self, event: ev.HostsChanged, _now_ms: int) -> None:
        if not event.hosts:
            return
        new = [host.id for host in event.hosts if host.id not in self.planner.hosts.records]
        if new:
            self.planner.vacate_rows(self._reservations.refers_to)
            self._memory.report_again(new)
        self._cycle.on_hosts_changed(self.planner.update_hosts(event.hosts))
        for host in event.hosts:
            self._migration.watch.host_changed(host.id)
            self._risks.changed.add(host.id)

    def _on_hosts_removed(self, event: ev.HostsRemoved, _now_ms: int) -> None:
        if not event.hosts:
            return
        self._cycle.invalidate()
        self.planner.remove_hosts(event.hosts)
        for name in event.hosts:
            self._migration.watch.host_changed(name)
            self._risks.changed.add(name)

    def _on_hosts_observed(self, event: ev.HostsObserved, _now_ms: int) -> None:
        for one in event.observations:
            self._observe(one)

    def _observe(self, observation: HostObservation) -> None:
        self._cycle.invalidate()
        self._memory.observe(observation)
        self._risks.changed.add(observation.host)

    def _on_tasks_changed(self, event: ev.TasksChanged, _now_ms: int) -> None:
        for task in event.tasks:
            for lease in task.leases:
                if lease.assigned_by is not None:
                    self._partition.note_assignment(lease.assigned_by, lease.created_at)
            self.preemption.put_task(task)
            if not task.open_pods and task.id not in self._submitted:
                self._refusals.succeeded(task.id)
        self._registry.put_tasks(event.tasks)
        for task in event.tasks:
            self._migration.put_task(task)

    def _on_tasks_removed(self, event: ev.TasksRemoved, _now_ms: int) -> None:
        for number in event.tasks:
            self.preemption.task_gone(number)
            self._migration.watch.task_gone(number)
            self._waiting_reasons.pop(number, None)
            if number not in self._submitted:
                self._refusals.succeeded(number)
        self._registry.remove_tasks(event.tasks)

    def _on_tasks_finalized(self, event: ev.TasksFinalized, _now_ms: int) -> None:
        """Release placements that finalized records have superseded."""
        for number in event.tasks.keys() & self._submitted.keys():
            task = event.tasks[number]
            if (
                task is None
                or task.generation != self._submitted[number]
                or not self.planner.placed_pods(number) <= set(task.open_pods)
            ):
                del self._submitted[number]
                self._registry.release(number)
                if number not in self._registry.tasks:
                    self._refusals.succeeded(number)

    def _on_schedulers_changed(self, event: ev.SchedulersChanged, _now_ms: int) -> None:
        self._cycle.set_schedulers(event.accounts, event.seed)

    def _on_limits_changed(self, event: ev.LimitsChanged, _now_ms: int) -> None:
        self._migration.watch.limits = event.limits

    def _on_assignment_submitted(self, event: ev.AssignmentSubmitted, _now_ms: int) -> None:
        self._submitted[event.task] = event.generation

    def _on_assignment_overtaken(self, event: ev.AssignmentOvertaken, _now_ms: int) -> None:
        self._registry.release(event.task)

    def _on_assignment_refused(self, event: ev.AssignmentRefused, now_ms: int) -> None:
        task = event.task
        if self._submitted.pop(task.id, None) is not None:
            self._registry.release(task.id)
        self._registry.delay(task.id, self._refusals.refused(task.id, now_ms))
        if task.id not in self._registry.tasks:
            self._refusals.succeeded(task.id)
        # The host has less free than its record says, unless another scheduler may have been faster.
        no_room = event.error is not None and event.error[0] == "Hosts" and event.error[1] in NO_ROOM_ERRORS
        if no_room and self._partition.is_alone and len(event.hosts) == 1:
            (host,) = event.hosts
            shape = shape_of(task.resources, task.placement, account=sharing_account(task))
            self._observe(HostObservation(host, ObservationKind.NO_ROOM, now_ms, shape, task.manifest))

    def _on_preemption_finished(self, event: ev.PreemptionFinished, _now_ms: int) -> None:
        self.preemption.finished(event.task, accepted=event.accepted)

    def _on_move_finished(self, event: ev.MoveFinished, _now_ms: int) -> None:
        self._migration.move_finished(event.task, event.lease)

    def _on_standby_finished(self, event: ev.StandbyFinished, _now_ms: int) -> None:
        self._migration.naming_finished(event.lease)

    def _run_cycle(self, event: ev.CycleDue, now_ms: int) -> Sequence[ev.Command]:
        commands: list[ev.Command] = [*self._risks.report(now_ms)]
        kept = self.preemption.reserved(now_ms)
        if kept or self._registry.reserved_hosts:
            self._cycle.invalidate()
            self._registry.set_reserved_hosts(kept)
        plan, migration = self._cycle.run(now_ms)
        commands += migration.moves
        commands += migration.standbys
        preemption = self.preemption.plan(plan, now_ms) if event.preempt else None
        if preemption is not None:
            commands.append(preemption)
        if migration.unconfirmed:
            commands.append(ev.ReadHeartbeats(migration.unconfirmed))
        for number in plan.placements if self._waiting_reasons else ():
            self._waiting_reasons.pop(number, None)
        commands += self._report_reservations()
        commands += self._report_waiting(plan.unschedulable, event.explain, now_ms)
        commands.append(ev.ApplyPlan(plan))
        return commands

    def _report_reservations(self) -> list[ev.ReportReservation]:
        before, self._reported_starts = (
            self._reported_starts,
            {task: one.start_ms for task, one in self.reserved.items()},
        )
        return [
            ev.ReportReservation(number, start_ms)
            for number, start_ms in self._reported_starts.items()
            if before.get(number) != start_ms
        ]

    def _report_waiting(
        self, unschedulable: Sequence[UnschedulableTask], limit: int, now_ms: int
    ) -> list[ev.ReportWaiting]:
        """Explain the tasks whose reason was computed least recently, one of each equivalence class."""
        if not limit:
            return []
        found: list[ev.ReportWaiting] = []
        for blocked in sorted(unschedulable, key=lambda one: self._waiting_reasons.get(one.task, (-1, ""))[0])[:limit]:
            task = self.task(blocked.task)
            if task is None:
                continue
            why, request = self.decisions.why_waiting(task, blocked), blocked.request
            reason = str(why)
            if request.layout in _APART:
                reason += f"; its pods are to be {_APART[request.layout]}"
            cooling = self._memory.hosts_in_cooldown(request.shape, request.manifest, now_ms)
            if in_cooldown := len(cooling & self.planner.hosts.records.keys()):
                reason += f"; {in_cooldown} left alone for a while, as such pods failed there"
            known = self._waiting_reasons.get(task.id)
            self._waiting_reasons[task.id] = now_ms, reason
            found.append(ev.ReportWaiting(task, reason, why, is_new=known is None or known[1] != reason))
        return found

    _HANDLERS: ClassVar[Mapping[type, Callable[[SchedulerState, Any, int], None]]] = MappingProxyType(
        {
            ev.HostsChanged: _on_hosts_changed,
            ev.HostsRemoved: _on_hosts_removed,
            ev.HostsObserved: _on_hosts_observed,
            ev.TasksChanged: _on_tasks_changed,
            ev.TasksRemoved: _on_tasks_removed,
            ev.TasksFinalized: _on_tasks_finalized,
            ev.SchedulersChanged: _on_schedulers_changed,
            ev.LimitsChanged: _on_limits_changed,
            ev.AssignmentSubmitted: _on_assignment_submitted,
            ev.AssignmentOvertaken: _on_assignment_overtaken,
            ev.AssignmentRefused: _on_assignment_refused,
            ev.PreemptionFinished: _on_preemption_finished,
            ev.MoveFinished: _on_move_finished,
            ev.StandbyFinished: _on_standby_finished,
        }
    )
