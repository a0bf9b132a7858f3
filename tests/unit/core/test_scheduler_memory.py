"""The memory of a scheduler state is proportional to the hosts, tasks and accounts of now."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from random import Random
from typing import Any

import numpy as np
import pytest

from offchain.core.scheduler import (
    assumed_pods,
    columns,
    equivalence,
    host_attributes,
    host_health,
    migration_watch,
    preemption_planner,
    queue_usage,
    reservations,
    score_cache,
    sharing_demand,
    task_registry,
)
from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.events import HostsObserved, LimitsChanged
from offchain.core.scheduler.host_capacity import HostCapacity
from offchain.core.scheduler.host_observations import HostObservation, ObservationKind
from offchain.core.scheduler.host_risk import HealthLimits
from offchain.core.scheduler.partition import ACTIVE_SLOTS, LAG_SLOTS, SLOT_MS, WorkPartition
from offchain.core.scheduler.pod_request import DeviceClass, PodShape
from offchain.core.scheduler.pods_by_host import PodsByHost
from offchain.core.scheduler.preemption import PreemptionDecision, PreemptionHistory, PreemptionPolicy, Preemptor
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import LeaseState, TaskState
from offchain.schema.chain_types.ids import lease_id
from tests.support.churn_world import ChurnWorld
from tests.support.core_builders import host, lease, pod, task
from tests.support.scheduler_events import put, put_tasks, remove, run_cycle, set_schedulers

FEW = 16
HOSTS, TASKS = 12, 25
FEW_ROUNDS, MANY_ROUNDS = 5, 15
SPARE = 100
"""Less than the hosts, tasks and accounts of the later rounds."""


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all constant bounds small, so that a table that only they bound does not grow by them."""
    for module, names in (
        (assumed_pods, ("_MAX_STALE",)),
        (columns, ("FEW_CLASSES",)),
        (equivalence, ("_FEW_ACCOUNTS",)),
        (host_health, ("MAX_HOSTS", "MAX_LEASES", "MAX_COOLDOWNS", "MAX_MANIFESTS")),
        (host_attributes, ("_SPARE",)),
        (preemption_planner, ("MAX_STALE",)),
        (queue_usage, ("FEW_TARGETS",)),
        (reservations, ("_MAX_EXAMINED",)),
        (score_cache, ("MAX_ENTRIES", "MIN_ENTRIES")),
        (sharing_demand, ("_MAX_ACCOUNTS",)),
        (task_registry, ("_FEW_DEADLINES",)),
    ):
        for name in names:
            monkeypatch.setattr(module, name, FEW)


def sizes(state: SchedulerState) -> Counter[str]:
    """[path]: the number of entries of all containers in the state, by the names of the fields that lead there."""
    found: Counter[str] = Counter()
    seen: set[int] = set()
    to_visit: list[tuple[str, Any]] = [("state", state)]
    while to_visit:
        path, one = to_visit.pop()
        if id(one) in seen or isinstance(one, (str, bytes, type)):
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            found[path] += len(one)
        elif isinstance(one, Mapping):
            found[path] += len(one)
            to_visit += [(f"{path}[]", value) for value in list(one.values())]
        elif isinstance(one, Collection) and not hasattr(one, "__dict__"):
            found[path] += len(one)
            names = getattr(one, "_fields", None)
            parts = zip(names, one, strict=True) if names else (("[]", value) for value in one)
            to_visit += [(f"{path}.{name}", value) for name, value in parts]
        elif type(one).__module__.startswith("offchain.") and not type(one).__module__.endswith(".values"):
            to_visit += [(f"{path}.{name}", value) for name, value in _fields(one)]
    return found


def _fields(one: object) -> Iterator[tuple[str, Any]]:
    yield from getattr(one, "__dict__", {}).items()
    for kind in type(one).__mro__:
        for name in getattr(kind, "__slots__", ()):
            if hasattr(one, name):
                yield name, getattr(one, name)


