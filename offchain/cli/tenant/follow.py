"""Following a task from its submission to its bill, by the chain's final events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from offchain.adapters.transport.port import TransportError
from offchain.cli.kit.event_text import event_text, state_after
from offchain.cli.kit.host_connection import fetch_result
from offchain.cli.kit.session import blocks, send
from offchain.cli.kit.views import FINAL_STATES, TaskView, read_host, read_task
from offchain.cli.tenant.start_notes import tell_notes
from offchain.errors import GantryError
from offchain.ports import BlockRef, Call, ChainEvent, ChainPort, Signer
from offchain.schema.chain_types.ids import tasks_of_event

_UNTOLD = frozenset({"Submitted", "ItemRefused"})
"""What the tenant knows already, or what is between a scheduler and the chain."""


@dataclass(slots=True)
class Outcome:
    """A finished task: read back from the chain, with the results that arrived (by pod) and the hosts' scores."""

    task: TaskView
    results: dict[int, bytes] = field(default_factory=dict)
    scores: Mapping[str, int | None] = field(default_factory=dict)


async def follow(
    chain: ChainPort, number: int, submitted: BlockRef, signer: Signer, *, accept: bool, tell: Callable[[str], None]
) -> Outcome:
    """Wait until the task is final. Fetches results as soon as they are reported, and accepts them if asked to."""
    results: dict[int, bytes] = {}
    early = asyncio.create_task(_when_reported(chain, number, signer, results, accept=accept, tell=tell))
    notes = asyncio.create_task(tell_notes(chain, number, signer, tell))
    try:
        at = await _finished(chain, number, submitted, tell)
    finally:
        early.cancel()
        notes.cancel()
        await asyncio.gather(early, notes, return_exceptions=True)
    view = await read_task(chain, number, at.hash)
    await _fetch(chain, view, signer, results, tell)
    scores = {lease.host: (await read_host(chain, lease.host, at.hash)).score_ppm for lease in view.leases}
    return Outcome(view, results, scores)


async def until_running(
    chain: ChainPort, number: int, submitted: BlockRef, signer: Signer, tell: Callable[[str], None]
) -> tuple[TaskView, BlockRef]:
    """Wait until the first pods run, or it has come to nothing; the task as it is then."""
    notes = asyncio.create_task(tell_notes(chain, number, signer, tell))
    try:
        at = await _finished(chain, number, submitted, tell, ends=("Running", "Reported", "Verified", *FINAL_STATES))
    finally:
        notes.cancel()
        await asyncio.gather(notes, return_exceptions=True)
    return await read_task(chain, number, at.hash), at


async def _finished(
    chain: ChainPort,
    number: int,
    submitted: BlockRef,
    tell: Callable[[str], None],
    ends: Collection[str] = FINAL_STATES,
) -> BlockRef:
    """Tell the task's final events until it is in one of these states; gives the block of the last."""
    at = submitted
    async with contextlib.aclosing(blocks(chain, submitted.number)) as found:
        async for block in found:
            at = block.ref
            states = [state for event in block.events if (state := _told(event, number, tell)) is not None]
            if states and states[-1].partition("(")[0] in ends:
                break
    return at


async def _when_reported(
    chain: ChainPort,
    number: int,
    signer: Signer,
    results: dict[int, bytes],
    *,
    accept: bool,
    tell: Callable[[str], None],
) -> None:
    """Fetch and accept in the first block that has the report. A fork can take that block back; neither does harm."""
    async for _ in chain.best():
        view = await read_task(chain, number)
        if view.final or view.state == "Verified":
            return
        if view.state == "Reported":
            await _fetch(chain, view, signer, results, tell)
            if accept and all(lease.pod in results for lease in view.leases):
                await _accept(chain, number, signer, tell)
            return


def _told(event: ChainEvent, number: int, tell: Callable[[str], None]) -> str | None:
    """Tell an event of this task; gives the state it went to."""
    if event.pallet != "Tasks" or number not in tasks_of_event(event.fields) or event.name in _UNTOLD:
        return None
    tell(event_text(event))
    return state_after(event)


async def _fetch(
    chain: ChainPort, view: TaskView, signer: Signer, results: dict[int, bytes], tell: Callable[[str], None]
) -> None:
    for lease in view.leases:
        if lease.result_digest is None or lease.pod in results:
            continue
        try:
            results[lease.pod] = await fetch_result(chain, lease, signer)
        except TransportError as error:
            tell(f"The result of pod {lease.pod} did not arrive: {error}. Try later: gantry task result {view.id}.")
        else:
            tell(f"Result of {len(results[lease.pod])} bytes fetched; its digest is the one on the chain.")


async def _accept(chain: ChainPort, number: int, signer: Signer, tell: Callable[[str], None]) -> None:
    """Accept the result. That the dispute window passed first is no error."""
    try:
        await send(chain, Call("Tasks", "accept_result", {"task": number}), signer)
    except GantryError as error:
        view = await read_task(chain, number)
        if view.state not in ("Verified", "Settled"):
            tell(f"The result could not be accepted: {error.message} It is settled when the dispute window has passed.")
