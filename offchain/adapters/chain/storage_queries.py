"""Queries of the chain's storage over the RPC of a node."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from offchain.adapters.chain.metadata import StorageEntry
from offchain.adapters.chain.runtime import ChainRuntime
from offchain.ports import BlockRef, BlockValues, StorageKey

_PAGE = 1000
_PAGES_AT_ONCE = 4
"""Pages of records that are requested at once; each takes the event loop some 50 ms to decode."""
_NOW: StorageKey = ("Timestamp", "Now", ())


def unhex(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def as_hex(data: bytes) -> str:
    return "0x" + data.hex()


def _at(block_hash: bytes | None) -> list[str]:
    return [] if block_hash is None else [as_hex(block_hash)]


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A value in the storage with its place. `keys`: plain; empty for an item without keys.

    `raw`: the stored bytes; None where nothing is stored. `value`: plain; then the item's default, or None.
    """

    pallet: str
    item: str
    keys: tuple[Any, ...]
    storage_key: bytes
    raw: bytes | None
    value: Any | None


class StorageQueries(ABC):
    """The queries of a :class:`~offchain.ports.ChainPort`, over a connection that a subclass provides."""

    @abstractmethod
    async def _ready(self) -> ChainRuntime:
        """Return the runtime, once the chain behind the connection has been checked."""

    @abstractmethod
    async def _call(self, method: str, *params: Any) -> Any:
        """Return the result of a request."""

    @abstractmethod
    async def best_head(self) -> BlockRef:
        """Return the newest block."""

    async def query(self, pallet: str, item: str, params: Sequence[Any] = (), at: bytes | None = None) -> Any | None:
        runtime = await self._ready()
        entry = runtime.entry(pallet, item)
        raw = await self._call("state_getStorage", as_hex(runtime.storage_key(entry, params)), *_at(at))
        return runtime.read_value(entry, None if raw is None else unhex(raw))

    async def query_map(
        self, pallet: str, item: str, prefix: Sequence[Any] = (), at: bytes | None = None
    ) -> list[tuple[Any, Any]]:
        runtime = await self._ready()
        entry = runtime.entry(pallet, item)
        block_hash = as_hex(at or (await self.best_head()).hash)
        start = below = as_hex(runtime.storage_key(entry, prefix))
        found: list[tuple[Any, Any]] = []
        while True:
            keys = await self._call("state_getKeysPaged", below, _PAGE, start, block_hash)
            found += await self._entries(runtime, entry, keys, len(prefix), block_hash)
            if len(keys) < _PAGE:
                return found
            start = keys[-1]

    async def query_many(
        self, pallet: str, item: str, keys: Sequence[Sequence[Any]], at: bytes | None = None
    ) -> list[Any | None]:
        if not keys:
            return []
        runtime = await self._ready()
        entry = runtime.entry(pallet, item)
        block_hash = as_hex(at or (await self.best_head()).hash)
        wanted = [as_hex(runtime.storage_key(entry, key)) for key in keys]
        parts = [wanted[start : start + _PAGE] for start in range(0, len(wanted), _PAGE)]
        room = asyncio.Semaphore(_PAGES_AT_ONCE)

        async def read(part: list[str]) -> list[Any | None]:
            async with room:  # the node has its time for an answer from the request on
                return [runtime.read_value(entry, raw) for raw in await self._raw_values(part, block_hash)]

        return [value for values in await asyncio.gather(*(read(part) for part in parts)) for value in values]

    async def stored_values(
        self, pallet: str, item: str, keys: Sequence[Sequence[Any]], at: bytes
    ) -> list[StoredValue]:
        """The values of one item with several keys, in their order, as they are stored and in plain form."""
        runtime = await self._ready()
        entry = runtime.entry(pallet, item)
        names = [runtime.storage_key(entry, key) for key in keys]
        raws = await self._raw_values([as_hex(name) for name in names], as_hex(at))

        def read() -> list[StoredValue]:
            return [
                StoredValue(pallet, item, tuple(key), name, raw, runtime.read_value(entry, raw))
                for key, name, raw in zip(keys, names, raws, strict=True)
            ]

        return await asyncio.to_thread(read)

    async def block_values(self, keys: Sequence[StorageKey], at: bytes) -> BlockValues:
        runtime = await self._ready()
        wanted = [(runtime.entry(pallet, item), params) for pallet, item, params in (_NOW, *keys)]
        names = [as_hex(runtime.storage_key(entry, params)) for entry, params in wanted]
        raws = await self._raw_values(names, as_hex(at))
        now, *values = (runtime.read_value(entry, raw) for (entry, _), raw in zip(wanted, raws, strict=True))
        return BlockValues(int(now or 0), tuple(values))

    async def query_page(
        self, pallet: str, item: str, after: Any | None, limit: int, at: bytes | None = None
    ) -> list[tuple[Any, Any]]:
        runtime = await self._ready()
        entry = runtime.entry(pallet, item)
        block_hash = as_hex(at or (await self.best_head()).hash)
        start, below = (as_hex(runtime.storage_key(entry, key)) for key in ([] if after is None else [after], []))
        keys = await self._call("state_getKeysPaged", below, limit, start, block_hash)
        return await self._entries(runtime, entry, keys, 0, block_hash)

    async def _raw_values(self, keys: list[str], block_hash: str) -> list[bytes | None]:
        """The encoded values with these storage keys, in their order."""
        sets = await self._call("state_queryStorageAt", keys, block_hash)
        found = {key: value for changes in sets for key, value in changes["changes"]}
        return [None if (raw := found.get(key)) is None else unhex(raw) for key in keys]

    async def _entries(
        self, runtime: ChainRuntime, entry: StorageEntry, keys: list[str], known: int, block_hash: str
    ) -> list[tuple[Any, Any]]:
        """The entries with these storage keys, in plain form."""
        if not keys:
            return []
        return [
            (runtime.read_key(entry, unhex(key), known), runtime.read_value(entry, unhex(value)))
            for changes in await self._call("state_queryStorageAt", keys, block_hash)
            for key, value in changes["changes"]
            if value is not None
        ]
