"""Properties of the forecast of starts: it is what the scheduler does."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.placement_forecast import forecast_placement
from offchain.core.scheduler.start_forecast import forecast_start
from offchain.core.scheduler.state import SchedulerState
from offchain.core.snapshot import Snapshot
from tests.support.core_strategies import crowded, snapshots
from tests.support.examples import examples
from tests.support.scheduler_events import put_hosts, put_tasks, run_cycle


@settings(max_examples=examples(40))
@given(st.one_of(snapshots(), crowded()))
def test_a_task_is_forecast_to_start_now_if_the_scheduler_places_it_now(snapshot: Snapshot):
    snapshot = replace(
        snapshot,
        tasks={number: replace(task, preemption=None, notice_ends_at=None) for number, task in snapshot.tasks.items()},
    )
    state = SchedulerState(b"")
    put_hosts(state, snapshot.hosts.values())
    put_tasks(state, snapshot.tasks.values())
    placed = run_cycle(state, snapshot.now_ms).placements
    for task in snapshot.tasks.values():
        if not task.open_pods:
            continue
        found = forecast_start(snapshot, task)
        assert (found.latest_ms == snapshot.now_ms) == (task.id in placed)
        if found.earliest_ms is not None and found.latest_ms is not None:
            assert snapshot.now_ms <= found.earliest_ms <= found.latest_ms
        if task.id in placed and not task.leases:
            assert forecast_placement(snapshot.hosts, task).pods_now >= task.least
