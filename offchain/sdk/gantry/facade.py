"""The network and its tasks, without coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from gantry.client import AsyncNetwork, AsyncTask, Notify, _ignore, connect_async
from gantry.functions import RemoteFunction
from gantry.values import OpenedDispute, TaskCost, TaskResult
from offchain.ports import Signer
from offchain.services.dispute_view import DisputeView
from offchain.services.record_views import TaskView

T = TypeVar("T")


def connect(
    url: str | None = None, *, account: str | Signer | None = None, password_file: str | None = None
) -> Network:
    """Connect to a network; see :func:`gantry.connect_async`. Use it with `with`, and from one thread."""
    return Network(connect_async(url, account=account, password_file=password_file))


class Network:
    """A connection to a network, on behalf of an account. Its methods are those of :class:`gantry.AsyncNetwork`."""

    def __init__(self, connecting: AbstractAsyncContextManager[AsyncNetwork]) -> None:
        self._connecting = connecting
        self._runner = asyncio.Runner()
        self._network: AsyncNetwork | None = None

    def __enter__(self) -> Self:
        try:
            self._network = self._run(self._connecting.__aenter__())
        except BaseException:
            self._runner.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._run(self._connecting.__aexit__(kind, error, trace))
        finally:
            self._network = None
            self._runner.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    @property
    def _open(self) -> AsyncNetwork:
        if self._network is None:
            raise RuntimeError("the network is not connected: use gantry.connect() with the with statement")
        return self._network

    @property
    def account(self) -> str:
        """The SS58 address of the account."""
        return self._open.account

    def balance(self) -> int:
        """The free coins of the account, in base units of 10⁻¹² GTY."""
        return self._run(self._open.balance())

    def submit(
        self,
        manifest: str | Path | bytes,
        *,
        anyway: bool = False,
        notify: Notify = _ignore,
        test_root: bytes | None = None,
    ) -> RemoteTask:
        """See :meth:`gantry.AsyncNetwork.submit`."""
        made = self._open.submit(manifest, anyway=anyway, notify=notify, test_root=test_root)
        return RemoteTask(self._runner, self._run(made))

    def submit_array(
        self,
        manifest: str | Path | bytes,
        count: int,
        *,
        anyway: bool = False,
        notify: Notify = _ignore,
        test_root: bytes | None = None,
    ) -> list[RemoteTask]:
        """See :meth:`gantry.AsyncNetwork.submit_array`."""
        opened = self._open.submit_array(manifest, count, anyway=anyway, notify=notify, test_root=test_root)
        made = self._run(opened)
        return [RemoteTask(self._runner, one) for one in made]

    def transfer(self, to: str, amount: int) -> None:
        """See :meth:`gantry.AsyncNetwork.transfer`."""
        self._run(self._open.transfer(to, amount))

    def faucet(self, amount: int) -> None:
        """See :meth:`gantry.AsyncNetwork.faucet`."""
        self._run(self._open.faucet(amount))

    def reclaim(self, lease: int) -> int:
        """See :meth:`gantry.AsyncNetwork.reclaim`."""
        return self._run(self._open.reclaim(lease))

    def task(self, number: int) -> RemoteTask:
        """See :meth:`gantry.AsyncNetwork.task`."""
        return RemoteTask(self._runner, self._run(self._open.task(number)))

    def call(self, function: RemoteFunction, /, *args: Any, **named: Any) -> Any:
        """See :meth:`gantry.AsyncNetwork.call`."""
        return self._run(self._open.call(function, *args, **named))


class RemoteTask:
    """A task on the chain. Its methods are those of :class:`gantry.AsyncTask`."""

    def __init__(self, runner: asyncio.Runner, task: AsyncTask) -> None:
        self._runner = runner
        self._task = task

    @property
    def number(self) -> int:
        """The number of the task on the chain."""
        return self._task.number

    def view(self) -> TaskView:
        """See :meth:`gantry.AsyncTask.view`."""
        return self._runner.run(self._task.view())

    def state(self) -> str:
        """See :meth:`gantry.AsyncTask.state`."""
        return self._runner.run(self._task.state())

    def wait_running(self, *, notify: Notify = _ignore) -> TaskView:
        """See :meth:`gantry.AsyncTask.wait_running`."""
        return self._runner.run(self._task.wait_running(notify=notify))

    def wait(self, *, accept: bool = True, check: bool = True, notify: Notify = _ignore) -> TaskResult:
        """See :meth:`gantry.AsyncTask.wait`."""
        return self._runner.run(self._task.wait(accept=accept, check=check, notify=notify))

    def result(self, pod: int | None = None) -> bytes:
        """See :meth:`gantry.AsyncTask.result`."""
        return self._runner.run(self._task.result(pod))

    def logs(self, pod: int = 0, *, follow: bool = False, service: str | None = None) -> Iterator[bytes]:
        """See :meth:`gantry.AsyncTask.logs`."""
        return self._pieces(self._task.logs(pod, follow=follow, service=service))

    def bill(self) -> TaskCost:
        """See :meth:`gantry.AsyncTask.bill`."""
        return self._runner.run(self._task.bill())

    def accept(self) -> None:
        """See :meth:`gantry.AsyncTask.accept`."""
        self._runner.run(self._task.accept())

    def rate(self, stars: int, *, pod: int | None = None) -> None:
        """See :meth:`gantry.AsyncTask.rate`."""
        self._runner.run(self._task.rate(stars, pod=pod))

    def keep(self, ms: int, *, max_rate_per_hour: int | None = None) -> None:
        """See :meth:`gantry.AsyncTask.keep`."""
        self._runner.run(self._task.keep(ms, max_rate_per_hour=max_rate_per_hour))

    def release(self) -> None:
        """See :meth:`gantry.AsyncTask.release`."""
        self._runner.run(self._task.release())

    def attach(self, *, notify: Notify = _ignore) -> Iterator[bytes]:
        """See :meth:`gantry.AsyncTask.attach`."""
        return self._pieces(self._task.attach(notify=notify))

    def _pieces(self, pieces: AsyncGenerator[bytes, None]) -> Iterator[bytes]:
        async def following() -> bytes | None:
            return await anext(pieces, None)

        try:
            while (piece := self._runner.run(following())) is not None:
                yield piece
        finally:
            self._runner.run(_closed(pieces))

    def deliver(
        self, name: str, data: bytes, *, pod: int | None = None, test_root: bytes | None = None
    ) -> tuple[int, ...]:
        """See :meth:`gantry.AsyncTask.deliver`."""
        return self._runner.run(self._task.deliver(name, data, pod=pod, test_root=test_root))

    def open_dispute(
        self, *, pod: int | None = None, files: Sequence[str | Path] = (), notify: Notify = _ignore
    ) -> OpenedDispute:
        """See :meth:`gantry.AsyncTask.open_dispute`."""
        return self._runner.run(self._task.open_dispute(pod=pod, files=files, notify=notify))

    def dispute(self) -> DisputeView:
        """See :meth:`gantry.AsyncTask.dispute`."""
        return self._runner.run(self._task.dispute())

    def vote_on_dispute(
        self,
        answer: Literal["yes", "no"],
        *,
        reason: str = "",
        state_dir: str | Path | None = None,
    ) -> None:
        """See :meth:`gantry.AsyncTask.vote_on_dispute`."""
        self._runner.run(self._task.vote_on_dispute(answer, reason=reason, state_dir=state_dir))

    def reveal_vote(self, *, state_dir: str | Path | None = None) -> None:
        """See :meth:`gantry.AsyncTask.reveal_vote`."""
        self._runner.run(self._task.reveal_vote(state_dir=state_dir))

    def appeal_dispute(self) -> DisputeView:
        """See :meth:`gantry.AsyncTask.appeal_dispute`."""
        return self._runner.run(self._task.appeal_dispute())

    def cancel(self) -> None:
        """See :meth:`gantry.AsyncTask.cancel`."""
        self._runner.run(self._task.cancel())


async def _closed(pieces: Any) -> None:
    await pieces.aclose()
