"""Queries of the storage that a proof contains, with the codec of the runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from offchain.adapters.chain.runtime import ChainRuntime
from offchain.adapters.chain.storage_queries import StorageQueries, as_hex, unhex
from offchain.ports import BlockRef

ReadProven = Callable[[bytes], bytes | None]


class ProvenStorage(StorageQueries):
    """The storage at one block, as far as it is proven: a query of anything else raises what `read` raises.

    `read`: the value of a storage key, or None where it is proven that there is none. Keys cannot be listed.
    """

    def __init__(self, runtime: ChainRuntime, block: BlockRef, read: ReadProven) -> None:
        self._runtime = runtime
        self._block = block
        self._read = read

    async def _ready(self) -> ChainRuntime:
        return self._runtime

    async def best_head(self) -> BlockRef:
        return self._block

    async def _call(self, method: str, *params: Any) -> Any:
        match method:
            case "state_getStorage":
                return self._value(params[0])
            case "state_queryStorageAt":
                return [{"changes": [[key, self._value(key)] for key in params[0]]}]
        raise NotImplementedError(f"a proof does not answer {method}")

    def _value(self, key: str) -> str | None:
        raw = self._read(unhex(key))
        return None if raw is None else as_hex(raw)
