"""Follow a task from its submission to its bill, by the chain's final events, and print what its hosts report."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from offchain.adapters.transport.port import TransportError
from offchain.cli.kit.host_connection import fetch_result, open_lease_host
from offchain.cli.kit.session import blocks, send
from offchain.errors import GantryError
from offchain.ports import BlockRef, Call, ChainEvent, ChainPort, Signer
from offchain.schema.chain_types.ids import tasks_of_event
from offchain.schema.chain_types.values import FINAL_TASK_STATES
from offchain.schema.value_text import counted
from offchain.services.event_text import event_text, state_after
from offchain.services.host_views import read_host
from offchain.services.record_views import LeaseView, TaskView, read_task

_OMITTED = frozenset({"Submitted", "ItemRefused"})
"""Events that the tenant knows already, or that concern only schedulers."""
_COMPARISON = frozenset(
    ("Verification", name)
    for name in ("ResultCommitted", "AuditDrawn", "ReplicaRejected", "SlashShared", "ExtraPodWanted")
)
"""Events about compared results."""
ASK_AGAIN_S: Final = 3.0
ANSWER_S: Final = 5.0
"""How long a host may take for an answer before it is asked again later."""
LARGEST_LOG: Final = 1 << 16
"""The part of a log, in bytes, that is read for notes: before a pod starts, its log has lines of the host only."""
_WAITS: Final = ("Queued", "Assigned")
_NOTE: Final = re.compile(r"\S+ \[(.*)\]")
_GIVEN_BACK: Final = re.compile(r"the host gave this pod back \(\w+\): (.*)")
LAST_LINES: Final = 20
"""How much of the log of a failed program is shown."""


@dataclass(slots=True)
class TaskOutcome:
    """A finished task with the results that arrived, by pod, and the scores of its hosts.

    `causes`: what a host reported about a pod that it gave back, by lease. `log`: the end of a failed program's log.
    """

    task: TaskView
    results: dict[int, bytes] = field(default_factory=dict)
    scores: Mapping[str, int | None] = field(default_factory=dict)
    causes: Mapping[int, str] = field(default_factory=dict)
    log: bytes = b""

    @property
    def cause(self) -> str | None:
        """What the host of the last failed attempt reported."""
        last = self.task.given_up
        return None if last is None else self.causes.get(last.id)


async def follow(
    chain: ChainPort,
    number: int,
    submitted: BlockRef,
    signer: Signer,
    *,
    accept: bool,
    notify: Callable[[str], None],
    show_log: Callable[[bytes], None] | None = None,
) -> TaskOutcome:
    """Wait until the task is final. Fetches results as soon as they are reported, and accepts them if asked to.

    `show_log` gets the log of the first pod as it comes.
    """
    results: dict[int, bytes] = {}
    early = asyncio.create_task(_when_reported(chain, number, signer, results, accept=accept, notify=notify))
    notes = StartNotes(chain, number, signer, notify)
    reporting = asyncio.create_task(notes.report())
    log_task = None if show_log is None else asyncio.create_task(_follow_log(chain, number, signer, show_log))
    beside = [early, reporting, *([] if log_task is None else [log_task])]
    try:
        at = await _finished(chain, number, submitted, notify)
        if log_task is not None:
            await asyncio.wait([log_task], timeout=ANSWER_S)
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
    view = await read_task(chain, number, at.hash)
    await notes.read(view)
    await _fetch(chain, view, signer, results, notify)
    scores = {lease.host: (await read_host(chain, lease.host, at.hash)).score_ppm for lease in view.leases}
    failed = next((lease for lease in view.result_leases if lease.exit_code), None)
    log = b"" if failed is None or show_log is not None else await _read_log(chain, failed, signer, tail=LAST_LINES)
    return TaskOutcome(view, results, scores, notes.causes, log)


async def until_running(
    chain: ChainPort, number: int, submitted: BlockRef, signer: Signer, notify: Callable[[str], None]
) -> TaskOutcome:
    """Wait until the first pods run or the task has failed, and return the task at that block."""
    notes = StartNotes(chain, number, signer, notify)
    reporting = asyncio.create_task(notes.report())
    try:
        at = await _finished(
            chain, number, submitted, notify, ends=("Running", "Reported", "Verified", *FINAL_TASK_STATES)
        )
    finally:
        reporting.cancel()
        await asyncio.gather(reporting, return_exceptions=True)
    view = await read_task(chain, number, at.hash)
    await notes.read(view)
    return TaskOutcome(view, causes=notes.causes)


async def _finished(
    chain: ChainPort,
    number: int,
    submitted: BlockRef,
    notify: Callable[[str], None],
    ends: Collection[str] = FINAL_TASK_STATES,
) -> BlockRef:
    """Report the task's final events until it is in one of these states, and return the block of the last."""
    at = submitted
    if (await read_task(chain, number, at.hash)).state.partition("(")[0] in ends:
        return at
    async with contextlib.aclosing(blocks(chain, submitted.number)) as found:
        async for block in found:
            at = block.ref
            states = [state for event in block.events if (state := _notify_event(event, number, notify)) is not None]
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
    notify: Callable[[str], None],
) -> None:
    """Fetch and accept results in the first block that has the report; a fork that removes the block does no harm."""
    async for _ in chain.best():
        view = await read_task(chain, number)
        if view.is_final or view.state == "Verified":
            return
        if view.state == "Reported":
            await _fetch(chain, view, signer, results, notify)
            failed = next((lease for lease in view.leases if lease.exit_code), None)
            if accept and failed is not None:
                notify(
                    f"The program of pod {failed.pod} ended with exit code {failed.exit_code}, so the result is not "
                    f"accepted: gantry task accept {number} accepts it, gantry task dispute {number} disputes it."
                )
            elif accept and all(lease.pod in results for lease in view.result_leases):
                await _accept(chain, number, signer, notify)
            return


