"""The scheduler service: turns changes of the chain into events of the scheduler state, and its commands into calls.

A refused assignment is expected (another scheduler was faster, a host went offline, the tenant has no coins left): the
assumed pods are released, and the task is planned again after a pause that grows with every refusal.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final

from offchain.core.scheduler import events as ev
from offchain.core.scheduler.config import SchedulerConfig
from offchain.core.scheduler.fair_share import WaitingCounts
from offchain.core.scheduler.host_risk import AGENT_DELAY_MS, HealthLimits
from offchain.core.scheduler.plan import PlanResult
from offchain.core.scheduler.state import SchedulerState
from offchain.core.snapshot import Touched
from offchain.core.values import PodPlacement, Task, TaskState
from offchain.schema.chain_types._generated_chain import calls
from offchain.schema.protocol.decisions import SchedulingStatus
from offchain.services.decision_recorder import DecisionSink, PlacementOutcome
from offchain.services.log import EventLog
from offchain.services.planning_thread import PlanningThread
from offchain.services.submitter import PendingCalls, SubmitCall
from offchain.services.view import ChainView
from offchain.services.worker_state import SchedulerCounts

_READER = "scheduler"

MAX_EXPLAINED = 8
"""Maximum number of tasks whose reason for waiting is computed in one step, the least recently explained first."""

OVERTAKEN: Final = PlacementOutcome(
    "overtaken", "it waited no more in the best block: another was faster, or it was cancelled"
)
"""Outcome of a placement that was not submitted."""


def _call_name(task: Task, placements: tuple[PodPlacement, ...]) -> str:
    """Return the name of the call. Of a running task, assignments of one generation may place different pods."""
    name = f"assign:{task.id}:{task.generation}"
    if task.state is TaskState.QUEUED:
        return name
    return f"{name}:{'+'.join(str(placement.pod) for placement in placements)}"


class Scheduler:
    """Runs the scheduler state against the chain.

    `seed` breaks ties between equal hosts, `account` is the scheduler's own, `wake` requests another step,
    `definitions` is the operator's configuration, `record` receives the decisions, `executor` runs the cycles (None:
    the event loop does), and `counts` is kept up to date.
    """

    def __init__(
        self,
        view: ChainView,
        perform: SubmitCall,
        seed: bytes,
        wake: Callable[[], None],
        *,
        account: str,
        definitions: SchedulerConfig | None = None,
        record: DecisionSink | None = None,
        executor: Executor | None = None,
        counts: SchedulerCounts | None = None,
    ) -> None:
        self._view = view
        self._perform = perform
        config = definitions or SchedulerConfig()
        self._state = SchedulerState(seed, config.queues, account=account, windows=config.windows)
        self._planning = PlanningThread(self._state, executor)
        self._limits: HealthLimits | None = None
        self._schedulers: ev.SchedulersChanged | None = None
        self._next_step_ms: int | None = None
        self._record = record
        self._counts = counts or SchedulerCounts()
        self._log = EventLog("scheduler")
        self.running = PendingCalls(wake)
        self._wake = wake

    async def step(self, touched: Touched | None = None) -> None:
        """Run a scheduling cycle and carry out its commands. `touched`: the changes of a block; None: unknown."""
        self.running.check()
        now = self._view.now_ms
        news = self._view.news(_READER)
        quiet = touched is not None and news is not None and not news.anything
        if quiet and (self._next_step_ms is None or now < self._next_step_ms):
            return
        self._handle(ev.HostsObserved(self._view.seen(_READER)))
        self._report_changes(news)
        began_s = time.monotonic()
        commands = await self._planning.run_cycle(ev.CycleDue(MAX_EXPLAINED), now)
        self._counts.on_cycle(time.monotonic() - began_s)
        for command in commands:
            await self._execute(command, now)
        self._next_step_ms = self._state.next_ms(now)

    async def standing(self, number: int) -> tuple[SchedulingStatus, int | None]:
        """Return the status of a task, and the task of its equivalence class that was tried."""
        await self._planning.until_idle()
        return self._state.standing(number, self._view.now_ms), self._state.last_unschedulable(number)

    async def waiting_counts(self) -> WaitingCounts:
        """Return how many tasks wait, by queue."""
        await self._planning.until_idle()
        return self._state.waiting_counts()

    def _handle(self, event: ev.Event) -> None:
        self._planning.handle(event, self._view.now_ms)

    def _report_changes(self, news: Touched | None) -> None:
        """Turn changed records into events. `news`: None at the first step, when all records are new."""
        view = self._view
        periods = view.final.periods
        limits = HealthLimits(periods.poor_ppm, periods.late_ms, periods.notice_ms + AGENT_DELAY_MS)
        if limits != self._limits:
            self._limits = limits
            self._handle(ev.LimitsChanged(limits))
        schedulers = ev.SchedulersChanged(view.schedulers, view.session_seed)
        if schedulers != self._schedulers:
            self._schedulers = schedulers
            self._handle(schedulers)
        if news is None:
            snapshot = view.snapshot
            self._handle(ev.HostsChanged(tuple(snapshot.hosts.values())))
            self._handle(ev.TasksChanged(tuple(snapshot.tasks.values())))
            return
        hosts = {name: view.host(name) for name in sorted(news.hosts)}
        self._handle(ev.HostsRemoved([name for name, host in hosts.items() if host is None]))
        self._handle(ev.HostsChanged([host for host in hosts.values() if host is not None]))
        tasks = {number: view.task(number) for number in sorted(news.tasks)}
        final = view.final.tasks
        self._handle(ev.TasksFinalized({number: final.get(number) for number in tasks if view.is_final(number)}))
        self._handle(ev.TasksRemoved([number for number, task in tasks.items() if task is None]))
        self._handle(ev.TasksChanged([task for task in tasks.values() if task is not None]))

    async def _execute(self, command: ev.Command, now_ms: int) -> None:
        match command:
            case ev.ApplyPlan():
                await self._apply(command)
            case ev.PreemptTasks():
                self.running.spawn(self._preempt(command))
            case ev.MovePod():
                self.running.spawn(self._move(command))
            case ev.NameStandby():
                self.running.spawn(self._name_standby(command, now_ms))
            case ev.ReadHeartbeats():
                await self._read_heartbeats(command)
            case ev.ReportRisk():
                self._report_risk(command)
            case ev.ReportReservation():
                self._log.info("reserved", task=command.task, start_ms=command.start_ms)
            case ev.ReportWaiting():
                self._report_waiting(command)

    async def _apply(self, command: ev.ApplyPlan) -> None:
        """Assign the tasks that still wait in the best block."""
        placements = command.plan.placements
        if not placements:
            return
        self._record_placements(command.plan)
        fresh = await self._view.confirm(Touched(tasks=frozenset(placements)))
        for number, pods in placements.items():
            self._counts.pods_placed += len(pods)
            task = fresh.tasks.get(number)
            if task is not None and {pod.pod for pod in pods} <= set(task.open_pods):
                hosts = ",".join(pod.host for pod in pods)
                self._log.info("assign", task=task.id, generation=task.generation, hosts=hosts)
                self._handle(ev.AssignmentSubmitted(number, task.generation))
                self.running.spawn(self._assign(task, pods))
            else:
                self._handle(ev.AssignmentOvertaken(number))
                self._counts.overtaken += 1
                self._record_outcome(self._state.task(number), pods, OVERTAKEN)

    async def _assign(self, task: Task, placements: tuple[PodPlacement, ...]) -> None:
        verdict = await self._perform(_call_name(task, placements), calls.tasks_assign(task=task.id, pods=placements))
        if verdict.done:
            self._counts.assigned += 1
            self._log.info("assigned", task=task.id, generation=task.generation)
            self._record_outcome(task, placements, PlacementOutcome("assigned", None, verdict.block))
            return
        self._counts.refused += 1
        error = None if verdict.failure is None else (verdict.failure.pallet, verdict.failure.name)
        self._handle(ev.AssignmentRefused(task, frozenset(pod.host for pod in placements), error))
        self._log.info("refused", task=task.id, generation=task.generation, reason=verdict.refusal)
        self._record_outcome(task, placements, PlacementOutcome("refused", verdict.refusal, verdict.block))

    async def _preempt(self, command: ev.PreemptTasks) -> None:
        task = command.preemptor
        victims = "+".join(f"{victim.id}.{victim.generation}" for victim in command.victims)
        # The same tasks may be preempted again after a preemption that was not carried out.
        name = f"preempt:{task.id}:{task.generation}.{task.asks_from}:{victims}"
        self._log.info("preempt", task=task.id, victims=victims)
        numbers = [victim.id for victim in command.victims]
        call = calls.tasks_preempt(wanting=task.id, victims=numbers, pods=command.pods)
        verdict = await self._perform(name, call)
        self._handle(ev.PreemptionFinished(task.id, accepted=verdict.done))
        self._log.info("preempted" if verdict.done else "refused", act=name, task=task.id, reason=verdict.refusal)

    async def _move(self, move: ev.MovePod) -> None:
        self._log.info("move", task=move.task, lease=move.lease, host=move.host, reason=move.risk)
        call = calls.tasks_move_pod(
            lease=move.lease, host=move.host, devices=move.devices, rate_per_hour=move.rate_per_hour
        )
        verdict = await self._perform(f"move:{move.lease}", call)
        self._handle(ev.MoveFinished(move.task, move.lease))
        self._log.info("moved" if verdict.done else "not_moved", lease=move.lease, reason=verdict.refusal)

    async def _name_standby(self, naming: ev.NameStandby, now_ms: int) -> None:
        self._log.info("standby", task=naming.task, lease=naming.lease, host=naming.host)
        call = calls.tasks_name_standby(
            lease=naming.lease, host=naming.host, devices=naming.devices, rate_per_hour=naming.rate_per_hour
        )
        # A lease may get several standbys in succession, so the time is part of the name.
        verdict = await self._perform(f"standby:{naming.lease}:{now_ms}", call)
        self._handle(ev.StandbyFinished(naming.lease))
        event = "standby_named" if verdict.done else "standby_refused"
        self._log.info(event, lease=naming.lease, reason=verdict.refusal)

    async def _read_heartbeats(self, command: ev.ReadHeartbeats) -> None:
        read = await self._view.reads.hosts(command.hosts, self._view.best_block.hash)
        self._handle(ev.HostsChanged([host for host in read.values() if host is not None]))
        self._wake()

    def _report_risk(self, one: ev.ReportRisk) -> None:
        lately = ", ".join(one.failures) or None
        self._log.warning("at_risk", task=one.task, lease=one.lease, host=one.host, reason=one.risk, seen=lately)

    def _report_waiting(self, command: ev.ReportWaiting) -> None:
        if command.is_new:
            self._log.info("waits", task=command.task.id, reason=command.reason)
        if self._record is not None:
            self._record.waits(self._view.now_ms, command.task.generation, command.why)

    def _record_placements(self, plan: PlanResult) -> None:
        """Record the placements of the cycle."""
        if self._record is not None:
            tasks = ((self._state.task(placed.task), placed) for placed in self._state.decisions.placed_tasks(plan))
            self._record.placed(
                self._view.now_ms, [(task.generation, placed) for task, placed in tasks if task is not None]
            )

    def _record_outcome(
        self, task: Task | None, placements: tuple[PodPlacement, ...], outcome: PlacementOutcome
    ) -> None:
        """Record the outcome of a placement."""
        if self._record is not None and task is not None:
            pods = tuple(placement.pod for placement in placements)
            self._record.answered(self._view.now_ms, task.id, task.generation, pods, outcome)
