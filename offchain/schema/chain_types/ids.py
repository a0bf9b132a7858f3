"""Numbers of tasks and leases, and their storage keys (`gantry_primitives::ids`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

TASKS_PER_PAGE: Final = 256
"""Number of tasks that one page of an index covers."""


TASK_PALLETS: Final = frozenset({"Tasks", "Leases", "Billing", "Verification", "Agreements"})
"""The pallets whose events are about tasks."""


def task_key(task: int) -> bytes:
    """Return the storage key of a task: its number, big-endian, so that keys are in the order of the numbers."""
    return task.to_bytes(8, "big")


def key_task(key: bytes) -> int:
    """Return the task of a storage key."""
    return int.from_bytes(key, "big")


def page_tasks(key: bytes, page: bytes) -> Iterator[int]:
    """Yield the tasks that a page of an index lists, in order. `key` is the page's; bit n stands for its task n."""
    first = int.from_bytes(key, "big") * TASKS_PER_PAGE
    bits = int.from_bytes(page, "little")
    while bits:
        lowest = bits & -bits
        yield first + lowest.bit_length() - 1
        bits ^= lowest


def lease_id(task: int, pod: int, generation: int) -> int:
    return task << 24 | pod << 16 | generation


def lease_parts(lease: int) -> tuple[int, int, int]:
    """Return the task, pod and generation in a lease's number."""
    return lease >> 24, lease >> 16 & 0xFF, lease & 0xFFFF


def tasks_of_event(fields: Mapping[str, Any]) -> frozenset[int]:
    """Return the tasks that an event of one of :data:`TASK_PALLETS` is about. `fields` are in plain form."""
    if "first" in fields and "count" in fields:
        return frozenset(range(fields["first"], fields["first"] + fields["count"]))
    if "task" in fields:
        return frozenset({fields["task"]})
    if "lease" in fields:
        return frozenset({lease_parts(fields["lease"])[0]})
    matter = fields.get("matter")
    if isinstance(matter, Mapping):
        # A committee also judges challenges of hosts, which are about no task.
        return frozenset(task for kind, task in matter.items() if kind in ("Dispute", "Results"))
    return frozenset()
