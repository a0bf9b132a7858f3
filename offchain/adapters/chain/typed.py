"""Typed queries of the chain's storage, for workers, the agent and the CLI."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar, overload

from offchain.ports import ChainPort, StoragePort
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import storage
from offchain.schema.chain_types.ids import key_task, lease_id, lease_parts, page_tasks, task_key
from offchain.schema.chain_types.values import StorageItem

T = TypeVar("T")

AGENDA_BUCKET_MS: Final = 6_000
"""Length of a bucket of the chain's agenda of leases: a bucket is due at its number times this."""


@dataclass(frozen=True, slots=True)
class AccountBalance:
    """An account's coins in base units.

    `held` is not part of `free`: the account has `free + held`. `frozen` is the part of both that cannot be spent.
    """

    free: int
    held: int
    frozen: int

    @property
    def spendable(self) -> int:
        """The part of `free` that can be spent."""
        return max(0, self.free - max(0, self.frozen - self.held))


@dataclass(frozen=True, slots=True)
class TaskAndSpec:
    """A task with its spec, which tasks that were submitted together share."""

    id: int
    record: gen.TaskRecord
    spec: gen.TaskSpec

    def lease(self, lease: int) -> LeaseOfTask | None:
        """The lease of this task with this number; None where it has no such lease."""
        task, pod, generation = lease_parts(lease)
        for found in self.record.leases:
            if (task, pod, generation) == (self.id, found.pod, found.generation):
                return LeaseOfTask(lease, self, found)
        return None

    @property
    def leases(self) -> list[LeaseOfTask]:
        """Leases of the task, in the order of its pods."""
        return [
            LeaseOfTask(lease_id(self.id, found.pod, found.generation), self, found) for found in self.record.leases
        ]


@dataclass(frozen=True, slots=True)
class LeaseOfTask:
    """A lease with its task, which has the payer and the resources."""

    id: int
    task: TaskAndSpec
    record: gen.Lease


