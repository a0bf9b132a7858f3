"""How tasks and leases are numbered, and how numbers become storage keys (`gantry_primitives::ids`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

TASKS_PER_PAGE: Final = 256
"""How many tasks one page of an index covers."""


TASK_PALLETS: Final = frozenset({"Tasks", "Leases", "Billing", "Verification"})
"""The pallets whose events are about tasks."""


def task_key(task: int) -> bytes:
    """The storage key of a task: its number, big-endian, so that keys are in the order of the numbers."""
    return task.to_bytes(8, "big")


def key_task(key: bytes) -> int:
    """The task behind a storage key."""
    return int.from_bytes(key, "big")


def page_tasks(key: bytes, page: bytes) -> Iterator[int]:
    """The tasks that a page of an index lists, in their order. `key` says which page it is; bit n stands for task n."""
    first = int.from_bytes(key, "big") * TASKS_PER_PAGE
    bits = int.from_bytes(page, "little")
    while bits:
        lowest = bits & -bits
        yield first + lowest.bit_length() - 1
        bits ^= lowest


def lease_id(task: int, pod: int, generation: int) -> int:
    """The number of a lease."""
    return task << 24 | pod << 16 | generation


def lease_parts(lease: int) -> tuple[int, int, int]:
    """The task, pod and generation that a lease's number is made of."""
    return lease >> 24, lease >> 16 & 0xFF, lease & 0xFFFF


def tasks_of_event(fields: Mapping[str, Any]) -> frozenset[int]:
    """The tasks that an event of one of :data:`TASK_PALLETS` is about, by its fields in plain form."""
    if "first" in fields and "count" in fields:
        return frozenset(range(fields["first"], fields["first"] + fields["count"]))
    if "task" in fields:
        return frozenset({fields["task"]})
    if "lease" in fields:
        return frozenset({lease_parts(fields["lease"])[0]})
    matter = fields.get("matter")
    if isinstance(matter, Mapping):
        # A committee judges challenges of hosts, too; those are about no task.
        return frozenset(task for kind, task in matter.items() if kind in ("Dispute", "Results"))
    return frozenset()
