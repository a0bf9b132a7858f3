"""The chain's storage and events as typed values: what workers, the agent and the CLI read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar, overload

from offchain.ports import ChainPort
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import storage
from offchain.schema.chain_types.ids import key_task, lease_id, lease_parts, page_tasks, task_key
from offchain.schema.chain_types.values import StorageItem

T = TypeVar("T")

AGENDA_BUCKET_MS: Final = 6_000
"""The chain's agenda of leases takes so much time together: a bucket's number times this is when it is due."""


@dataclass(frozen=True, slots=True)
class Balance:
    """An account's coins in base units.

    `held` is part of no other number: the whole account has `free + held`. `frozen` is a part of these that cannot
    be spent.
    """

    free: int
    held: int
    frozen: int

    @property
    def spendable(self) -> int:
        """What can be spent without ending the account's other promises."""
        return max(0, self.free - max(0, self.frozen - self.held))


@dataclass(frozen=True, slots=True)
class TaskAndSpec:
    """A task with what was asked for, which it may share with others that were submitted with it."""

    id: int
    record: gen.TaskRecord
    spec: gen.TaskSpec

    def lease(self, lease: int) -> LeaseOfTask | None:
        """Its lease of this number, if it has it."""
        task, pod, generation = lease_parts(lease)
        for found in self.record.leases:
            if (task, pod, generation) == (self.id, found.pod, found.generation):
                return LeaseOfTask(lease, self, found)
        return None

    @property
    def leases(self) -> list[LeaseOfTask]:
        """Its leases in the order of their pods."""
        return [
            LeaseOfTask(lease_id(self.id, found.pod, found.generation), self, found) for found in self.record.leases
        ]


@dataclass(frozen=True, slots=True)
class LeaseOfTask:
    """A lease with the task it is for: the task says who pays and what the host gives."""

    id: int
    task: TaskAndSpec
    record: gen.Lease


