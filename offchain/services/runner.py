"""Run worker roles in this process until it is stopped, for `gantry worker`.

The roles share one connection, one view, one account and its outbox.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from offchain.adapters.chain import chain_identity
from offchain.adapters.chain.chain_identity import continued
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.chain.watcher import Watcher
from offchain.adapters.metrics.serving import MetricsAddress
from offchain.adapters.outbox.outbox import Outbox
from offchain.adapters.outbox.store import Store
from offchain.adapters.span_export import begin_tracing
from offchain.clock import unix_ms
from offchain.core.scheduler.config import SchedulerConfig
from offchain.errors import ChainUnreachable, GantryError, StoreStuck
from offchain.ports import ChainPort, Signer
from offchain.services import autoscaler, log
from offchain.services.loop_latency import limit_loop_latency
from offchain.services.scheduler_account import WorkerError, prepare_account
from offchain.services.settler import Settler
from offchain.services.submitter import Submitter
from offchain.services.view import ChainView
from offchain.services.worker import Worker, WorkerRole
from offchain.services.worker_metrics import serve_worker_metrics
from offchain.services.worker_state import WorkerState

if TYPE_CHECKING:  # roles without a scheduler do without numpy, numba and what answers
    from offchain.services.decision_recorder import DecisionSink
    from offchain.services.decision_server import DecisionServer
    from offchain.services.juror import JobExecutor
    from offchain.services.scheduler import Scheduler

ROLES: Final = ("scheduler", "settler", "autoscaler", "verifier", "juror")
OpenExecutor: TypeAlias = "Callable[[], contextlib.AbstractAsyncContextManager[JobExecutor]]"
"""Opens what executes disputed jobs for a juror."""
RECONNECT_S: Final = 2.0
_PASSING: Final = ("state_pruned", "unknown_block")
"""Codes of replies after which the worker reads everything again."""


async def run_worker(
    roles: Sequence[str],
    url: str,
    state_dir: Path,
    account: Signer,
    expected_genesis: bytes | None,
    tenant: str | None = None,
    definitions: SchedulerConfig | None = None,
    answers: tuple[str, int] | None = None,
    metrics: MetricsAddress | None = None,
    budget: int = 0,
    open_executor: OpenExecutor | None = None,
) -> None:
    """Run these roles (see :data:`ROLES`) with `account` until SIGTERM or SIGINT. Logs lines to standard error.

    The autoscaler runs alone, for `tenant` if that is not `account`; the verifier too, with a `budget` for challenges
    in base units for 24 h. The juror is a verifier that executes disputed jobs with what `open_executor` opens.
    `definitions` are for the scheduler, which
    explains its decisions at the host and port `answers`. Metrics are served at `metrics`.

    `state_dir` holds the outbox; it belongs to one process at a time. Raises GantryError if the worker cannot start or
    go on: no node at `url`, another chain, a database that cannot be used, no coins for the scheduler's bond. Waits for
    a node that becomes unavailable later.
    """
    from offchain.adapters.chain.client import SubstrateChain  # noqa: PLC0415  (tests bring a chain of their own)

    unknown = [role for role in roles if role not in ROLES]
    if unknown or not roles:
        named = ", ".join(unknown) or "none"
        raise WorkerError(f"Unknown worker role: {named}.", f"Roles are {', '.join(ROLES)}.", code="usage")
    log.set_up()
    if "scheduler" in roles:
        await _compile_planner()
    with lock_state_dir(state_dir), contextlib.closing(Store(state_dir / "worker.db", defers_sync=True)) as store:
        chain = SubstrateChain(url, expected_genesis=chain_identity.expected_genesis(store, expected_genesis))
        try:
            await chain.connect()
            genesis = await chain.genesis_hash()
            chain_identity.pin_genesis(store, genesis)
            begin_tracing(genesis, f"gantry-{'-'.join(roles)}")
            state = WorkerState()
            async with (
                serve_worker_metrics(metrics, roles, chain, store, account.address, state),
                _report_decisions(roles, state_dir, account, answers) as reporting,
            ):
                await serve(roles, chain, store, account, tenant, definitions, reporting, state, budget, open_executor)
        finally:
            await chain.close()


async def serve(
    roles: Sequence[str],
    chain: ChainPort,
    store: Store,
    account: Signer,
    tenant: str | None = None,
    definitions: SchedulerConfig | None = None,
    reporting: DecisionReporting | None = None,
    kept: WorkerState | None = None,
    budget: int = 0,
    open_executor: OpenExecutor | None = None,
) -> None:
    """Run roles on a connected chain until SIGTERM or SIGINT."""
    kept = kept or WorkerState()
    out = log.EventLog("worker")
    out.info("started", roles=",".join(roles), account=account.address, pid=os.getpid())
    if "autoscaler" in roles:
        await run_until_stopped(
            lambda: autoscaler.work(chain, store, account, tenant or account.address, kept.outbox), out
        )
        return
    if "verifier" in roles or "juror" in roles:
        from offchain.services import verifier  # noqa: PLC0415  (other roles do without numpy)

        opening = contextlib.nullcontext() if open_executor is None else open_executor()
        async with opening as executor:
            await run_until_stopped(
                lambda: verifier.work(chain, store, account, budget, kept.outbox, executor=executor), out
            )
        return
    try:
        await run_until_stopped(lambda: _work(roles, chain, store, account, definitions, reporting, kept), out)
    finally:
        kept.planning.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class DecisionReporting:
    """Where a scheduler's decisions are recorded, and the server that explains them; None: no server."""

    record: DecisionSink
    answers: DecisionServer | None = None

    def ask(self, scheduler: Scheduler | None) -> None:
        """Explain the standing of tasks with this scheduler from now on."""
        if self.answers is not None:
            self.answers.ask(None if scheduler is None else scheduler.standing)


