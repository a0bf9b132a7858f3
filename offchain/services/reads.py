"""Reads a :class:`Snapshot` from the chain's storage at one block, and the records that events touched."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

from offchain.core.snapshot import Read, Snapshot, Touched
from offchain.core.values import Host, Lease, Periods, Task
from offchain.link.ports import BlockRef, ChainEvent, ChainPort
from offchain.link.typed import GantryChain
from offchain.schema._generated_chain import storage
from offchain.services.records import LIVE_TASK_STATES, host_of, lease_of, periods_of, task_of

_K = TypeVar("_K", str, int)
_V = TypeVar("_V")

AT_ONCE = 32
"""Reads in flight at the same time."""


class Reads:
    """Typed reads of what workers decide on. Every method takes the block to read at."""

    def __init__(self, chain: ChainPort) -> None:
        self._chain = GantryChain(chain)
        self._room = asyncio.Semaphore(AT_ONCE)

    async def snapshot(self, at: BlockRef) -> Snapshot:
        """Everything that is live at block `at`."""
        hosts = await self._chain.hosts(at.hash)
        tasks: dict[int, Task | None] = {}
        for state in LIVE_TASK_STATES:
            tasks |= await self.tasks(await self._chain.tasks_by_state(state, at.hash), at.hash)
        held = [lease for host in hosts for lease in await self._chain.leases_of_host(host, at.hash)]
        leases = await self._each(held, at.hash, self.lease)
        return Snapshot(
            number=at.number,
            now_ms=await self.now(at.hash),
            periods=await self.periods(at.hash),
            hosts={host_id: host_of(host_id, record) for host_id, record in hosts.items()},
            tasks={key: task for key, task in tasks.items() if task is not None},
            leases={key: lease for key, lease in leases.items() if lease is not None},
        )

    async def read(self, touched: Touched, at: bytes) -> Read:
        """The touched records at block `at`."""
        return Read(
            hosts=await self._each(touched.hosts, at, self.host),
            tasks=await self._each(touched.tasks, at, self.task),
            leases=await self._each(touched.leases, at, self.lease),
            periods=await self.periods(at) if touched.params else None,
        )

    async def events(self, at: bytes) -> list[ChainEvent]:
        """The events of a block that may not be final yet."""
        records = await self._chain.port.query("System", "Events", at=at)
        return [ChainEvent(*_event_of(record["event"]), extrinsic=None) for record in records or ()]

    async def now(self, at: bytes) -> int:
        """Chain time at block `at`, ms."""
        return await self._chain.now_ms(at)

    async def next_task_id(self, at: bytes) -> int:
        """The number that the next submitted task will get."""
        return await self._chain.read(storage.tasks_next_task_id, at=at) or 0

    async def host(self, host_id: str, at: bytes) -> Host | None:
        """A host; None where it is not registered."""
        record = await self._chain.host(host_id, at)
        return None if record is None else host_of(host_id, record)

    async def task(self, task_id: int, at: bytes) -> Task | None:
        """A task; None where it is final or unknown."""
        record = await self._chain.task(task_id, at)
        return None if record is None else task_of(task_id, record)

    async def tasks(self, task_ids: Iterable[int], at: bytes) -> dict[int, Task | None]:
        """Several tasks."""
        return await self._each(task_ids, at, self.task)

    async def lease(self, lease_id: int, at: bytes) -> Lease | None:
        """A lease; None where it holds nothing any more."""
        record = await self._chain.lease(lease_id, at)
        return None if record is None else lease_of(lease_id, record, await self._chain.escrow(lease_id, at))

    async def periods(self, at: bytes) -> Periods:
        """The parameters that decide when something is due."""
        return periods_of(await self._chain.params("Tasks", at), await self._chain.params("Hosts", at))

    async def _each(self, keys: Iterable[_K], at: bytes, read: Callable[[_K, bytes], Awaitable[_V]]) -> dict[_K, _V]:
        async def one(key: _K) -> tuple[_K, _V]:
            async with self._room:
                return key, await read(key, at)

        return dict(await asyncio.gather(*(one(key) for key in sorted(keys))))


def _event_of(plain: Any) -> tuple[str, str, Mapping[str, Any]]:
    """Pallet, name and fields of an event in plain form: `{pallet: name}` or `{pallet: {name: fields}}`."""
    ((pallet, inner),) = plain.items()
    if isinstance(inner, str):
        return pallet, inner, {}
    ((name, fields),) = inner.items()
    return pallet, name, fields if isinstance(fields, Mapping) else {}
