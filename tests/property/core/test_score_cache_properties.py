"""The points of a request, kept while hosts change, are those that would be counted anew; the best host is at hand."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.scheduler import score_cache as rows_of_points
from offchain.core.scheduler.columns import SharingLevels
from offchain.core.scheduler.demand import DemandDistribution
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.packing import FragmentationScore
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.scheduler.score_cache import ScoreCache
from offchain.core.scheduler.score_column import BLOCK, best_host, empty_column, extended_column, update_tree
from offchain.core.scheduler.scores import ScoreWeights
from offchain.core.scheduler.sharing_demand import LEVELS
from offchain.core.values import GpuRequest, HostStatus, Resources
from tests.support.chain_records import ask
from tests.support.examples import examples
from tests.support.scheduler_world import GTY, gpu_host, job

HOSTS = 6


def _want(cpu: int, gpus: int, milli: int, most: int, account: str = "alice") -> PodRequest:
    asked = Resources(cpu, 1024, 1, GpuRequest(gpus, milli, 0, ()))
    return PodRequest.of(job(1, resources=asked, max_rate_per_hour=most * GTY, tenant=account))


WANTS = [_want(4000, 1, 500, 3), _want(2000, 2, 1000, 9), _want(9000, 0, 0, 1)]
ASKS = [ask(gpu_per_hour=price * GTY, cpu_core_per_hour=GTY // 10) for price in (1, 2, 5)]

acts = st.lists(
    st.tuples(
        st.sampled_from(["fill", "put", "free", "gone", "close", "exclude", "look", "level"]),
        st.integers(0, HOSTS - 1),
        st.integers(0, 2),
        st.integers(1, 4),
    ),
    max_size=12,
)


def record(number: int, offer: int, **changes):
    return gpu_host(f"h{number}", 2, ask=ASKS[offer], **changes)


def costs_and_devices(rows: ScoreCache, request: PodRequest):
    return rows.costs(request).copy(), rows.devices(request).copy()


@pytest.mark.parametrize("few", [0, rows_of_points.FEW])
@settings(max_examples=examples(25), deadline=None)
@given(done=acts)
def test_cached_costs_equal_recomputed_ones(few, done):
    """`few`: how many hosts are scored at once; of more, only those that come to be the best by a bound."""
    with patch.object(rows_of_points, "FEW", few):
        _points_are_those_that_would_be_counted_anew(done)


def _points_are_those_that_would_be_counted_anew(done) -> None:  # noqa: C901  (a branch for each act)
    fleet = HostTable()
    policy = FragmentationScore(fleet.cluster, DemandDistribution.of(request.shape for request in WANTS))

    def fresh() -> ScoreCache:
        found = ScoreCache(fleet, policy, ScoreWeights(), b"seed")
        found.changed(range(len(fleet.cluster)), attributes=True)
        return found

    rows, closed = fresh(), np.zeros(0, dtype=np.bool_)

    def put(one):
        changes = fleet.put([one])
        rows.changed(changes.free)
        rows.changed(changes.attributes, attributes=True)

    for number in range(HOSTS - 1):
        put(record(number, number % 3))
    for act, at, which, pods in done:
        request = WANTS[which]
        if act == "fill":
            other = fresh()
            other.close(closed)
            best = other.costs(request)
            first = int(best.argmin()) if best.min() < np.inf else -1
            hosts, _, stopped = rows.place(request, pods)
            assert (hosts[0] if hosts else stopped) == first
        elif act == "put":
            put(record(at, which, last_heartbeat=pods))
        elif act == "free" and at < len(fleet.cluster):
            put(replace(record(at, which), live_leases=pods, free=replace(record(at, 0).free, cpu_milli=1000 * pods)))
        elif act == "gone":
            put(record(at, which, status=HostStatus.OFFLINE))
        elif act == "close":
            closed = np.arange(len(fleet.cluster)) == at
            rows.close(closed)
        elif act == "exclude" and at < len(fleet.cluster):
            rows.costs(request)
            rows.exclude(request, at)
            assert rows.costs(request)[at] == np.inf
            rows.changed((at,))
        elif act == "look":
            rows.costs(request)
        elif act == "level":
            rows.changed(fleet.cluster.set_sharing_levels(SharingLevels({"alice": (1, 5, LEVELS - 1)[which]}, 1)))
    anew = fresh()
    anew.close(closed)
    for request in WANTS:
        for kept, counted in zip(costs_and_devices(rows, request), costs_and_devices(anew, request), strict=True):
            assert kept.tolist() == counted.tolist()


devices_free = st.tuples(st.integers(0, 10), st.sampled_from([None, "alice", "bob"]))


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.lists(devices_free, max_size=4)), max_size=40),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12),
)
def test_placement_with_bounds_equals_placement_with_costs(hosts, fills):
    shares = [_want(1000, 1, 300, 3), _want(2000, 1, 500, 9, "bob"), _want(500, 1, 100, 9, "carol")]
    wants = [*WANTS, _want(1000, 1, 100, 2), *shares]
    placed = []
    for few in (0, len(hosts)):
        fleet = HostTable()
        rows = ScoreCache(
            fleet,
            FragmentationScore(fleet.cluster, DemandDistribution.of(request.shape for request in wants)),
            ScoreWeights(),
            b"seed",
        )
        for number, (offer, cores, free) in enumerate(hosts):
            one = gpu_host(f"h{number}", len(free), ask=ASKS[offer])
            devices = tuple(
                replace(device, milli_free=100 * left, shared_by=whose if left < 10 else None)
                for device, (left, whose) in zip(one.devices, free, strict=True)
            )
            changes = fleet.put([replace(one, free=replace(one.free, cpu_milli=1000 * cores), devices=devices)])
            rows.changed(changes.free)
            rows.changed(changes.attributes, attributes=True)
        with patch.object(rows_of_points, "FEW", few):
            placed.append([rows.place(wants[which], pods) for which, pods in fills])
    assert placed[0] == placed[1]


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(st.floats(0, 9, width=32) | st.just(np.inf), min_size=1, max_size=4 * BLOCK),
    st.lists(st.tuples(st.integers(0, 9 * BLOCK), st.floats(0, 9, width=32) | st.just(np.inf)), max_size=50),
    st.integers(0, 5 * BLOCK),
)
def test_the_tree_finds_the_first_best_host(first, changes, more):
    column = extended_column(empty_column(), len(first))
    column.costs[:] = first
    update_tree(column, np.arange(len(first)))
    column = extended_column(column, len(first) + more)
    column.costs[len(first) :] = 9.5
    update_tree(column, np.arange(len(first), len(column.costs)))
    for number, value in changes:
        at = number % len(column.costs)
        column.costs[at] = value
        update_tree(column, np.array([at]))
    best = int(column.costs.argmin())
    assert best_host(column.tree, column.costs) == (best if column.costs[best] < np.inf else -1)
