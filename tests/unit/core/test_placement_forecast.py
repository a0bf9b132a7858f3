"""The hosts on which a task is feasible, their prices, and the rules that exclude the others."""

from __future__ import annotations

import pytest

from offchain.core.feasibility import Misfit
from offchain.core.placement_forecast import PlacementForecast, forecast_placement
from offchain.core.values import Capacity, Host, HostStatus, Layout, RetainedData, Task, TaskKind, TaskState
from tests.support.chain_records import ask
from tests.support.core_builders import GTY, gpu, host, lease, pod, task, wants

FULL = Capacity(0, 0, 0)
ONE = Capacity(1000, 1024, 1)
TWO = Capacity(2000, 2048, 2)
SPREAD = (host("a", provider="p"), host("b", provider="p"), host("c", provider="q"))


def forecast(of: Task, *hosts: Host) -> PlacementForecast:
    return forecast_placement({one.id: one for one in hosts}, of)


def names(found: PlacementForecast) -> str:
    return " ".join(sorted(offer.host for offer in found.offers))


def test_offers_come_cheapest_first_with_the_pods_that_fit():
    dear = ask(cpu_core_per_hour=GTY)
    hosts = host("dear", ask=dear), host("cheap", free=TWO), host("full", free=FULL)
    found = forecast(task(9, pods_min=2, open_pods=(0, 1, 2)), *hosts)
    assert [(offer.host, offer.pods) for offer in found.offers] == [("cheap", 2), ("dear", 3)]
    assert found.offers[0].rate_per_hour < found.offers[1].rate_per_hour
    assert found.now == {Misfit.NOT_ENOUGH_CPU: 1}
    assert (found.later, found.never, found.pods_now, found.pods_ever) == (1, {}, 5, 9)


def test_each_host_is_counted_by_the_first_rule_that_excludes_it():
    found = forecast(
        task(9, resources=pod(cpu_milli=2000)),
        host("off", status=HostStatus.OFFLINE),
        host("small", total=ONE, free=ONE),
        host("busy", free=ONE),
        host("dear", ask=ask(cpu_core_per_hour=10**6 * GTY)),
    )
    assert found.now == {Misfit.NOT_ONLINE: 1, Misfit.NOT_ENOUGH_CPU: 2, Misfit.PRICE: 1}
    assert found.never == {Misfit.NOT_ONLINE: 1, Misfit.NOT_ENOUGH_CPU: 1, Misfit.PRICE: 1}
    assert (found.later, found.pods_now, found.pods_ever) == (1, 0, 1)


def test_a_share_fits_on_a_device_of_which_its_own_account_has_shares():
    machine = host("a", devices=(gpu(milli_free=500, shared_by="u"),))
    half = pod(gpus=wants(milli=500))
    assert forecast(task(9, resources=half, tenant="t"), machine).now == {Misfit.DEVICE_SHARED: 1}
    (offer,) = forecast(task(9, resources=half, tenant="u"), machine).offers
    (whole,) = forecast(task(9, resources=pod(gpus=wants())), host("a", devices=(gpu(),))).offers
    assert whole.rate_per_hour - offer.rate_per_hour == GTY // 2


@pytest.mark.parametrize(
    ("changes", "misfit"),
    [
        (
            {"kind": TaskKind.RENTAL, "takes_over": RetainedData("b", 1), "resources": pod(disk_gib=1)},
            Misfit.DATA_ELSEWHERE,
        ),
        ({"refused_by": ("a",)}, Misfit.HOST_REFUSED),
    ],
)
def test_a_host_without_the_data_or_that_refused_is_excluded_for_good(changes, misfit):
    found = forecast(task(9, **changes), host("a"), host("b", free=Capacity(4000, 8192, 1)))
    assert names(found) == "b"
    assert found.now == found.never == {misfit: 1}


@pytest.mark.parametrize(
    ("layout", "pods_now", "pods_ever"), [(Layout.HOSTS, 2, 3), (Layout.PROVIDERS, 1, 2), (Layout.ANY, 8, 12)]
)
def test_spread_pods_count_once_on_each_host_or_provider(layout, pods_now, pods_ever):
    hosts = (*SPREAD[:2], host("c", provider="q", free=FULL))
    found = forecast(task(9, open_pods=(0, 1, 2, 3, 4), layout=layout), *hosts)
    assert (found.pods_now, found.pods_ever) == (pods_now, pods_ever)


@pytest.mark.parametrize(
    ("layout", "expected"), [(Layout.HOSTS, "b c"), (Layout.PROVIDERS, "c"), (Layout.PACKED, "a b c")]
)
def test_the_layout_excludes_hosts_of_the_tasks_other_pods(layout, expected):
    lost = task(9, lease(1, host="a"), state=TaskState.RUNNING, layout=layout, open_pods=(1,))
    assert names(forecast(lost, *SPREAD)) == expected
