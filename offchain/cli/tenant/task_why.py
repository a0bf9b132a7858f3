"""gantry task why: the feasibility of a task, the decisions of schedulers, and its history in the index."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

import click

from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit import network, options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import details, emit, progress, say, table
from offchain.cli.kit.session import run
from offchain.cli.tenant import scheduler_decisions
from offchain.errors import CheckFailed
from offchain.indexer import queries
from offchain.indexer.block_rows import unpack, with_bytes
from offchain.indexer.database import IndexFault
from offchain.indexer.meta import read_meta
from offchain.indexer.status import EventsPruned, index_status
from offchain.ports import ChainEvent, ChainPort
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.value_text import counted
from offchain.services import feasibility
from offchain.services.confidential_hosts import confidential_text
from offchain.services.event_text import event_text, state_phrase, time_text
from offchain.services.feasibility import FeasibilityReport, report_task
from offchain.services.record_views import TaskView, read_tasks
from offchain.services.scheduler_replies import SchedulerReply, ask_schedulers, reserved_start
from offchain.services.self_assignments import self_assigned_lease

_MOST: Final = 1000
_NAMES: Final = frozenset(
    {
        "Submitted",
        "Assigned",
        "PodStarted",
        "Requeued",
        "PodLost",
        "StandbyNamed",
        "LeaseMoved",
        "LeaseEnded",
        "Expired",
        "Cancelled",
        "Settled",
    }
)
_HOW = (
    "Ask a scheduler (--scheduler URL; its operator starts it with --answers), or run an index "
    "(gantry worker indexer). gantry chain inspect task {task} shows the history of a final task."
)


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """An event of the task."""

    block: int
    time_ms: int
    event: str
    text: str
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """The task's state and events in the index, the oldest first.

    `up_to_block`: the last block in the index; `events_from_block`: the first one whose events it keeps.
    """

    state: str
    steps: tuple[TaskEvent, ...]
    up_to_block: int | None
    events_from_block: int = 0


def read_history(index: str | None, task: int, genesis: bytes) -> TaskHistory | None:
    """Return what the index has; None if there is no index of this chain, or it has no such task.

    Raises IndexFault if an explicitly named index cannot be read.
    """
    named = index is not None or bool(os.environ.get("GANTRY_INDEX"))
    address = network.choose_index(index)
    try:
        with contextlib.closing(queries.open_for_reading(address)) as db, db.snapshot():
            other = read_meta(db).get("genesis") != genesis.hex()
            found = None if other else queries.task(db, task)
            if found is None:
                return None
            index_state = index_status(db)
            try:
                happened = queries.mentions(db, str(task), _MOST)
            except EventsPruned:
                happened = []
    except IndexFault:
        if named:
            raise
        return None
    steps = []
    for one in happened:
        row = one.event
        if row.pallet == "Tasks" and row.name in _NAMES:
            fields = with_bytes(unpack(row.fields))
            text = event_text(ChainEvent(row.pallet, row.name, fields, row.extrinsic), None)
            steps.append(TaskEvent(row.block, one.time_ms, f"Tasks.{row.name}", text, fields))
    # Events of a task that is younger are all there.
    oldest = index_state.kept_from if found.submitted_block < index_state.kept_from else 0
    return TaskHistory(found.state, tuple(steps), index_state.derived_to, oldest)


def print_history(history: TaskHistory) -> None:
    say()
    table(
        ("BLOCK", "TIME", "ON THE CHAIN", ""),
        [(one.block, time_text(one.time_ms), one.event, one.text) for one in history.steps],
    )
    if history.events_from_block:
        say(f"The index keeps no events before block {history.events_from_block}.")


@click.command()
@click.argument("number", type=options.TASK)
@click.option(
    "--scheduler",
    "schedulers",
    metavar="URL|PATH",
    multiple=True,
    help="Also ask this scheduler: its URL, or on its own machine its state folder. May be repeated. "
    "Else GANTRY_SCHEDULER, else the scheduler of the local network.",
)
@options.index
@options.common()
def why(number: int, schedulers: tuple[str, ...], index: str | None, common: options.CommonOptions) -> None:
    """Explain why a task was placed where it is, or why it waits.

    Three sources are combined. The chain: where the task is, and while it waits, how many hosts each rule excludes,
    now and even if nothing else ran there. Schedulers: the hosts they compared, with their costs, the placement, and
    the chain's answer. The index: every assignment and refusal. Pods are at risk on a host that is not online, has a
    poor reputation or reclaims the lease, or on a GPU that is not healthy.

    \b
    Examples:
      gantry task why 7
      gantry task why 7 --scheduler http://10.0.0.5:4437
      gantry task why 7 --scheduler ~/.local/state/gantry/scheduler --json
    """
    sources = scheduler_decisions.choose_schedulers(schedulers, common.url)

    async def work() -> tuple[_Asked, TaskView | None, tuple[SchedulerReply, ...], bytes]:
        async with common.connected() as chain:
            replies, asked = await asyncio.gather(ask_schedulers(sources, number), _ask(chain, number))
            view = (await read_tasks(chain, [number])).get(number)
            return asked, view, replies, await chain.genesis_hash()

    (report, notes), view, replies, genesis = run(work())
    history = read_history(index, number, genesis)
    ended = view if view is not None and view.is_final else None
    known = history is not None or any(one.answer is not None and not one.answer.empty for one in replies)
    for one in replies:
        if one.answer is None:
            progress(f"note: no answer from the scheduler {one.source}: {one.reason}")
    if isinstance(report, CheckFailed) and not known and ended is None:
        hint = _HOW.format(task=number) if report.code == "no_task" else report.hint
        raise CliError(report.message, hint, code=report.code)
    if common.as_json:
        emit({**_fields(number, report, replies, history, ended), **notes})
        return
    if ended is None:
        _show(number, report, replies, history, notes)
    else:
        _show_ended(ended)
    scheduler_decisions.print_decisions(replies)
    if history is not None:
        print_history(history)
    if not known:
        say()
        say(f"The decisions of schedulers are not known. {_HOW.format(task=number)}")


_Asked: TypeAlias = tuple[FeasibilityReport | CheckFailed, Mapping[str, str | None]]
"""What the chain says of a task, and further sentences by the names of their JSON fields."""


async def _ask(chain: ChainPort, number: int) -> _Asked:
    try:
        report = await report_task(chain, number)
    except CheckFailed as error:
        return error, {}
    task = await GantryChain(chain).task(number)
    own = None if task is None else self_assigned_lease(task)
    return report, {
        "confidential": await confidential_text(chain, report.task),
        "self_assigned": None
        if own is None
        else f"its scheduler {own.record.assigned_by} placed it on a host of its own: if another was clearly cheaper, "
        f"gantry task report-scheduler {number} reports it",
    }


def _show(
    number: int,
    report: FeasibilityReport | CheckFailed,
    replies: tuple[SchedulerReply, ...],
    history: TaskHistory | None,
    notes: Mapping[str, str | None],
) -> None:
    if isinstance(report, CheckFailed):
        details([("Task", number), ("State", "final or unknown" if history is None else state_phrase(history.state))])
        return
    task = report.task
    pairs: list[tuple[str, object]] = [("Task", number), ("State", task.state)]
    pairs += [("Runs on", ", ".join(lease.host for lease in task.leases) or None)]
    pairs += [("At risk", feasibility.risk_text(report.at_risk))]
    pairs += [("Confidential", notes.get("confidential")), ("Own host", notes.get("self_assigned"))]
    if task.open_pods:
        pairs += [("Waits for", counted(len(task.open_pods), "pod"))]
        pairs += feasibility.feasibility_lines(report, reserved_start(replies))
    details(pairs)
    if (why := feasibility.not_waiting_text(task)) is not None:
        say()
        say(why)


def _show_ended(view: TaskView) -> None:
    """Print why a final task ended as it did."""
    pairs: list[tuple[str, object]] = [("Task", view.id), ("State", view.state_text)]
    for lease in view.leases:
        name = f"Pod {lease.pod}"
        pairs += [(name, f"{lease.reason_text} (host {lease.host})" if lease.reason_text else None)]
        pairs += [(name, f"exit code {lease.exit_text}" if lease.exit_code else None)]
    details(pairs)
    if view.given_up is not None or any(lease.exit_code for lease in view.leases):
        say()
        say(f"gantry logs {view.id} shows what the host and the program reported.")


def _fields(
    number: int,
    report: FeasibilityReport | CheckFailed,
    replies: tuple[SchedulerReply, ...],
    history: TaskHistory | None,
    ended: TaskView | None,
) -> dict[str, Any]:
    if isinstance(report, CheckFailed):
        facts: dict[str, Any] = {
            "task": number,
            "state": ended.state if ended is not None else None if history is None else history.state,
            "waits": False,
            "leases": [],
            "reason": None if ended is None else ended.reason,
        }
    else:
        task = report.task
        placed = [{"pod": lease_parts(lease.id)[1], "host": lease.host, "state": lease.state} for lease in task.leases]
        facts = {"task": number, "state": task.state, "waits": bool(task.open_pods), "leases": placed}
        facts["at_risk"] = feasibility.risk_fields(report.at_risk)
        facts |= feasibility.feasibility_fields(report, reserved_start(replies)) if task.open_pods else {}
    facts["schedulers"] = [
        {"source": one.source, "reason": one.reason, **(one.answer.plain() if one.answer is not None else {})}
        for one in replies
    ]
    facts["history"] = None if history is None else asdict(history)
    return facts
