"""The network and its tasks, with coroutines."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gantry.errors import ProgramFailed, ResultUnavailable, TaskFailed
from gantry.values import OpenedDispute, PodBill, TaskCost, TaskResult
from offchain.adapters.transport.port import TransportError
from offchain.cli.kit import accounts, disputes, session
from offchain.cli.kit.host_connection import (
    delivery_leases,
    fetch_result,
    lease_of,
    open_lease_host,
    result_lease_of,
)
from offchain.cli.tenant.follow import follow, until_running
from offchain.cli.tenant.manifest import substituted
from offchain.cli.tenant.submit import send_task
from offchain.cli.tenant.task_preparation import prepare_task
from offchain.errors import BadKey
from offchain.ports import BlockRef, Call, ChainPort, Signer
from offchain.schema.chain_types._generated_chain import Vote, calls
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.values import check_address
from offchain.services import provider_calls, tenant_calls
from offchain.services.dispute_view import DisputeView, read_dispute_view
from offchain.services.record_views import TaskView, read_task
from offchain.services.sealed_delivery import deliver_sealed, policy_of_task
from offchain.services.vote_files import VoteFiles

if TYPE_CHECKING:
    from gantry.functions import RemoteFunction

Notify = Callable[[str], None]
"""Receives each note about a task's progress, a sentence."""


def _ignore(_note: str) -> None:
    """Progress that nobody reads."""


@contextlib.asynccontextmanager
async def connect_async(
    url: str | None = None, *, account: str | Signer | None = None, password_file: str | None = None
) -> AsyncIterator[AsyncNetwork]:
    """Connect to a network. Use it with `async with`.

    `url`: the address of a node, or several with commas between them; None: GANTRY_URL, else the local network.
    `account`: who signs and pays: a name of `gantry account list`, the path of a keystore file, a development account
    such as //Charlie, or a signer; None: the only account on this machine. `password_file`: else GANTRY_PASSWORD, else
    the terminal is asked. Raises ChainUnreachable, WrongChain, and GantryError for an unknown account.
    """
    signer = accounts.open_account(account, password_file) if account is None or isinstance(account, str) else account
    async with session.connected(url) as chain:
        yield AsyncNetwork(chain, signer)