def _notify_event(event: ChainEvent, number: int, notify: Callable[[str], None]) -> str | None:
    """Report an event of this task, and return the state that it leads to."""
    is_about_tasks = event.pallet == "Tasks" or (event.pallet, event.name) in _COMPARISON
    if not is_about_tasks or number not in tasks_of_event(event.fields) or event.name in _OMITTED:
        return None
    notify(event_text(event))
    return state_after(event)


async def _fetch(
    chain: ChainPort, view: TaskView, signer: Signer, results: dict[int, bytes], notify: Callable[[str], None]
) -> None:
    for lease in view.result_leases:
        if lease.result_digest is None or lease.pod in results:
            continue
        if view.is_compared and results:
            return  # the others are equal
        try:
            results[lease.pod] = await fetch_result(chain, lease, signer)
        except TransportError as error:
            notify(f"The result of pod {lease.pod} did not arrive: {error}. Try later: gantry task result {view.id}.")
        else:
            size = counted(len(results[lease.pod]), "byte")
            notify(f"Result of {size} fetched; its digest matches the chain.")


async def _accept(chain: ChainPort, number: int, signer: Signer, notify: Callable[[str], None]) -> None:
    """Accept the result. It is no error if the dispute window has passed first."""
    try:
        await send(chain, Call("Tasks", "accept_result", {"task": number}), signer, quiet=True)
    except GantryError as error:
        view = await read_task(chain, number)
        if view.state not in ("Verified", "Settled"):
            notify(f"The result could not be accepted: {error.message} The task is settled after the dispute window.")


class StartNotes:
    """Notes of hosts about pods that have not started, each reported once.

    `causes`: what a host reported about a pod that it gave back, by lease.
    """

    def __init__(self, chain: ChainPort, number: int, signer: Signer, notify: Callable[[str], None]) -> None:
        self._chain = chain
        self._number = number
        self._signer = signer
        self._notify = notify
        self._reported: set[tuple[int, str]] = set()
        self._given_up: set[int] = set()
        """Leases that have ended and whose notes were read."""
        self.causes: dict[int, str] = {}

    async def report(self) -> None:
        """Report the notes until every pod of the task has started or the task has ended."""
        loop = asyncio.get_running_loop()
        due_s = loop.time()
        async for _ in self._chain.best():
            is_due = loop.time() >= due_s
            if is_due:
                due_s = loop.time() + ASK_AGAIN_S
            view = await read_task(self._chain, self._number)
            if view.state.partition("(")[0] not in _WAITS:
                return
            await self.read(view, pending=is_due)

    async def read(self, view: TaskView, *, pending: bool = False) -> None:
        """Report the notes about pods that were given back, and with `pending` about those that have not started."""
        for lease in view.leases:
            refused = lease.state.startswith("Ended(HostRefused") and lease.id not in self._given_up
            if not refused and not (pending and lease.state == "Pending"):
                continue
            if refused:
                self._given_up.add(lease.id)
            log = await _read_log(self._chain, lease, self._signer)
            for note in notes_in(log.decode("utf-8", errors="replace").splitlines()):
                if (lease.id, note) not in self._reported:
                    self._reported.add((lease.id, note))
                    self._notify(f"Pod {lease.pod}: {note}.")
                if (cause := _GIVEN_BACK.fullmatch(note)) is not None:
                    self.causes[lease.id] = cause[1]


async def _follow_log(chain: ChainPort, number: int, signer: Signer, show: Callable[[bytes], None]) -> None:
    """Pass the log of the task's first pod to `show` as it comes, run by run, until the task is final.

    Hosts show the log of an audited job only when its result is revealed, or the task is over.
    """
    shown: int | None = None
    async for _ in chain.best():
        view = await read_task(chain, number)
        lease = next((one for one in view.leases if one.pod == 0 and one.started_at is not None), None)
        if view.audited and lease is not None and lease.result_digest is None and not view.is_final:
            continue
        if lease is not None and lease.id != shown:
            shown = lease.id
            # The connection also ends when the lease moves.
            with contextlib.suppress(TransportError, GantryError):
                async with open_lease_host(chain, lease, signer) as client:
                    async for piece in client.logs(lease.id, follow=True):
                        show(piece)
        if view.is_final:
            return


async def _read_log(chain: ChainPort, lease: LeaseView, signer: Signer, *, tail: int | None = None) -> bytes:
    """Return the log of a pod, at most `LARGEST_LOG` bytes; empty if there is none, or no way to its host now."""
    log = bytearray()
    try:
        async with asyncio.timeout(ANSWER_S), open_lease_host(chain, lease, signer) as client:
            async for piece in client.logs(lease.id, tail=tail):
                log += piece
                if len(log) > LARGEST_LOG:
                    break
    except (TransportError, GantryError, TimeoutError):
        return b""  # what matters comes from the chain
    return bytes(log)


def notes_in(lines: Iterable[str]) -> Iterable[str]:
    """Return the host's own lines in a log, without time and brackets."""
    for line in lines:
        if (found := _NOTE.fullmatch(line)) is not None:
            yield "".join(letter for letter in found[1] if letter.isprintable())
