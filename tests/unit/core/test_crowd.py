"""Several schedulers over one chain in virtual time: nothing is lost or doubled, and they seldom meet."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from offchain.core.values import Capacity
from tests.support.core_builders import gpu, host, pod, task, wants
from tests.support.crowd_sim import IDLE, LOADED, Crowd

RUN_MS = 4_000


def hosts(count, **changes):
    return [host(f"h{number}", provider=f"p{number}", **changes) for number in range(count)]


def many(count, kinds=16):
    return [
        task(number, resources=pod(cpu_milli=200 + 10 * (number % kinds), memory_mib=64), submitted_at=2_000)
        for number in range(1, count + 1)
    ]


async def run(crowd, tasks, kills: Sequence[int] = (), back: Sequence[int] = ()):
    """All tasks at once. `kills`: who is killed, spread over the run; `back`: who of them starts anew at the end."""
    await crowd.block(*tasks)
    for count, victim in enumerate(kills, 1):
        await crowd.until_all_ended(len(tasks) * count // (len(kills) + 1))
        await crowd.members[victim].stop()
    for member in back:
        crowd.members[member].start()
    await crowd.until_all_ended(len(tasks))
    await crowd.close()
    assert crowd.chain.ended == {one.id for one in tasks}
    assert crowd.chain.assigned == Counter(one.id for one in tasks)


@pytest.mark.parametrize(("pace", "most"), [(IDLE, 0.0), (LOADED, 0.07)], ids=["idle", "loaded"])
@pytest.mark.parametrize("schedulers", [1, 2, 4, 8])
async def test_few_assignments_are_refused_however_many_schedulers_there_are(schedulers, pace, most):
    crowd = Crowd(schedulers, hosts(16), lambda _: RUN_MS, pace=pace)
    await run(crowd, many(250))
    assert crowd.refused <= most, crowd.chain.refusals


@pytest.mark.parametrize("seed", range(3))
async def test_whoever_is_killed_no_task_is_lost_or_doubled(seed):
    draw = random.Random(seed)  # noqa: S311 - repeats a run, guards nothing
    kills = draw.sample(range(4), 3)
    crowd = Crowd(4, hosts(8), lambda one: RUN_MS * (1 + one.id % 4), pace=LOADED, seed=seed)
    await run(crowd, many(120), kills, back=kills[:1])


async def test_many_equal_tasks_are_placed_by_one_scheduler_after_the_other():
    crowd = Crowd(4, hosts(8), lambda _: RUN_MS)
    await run(crowd, many(200, kinds=1))
    assert crowd.refused <= 0.02, crowd.chain.refusals


async def test_a_gang_that_is_larger_than_any_part_of_the_hosts_is_placed():
    crowd = Crowd(4, hosts(8), lambda _: RUN_MS)
    gang = task(1, resources=pod(cpu_milli=4_000), pods_min=8, submitted_at=2_000)
    await run(crowd, [gang, *(task(n, resources=pod(cpu_milli=n), submitted_at=2_000) for n in range(2, 40))])


async def test_so_it_is_while_others_always_wait():
    crowd = Crowd(4, hosts(8), lambda _: RUN_MS)
    gang = task(1, resources=pod(cpu_milli=4_000), pods_min=8, submitted_at=2_000)
    await crowd.block(gang, *(task(n, resources=pod(cpu_milli=4_000 + n), submitted_at=2_000) for n in range(2, 40)))
    await crowd.until_all_ended(1, most_blocks=100)
    await crowd.close()
    assert crowd.chain.assigned == {1: 1}


async def test_the_only_host_that_serves_is_found_whoever_has_it():
    crowd = Crowd(8, [*hosts(8), host("rare", devices=(gpu(),))], lambda _: RUN_MS)
    await run(crowd, [task(n, resources=pod(cpu_milli=n, gpus=wants()), submitted_at=2_000) for n in range(1, 9)])


async def test_hosts_of_a_scheduler_that_is_dead_from_the_first_are_used():
    crowd = Crowd(2, hosts(4, free=Capacity(1_000, 8_192, 100)), lambda _: 10**9)
    await crowd.members[0].stop()
    tasks = [task(n, resources=pod(cpu_milli=900 + n), submitted_at=2_000) for n in range(1, 5)]
    await crowd.block(*tasks)
    for _ in range(40):
        await crowd.block()
    await crowd.close()
    assert crowd.chain.assigned == Counter(one.id for one in tasks)
    assert {lease.host for one in crowd.chain.tasks.values() for lease in one.leases} == {"h0", "h1", "h2", "h3"}


@pytest.mark.parametrize("silent", [3, 100])
async def test_bonded_accounts_that_place_nothing_delay_nobody_for_long(silent):
    crowd = Crowd(1, hosts(16), lambda _: RUN_MS, silent=silent)
    tasks, submitted = many(200, kinds=40), {}
    for start in range(0, len(tasks), 2):
        pair = tasks[start : start + 2]
        await crowd.block(*pair)
        submitted |= {one.id: crowd.now_ms for one in pair}
    await crowd.until_all_ended(len(tasks), most_blocks=200)
    await crowd.close()
    waits = [(crowd.chain.assigned_at[number] - at) / 1000 for number, at in submitted.items()]
    assert sum(waits) / len(waits) <= 20
    assert crowd.chain.assigned == Counter(one.id for one in tasks)


async def test_a_scheduler_that_comes_later_gets_its_part_of_the_work():
    crowd = Crowd(2, hosts(16), lambda _: RUN_MS)
    await crowd.members[1].stop()
    await crowd.block(*many(40))
    await crowd.until_all_ended(40)
    crowd.members[1].start()
    tasks = [replace(one, id=one.id + 1_000) for one in many(400, kinds=40)]
    for start in range(0, len(tasks), 4):
        await crowd.block(*tasks[start : start + 4])
    await crowd.until_all_ended(440)
    await crowd.close()
    assert min(crowd.chain.assigned_by[f"scheduler{number}"] for number in range(2)) > 50
