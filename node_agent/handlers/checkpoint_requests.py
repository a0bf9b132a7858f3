"""Requests of other hosts for saved folders of pods that they run next or stand by for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Final

from node_agent.chain.records import standby_of
from node_agent.core.checkpoints import CheckpointFile, PodKey
from node_agent.handlers.resumable import send_from
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.transport.host_server import Handler
from offchain.adapters.transport.port import refused
from offchain.adapters.transport.session import Session
from offchain.errors import TheirError
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.chain_types.values import LIVE_LEASE_STATES
from offchain.schema.protocol.messages import Code, Op, Request
from offchain.schema.protocol.operations import CheckpointArgs

MAX_FILES: Final = 4
"""Maximum of concurrent transfers from this host."""
PIECE: Final = 1 << 20


async def check_requesting_host(chain: GantryChain, request: Request) -> None:
    """Refuse a host that, by the chain, neither runs the lease's pod nor stands by for it."""
    assert request.lease is not None  # noqa: S101  (a request without is refused)
    try:
        lease = await chain.lease(request.lease)
    except TheirError:
        raise refused(Code.BUSY, "The host cannot reach its chain node now.", "Try again in a minute.") from None
    if lease is None:
        raise refused(Code.UNKNOWN_LEASE, f"There is no lease {request.lease} now.", "Look it up on the chain.")
    if lease.record.state.tag not in LIVE_LEASE_STATES:
        raise refused(Code.LEASE_ENDED, f"Lease {request.lease} has ended.", "Ask with a live lease.")
    if request.account not in (lease.record.host, standby_of(lease)):
        raise refused(
            Code.NOT_YOUR_LEASE,
            f"{request.account} neither has lease {request.lease} nor stands by for it.",
            "Sign with the key of the host that does.",
        )


class CheckpointRequests:
    """Handler for :class:`offchain.adapters.transport.host_server.HostServer`, after :func:`check_requesting_host`.

    `find` returns the file of a pod with this SHA-256, `path` its place.
    """

    def __init__(
        self, find: Callable[[PodKey, bytes], Awaitable[CheckpointFile | None]], path: Callable[[CheckpointFile], Path]
    ) -> None:
        self._find = find
        self._path = path
        self._files = 0

    def handlers(self) -> Mapping[Op, Handler]:
        return {Op.CHECKPOINT: self.checkpoint}

    async def checkpoint(self, request: Request, session: Session) -> None:
        args = request.args
        assert request.lease is not None  # noqa: S101  (a request without is refused)
        assert isinstance(args, CheckpointArgs)  # noqa: S101  (decoded by its op)
        task, pod, _ = lease_parts(request.lease)
        kept = await self._find((task, pod), bytes.fromhex(args.file))
        if kept is None:
            raise refused(Code.GONE, f"There is no such checkpoint of lease {request.lease} here.", "Ask another host.")
        if self._files >= MAX_FILES:
            raise refused(Code.BUSY, f"{MAX_FILES} checkpoints are being fetched here.", "Try again when one is done.")
        self._files += 1
        try:
            async with aclosing(_pieces(self._path(kept))) as pieces:
                await send_from(session, pieces, args.offset, args.digest, "the checkpoint")
        finally:
            self._files -= 1


async def _pieces(path: Path) -> AsyncGenerator[bytes, None]:
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        while data := await asyncio.to_thread(file.read, PIECE):
            yield data
