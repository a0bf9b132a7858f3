"""Shares of GPUs, whoever comes and ends in whatever order: the chain refuses none of what the scheduler proposes."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import GpuRequest, Task
from tests.support.examples import examples
from tests.support.scheduler_world import MINUTE, World, gpu_host, job

wishes = st.tuples(
    st.sampled_from(("alice", "bob", "carol")),
    st.sampled_from((0, 100, 250, 250, 500, 700, 1000)),
    st.integers(1, 3),
    st.integers(1, 8),
    st.integers(0, 2),
)
"""Whose it is, thousandths of a GPU, pods, minutes that it runs, minutes until the chain has it."""


def task_of(number: int, account: str, milli: int, pods: int, minutes: int) -> Task:
    made = job(number, gpus=int(milli > 0), pods=pods, minutes=minutes, tenant=account)
    gpus = GpuRequest(count=int(milli > 0), milli=milli, min_vram_mib=0, models=())
    return replace(made, resources=replace(made.resources, gpus=gpus))


@settings(max_examples=examples(60))
@given(st.lists(st.lists(wishes, max_size=4), min_size=1, max_size=8), st.integers(1, 3), st.integers(1, 3))
def test_no_two_accounts_have_shares_of_one_device(
    coming: list[list[tuple[str, int, int, int, int]]], hosts: int, gpus: int
) -> None:
    world = World(SchedulerState(b"seed"))
    world.put_hosts(gpu_host(f"h{row}", gpus) for row in range(hosts))
    for now, wanted in enumerate(coming):
        for place, (account, milli, pods, minutes, way) in enumerate(wanted):
            number = 10 * now + place
            world.late_ms[number] = way * MINUTE, 0
            world.submit(task_of(number, account, milli, pods, minutes))
        # The world takes what is placed as the chain does, and fails where the chain would refuse it.
        world.round(now * MINUTE)
    for later in range(len(coming), 200):
        if not list(world.state.waiting):
            break
        world.round(later * MINUTE)
    many = {number for number in world.state.waiting if len(world.state.task(number).open_pods) > hosts * gpus}
    assert set(world.state.waiting) == many
