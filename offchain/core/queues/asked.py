"""What a task asks of the queues, by its record; without numpy, for commands count by it, too."""

from __future__ import annotations

from functools import lru_cache

from offchain.core.queues.amount import Amount
from offchain.core.queues.claim import Holding
from offchain.core.values import Resources, Task


def amount_of(task: Task, pods: int) -> Amount:
    """What so many of its pods ask for."""
    return _amount_of(task.resources, pods)


def queue_of(task: Task) -> str:
    """The name of the queue that it is to wait in."""
    return _decoded(task.queue)


def holding_of(task: Task, pods: int) -> Holding:
    """What so many of its pods hold, and of which queue."""
    return Holding(queue_of(task), task.tenant, amount_of(task, pods))


@lru_cache(maxsize=1 << 13)
def _amount_of(asked: Resources, pods: int) -> Amount:
    """Kept, for a million tasks ask for a few hundred different amounts."""
    return Amount(asked.cpu_milli, asked.memory_mib, asked.gpus.count * asked.gpus.milli).times(pods)


@lru_cache(maxsize=1 << 10)
def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "replace")
