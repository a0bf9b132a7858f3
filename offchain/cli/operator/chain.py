"""gantry chain."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import click

from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit import options
from offchain.cli.kit.event_text import Bill, event_text, failure_of, plain_fields, state_after, time_text
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import details, emit, progress, say, table
from offchain.cli.kit.session import connected, run
from offchain.cli.kit.views import FINAL_STATES
from offchain.errors import BadReply
from offchain.ports import Block, ChainEvent, ChainPort
from offchain.schema.chain_types.ids import TASK_PALLETS, lease_parts, task_key, tasks_of_event
from offchain.schema.manifest.values import format_amount


@click.group()
def chain() -> None:
    """Look into the chain's history.

    \b
    Example:
      gantry chain inspect task 7
    """


@chain.group(
    epilog="Everything is read from the events of finalized blocks. A node keeps those of old blocks only with "
    "--state-pruning archive. --from-block N spares the search for the first block."
)
def inspect() -> None:
    """Tell the whole story of a task, a lease or a host from the chain's events alone.

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
@options.url
@options.as_json
def task(number: int, from_block: int | None, url: str | None, as_json: bool) -> None:
    """Tell a task's story, also where it was removed from the chain's storage, with a bill added up from events.

    \b
    Examples:
      gantry chain inspect task 7
      gantry chain inspect task 7 --json | jq .bill.paid
    """
    _tell({"task": number}, url, lambda port, tell: task_story(port, number, from_block, tell), as_json=as_json)


@inspect.command("lease")
@click.argument("number", type=click.IntRange(0))
@_FROM_BLOCK
@options.url
@options.as_json
def lease(number: int, from_block: int | None, url: str | None, as_json: bool) -> None:
    """Tell a lease's story.

    \b
    Example:
      gantry chain inspect lease 117440512
    """
    _tell({"lease": number}, url, lambda port, tell: lease_story(port, number, from_block, tell), as_json=as_json)


@inspect.command("host")
@options.address
@_FROM_BLOCK
@options.url
@options.as_json
def host(address: str, from_block: int | None, url: str | None, as_json: bool) -> None:
    """Tell a host's story, with the leases on it and what they brought in.

    \b
    Example:
      gantry chain inspect host 5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX
    """
    _tell({"host": address}, url, lambda port, tell: host_story(port, address, from_block, tell), as_json=as_json)


def _tell(
    subject: dict[str, Any],
    url: str | None,
    read: Callable[[ChainPort, Tell], Awaitable[Story]],
    *,
    as_json: bool,
) -> None:
    async def work() -> Story:
        async with connected(url) as port:
            return await read(port, progress)

    story = run(work())
    if not story.complete:
        progress("The beginning is missing: it lies before the first block read, or the node no longer keeps it.")
    if as_json:
        emit(
            subject
            | {
                "state": story.state,
                "pruned": story.pruned,
                "complete": story.complete,
                "events": [entry.plain() for entry in story.entries],
                "bill": story.bill.plain(),
            }
        )
        return
    table(
        ("BLOCK", "TIME", "EVENT", ""),
        [(entry.block, time_text(entry.time_ms), entry.event.name, entry.text) for entry in story.entries],
    )
    say()
    bill = story.bill.plain()
    fee, back = format_amount(bill["fee"]), format_amount(bill["refunded"])
    details(
        [
            ("State", story.state),
            ("Paid", f"{bill['paid_gty']} ({bill['paid']} base units), {fee} of it protocol fee; {back} came back"),
        ]
    )


_FETCHED_AHEAD = 16
_TELL_EVERY = 1_000


async def first_where(chain: ChainPort, low: int, high: int, holds: Callable[[bytes], Awaitable[bool]]) -> int:
    """The first block from `low` to `high` in whose state something holds that holds in all later ones, too.

    It must hold at `high`. Blocks whose state the node no longer keeps count as those in which it does not hold.
    """
    while low < high:
        middle = (low + high) // 2
        if await _holds(chain, middle, holds):
            high = middle
        else:
            low = middle + 1
    return high


async def _holds(chain: ChainPort, number: int, holds: Callable[[bytes], Awaitable[bool]]) -> bool:
    try:
        return await holds((await chain.block_ref(number)).hash)
    except BadReply as error:
        if error.code == "state_pruned":
            return False
        raise


async def blocks(
    chain: ChainPort, first: int, last: int, tell: Callable[[str], None] = lambda _: None
) -> AsyncGenerator[Block, None]:
    """These final blocks in order, the next ones already on their way. `tell` hears of progress."""
    ahead: deque[asyncio.Task[Block]] = deque()
    upcoming = first
    try:
        while upcoming <= last or ahead:
            while upcoming <= last and len(ahead) < _FETCHED_AHEAD:
                ahead.append(asyncio.create_task(_fetch(chain, upcoming)))
                upcoming += 1
            block = await ahead.popleft()
            if (block.ref.number - first + 1) % _TELL_EVERY == 0:
                tell(f"Read block {block.ref.number}; the last is {last}.")
            yield block
    finally:
        for task in ahead:
            task.cancel()
        await asyncio.gather(*ahead, return_exceptions=True)


async def _fetch(chain: ChainPort, number: int) -> Block:
    return await chain.block(number)


Tell = Callable[[str], None]

