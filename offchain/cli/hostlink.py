"""The way to the host of a lease: its result and its log, asked for with the tenant's signature."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from offchain.cli.views import LeaseView, read_host
from offchain.link import ss58
from offchain.link.ports import ChainPort, Signer

if TYPE_CHECKING:
    from offchain.link.p2p_client import HostClient


@contextlib.asynccontextmanager
async def host_of(chain: ChainPort, lease: LeaseView, signer: Signer) -> AsyncIterator[HostClient]:
    """A connection to the host that has this lease, proven by its key on the chain."""
    from offchain.link.p2p_client import open_host  # noqa: PLC0415  (the transport is slow to load)

    view = await read_host(chain, lease.host)
    genesis = await chain.genesis_hash()
    async with open_host(ss58.decode(lease.host), view.endpoint, genesis_hash=genesis, signer=signer) as client:
        yield client


async def fetch_result(chain: ChainPort, lease: LeaseView, signer: Signer) -> bytes:
    """The bytes of a pod's result; they have the digest that the chain has."""
    assert lease.result_digest is not None  # noqa: S101  (callers ask only for reported pods)
    async with host_of(chain, lease, signer) as client:
        return await client.result(lease.id, lease.result_digest)