class TypedStorage:
    """Typed queries over a :class:`StoragePort`. `at` is a block hash; without it, the newest block is read."""

    def __init__(self, port: StoragePort) -> None:
        self.port = port

    async def read(self, item: StorageItem[T], *params: Any, at: bytes | None = None) -> T | None:
        """A storage value: `read(storage.tasks_tasks, 7)`."""
        plain = await self.port.query(item.pallet, item.item, params, at)
        return None if plain is None else item.decode(plain)

    async def read_map(self, item: StorageItem[T], prefix: Sequence[Any] = (), at: bytes | None = None) -> dict[Any, T]:
        """All values below a key prefix, by the rest of their keys."""
        return {key: item.decode(plain) for key, plain in await self.port.query_map(item.pallet, item.item, prefix, at)}

    async def host(self, host: str, at: bytes | None = None) -> gen.HostRecord | None:
        """The record of a host; None where it is not registered."""
        return await self.read(storage.hosts_hosts, host, at=at)

    async def standby_namings(self, host: str, at: bytes | None = None) -> int:
        """How often a host was named as the standby of a lease, modulo 2^32."""
        return await self.read(storage.hosts_standby_namings, host, at=at) or 0

    async def hosts(self, at: bytes | None = None) -> dict[str, gen.HostRecord]:
        """All registered hosts."""
        return await self.read_map(storage.hosts_hosts, at=at)

    async def hosts_named(self, names: Iterable[str], at: bytes | None = None) -> dict[str, gen.HostRecord]:
        """Records of the named hosts, without those that are not registered."""
        return await self._named(storage.hosts_hosts, names, at)

    async def host_scores(self, at: bytes | None = None) -> dict[str, gen.HostScore]:
        """Reputation of all hosts that have a score."""
        return await self.read_map(storage.reputation_host_scores, at=at)

    async def host_scores_named(self, names: Iterable[str], at: bytes | None = None) -> dict[str, gen.HostScore]:
        """Reputation of the named hosts, without those that have no score."""
        return await self._named(storage.reputation_host_scores, names, at)

    async def task(self, task: int, at: bytes | None = None) -> TaskAndSpec | None:
        """A task; None where it was never submitted, or is pruned."""
        return (await self.tasks([task], at)).get(task)

    async def tasks(self, numbers: Iterable[int], at: bytes | None = None) -> dict[int, TaskAndSpec]:
        """The tasks with these numbers, without those that are pruned or were never submitted."""
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
        """All tasks that are not pruned."""
        return {key_task(key): task for key, task in (await self.read_map(storage.tasks_tasks, at=at)).items()}

    async def tasks_after(
        self, after: int | None, limit: int, at: bytes | None = None
    ) -> list[tuple[int, gen.TaskRecord]]:
        """At most `limit` (1 to 1000) tasks that follow `after` (None: from the oldest on)."""
        item = storage.tasks_tasks
        start = None if after is None else task_key(after)
        page = await self.port.query_page(item.pallet, item.item, start, limit, at)
        return [(key_task(key), item.decode(plain)) for key, plain in page]

    async def next_task(self, at: bytes | None = None) -> int:
        """The number of the next task; all lower ones were submitted."""
        return await self.read(storage.tasks_next_task_id, at=at) or 0

    async def tasks_by_state(self, tag: gen.IndexTag, at: bytes | None = None) -> list[int]:
        """The tasks of an index of the chain, oldest first."""
        pages = await self.read_map(storage.tasks_by_state, (tag,), at)
        return [task for key in sorted(pages) for task in page_tasks(key, pages[key])]

    async def tasks_of(self, tenant: str, at: bytes | None = None) -> list[int]:
        """The tasks of a tenant, oldest first, including pruned ones of a group that has others left."""
        found = await self.read_map(storage.tasks_by_tenant, (tenant,), at)
        firsts = sorted((key_task(key), count) for key, count in found.items())
        return [first + place for first, count in firsts for place in range(count)]

    async def manifest(self, task: int, at: bytes | None = None) -> bytes | None:
        """The manifest of a task; None once all tasks that were submitted with it are final."""
        record = await self.read(storage.tasks_tasks, task_key(task), at=at)
        if record is None:
            return None
        return await self.read(storage.tasks_manifests, task_key(record.first), at=at)

    async def manifests(self, numbers: Iterable[int], at: bytes | None = None) -> dict[int, bytes]:
        """The manifests of the tasks with these numbers, without missing ones (see :meth:`manifest`)."""
        records = await self._many(storage.tasks_tasks, sorted(set(numbers)), at)
        firsts = sorted({record.first for record in records.values()})
        shared = await self._many(storage.tasks_manifests, firsts, at)
        return {number: shared[record.first] for number, record in records.items() if record.first in shared}

    async def schedulers(self, at: bytes | None = None) -> dict[str, int]:
        """The bonded schedulers and their bonds."""
        return await self.read_map(storage.tasks_schedulers, at=at)

    async def queue_digests(self, at: bytes | None = None) -> dict[str, bytes]:
        """The SHA-256 of the queue definitions of each scheduler that has published it."""
        return await self.read_map(storage.tasks_queue_digests, at=at)

    async def lease(self, lease: int, at: bytes | None = None) -> LeaseOfTask | None:
        """A lease; None where its number was never used, or its task has another one since."""
        task = await self.task(lease_parts(lease)[0], at)
        return None if task is None else task.lease(lease)

    async def leases(self, numbers: Iterable[int], at: bytes | None = None) -> dict[int, LeaseOfTask]:
        """The leases with these numbers, without those that do not exist."""
        wanted = sorted(set(numbers))
        tasks = await self.tasks((lease_parts(lease)[0] for lease in wanted), at)
        found = {lease: task.lease(lease) for lease in wanted if (task := tasks.get(lease_parts(lease)[0]))}
        return {number: lease for number, lease in found.items() if lease is not None}

    async def leases_of_host(self, host: str, at: bytes | None = None) -> list[int]:
        """Numbers of the leases with resources of a host, oldest task first."""
        found = await self.read(storage.leases_by_host, host, at=at)
        return sorted(found or ())

    async def agenda_at(self, at: bytes | None = None) -> int | None:
        """Chain time of the earliest entry of the agenda of leases, ms; None where it is empty."""
        item = storage.leases_agenda_pages
        first = await self.port.query_page(item.pallet, item.item, None, 1, at)
        return int.from_bytes(first[0][0], "big") * AGENDA_BUCKET_MS if first else None

    async def total_escrowed(self, at: bytes | None = None) -> int:
        """Coins in the escrows of all leases."""
        return await self.read(storage.billing_total_escrowed, at=at) or 0

    async def _named(self, item: StorageItem[T], names: Iterable[str], at: bytes | None) -> dict[str, T]:
        """The values of these accounts, without missing ones."""
        wanted = sorted(set(names))
        plains = await self.port.query_many(item.pallet, item.item, [(name,) for name in wanted], at)
        return {name: item.decode(plain) for name, plain in zip(wanted, plains, strict=True) if plain is not None}

    async def _many(self, item: StorageItem[T], tasks: Sequence[int], at: bytes | None) -> dict[int, T]:
        """The values of these tasks, without missing ones."""
        plains = await self.port.query_many(item.pallet, item.item, [(task_key(task),) for task in tasks], at)
        return {task: item.decode(plain) for task, plain in zip(tasks, plains, strict=True) if plain is not None}

    async def balance(self, account: str, at: bytes | None = None) -> AccountBalance:
        """The balance of an account; zeros where it does not exist."""
        record = await self.port.query("System", "Account", (account,), at)
        data = record["data"] if record else {"free": 0, "reserved": 0, "frozen": 0}
        return AccountBalance(free=data["free"], held=data["reserved"], frozen=data["frozen"])

    async def parent_hash(self, at: bytes) -> bytes:
        """The hash of the block before this one."""
        return bytes(await self.port.query("System", "ParentHash", at=at) or b"")

    async def now_ms(self, at: bytes | None = None) -> int:
        """The chain's time, Unix ms."""
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
        """The parameters of a pallet."""
        plain = await self.port.query(pallet, "Params", (), at)
        match pallet:
            case "Hosts":
                return gen.HostsParams.decode(plain)
            case "Tasks":
                return gen.TasksParams.decode(plain)
            case "Billing":
                return gen.BillingParams.decode(plain)


class GantryChain(TypedStorage):
    """Typed queries over a connection to a chain."""

    port: ChainPort

    def __init__(self, port: ChainPort) -> None:
        super().__init__(port)
