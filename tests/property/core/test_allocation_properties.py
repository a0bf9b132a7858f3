"""Assumed pods are allocated on columns exactly as the rule of core/feasibility.py places them on records."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from offchain.core.feasibility import take
from offchain.core.scheduler.assumed_pods import InFlightAssignments, PodBatch
from offchain.core.scheduler.columns import device_bits
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.values import GpuRequest, Host, Resources
from tests.support.examples import examples
from tests.support.placing_strategies import hosts, requests
from tests.support.scheduler_world import gpu_host, job


@st.composite
def batches(draw: st.DrawFn, on: list[Host]) -> list[tuple[PodRequest, list[int], list[tuple[int, ...]]]]:
    """Requests, and for each pod the host and devices that exist there."""
    found = []
    for _ in range(draw(st.integers(0, 6))):
        request = draw(requests())
        rows = [row for row, host in enumerate(on) if len(host.devices) >= request.shape.gpus]
        pods = draw(st.lists(st.sampled_from(rows), min_size=1, max_size=3)) if rows else []
        devices = [
            tuple(sorted(draw(st.permutations(range(len(on[row].devices))))[: request.shape.gpus])) for row in pods
        ]
        if pods:
            found.append((request, pods, devices))
    return found


def _share_of(account: str) -> PodRequest:
    resources = Resources(1000, 1024, 0, GpuRequest(1, 320, 0, ()))
    return PodRequest.of(job(1, resources=resources, tenant=account))


TWO_ACCOUNTS = [(_share_of(account), [0], [(0,)]) for account in ("alice", "bob")]
"""Shares of two accounts on one device, as after a block that was reverted: the second one does not fit."""


@settings(max_examples=examples(150))
@given(hosts().flatmap(lambda on: st.tuples(st.just(on), batches(on))))
@example(([gpu_host("h0", 1)], TWO_ACCOUNTS))
def test_assumed_pods_are_allocated_by_the_rule_of_feasibility(
    of: tuple[list[Host], list[tuple[PodRequest, list[int], list[tuple[int, ...]]]]],
) -> None:
    records, assumed = of
    table, flight = HostTable(), InFlightAssignments()
    table.put(records)
    for number, (request, rows, devices) in enumerate(assumed):
        task = job(number, pods=len(rows))
        flight.add(PodBatch(request, [task], rows, [device_bits(one) for one in devices]))
    short = set()
    expected = list(records)
    for request, rows, devices in assumed:
        for row, on in zip(rows, devices, strict=True):
            try:
                expected[row] = take(expected[row], request, on)
            except ValueError:
                short.add(row)
    assert set(flight.allocate(range(len(records)), table.cluster)) == short
    anew = HostTable()
    anew.put(expected)
    for row in range(len(expected)):
        assert _columns(table, row) == _columns(anew, row)


def _columns(table: HostTable, row: int) -> tuple[object, ...]:
    free = table.cluster.free
    classes = [table.cluster.classes[number] for number in free.device_class[row].tolist()]
    return int(free.cpu[row]), int(free.memory[row]), int(free.disk[row]), free.device[row].tolist(), classes
