"""Extrinsics in the bodies of blocks, which a node also has without the state of the block."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from offchain.adapters.chain.extrinsic import read_call
from offchain.adapters.chain.runtime import ChainRuntime
from offchain.adapters.chain.storage_queries import as_hex, unhex
from offchain.errors import BadReply
from offchain.ports import BlockRef, Call
from offchain.schema.chain_types.values import blake2_256


@dataclass(frozen=True, slots=True)
class BlockExtrinsic:
    """An extrinsic of a block. `size` in bytes; `call`: None if it is longer than the caller decodes.

    `runtime_known`: whether it was decoded by the runtime of its block; else by that of the best block.
    """

    hash: bytes
    size: int
    signer: str | None
    call: Call | None
    runtime_known: bool


class BlockBodies(ABC):
    """Extrinsics of final blocks, over a connection that a subclass provides."""

    @abstractmethod
    async def _call(self, method: str, *params: Any) -> Any:
        """Return the result of a request."""

    @abstractmethod
    async def _ready(self) -> ChainRuntime:
        """Return the runtime of a checked connection."""

    @abstractmethod
    async def _runtime_of(self, version: dict[str, Any], at: str | None) -> ChainRuntime:
        """Return the runtime of this version, whose metadata the block `at` has."""

    @abstractmethod
    async def block_ref(self, number: int) -> BlockRef:
        """Return number and hash of a final block. Raises LookupError."""

    async def block_extrinsic(self, number: int, index: int, most_bytes: int) -> BlockExtrinsic:
        """An extrinsic of a final block, decoded if it has at most `most_bytes`. LookupError where there is none."""
        at = as_hex((await self.block_ref(number)).hash)
        block = (await self._call("chain_getBlock", at))["block"]
        extrinsics = block["extrinsics"]
        if not index < len(extrinsics):
            raise LookupError(f"block {number} has {len(extrinsics)} extrinsics")
        raw = unhex(extrinsics[index])
        if len(raw) > most_bytes:
            return BlockExtrinsic(blake2_256(raw), len(raw), None, None, runtime_known=True)
        runtime, is_known = await self._ready(), True
        # A block is executed by the runtime in the state of its parent.
        parent = block["header"]["parentHash"] if number else at
        try:
            version = await self._call("state_getRuntimeVersion", parent)
            if version["specVersion"] != runtime.spec_version:
                runtime = await self._runtime_of(version, parent)
        except BadReply as error:
            if error.code != "state_pruned":
                raise
            is_known = False
        signer, call = await asyncio.to_thread(read_call, runtime, raw)
        return BlockExtrinsic(blake2_256(raw), len(raw), signer, call, runtime_known=is_known)
