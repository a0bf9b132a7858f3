"""What a task has to expect: who takes it, when, and what stands against the others."""

from __future__ import annotations

from core_builders import GTY, gpu, host, lease, pod, snapshot, task, wants

from offchain.core.feasibility import Misfit
from offchain.core.placement_forecast import forecast_placement
from offchain.core.values import Capacity, HostStatus, Layout, LeaseState, RetainedData, TaskKind, TaskState
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import ask, escrow

FULL = Capacity(0, 0, 0)
ONE = Capacity(1000, 1024, 1)
TWO = Capacity(2000, 2048, 2)


def running(number, on, *, until, **changes):
    held = lease(
        lease_id(number, 0, 0),
        host=on,
        state=LeaseState.ACTIVE,
        escrow=escrow(rate_per_hour=GTY, since=0, until=until, deposit=10**30),
    )
    return task(number, held, state=TaskState.RUNNING, **changes)


def test_offers_come_cheapest_first_with_the_pods_that_fit():
    dear = ask(cpu_core_per_hour=GTY)
    found = forecast_placement(
        snapshot(host("dear", ask=dear), host("cheap", free=TWO), host("full", free=FULL)),
        task(9, pods_min=2, open_pods=(0, 1, 2)),
    )
    assert [(offer.host, offer.pods) for offer in found.offers] == [("cheap", 2), ("dear", 3)]
    assert found.offers[0].rate_per_hour < found.offers[1].rate_per_hour
    assert found.now == {Misfit.NOT_ENOUGH_CPU: 1}
    assert (found.later, found.never, found.pods_ever) == (1, {}, 9)
    assert found.starts_now


def test_each_host_is_counted_by_the_first_rule_that_excludes_it():
    found = forecast_placement(
        snapshot(
            host("off", status=HostStatus.OFFLINE),
            host("small", total=ONE, free=ONE),
            host("busy", free=ONE),
            host("dear", ask=ask(cpu_core_per_hour=10**6 * GTY)),
        ),
        task(9, resources=pod(cpu_milli=2000)),
    )
    assert found.now == {Misfit.NOT_ONLINE: 1, Misfit.NOT_ENOUGH_CPU: 2, Misfit.PRICE: 1}
    assert found.never == {Misfit.NOT_ONLINE: 1, Misfit.NOT_ENOUGH_CPU: 1, Misfit.PRICE: 1}
    assert (found.later, found.pods_now, found.pods_ever) == (1, 0, 1)


def test_it_starts_when_enough_leases_have_ended():
    full = {"total": ONE, "free": FULL}
    hosts = (host("a", **full), host("b", **full), host("c", **full))
    tasks = (running(1, "a", until=900), running(2, "b", until=300), running(3, "c", until=600))
    assert forecast_placement(snapshot(*hosts, *tasks, now=10), task(9)).starts.latest_ms == 300
    assert forecast_placement(snapshot(*hosts, *tasks, now=10), task(9, pods_min=2)).starts.latest_ms == 600
    assert forecast_placement(snapshot(*hosts, *tasks, now=10), task(9, pods_min=4)).starts.latest_ms is None
    assert forecast_placement(snapshot(*hosts, *tasks, now=400), task(9)).starts.latest_ms == 400


def test_a_lease_that_has_not_begun_lasts_from_now_as_long_as_it_may():
    held = lease(lease_id(1, 0, 0), host="a")
    waits = snapshot(host("a", total=ONE, free=FULL), task(1, held, state=TaskState.ASSIGNED), now=10)
    assert forecast_placement(waits, task(9)).starts.latest_ms == 10 + 3_600_000


def test_devices_come_back_with_the_lease_that_holds_them():
    machine = host("a", devices=(gpu(milli_free=0), gpu(milli_free=500)))
    held = lease(
        lease_id(1, 0, 0),
        host="a",
        devices=(0,),
        state=LeaseState.ACTIVE,
        escrow=escrow(rate_per_hour=GTY, since=0, until=700, deposit=10**30),
    )
    whole = task(1, held, state=TaskState.RUNNING, resources=pod(gpus=wants()))
    found = forecast_placement(snapshot(machine, whole), task(9, resources=pod(gpus=wants())))
    assert found.now == {Misfit.DEVICE_BUSY: 1}
    assert found.starts.latest_ms == 700


