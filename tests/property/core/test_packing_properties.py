"""Compiled placement chooses the hosts and devices of the readable score and of the rule of core/feasibility.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.scheduler.columns import SharingLevels, device_bits
from offchain.core.scheduler.demand import DemandDistribution
from offchain.core.scheduler.device_choice import KernelRequest
from offchain.core.scheduler.host_capacity import free_resources_of
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.packing import FragmentationScore
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.scheduler.score_column import Penalties, empty_column, extended_column
from offchain.core.scheduler.sharing_demand import LEVELS
from offchain.core.values import Host
from tests.support.examples import examples
from tests.support.packing_reference import ReferencePacking
from tests.support.placing_strategies import ACCOUNTS, hosts, requests
from tests.support.scheduler_world import job

NO_BOUNDS = np.zeros(0, dtype=np.float32)

gangs = st.lists(st.tuples(requests(), st.integers(1, 5)), min_size=1, max_size=8)
levels = st.builds(
    SharingLevels,
    st.dictionaries(st.sampled_from(ACCOUNTS), st.integers(1, LEVELS - 1)),
    st.integers(1, LEVELS - 1),
)
ANY_GPU = PodRequest.of(job(1)).shape


class CompiledPacking:
    """Compiled placement of pods on host records, with the columns of the product."""

    def __init__(self, hosts: list[Host], demand: DemandDistribution, levels: SharingLevels) -> None:
        table = HostTable()
        table.put(hosts)
        self.cluster = table.cluster
        self.cluster.set_sharing_levels(levels)
        self._policy = FragmentationScore(self.cluster, demand)

    def scores(self, request: PodRequest) -> list[tuple[float, int]]:
        """Return the score and the devices, as bits, on each host; infinite: not feasible."""
        count = len(self.cluster)
        scores, devices = np.zeros(count), np.zeros(count, dtype=np.int64)
        self._policy.score(request.shape, np.arange(count), scores, devices)
        return [
            (score, on if score < np.inf else 0) for score, on in zip(scores.tolist(), devices.tolist(), strict=True)
        ]

    def place(self, request: PodRequest, pods: int, penalties: Penalties, *, bounded: bool) -> list[tuple[int, int]]:
        """Place up to `pods` pods. Return the host and the devices, as bits, of each."""
        rows = np.arange(len(self.cluster))
        column = extended_column(empty_column(), len(rows))
        bounds = NO_BOUNDS
        if bounded:
            bare = replace(request.shape, cpu_milli=0, memory_mib=0, disk_gib=0)
            lowest = extended_column(empty_column(), len(rows))._replace(tree=np.zeros(0, dtype=np.float32))
            self._policy.bound(KernelRequest.of(bare, self.cluster), rows, lowest)
            bounds = lowest.costs
        chosen, devices = np.empty(pods, dtype=np.int64), np.empty(pods, dtype=np.int64)
        of = KernelRequest.of(request.shape, self.cluster)
        placed, stopped = self._policy.place(of, rows, column, penalties, chosen, devices, bounds)
        assert stopped == -1
        if request.shape.account:
            self.cluster.share_all(chosen[:placed], devices[:placed], request.shape.account)
        return list(zip(chosen[:placed].tolist(), devices[:placed].tolist(), strict=True))


def _penalties(by_host: list[float], by_list: list[float]) -> Penalties:
    count = len(by_host)
    return Penalties(
        np.array(by_host),
        np.arange(count) % len(by_list),
        np.array(by_list),
        np.ones(len(by_list), dtype=np.bool_),
        np.zeros(count, dtype=np.bool_),
    )


def _free_of(hosts: list[Host]) -> list[tuple[Any, ...]]:
    free = [free_resources_of(host) for host in hosts]
    return [(cpu, memory, disk, list(devices)) for cpu, memory, disk, devices, _ in free]


@pytest.mark.parametrize("bounded", [False, True])
@settings(max_examples=examples(150))
@given(hosts(), gangs, st.lists(requests(), max_size=8), levels, st.data())
def test_compiled_placement_equals_the_readable_score(
    bounded: bool,  # noqa: FBT001 - given by parametrize
    on: list[Host],
    of: list[tuple[PodRequest, int]],
    expected: list[PodRequest],
    levels: SharingLevels,
    data: st.DataObject,
) -> None:
    demand = DemandDistribution.of([*(request.shape for request in expected), ANY_GPU])
    by_host = data.draw(st.lists(st.sampled_from((0.0, 0.0, 3.5, 150.0, np.inf)), min_size=len(on), max_size=len(on)))
    by_list = data.draw(st.lists(st.sampled_from((0.0, 20.0, 400.0)), min_size=1, max_size=3))
    penalties = _penalties(by_host, by_list)
    totals = [one + by_list[row % len(by_list)] for row, one in enumerate(by_host)]
    compiled, readable = CompiledPacking(on, demand, levels), ReferencePacking(on, demand.counts, levels)
    for request, pods in of:
        if not bounded:
            scores = [readable.score(host, request) for host in readable.hosts]
            assert compiled.scores(request) == [(score, device_bits(devices)) for score, devices in scores]
        placed = readable.place(request, pods, totals)
        found = compiled.place(request, pods, penalties, bounded=bounded)
        assert found == [(host, device_bits(devices)) for host, devices in placed]
        free = compiled.cluster.free
        columns = [
            (
                int(free.cpu[row]),
                int(free.memory[row]),
                int(free.disk[row]),
                free.device[row, : free.gpus[row]].tolist(),
            )
            for row in range(len(on))
        ]
        assert columns == _free_of(readable.hosts)
