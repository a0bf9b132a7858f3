"""Read a :class:`Snapshot` from the chain's storage at one block, and the records that events touched."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from offchain.adapters.chain.typed import GantryChain
from offchain.core.snapshot import Read, Snapshot, Touched
from offchain.core.values import Host, Periods, Task
from offchain.ports import BlockRef, ChainEvent, ChainPort
from offchain.schema.chain_types._generated_chain import TaskRecord
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.chain_types.replicas import is_audited
from offchain.services.record_mapping import LIVE_TASK_STATES, host_of, periods_of, source_of, task_of


@dataclass(frozen=True, slots=True)
class BestHeader:
    """A block that may not be final yet: the hash of its parent, its chain time, the number of the next task.

    `session_seed`: see :meth:`SnapshotReader.session_seed`.
    """

    parent: bytes
    now_ms: int
    next_task: int
    session_seed: bytes


class SnapshotReader:
    """Reads of the records that workers decide on. Every method takes the block to read at."""

    def __init__(self, chain: ChainPort) -> None:
        self._chain = GantryChain(chain)

    async def snapshot(self, at: BlockRef) -> Snapshot:
        """Return all live records."""
        hosts, scores = await self._chain.hosts(at.hash), await self._chain.host_scores(at.hash)
        live = {task for tag in LIVE_TASK_STATES for task in await self._chain.tasks_by_state(tag, at.hash)}
        tasks = await self.tasks(live, at.hash)
        return Snapshot(
            number=at.number,
            now_ms=await self.now(at.hash),
            periods=await self.periods(at.hash),
            agenda_at=await self.agenda_at(at.hash),
            hosts={name: host_of(name, record, scores.get(name)) for name, record in hosts.items()},
            tasks={key: task for key, task in tasks.items() if task is not None},
            schedulers=await self.schedulers(at.hash),
        )

    async def read(self, touched: Touched, at: bytes) -> Read:
        """Return the touched records."""
        return Read(
            hosts=await self.hosts(touched.hosts, at),
            tasks=await self.tasks(touched.tasks, at),
            periods=await self.periods(at) if touched.params else None,
            schedulers=await self.schedulers(at) if touched.schedulers else None,
        )

    async def schedulers(self, at: bytes) -> frozenset[str]:
        """Return the bonded schedulers."""
        return frozenset(await self._chain.schedulers(at))

    async def events(self, at: bytes) -> list[ChainEvent]:
        """Return the events of a block that may not be final yet."""
        records = await self._chain.port.query("System", "Events", at=at)
        return [ChainEvent(*_event_of(record["event"]), extrinsic=None) for record in records or ()]

    async def now(self, at: bytes) -> int:
        """Return chain time in ms."""
        return await self._chain.now_ms(at)

    async def header(self, at: bytes) -> BestHeader:
        """Return what is read of every best block."""
        parent, now_ms, next_task, seed = await asyncio.gather(
            self._chain.parent_hash(at),
            self.now(at),
            self.next_task_id(at),
            self.session_seed(at),
        )
        return BestHeader(parent, now_ms, next_task, seed)

    async def session_seed(self, at: bytes) -> bytes:
        """Return the randomness of the chain's session, which nobody knew before the session before it ended."""
        return bytes(await self._chain.port.query("Babe", "Randomness", at=at) or b"")

    async def agenda_at(self, at: bytes) -> int | None:
        """Return the chain time of the earliest entry of the agenda of leases, in ms; None if it is empty."""
        return await self._chain.agenda_at(at)

    async def next_task_id(self, at: bytes) -> int:
        """Return the number of the next submitted task."""
        return await self._chain.next_task(at)

    async def hosts(self, host_ids: Iterable[str], at: bytes) -> dict[str, Host | None]:
        """Return several hosts; None for one that is not registered."""
        wanted = sorted(host_ids)
        found = await self._chain.hosts_named(wanted, at)
        scores = await self._chain.host_scores_named(found, at)
        return {host: host_of(host, found[host], scores.get(host)) if host in found else None for host in wanted}

    async def tasks(self, task_ids: Iterable[int], at: bytes) -> dict[int, Task | None]:
        """Return several tasks; None for one that is final or unknown."""
        wanted = sorted(task_ids)
        found = await self._chain.tasks(wanted, at)
        sources = {number: lease_parts(lease)[0] for number in found if (lease := source_of(found[number])) is not None}
        others = await self._chain.tasks(sorted(set(sources.values())), at) if sources else {}
        audited = any(is_audited(task.spec) for task in found.values())
        surcharge_ppm = (await self._chain.params("Tasks", at)).audit_surcharge_ppm if audited else 0
        return {
            number: task_of(found[number], others.get(sources.get(number, -1)), surcharge_ppm)
            if number in found
            else None
            for number in wanted
        }

    async def tasks_after(self, after: int | None, limit: int, at: bytes) -> list[tuple[int, TaskRecord]]:
        """Return the next kept tasks, final ones too, after a task (None: from the oldest on)."""
        return await self._chain.tasks_after(after, limit, at)

    async def periods(self, at: bytes) -> Periods:
        """Return the parameters that decide when something is due."""
        return periods_of(await self._chain.params("Tasks", at), await self._chain.params("Hosts", at))


def _event_of(plain: Any) -> tuple[str, str, Mapping[str, Any]]:
    """Return pallet, name and fields of an event in plain form: `{pallet: name}` or `{pallet: {name: fields}}`."""
    ((pallet, inner),) = plain.items()
    if isinstance(inner, str):
        return pallet, inner, {}
    ((name, fields),) = inner.items()
    return pallet, name, fields if isinstance(fields, Mapping) else {}
