"""What the chain did about a task's placements, from the index: every assignment, and every way back to the queue."""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import dataclass
from typing import Any, Final

import click

from offchain.cli.kit import network, options
from offchain.cli.kit.event_text import event_text, plain_fields, time_text
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import details, emit, progress, say, table
from offchain.cli.kit.session import connected, run
from offchain.cli.tenant import feasibility, scheduler_decisions
from offchain.cli.tenant.feasibility import Asked, outlook_at
from offchain.cli.tenant.scheduler_decisions import Heard
from offchain.core.values import TaskState
from offchain.indexer import queries
from offchain.indexer.database import IndexFault
from offchain.indexer.index import read_meta
from offchain.indexer.plain import unpack, with_bytes
from offchain.ports import ChainEvent, ChainPort
from offchain.schema.chain_types.ids import lease_parts

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


@dataclass(frozen=True, slots=True)
class Step:
    """An event of the task."""

    block: int
    time_ms: int
    name: str
    text: str
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answers:
    """The task's state in the index, and its steps, the oldest first; `up_to_block`: how far the index has come."""

    state: str
    steps: tuple[Step, ...]
    up_to_block: int | None

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        steps = [
            {"block": one.block, "time_ms": one.time_ms, "event": one.name, "text": one.text, "fields": one.fields}
            for one in self.steps
        ]
        return {"state": self.state, "steps": steps, "up_to_block": self.up_to_block}


def answers_of(index: str | None, task: int, genesis: bytes) -> Answers | None:
    """What the index says; None where there is none of this chain, or it does not know the task.

    Raises where an index that was named cannot be asked.
    """
    named = index is not None or bool(os.environ.get("GANTRY_INDEX"))
    address = network.choose_index(index)
    try:
        with contextlib.closing(queries.open_for_reading(address)) as db, db.moment():
            other = read_meta(db).get("genesis") != genesis.hex()
            found = None if other else queries.task(db, task)
            if found is None:
                return None
            last = queries.reached(db)
            happened = queries.mentions(db, str(task), _MOST)
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
            steps.append(Step(row.block, one.time_ms, f"Tasks.{row.name}", text, plain_fields(fields)))
    return Answers(found.state, tuple(steps), None if last is None else last.number)


def show_answers(answers: Answers) -> None:
    """As a table."""
    say()
    table(
        ("BLOCK", "TIME", "ON THE CHAIN", ""),
        [(one.block, time_text(one.time_ms), one.name, one.text) for one in answers.steps],
    )


_HOW = (
    "Ask a scheduler that answers (--scheduler URL; its operator starts it with --answers), or keep an index "
    "(gantry worker indexer). gantry chain inspect task {task} tells the story of a final task."
)


@click.command()
@click.argument("number", type=click.IntRange(0))
@click.option(
    "--scheduler",
    "schedulers",
    metavar="URL|PATH",
    multiple=True,
    help="Ask this scheduler, too: the URL at which it answers, or on its own machine the folder of its state. May be "
    "given several times. Else GANTRY_SCHEDULER, else the scheduler of the local network.",
)
@options.index
@options.url
@options.as_json
def why(number: int, schedulers: tuple[str, ...], index: str | None, url: str | None, as_json: bool) -> None:
    """Tell why a task went where it went, or why it waits.

    Three sources are put together. The chain: where the task is, and while it waits, how many hosts each rule excludes,
    now and even if nothing else ran there. Schedulers: which hosts they compared, with what points, where they placed
    it, and what the chain answered. The index: every assignment and refusal. At risk are
    pods on a host that is not online, has a poor reputation, or takes the lease back, or on a GPU out of order.

    \b
    Examples:
      gantry task why 7
      gantry task why 7 --scheduler http://10.0.0.5:4437
      gantry task why 7 --scheduler ~/.local/state/gantry/scheduler --json
    """
    sources = scheduler_decisions.choose(schedulers, url)

    async def work() -> tuple[Asked | CliError, tuple[Heard, ...], bytes]:
        async with connected(url) as chain:
            heard, asked = await asyncio.gather(scheduler_decisions.ask(sources, number), _asked(chain, number))
            return asked, heard, await chain.genesis_hash()

    asked, heard, genesis = run(work())
    history = answers_of(index, number, genesis)
    known = history is not None or any(one.told is not None and not one.told.empty for one in heard)
    for one in heard:
        if one.told is None:
            progress(f"note: the scheduler {one.source} tells nothing: {one.reason}")
    if isinstance(asked, CliError) and not known:
        remedy = _HOW.format(task=number) if asked.code == "no_task" else asked.remedy
        raise CliError(asked.message, remedy, code=asked.code)
    if as_json:
        emit(_fields(number, asked, heard, history))
        return
    _show(number, asked, heard, history)
    scheduler_decisions.show(heard)
    if history is not None:
        show_answers(history)
    if not known:
        say()
        say(f"What schedulers decided is not known. {_HOW.format(task=number)}")


async def _asked(chain: ChainPort, number: int) -> Asked | CliError:
    try:
        return await outlook_at(chain, number)
    except CliError as error:
        return error


def _show(number: int, asked: Asked | CliError, heard: tuple[Heard, ...], history: Answers | None) -> None:
    if isinstance(asked, CliError):
        details([("Task", number), ("State", "final or unknown" if history is None else history.state)])
        return
    task = asked.task
    pairs: list[tuple[str, object]] = [("Task", number), ("State", task.state)]
    pairs += [("Runs on", ", ".join(lease.host for lease in task.leases) or None)]
    pairs += [("At risk", feasibility.risk_text(asked.at_risk))]
    if task.open_pods:
        pairs += [("Waits for", f"{len(task.open_pods)} pod{'s' if len(task.open_pods) > 1 else ''}")]
        pairs += feasibility.pairs(asked, _reserved(heard))
    details(pairs)
    if not task.open_pods:
        waits = task.state is TaskState.QUEUED
        say()
        say("No scheduler places it: its results are compared." if waits else "It waits for no host.")


def _reserved(heard: tuple[Heard, ...]) -> int | None:
    """When it starts at the latest, as a scheduler has reserved; the first of several."""
    standing = [one.told.now for one in heard if one.told is not None and one.told.now is not None]
    return min((now.starts_by_ms for now in standing if now.starts_by_ms is not None), default=None)


def _fields(number: int, asked: Asked | CliError, heard: tuple[Heard, ...], history: Answers | None) -> dict[str, Any]:
    if isinstance(asked, CliError):
        facts: dict[str, Any] = {
            "task": number,
            "state": None if history is None else history.state,
            "waits": False,
            "leases": [],
        }
    else:
        task = asked.task
        placed = [{"pod": lease_parts(lease.id)[1], "host": lease.host, "state": lease.state} for lease in task.leases]
        facts = {"task": number, "state": task.state, "waits": bool(task.open_pods), "leases": placed}
        facts["at_risk"] = feasibility.risk_fields(asked.at_risk)
        facts |= feasibility.fields(asked, _reserved(heard)) if task.open_pods else {}
    facts["schedulers"] = [
        {"source": one.source, "reason": one.reason, **(one.told.plain() if one.told is not None else {})}
        for one in heard
    ]
    facts["history"] = None if history is None else history.plain()
    return facts
