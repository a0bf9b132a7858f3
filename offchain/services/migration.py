"""Execution of migrations: moves pods off deteriorating hosts and names standbys for tasks that ask for them.

The chain checks each call again: that the host deteriorates, that the other host is healthy and the pod feasible on it,
and that no standby is named yet. A refused call is planned again after a growing pause.
"""

from __future__ import annotations

from collections.abc import Sequence

from offchain.core.scheduler.cycle_filters import HostFilter
from offchain.core.scheduler.host_risk import HealthLimits
from offchain.core.scheduler.migration import MigrationPlanner, PodMove, StandbyNaming
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import Task
from offchain.schema.chain_types._generated_chain import calls
from offchain.services.log import EventLog
from offchain.services.submitter import PendingCalls, SubmitCall


class MigrationExecutor:
    """Submits the calls of a :class:`MigrationPlanner` through `perform`.

    `running` holds the pending calls. Pass it every record that the scheduler state receives, after the state.
    """

    def __init__(
        self, state: SchedulerState, limits: HealthLimits, perform: SubmitCall, running: PendingCalls, log: EventLog
    ) -> None:
        self.unconfirmed_hosts: frozenset[str] = frozenset()
        """Hosts whose last heartbeat is to be read before the next step."""
        self._planner = MigrationPlanner(state, limits)
        self._perform = perform
        self._running = running
        self._log = log

    def put_task(self, task: Task) -> None:
        """Update from a record of a task that is not final."""
        self._planner.put_task(task)

    def task_gone(self, number: int) -> None:
        """Remove a task that is final."""
        self._planner.watch.task_gone(number)

    def host_changed(self, name: str) -> None:
        """Note that a host's record has changed or was removed."""
        self._planner.watch.host_changed(name)

    def step(self, limits: HealthLimits, now_ms: int, filters: Sequence[HostFilter]) -> None:
        """Submit what is due now, on hosts that the filters of the scheduling cycle do not exclude."""
        self._planner.watch.limits = limits
        made = self._planner.plan(filters, now_ms)
        for move in made.moves:
            self._running.spawn(self._move(move))
        for naming in made.standbys:
            self._running.spawn(self._name(naming, now_ms))
        self.unconfirmed_hosts = made.unconfirmed

    def next_ms(self, now_ms: int) -> int | None:
        """Return when there may be something to do although no record changes."""
        return self._planner.next_ms(now_ms)

    async def _move(self, move: PodMove) -> None:
        self._log.info("move", task=move.task, lease=move.lease, host=move.host, reason=move.risk)
        call = calls.tasks_move_pod(
            lease=move.lease, host=move.host, devices=move.devices, rate_per_hour=move.rate_per_hour
        )
        verdict = await self._perform(f"move:{move.lease}", call)
        self._planner.move_finished(move)
        self._log.info("moved" if verdict.done else "not_moved", lease=move.lease, reason=verdict.refusal)

    async def _name(self, naming: StandbyNaming, now_ms: int) -> None:
        self._log.info("standby", task=naming.task, lease=naming.lease, host=naming.host)
        call = calls.tasks_name_standby(
            lease=naming.lease, host=naming.host, devices=naming.devices, rate_per_hour=naming.rate_per_hour
        )
        # A lease may get several standbys in succession, so the time is part of the name.
        verdict = await self._perform(f"standby:{naming.lease}:{now_ms}", call)
        self._planner.naming_finished(naming)
        event = "standby_named" if verdict.done else "standby_refused"
        self._log.info(event, lease=naming.lease, reason=verdict.refusal)
