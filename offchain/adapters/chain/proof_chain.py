"""What proofs are made of, read from a node: headers, justifications of GRANDPA and trie nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from typing import Any, Final

from offchain.adapters.chain.client import SubstrateChain, header_bytes
from offchain.adapters.chain.rpc import RpcConnectionLost, RpcRefused
from offchain.adapters.chain.runtime import ChainRuntime
from offchain.adapters.chain.storage_queries import as_hex, unhex
from offchain.errors import BadReply

_KEYS_AT_ONCE: Final = 500
_HEADERS_AT_ONCE: Final = 64
_GRANDPA_ENGINE: Final = list(b"FRNK")
_NO_SET: Final = "Block not covered by authority set changes"
"""The error of nodes whose list of changes of the authority set has no entry at or after a block."""


_noted: ContextVar[dict[bytes, bytes | None] | None] = ContextVar("_noted", default=None)
"""The values that the block of code around has queried. Other tasks that use the connection have their own."""


class ProofChain(SubstrateChain):
    """A connection that also reads proofs, and notes which storage values were queried."""

    @contextmanager
    def noted_values(self) -> Iterator[dict[bytes, bytes | None]]:
        """Collect the storage values, by key, that are queried in the block of code; None: nothing is stored."""
        noted: dict[bytes, bytes | None] = {}
        token = _noted.set(noted)
        try:
            yield noted
        finally:
            _noted.reset(token)

    async def _call(self, method: str, *params: Any) -> Any:
        result = await super()._call(method, *params)
        if (noted := _noted.get()) is not None:
            if method == "state_getStorage":
                noted[unhex(params[0])] = _stored(result)
            elif method == "state_queryStorageAt":
                noted.update((unhex(key), None) for key in params[0])
                noted.update((unhex(key), _stored(value)) for changes in result for key, value in changes["changes"])
        return result

    async def runtime(self) -> ChainRuntime:
        """The runtime that the generated types belong to."""
        return await self._ready()

    async def raw_metadata(self, at: bytes) -> bytes:
        """The encoded metadata of the runtime of a block."""
        return unhex(await self._call("state_getMetadata", as_hex(at)))

    async def header(self, block_hash: bytes) -> bytes:
        """The encoded header of a block."""
        found = await self._call("chain_getHeader", as_hex(block_hash))
        if found is None:
            raise BadReply(
                f"The chain node does not know the block {as_hex(block_hash)}.",
                "Use a node that is synced.",
                code="unknown_block",
            )
        return header_bytes(found)

    async def headers(self, first: int, last: int) -> list[bytes]:
        """The encoded headers of final blocks, in order."""
        if first > last:
            return []
        hashes = await self._call("chain_getBlockHash", list(range(first, last + 1)))
        found: list[bytes] = []
        for start in range(0, len(hashes), _HEADERS_AT_ONCE):
            part = hashes[start : start + _HEADERS_AT_ONCE]
            found += await asyncio.gather(*(self.header(unhex(one)) for one in part))
        return found

    async def read_proof(self, keys: Sequence[bytes], at: bytes) -> set[bytes]:
        """The trie nodes that prove the values of these keys, or their absence, in the state of a block."""
        nodes: set[bytes] = set()
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            part = [as_hex(key) for key in keys[start : start + _KEYS_AT_ONCE]]
            answer = await self._call("state_getReadProof", part, as_hex(at))
            nodes.update(unhex(node) for node in answer["proof"])
        return nodes

    async def finality_proof(self, number: int) -> bytes | None:
        """The encoded `FinalityProof` of a final block: that of the last block of its authority set, or the newest one.

        None where the node has stored no justification for it, or the chain's authorities have never changed: then
        nodes know no set that the block belongs to.
        """
        try:
            answer = await self._call("grandpa_proveFinality", number)
        except BadReply as error:
            if _NO_SET in error.message:
                return None
            raise
        return None if answer is None else unhex(answer)

    async def stored_justification(self, number: int) -> bytes | None:
        """The encoded justification that the node keeps for a final block; None for most blocks."""
        at = as_hex((await self.block_ref(number)).hash)
        for engine, justification in (await self._call("chain_getBlock", at))["justifications"] or ():
            if engine == _GRANDPA_ENGINE:
                return bytes(justification)
        return None

    async def next_justification(self, timeout_s: float) -> bytes | None:
        """The encoded justification of the next blocks that become final; None where there is none in that time."""
        await self.connect()
        try:
            async with (
                asyncio.timeout(timeout_s),
                aclosing(
                    self._rpc.subscribe("grandpa_subscribeJustifications", "grandpa_unsubscribeJustifications")
                ) as found,
            ):
                async for justification in found:
                    return unhex(justification)
        except TimeoutError:
            return None
        except (RpcRefused, RpcConnectionLost) as error:
            raise BadReply(f"The chain node gives no justifications: {error}.", "Use another node.") from None
        return None


def _stored(value: str | None) -> bytes | None:
    return None if value is None else unhex(value)
