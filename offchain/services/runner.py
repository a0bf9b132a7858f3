"""Runs worker roles in this process until it is told to stop: what `gantry worker` starts.

Several roles share one connection, one view, one account and its outbox.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from offchain.adapters.chain import chain_pin
from offchain.adapters.chain.continuity import continued
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.chain.watcher import Watcher
from offchain.adapters.outbox.outbox import Outbox
from offchain.adapters.outbox.store import Store
from offchain.core.scheduler.config import SchedulerConfig
from offchain.errors import ChainUnreachable, GantryError, OurError, StoreStuck
from offchain.ports import ChainPort, Signer
from offchain.schema.chain_types._generated_chain import calls
from offchain.services import autoscaler, log
from offchain.services.settler import Settler
from offchain.services.submitter import Performer
from offchain.services.view import View
from offchain.services.worker import Role, Worker

if TYPE_CHECKING:  # roles without a scheduler do without numpy, numba and what answers
    from offchain.services.decision_recorder import Record
    from offchain.services.decision_server import Answers
    from offchain.services.scheduler import Scheduler

ROLES: Final = ("scheduler", "settler", "autoscaler")
RECONNECT_S: Final = 2.0


class WorkerError(OurError):
    """A worker that cannot be started as it was asked for."""

    code = "worker"


async def run_worker(
    roles: Sequence[str],
    url: str,
    state_dir: Path,
    account: Signer,
    expected_genesis: bytes | None,
    tenant: str | None = None,
    definitions: SchedulerConfig | None = None,
    answers: tuple[str, int] | None = None,
) -> None:
    """Run these roles (see :data:`ROLES`) with `account` until SIGTERM or SIGINT. Logs lines to standard error.

    The autoscaler runs alone, for `tenant` where that is not `account` itself. `definitions` are for the scheduler,
    which tells at `answers`, host and port, why it decided as it did.

    `state_dir` keeps the outbox; it belongs to one process at a time. Raises GantryError where it cannot start, or
    cannot go on: no node at `url`, another chain, a database that cannot be used, no coins for the scheduler's bond.
    A node that goes away later is waited for.
    """
    from offchain.adapters.chain.client import SubstrateChain  # noqa: PLC0415  (tests bring a chain of their own)

    unknown = [role for role in roles if role not in ROLES]
    if unknown or not roles:
        named = ", ".join(unknown) or "none"
        raise WorkerError(f"Unknown worker role: {named}.", f"Roles are {', '.join(ROLES)}.", code="usage")
    log.set_up()
    if "scheduler" in roles:
        await _warm()
    with alone(state_dir), contextlib.closing(Store(state_dir / "worker.db")) as store:
        chain = SubstrateChain(url, expected_genesis=chain_pin.expected_genesis(store, expected_genesis))
        try:
            await chain.connect()
            chain_pin.pin_genesis(store, await chain.genesis_hash())
            async with _explaining(roles, state_dir, account, answers) as explains:
                await serve(roles, chain, store, account, tenant, definitions, explains)
        finally:
            await chain.close()


async def serve(
    roles: Sequence[str],
    chain: ChainPort,
    store: Store,
    account: Signer,
    tenant: str | None = None,
    definitions: SchedulerConfig | None = None,
    explains: Explains | None = None,
) -> None:
    """Run roles on a connected chain until SIGTERM or SIGINT."""
    out = log.EventLog("worker")
    out.info("started", roles=",".join(roles), account=account.address, pid=os.getpid())
    if "autoscaler" in roles:
        await keep_going(lambda: autoscaler.work(chain, store, account, tenant or account.address), out)
        return
    await keep_going(lambda: _work(roles, chain, store, account, definitions, explains), out)


@dataclass(frozen=True, slots=True)
class Explains:
    """Where a scheduler's decisions are kept, and who tells them; None: nobody asks."""

    record: Record
    answers: Answers | None = None

    def ask(self, scheduler: Scheduler | None) -> None:
        """Tell how tasks stand with this one from now on."""
        if self.answers is not None:
            self.answers.ask(None if scheduler is None else scheduler.standing)


@contextlib.asynccontextmanager
async def _explaining(
    roles: Sequence[str], folder: Path, account: Signer, address: tuple[str, int] | None
) -> AsyncIterator[Explains | None]:
    """Keep what a scheduler decides in this folder, and tell it at this address."""
    if "scheduler" not in roles:
        yield None
        return
    from offchain.services.decision_recorder import Recorder  # noqa: PLC0415  (other roles do without numpy and numba)
    from offchain.services.decision_server import Answers  # noqa: PLC0415  (other roles do without)

    with contextlib.closing(Recorder(folder, account.address, _seed(account))) as record:
        if address is None:
            yield Explains(record)
            return
        answers = Answers(folder)
        async with answers.listening(*address):
            yield Explains(record, answers)


async def keep_going(work: Callable[[], Coroutine[Any, Any, None]], out: log.EventLog) -> None:
    """Do this work until SIGTERM or SIGINT, again where a node or a disk could not be reached for a while."""
    async with _until_told_to_stop() as stopping:
        while not stopping.is_set():
            doing = asyncio.create_task(work())
            told = asyncio.create_task(stopping.wait())
            await asyncio.wait((doing, told), return_when=asyncio.FIRST_COMPLETED)
            told.cancel()
            doing.cancel()
            try:
                await doing
            except asyncio.CancelledError:
                break
            except BaseException as error:  # noqa: BLE001  (sorted by _lost_touch, which raises what cannot be waited out)
                # The picture is read anew; the outbox goes on where it was.
                away = _lost_touch(error)
                out.warning("waiting", reason=away.message, remedy=away.remedy)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stopping.wait(), RECONNECT_S)
    out.info("stopped")


