"""Requests that ask for at least as much as an infeasible one are passed over, and no decision differs by that."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.scheduler.infeasible_requests import InfeasibleRequests
from offchain.core.scheduler.placement import Planner
from offchain.core.scheduler.state import SchedulerState
from offchain.core.snapshot import Snapshot
from offchain.core.values import GpuRequest, Resources, Task
from tests.support.chain_records import placement
from tests.support.core_strategies import crowded
from tests.support.examples import examples
from tests.support.scheduler_events import put_hosts, put_tasks, run_cycle

FIRST_VARIANT = 100
GPUS = ((0, 0), (1, 300), (1, 500), (1, 700), (1, 1000), (2, 500), (2, 1000), (3, 1000))


@st.composite
def crowds(draw: st.DrawFn) -> tuple[Snapshot, list[Task]]:
    """Hosts, and tasks of which many ask for a little more or less than another."""
    snapshot = draw(crowded())
    tasks = list(snapshot.tasks.values())
    variants = [
        _variant(draw, draw(st.sampled_from(tasks)), number)
        for number in range(FIRST_VARIANT, FIRST_VARIANT + draw(st.integers(0, 25)))
    ]
    return snapshot, [*tasks, *variants]


def _variant(draw: st.DrawFn, task: Task, number: int) -> Task:
    count, milli = draw(st.sampled_from(GPUS))
    models = draw(st.sampled_from(((), (), (b"A100",), (b"T4",)))) if count else ()
    resources = Resources(
        draw(st.sampled_from((500, 1000, 2000, 4000, 9000))),
        draw(st.sampled_from((512, 1024, 4096, 9000))),
        draw(st.sampled_from((0, 1, 30))),
        GpuRequest(count=count, milli=milli, min_vram_mib=draw(st.sampled_from((0, 50_000))), models=models),
    )
    regions = draw(st.sampled_from(((), (), (b"eu",))))
    return replace(
        task,
        id=number,
        resources=resources,
        placement=replace(placement(), regions=regions),
        max_rate_per_hour=draw(st.sampled_from((1, 5, 15, 25, 70))) * 10**10,
        tenant=draw(st.sampled_from("tu")),
        submitted_at=draw(st.integers(0, 3)),
    )


def decided(snapshot: Snapshot, tasks: list[Task]) -> list[object]:
    state = SchedulerState(b"seed")
    put_hosts(state, snapshot.hosts.values())
    put_tasks(state, tasks)
    found: list[object] = []
    for now_ms in (0, 0, 600_001):
        plan = run_cycle(state, now_ms)
        found += [dict(plan.placements), plan.unschedulable, dict(state.reserved)]
    return found


@settings(max_examples=examples(150))
@given(crowds())
def test_decisions_are_those_of_trying_every_request(crowd: tuple[Snapshot, list[Task]]):
    passed_over = decided(*crowd)
    with patch.object(InfeasibleRequests, "covers", lambda _, __: False):
        assert decided(*crowd) == passed_over


@settings(max_examples=examples(150))
@given(crowds())
def test_a_request_that_is_passed_over_fits_on_no_host(crowd: tuple[Snapshot, list[Task]]):
    snapshot, tasks = crowd
    covers, planners = InfeasibleRequests.covers, []

    def checked(infeasible: InfeasibleRequests, request: object) -> bool:
        found = covers(infeasible, request)
        if found:
            (planner,) = planners
            assert planner._fill(request, 1) == ([], [])
        return found

    plan = Planner.plan

    def planned(planner: Planner, *rest: object) -> object:
        planners[:] = [planner]
        return plan(planner, *rest)

    with patch.object(InfeasibleRequests, "covers", checked), patch.object(Planner, "plan", planned):
        decided(snapshot, tasks)