def test_a_share_waits_for_devices_that_other_accounts_share_and_not_for_its_own():
    machine = host("a", devices=(gpu(milli_free=500, shared_by="u"),))
    held = lease(
        lease_id(1, 0, 0),
        host="a",
        devices=(0,),
        state=LeaseState.ACTIVE,
        escrow=escrow(rate_per_hour=GTY, since=0, until=700, deposit=10**30),
    )
    half = pod(gpus=wants(milli=500))
    theirs = task(1, held, state=TaskState.RUNNING, resources=half, tenant="u")
    found = forecast_placement(snapshot(machine, theirs), task(9, resources=half, tenant="t"))
    assert found.now == {Misfit.DEVICE_SHARED: 1}
    assert found.starts.latest_ms == 700
    mine = forecast_placement(snapshot(machine, theirs), task(9, resources=half, tenant="u"))
    assert not mine.now
    (offer,) = mine.offers
    whole = forecast_placement(snapshot(host("a", devices=(gpu(),))), task(9, resources=pod(gpus=wants()))).offers[0]
    assert whole.rate_per_hour - offer.rate_per_hour == GTY // 2


def test_a_stopped_machine_gives_back_its_disk_alone():
    held = lease(
        lease_id(1, 0, 0),
        host="a",
        state=LeaseState.SUSPENDED,
        escrow=escrow(rate_per_hour=GTY, since=0, until=700, deposit=10**30),
    )
    stopped = task(1, held, state=TaskState.RUNNING, kind=TaskKind.RENTAL, resources=pod(cpu_milli=4000, disk_gib=50))
    machine = host("a", free=Capacity(2000, 8192, 50))
    assert forecast_placement(snapshot(machine, stopped), task(9, resources=pod(disk_gib=80))).starts.latest_ms == 700
    assert (
        forecast_placement(snapshot(machine, stopped), task(9, resources=pod(cpu_milli=3000))).starts.latest_ms is None
    )


def test_those_with_more_priority_or_more_age_are_ahead():
    waiting = (
        task(1, submitted_at=5),
        task(2, submitted_at=50),
        task(3, submitted_at=50, priority=9),
        task(4, submitted_at=5, open_pods=()),
    )
    found = forecast_placement(snapshot(host(), *waiting), task(9, submitted_at=20))
    assert found.ahead == 2
    assert not found.starts_now


def test_data_to_take_over_lies_on_one_host():
    rental = task(9, kind=TaskKind.RENTAL, takes_over=RetainedData("b", 1), resources=pod(disk_gib=1))
    found = forecast_placement(snapshot(host("a"), host("b", free=Capacity(4000, 8192, 0))), rental)
    assert [offer.host for offer in found.offers] == ["b"]
    assert found.now == found.never == {Misfit.DATA_ELSEWHERE: 1}


def test_a_host_that_refused_the_task_is_excluded_for_good():
    found = forecast_placement(snapshot(host("a"), host("b")), task(9, refused_by=("a",)))
    assert [offer.host for offer in found.offers] == ["b"]
    assert found.now == found.never == {Misfit.HOST_REFUSED: 1}


def test_pods_that_are_spread_have_room_once_on_each_host_or_provider():
    hosts = (host("a", provider="p"), host("b", provider="p"), host("c", provider="q", free=FULL))
    over_hosts = task(9, pods_min=3, layout=Layout.HOSTS)
    found = forecast_placement(snapshot(*hosts, running(1, "c", until=700)), over_hosts)
    assert (found.pods_now, found.pods_ever, found.starts.latest_ms) == (2, 3, 700)
    over_providers = task(9, pods_min=2, layout=Layout.PROVIDERS)
    found = forecast_placement(snapshot(*hosts, running(1, "c", until=700)), over_providers)
    assert (found.pods_now, found.pods_ever, found.starts.latest_ms) == (1, 2, 700)
    assert forecast_placement(snapshot(*hosts), task(9, pods_min=3, layout=Layout.PROVIDERS)).starts.latest_ms is None


def test_hosts_of_its_other_pods_do_not_take_one_that_is_spread():
    hosts = (host("a", provider="p"), host("b", provider="p"), host("c", provider="q"))
    there = lease(1, host="a")

    def offers(layout: Layout) -> set[str]:
        lost = task(9, there, state=TaskState.RUNNING, kind=TaskKind.SERVICE, layout=layout, open_pods=(1,))
        return {offer.host for offer in forecast_placement(snapshot(*hosts), lost).offers}

    assert offers(Layout.HOSTS) == {"b", "c"}
    assert offers(Layout.PROVIDERS) == {"c"}
    assert offers(Layout.PACKED) == {"a", "b", "c"}