async def _work(
    roles: Sequence[str],
    chain: ChainPort,
    store: Store,
    account: Signer,
    definitions: SchedulerConfig | None,
    explains: Explains | None,
) -> None:
    kept = Watcher(chain, store, "worker")
    async with continued(chain, lambda: kept.cursor, store.path):
        await _follow(roles, chain, store, account, definitions, explains)


async def _follow(
    roles: Sequence[str],
    chain: ChainPort,
    store: Store,
    account: Signer,
    definitions: SchedulerConfig | None,
    explains: Explains | None,
) -> None:
    outbox = Outbox(chain, store, account, now_ms=lambda: int(time.time() * 1000))
    perform = Performer(outbox)
    view = View(chain)
    head = await view.start()
    worker = Worker(chain, Watcher(chain, store, "worker", start=head.number), outbox, view)
    made: list[Role] = []
    async with _quiet_after(explains), asyncio.TaskGroup() as group:
        if "scheduler" in roles:
            if account.address not in await GantryChain(chain).schedulers():
                # The first act of this account, so that no assignment goes out ahead of it.
                group.create_task(_bond(perform, chain, account))
            made.append(_scheduler(view, perform, account, worker.wake, definitions, explains))
        if "settler" in roles:
            made.append(Settler(view, perform, worker.wake))
        group.create_task(worker.run(made))


@contextlib.asynccontextmanager
async def _quiet_after(explains: Explains | None) -> AsyncIterator[None]:
    """Have nobody told how tasks stand once the scheduler has ended, while the node is away or another."""
    try:
        yield
    finally:
        if explains is not None:
            explains.ask(None)


def _scheduler(
    view: View,
    perform: Performer,
    account: Signer,
    wake: Callable[[], None],
    definitions: SchedulerConfig | None,
    explains: Explains | None,
) -> Role:
    from offchain.services.scheduler import Scheduler  # noqa: PLC0415  (other roles do without numpy and numba)

    record = None if explains is None else explains.record
    made = Scheduler(
        view, perform, _seed(account), wake, account=account.address, definitions=definitions, record=record
    )
    if explains is not None:
        explains.ask(made)
    return made


def _seed(account: Signer) -> bytes:
    """Decides between hosts that are alike, for each scheduler differently."""
    return hashlib.blake2b(account.public_key, digest_size=32).digest()


async def _warm() -> None:
    """Have the planner compiled, and its packages looked for, before anything waits for it. Raises WorkerError."""
    try:
        from offchain.services.compiling import compile_once  # noqa: PLC0415  (other roles do without numpy and numba)
    except ModuleNotFoundError as error:
        raise WorkerError(
            f"The scheduler needs the Python package {error.name}, which is not installed.",
            "In a clone scripts/gantry worker installs it; elsewhere: python3 -m pip install numba numpy",
        ) from None
    await asyncio.to_thread(compile_once)


async def _bond(perform: Performer, chain: ChainPort, account: Signer) -> None:
    name = f"bond-scheduler:{account.address}"
    perform.forget(name)
    verdict = await perform(name, calls.tasks_bond_scheduler())
    out = log.EventLog("scheduler")
    if verdict.done:
        out.info("bonded", account=account.address)
        return
    if account.address in await GantryChain(chain).schedulers():
        return
    raise WorkerError(
        f"The account {account.address} cannot become a scheduler: {verdict.refusal}",
        "Give it coins for the bond (gantry account show prints its balance), then start the worker again.",
    )


def _lost_touch(raised: BaseException) -> GantryError:
    """The error that can be waited out, if there is no other; else raises the first that cannot."""
    found: GantryError | None = None
    for error in _leaves(raised):
        if isinstance(error, asyncio.CancelledError):
            continue
        waits = isinstance(error, (ChainUnreachable, StoreStuck)) or getattr(error, "code", "") == "state_pruned"
        if not waits or not isinstance(error, GantryError):
            raise error from None
        found = error
    if found is None:
        raise raised
    return found


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _leaves(part)
    else:
        yield error


@contextlib.contextmanager
def alone(state_dir: Path) -> Iterator[None]:
    """Be the only worker of this folder: two outboxes of one account would take each other's numbers."""
    try:
        state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = (state_dir / "worker.lock").open("w", encoding="utf-8")
    except OSError as error:
        raise WorkerError(f"The folder {state_dir} cannot be used: {error.strerror}.", "Choose another.") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WorkerError(
                f"A worker is running with the folder {state_dir} already.",
                "Stop it, or give this one a folder and an account of its own.",
            ) from None
        yield


@contextlib.asynccontextmanager
async def _until_told_to_stop() -> AsyncIterator[asyncio.Event]:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGTERM, signal.SIGINT)
    stop: Callable[[], None] = stopping.set
    for number in numbers:
        loop.add_signal_handler(number, stop)
    try:
        yield stopping
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
