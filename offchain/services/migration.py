"""Moves pods off hosts that deteriorate, and names the standbys of those whose tasks ask for one.

The chain checks it all again: that the host deteriorates, that the other one is in order and has room, that no standby
stands. A refusal is a normal answer: whoever was refused is looked at again later, each time later.
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
    """`running` has the acts under way. Give it every record that the desk is given, after the desk."""

    def __init__(
        self, desk: SchedulerState, limits: HealthLimits, perform: SubmitCall, running: PendingCalls, log: EventLog
    ) -> None:
        self.doubts: frozenset[str] = frozenset()
        """Hosts of which is to be read whether a heartbeat came, before the next step."""
        self._mover = MigrationPlanner(desk, limits)
        self._perform = perform
        self._running = running
        self._log = log

    def put_task(self, task: Task) -> None:
        """Take in a record of a task that is not final."""
        self._mover.put_task(task)

    def task_gone(self, number: int) -> None:
        """It is final."""
        self._mover.watch.task_gone(number)

    def host_changed(self, name: str) -> None:
        """Its record is another one, or there is none any more."""
        self._mover.watch.host_changed(name)

    def step(self, limits: HealthLimits, now_ms: int, gates: Sequence[HostFilter]) -> None:
        """Do what is to be done now. What the gates of the desk's round keep closed is closed to pods that move."""
        self._mover.watch.limits = limits
        made = self._mover.plan(gates, now_ms)
        for move in made.moves:
            self._running.spawn(self._move(move))
        for naming in made.standbys:
            self._running.spawn(self._name(naming, now_ms))
        self.doubts = made.unconfirmed

    def next_ms(self, now_ms: int) -> int | None:
        """When there may be something to do although no record changes."""
        return self._mover.next_ms(now_ms)

    async def _move(self, move: PodMove) -> None:
        self._log.info("move", task=move.task, lease=move.lease, host=move.host, reason=move.risk)
        call = calls.tasks_move_pod(
            lease=move.lease, host=move.host, devices=move.devices, rate_per_hour=move.rate_per_hour
        )
        verdict = await self._perform(f"move:{move.lease}", call)
        self._mover.move_finished(move)
        self._log.info("moved" if verdict.done else "not_moved", lease=move.lease, reason=verdict.refusal)

    async def _name(self, naming: StandbyNaming, now_ms: int) -> None:
        self._log.info("standby", task=naming.task, lease=naming.lease, host=naming.host)
        call = calls.tasks_name_standby(
            lease=naming.lease, host=naming.host, devices=naming.devices, rate_per_hour=naming.rate_per_hour
        )
        # One lease may have several, one after the other.
        verdict = await self._perform(f"standby:{naming.lease}:{now_ms}", call)
        self._mover.naming_finished(naming)
        told = "standby_named" if verdict.done else "standby_refused"
        self._log.info(told, lease=naming.lease, reason=verdict.refusal)
