"""The way to the host of a lease: which lease is meant, and a connection that carries the tenant's signature."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from offchain.adapters.keys import ss58
from offchain.cli.kit import options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import progress
from offchain.cli.kit.session import connected
from offchain.cli.kit.views import LeaseView, TaskView, read_host, read_task
from offchain.ports import ChainPort, Signer

if TYPE_CHECKING:
    from offchain.adapters.transport.host_client import HostClient

_WAYS = {
    "websocket": "UDP does not get through to the host; using a secure websocket.",
    "gateway": "The host itself does not answer; going through a gateway, which cannot read what is said.",
}
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod, and the connections to its host and to the chain. `name` for messages."""

    chain: ChainPort
    client: HostClient
    lease: LeaseView
    name: str


def pod_option(command: F) -> F:
    """--pod."""
    return click.option("--pod", default=0, show_default=True, type=click.IntRange(0), help="Which pod.")(command)


def service_option(command: F) -> F:
    """--service."""
    return click.option(
        "--service", metavar="NAME", help="Which container of the pod, as the manifest names it; else the first."
    )(command)


def lease_of(view: TaskView, pod: int) -> LeaseView:
    """The lease of a pod. Raises CliError where there is none."""
    for lease in view.leases:
        if lease.pod == pod:
            return lease
    if view.leases:
        raise CliError(f"task {view.id} has no pod {pod}.", f"Its pods are 0 to {len(view.leases) - 1}.", code="no_pod")
    raise CliError(
        f"task {view.id} is {view.state} and is on no host.",
        "Wait until it is assigned: gantry task show.",
        code="no_lease",
    )


@contextlib.asynccontextmanager
async def host_of(chain: ChainPort, lease: LeaseView, signer: Signer) -> AsyncIterator[HostClient]:
    """A connection to the host that has this lease, proven by its key on the chain."""
    from offchain.adapters.transport.routing import open_host  # noqa: PLC0415  (the transport is slow to load)

    view = await read_host(chain, lease.host)
    genesis = await chain.genesis_hash()
    async with open_host(
        ss58.decode(lease.host),
        view.endpoint,
        genesis_hash=genesis,
        signer=signer,
        gateways=options.given_gateways(),
    ) as client:
        yield client


@contextlib.asynccontextmanager
async def reached(chain: ChainPort, lease: LeaseView, signer: Signer) -> AsyncIterator[HostClient]:
    """The same, connected; says so where it goes the slower way."""
    async with host_of(chain, lease, signer) as client:
        said = _WAYS.get(await client.connect())
        if said is not None:
            progress(said)
        yield client


@contextlib.asynccontextmanager
async def pod_of(url: str | None, number: int, pod: int, signer: Signer) -> AsyncIterator[Pod]:
    """A pod of a task with a connection to its host."""
    async with connected(url) as chain:
        lease = lease_of(await read_task(chain, number), pod)
        async with reached(chain, lease, signer) as client:
            yield Pod(chain, client, lease, f"pod {pod} of task {number}")


async def fetch_result(chain: ChainPort, lease: LeaseView, signer: Signer) -> bytes:
    """The bytes of a pod's result; they have the digest that the chain has."""
    assert lease.result_digest is not None  # noqa: S101  (callers ask only for reported pods)
    async with host_of(chain, lease, signer) as client:
        return await client.result(lease.id, lease.result_digest)
