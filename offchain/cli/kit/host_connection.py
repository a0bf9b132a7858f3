"""Connections from a tenant to the hosts of its leases, signed with the tenant's key."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from offchain.adapters.keys import ss58
from offchain.cli.kit import options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import progress
from offchain.cli.kit.session import run
from offchain.ports import ChainPort, Signer
from offchain.services.host_views import read_host
from offchain.services.record_views import LeaseView, TaskView, read_task

if TYPE_CHECKING:
    from offchain.adapters.transport.host_client import HostClient

_NOTES = {
    "websocket": "UDP does not reach the host; using a secure websocket instead.",
    "gateway": "The host itself does not answer; connecting through a gateway, which cannot read the traffic.",
}
_LIVE = ("Pending", "Active")
F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PodConnection:
    """A pod with connections to its host and to the chain. `name` is for messages."""

    chain: ChainPort
    client: HostClient
    lease: LeaseView
    signer: Signer
    name: str


def pod_option(command: F) -> F:
    return click.option("--pod", default=0, show_default=True, type=click.IntRange(0), help="Which pod.")(command)


def service_option(command: F) -> F:
    return click.option(
        "--service", metavar="NAME", help="Container of the pod, by its name in the manifest; else the first."
    )(command)


def lease_of(view: TaskView, pod: int) -> LeaseView:
    """Return the lease of a pod. Raises CliError if there is none."""
    for lease in view.leases:
        if lease.pod == pod:
            return lease
    if view.leases:
        raise CliError(f"task {view.id} has no pod {pod}.", f"Its pods are 0 to {len(view.leases) - 1}.", code="no_pod")
    if view.is_final:
        raise CliError(
            f"task {view.id} has ended and left no pod. Its state: {view.state_text}.",
            f"gantry chain inspect task {view.id} shows its history.",
            code="no_lease",
        )
    raise CliError(
        f"task {view.id} is {view.state_text} and has no host yet.",
        f"gantry task why {view.id} explains what it waits for.",
        code="no_lease",
    )


def delivery_leases(view: TaskView, pod: int | None) -> list[LeaseView]:
    """Return the lease of a pod, or those of all pods that run or wait. Raises CliError if there is none."""
    if pod is not None:
        return [lease_of(view, pod)]
    live = [lease for lease in view.leases if lease.state.partition("(")[0] in _LIVE]
    if not live:
        lease_of(view, 0)
        raise CliError(f"no pod of task {view.id} runs or waits.", "gantry task show shows its state.", code="no_lease")
    return live


def result_lease_of(view: TaskView, pod: int | None) -> LeaseView:
    """Return the lease of a pod; by default of the first whose result is the task's. Raises CliError."""
    if pod is not None or not view.is_compared:
        return lease_of(view, pod or 0)
    if view.result_leases:
        return view.result_leases[0]
    raise CliError(
        f"the results of task {view.id} are not compared yet, or do not agree. Its state: {view.state_text}.",
        f"gantry task show {view.id} shows how far each pod is; --pod fetches the result of one.",
        code="no_result",
    )


def open_lease_host(
    chain: ChainPort, lease: LeaseView, signer: Signer
) -> contextlib.AbstractAsyncContextManager[HostClient]:
    """Yield a client of the lease's host, authenticated by its key on the chain; requests connect it."""
    return open_registered_host(chain, lease.host, signer)


@contextlib.asynccontextmanager
async def open_registered_host(chain: ChainPort, host: str, signer: Signer) -> AsyncIterator[HostClient]:
    """Yield a client of a host, authenticated by its key; requests connect it."""
    from offchain.adapters.transport.routing import open_host  # noqa: PLC0415  (the transport is slow to load)

    view = await read_host(chain, host)
    genesis = await chain.genesis_hash()
    async with open_host(
        ss58.decode(host),
        view.endpoint,
        genesis_hash=genesis,
        signer=signer,
        gateways=options.given_gateways(),
    ) as client:
        yield client


@contextlib.asynccontextmanager
async def connected_host(chain: ChainPort, lease: LeaseView, signer: Signer) -> AsyncIterator[HostClient]:
    """Yield a connected client of the lease's host, and print a note if the connection is not direct."""
    async with open_lease_host(chain, lease, signer) as client:
        note = _NOTES.get(await client.connect())
        if note is not None:
            progress(note)
        yield client


@contextlib.asynccontextmanager
async def connected_pod(
    common: options.CommonOptions, number: int, pod: int, signer: Signer
) -> AsyncIterator[PodConnection]:
    """Yield a pod of a task, connected to its host."""
    async with common.connected() as chain:
        lease = lease_of(await read_task(chain, number), pod)
        async with connected_host(chain, lease, signer) as client:
            yield PodConnection(chain, client, lease, signer, f"pod {pod} of task {number}")


def run_at_pod(
    common: options.CommonOptions, number: int, pod: int, work: Callable[[PodConnection], Awaitable[T]]
) -> T:
    """Run `work` with a pod of a task, connected to its host, and return its result."""
    signer = common.open_account()

    async def connected_work() -> T:
        async with connected_pod(common, number, pod, signer) as found:
            return await work(found)

    return run(connected_work())


async def fetch_result(chain: ChainPort, lease: LeaseView, signer: Signer) -> bytes:
    """Return the bytes of a pod's result, which match the digest on the chain."""
    assert lease.result_digest is not None  # noqa: S101  (callers ask only for reported pods)
    async with open_lease_host(chain, lease, signer) as client:
        return await client.result(lease.id, lease.result_digest)
