"""Which requests are infeasible because another one is."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest

from offchain.core.scheduler.infeasible_requests import MAX_MINIMA, InfeasibleRequests
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.scheduler.score_cache import ScoreCache
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import Task
from offchain.schema.chain_types._generated_chain import GpuPrice
from tests.support.chain_records import ask, placement
from tests.support.core_builders import GTY, gpu, host, pod, task, wants
from tests.support.scheduler_events import put, put_hosts, run_cycle

ASKED = task(resources=pod(cpu_milli=2000, memory_mib=2048, disk_gib=2, gpus=wants(2)))


def changed(**changes: object) -> Task:
    return replace(ASKED, resources=replace(ASKED.resources, **changes))


@pytest.mark.parametrize(
    ("other", "covered"),
    [
        (ASKED, True),
        (changed(cpu_milli=2001), True),
        (changed(cpu_milli=1999), False),
        (changed(memory_mib=4096), True),
        (changed(memory_mib=2047, cpu_milli=9000), False),
        (changed(disk_gib=1), False),
        (changed(gpus=wants(3)), True),
        (changed(gpus=wants(1)), False),
        (changed(gpus=wants(2, milli=500)), False),
        (changed(gpus=wants(2, min_vram_mib=1)), True),
        (changed(gpus=wants(2, models=(b"T4",))), False),
        (replace(ASKED, max_rate_per_hour=ASKED.max_rate_per_hour - 1), True),
        (replace(ASKED, max_rate_per_hour=ASKED.max_rate_per_hour + 1), False),
        (replace(ASKED, placement=replace(placement(), regions=(b"eu",))), False),
        (replace(ASKED, refused_by=("h",)), False),
        (replace(ASKED, tenant="other"), True),
        (replace(ASKED, priority=9), True),
    ],
)
def test_a_request_is_covered_by_one_that_asks_for_at_most_as_much(other: Task, covered: bool):  # noqa: FBT001
    infeasible = InfeasibleRequests()
    assert not infeasible.covers(PodRequest.of(other))
    infeasible.add(PodRequest.of(ASKED))
    assert infeasible.covers(PodRequest.of(other)) == covered


def test_shares_of_a_device_are_compared_within_their_account():
    infeasible = InfeasibleRequests()
    infeasible.add(PodRequest.of(task(resources=pod(gpus=wants(milli=300)))))
    more = pod(gpus=wants(milli=500))
    assert infeasible.covers(PodRequest.of(task(resources=more)))
    assert not infeasible.covers(PodRequest.of(task(resources=more, tenant="other")))


def test_a_lesser_request_takes_the_place_of_greater_ones():
    infeasible = InfeasibleRequests()
    for memory in range(MAX_MINIMA):
        infeasible.add(PodRequest.of(changed(cpu_milli=5000 - memory, memory_mib=5000 + memory)))
    # No more are compared: it is tried, as any other.
    infeasible.add(PodRequest.of(changed(cpu_milli=1, memory_mib=9000)))
    assert not infeasible.covers(PodRequest.of(changed(cpu_milli=2, memory_mib=9000)))
    infeasible.add(PodRequest.of(ASKED))
    assert infeasible.covers(PodRequest.of(changed(cpu_milli=2000, memory_mib=2048)))
    infeasible.add(PodRequest.of(changed(cpu_milli=1, memory_mib=9000)))
    assert infeasible.covers(PodRequest.of(changed(cpu_milli=2, memory_mib=9000)))


def test_of_requests_that_ask_for_ever_more_only_the_first_is_tried():
    state = SchedulerState(b"seed", records_decisions=False)
    put_hosts(state, [host()])
    for number in range(1, 41):
        put(state, task(number, resources=pod(cpu_milli=4000 + number), submitted_at=number))
    place = ScoreCache.place
    tried = []

    def noted(scores: ScoreCache, request: PodRequest, pods: int) -> tuple[list[int], list[int], int]:
        tried.append(request.resources.cpu_milli)
        return place(scores, request, pods)

    with patch.object(ScoreCache, "place", noted):
        plan = run_cycle(state, 0)
    assert tried == [4001]
    assert [one.task for one in plan.unschedulable] == list(range(1, 41))


def test_a_device_that_is_too_dear_says_nothing_about_a_pod_that_takes_another():
    cheap, dear = gpu(model=b"T4"), gpu(model=b"A100", milli_free=400, shared_by="t")
    prices = replace(ask(gpu_per_hour=GTY), gpu=(GpuPrice(b"A100", 50 * GTY),))
    state = SchedulerState(b"seed")
    put_hosts(state, [host(devices=(dear, cheap), ask=prices)])
    limit = 5 * GTY
    put(state, task(1, resources=pod(cpu_milli=1, gpus=wants(milli=300)), max_rate_per_hour=limit))
    put(state, task(2, resources=pod(cpu_milli=1, gpus=wants(milli=700)), max_rate_per_hour=limit))
    plan = run_cycle(state, 0)
    assert [one.task for one in plan.unschedulable] == [1], "the pod of task 1 would take the dear device"
    assert list(plan.placements) == [2]
