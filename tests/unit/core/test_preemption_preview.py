"""Which spot tasks would leave for a task that has no room yet."""

from __future__ import annotations

import pytest
from core_builders import GTY, gpu, host, lease, pod, snapshot, task, wants

from offchain.core.preemption_preview import preview_preemption
from offchain.core.scheduler.queue_definitions import QueueDefinition, queue_tree
from offchain.core.values import LeaseState, Preemption, TaskState
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import escrow

ONE_GPU = pod(cpu_milli=1, memory_mib=1, disk_gib=0, gpus=wants())
LABS = queue_tree((QueueDefinition("day"), QueueDefinition("night")))


def runs(number, on, *devices, rate=1, **changes):
    """A spot task with these GPUs of a host."""
    held = lease(
        lease_id(number, 0, 0),
        host=on,
        devices=devices,
        state=LeaseState.ACTIVE,
        escrow=escrow(rate_per_hour=rate * GTY, since=0, deposit=10**30),
    )
    gpus = wants(count=len(devices))
    values = {"spot": True, "state": TaskState.RUNNING, "resources": pod(cpu_milli=1, memory_mib=1, gpus=gpus)}
    return task(number, held, **(values | changes))


def full(name, gpus):
    return host(name, devices=tuple(gpu(milli_free=0) for _ in range(gpus)))


def asks(**changes):
    return task(99, resources=ONE_GPU, **({"tenant": "new", "priority": 9} | changes))


def whose(found):
    return None if found is None else (dict(found.parts), sorted(found.victims))


def test_who_holds_more_than_its_right_gives_the_cheapest_back():
    there = snapshot(full("a", 2), runs(1, "a", 0, rate=2), runs(2, "a", 1), now=1000)
    assert whose(preview_preemption(there, asks(), queue_tree())) == ({"account t": 1}, [2])


def test_it_is_told_by_queue():
    there = snapshot(full("a", 2), runs(1, "a", 0, queue=b"night"), runs(2, "a", 1, queue=b"night"), now=1000)
    assert whose(preview_preemption(there, asks(queue=b"day"), LABS)) == ({"queue night": 1}, [2])


def test_who_holds_its_right_is_told_why_nobody_leaves():
    running = runs(1, "a", 0, queue=b"night"), runs(2, "a", 1, queue=b"day", tenant="new", spot=False)
    there = snapshot(full("a", 2), *running, now=1000)
    found = preview_preemption(there, asks(queue=b"day"), LABS)
    assert found is not None
    assert not found.victims
    assert "holds 50.0% of the network, with the task 100.0%, and has a right to 50.0%" in found.why


def test_its_own_leave_in_any_case():
    running = runs(1, "a", 0, queue=b"night"), runs(2, "a", 1, queue=b"day", tenant="new")
    there = snapshot(full("a", 2), *running, now=1000)
    assert whose(preview_preemption(there, asks(queue=b"day"), LABS)) == ({"queue day": 1}, [2])


def test_only_who_is_needed_leaves():
    pair = {"resources": pod(cpu_milli=1, memory_mib=1, disk_gib=0, gpus=wants(count=2))}
    running = runs(1, "a", 0, 1), runs(2, "a", 2, rate=9), runs(3, "a", 3, rate=9)
    there = snapshot(full("a", 4), *running, now=1000)
    assert whose(preview_preemption(there, task(99, tenant="new", priority=9, **pair), queue_tree())) == (
        {"account t": 1},
        [1],
    )
    triple = {"resources": pod(cpu_milli=1, memory_mib=1, disk_gib=0, gpus=wants(count=3))}
    both = preview_preemption(there, task(99, tenant="new", priority=9, **triple), queue_tree())
    assert whose(both) == ({"account t": 2}, [1, 3])


def test_a_gang_has_others_leave_on_several_hosts():
    there = snapshot(
        full("a", 1), full("b", 1), full("c", 2), runs(1, "a", 0), runs(2, "b", 0), runs(3, "c", 0, 1), now=9
    )
    found = preview_preemption(there, asks(pods_min=2, open_pods=(0, 1)), queue_tree())
    assert found is not None
    assert len(found.victims) == 2 or whose(found) == ({"account t": 1}, [3])


@pytest.mark.parametrize(
    "changes",
    [{"priority": 9}, {"spot": False}, {"preemption": Preemption(wanting=7, ends_at=2000)}],
    ids=["as important", "not spot", "told already"],
)
def test_who_does_not_leave_is_not_told_of(changes):
    assert (
        preview_preemption(snapshot(full("a", 1), runs(1, "a", 0, **changes), now=1000), asks(), queue_tree()) is None
    )


def test_who_was_told_counts_as_gone():
    told = runs(1, "a", 0, preemption=Preemption(wanting=98, ends_at=2000))
    other = task(98, tenant="new", priority=9, resources=ONE_GPU)
    there = snapshot(full("a", 2), told, runs(2, "a", 1), other, now=1000)
    found = preview_preemption(there, asks(), queue_tree())
    assert found is not None
    assert "holds 50.0% of the network" in found.why
