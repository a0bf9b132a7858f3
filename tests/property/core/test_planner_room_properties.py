"""What is free at a host is what its record says, less what is on its way there, whatever came in which order."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from offchain.core.scheduler.cluster import HostSlot
from offchain.core.scheduler.placement import Planner
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.values import Host
from tests.support.examples import examples
from tests.support.scheduler_world import gpu_host, job

GPUS = 3
HOSTS = 2

placed = st.tuples(
    st.just("place"), st.lists(st.tuples(st.integers(0, HOSTS - 1), st.integers(0, GPUS - 1)), min_size=1, max_size=3)
)
of_task = st.tuples(st.sampled_from(("release", "behind", "ahead")), st.integers(0, 11))
of_host = st.tuples(st.just("host"), st.tuples(st.integers(0, HOSTS - 1), st.integers(0, GPUS)))
gone = st.tuples(st.just("gone"), st.integers(0, HOSTS - 1))


@example([("place", [(0, 0)]), ("host", (0, 1)), ("release", 0)])
@example([("place", [(0, 0)]), ("behind", 0), ("host", (0, 1)), ("release", 0)])
@settings(max_examples=examples(300))
@given(st.lists(placed | of_task | of_host | gone, min_size=3, max_size=24))
def test_free_resources_are_the_record_less_assumed_pods(steps: list[tuple[str, object]]):
    planner = Planner(b"seed")
    records: dict[int, Host] = {row: gpu_host(f"h{row}", GPUS) for row in range(HOSTS)}
    planner.update_hosts(records.values())
    held: dict[int, tuple[PodRequest, list[HostSlot]]] = {}
    behind: set[int] = set()
    number = 0
    for step, of in steps:
        match step, of:
            case "place", list(pods):
                task = job(number, gpus=1, pods=len(pods))
                where = [HostSlot(host, 1 << device) for host, device in pods]
                want = PodRequest.of(task)
                if all(place.host in records for place in where) and planner.place_at(task, want, where, []):
                    held[number] = want, where
                number += 1
            case "release" | "behind" | "ahead", int() if not held:
                continue
            case "release", int(at):
                task = sorted(held)[at % len(held)]
                planner.release((task,))
                del held[task]
                behind.discard(task)
            case "behind" | "ahead", int(at):
                task = sorted(held)[at % len(held)]
                planner.set_assumed(task, assumed=step == "ahead")
                behind = behind - {task} if step == "ahead" else behind | {task}
            case "host", (int(row), int(taken)):
                records[row] = with_taken(gpu_host(f"h{row}", GPUS), taken)
                planner.update_hosts([records[row]])
            case "gone", int(row):
                records.pop(row, None)
                planner.remove_hosts([f"h{row}"])
        free = planner.hosts.cluster.free
        for row, record in records.items():
            cpu, milli = room(
                record,
                [
                    (want, place)
                    for task, (want, where) in sorted(held.items())
                    if task not in behind
                    for place in where
                    if place.host == row
                ],
            )
            assert int(free.cpu[row]) == cpu
            assert free.device[row, :GPUS].tolist() == milli


def with_taken(host: Host, taken: int) -> Host:
    """With so many of its GPUs in use by somebody."""
    devices = tuple(
        replace(device, milli_free=0 if place < taken else device.milli_free)
        for place, device in enumerate(host.devices)
    )
    return replace(host, devices=devices)


def room(record: Host, pods: list[tuple[PodRequest, HostSlot]]) -> tuple[int, list[int]]:
    """Cores and thousandths of GPUs that are left when each pod that fits has its share."""
    cpu, milli = record.free.cpu_milli, [device.milli_free for device in record.devices]
    for want, place in pods:
        shape, device = want.shape, place.devices.bit_length() - 1
        if cpu >= shape.cpu_milli and milli[device] >= shape.gpu_milli:
            cpu -= shape.cpu_milli
            milli[device] -= shape.gpu_milli
    return cpu, milli
