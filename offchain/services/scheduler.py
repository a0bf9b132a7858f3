"""The scheduler's shell: tells the desk what has changed on the chain, and assigns what it places through the outbox.

A refusal is a normal answer (another scheduler was faster, a host went away, the tenant has spent its coins): the
assignment is taken back, and the task is planned again after a pause that grows with every refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from offchain.core.backoff import Backoff
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
from offchain.services.decision_recorder import DecisionLog, PlacementOutcome
from offchain.services.log import EventLog
from offchain.services.migration import MigrationExecutor
from offchain.services.preemption import PreemptionExecutor
from offchain.services.submitter import CallOutcome, PendingCalls, SubmitCall
from offchain.services.view import ChainView

_READER = "scheduler"

MOST_TOLD = 8
"""So many reasons for waiting are worked out in one step, those first that were not for the longest time."""

_APART: Final = {Layout.HOSTS: "on different hosts", Layout.PROVIDERS: "on hosts of different providers"}

OVERTAKEN: Final = PlacementOutcome(
    "overtaken", "it waited no more in the best block: another was faster, or it was cancelled"
)
"""Said of a placement that was not sent."""


@dataclass(frozen=True, slots=True)
class _Pending:
    generation: int
    placements: tuple[PodPlacement, ...]


def _name_of(task: Task, placements: tuple[PodPlacement, ...]) -> str:
    """The act's name. Of a task that runs, several assignments of one generation may place different pods."""
    name = f"assign:{task.id}:{task.generation}"
    if task.state is TaskState.QUEUED:
        return name
    return f"{name}:{'+'.join(str(placement.pod) for placement in placements)}"


