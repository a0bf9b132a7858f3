"""Where a scheduler places pods that is a provider, too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from offchain.core.scheduler.state import SchedulerState
from tests.support.chain_records import ask
from tests.support.core_builders import GTY, gpu, host, pod, task, wants
from tests.support.scheduler_events import put, put_hosts, put_tasks, remove, run_cycle

MINE = "me"
"""The account of the scheduler, and of its own hosts."""
ONE_GPU = pod(gpus=wants())


def offers(name: str, provider: str, price: int, **changes):
    return host(name, provider=provider, devices=(gpu(),), ask=ask(gpu_per_hour=price), **changes)


def placed(*records, account: str = MINE, **changes) -> str | None:
    """The host of a task with one GPU."""
    state = SchedulerState(b"seed", account=account)
    put_hosts(state, records)
    put(state, task(1, **{"resources": ONE_GPU, **changes}))
    made = run_cycle(state, 0)
    return made.placements[1][0].host if 1 in made.placements else None


@pytest.mark.parametrize(("price", "where"), [(GTY, "mine"), (GTY + GTY // 20, "mine"), (2 * GTY, "other")])
def test_an_own_host_is_used_unless_another_is_clearly_cheaper(price, where):
    # The own one has the better score, which is not looked at: the chain compares scores as they were.
    mine = offers("mine", MINE, price, score_ppm=990_000)
    assert placed(mine, offers("other", "you", GTY, score_ppm=500_000)) == where


def test_an_own_host_is_used_if_no_other_is_feasible():
    mine = offers("mine", MINE, 2 * GTY)
    busy = host("other", provider="you", devices=(gpu(milli_free=0),), ask=ask(gpu_per_hour=GTY))
    assert placed(mine, busy) == "mine"
    assert placed(mine) == "mine"
    unsuitable = host("other", provider="you", devices=(gpu(model=b"T4"),), ask=ask(gpu_per_hour=GTY))
    assert placed(mine, unsuitable, resources=pod(gpus=wants(models=(b"A100",)))) == "mine"


def test_own_tasks_are_placed_by_score():
    mine = offers("mine", MINE, 2 * GTY, score_ppm=990_000)
    other = offers("other", "you", GTY + GTY // 2, score_ppm=10_000)
    assert placed(mine, other) == "other"
    assert placed(mine, other, tenant=MINE) == placed(mine, other, account="someone")


def test_a_host_with_an_assumed_pod_still_counts():
    state = SchedulerState(b"seed", account=MINE)
    other = offers("other", "you", GTY)
    put(state, offers("mine", MINE, 2 * GTY), other)
    put_tasks(state, [task(1, resources=ONE_GPU), task(2, resources=ONE_GPU)])
    made = run_cycle(state, 0).placements
    assert {number: pods[0].host for number, pods in made.items()} in ({1: "other"}, {2: "other"})
    (placed_one,) = made
    assert not run_cycle(state, 0).placements, "the chain may refuse the assignment, and the other host would be free"
    # The chain has it: there is no room elsewhere.
    put(state, replace(other, devices=(gpu(milli_free=0),), live_leases=1))
    remove(state, placed_one)
    (pods,) = run_cycle(state, 0).placements.values()
    assert pods[0].host == "mine"
