"""Whatever runs and waits: the moments that a task is told, held against a plain count of what is free when."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.capacity import GangCapacity, allowed_hosts, count_pods, max_pods_per_host, released
from offchain.core.feasibility import Misfit, candidate
from offchain.core.snapshot import Snapshot
from offchain.core.start_estimate import estimate_start
from offchain.core.values import LeaseState, Task
from offchain.schema.chain_types.escrow import NEVER, ends_at
from tests.support.core_strategies import crowded, snapshots
from tests.support.examples import examples

SNAPSHOTS = st.one_of(snapshots(), crowded())


def waiting(snapshot: Snapshot) -> list[Task]:
    return [task for task in snapshot.tasks.values() if task.open_pods]


def first_moment(snapshot: Snapshot, task: Task) -> int | None:
    """When its pods have room, each lease being over at its latest end; looked at for one such moment after another."""
    ends = []
    for one in snapshot.tasks.values():
        for lease in one.leases:
            if lease.host in snapshot.hosts and lease.state is not LeaseState.SUSPENDED:
                end = ends_at(lease.escrow, snapshot.hosts[lease.host].downtime_ms, lease.reclaim_at)
                at_ms = snapshot.now_ms + one.max_duration_ms if end is None else max(end, snapshot.now_ms)
                ends.append((at_ms, lease, one.resources))
    for moment in sorted({snapshot.now_ms, *(at_ms for at_ms, _, _ in ends)}):
        total = GangCapacity(task.layout)
        for there in allowed_hosts(task, snapshot.hosts):
            host = candidate(task, there)
            if isinstance(host, Misfit):
                continue
            for at_ms, lease, resources in ends:
                if at_ms <= moment and lease.host == host.id:
                    host = released(host, resources, lease.devices)
            total.update(host.provider, 0, count_pods(host, task, max_pods_per_host(task))[0])
        if total.pods >= task.least:
            return moment if moment < NEVER else None
    return None


@settings(max_examples=examples(50))
@given(SNAPSHOTS)
def test_with_nobody_ahead_the_latest_start_is_the_first_moment_at_which_all_have_room(snapshot: Snapshot):
    stopped = any(lease.state is LeaseState.SUSPENDED for one in snapshot.tasks.values() for lease in one.leases)
    for task in [] if stopped else waiting(snapshot):
        assert estimate_start(snapshot, task, ()).latest_ms == first_moment(snapshot, task)


@settings(max_examples=examples(50))
@given(SNAPSHOTS)
def test_the_earliest_start_is_not_after_the_latest_and_who_is_ahead_brings_none_nearer(snapshot: Snapshot):
    tasks = waiting(snapshot)
    for at, task in enumerate(tasks):
        alone, behind = estimate_start(snapshot, task, ()), estimate_start(snapshot, task, tasks[:at])
        assert behind.earliest_ms == alone.earliest_ms
        if behind.latest_ms is not None:
            assert snapshot.now_ms <= alone.earliest_ms <= alone.latest_ms <= behind.latest_ms
