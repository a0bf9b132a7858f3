"""The settler: submits calls that are due and that anybody may submit, and prunes old tasks.

Several settlers share the work: a call that comes too late is refused, which is normal.

The chain has no list of tasks to prune. Their numbers are nearly in the order of their ends, so a walk from the oldest
kept task soon reaches one that was submitted too recently, and ends there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from offchain.backoff import Backoff
from offchain.core.settlement import (
    Command,
    Crank,
    Expire,
    ExpireLease,
    FinishPreemption,
    ReportAbsent,
    Requeue,
    Settle,
    SettlementTimers,
    still_due,
)
from offchain.core.snapshot import Touched
from offchain.schema.chain_types._generated_chain import LeaseStateRetained, TaskRecord, calls
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.chain_types.values import FINAL_TASK_STATES, Call
from offchain.services.log import EventLog
from offchain.services.snapshot_reader import SnapshotReader
from offchain.services.submitter import PendingCalls, SubmitCall
from offchain.services.view import ChainView

PAGE: Final = 1000
"""How many records are read in one step; as many tasks fit into one call."""
PAUSE_MS: Final = 600_000
"""The pause between two walks, in chain time."""
CRANK_ENTRIES = 256
"""How many entries of the agenda one call processes."""


class Pruner:
    """Walks over old tasks, one page a step. Its position is its only state."""

    def __init__(self, reads: SnapshotReader) -> None:
        self._reads = reads
        self._after: int | None = None
        self._not_before = 0
        self._period = 0

    async def due(self, at: bytes, now: int, archive_after_ms: int) -> list[int]:
        """Return the tasks of the next page that may be pruned at chain time `now`."""
        if now < self._not_before and archive_after_ms == self._period:
            return []
        self._period = archive_after_ms
        page = await self._reads.tasks_after(self._after, PAGE, at)
        found = [task for task, record in page if may_be_pruned(record, now, archive_after_ms)]
        if len(page) < PAGE or page[-1][1].submitted_at + archive_after_ms > now:
            self._after, self._not_before = None, now + min(PAUSE_MS, archive_after_ms)
        else:
            self._after = page[-1][0]
        return found


def may_be_pruned(record: TaskRecord, now: int, archive_after_ms: int) -> bool:
    """Return whether the chain prunes this task: it ended long enough ago, and none of its data is retained."""
    return (
        record.state.tag in FINAL_TASK_STATES
        and record.changed_at + archive_after_ms <= now
        and not any(isinstance(lease.state, LeaseStateRetained) for lease in record.leases)
    )


class Settler:
    """Settles, expires, requeues, reports absent hosts, cranks and prunes. `wake` requests another step."""

    def __init__(self, view: ChainView, submit: SubmitCall, wake: Callable[[], None]) -> None:
        self._view = view
        self._submit = submit
        self._under_way: set[Command] = set()
        self._backoff: Backoff[Command] = Backoff()
        self._done: dict[Command, int] = {}
        """Commands that took effect, and the final block that shows it."""
        self._timers = SettlementTimers()
        self._pruner = Pruner(view.reads)
        self._pruning = False
        self._log = EventLog("settler")
        self.running = PendingCalls(wake)

    async def step(self, touched: Touched | None = None) -> None:
        """Do what is due now. What has changed is known from the view's news."""
        del touched
        self.running.check()
        now = self._view.now_ms
        await self._prune(now)
        found = self._timers.due(self._view.snapshot, self._view.news("settler"), now)
        # Heartbeats leave no event: a host is read again before its silence is believed.
        silent = frozenset(command.host for command in found if isinstance(command, ReportAbsent))
        if silent:
            await self._view.refresh(Touched(hosts=silent))
            found = self._timers.due(self._view.snapshot, self._view.news("settler"), now)
        self._backoff.keep_only(found)
        still = frozenset(found)
        self._done = {command: block for command, block in self._done.items() if command in still}
        wanted = [command for command in found if self._may_be_submitted(command, now)]
        if wanted:
            confirmed = await self._view.confirm(_touched_by(wanted))
            for command in still_due(confirmed, wanted, now):
                self._under_way.add(command)
                self.running.spawn(self._carry_out(command))

    def _may_be_submitted(self, command: Command, now: int) -> bool:
        """Return whether a command that is due may be submitted, or submitted again, now."""
        if command in self._under_way or self._backoff.waits(command, now):
            return False
        return self._done.get(command, 0) <= self._view.final.number

    async def _prune(self, now: int) -> None:
        """Prune one page of old tasks, by final records, with one call at a time."""
        if self._pruning:
            return
        found = await self._pruner.due(self._view.final_hash, now, self._view.final.periods.archive_after_ms)
        if found:
            self._pruning = True
            self.running.spawn(self._carry_out_pruning(found))

    async def _carry_out_pruning(self, tasks: list[int]) -> None:
        name = f"prune:{tasks[0]}-{tasks[-1]}:{len(tasks)}"
        outcome = await self._submit(name, calls.tasks_prune(tasks=tasks))
        self._pruning = False
        self._log.info("done" if outcome.done else "refused", act=name, reason=outcome.refusal)

    async def _carry_out(self, command: Command) -> None:
        call, name = _call_of(command)
        if command in self._done:
            # It is due although a final block shows that it took effect: the agenda has more entries, for example.
            await self._submit.forget(name)
        outcome = await self._submit(name, call)
        self._under_way.discard(command)
        if outcome.done:
            self._done[command] = outcome.block or 0
            self._log.info("done", act=name, task=_task_of(command))
            return
        self._backoff.refused(command, self._view.now_ms)
        self._log.info("refused", act=name, task=_task_of(command), reason=outcome.refusal)


def _task_of(command: Command) -> int | None:
    """Return the task that a command is about, if it is about one."""
    match command:
        case Settle(task) | Expire(task) | FinishPreemption(task, _):
            return task
        case ExpireLease(lease) | Requeue(lease):
            return lease_parts(lease)[0]
    return None


def _touched_by(commands: Iterable[Command]) -> Touched:
    hosts, tasks = set(), set()
    for command in commands:
        match command:
            case Settle(task) | Expire(task) | FinishPreemption(task):
                tasks.add(task)
            case ExpireLease(lease) | Requeue(lease):
                tasks.add(lease_parts(lease)[0])
            case ReportAbsent(host, _):
                hosts.add(host)
            case Crank():
                pass
    return Touched(frozenset(hosts), frozenset(tasks))


def _call_of(command: Command) -> tuple[Call, str]:  # noqa: PLR0911  (one line each)
    """Return the call, and its name: equal commands have equal names."""
    match command:
        case Settle(task):
            return calls.tasks_settle(task=task), f"settle:{task}"
        case Expire(task):
            return calls.tasks_expire(task=task), f"expire:{task}"
        case ExpireLease(lease):
            return calls.tasks_expire_lease(lease=lease), f"expire-lease:{lease}"
        case Requeue(lease):
            return calls.tasks_requeue(lease=lease), f"requeue:{lease}"
        case ReportAbsent(host, last_heartbeat):
            return calls.hosts_report_absent(host=host), f"report-absent:{host}:{last_heartbeat}"
        case FinishPreemption(task, ends_at):
            return calls.tasks_finish_preemption(wanting=task), f"finish-preemption:{task}:{ends_at}"
        case Crank(agenda_at):
            return calls.leases_crank(limit=CRANK_ENTRIES), f"crank:{agenda_at}"
