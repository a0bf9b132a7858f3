"""Reused connections of a tenant's program to hosts."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence

from offchain.adapters.keys import ss58
from offchain.adapters.transport.host_client import HostClient
from offchain.adapters.transport.port import TransportError
from offchain.adapters.transport.routing import open_host
from offchain.ports import Signer
from offchain.schema.chain_types import _generated_chain as gen


class HostConnections:
    """Connections to hosts, reused between steps, and reopened when a host's endpoint has changed."""

    def __init__(
        self,
        stack: contextlib.AsyncExitStack,
        genesis_hash: bytes,
        account: Signer,
        gateways: Sequence[str] = (),
    ) -> None:
        self._stack = stack
        self._genesis_hash = genesis_hash
        self._account = account
        self._gateways = gateways
        self._open: dict[str, tuple[bytes, contextlib.AsyncExitStack, HostClient]] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """One lock a host, so that an unreachable one does not delay the others."""
        stack.push_async_callback(self._close)

    @contextlib.asynccontextmanager
    async def to(self, record: gen.HostRecord, host: str) -> AsyncIterator[HostClient]:
        """Yield a connection to a host. A connection that fails is closed, and reopened the next time."""
        async with self._turns[host]:
            known = self._open.get(host)
            if known is None or known[0] != record.endpoint:
                await self._drop(host)
                known = self._open[host] = await self._dialled(record, host)
        try:
            yield known[2]
        except (TransportError, asyncio.CancelledError):
            await self._drop(host)
            raise

    def apart(self, record: gen.HostRecord, host: str) -> contextlib.AbstractAsyncContextManager[HostClient]:
        """Yield a connection of its own to a host, which is not reused."""
        return open_host(
            ss58.decode(host),
            record.endpoint,
            genesis_hash=self._genesis_hash,
            signer=self._account,
            gateways=self._gateways,
        )

    async def _dialled(self, record: gen.HostRecord, host: str) -> tuple[bytes, contextlib.AsyncExitStack, HostClient]:
        held = contextlib.AsyncExitStack()
        return record.endpoint, held, await held.enter_async_context(self.apart(record, host))

    async def _drop(self, host: str) -> None:
        known = self._open.pop(host, None)
        if known is not None:
            await known[1].aclose()

    async def _close(self) -> None:
        for host in tuple(self._open):
            await self._drop(host)