class AsyncNetwork:
    """A connection to a network, on behalf of an account."""

    def __init__(self, chain: ChainPort, signer: Signer) -> None:
        self._chain = chain
        self._signer = signer

    @property
    def account(self) -> str:
        """The SS58 address of the account."""
        return self._signer.address

    async def balance(self) -> int:
        """The free coins of the account, in base units of 10⁻¹² GTY."""
        record = await self._chain.query("System", "Account", [self.account])
        return int(record["data"]["free"]) if record else 0

    async def submit(
        self,
        manifest: str | Path | bytes,
        *,
        anyway: bool = False,
        notify: Notify = _ignore,
        test_root: bytes | None = None,
    ) -> AsyncTask:
        """Submit a task, and return it once its submission is final.

        `manifest`: the path of a Compose file with an x-gantry section, or its text (bytes, or a string of several
        lines). Variables in a file are substituted as by `gantry submit`. Checked before anything is sent: the
        manifest, the account's coins, and that some host could run it unless `anyway`. With `confidential` in the
        manifest, only hosts that prove what it asks for may run it; `test_root` as in :meth:`AsyncTask.deliver`. Raises
        ManifestError, CallRefused, GantryError.
        """
        text = _text_of(manifest)
        task = await prepare_task(
            self._chain, parse_manifest(text), text, self._signer, anyway=anyway, notify=notify, test_root=test_root
        )
        number, block = await send_task(self._chain, task.spec, text, self._signer, quiet=True)
        return AsyncTask(self._chain, self._signer, number, block)

    async def submit_array(
        self,
        manifest: str | Path | bytes,
        count: int,
        *,
        anyway: bool = False,
        notify: Notify = _ignore,
        test_root: bytes | None = None,
    ) -> list[AsyncTask]:
        """Submit 1 to 4,096 jobs of one manifest together, and return them in the order of their indices.

        Each is a task of its own, whose program finds its index, from 0, in GANTRY_ARRAY_INDEX. Otherwise as
        :meth:`submit`.
        """
        text = _text_of(manifest)
        task = await prepare_task(
            self._chain,
            parse_manifest(text),
            text,
            self._signer,
            anyway=anyway,
            notify=notify,
            count=count,
            test_root=test_root,
        )
        first, block = await send_task(self._chain, task.spec, text, self._signer, quiet=True, count=count)
        return [AsyncTask(self._chain, self._signer, first + index, block) for index in range(count)]

    async def transfer(self, to: str, amount: int) -> None:
        """Transfer coins to an address. `amount`: base units of 10⁻¹² GTY. Raises GantryError if they are missing."""
        (call,) = await tenant_calls.transfer(self._chain, self.account, _address(to), amount)
        await session.send(self._chain, call, self._signer, quiet=True)

    async def faucet(self, amount: int) -> None:
        """Get coins on a development chain, from //Alice. `amount`: base units of 10⁻¹² GTY. Raises GantryError."""
        source = accounts.open_account(accounts.FAUCET, None)
        (call,) = await tenant_calls.faucet(self._chain, source.address, self.account, amount)
        await session.send(self._chain, call, source, quiet=True)

    async def reclaim(self, lease: int) -> int:
        """Take the resources of a lease of a host of this account back, with notice to the tenant.

        Return the chain's time at which the notice is over and the lease ends, Unix ms. Services and rentals only.
        Raises GantryError for the lease of a job, of another provider's host, and one that has ended or has notice.
        """
        call = await provider_calls.reclaim(self._chain, lease, self.account)
        included = await session.send(self._chain, call, self._signer, quiet=True)
        return int(included.event("Leases", "ReclaimNoticed").fields["reclaim_at"])

    async def task(self, number: int) -> AsyncTask:
        """Return a task that was submitted before. Raises GantryError if the chain does not have it."""
        head = await self._chain.finalized_head()
        await read_task(self._chain, number, head.hash)
        return AsyncTask(self._chain, self._signer, number, head)

    async def call(self, function: RemoteFunction, /, *args: Any, **named: Any) -> Any:
        """Run a function as a task (see :func:`gantry.function`), and return what it returns.

        Raises ProgramFailed with the traceback in `output` if the function raises.
        """
        task = await self.submit(function.manifest(*args, **named))
        return function.returned((await task.wait()).data[0])


