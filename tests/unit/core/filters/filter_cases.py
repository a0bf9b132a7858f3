"""One filter alone over a few hosts."""

from __future__ import annotations

from typing import Any

from core_builders import task

from offchain.core.fleet.filters.filter import Filter
from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.want import Want
from offchain.core.values import Host
from tests.support.chain_records import placement


def takers(one: Filter, *hosts: Host, task_changes: dict[str, Any] | None = None, **wishes: Any) -> list[str] | None:
    """The hosts that it lets through, of a task with these wishes; None: it does not care."""
    fleet = Fleet()
    fleet.put(hosts)
    want = Want.of(task(placement=placement(**wishes), **(task_changes or {})))
    mask = one.allows(want, fleet.facts)
    if mask is None:
        return None
    return [host.id for host in hosts if mask[fleet.cluster.number(host.id)]]
