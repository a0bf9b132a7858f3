"""Prints how many MB this process has resident at most, with so many hosts and waiting tasks, a round made."""

from __future__ import annotations

import resource
import sys

import growth
import growth_world as world

from offchain.core.scheduler.events import CycleDue
from offchain.services.kernel_cache import enable_kernel_cache


def main(hosts: int, tasks: int) -> None:
    """Hosts and tasks are kept as the scheduler's picture of the chain keeps them: each record once."""
    enable_kernel_cache()
    records = {host.id: host for host in world.hosts(hosts)}
    waiting = {task.id: task for task in world.tasks(tasks, growth.SHAPES, world.ACCOUNTS)}
    state = growth.filled(records.values(), waiting.values())
    state.handle(CycleDue(), 10**9)
    sys.stdout.write(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6:.1f}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
