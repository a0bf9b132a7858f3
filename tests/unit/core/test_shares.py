"""Shares of GPUs in the scheduler: those of one device are of one account, whoever placed them and however they end."""

from __future__ import annotations

from dataclasses import replace

from offchain.core.feasibility import Misfit
from offchain.core.scheduler import columns
from offchain.core.scheduler.availability_kernels import FOREVER
from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.entitlements import may_preempt
from offchain.core.scheduler.filters import count_excluded
from offchain.core.scheduler.host_capacity import HostCapacity
from offchain.core.scheduler.pod_request import DeviceClass, PodRequest, PodShape
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import GpuRequest, Host, Task
from tests.support.scheduler_events import put, refuse, remove, run_cycle
from tests.support.scheduler_world import MINUTE, World, gpu_host, job


def share(number: int, account: str, percent: int = 25, *, pods: int = 1, **changes: object) -> Task:
    asked = job(number, pods=pods, tenant=account, **changes)
    gpus = GpuRequest(count=1, milli=percent * 10, min_vram_mib=0, models=())
    return replace(asked, resources=replace(asked.resources, gpus=gpus))


def world(*hosts: Host) -> World:
    found = World(SchedulerState(b"seed"))
    found.put_hosts(hosts)
    return found


def places(of: World) -> dict[int, list[tuple[str, int]]]:
    return {number: [(pod.host, pod.devices[0]) for pod in pods] for number, pods in of.at.items()}


def test_another_account_waits_until_the_device_is_wholly_free() -> None:
    found = world(gpu_host("h", 1))
    found.takes_ms = {1: MINUTE, 2: 3 * MINUTE}
    found.submit(share(1, "alice"), share(2, "alice"), share(3, "bob"))
    assert sorted(found.round(0)) == [1, 2]
    assert count_excluded(PodRequest.of(share(3, "bob")), found.state.planner.hosts) == {Misfit.DEVICE_SHARED: 1}
    assert count_excluded(PodRequest.of(share(4, "alice")), found.state.planner.hosts) == {}
    assert found.round(2 * MINUTE) == []
    assert found.round(4 * MINUTE) == [3]


def test_shares_of_an_account_go_where_it_has_some() -> None:
    found = world(*(gpu_host(name, 4) for name in ("a", "b", "c")))
    for number in range(1, 5):
        found.submit(share(number, "alice", 20))
        found.round(number)
    assert len({place for (place,) in places(found).values()}) == 1


def test_shares_that_come_at_once_are_kept_apart_by_accounts() -> None:
    found = world(gpu_host("h", 2))
    found.submit(*(share(10 * number + place, name) for number, name in enumerate("abc") for place in range(3)))
    placed = found.round(0)
    on: dict[tuple[str, int], set[int]] = {}
    for number, (place,) in places(found).items():
        on.setdefault(place, set()).add(number // 10)
    assert len(placed) == 6
    assert all(len(accounts) == 1 for accounts in on.values())


def test_a_record_that_comes_meanwhile_gives_a_device_to_nobody_else() -> None:
    state, host = SchedulerState(b"seed"), gpu_host("h", 1)
    put(state, host)
    put(state, share(1, "alice"))
    assert list(run_cycle(state, 0).placements) == [1]
    less = replace(host, free=replace(host.free, cpu_milli=host.free.cpu_milli - 1))
    put(state, less)
    put(state, share(2, "bob"))
    assert list(run_cycle(state, 1).placements) == []
    put(state, share(3, "alice", minutes=1))
    assert list(run_cycle(state, 2).placements) == [3]
    # The chain refused the first, and not the other.
    refuse(state, 1, 3)
    assert list(run_cycle(state, 3).placements) == []
    refuse(state, 3, 4)
    assert list(run_cycle(state, 4).placements) == [2]


def test_a_gang_of_shares_may_have_one_device() -> None:
    found = world(gpu_host("h", 1))
    found.submit(share(1, "alice", 25, pods=4))
    assert found.round(0) == [1]
    assert places(found)[1] == [("h", 0)] * 4


def test_whole_gpus_are_reserved_on_hosts_with_shares() -> None:
    found = world(gpu_host("h", 2))
    found.submit(share(1, "alice", minutes=5))
    found.round(0)
    found.submit(job(2, gpus=2, tenant="bob"))
    found.round(1)
    found.submit(share(3, "carol", 50, minutes=60))
    assert found.round(2) == []
    assert found.state.reserved[2].start_ms == 5 * MINUTE
    assert found.round(6 * MINUTE) == [2]


def test_who_waits_for_a_share_has_a_device_reserved_from_which_others_shares_are_gone() -> None:
    found = world(gpu_host("h", 1))
    found.submit(share(1, "alice", minutes=20))
    found.round(0)
    found.submit(share(2, "bob", minutes=20))
    assert found.round(MINUTE) == []
    assert found.state.reserved[2].start_ms == 20 * MINUTE
    found.submit(share(3, "alice", minutes=60), share(4, "alice", minutes=10))
    assert found.round(2 * MINUTE) == [4], "no share that lasts longer keeps the device from others any more"
    assert found.round(20 * MINUTE) == [2]
    found.submit(share(5, "bob", minutes=10))
    assert found.round(21 * MINUTE) == [5], "beside its own shares it has room"


def test_shares_that_keep_coming_put_off_nobody_for_ever() -> None:
    found = world(gpu_host("h", 1))
    found.submit(share(1, "alice", minutes=20))
    found.round(0)
    found.submit(share(1000, "bob", minutes=20))
    for minute in range(1, 60):
        found.submit(share(1 + minute, "alice", minutes=20))
        found.round(minute * MINUTE)
    assert found.started[1000] == 21 * MINUTE, "the last that came before it was looked at has ended then"


def test_room_beside_an_accounts_shares_wakes_none_of_another_account_in_the_same_moment() -> None:
    state, endless = SchedulerState(b"seed"), {"max_duration_ms": FOREVER}
    put(state, gpu_host("h", 1))
    for number in (1, 2):
        put(state, share(number, "alice", 50, **endless))
    assert sorted(run_cycle(state, 0).placements) == [1, 2]
    for number, account in ((3, "alice"), (4, "bob")):
        put(state, share(number, account, 50, **endless))
    assert not run_cycle(state, 0).placements
    remove(state, 1)
    assert list(run_cycle(state, 0).placements) == [3]
    for number in (2, 3):
        remove(state, number)
    assert list(run_cycle(state, 0).placements) == [4]


def test_who_wants_a_share_makes_nobody_leave() -> None:
    assert may_preempt(job(1, priority=5))
    assert not may_preempt(share(1, "alice", priority=5))


def test_more_accounts_than_can_be_told_apart_share_with_nobody(monkeypatch) -> None:
    monkeypatch.setattr(columns, "MAX_CLASSES", 3 + columns.RESERVED_CLASSES)
    cluster = Cluster()
    kind = DeviceClass("A100")
    host = cluster.put("h", HostCapacity(9000, 9000, 9, ((kind, 1000), (kind, 1000))))
    alice, bob = (PodShape(1, 1, 1, 250, account=name) for name in ("alice", "bob"))
    cluster.take(host, alice, 0b01)
    cluster.take(host, bob, 0b10)
    assert cluster.fits_on(host, alice, 0b01)
    assert not cluster.fits_on(host, bob, 0b10)
    assert not cluster.fits_on(host, alice, 0b10)
    cluster.release(host, bob, 0b10)
    assert cluster.fits_on(host, alice, 0b10)