_BY_OLD_NUMBERS = frozenset(
    [("Leases", "Started"), ("Leases", "Ended")]
    + [("Billing", name) for name in ("EscrowOpened", "EscrowStarted", "EscrowClosed")]
)
"""Events of the first release, in which a lease's number did not contain its task's."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One event with the block it is in."""

    block: int
    time_ms: int
    event: ChainEvent
    text: str

    def plain(self) -> dict[str, Any]:
        """For --json."""
        return {
            "block": self.block,
            "time": self.time_ms,
            "event": f"{self.event.pallet}.{self.event.name}",
            "fields": plain_fields(self.event.fields),
            "text": self.text,
        }


@dataclass(slots=True)
class Story:
    """Events in order and what they add up to. `complete`: nothing that came before them is missing."""

    entries: list[Entry] = field(default_factory=list)
    bill: Bill = field(default_factory=Bill)
    state: str | None = None
    complete: bool = False
    pruned: bool = False

    def add(self, block: Block, event: ChainEvent) -> None:
        """The next event."""
        text = event_text(event, failure_of(event, block))
        self.entries.append(Entry(block.ref.number, block.timestamp_ms, event, text))
        self.bill.note(event)
        self.state = state_after(event) or self.state
        self.complete |= event.name in ("Submitted", "Registered")
        self.pruned |= event.name == "Pruned"

    @property
    def final(self) -> bool:
        """Whether the task can go to no other state."""
        return self.state is not None and self.state.partition("(")[0] in FINAL_STATES


async def task_story(chain: ChainPort, task: int, from_block: int | None, tell: Tell) -> Story:
    """A task from its submission until it is pruned, or until now. Raises CliError where there is no such task."""
    typed = GantryChain(chain)
    head = await chain.finalized_head()
    if task >= await typed.next_task(head.hash):
        raise CliError(f"there is no task {task}.", "gantry task list shows those there are.", code="no_such_task")

    async def submitted(at: bytes) -> bool:
        return await typed.next_task(at) > task

    first = from_block if from_block is not None else await first_where(chain, 0, head.number, submitted)
    story = Story()
    upcoming: int | None = first
    while upcoming is not None:
        last = upcoming
        async with aclosing(blocks(chain, upcoming, head.number, tell)) as found:
            async for block in found:
                last = block.ref.number
                for event in block.events:
                    if _is_about(event, task, story.bill.leases):
                        story.add(block, event)
                if story.final:
                    break
        if story.pruned or not story.final:
            break
        # Of a final task little more is heard, and that long after: go where its record changes next.
        upcoming = await _next_change(chain, task, last, head.number)
    return story


def _is_about(event: ChainEvent, task: int, leases: Container[int]) -> bool:
    """Whether an event is about a task, whose leases are known so far."""
    if event.pallet not in TASK_PALLETS:
        return False
    if (event.pallet, event.name) in _BY_OLD_NUMBERS:
        return event.fields["lease"] in leases
    return task in tasks_of_event(event.fields)


async def _next_change(chain: ChainPort, task: int, after: int, last: int) -> int | None:
    """The first block after this one that changed a final task's record; None where none did."""

    async def record(at: bytes) -> Any:
        return await chain.query("Tasks", "Tasks", (task_key(task),), at)

    known = await record((await chain.block_ref(after)).hash)

    async def differs(at: bytes) -> bool:
        return bool(await record(at) != known)

    if not await differs((await chain.block_ref(last)).hash):
        return None
    return await first_where(chain, after + 1, last, differs)


async def lease_story(chain: ChainPort, lease: int, from_block: int | None, tell: Tell) -> Story:
    """What happened to one lease. Raises CliError where its task's events know of none of this number."""
    whole = await task_story(chain, lease_parts(lease)[0], from_block, tell)
    story = Story(state=whole.state, complete=whole.complete, pruned=whole.pruned)
    story.entries = [entry for entry in whole.entries if lease in _leases_of(entry.event)]
    if lease in whole.bill.leases:
        story.bill.leases[lease] = whole.bill.leases[lease]
    if not story.entries:
        raise CliError(
            f"no event speaks of a lease {lease}.",
            "gantry chain inspect task shows a task's leases.",
            code="no_such_lease",
        )
    return story


async def host_story(chain: ChainPort, host: str, from_block: int | None, tell: Tell) -> Story:
    """What happened to a host and to the leases on it. Raises CliError where it was never registered."""
    head = await chain.finalized_head()

    async def registered(at: bytes) -> bool:
        return await chain.query("Hosts", "Hosts", (host,), at) is not None

    if not await registered(head.hash):
        raise CliError(f"no host {host} is registered.", "gantry host list shows those there are.", code="no_such_host")
    first = from_block if from_block is not None else await first_where(chain, 0, head.number, registered)
    story = Story()
    async with aclosing(blocks(chain, first, head.number, tell)) as found:
        async for block in found:
            for event in block.events:
                opened = event.fields.get("leases", ()) if event.name == "Assigned" else ()
                ours = event.fields.get("host") == host or any(where == host for _, where, *_ in opened)
                if ours or not _leases_of(event).isdisjoint(story.bill.leases):
                    story.add(block, event)
                    story.bill.leases = {n: one for n, one in story.bill.leases.items() if one.host in (None, host)}
    return story


def _leases_of(event: ChainEvent) -> set[int]:
    """The leases that an event names."""
    if event.pallet not in TASK_PALLETS:
        return set()
    fields = event.fields
    named = {fields[name] for name in ("lease", "from", "to") if isinstance(fields.get(name), int)}
    opened: Iterable[Any] = fields["leases"] if event.name == "Assigned" else ()
    return named | {lease for lease, *_ in opened} | {bill["lease"] for bill in fields.get("bills", ())}