@contextlib.asynccontextmanager
async def _report_decisions(
    roles: Sequence[str], folder: Path, account: Signer, address: tuple[str, int] | None
) -> AsyncIterator[DecisionReporting | None]:
    """Record a scheduler's decisions in this folder, and serve them at this address."""
    if "scheduler" not in roles:
        yield None
        return
    from offchain.services.decision_recorder import DecisionRecorder  # noqa: PLC0415  (other roles do without numpy and numba)
    from offchain.services.decision_server import DecisionServer  # noqa: PLC0415  (other roles do without)

    with contextlib.closing(DecisionRecorder(folder, account.address, _seed(account))) as record:
        if address is None:
            yield DecisionReporting(record)
            return
        answers = DecisionServer(folder)
        async with answers.listening(*address):
            yield DecisionReporting(record, answers)


async def run_until_stopped(work: Callable[[], Coroutine[Any, Any, None]], out: log.EventLog) -> None:
    """Run `work` until SIGTERM or SIGINT, and restart it after an outage of the node or the disk."""
    async with _stop_signal() as stopping:
        while not stopping.is_set():
            doing = asyncio.create_task(work())
            waiting = asyncio.create_task(stopping.wait())
            await asyncio.wait((doing, waiting), return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            doing.cancel()
            try:
                await doing
            except asyncio.CancelledError:
                break
            except BaseException as error:  # noqa: BLE001  (_outage raises what cannot be waited out)
                # View and outbox continue where they were.
                away = _outage(error)
                out.warning("waiting", reason=away.message, hint=away.hint)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stopping.wait(), RECONNECT_S)
    out.info("stopped")


async def _work(
    roles: Sequence[str],
    chain: ChainPort,
    store: Store,
    account: Signer,
    definitions: SchedulerConfig | None,
    reporting: DecisionReporting | None,
    kept: WorkerState,
) -> None:
    watcher = Watcher(chain, store, "worker")
    try:
        async with continued(chain, lambda: watcher.cursor, store.path):
            await _follow(roles, chain, store, account, definitions, reporting, kept)
    except BaseException as error:
        # The node no longer has what lies between the view and its present blocks.
        if any(getattr(one, "code", "") in _PASSING for one in _leaves(error)):
            kept.view = None
        raise


