"""The scheduler service: updates the scheduler state from the chain, and submits placements through the outbox.

A refused assignment is expected (another scheduler was faster, a host went offline, the tenant has no coins left): the
assumed pods are released, and the task is planned again after a pause that grows with every refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from offchain.backoff import Backoff
from offchain.core.scheduler.config import SchedulerConfig
from offchain.core.scheduler.host_observations import NO_ROOM_ERRORS, HostObservation, ObservationKind
from offchain.core.scheduler.host_risk import AGENT_DELAY_MS, HealthLimits, HealthSigns, health_signs, risk_of
from offchain.core.scheduler.placement import PlanResult
from offchain.core.scheduler.pod_request import shape_of, sharing_account
from offchain.core.scheduler.state import SchedulerState
from offchain.core.snapshot import Touched
from offchain.core.values import Host, Layout, PodPlacement, Task, TaskState
from offchain.schema.chain_types._generated_chain import calls
from offchain.schema.protocol.decisions import SchedulingStatus
from offchain.services.decision_recorder import DecisionSink, PlacementOutcome
from offchain.services.log import EventLog
from offchain.services.migration import MigrationExecutor
from offchain.services.preemption import PreemptionExecutor
from offchain.services.submitter import CallOutcome, PendingCalls, SubmitCall
from offchain.services.view import ChainView

_READER = "scheduler"

MAX_EXPLAINED = 8
"""Maximum number of tasks whose reason for waiting is computed in one step, the least recently explained first."""

_APART: Final = {Layout.HOSTS: "on different hosts", Layout.PROVIDERS: "on hosts of different providers"}

OVERTAKEN: Final = PlacementOutcome(
    "overtaken", "it waited no more in the best block: another was faster, or it was cancelled"
)
"""Outcome of a placement that was not submitted."""


@dataclass(frozen=True, slots=True)
class _Pending:
    generation: int
    placements: tuple[PodPlacement, ...]


def _name_of(task: Task, placements: tuple[PodPlacement, ...]) -> str:
    """Return the name of the call. Of a running task, assignments of one generation may place different pods."""
    name = f"assign:{task.id}:{task.generation}"
    if task.state is TaskState.QUEUED:
        return name
    return f"{name}:{'+'.join(str(placement.pod) for placement in placements)}"


class Scheduler:
    """Places queued tasks.

    `seed` breaks ties between equal hosts, `account` is the scheduler's own, `wake` requests another step,
    `definitions` is the operator's configuration, and `record` receives the decisions.
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
    ) -> None:
        self._view = view
        self._perform = perform
        config = definitions or SchedulerConfig()
        self._state = SchedulerState(seed, config.queues, account=account, windows=config.windows)
        self._pending: dict[int, _Pending] = {}
        self._backoff: Backoff[int] = Backoff()
        self._waiting: dict[int, tuple[int, str]] = {}
        """[task]: when its reason for waiting was computed last, and the reason."""
        self._signs: dict[str, HealthSigns] = {}
        """[host]: the health signs of deteriorating hosts."""
        self._reserved: dict[int, int] = {}
        """[task]: the reserved start that was logged last."""
        self._next_step_ms: int | None = None
        self._record = record
        self._log = EventLog("scheduler")
        self.running = PendingCalls(wake)
        self._wake = wake
        self._preemption = PreemptionExecutor(self._state, perform, self.running, self._log)
        self._migration = MigrationExecutor(self._state, self._limits(), perform, self.running, self._log)

    async def step(self, touched: Touched | None = None) -> None:
        """Run a scheduling cycle and submit its placements. `touched`: the changes of a block; None: unknown."""
        self.running.check()
        now = self._view.now_ms
        news = self._view.news(_READER)
        quiet = touched is not None and news is not None and not news.anything
        if quiet and (self._next_step_ms is None or now < self._next_step_ms):
            return
        seen = self._view.seen(_READER)
        for one in seen:
            self._state.observe(one)
        self._update_state(news)
        self._log_at_risk(
            {one.host for one in seen} | (news.hosts if news is not None else self._view.snapshot.hosts.keys())
        )
        made = self._state.run_cycle(
            now, self._preemption.host_filters(now), partial(self._migration.step, self._limits(), now)
        )
        self._preemption.preempt_for(made, now)
        await self._read_heartbeats()
        moments = self._state.next_ms(now), self._preemption.next_ms(now), self._migration.next_ms(now)
        self._next_step_ms = min((moment for moment in moments if moment is not None), default=None)
        self._report_waiting(made, now)
        self._record_placements(made, now)
        if not made.placements:
            return
        fresh = await self._view.confirm(Touched(tasks=frozenset(made.placements)))
        for number, placements in made.placements.items():
            task = fresh.tasks.get(number)
            if task is not None and {placement.pod for placement in placements} <= set(task.open_pods):
                self._assign(task, placements)
            else:
                self._state.release(number)
                self._record_outcome(self._state.task(number), placements, OVERTAKEN)

    async def _read_heartbeats(self) -> None:
        """Read the hosts again whose heartbeats seem overdue, because heartbeats deposit no event."""
        if self._migration.unconfirmed_hosts:
            for name, host in (
                await self._view.reads.hosts(self._migration.unconfirmed_hosts, self._view.best_block.hash)
            ).items():
                if host is not None:
                    self._state.update_hosts((host,))
                    self._migration.host_changed(name)
            self._wake()

    def standing(self, number: int) -> tuple[SchedulingStatus, int | None]:
        """Return the status of a task, and the task of its equivalence class that was tried."""
        found = self._state.standing(number, self._view.now_ms)
        return replace(found, nobody_leaves=self._preemption.why(number)), self._state.last_unschedulable(number)

    def _update_state(self, news: Touched | None) -> None:
        """Pass changed records to the scheduler state."""
        view, state = self._view, self._state
        if news is None or news.schedulers:
            state.set_schedulers(view.schedulers)
        if news is None:
            snapshot = view.snapshot
            state.update_hosts(snapshot.hosts.values())
            for name in snapshot.hosts:
                self._migration.host_changed(name)
            self._put(list(snapshot.tasks.values()))
            return
        for name in sorted(news.hosts):
            host = view.host(name)
            if host is None:
                state.remove_hosts((name,))
            else:
                state.update_hosts((host,))
            self._migration.host_changed(name)
        gone: list[int] = []
        there: list[Task] = []
        for number in sorted(news.tasks):
            self._forget_final(number)
            found = view.task(number)
            if found is None:
                gone.append(number)
                self._preemption.task_gone(number)
                self._migration.task_gone(number)
                self._waiting.pop(number, None)
            else:
                there.append(found)
        state.remove_tasks(gone)
        self._put(there)

    def _put(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            self._preemption.put_task(task)
        self._state.put_tasks(tasks)
        for task in tasks:
            self._migration.put_task(task)

    def _limits(self) -> HealthLimits:
        periods = self._view.final.periods
        return HealthLimits(periods.poor_ppm, periods.late_ms, periods.notice_ms + AGENT_DELAY_MS)

    def _forget_final(self, number: int) -> None:
        """Release a pending assignment that finalized records have superseded."""
        pending = self._pending.get(number)
        task = self._view.final.tasks.get(number)
        if pending is not None and self._view.is_final(number):
            pods = {placement.pod for placement in pending.placements}
            if task is None or not pods <= set(task.open_pods) or task.generation != pending.generation:
                del self._pending[number]
                self._state.release(number)
        ahead = self._view.task(number)
        if number not in self._pending and (ahead is None or not ahead.open_pods):
            self._backoff.succeeded(number)

    def _assign(self, task: Task, placements: tuple[PodPlacement, ...]) -> None:
        self._pending[task.id] = _Pending(task.generation, placements)
        hosts = ",".join(placement.host for placement in placements)
        self._log.info("assign", task=task.id, generation=task.generation, hosts=hosts)
        self.running.spawn(self._carry_out(task, placements))

    async def _carry_out(self, task: Task, placements: tuple[PodPlacement, ...]) -> None:
        assign = calls.tasks_assign(task=task.id, pods=placements)
        verdict = await self._perform(_name_of(task, placements), assign)
        if verdict.done:
            self._log.info("assigned", task=task.id, generation=task.generation)
            self._record_outcome(task, placements, PlacementOutcome("assigned", None, verdict.block))
            return
        if self._pending.pop(task.id, None) is not None:
            self._state.release(task.id)
        self._state.delay(task.id, self._backoff.refused(task.id, self._view.now_ms))
        self._log.info("refused", task=task.id, generation=task.generation, reason=verdict.refusal)
        self._record_outcome(task, placements, PlacementOutcome("refused", verdict.refusal, verdict.block))
        self._observe_refusal(task, placements, verdict)

    def _observe_refusal(self, task: Task, placements: tuple[PodPlacement, ...], verdict: CallOutcome) -> None:
        """Record that a host has less free than its record says, unless another scheduler may have been faster."""
        hosts = {placement.host for placement in placements}
        failure = verdict.failure
        room = failure is not None and failure.pallet == "Hosts" and failure.name in NO_ROOM_ERRORS
        if room and self._state.is_alone and len(hosts) == 1:
            shape = shape_of(task.resources, task.placement, account=sharing_account(task))
            self._state.observe(
                HostObservation(hosts.pop(), ObservationKind.NO_ROOM, self._view.now_ms, shape, task.manifest)
            )

    def _log_at_risk(self, hosts: Iterable[str]) -> None:
        """Log the pods on hosts that have begun to deteriorate."""
        worse: dict[str, Host] = {}
        for name in hosts:
            host = self._view.host(name)
            trouble = self._state.memory.score(name, self._view.now_ms)
            signs = None if host is None else health_signs(host, trouble)
            if host is not None and signs and signs != self._signs.get(name):
                worse[name] = host
            if signs:
                self._signs[name] = signs
            else:
                self._signs.pop(name, None)
        for task, lease in self._state.leases_on(worse) if worse else ():
            trouble = self._state.memory.score(lease.host, self._view.now_ms)
            risk = risk_of(lease, worse[lease.host], trouble)
            if risk is not None:
                lately = ", ".join(what for what, _ in self._state.memory.recent_failures(lease.host)) or None
                self._log.warning("at_risk", task=task.id, lease=lease.id, host=lease.host, reason=risk, seen=lately)

    def _report_waiting(self, made: PlanResult, now: int) -> None:
        """Log and record why tasks wait, one task of each equivalence class, when the reason is new."""
        for number in made.placements:
            self._waiting.pop(number, None)
        before, self._reserved = self._reserved, {task: one.start_ms for task, one in self._state.reserved.items()}
        for number, start_ms in self._reserved.items():
            if before.get(number) != start_ms:
                self._log.info("reserved", task=number, start_ms=start_ms)
        for blocked in sorted(made.unschedulable, key=lambda one: self._waiting.get(one.task, (-1, ""))[0])[
            :MAX_EXPLAINED
        ]:
            task = self._state.task(blocked.task)
            if task is None:
                continue
            why = self._state.decisions.why_waiting(task, blocked)
            reason = str(why)
            left_alone = self._state.left_alone(blocked.request, now)
            if blocked.request.layout in _APART:
                reason += f"; its pods are to be {_APART[blocked.request.layout]}"
            if left_alone:
                reason += f"; {left_alone} left alone for a while, as such pods failed there"
            known = self._waiting.get(blocked.task)
            self._waiting[blocked.task] = now, reason
            if known is None or known[1] != reason:
                self._log.info("waits", task=blocked.task, reason=reason)
            if self._record is not None:
                self._record.waits(now, task.generation, why)

    def _record_placements(self, made: PlanResult, now: int) -> None:
        """Record the placements of the cycle."""
        if self._record is None or not made.placements:
            return
        tasks = ((self._state.task(placed.task), placed) for placed in self._state.decisions.placed_tasks(made))
        self._record.placed(now, [(task.generation, placed) for task, placed in tasks if task is not None])

    def _record_outcome(
        self, task: Task | None, placements: tuple[PodPlacement, ...], outcome: PlacementOutcome
    ) -> None:
        """Record the outcome of a placement."""
        if self._record is not None and task is not None:
            pods = tuple(placement.pod for placement in placements)
            self._record.answered(self._view.now_ms, task.id, task.generation, pods, outcome)
