"""gantry chain inspect: the history of a task, a lease or a host, read from the events of finalized blocks."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import click

from offchain.adapters.chain.block_search import first_block_where
from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit import options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import details, emit, progress, say, table
from offchain.cli.kit.session import run
from offchain.cli.operator.schedulers import schedulers
from offchain.ports import Block, ChainEvent, ChainPort
from offchain.schema.chain_types.ids import TASK_PALLETS, lease_parts, task_key, tasks_of_event
from offchain.schema.chain_types.values import FINAL_TASK_STATES
from offchain.schema.manifest.values import format_amount
from offchain.services.event_text import (
    TaskBill,
    event_text,
    failure_of,
    state_after,
    state_phrase,
    time_text,
)

_FETCHED_AHEAD = 16
_TELL_EVERY = 1_000
_BY_OLD_NUMBERS = frozenset(
    [("Leases", "Started"), ("Leases", "Ended")]
    + [("Billing", name) for name in ("EscrowOpened", "EscrowStarted", "EscrowClosed")]
)
"""Events of the first release, in which the number of a lease did not contain that of its task."""


@click.group()
def chain() -> None:
    """Read the chain's history, and the records that concern operators.

    \b
    Examples:
      gantry chain inspect task 7
      gantry chain schedulers
    """


chain.add_command(schedulers)


@chain.group(
    epilog="Everything is read from the events of finalized blocks. A node keeps those of old blocks only with "
    "--state-pruning archive. --from-block N spares the search for the first block."
)
def inspect() -> None:
    """Show the history of a task, a lease or a host from the chain's events alone.

    \b
    Examples:
      gantry chain inspect task 7
      gantry chain inspect lease 117440512 --json
      gantry chain inspect host 5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX --from-block 1000
    """


_FROM_BLOCK = click.option(
    "--from-block", metavar="N", type=click.IntRange(0), help="Begin with this block instead of the first that counts."
)


@inspect.command("task")
@click.argument("number", type=click.IntRange(0))
@_FROM_BLOCK
@options.common()
def task(number: int, from_block: int | None, common: options.CommonOptions) -> None:
    """Show the history of a task, also of a removed one, with a bill added up from events.

    \b
    Examples:
      gantry chain inspect task 7
      gantry chain inspect task 7 --json | jq .bill.paid
    """
    _print_history({"task": number}, common, lambda port: task_history(port, number, from_block, progress))


@inspect.command("lease")
@click.argument("number", type=click.IntRange(0))
@_FROM_BLOCK
@options.common()
def lease(number: int, from_block: int | None, common: options.CommonOptions) -> None:
    """Show the history of a lease.

    \b
    Example:
      gantry chain inspect lease 117440512
    """
    _print_history({"lease": number}, common, lambda port: lease_history(port, number, from_block, progress))


@inspect.command("host")
@options.address
@_FROM_BLOCK
@options.common()
def host(address: str, from_block: int | None, common: options.CommonOptions) -> None:
    """Show the history of a host, with its leases and what they earned.

    \b
    Example:
      gantry chain inspect host 5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX
    """
    _print_history({"host": address}, common, lambda port: host_history(port, address, from_block, progress))


def _print_history(
    subject: dict[str, Any],
    common: options.CommonOptions,
    read: Callable[[ChainPort], Awaitable[EventHistory]],
) -> None:
    async def work() -> EventHistory:
        async with common.connected() as port:
            return await read(port)

    history = run(work())
    if not history.complete:
        progress("The beginning is missing: it is before the first block read, or the node has pruned it.")
    if common.as_json:
        emit(
            subject
            | {
                "state": history.state,
                "pruned": history.pruned,
                "complete": history.complete,
                "events": [entry.plain() for entry in history.entries],
                "bill": history.bill.plain(),
            }
        )
        return
    table(
        ("BLOCK", "TIME", "EVENT", ""),
        [(entry.block, time_text(entry.time_ms), entry.event.name, entry.text) for entry in history.entries],
    )
    say()
    bill = history.bill.plain()
    fee, back = format_amount(bill["fee"]), format_amount(bill["refunded"])
    whose = "tenants" if "host" in subject else "the tenant"
    paid = f"{bill['paid_gty']} ({bill['paid']} base units), {fee} of it protocol fee; {back} refunded to {whose}"
    state = None if history.state is None else state_phrase(history.state)
    details([("State", state), ("Paid for its leases" if "host" in subject else "Paid", paid)])


async def read_blocks(
    chain: ChainPort, first: int, last: int, notify: Callable[[str], None] = lambda _: None
) -> AsyncGenerator[Block, None]:
    """Yield final blocks in order, fetching the next ones ahead. `notify` receives progress messages."""
    ahead: deque[asyncio.Task[Block]] = deque()
    upcoming = first
    try:
        while upcoming <= last or ahead:
            while upcoming <= last and len(ahead) < _FETCHED_AHEAD:
                ahead.append(asyncio.create_task(_fetch(chain, upcoming)))
                upcoming += 1
            block = await ahead.popleft()
            if (block.ref.number - first + 1) % _TELL_EVERY == 0:
                notify(f"Read block {block.ref.number}; the last is {last}.")
            yield block
    finally:
        for task in ahead:
            task.cancel()
        await asyncio.gather(*ahead, return_exceptions=True)


async def _fetch(chain: ChainPort, number: int) -> Block:
    return await chain.block(number)


ReportProgress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class EventEntry:
    """An event with its block."""

    block: int
    time_ms: int
    event: ChainEvent
    text: str

    def plain(self) -> dict[str, Any]:
        return {
            "block": self.block,
            "time": self.time_ms,
            "event": f"{self.event.pallet}.{self.event.name}",
            "fields": self.event.fields,
            "text": self.text,
        }


@dataclass(slots=True)
class EventHistory:
    """Events in order and what they add up to. `complete`: no earlier event is missing."""

    entries: list[EventEntry] = field(default_factory=list)
    bill: TaskBill = field(default_factory=TaskBill)
    state: str | None = None
    complete: bool = False
    pruned: bool = False

    def add(self, block: Block, event: ChainEvent) -> None:
        text = event_text(event, failure_of(event, block))
        self.entries.append(EventEntry(block.ref.number, block.timestamp_ms, event, text))
        self.bill.note(event)
        self.state = state_after(event) or self.state
        self.complete |= event.name in ("Submitted", "Registered")
        self.pruned |= event.name == "Pruned"

    @property
    def final(self) -> bool:
        """Whether the state of the task can no longer change."""
        return self.state is not None and self.state.partition("(")[0] in FINAL_TASK_STATES


async def task_history(chain: ChainPort, task: int, from_block: int | None, notify: ReportProgress) -> EventHistory:
    """Return the events of a task from its submission to its pruning, or until now. Raises CliError."""
    typed = GantryChain(chain)
    head = await chain.finalized_head()
    if task >= await typed.next_task(head.hash):
        raise CliError(f"there is no task {task}.", "gantry task list shows the existing ones.", code="no_such_task")

    async def submitted(at: bytes) -> bool:
        return await typed.next_task(at) > task

    first = from_block if from_block is not None else await first_block_where(chain, 0, head.number, submitted)
    history = EventHistory()
    upcoming: int | None = first
    while upcoming is not None:
        last = upcoming
        async with aclosing(read_blocks(chain, upcoming, head.number, notify)) as found:
            async for block in found:
                last = block.ref.number
                for event in block.events:
                    if _is_about(event, task, history.bill.leases):
                        history.add(block, event)
                if history.final:
                    break
        if history.pruned or not history.final:
            break
        # A final task has few, late events: jump to the next change of its record.
        upcoming = await _next_change(chain, task, last, head.number)
    return history


def _is_about(event: ChainEvent, task: int, leases: Container[int]) -> bool:
    """Return whether an event concerns a task with these leases."""
    if event.pallet not in TASK_PALLETS:
        return False
    if (event.pallet, event.name) in _BY_OLD_NUMBERS:
        return event.fields["lease"] in leases
    return task in tasks_of_event(event.fields)


async def _next_change(chain: ChainPort, task: int, after: int, last: int) -> int | None:
    """Return the first later block that changed a final task's record; None if none did."""

    async def record(at: bytes) -> Any:
        return await chain.query("Tasks", "Tasks", (task_key(task),), at)

    known = await record((await chain.block_ref(after)).hash)

    async def differs(at: bytes) -> bool:
        return bool(await record(at) != known)

    if not await differs((await chain.block_ref(last)).hash):
        return None
    return await first_block_where(chain, after + 1, last, differs)


