"""Hosts, tasks and accounts come and go, and others get their rows: decisions are those of a new scheduler state."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.scheduler import columns, equivalence, host_attributes, queue_usage, task_registry
from offchain.core.scheduler import fair_share_updates as updates
from offchain.core.scheduler.demand import DemandEstimator
from offchain.core.scheduler.fair_share_tables import NEVER
from offchain.core.scheduler.queue_definitions import QueueLeaf
from offchain.core.scheduler.sharing_demand import SharingDemand
from offchain.core.scheduler.state import SchedulerState
from tests.support.churn_world import QUEUES, ChurnWorld
from tests.support.examples import examples
from tests.support.scheduler_events import put_hosts, put_tasks, run_cycle

LATER_MS = 600_000
"""Later than all delays after refusals."""


@pytest.fixture(autouse=True, scope="module")
def small_limits() -> Iterator[None]:
    """Drop what is unused at once, and score by hosts and requests alone, not by what was asked for before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "FEW_CLASSES", 4)
        patch.setattr(host_attributes, "_SPARE", 1)
        patch.setattr(queue_usage, "FEW_TARGETS", 0)
        patch.setattr(equivalence, "_FEW_ACCOUNTS", 0)
        patch.setattr(task_registry, "_FEW_DEADLINES", 0)
        patch.setattr(DemandEstimator, "refresh", lambda _, __: None)
        patch.setattr(SharingDemand, "refresh", lambda _, __: None)
        yield


def churned(seed: int, steps: int) -> ChurnWorld:
    world = ChurnWorld(Random(seed))  # noqa: S311 - the same seed gives the same world
    world.add_hosts(4)
    for _ in range(steps):
        world.step()
    return world


def afresh(world: ChurnWorld) -> SchedulerState:
    """A new state from the same records. The order of rows decides between equal hosts, so it is the same."""
    state = SchedulerState(b"seed", QUEUES)
    row = world.state.planner.hosts.cluster.row
    put_hosts(state, sorted(world.hosts.values(), key=lambda one: row(one.id)))
    put_tasks(state, world.tasks.values())
    return state


def forget_history(state: SchedulerState) -> None:
    """Forget what no record says and decisions depend on: who was served, tried and promised something when."""
    usage, reservations = state._queue._usage, state._reservations
    usage.tables.nodes["served_ms"], usage._new_served_ms = NEVER, NEVER
    for number in range(len(usage.tables.classes)):
        updates.set_unschedulable(usage.tables, number, 0)
    reservations._reservations.clear()
    reservations._candidates._postponed.clear()
    reservations._passed.clear()


def used(state: SchedulerState) -> dict[QueueLeaf, tuple[int, ...]]:
    """[queue or account]: its cores, memory and GPUs, where it has any."""
    usage = state._queue._usage
    nodes = usage.tables.nodes[["cpu", "memory", "gpu"]].tolist()
    return {leaf: nodes[node] for leaf, node in usage.leaves.items() if any(nodes[node])}


def decided(state: SchedulerState, now_ms: int) -> tuple[object, ...]:
    plan = run_cycle(state, now_ms)
    names = state.planner.hosts.cluster.names
    reserved = {
        number: (one.start_ms, [(names[place.host], place.devices) for place in one.places])
        for number, one in state.reserved.items()
    }
    return dict(plan.placements), plan.unschedulable, reserved


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32), st.integers(0, 25))
def test_a_state_with_reused_rows_decides_as_a_new_one(seed: int, steps: int):
    world = churned(seed, steps)
    world.settle()
    new = afresh(world)
    for state in (world.state, new):
        forget_history(state)
    assert decided(world.state, world.now_ms + LATER_MS) == decided(new, world.now_ms + LATER_MS)
    assert sorted(world.state.waiting) == sorted(new.waiting)
    assert used(world.state) == used(new)
