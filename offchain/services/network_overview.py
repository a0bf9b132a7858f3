"""The present state of a network at one block: hosts, tasks that have not ended, and queues."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from offchain.adapters.chain.typed import GantryChain
from offchain.ports import ChainPort
from offchain.schema.chain_types._generated_chain import IndexTag
from offchain.services.host_views import HostView, read_hosts
from offchain.services.record_views import TaskView, read_tasks

MOST_TASKS: Final = 200
"""Tasks of each state that are read in full; their number is exact in any case."""
LISTED_STATES: Final = (IndexTag.RUNNING, IndexTag.ASSIGNED, IndexTag.QUEUED)
_WHOLE_MILLI: Final = 1000


@dataclass(frozen=True, slots=True)
class QueueView:
    """A queue: its waiting tasks, as far as they were read, and how long the oldest one has waited, in ms."""

    name: str
    waiting: int
    oldest_ms: int


@dataclass(frozen=True, slots=True)
class NetworkOverview:
    """A network at a block. `states`: number of tasks by state; `tasks`: some tasks that have not ended."""

    block: int
    time_ms: int
    hosts: tuple[HostView, ...]
    states: Mapping[str, int]
    tasks: tuple[TaskView, ...]
    queues: tuple[QueueView, ...]

    @property
    def statuses(self) -> Mapping[str, int]:
        """Number of hosts by status, without what a status contains (the reason of a suspension)."""
        return Counter(host.status.partition("(")[0] for host in self.hosts)

    @property
    def gpus(self) -> int:
        return sum(len(host.devices) for host in self.hosts)

    @property
    def gpus_leased(self) -> float:
        """How many GPUs leases hold; shares of a GPU count in part."""
        return sum(leased_gpus(host) for host in self.hosts)

    def plain(self) -> dict[str, Any]:
        """Return the overview for JSON."""
        return {
            "block": self.block,
            "time_ms": self.time_ms,
            "hosts": [host.plain() for host in self.hosts],
            "hosts_by_status": dict(self.statuses),
            "gpus": self.gpus,
            "gpus_leased": self.gpus_leased,
            "tasks_by_state": dict(self.states),
            "tasks": [task.plain() for task in self.tasks],
            "queues": [{"queue": one.name, "waiting": one.waiting, "oldest_ms": one.oldest_ms} for one in self.queues],
        }


def leased_gpus(host: HostView) -> float:
    """Return how many GPUs of a host leases hold."""
    return sum(_WHOLE_MILLI - int(device["milli_free"]) for device in host.devices) / _WHOLE_MILLI


async def read_overview(chain: ChainPort) -> NetworkOverview:
    """Return the overview of the last final block; retired hosts are left out."""
    head = await chain.finalized_head()
    typed = GantryChain(chain)
    now_ms, hosts = await asyncio.gather(typed.now_ms(head.hash), read_hosts(chain, head.hash))
    numbers = await asyncio.gather(*(typed.tasks_by_state(tag, head.hash) for tag in IndexTag))
    by_tag = dict(zip(IndexTag, numbers, strict=True))
    # Those first that wait longest, because queues tell that; the newest of the others.
    chosen = [
        number
        for tag in LISTED_STATES
        for number in (by_tag[tag][:MOST_TASKS] if tag is IndexTag.QUEUED else by_tag[tag][-MOST_TASKS:])
    ]
    tasks = await read_tasks(chain, chosen, head.hash)
    queued = [tasks[number] for number in by_tag[IndexTag.QUEUED][:MOST_TASKS] if number in tasks]
    return NetworkOverview(
        head.number,
        now_ms,
        tuple(host for host in hosts if host.status != "Retired"),
        {tag.value: len(by_tag[tag]) for tag in IndexTag if tag is not IndexTag.SHORT},
        tuple(task for _, task in sorted(tasks.items(), reverse=True)),
        _queues(queued, now_ms),
    )


def _queues(queued: list[TaskView], now_ms: int) -> tuple[QueueView, ...]:
    waiting: dict[str, list[int]] = {}
    for task in queued:
        waiting.setdefault(task.queue, []).append(max(0, now_ms - task.submitted_at))
    return tuple(QueueView(name, len(times), max(times)) for name, times in sorted(waiting.items()))
