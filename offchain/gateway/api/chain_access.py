"""Requests to a node for clients of the API: few at a time, each within a time limit."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, Generic, Protocol, TypeVar

from offchain.adapters.chain.block_bodies import BlockExtrinsic
from offchain.adapters.chain.runtime import ChainRuntime
from offchain.adapters.chain.wallet_extrinsics import UnsignedExtrinsic
from offchain.errors import OurError, TheirError
from offchain.gateway.api.models import BlockReference
from offchain.ports import BlockRef, ChainPort, SignedExtrinsic

AT_ONCE: Final = 8
MOST_WAITING: Final = 64
LIMIT_S: Final = 10.0
NODE_TIMEOUT_S: Final = 5.0
"""How long a request waits for a node that is away."""


class SigningChain(ChainPort, Protocol):
    """A chain whose extrinsics are signed by wallets elsewhere."""

    async def runtime(self) -> ChainRuntime:
        """The runtime of the best block."""
        ...

    async def unsigned_extrinsic(self, call: bytes, account: str) -> UnsignedExtrinsic:
        """An extrinsic for the account's wallet to sign."""
        ...

    async def signed_extrinsic(
        self, account: str, call: bytes, given: Mapping[str, Any], signature: bytes
    ) -> SignedExtrinsic:
        """The extrinsic of a payload that a wallet has signed."""
        ...

    async def block_extrinsic(self, number: int, index: int, most_bytes: int) -> BlockExtrinsic:
        """An extrinsic of a final block, decoded if it has at most `most_bytes`. LookupError where there is none."""
        ...


class NodeBusy(OurError):  # noqa: N818
    """Too many requests to the node wait."""

    code = "busy"


class NodeSlow(TheirError):  # noqa: N818
    """The node did not answer in time."""

    code = "node_slow"


C = TypeVar("C", bound=ChainPort)


class ChainAccess(Generic[C]):
    """Access to a chain for strangers: :data:`AT_ONCE` requests of the API use it at a time, others wait."""

    def __init__(self, chain: C, *, at_once: int = AT_ONCE, limit_s: float = LIMIT_S) -> None:
        self._chain = chain
        self._slots = asyncio.Semaphore(at_once)
        self._limit_s = limit_s
        self._asked = 0

    @contextlib.asynccontextmanager
    async def use(self) -> AsyncIterator[C]:
        """Yield the chain. Raises NodeBusy, and NodeSlow where the block takes longer than the limit."""
        if self._asked >= MOST_WAITING:
            raise NodeBusy(f"{MOST_WAITING} requests to the node wait, which is the limit.", "Try again in a minute.")
        self._asked += 1
        try:
            async with asyncio.timeout(self._limit_s), self._slots:
                yield self._chain
        except TimeoutError:
            raise NodeSlow(f"The node has not answered within {self._limit_s:g} s.", "Try again in a minute.") from None
        finally:
            self._asked -= 1


async def final_block(chain: ChainPort) -> tuple[BlockRef, BlockReference]:
    """Return the last final block of the node."""
    head = await chain.finalized_head()
    found = await chain.block_values([], head.hash)
    return head, BlockReference(number=head.number, hash=f"0x{head.hash.hex()}", time_ms=found.timestamp_ms)