class Scheduler:
    """Places queued tasks.

    `seed` decides between hosts that are alike, `account` is its own; `wake` asks for another step. `definitions` are
    its operator's. What it decides goes to `record`.
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
        record: DecisionLog | None = None,
    ) -> None:
        self._view = view
        self._perform = perform
        said = definitions or SchedulerConfig()
        self._desk = SchedulerState(seed, said.queues, account=account, windows=said.windows)
        self._pending: dict[int, _Pending] = {}
        self._backoff: Backoff[int] = Backoff()
        self._waiting: dict[int, tuple[int, str]] = {}
        """[task]: when its reason was worked out last, and what it was."""
        self._signs: dict[str, HealthSigns] = {}
        """Of hosts that deteriorate."""
        self._reserved: dict[int, int] = {}
        """[task]: when it starts at the latest, as was logged."""
        self._again_at: int | None = None
        self._record = record
        self._log = EventLog("scheduler")
        self.running = PendingCalls(wake)
        self._wake = wake
        self._room = PreemptionExecutor(self._desk, perform, self.running, self._log)
        self._moving = MigrationExecutor(self._desk, self._limits(), perform, self.running, self._log)

    async def step(self, touched: Touched | None = None) -> None:
        """Plan, and assign what can be placed. `touched`: what a block changed; None: anything."""
        self.running.check()
        now = self._view.now_ms
        news = self._view.news(_READER)
        quiet = touched is not None and news is not None and not news.anything
        if quiet and (self._again_at is None or now < self._again_at):
            return
        seen = self._view.seen(_READER)
        for one in seen:
            self._desk.observe(one)
        self._follow(news)
        self._watch({one.host for one in seen} | (news.hosts if news is not None else self._view.snapshot.hosts.keys()))
        made = self._desk.run_cycle(now, self._room.gates(now), partial(self._moving.step, self._limits(), now))
        self._room.ask(made, now)
        await self._listen()
        moments = self._desk.next_ms(now), self._room.next_ms(now), self._moving.next_ms(now)
        self._again_at = min((moment for moment in moments if moment is not None), default=None)
        self._tell(made, now)
        self._note(made, now)
        if not made.placements:
            return
        fresh = await self._view.confirm(Touched(tasks=frozenset(made.placements)))
        for number, placements in made.placements.items():
            task = fresh.tasks.get(number)
            if task is not None and {placement.pod for placement in placements} <= set(task.open_pods):
                self._assign(task, placements)
            else:
                self._desk.release(number)
                self._answered(self._desk.task(number), placements, OVERTAKEN)

    async def _listen(self) -> None:
        """Heartbeats leave no event: read a host again before its silence is believed."""
        if self._moving.doubts:
            for name, host in (await self._view.reads.hosts(self._moving.doubts, self._view.best_block.hash)).items():
                if host is not None:
                    self._desk.update_hosts((host,))
                    self._moving.host_changed(name)
            self._wake()

    def standing(self, number: int) -> tuple[SchedulingStatus, int | None]:
        """How a task stands now, and which other one was tried for it."""
        found = self._desk.standing(number, self._view.now_ms)
        return replace(found, nobody_leaves=self._room.why(number)), self._desk.last_unschedulable(number)

    def _follow(self, news: Touched | None) -> None:
        """Give the desk the records that have changed."""
        view, desk = self._view, self._desk
        if news is None or news.schedulers:
            desk.set_schedulers(view.schedulers)
        if news is None:
            snapshot = view.snapshot
            desk.update_hosts(snapshot.hosts.values())
            for name in snapshot.hosts:
                self._moving.host_changed(name)
            self._put(list(snapshot.tasks.values()))
            return
        for name in sorted(news.hosts):
            host = view.host(name)
            if host is None:
                desk.remove_hosts((name,))
            else:
                desk.update_hosts((host,))
            self._moving.host_changed(name)
        gone: list[int] = []
        there: list[Task] = []
        for number in sorted(news.tasks):
            self._forget(number)
            found = view.task(number)
            if found is None:
                gone.append(number)
                self._room.task_gone(number)
                self._moving.task_gone(number)
                self._waiting.pop(number, None)
            else:
                there.append(found)
        desk.remove_tasks(gone)
        self._put(there)

    def _put(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            self._room.put_task(task)
        self._desk.put_tasks(tasks)
        for task in tasks:
            self._moving.put_task(task)

    def _limits(self) -> HealthLimits:
        periods = self._view.final.periods
        return HealthLimits(periods.poor_ppm, periods.late_ms, periods.notice_ms + AGENT_DELAY_MS)

    def _forget(self, number: int) -> None:
        """Drop what the picture has overtaken for good."""
        pending = self._pending.get(number)
        task = self._view.final.tasks.get(number)
        if pending is not None and self._view.is_final(number):
            pods = {placement.pod for placement in pending.placements}
            if task is None or not pods <= set(task.open_pods) or task.generation != pending.generation:
                del self._pending[number]
                self._desk.release(number)
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
            self._answered(task, placements, PlacementOutcome("assigned", None, verdict.block))
            return
        if self._pending.pop(task.id, None) is not None:
            self._desk.release(task.id)
        self._desk.delay(task.id, self._backoff.refused(task.id, self._view.now_ms))
        self._log.info("refused", task=task.id, generation=task.generation, reason=verdict.refusal)
        self._answered(task, placements, PlacementOutcome("refused", verdict.refusal, verdict.block))
        self._hold_against(task, placements, verdict)

    def _hold_against(self, task: Task, placements: tuple[PodPlacement, ...], verdict: CallOutcome) -> None:
        """A host that has less than it says. Where there are other schedulers, one of them may have been faster."""
        hosts = {placement.host for placement in placements}
        failure = verdict.failure
        room = failure is not None and failure.pallet == "Hosts" and failure.name in NO_ROOM_ERRORS
        if room and self._desk.is_alone and len(hosts) == 1:
            shape = shape_of(task.resources, task.placement, account=sharing_account(task))
            self._desk.observe(
                HostObservation(hosts.pop(), ObservationKind.NO_ROOM, self._view.now_ms, shape, task.manifest)
            )

    def _watch(self, hosts: Iterable[str]) -> None:
        """Say which pods run on hosts that deteriorate, when they begin to."""
        worse: dict[str, Host] = {}
        for name in hosts:
            host = self._view.host(name)
            trouble = self._desk.memory.score(name, self._view.now_ms)
            signs = None if host is None else health_signs(host, trouble)
            if host is not None and signs and signs != self._signs.get(name):
                worse[name] = host
            if signs:
                self._signs[name] = signs
            else:
                self._signs.pop(name, None)
        for task, lease in self._desk.leases_on(worse) if worse else ():
            trouble = self._desk.memory.score(lease.host, self._view.now_ms)
            risk = risk_of(lease, worse[lease.host], trouble)
            if risk is not None:
                lately = ", ".join(what for what, _ in self._desk.memory.recent_failures(lease.host)) or None
                self._log.warning("at_risk", task=task.id, lease=lease.id, host=lease.host, reason=risk, seen=lately)

    def _tell(self, made: PlanResult, now: int) -> None:
        """Say why a task waits, as one of those that ask for the same, when the reason is a new one."""
        for number in made.placements:
            self._waiting.pop(number, None)
        before, self._reserved = self._reserved, {task: one.start_ms for task, one in self._desk.reserved.items()}
        for number, start_ms in self._reserved.items():
            if before.get(number) != start_ms:
                self._log.info("reserved", task=number, start_ms=start_ms)
        for blocked in sorted(made.unschedulable, key=lambda one: self._waiting.get(one.task, (-1, ""))[0])[:MOST_TOLD]:
            task = self._desk.task(blocked.task)
            if task is None:
                continue
            why = self._desk.decisions.why_waiting(task, blocked)
            reason = str(why)
            left_alone = self._desk.left_alone(blocked.request, now)
            if blocked.request.layout in _APART:
                reason += f"; its pods are to be {_APART[blocked.request.layout]}"
            if left_alone:
                reason += f"; {left_alone} left alone for a while, as such pods failed there"
            told = self._waiting.get(blocked.task)
            self._waiting[blocked.task] = now, reason
            if told is None or told[1] != reason:
                self._log.info("waits", task=blocked.task, reason=reason)
            if self._record is not None:
                self._record.waits(now, task.generation, why)

    def _note(self, made: PlanResult, now: int) -> None:
        """Record what the round has placed."""
        if self._record is None or not made.placements:
            return
        tasks = ((self._desk.task(placed.task), placed) for placed in self._desk.decisions.placed_tasks(made))
        self._record.placed(now, [(task.generation, placed) for task, placed in tasks if task is not None])

    def _answered(self, task: Task | None, placements: tuple[PodPlacement, ...], answer: PlacementOutcome) -> None:
        """Record what the chain said to a placement."""
        if self._record is not None and task is not None:
            pods = tuple(placement.pod for placement in placements)
            self._record.answered(self._view.now_ms, task.id, task.generation, pods, answer)