class GantryChain:
    """Reads over a :class:`ChainPort`. `at` is a block hash; without it, the newest block is read."""

    def __init__(self, port: ChainPort) -> None:
        self.port = port

    async def read(self, item: StorageItem[T], *params: Any, at: bytes | None = None) -> T | None:
        """A value of one of our pallets: `read(storage.tasks_tasks, 7)`."""
        plain = await self.port.query(item.pallet, item.item, params, at)
        return None if plain is None else item.decode(plain)

    async def read_map(self, item: StorageItem[T], prefix: Sequence[Any] = (), at: bytes | None = None) -> dict[Any, T]:
        """All values below a key prefix, by the rest of the key."""
        return {key: item.decode(plain) for key, plain in await self.port.query_map(item.pallet, item.item, prefix, at)}

    # --- hosts ----------------------------------------------------------------------------------------------------

    async def host(self, host: str, at: bytes | None = None) -> gen.HostRecord | None:
        """A host, by its account."""
        return await self.read(storage.hosts_hosts, host, at=at)

    async def hosts(self, at: bytes | None = None) -> dict[str, gen.HostRecord]:
        """All hosts."""
        return await self.read_map(storage.hosts_hosts, at=at)

    async def hosts_named(self, names: Iterable[str], at: bytes | None = None) -> dict[str, gen.HostRecord]:
        """Those of these hosts that are registered."""
        return await self._named(storage.hosts_hosts, names, at)

    async def host_scores(self, at: bytes | None = None) -> dict[str, gen.HostScore]:
        """The evidence about all hosts of which there is any."""
        return await self.read_map(storage.reputation_host_scores, at=at)

    async def host_scores_named(self, names: Iterable[str], at: bytes | None = None) -> dict[str, gen.HostScore]:
        """The evidence about those of these hosts of which there is any."""
        return await self._named(storage.reputation_host_scores, names, at)

    # --- tasks and leases -----------------------------------------------------------------------------------------

    async def task(self, task: int, at: bytes | None = None) -> TaskAndSpec | None:
        """A task; None where it was never submitted, or is pruned."""
        return (await self.tasks([task], at)).get(task)

    async def tasks(self, numbers: Iterable[int], at: bytes | None = None) -> dict[int, TaskAndSpec]:
        """Those of these tasks that the chain keeps."""
        wanted = sorted(set(numbers))
        records = await self._many(storage.tasks_tasks, wanted, at)
        firsts = sorted({record.first for record in records.values()})
        shared = await self._many(storage.tasks_specs, firsts, at)
        return {
            number: TaskAndSpec(number, record, shared[record.first].spec)
            for number, record in records.items()
            if record.first in shared
        }

    async def all_tasks(self, at: bytes | None = None) -> dict[int, gen.TaskRecord]:
        """All tasks the chain still keeps."""
        return {key_task(key): task for key, task in (await self.read_map(storage.tasks_tasks, at=at)).items()}

    async def tasks_after(
        self, after: int | None, limit: int, at: bytes | None = None
    ) -> list[tuple[int, gen.TaskRecord]]:
        """The next kept tasks after one of them (None: from the oldest on), at most `limit` (1 to 1000)."""
        item = storage.tasks_tasks
        start = None if after is None else task_key(after)
        page = await self.port.query_page(item.pallet, item.item, start, limit, at)
        return [(key_task(key), item.decode(plain)) for key, plain in page]

    async def next_task(self, at: bytes | None = None) -> int:
        """The number that the next task will get; all below it were submitted."""
        return await self.read(storage.tasks_next_task_id, at=at) or 0

    async def tasks_by_state(self, tag: gen.IndexTag, at: bytes | None = None) -> list[int]:
        """The tasks on one of the chain's lists, oldest first."""
        pages = await self.read_map(storage.tasks_by_state, (tag,), at)
        return [task for key in sorted(pages) for task in page_tasks(key, pages[key])]

    async def tasks_of(self, tenant: str, at: bytes | None = None) -> list[int]:
        """The tasks of a tenant, oldest first, with those that were submitted together with one that is kept."""
        found = await self.read_map(storage.tasks_by_tenant, (tenant,), at)
        firsts = sorted((key_task(key), count) for key, count in found.items())
        return [first + place for first, count in firsts for place in range(count)]

    async def manifest(self, task: int, at: bytes | None = None) -> bytes | None:
        """What the tenant submitted; None once all tasks that were submitted with this one are final."""
        record = await self.read(storage.tasks_tasks, task_key(task), at=at)
        if record is None:
            return None
        return await self.read(storage.tasks_manifests, task_key(record.first), at=at)

    async def schedulers(self, at: bytes | None = None) -> dict[str, int]:
        """The bonded schedulers and their bonds."""
        return await self.read_map(storage.tasks_schedulers, at=at)

    async def lease(self, lease: int, at: bytes | None = None) -> LeaseOfTask | None:
        """A lease; None where there is none of this number, or its task has given it up for another since."""
        task = await self.task(lease_parts(lease)[0], at)
        return None if task is None else task.lease(lease)

    async def leases(self, numbers: Iterable[int], at: bytes | None = None) -> dict[int, LeaseOfTask]:
        """Those of these leases that there are."""
        wanted = sorted(set(numbers))
        tasks = await self.tasks((lease_parts(lease)[0] for lease in wanted), at)
        found = {lease: task.lease(lease) for lease in wanted if (task := tasks.get(lease_parts(lease)[0]))}
        return {number: lease for number, lease in found.items() if lease is not None}

    async def leases_of_host(self, host: str, at: bytes | None = None) -> list[int]:
        """The leases that hold something of a host, oldest task first."""
        found = await self.read(storage.leases_by_host, host, at=at)
        return sorted(found or ())

    async def agenda_at(self, at: bytes | None = None) -> int | None:
        """The chain time of the earliest entry of the agenda of leases, ms; None where it has none."""
        item = storage.leases_agenda_pages
        first = await self.port.query_page(item.pallet, item.item, None, 1, at)
        return int.from_bytes(first[0][0], "big") * AGENDA_BUCKET_MS if first else None

    async def total_escrowed(self, at: bytes | None = None) -> int:
        """All coins held for leases."""
        return await self.read(storage.billing_total_escrowed, at=at) or 0

    async def _named(self, item: StorageItem[T], names: Iterable[str], at: bytes | None) -> dict[str, T]:
        """The values under these accounts, without those that are not there."""
        wanted = sorted(set(names))
        plains = await self.port.query_many(item.pallet, item.item, [(name,) for name in wanted], at)
        return {name: item.decode(plain) for name, plain in zip(wanted, plains, strict=True) if plain is not None}

    async def _many(self, item: StorageItem[T], tasks: Sequence[int], at: bytes | None) -> dict[int, T]:
        """The values under these tasks' keys, without those that are not there."""
        plains = await self.port.query_many(item.pallet, item.item, [(task_key(task),) for task in tasks], at)
        return {task: item.decode(plain) for task, plain in zip(tasks, plains, strict=True) if plain is not None}

    # --- the rest -------------------------------------------------------------------------------------------------

    async def balance(self, account: str, at: bytes | None = None) -> Balance:
        """The coins of an account; zeros where it does not exist."""
        record = await self.port.query("System", "Account", (account,), at)
        data = record["data"] if record else {"free": 0, "reserved": 0, "frozen": 0}
        return Balance(free=data["free"], held=data["reserved"], frozen=data["frozen"])

    async def now_ms(self, at: bytes | None = None) -> int:
        """The chain's time."""
        return int(await self.port.query("Timestamp", "Now", (), at) or 0)

    @overload
    async def params(self, pallet: Literal["Hosts"], at: bytes | None = None) -> gen.HostsParams: ...
    @overload
    async def params(self, pallet: Literal["Tasks"], at: bytes | None = None) -> gen.TasksParams: ...
    @overload
    async def params(self, pallet: Literal["Billing"], at: bytes | None = None) -> gen.BillingParams: ...
    async def params(
        self, pallet: Literal["Hosts", "Tasks", "Billing"], at: bytes | None = None
    ) -> gen.HostsParams | gen.TasksParams | gen.BillingParams:
        """The periods and amounts of a pallet."""
        plain = await self.port.query(pallet, "Params", (), at)
        match pallet:
            case "Hosts":
                return gen.HostsParams.decode(plain)
            case "Tasks":
                return gen.TasksParams.decode(plain)
            case "Billing":
                return gen.BillingParams.decode(plain)