def churned(world: ChurnWorld, first: int, rounds: int) -> Counter[str]:
    """Replace all hosts, tasks and accounts, and who else is a scheduler, in each of some rounds. Return the most that
    was kept after one of them.
    """
    most: Counter[str] = Counter()
    for round_ in range(first, first + rounds):
        set_schedulers(world.state, [f"scheduler {round_}"] if round_ % 3 == 0 else [])
        world.replace_all(HOSTS, TASKS)
        observed = [HostObservation(name, ObservationKind.ABSENT, world.now_ms) for name in world.hosts]
        world.state.handle(HostsObserved(observed), world.now_ms)
        for _ in range(3):
            world.step()
        most |= sizes(world.state)
        world.now_ms += migration_watch.RETRY_LONGEST_MS
    return most


def test_a_class_that_always_has_tasks_forgets_accounts_without_any():
    state = SchedulerState(b"seed")
    put(state, task(1, tenant="first"))
    for number in range(2, 10 * FEW):
        put(state, task(number, tenant=f"account {number}"))
        if number % 2:
            put_tasks(state, [task(number + 1000, tenant=f"other {number}")])
        remove(state, number, number + 1000)
    (accounts,) = state._registry.classes.accounts.values()
    assert "first" in accounts
    assert len(accounts) <= 3 * FEW


def test_many_rounds_of_complete_churn_leave_as_much_as_a_few():
    world = ChurnWorld(Random(5))  # noqa: S311 - the same seed gives the same world
    world.state.handle(LimitsChanged(HealthLimits(300_000, 60_000, 120_000)), 0)
    before, after = churned(world, 0, FEW_ROUNDS), churned(world, FEW_ROUNDS, MANY_ROUNDS)
    assert len(before) > 100, "the state was not visited"
    # Tables that are full double their capacity; what grew with the rounds would be four times as long.
    grown = {path: (before[path], after[path]) for path in after if after[path] > 2 * before[path] + SPARE}
    assert not grown


def test_the_history_of_preemptions_forgets_accounts_after_its_window():
    history, policy = PreemptionHistory(), PreemptionPolicy()
    for number in range(50):
        preemptor = Preemptor(number, f"account {number}", 1, PodShape(1, 1), 1)
        done = PreemptionDecision(preemptor, (), (), 0)
        history = history.after(done, number * policy.window_ms // 2, policy).ended(number)
    assert list(history.preempted_at) == ["account 48", "account 49"]


def test_the_partition_forgets_schedulers_that_are_not_bonded_any_more():
    partition = WorkPartition("me")
    for slot in range(500):
        partition.note_assignment(f"account {slot}", slot * SLOT_MS)
        partition.set_schedulers([f"account {slot}", "account 3"])
    assert len(partition._assigned_slots) <= ACTIVE_SLOTS + LAG_SLOTS + 2
    assert "account 3" in partition._assigned_slots


def test_preemption_forgets_accounts_whose_tasks_are_gone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(preemption_planner, "MAX_STALE", 0)
    state = SchedulerState(b"seed")
    held = lease(lease_id(1, 0, 0), state=LeaseState.ACTIVE)
    put(state, host("h1"), task(1, held, state=TaskState.RUNNING, spot=True))
    for number in range(2, 5 * FEW):
        put(state, task(number, tenant=f"account {number}", priority=5, resources=pod(cpu_milli=9000)))
        run_cycle(state, number)
        assert f"account {number}" in {account for _, account in state.preemption._heads or ()}
        remove(state, number)
    assert len(state.preemption._heads or ()) <= 2


def test_pods_are_compared_with_the_device_classes_of_now(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(columns, "FEW_CLASSES", 0)
    cluster, pods, shape = Cluster(), PodsByHost(), PodShape(100, 100, 1, 1000, frozenset(["A"]))
    row = {name: cluster.put(name, _with_gpu(name)) for name in "XA"}["A"]
    pods.add([array("i", [row])], [array("i", [1])], [shape])
    assert pods.allocate([row], cluster) == []
    cluster.close("X")
    cluster.put("Y", _with_gpu("Y"))
    cluster.put("A", _with_gpu("A"))
    before = cluster.free.device_class[row, 0]
    assert cluster.compact_classes()
    assert [one.model for one in cluster.classes] == ["", "A", "Y"], "as many as before, with other numbers"
    assert cluster.free.device_class[row, 0] == cluster.whole.device_class[row, 0] == before - 1
    assert pods.allocate([row], cluster) == []


def _with_gpu(model: str) -> HostCapacity:
    return HostCapacity(1000, 1000, 10, ((DeviceClass(model), 1000),))
