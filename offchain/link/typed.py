"""The chain's storage and events as typed values: what workers, the agent and the CLI read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, overload

from offchain.link.ports import Block, ChainPort
from offchain.schema import _generated_chain as gen
from offchain.schema._generated_chain import storage
from offchain.schema.chain import StorageItem

T = TypeVar("T")


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

    async def _keys(self, item: StorageItem[Any], *prefix: Any, at: bytes | None = None) -> list[Any]:
        return sorted(key for key, _ in await self.port.query_map(item.pallet, item.item, prefix, at))

    # --- hosts ----------------------------------------------------------------------------------------------------

    async def host(self, host: str, at: bytes | None = None) -> gen.HostRecord | None:
        """A host, by its account."""
        return await self.read(storage.hosts_hosts, host, at=at)

    async def hosts(self, at: bytes | None = None) -> dict[str, gen.HostRecord]:
        """All hosts."""
        return await self.read_map(storage.hosts_hosts, at=at)

    async def hosts_of(self, provider: str, at: bytes | None = None) -> list[str]:
        """The hosts of a provider."""
        return await self._keys(storage.hosts_hosts_by_provider, provider, at=at)

    async def host_score(self, host: str, at: bytes | None = None) -> gen.HostScore | None:
        """The evidence about a host; None where there is none yet."""
        return await self.read(storage.reputation_host_scores, host, at=at)

    # --- tasks and leases -----------------------------------------------------------------------------------------

    async def task(self, task: int, at: bytes | None = None) -> gen.TaskRecord | None:
        """A task."""
        return await self.read(storage.tasks_tasks, task, at=at)

    async def tasks(self, at: bytes | None = None) -> dict[int, gen.TaskRecord]:
        """All tasks the chain still keeps."""
        return await self.read_map(storage.tasks_tasks, at=at)

    async def tasks_by_state(self, tag: gen.TaskStateTag, at: bytes | None = None) -> list[int]:
        """The tasks in a state, oldest first."""
        return await self._keys(storage.tasks_by_state, tag, at=at)

    async def tasks_of(self, tenant: str, at: bytes | None = None) -> list[int]:
        """The tasks of a tenant, oldest first."""
        return await self._keys(storage.tasks_by_tenant, tenant, at=at)

    async def manifest(self, task: int, at: bytes | None = None) -> bytes | None:
        """What the tenant submitted; None once the task is final."""
        return await self.read(storage.tasks_manifests, task, at=at)

    async def schedulers(self, at: bytes | None = None) -> dict[str, int]:
        """The bonded schedulers and their bonds."""
        return await self.read_map(storage.tasks_schedulers, at=at)

    async def lease(self, lease: int, at: bytes | None = None) -> gen.LeaseRecord | None:
        """A lease."""
        return await self.read(storage.leases_leases, lease, at=at)

    async def leases_of_host(self, host: str, at: bytes | None = None) -> list[int]:
        """The live leases of a host, oldest first."""
        return await self._keys(storage.leases_by_host, host, at=at)

    async def escrow(self, lease: int, at: bytes | None = None) -> gen.Escrow | None:
        """The coins held for a lease."""
        return await self.read(storage.billing_escrows, lease, at=at)

    async def total_escrowed(self, at: bytes | None = None) -> int:
        """All coins held for leases."""
        return await self.read(storage.billing_total_escrowed, at=at) or 0

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

    @staticmethod
    def events(block: Block) -> list[gen.GantryEvent]:
        """The events of our pallets in a block, in order."""
        made = (gen.decode_event(event.pallet, event.name, event.fields) for event in block.events)
        return [event for event in made if event is not None]
