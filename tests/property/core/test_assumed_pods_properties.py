"""What was placed is kept in batches, and nobody can tell from what comes out."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.scheduler import assumed_pods
from offchain.core.scheduler.assumed_pods import PodBatch
from offchain.core.scheduler.availability import LeaseEnds
from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.host_capacity import HostCapacity
from offchain.core.scheduler.pod_request import WHOLE_GPU, DeviceClass, PodRequest
from offchain.core.scheduler.state import SchedulerState
from tests.support.examples import examples
from tests.support.scheduler_world import MINUTE, World, gpu_host, job

WANT = PodRequest.of(job(0, 1))
ROWS = 5
KIND = DeviceClass("A100", 40_960)

places = st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(0, 3)), min_size=90)
batches = st.tuples(st.integers(1, 30), st.integers(1, 3), st.integers(0, 2), places)
ended, followed = st.integers(0, 200), st.tuples(st.integers(0, 200), st.booleans())
steps = st.lists(batches | ended | followed | st.integers(0, 40).map(str), max_size=12)


def cluster_of(pods: int) -> Cluster:
    """Hosts with three GPUs, the last one with one, and otherwise room for so many pods on each."""
    found, shape = Cluster(), WANT.shape
    for row in range(ROWS):
        devices = ((KIND, WHOLE_GPU), (KIND, 0 if row else WHOLE_GPU), (KIND, WHOLE_GPU))[: 3 if row < ROWS - 1 else 1]
        found.put(f"h{row}", HostCapacity(pods * shape.cpu_milli, pods * shape.memory_mib, 1000, devices))
    return found


@given(steps)
def test_assumed_pods_are_allocated_as_far_as_they_fit(of: list[Any]):
    found = assumed_pods.InFlightAssignments()
    model: dict[int, tuple[tuple[int, int], ...]] = {}
    behind: set[int] = set()
    number = 0
    with patch.object(assumed_pods, "_MAX_STALE", 8):
        for step in of:
            match step:
                case (int(many), int(each), int(short), list(where)):
                    tasks = [job(number + place, 1, pods=each) for place in range(many)]
                    where = where[: many * each - min(short, each - 1)]
                    found.add(PodBatch(WANT, tasks, [row for row, _ in where], [1 << device for _, device in where]))
                    for place in range(many):
                        model[number + place] = tuple(where[place * each : place * each + each])
                    number += many
                case (int(task), bool(ahead)):
                    known = task in model and (task in behind) == ahead
                    assert found.set_assumed(task, assumed=ahead) == known
                    behind ^= {task} if known else set()
                case int(task):
                    pods = model.pop(task, ())
                    dropped = [
                        (batch.placement_of(task).hosts, here, was_behind)
                        for batch, here, was_behind in found.remove((task,))
                    ]
                    rows = tuple(row for row, _ in pods)
                    assert [(hosts, len(here), was) for hosts, here, was in dropped] == (
                        [(rows, len(rows), task in behind)] if pods else []
                    )
                    behind.discard(task)
                case _:
                    one, other = cluster_of(int(step)), cluster_of(int(step))
                    assert sorted(found.allocate(range(ROWS), one)) == taken_one_by_one(model, behind, other)
                    assert one.free_milli == other.free_milli
                    for column, same in zip(one.free, other.free, strict=True):
                        assert column.tolist() == same.tolist()
    assert found.tasks == model.keys()
    for task, pods in model.items():
        assert found.is_confirmed(task) == (task in behind)
        assert found.batch_of(task).pods(task) == tuple(range(len(pods)))


def taken_one_by_one(model: dict[int, tuple[tuple[int, int], ...]], behind: set[int], cluster: Cluster) -> list[int]:
    """Take all of it, the lowest number first; gives the rows where there is no room for all."""
    short = set()
    for task, pods in sorted(model.items()):
        for row, device in pods if task not in behind else ():
            if not cluster.try_take(row, WANT.shape, 1 << device):
                short.add(row)
    return sorted(short)


jobs = st.tuples(st.integers(0, 2), st.integers(1, 4), st.integers(1, 40), st.sampled_from("ab"), st.integers(1, 24))


def story(hosts: int, of: list[tuple[int, int, int, str, int]], late_ms: int, *, apart: bool) -> tuple[object, ...]:
    """Who starts when and where, and what was promised; `apart`: what is placed is looked at task by task."""
    with patch.object(LeaseEnds, "known", lambda _, tasks: set(tasks)) if apart else nullcontext():
        world = World(SchedulerState(b"seed"))
        world.put_hosts(gpu_host(f"h{place}", 4) for place in range(hosts))
        number = 0
        for minute, (gpus, pods, minutes, tenant, many) in enumerate(of):
            for _ in range(many):
                most = pods if gpus == 2 else 1
                one = job(number, gpus, pods=min(most, hosts), minutes=minutes + number % 3, tenant=tenant)
                world.late_ms[number] = (late_ms * (number % 2), 0)
                world.submit(one)
                number += 1
            world.round(minute * MINUTE)
        now: int | None = len(of) * MINUTE
        while now is not None and now < 10**8:
            world.round(now)
            now = world.next_ms(now)
        assert len(world.started) == number
        return world.started, world.at, world.promised


@settings(max_examples=examples(25))
@given(st.integers(1, 4), st.lists(jobs, min_size=1, max_size=6), st.integers(0, 30_000))
def test_reservations_are_equal_for_batches_and_single_tasks(
    hosts: int, of: list[tuple[int, int, int, str, int]], late_ms: int
):
    assert story(hosts, of, late_ms, apart=False) == story(hosts, of, late_ms, apart=True)
