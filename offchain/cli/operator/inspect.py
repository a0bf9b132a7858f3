"""Stories from events alone: of a task, a lease or a host."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit import block_scan
from offchain.cli.kit.event_text import Bill, event_text, failure_of, plain_fields, state_after
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.views import FINAL_STATES
from offchain.ports import Block, ChainEvent, ChainPort
from offchain.schema.chain_types.ids import TASK_PALLETS, lease_parts, task_key, tasks_of_event

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

    first = from_block if from_block is not None else await block_scan.first_where(chain, 0, head.number, submitted)
    story = Story()
    upcoming: int | None = first
    while upcoming is not None:
        last = upcoming
        async with aclosing(block_scan.blocks(chain, upcoming, head.number, tell)) as found:
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
    return await block_scan.first_where(chain, after + 1, last, differs)


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
    first = from_block if from_block is not None else await block_scan.first_where(chain, 0, head.number, registered)
    story = Story()
    async with aclosing(block_scan.blocks(chain, first, head.number, tell)) as found:
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
