"""gantry trace: one timeline of a task from the chain, schedulers and log files."""

from __future__ import annotations

from pathlib import Path

import click

from offchain.cli.kit import options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import details, emit, progress, say, table
from offchain.cli.kit.session import run
from offchain.cli.operator.chain import task_history
from offchain.cli.tenant import scheduler_decisions
from offchain.cli.tenant.task_why import read_history
from offchain.ports import ChainPort
from offchain.schema.trace_ids import is_trace_id, task_of_trace, trace_id
from offchain.services.event_text import time_text
from offchain.services.scheduler_replies import ask_schedulers
from offchain.services.task_timeline import TimelineEntry, decision_entries, in_order, log_entries


@click.command()
@click.argument("subject", metavar="ID|TASK")
@click.option(
    "--log",
    "logs",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Log of a worker or an agent. May be repeated.",
)
@click.option(
    "--scheduler",
    "schedulers",
    metavar="URL|PATH",
    multiple=True,
    help="A scheduler whose decisions count: its URL, or its state folder. May be repeated. Else GANTRY_SCHEDULER, "
    "else the scheduler of the local network.",
)
@options.index
@options.common()
def trace(
    subject: str, logs: tuple[Path, ...], schedulers: tuple[str, ...], index: str | None, common: options.CommonOptions
) -> None:
    """Show the timeline of a task, from its submission to the exit of its containers.

    The argument is a trace id, as log lines and OpenTelemetry have it, or the number of the task. Events are read from
    the index if there is one, else from the chain's blocks.

    \b
    Examples:
      gantry trace 7 --log /var/log/gantry/scheduler.log --log /var/log/gantry/agent.log
      gantry trace 0000000000000007c43f1f0f9d9f1e0a --json
    """
    sources = scheduler_decisions.choose_schedulers(schedulers, common.url)

    async def work() -> tuple[int, str, list[TimelineEntry]]:
        async with common.connected() as chain:
            genesis = await chain.genesis_hash()
            task = _task_of(subject, genesis)
            entries = await _chain_entries(chain, genesis, task, index)
            for reply in await ask_schedulers(sources, task):
                if reply.answer is None:
                    progress(f"note: no answer from the scheduler {reply.source}: {reply.reason}")
                else:
                    entries += decision_entries(reply.answer)
            return task, trace_id(genesis, task), entries

    task, found, entries = run(work())
    for path in logs:
        entries += log_entries(path, found)
    entries = in_order(entries)
    if common.as_json:
        emit({"task": task, "trace": found, "entries": [entry.plain() for entry in entries]})
        return
    details([("Task", task), ("Trace", found)])
    say()
    table(
        ("TIME", "SOURCE", "ORIGIN", ""),
        [(f"{time_text(one.time_ms)}.{one.time_ms % 1000:03d}", one.source, one.origin, one.text) for one in entries],
    )
    if not logs:
        say()
        say("No log was given (--log FILE): the lines of workers and agents are missing.")


def _task_of(subject: str, genesis: bytes) -> int:
    if is_trace_id(subject.lower()):
        try:
            return task_of_trace(genesis, subject.lower())
        except ValueError as error:
            raise CliError(f"{subject}: {error}.", "Choose its network with --url.", code="wrong_chain") from None
    return options.TASK.convert(subject, None, None)  # type: ignore[no-any-return]


async def _chain_entries(chain: ChainPort, genesis: bytes, task: int, index: str | None) -> list[TimelineEntry]:
    known = read_history(index, task, genesis)
    if known is not None and not known.events_from_block:
        return [TimelineEntry(one.time_ms, "chain", f"block {one.block}", one.text) for one in known.steps]
    history = await task_history(chain, task, None, progress)
    if not history.complete:
        progress("note: the node has removed the state of the blocks in which the task began.")
    return [TimelineEntry(entry.time_ms, "chain", f"block {entry.block}", entry.text) for entry in history.entries]
