"""Preemption for gangs with anti-affinity."""

from dataclasses import replace

import numpy as np
import pytest

from offchain.core.scheduler.cluster import HostSlot
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.preemption import (
    PreemptionDecision,
    PreemptionHistory,
    PreemptionPolicy,
    PreemptionRefused,
    Preemptor,
    QueueEntitlements,
    choose_victims,
    preempt,
)
from offchain.core.scheduler.victim_sets import RunningTask
from offchain.core.values import Device, Host, Layout, Lease, LeaseState, Task, TaskState
from offchain.schema.durations import MINUTE_MS
from tests.support.chain_records import escrow
from tests.support.queue_samples import OWN, sample_queue
from tests.support.reservation_samples import GPU, gpus
from tests.support.scheduler_world import gpu_host, job

NOW = 100 * MINUTE_MS


def spot(task: int, *hosts: int, rate: int = 1) -> RunningTask:
    return RunningTask(task, 0, 0, True, GPU, tuple(HostSlot(host, 1) for host in hosts), rate, 0)  # noqa: FBT003


def leave(running: list[RunningTask], groups_of_hosts: list[int], pods: int) -> list[int] | PreemptionRefused:
    cluster = gpus(*(1 for _ in groups_of_hosts))
    for one in running:
        for place in one.places:
            cluster.take(place.host, GPU, place.devices)
    preemptor = Preemptor(99, "mine", 5, GPU, pods)
    found = preempt(
        preemptor, running, cluster, NOW, PreemptionPolicy(), PreemptionHistory(), OWN, groups=np.array(groups_of_hosts)
    )
    return found if isinstance(found, PreemptionRefused) else [one.task for one in found.victims]


def test_the_cheapest_task_of_each_group_is_the_victim():
    running = [spot(1, 0, rate=2), spot(2, 1), spot(3, 2, rate=5), spot(4, 3, rate=4)]
    assert leave(running, [0, 0, 1, 1], 2) == [2, 4]


def test_no_task_is_preempted_in_a_group_with_free_resources():
    assert leave([spot(1, 1), spot(2, 2, rate=9)], [0, 0, 1], 2) == [2]


def test_no_task_is_preempted_if_there_are_too_few_groups():
    assert leave([spot(1, 0), spot(2, 1)], [0, 0], 2) is PreemptionRefused.NOBODY


def test_one_victim_in_two_groups_costs_less_than_one_in_each():
    running = [spot(1, 0, 2, rate=3), spot(2, 1, rate=2), spot(3, 3, rate=2)]
    assert leave(running, [0, 0, 1, 1], 2) == [1]


def full(name: str, provider: str) -> Host:
    host = gpu_host(name, 1, provider=provider)
    device: Device = replace(host.devices[0], milli_free=0)
    return replace(host, devices=(device,))


def runs(number: int, host: str, pods: tuple[str, ...] = ()) -> Task:
    leases = tuple(
        Lease(number * 10 + place, name, (0,), LeaseState.ACTIVE, 0, escrow(rate_per_hour=3_600_000 * number), None)
        for place, name in enumerate((host, *pods))
    )
    return job(number, spot=True, state=TaskState.RUNNING, open_pods=(), leases=leases)


@pytest.mark.parametrize(
    ("layout", "expected"), [(Layout.ANY, [1, 2]), (Layout.HOSTS, [1, 2]), (Layout.PROVIDERS, [1, 3])]
)
def test_groups_of_hosts_and_providers_follow_the_records_of_the_chain(layout: Layout, expected: list[int]):
    fleet = HostTable()
    fleet.put([full("a", "p"), full("b", "p"), full("c", "q")])
    preemptor = job(9, pods=2, priority=5, layout=layout)
    found = choose_victims(
        preemptor,
        [runs(1, "a"), runs(2, "b"), runs(3, "c")],
        fleet,
        NOW,
        PreemptionHistory(),
        None,
        QueueEntitlements(sample_queue().entitlements(), lambda _: 0),
    )
    assert isinstance(found, PreemptionDecision)
    assert [one.task for one in found.victims] == expected
