"""Rows of removed hosts: when another host may have one, and what it then has of the host before."""

from __future__ import annotations

import numpy as np
import pytest

from offchain.core.scheduler.events import HostsObserved
from offchain.core.scheduler.host_observations import HostObservation, ObservationKind
from offchain.core.scheduler.partition import SLOT_MS, HostShards
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import Capacity
from tests.support.core_builders import gpu, host, pod, task, wants
from tests.support.scheduler_events import put, release, remove, remove_host, run_cycle


@pytest.fixture
def state() -> SchedulerState:
    return SchedulerState(b"seed")


def rows(state: SchedulerState) -> dict[str, int]:
    cluster = state.planner.hosts.cluster
    return {name: cluster.row(name) for name in state.planner.hosts.records}


def test_a_new_host_gets_the_row_of_a_removed_one(state: SchedulerState):
    put(state, host("a"), host("b", free=Capacity(500, 1, 1)))
    remove_host(state, "a")
    put(state, host("c", region=b"us"), host("d"))
    assert rows(state) == {"b": 1, "c": 0, "d": 2}
    assert "a" not in state.planner.hosts.cluster
    put(state, task())
    (placed,) = run_cycle(state, 0).placements[1]
    assert placed.host in {"c", "d"}


def test_a_row_stays_with_its_host_while_an_assignment_is_on_its_way_there(state: SchedulerState):
    put(state, host("a"), task())
    run_cycle(state, 0)
    remove_host(state, "a")
    put(state, host("b"))
    assert rows(state) == {"b": 1}
    put(state, host("a"))
    cluster = state.planner.hosts.cluster
    assert rows(state) == {"b": 1, "a": 0}
    assert cluster.free.cpu[0] == cluster.whole.cpu[0] - 1000, "its pod is still assumed there"
    remove_host(state, "a")
    release(state, 1)
    put(state, host("c"))
    assert rows(state) == {"b": 1, "c": 0}
    assert cluster.free.cpu[0] == cluster.whole.cpu[0] == 4000


def test_a_row_stays_with_its_host_while_something_is_reserved_there(state: SchedulerState):
    put(state, host("a", devices=(gpu(),)), task(1, resources=pod(gpus=wants())))
    run_cycle(state, 0)
    put(state, task(2, resources=pod(gpus=wants())))
    run_cycle(state, 1)
    assert [place.host for place in state.reserved[2].places] == [0]
    remove_host(state, "a")
    remove(state, 1)
    put(state, host("b"))
    assert rows(state) == {"b": 1}
    run_cycle(state, 2)
    assert not state.reserved
    put(state, host("c"))
    assert rows(state) == {"b": 1, "c": 0}


def test_failures_stay_with_the_host_and_not_with_its_row(state: SchedulerState):
    put(state, host("a"))
    state.handle(HostsObserved([HostObservation("a", ObservationKind.ABSENT, 0)]), 0)
    run_cycle(state, 0)
    scores = state.planner.hosts.attributes
    known = scores.failure_score[0]
    assert known > 0
    remove_host(state, "a")
    put(state, host("b"))
    run_cycle(state, 1)
    assert scores.failure_score[0] == 0
    put(state, host("a"))
    run_cycle(state, 2)
    assert rows(state) == {"b": 0, "a": 1}
    assert state.planner.hosts.attributes.failure_score[1] == known


def test_shards_follow_the_hosts_and_not_their_rows():
    accounts = ("ann", "bob", "cas")
    followed, new = HostShards("ann"), HostShards("ann")
    before = [f"host {number}" for number in range(40)]
    after = [f"other {number}" if number % 3 == 0 else name for number, name in enumerate(before)]
    for shards in (followed, new):
        shards.set_schedulers(accounts)
    later_ms = SLOT_MS - 1

    def closed(shards: HostShards, now_ms: int, names: list[str]) -> np.ndarray:
        return shards.closed(now_ms, names, accounts, now_ms, has_gang=False)

    was_closed = closed(followed, later_ms, before)
    now_closed = closed(followed, later_ms, after)
    assert (now_closed == closed(new, later_ms, after)).all()
    assert (now_closed != was_closed).any()
    # In the first seconds of the next slot a scheduler uses the hosts that it had; one of these is new.
    replaced, kept, *_ = np.flatnonzero(~now_closed).tolist()
    after[replaced] = "third"
    handover = closed(followed, SLOT_MS, after)
    assert handover[replaced]
    assert not handover[kept]