async def _follow(
    roles: Sequence[str],
    chain: ChainPort,
    store: Store,
    account: Signer,
    definitions: SchedulerConfig | None,
    reporting: DecisionReporting | None,
    kept: WorkerState,
) -> None:
    outbox = Outbox(chain, store, account, now_ms=unix_ms, waits_for_coins=True, counts=kept.outbox)
    submit = Submitter(outbox)
    if kept.view is None:
        view = ChainView(chain)
        await view.start()
        kept.view = view
        limit_loop_latency()
    view = kept.view
    view.forget_readers()
    worker = Worker(chain, Watcher(chain, store, "worker", start=view.final.number), outbox, view)
    made: list[WorkerRole] = []
    async with _stop_reporting(reporting, kept), asyncio.TaskGroup() as group:
        if "scheduler" in roles:
            queues = (definitions or SchedulerConfig()).queues
            group.create_task(prepare_account(submit, GantryChain(chain), account.address, queues.digest()))
            kept.scheduler = _scheduler(view, submit, account, worker.wake, definitions, reporting, kept)
            made.append(kept.scheduler)
        if "settler" in roles:
            made.append(Settler(view, submit, worker.wake))
        group.create_task(worker.run(made))


@contextlib.asynccontextmanager
async def _stop_reporting(reporting: DecisionReporting | None, kept: WorkerState) -> AsyncIterator[None]:
    """Stop explaining and counting the waiting tasks when the scheduler has ended."""
    try:
        yield
    finally:
        kept.scheduler = None
        if reporting is not None:
            reporting.ask(None)


def _scheduler(
    view: ChainView,
    submit: Submitter,
    account: Signer,
    wake: Callable[[], None],
    definitions: SchedulerConfig | None,
    reporting: DecisionReporting | None,
    kept: WorkerState,
) -> Scheduler:
    from offchain.services.scheduler import Scheduler  # noqa: PLC0415  (other roles do without numpy and numba)

    record = None if reporting is None else reporting.record
    made = Scheduler(
        view,
        submit,
        _seed(account),
        wake,
        account=account.address,
        definitions=definitions,
        record=record,
        executor=kept.planning,
        counts=kept.scheduled,
    )
    if reporting is not None:
        reporting.ask(made)
    return made


def _seed(account: Signer) -> bytes:
    """Return the seed that decides between equal hosts, different for each scheduler."""
    return hashlib.blake2b(account.public_key, digest_size=32).digest()


async def _compile_planner() -> None:
    """Compile the planner, and check its packages, before anything waits for it. Raises WorkerError."""
    try:
        from offchain.services.compiling import compile_once  # noqa: PLC0415  (other roles do without numpy and numba)
    except ModuleNotFoundError as error:
        raise WorkerError(
            f"The scheduler needs the Python package {error.name}, which is not installed.",
            "In a clone scripts/gantry worker installs it; elsewhere install the extra gantry[scheduling], or run: "
            f"{sys.executable} -m pip install numba numpy",
        ) from None
    await asyncio.to_thread(compile_once)


def _outage(raised: BaseException) -> GantryError:
    """Return the error if it is an outage that can be waited out; raise the first other one."""
    found: GantryError | None = None
    for error in _leaves(raised):
        if isinstance(error, asyncio.CancelledError):
            continue
        waits = isinstance(error, (ChainUnreachable, StoreStuck)) or getattr(error, "code", "") in _PASSING
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
def lock_state_dir(state_dir: Path) -> Iterator[None]:
    """Lock the folder for this process: two outboxes of one account would use the same nonces."""
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
                f"A worker is already running with the folder {state_dir}.",
                "Stop it, or give this one a folder and an account of its own.",
            ) from None
        yield


@contextlib.asynccontextmanager
async def _stop_signal() -> AsyncIterator[asyncio.Event]:
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