async def lease_history(chain: ChainPort, lease: int, from_block: int | None, notify: ReportProgress) -> EventHistory:
    """Return the events of a lease. Raises CliError if its task has no such lease."""
    whole = await task_history(chain, lease_parts(lease)[0], from_block, notify)
    history = EventHistory(state=whole.state, complete=whole.complete, pruned=whole.pruned)
    history.entries = [entry for entry in whole.entries if lease in _leases_of(entry.event)]
    if lease in whole.bill.leases:
        history.bill.leases[lease] = whole.bill.leases[lease]
    if not history.entries:
        raise CliError(
            f"no event speaks of a lease {lease}.",
            "gantry chain inspect task shows a task's leases.",
            code="no_such_lease",
        )
    return history


async def host_history(chain: ChainPort, host: str, from_block: int | None, notify: ReportProgress) -> EventHistory:
    """Return the events of a host and of its leases. Raises CliError if the host is not registered."""
    head = await chain.finalized_head()

    async def registered(at: bytes) -> bool:
        return await chain.query("Hosts", "Hosts", (host,), at) is not None

    if not await registered(head.hash):
        raise CliError(f"no host {host} is registered.", "gantry host list shows all hosts.", code="no_such_host")
    first = from_block if from_block is not None else await first_block_where(chain, 0, head.number, registered)
    history = EventHistory()
    async with aclosing(read_blocks(chain, first, head.number, notify)) as found:
        async for block in found:
            for event in block.events:
                opened = event.fields.get("leases", ()) if event.name == "Assigned" else ()
                ours = event.fields.get("host") == host or any(where == host for _, where, *_ in opened)
                if ours or not _leases_of(event).isdisjoint(history.bill.leases):
                    history.add(block, event)
                    history.bill.leases = {n: one for n, one in history.bill.leases.items() if one.host in (None, host)}
    history.state = None  # the events were those of several tasks
    return history


def _leases_of(event: ChainEvent) -> set[int]:
    """Return the leases that an event names."""
    if event.pallet not in TASK_PALLETS:
        return set()
    fields = event.fields
    named = {fields[name] for name in ("lease", "from", "to") if isinstance(fields.get(name), int)}
    opened: Iterable[Any] = fields["leases"] if event.name == "Assigned" else ()
    return named | {lease for lease, *_ in opened} | {bill["lease"] for bill in fields.get("bills", ())}
