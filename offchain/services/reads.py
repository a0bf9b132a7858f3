"""Reads a :class:`Snapshot` from the chain's storage at one block, and the records that events touched."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from offchain.core.snapshot import Read, Snapshot, Touched
from offchain.core.values import Host, Lease, Periods, Task
from offchain.link.errors import BadReply
from offchain.link.ports import BlockRef, ChainPort
from offchain.services.records import LIVE_TASK_STATES, host_of, lease_of, periods_of, task_of

_K = TypeVar("_K", str, int)
_V = TypeVar("_V")

AT_ONCE = 32
"""Reads in flight at the same time."""


class Reads:
    """Typed reads of what workers decide on. Every method takes the block to read at."""

    def __init__(self, chain: ChainPort) -> None:
        self._chain = chain
        self._room = asyncio.Semaphore(AT_ONCE)

    async def snapshot(self, at: BlockRef) -> Snapshot:
        """Everything that is live at block `at`."""
        hosts = await self._chain.query_map("Hosts", "Hosts", at=at.hash)
        task_ids: list[int] = []
        for state in LIVE_TASK_STATES:
            task_ids += [key for key, _ in await self._chain.query_map("Tasks", "ByState", [state.value], at=at.hash)]
        lease_ids = [key[1] for key, _ in await self._chain.query_map("Leases", "ByHost", at=at.hash)]
        tasks = await self._each(task_ids, at.hash, self.task)
        leases = await self._each(lease_ids, at.hash, self.lease)
        return Snapshot(
            number=at.number,
            now_ms=await self.now(at.hash),
            periods=await self.periods(at.hash),
            hosts={host_id: host_of(host_id, record) for host_id, record in hosts},
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

    async def now(self, at: bytes) -> int:
        """Chain time at block `at`, ms."""
        return int(await self._required("Timestamp", "Now", at))

    async def next_task_id(self, at: bytes) -> int:
        """The number that the next submitted task will get."""
        return int(await self._chain.query("Tasks", "NextTaskId", at=at) or 0)

    async def host(self, host_id: str, at: bytes) -> Host | None:
        """A host; None where it is not registered."""
        record = await self._chain.query("Hosts", "Hosts", [host_id], at=at)
        return None if record is None else host_of(host_id, record)

    async def task(self, task_id: int, at: bytes) -> Task | None:
        """A task; None where it is final or unknown."""
        record = await self._chain.query("Tasks", "Tasks", [task_id], at=at)
        return None if record is None else task_of(task_id, record)

    async def tasks(self, task_ids: Iterable[int], at: bytes) -> dict[int, Task | None]:
        """Several tasks."""
        return await self._each(task_ids, at, self.task)

    async def lease(self, lease_id: int, at: bytes) -> Lease | None:
        """A lease; None where it holds nothing any more."""
        record = await self._chain.query("Leases", "Leases", [lease_id], at=at)
        if record is None:
            return None
        return lease_of(lease_id, record, await self._chain.query("Billing", "Escrows", [lease_id], at=at))

    async def periods(self, at: bytes) -> Periods:
        """The parameters that decide when something is due."""
        return periods_of(await self._required("Tasks", "Params", at), await self._required("Hosts", "Params", at))

    async def _required(self, pallet: str, item: str, at: bytes) -> Any:
        value = await self._chain.query(pallet, item, at=at)
        if value is None:
            raise BadReply(f"The chain has no value for {pallet}.{item}.", "Is this node's runtime a Gantry runtime?")
        return value

    async def _each(self, keys: Iterable[_K], at: bytes, read: Callable[[_K, bytes], Awaitable[_V]]) -> dict[_K, _V]:
        async def one(key: _K) -> tuple[_K, _V]:
            async with self._room:
                return key, await read(key, at)

        return dict(await asyncio.gather(*(one(key) for key in sorted(keys))))
