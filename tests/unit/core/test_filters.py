"""Each filter alone over a few hosts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from offchain.core.feasibility import Fit, Misfit, fit
from offchain.core.scheduler.filters import (
    ATTRIBUTE_FILTERS,
    PRICE_FILTERS,
    certainly_affordable,
    count_excluded,
    is_online,
)
from offchain.core.scheduler.host_attributes import ALL_LISTS
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.values import NO_TERMS, BillingUnit, Host, HostStatus, RetainedData, SlaTerms, Tier
from offchain.schema.chain_types._generated_chain import GpuPrice
from tests.support.chain_records import NOTHING, ask, placement
from tests.support.core_builders import GTY, gpu, host, pod, task, wants


def table(*hosts: Host) -> HostTable:
    found = HostTable()
    found.put(hosts)
    return found


def permitted(misfit: Misfit, *hosts: Host, task_changes: dict[str, Any] | None = None, **rules: Any) -> Any:
    """The names of hosts that the filter permits for a task with these rules; None: the filter does not apply."""
    found = table(*hosts)
    request = PodRequest.of(task(placement=placement(**rules), **(task_changes or {})))
    if misfit in dict(PRICE_FILTERS):
        attributes = found.attributes
        mask = dict(PRICE_FILTERS)[misfit](request, attributes.price_lists, ALL_LISTS)[attributes.price_list]
    else:
        mask = dict(ATTRIBUTE_FILTERS)[misfit](request, found.attributes)
    return None if mask is None else " ".join(one.id for one in hosts if mask[found.cluster.row(one.id)])


NAMED = host("a"), host("b"), host("c")
PROVIDERS = host("a", provider="p"), host("b", provider="q"), host("c", provider="r"), host("d", provider="p")
REGIONS = host("a", region=b"eu"), host("b", region=b"us"), host("c", region=b"eu-central"), host("d", region=b"")
TIERS = tuple(host(tier.name, tier=tier) for tier in Tier)
STATES = tuple(host(status.name, status=status) for status in HostStatus)
LATENCIES = tuple(host(str(ms), latency_ms=ms) for ms in (0, 1, 50, 51, 65_535))
NETWORKS = (
    host("unmeasured"),
    host("down", network_mbps_down=1000, network_mbps_up=10),
    host("up", network_mbps_down=10, network_mbps_up=1000),
    host("both", network_mbps_down=1000, network_mbps_up=1000),
)
CAPABLE = (
    host("nothing", capabilities=NOTHING),
    host("docker", capabilities=replace(NOTHING, docker=True)),
    host("both", capabilities=replace(NOTHING, docker=True, kvm=True)),
    host("mig", capabilities=replace(NOTHING, mig=True)),
    host("sandboxed", capabilities=replace(NOTHING, docker=True, sandboxed=True)),
)

TERMS = (
    host("none"),
    host("weak", ask=ask(terms=SlaTerms(990_000, 60_000, 0, 100_000))),
    host("strong", ask=ask(terms=SlaTerms(999_000, 30_000, 86_400_000, 500_000))),
)


def demands(**terms: int) -> dict[str, Any]:
    return {"min_terms": replace(NO_TERMS, **terms)}


def needs(**capabilities: bool) -> dict[str, Any]:
    return {"capabilities": replace(NOTHING, **capabilities)}


@pytest.mark.parametrize(
    ("misfit", "hosts", "rules", "expected"),
    [
        (Misfit.NOT_ONLINE, STATES, {}, "ONLINE"),
        (Misfit.HOST_NOT_WANTED, NAMED, {"hosts": ("b",)}, "b"),
        (Misfit.HOST_NOT_WANTED, NAMED, {"hosts": ("c", "a")}, "a c"),
        (Misfit.HOST_NOT_WANTED, NAMED, {"hosts": ("unknown", "a")}, "a"),
        (Misfit.HOST_NOT_WANTED, NAMED, {"hosts": ("unknown",)}, ""),
        (Misfit.HOST_NOT_WANTED, NAMED, {}, None),
        (Misfit.REGION_NOT_WANTED, REGIONS, {"regions": (b"eu",)}, "a"),
        (Misfit.REGION_NOT_WANTED, REGIONS, {"regions": (b"us", b"eu-central")}, "b c"),
        (Misfit.REGION_NOT_WANTED, REGIONS, {"regions": (b"mars",)}, ""),
        (Misfit.REGION_NOT_WANTED, REGIONS, {"regions": (b"eu", b"mars")}, "a"),
        (Misfit.REGION_NOT_WANTED, REGIONS, {}, None),
        (Misfit.PROVIDER_NOT_WANTED, PROVIDERS, {"providers_allowed": ("p",)}, "a d"),
        (Misfit.PROVIDER_NOT_WANTED, PROVIDERS, {"providers_denied": ("p",)}, "b c"),
        (Misfit.PROVIDER_NOT_WANTED, PROVIDERS, {"providers_allowed": ("p", "q"), "providers_denied": ("q",)}, "a d"),
        (Misfit.PROVIDER_NOT_WANTED, PROVIDERS, {"providers_allowed": ("p",), "providers_denied": ("p",)}, ""),
        (Misfit.PROVIDER_NOT_WANTED, PROVIDERS, {"providers_allowed": ("unknown",)}, ""),
        (Misfit.PROVIDER_NOT_WANTED, PROVIDERS, {"providers_denied": ("unknown",)}, "a b c d"),
        (Misfit.PROVIDER_NOT_WANTED, PROVIDERS, {}, None),
        (Misfit.TIER_NOT_WANTED, TIERS, {"tiers": tuple(Tier)}, " ".join(tier.name for tier in Tier)),
        (Misfit.TIER_NOT_WANTED, TIERS, {}, None),
        *((Misfit.TIER_NOT_WANTED, TIERS, {"tiers": (tier,)}, tier.name) for tier in Tier),
        (Misfit.TIER_NOT_WANTED, (host("a", tier=Tier.CONSUMER),), {"tiers": (Tier.DATACENTER,)}, ""),
        (Misfit.NOT_ENOUGH_NETWORK, NETWORKS, {"min_network_mbps": 1}, "down up both"),
        (Misfit.NOT_ENOUGH_NETWORK, NETWORKS, {"min_network_mbps": 10}, "down up both"),
        (Misfit.NOT_ENOUGH_NETWORK, NETWORKS, {"min_network_mbps": 11}, "both"),
        (Misfit.NOT_ENOUGH_NETWORK, NETWORKS, {"min_network_mbps": 1000}, "both"),
        (Misfit.NOT_ENOUGH_NETWORK, NETWORKS, {"min_network_mbps": 1001}, ""),
        (Misfit.NOT_ENOUGH_NETWORK, NETWORKS, {}, None),
        (Misfit.LATENCY_TOO_HIGH, LATENCIES, {"max_latency_ms": 1}, "1"),
        (Misfit.LATENCY_TOO_HIGH, LATENCIES, {"max_latency_ms": 49}, "1"),
        (Misfit.LATENCY_TOO_HIGH, LATENCIES, {"max_latency_ms": 50}, "1 50"),
        (Misfit.LATENCY_TOO_HIGH, LATENCIES, {"max_latency_ms": 65_535}, "1 50 51 65535"),
        (Misfit.LATENCY_TOO_HIGH, LATENCIES, {}, None),
        (Misfit.TERMS_TOO_WEAK, TERMS, {}, None),
        (Misfit.TERMS_TOO_WEAK, TERMS, demands(uptime_ppm=990_000), "weak strong"),
        (Misfit.TERMS_TOO_WEAK, TERMS, demands(uptime_ppm=990_001), "strong"),
        (Misfit.TERMS_TOO_WEAK, TERMS, demands(start_ms=30_000), "strong"),
        (Misfit.TERMS_TOO_WEAK, TERMS, demands(start_ms=60_000), "weak strong"),
        (Misfit.TERMS_TOO_WEAK, TERMS, demands(start_ms=29_999), ""),
        (Misfit.TERMS_TOO_WEAK, TERMS, demands(notice_ms=1), "strong"),
        (Misfit.TERMS_TOO_WEAK, TERMS, demands(penalty_ppm=100_000), "weak strong"),
        (Misfit.CAPABILITY_MISSING, CAPABLE, needs(docker=True), "docker both sandboxed"),
        (Misfit.CAPABILITY_MISSING, CAPABLE, needs(docker=True, kvm=True), "both"),
        (Misfit.CAPABILITY_MISSING, CAPABLE, needs(mig=True), "mig"),
        (Misfit.CAPABILITY_MISSING, CAPABLE, needs(kubernetes=True), ""),
        (Misfit.CAPABILITY_MISSING, CAPABLE, needs(cdi=True, docker=True), ""),
        (Misfit.CAPABILITY_MISSING, CAPABLE, needs(), None),
        # The sandbox is another rule, so that the reason is named.
        (Misfit.CAPABILITY_MISSING, CAPABLE, needs(docker=True, sandboxed=True), "docker both sandboxed"),
        (Misfit.NOT_SANDBOXED, CAPABLE, needs(docker=True, sandboxed=True), "sandboxed"),
        (Misfit.NOT_SANDBOXED, CAPABLE, needs(docker=True), None),
    ],
)
def test_a_filter_permits_the_hosts_that_satisfy_its_rule(misfit, hosts, rules, expected):
    assert permitted(misfit, *hosts, **rules) == expected


@pytest.mark.parametrize(
    ("misfit", "changes", "expected"),
    [
        (Misfit.DATA_ELSEWHERE, {"takes_over": RetainedData("b", disk_gib=10)}, "b"),
        (Misfit.DATA_ELSEWHERE, {"takes_over": RetainedData("unknown", disk_gib=10)}, ""),
        (Misfit.DATA_ELSEWHERE, {}, None),
        (Misfit.HOST_REFUSED, {"refused_by": ("a", "c", "unknown")}, "b"),
        (Misfit.HOST_REFUSED, {}, None),
    ],
)
def test_a_filter_looks_at_the_tasks_data_and_refusals(misfit, changes, expected):
    assert permitted(misfit, *NAMED, task_changes=changes) == expected


def test_a_removed_host_is_not_online():
    found = table(host("a"), host("b"))
    found.remove("a")
    mask = is_online(PodRequest.of(task()), found.attributes)
    assert mask.sum() == 1
    assert mask[found.cluster.row("b")]


def test_a_host_that_comes_back_online_is_permitted_again():
    found = table(host("a"))
    for status, expected in ((HostStatus.OFFLINE, False), (HostStatus.ONLINE, True), (HostStatus.DRAINING, False)):
        found.put([host("a", status=status)])
        assert is_online(PodRequest.of(task()), found.attributes).tolist() == [expected]


def excluded(hosts: HostTable, **rules: int) -> dict[Misfit, int]:
    return dict(count_excluded(PodRequest.of(task(placement=placement(**rules))), hosts))


def test_a_host_is_counted_for_the_first_rule_that_excludes_it():
    found = table(*LATENCIES)
    assert excluded(found, max_latency_ms=50) == {Misfit.LATENCY_TOO_HIGH: 3}
    assert excluded(found, max_latency_ms=50, min_network_mbps=1) == {Misfit.NOT_ENOUGH_NETWORK: 5}


def test_a_record_that_differs_in_latency_alone_updates_the_attributes():
    found = table(host("h", latency_ms=20))
    assert found.put([host("h", latency_ms=60)]).attributes
    assert excluded(found, max_latency_ms=50) == {Misfit.LATENCY_TOO_HIGH: 1}


UNITS = (
    host("all", ask=ask()),
    host("second", ask=ask(hour_ppm=0, day_ppm=0)),
    host("day", ask=ask(second_ppm=0, hour_ppm=0, day_ppm=1)),
    host("none", ask=ask(second_ppm=0, hour_ppm=0, day_ppm=0)),
)


@pytest.mark.parametrize(
    ("unit", "expected"),
    [(BillingUnit.SECOND, "all second"), (BillingUnit.HOUR, "all"), (BillingUnit.DAY, "all day")],
)
def test_a_unit_with_a_price_factor_of_zero_is_not_offered(unit, expected):
    assert permitted(Misfit.UNIT_NOT_OFFERED, *UNITS, task_changes={"unit": unit}) == expected


LITTLE = GTY // 1000
"""Far more than the rounding of columns."""

CHEAP = host("cheap", ask=ask(cpu_core_per_hour=GTY))
DEAR = host("dear", ask=ask(cpu_core_per_hour=3 * GTY))


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(0, ""), (GTY - LITTLE, ""), (GTY, "cheap"), (3 * GTY - LITTLE, "cheap"), (3 * GTY, "cheap dear")],
)
def test_a_price_equal_to_the_limit_is_permitted(limit, expected):
    assert permitted(Misfit.PRICE, CHEAP, DEAR, task_changes={"max_rate_per_hour": limit}) == expected


def test_a_free_host_is_within_any_limit():
    assert permitted(Misfit.PRICE, host("free", ask=ask()), task_changes={"max_rate_per_hour": 0}) == "free"


def test_the_price_includes_the_factor_of_the_unit():
    by_day = host("a", ask=ask(cpu_core_per_hour=2 * GTY, day_ppm=500_000))
    changes = {"max_rate_per_hour": GTY}
    assert permitted(Misfit.PRICE, by_day, task_changes=changes | {"unit": BillingUnit.DAY}) == "a"
    assert permitted(Misfit.PRICE, by_day, task_changes=changes | {"unit": BillingUnit.SECOND}) == ""


def mixed(cheap: int = GTY, dear: int = 5 * GTY) -> Host:
    prices = ask(gpu_per_hour=dear, gpu=(GpuPrice(b"T4", cheap),))
    return host("mixed", devices=(gpu(model=b"T4"), gpu(model=b"A100")), ask=prices)


def test_of_several_models_the_cheapest_decide_and_the_exact_rule_checks_again():
    one, two = pod(gpus=wants(1)), pod(gpus=wants(2))
    for resources, limit, expected in (
        (one, GTY, "mixed"),
        (two, 6 * GTY - LITTLE, ""),
        (two, 6 * GTY, "mixed"),
    ):
        changes = {"resources": resources, "max_rate_per_hour": limit}
        assert permitted(Misfit.PRICE, mixed(), task_changes=changes) == expected
    dear_one = pod(gpus=wants(1, models=(b"A100",)))
    changes = {"resources": dear_one, "max_rate_per_hour": GTY}
    assert permitted(Misfit.PRICE, mixed(), task_changes=changes) == "mixed"
    assert not isinstance(fit(mixed(), PodRequest.of(task(**changes))), Fit)


def test_a_share_of_a_gpu_costs_its_share():
    half = {"resources": pod(gpus=wants(1, milli=500)), "max_rate_per_hour": GTY // 2}
    assert permitted(Misfit.PRICE, mixed(), task_changes=half) == "mixed"
    assert permitted(Misfit.PRICE, mixed(), task_changes=half | {"max_rate_per_hour": GTY // 2 - LITTLE}) == ""


def test_a_host_is_certainly_affordable_only_if_its_dearest_devices_are():
    attributes = table(mixed()).attributes

    def certain(limit: int) -> bool:
        request = PodRequest.of(task(resources=pod(gpus=wants(1)), max_rate_per_hour=limit))
        return bool(certainly_affordable(request, attributes.price_lists, ALL_LISTS)[attributes.price_list][0])

    assert [certain(limit) for limit in (GTY, 5 * GTY - LITTLE, 5 * GTY + 10_000)] == [False, False, True]
