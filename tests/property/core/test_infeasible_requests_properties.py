"""Requests that ask for at least as much as an infeasible one are passed over, and no decision differs by that."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.scheduler.infeasible_requests import InfeasibleRequests
from offchain.core.scheduler.placement import Planner
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import Capacity, Host, Layout, Task
from offchain.schema.chain_types._generated_chain import GpuPrice
from tests.support.chain_records import ask, placement
from tests.support.core_builders import GTY, gpu, host, pod, task, wants
from tests.support.examples import examples
from tests.support.scheduler_events import put_hosts, put_tasks, run_cycle

seeds = st.integers(0, 2**32).map(Random)
GPUS = (
    wants(0, milli=0),
    wants(milli=300),
    wants(milli=700),
    wants(),
    wants(),
    wants(2),
    wants(2, min_vram_mib=50_000),
)
PRICES = ask(gpu_per_hour=GTY, cpu_core_per_hour=GTY // 100, memory_gib_per_hour=GTY // 100)


def hosts_and_tasks(random: Random) -> tuple[list[Host], list[Task]]:
    """A few hosts with little room, and tasks that ask for one of few amounts of everything: many are comparable."""
    hosts = [_host(random, f"h{number}") for number in range(random.randint(1, 6))]
    return hosts, [_task(random, number) for number in range(1, random.randint(10, 40))]


def _host(random: Random, name: str) -> Host:
    def device() -> object:
        milli, account = random.choice(((1000, None), (1000, None), (400, "t"), (800, "u"), (0, None)))
        return gpu(model=random.choice((b"A100", b"T4")), milli_free=milli, shared_by=account)

    return host(
        name,
        free=Capacity(random.choice((1000, 4000, 8000)), random.choice((1024, 8192)), random.choice((1, 20))),
        devices=tuple(device() for _ in range(random.randint(0, 4))),
        ask=replace(PRICES, gpu=(GpuPrice(b"A100", random.choice((1, 3)) * GTY),)),
        region=random.choice((b"eu", b"us")),
    )


def _task(random: Random, number: int) -> Task:
    gpus = random.choice(GPUS)
    pods = random.choice((1, 1, 1, 2))
    return task(
        number,
        tenant=random.choice("tu"),
        resources=pod(
            cpu_milli=random.choice((500, 500, 1000, 3000)),
            memory_mib=random.choice((512, 512, 2048)),
            disk_gib=random.choice((1, 1, 5)),
            gpus=replace(gpus, models=random.choice(((), (), (b"T4",)))) if gpus.count else gpus,
        ),
        placement=replace(placement(), regions=random.choice(((), (), (b"eu",)))),
        max_rate_per_hour=random.choice((1, 2, 4, 20)) * GTY,
        pods_min=pods,
        layout=random.choice((Layout.ANY, Layout.ANY, Layout.HOSTS)),
        submitted_at=random.randint(0, 3),
    )


def decided(hosts: list[Host], tasks: list[Task]) -> list[object]:
    state = SchedulerState(b"seed")
    put_hosts(state, hosts)
    put_tasks(state, tasks)
    found: list[object] = []
    for now_ms in (0, 0, 600_001):
        plan = run_cycle(state, now_ms)
        found += [dict(plan.placements), plan.unschedulable, dict(state.reserved)]
    return found


@settings(max_examples=examples(150))
@given(seeds)
def test_decisions_are_those_of_trying_every_request(random: Random):
    hosts, tasks = hosts_and_tasks(random)
    passed_over = decided(hosts, tasks)
    with patch.object(InfeasibleRequests, "covers", lambda _, __: False):
        assert decided(hosts, tasks) == passed_over


@settings(max_examples=examples(100))
@given(seeds)
def test_a_request_that_is_passed_over_fits_on_no_host(random: Random):
    covers, plan, planners = InfeasibleRequests.covers, Planner.plan, []

    def checked(infeasible: InfeasibleRequests, request: PodRequest) -> bool:
        found = covers(infeasible, request)
        assert not found or planners[0]._fill(request, 1) == ([], [])
        return found

    def planned(planner: Planner, *rest: object) -> object:
        planners[:] = [planner]
        return plan(planner, *rest)

    with patch.object(InfeasibleRequests, "covers", checked), patch.object(Planner, "plan", planned):
        decided(*hosts_and_tasks(random))
