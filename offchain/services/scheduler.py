"""The scheduler's shell: plans whenever the picture of the chain changes, and assigns through the outbox.

A refusal is a normal answer (another scheduler was faster, a host went away, the tenant has spent its coins): the
assignment is taken back, and the task is planned again after a pause that grows with every refusal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from offchain.core.backoff import Backoff
from offchain.core.plan import Plan, plan
from offchain.core.snapshot import Touched, with_pending
from offchain.core.values import PodPlacement, Task, TaskState
from offchain.schema._generated_chain import calls
from offchain.services.acts import Perform, Running
from offchain.services.log import EventLog
from offchain.services.view import View


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
    """Places queued tasks. `seed` decides in which order hosts are tried; `wake` asks for another step."""

    def __init__(self, view: View, perform: Perform, seed: bytes, wake: Callable[[], None]) -> None:
        self._view = view
        self._perform = perform
        self._seed = seed
        self._pending: dict[int, _Pending] = {}
        self._backoff: Backoff[int] = Backoff()
        self._waiting: dict[int, str] = {}
        self._again_at: int | None = None
        self._log = EventLog("scheduler")
        self.running = Running(wake)

    async def step(self, touched: Touched | None = None) -> None:
        """Plan, and assign what can be placed. `touched`: what a block changed; None: anything."""
        self.running.check()
        now = self._view.snapshot.now_ms
        if touched is not None and not touched.anything and (self._again_at is None or now < self._again_at):
            return
        self._forget()
        ahead = with_pending(self._view.snapshot, {task: found.placements for task, found in self._pending.items()})
        made = plan(ahead, now, self._seed, skip=self._backoff.waiting(now) | self._pending.keys())
        self._again_at = self._backoff.next_time(now)
        self._tell(made)
        if not made.placements:
            return
        fresh = await self._view.confirm(Touched(tasks=frozenset(made.placements)))
        for number, placements in made.placements.items():
            task = fresh.tasks.get(number)
            if task is not None and {placement.pod for placement in placements} <= set(task.open_pods):
                self._assign(task, placements)

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
            return
        self._pending.pop(task.id, None)
        self._backoff.refused(task.id, self._view.snapshot.now_ms)
        self._log.info("refused", task=task.id, generation=task.generation, reason=verdict.refusal)

    def _forget(self) -> None:
        """Drop what the picture has overtaken."""
        for number, pending in list(self._pending.items()):
            task = self._view.snapshot.tasks.get(number)
            pods = {placement.pod for placement in pending.placements}
            if self._view.is_final(number) and (
                task is None or not pods <= set(task.open_pods) or task.generation != pending.generation
            ):
                del self._pending[number]
        waiting = {task.id for task in self._view.snapshot.tasks.values() if task.open_pods}
        self._backoff.keep_only(waiting | self._pending.keys())

    def _tell(self, made: Plan) -> None:
        """Say why a task waits when the reason is a new one."""
        reasons = {waiting.task: str(waiting) for waiting in made.waiting}
        for task, reason in reasons.items():
            if self._waiting.get(task) != reason:
                self._log.info("waits", task=task, reason=reason)
        self._waiting = reasons