class AsyncTask:
    """A task on the chain."""

    def __init__(self, chain: ChainPort, signer: Signer, number: int, seen: BlockRef) -> None:
        self._chain = chain
        self._signer = signer
        self._seen = seen
        self.number = number

    async def view(self) -> TaskView:
        """Return the task with its pods as they are in the best block."""
        return await read_task(self._chain, self.number)

    async def state(self) -> str:
        """Return its state: Queued, Assigned, Running, Reported, Verified, Settled, and so on."""
        return (await self.view()).state

    async def wait_running(self, *, notify: Notify = _ignore) -> TaskView:
        """Wait until its first pods run, or it has ended."""
        return (await until_running(self._chain, self.number, self._seen, self._signer, notify)).task

    async def wait(self, *, accept: bool = True, check: bool = True, notify: Notify = _ignore) -> TaskResult:
        """Wait until the task is settled, and return its results.

        `accept`: accept the result as soon as it has arrived complete, if the program ended with 0; otherwise it is
        settled after the dispute window. Raises TaskFailed if it ends without a result; with `check`, ProgramFailed
        for an exit code other than 0 and ResultUnavailable if a result could not be fetched.
        """
        outcome = await follow(self._chain, self.number, self._seen, self._signer, accept=accept, notify=notify)
        view = outcome.task
        if view.state != "Settled":
            raise TaskFailed(self.number, view.state_text, view.reason)
        # Compared results that agree are equal.
        one_is_enough = view.is_compared and len(outcome.results) > 0
        for lease in view.result_leases if check else ():
            if lease.exit_code:
                raise ProgramFailed(self.number, lease.pod, lease.exit_code, outcome.results.get(lease.pod))
            if lease.result_digest is not None and lease.pod not in outcome.results and not one_is_enough:
                raise ResultUnavailable(self.number, lease.pod)
        codes = {lease.pod: lease.exit_code for lease in view.result_leases if lease.exit_code is not None}
        return TaskResult(self.number, view.state, outcome.results, codes)

    async def result(self, pod: int | None = None) -> bytes:
        """Fetch the result of a pod from its host; its digest is that on the chain. Raises ResultUnavailable.

        By default of the first pod, or of the first whose compared result is the task's.
        """
        lease = result_lease_of(await self.view(), pod)
        if lease.result_digest is None:
            raise ResultUnavailable(self.number, lease.pod)
        try:
            return await fetch_result(self._chain, lease, self._signer)
        except TransportError:
            raise ResultUnavailable(self.number, lease.pod) from None

    async def logs(
        self, pod: int = 0, *, follow: bool = False, service: str | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the output of a pod from its host, in pieces. `follow`: until it ends."""
        lease = lease_of(await self.view(), pod)
        async with (
            open_lease_host(self._chain, lease, self._signer) as client,
            contextlib.aclosing(client.logs(lease.id, follow=follow, service=service)) as pieces,
        ):
            async for piece in pieces:
                yield piece

    async def deliver(
        self, name: str, data: bytes, *, pod: int | None = None, test_root: bytes | None = None
    ) -> tuple[int, ...]:
        """Deliver a secret or an input that the manifest names to the live pods, or to one; return their numbers.

        It is sealed for each pod's host. With `confidential` in the manifest, the host is attested before. `test_root`:
        a certificate, DER, in place of the roots of AMD and Intel, which production networks refuse. Raises GantryError
        (code "not_attested" if a host does not prove what the manifest asks for), and TransportError.
        """
        leases = delivery_leases(await self.view(), pod)
        policy = await policy_of_task(self._chain, self.number)
        for lease in leases:
            async with open_lease_host(self._chain, lease, self._signer) as client:
                await deliver_sealed(self._chain, client, lease, policy, name, data, test_root=test_root)
        return tuple(lease.pod for lease in leases)

    async def bill(self) -> TaskCost:
        """Return what the task has cost so far."""
        view = await self.view()
        return TaskCost(
            self.number,
            tuple(
                PodBill(
                    lease.pod,
                    lease.id,
                    lease.host,
                    lease.rate_per_hour,
                    lease.paid,
                    lease.fee,
                    None
                    if lease.started_at is None or lease.ended_at is None
                    else (lease.ended_at - lease.started_at) / 1000,
                )
                for lease in view.leases
            ),
        )

    async def accept(self) -> None:
        """Accept the results: the hosts are paid at once, and cannot be disputed any more. Raises GantryError."""
        await self._send(tenant_calls.accept(await self._own()))

    async def rate(self, stars: int, *, pod: int | None = None) -> None:
        """Rate the hosts of the settled task with 1 to 5 stars, once. `pod`: only its host. Raises GantryError."""
        await self._send(tenant_calls.rate(await self._own(), stars, pod))

    async def keep(self, ms: int, *, max_rate_per_hour: int | None = None) -> None:
        """Keep the volumes of an ended rental for `ms` milliseconds longer, at the host's price.

        `max_rate_per_hour`: the highest price in base units; None: what the host asks now. Raises GantryError.
        """
        await self._send(await tenant_calls.keep(self._chain, await self._own(), ms, max_rate_per_hour))

    async def release(self) -> None:
        """Release the volumes of an ended rental: its host deletes them. Raises GantryError."""
        await self._send(tenant_calls.release(await self._own()))

    async def attach(self, *, notify: Notify = _ignore) -> AsyncGenerator[bytes, None]:
        """Yield the output of the first pod from its beginning, in pieces, once it runs, until the pod has ended."""
        await self.wait_running(notify=notify)
        async with contextlib.aclosing(self.logs(follow=True)) as pieces:
            async for piece in pieces:
                yield piece

    async def _own(self) -> TaskView:
        return await tenant_calls.own_task(self._chain, self.number, self._signer.address)

    async def _send(self, several: list[Call]) -> None:
        await session.send(self._chain, tenant_calls.as_batch(several), self._signer, quiet=True)

    async def open_dispute(
        self, *, pod: int | None = None, files: Sequence[str | Path] = (), notify: Notify = _ignore
    ) -> OpenedDispute:
        """Call the results wrong, within the dispute window. A stake is held until the verdict.

        Evidence is collected from the chain and the accused hosts, stored on this machine, and named on the chain.
        `pod`: accuse only this one; `files`: further evidence. Raises GantryError if the chain would refuse it.
        """
        own = disputes.own_files(tuple(map(Path, files)))
        stored, included = await disputes.open_dispute(
            self._chain, self.number, self._signer, pod=pod, own=own, notify=notify, quiet=True
        )
        view = await read_dispute_view(self._chain, self.number, included.block.hash)
        return OpenedDispute(view, stored.path, stored.bundle.digest, stored.bundle.problems)

    async def dispute(self) -> DisputeView:
        """Return the open dispute about the task. Raises GantryError if there is none."""
        return await read_dispute_view(self._chain, self.number)

    async def vote_on_dispute(
        self,
        answer: Literal["yes", "no"],
        *,
        reason: str = "",
        state_dir: str | Path | None = None,
    ) -> None:
        """Commit to a vote as a juror: yes if the complaint is right.

        The vote is stored before, in the folder of the juror's worker. It has to be revealed: by `gantry juror run`
        with the same folder, or :meth:`reveal_vote`. Raises GantryError.
        """
        files = await self._votes(state_dir)
        wanted = Vote.YES if answer == "yes" else Vote.NO
        await disputes.cast_vote(self._chain, self.number, self._signer, files, wanted, reason, quiet=True)

    async def reveal_vote(self, *, state_dir: str | Path | None = None) -> None:
        """Wait until votes are revealed, and reveal the one that was committed. Raises GantryError."""
        files = await self._votes(state_dir)
        await disputes.until_reveals(self._chain, self.number, self._signer)
        await disputes.reveal_vote(self._chain, self.number, self._signer, files, quiet=True)

    async def appeal_dispute(self) -> DisputeView:
        """Appeal the verdict: twice the previous stake is held, and a larger jury decides. Raises GantryError."""
        included = await disputes.appeal(self._chain, self.number, self._signer, quiet=True)
        return await read_dispute_view(self._chain, self.number, included.block.hash)

    async def _votes(self, state_dir: str | Path | None) -> VoteFiles:
        return await disputes.vote_files(self._chain, self._signer, None if state_dir is None else Path(state_dir))

    async def cancel(self) -> None:
        """Cancel the task. Pods that ran are paid for the time they ran. Raises CallRefused if it has ended."""
        await session.send(self._chain, calls.tasks_cancel(task=self.number), self._signer, quiet=True)


def _text_of(manifest: str | Path | bytes) -> bytes:
    if isinstance(manifest, bytes):
        return manifest
    if isinstance(manifest, str) and "\n" in manifest:
        return manifest.encode()
    return substituted(str(manifest))


def _address(text: str) -> str:
    try:
        return check_address(text)
    except ValueError as error:
        raise BadKey(f"{error}.", "Give the SS58 address of an account.") from None
