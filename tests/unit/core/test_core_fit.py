from __future__ import annotations

from dataclasses import replace

import pytest

from offchain.core import feasibility as rule
from offchain.core.feasibility import Fit, Misfit, first_devices, take
from offchain.core.scheduler.pod_request import PodRequest, plain_request, shape_of
from offchain.core.values import BillingUnit, Capacity, HostStatus, Tier
from tests.support.chain_records import NOTHING, ask, placement
from tests.support.core_builders import ANYWHERE, GTY, gpu, host, pod, task, wants

PRICE = 100 * GTY
TENANT = "5Tenant"
REAL = placement(allow_simulated=False)


def fit(host, resources, placement, limit, unit=BillingUnit.SECOND):
    return rule.fit(host, plain_request(resources, placement, unit, limit, TENANT))


def devices_for(devices, gpus, placement):
    return first_devices(devices, shape_of(pod(gpus=gpus), placement, account=TENANT))


def test_a_pod_fits_on_a_host_with_just_enough():
    found = fit(host(free=Capacity(1000, 1024, 1)), pod(), ANYWHERE, PRICE)
    assert isinstance(found, Fit)
    assert found.devices == ()


@pytest.mark.parametrize("status", [status for status in HostStatus if status is not HostStatus.ONLINE])
def test_only_an_online_host_takes_pods(status):
    assert fit(host(status=status), pod(), ANYWHERE, PRICE) is Misfit.NOT_ONLINE


@pytest.mark.parametrize(
    ("free", "misfit"),
    [
        (Capacity(999, 1024, 1), Misfit.NOT_ENOUGH_CPU),
        (Capacity(1000, 1023, 1), Misfit.NOT_ENOUGH_MEMORY),
        (Capacity(1000, 1024, 0), Misfit.NOT_ENOUGH_DISK),
    ],
)
def test_one_unit_too_little_does_not_fit(free, misfit):
    assert fit(host(free=free), pod(), ANYWHERE, PRICE) is misfit


def test_the_price_limit_itself_is_allowed():
    offer = fit(host(), pod(), ANYWHERE, PRICE)
    assert isinstance(offer, Fit)
    assert fit(host(), pod(), ANYWHERE, offer.rate_per_hour) == offer
    assert fit(host(), pod(), ANYWHERE, offer.rate_per_hour - 1) is Misfit.PRICE


def test_a_host_that_does_not_bill_by_the_unit_is_not_offered():
    by_day = host(ask=ask(cpu_core_per_hour=GTY, second_ppm=0, hour_ppm=0, day_ppm=500_000))
    assert fit(by_day, pod(), ANYWHERE, PRICE) is Misfit.UNIT_NOT_OFFERED
    assert fit(by_day, pod(), ANYWHERE, PRICE, BillingUnit.DAY) == Fit((), GTY // 2)


@pytest.mark.parametrize(
    ("wishes", "misfit"),
    [
        ({"regions": (b"us",)}, Misfit.REGION_NOT_WANTED),
        ({"hosts": ("h2",)}, Misfit.HOST_NOT_WANTED),
        ({"providers_allowed": ("q",)}, Misfit.PROVIDER_NOT_WANTED),
        ({"providers_denied": ("p",)}, Misfit.PROVIDER_NOT_WANTED),
        ({"tiers": (Tier.DATACENTER,)}, Misfit.TIER_NOT_WANTED),
        ({"min_network_mbps": 1}, Misfit.NOT_ENOUGH_NETWORK),
        ({"max_latency_ms": 1}, Misfit.LATENCY_TOO_HIGH),
        ({"capabilities": replace(NOTHING, kvm=True)}, Misfit.CAPABILITY_MISSING),
        ({"capabilities": replace(NOTHING, docker=True, sandboxed=True)}, Misfit.NOT_SANDBOXED),
        ({"capabilities": replace(NOTHING, kvm=True, sandboxed=True)}, Misfit.CAPABILITY_MISSING),
    ],
)
def test_a_host_that_the_task_does_not_want_is_left_out(wishes, misfit):
    assert fit(host(), pod(), placement(**wishes), PRICE) is misfit


def test_a_host_that_the_task_names_will_do():
    wishes = placement(regions=(b"us", b"eu"), hosts=("h1",), providers_allowed=("p",), tiers=(Tier.CONSUMER,))
    assert isinstance(fit(host(), pod(), wishes, PRICE), Fit)


@pytest.mark.parametrize(
    ("devices", "request_", "misfit"),
    [
        ((gpu(),), wants(2), Misfit.WRONG_DEVICE_COUNT),
        ((gpu(), gpu(model=b"T4")), wants(2, models=(b"A100",)), Misfit.WRONG_MODEL),
        ((gpu(vram_mib=100),), wants(min_vram_mib=101), Misfit.NOT_ENOUGH_VRAM),
        ((gpu(simulated=True),), wants(), Misfit.SIMULATED_NOT_ALLOWED),
        ((gpu(healthy=False),), wants(), Misfit.DEVICE_UNHEALTHY),
        ((gpu(milli_free=499),), wants(milli=500), Misfit.DEVICE_BUSY),
    ],
)
def test_the_first_rule_that_leaves_too_few_devices_is_named(devices, request_, misfit):
    assert devices_for(devices, request_, REAL) is misfit


def test_the_first_devices_that_match_are_chosen():
    devices = (gpu(model=b"T4"), gpu(milli_free=0), gpu(), gpu(), gpu())
    assert devices_for(devices, wants(2, models=(b"A100",)), REAL) == (2, 3)


def test_devices_that_are_not_attested_are_left_out_where_the_task_says_so():
    devices, attested_only = (gpu(), gpu(attested=True)), placement(verified_only=True)
    assert devices_for(devices, wants(), attested_only) == (1,)
    assert devices_for(devices, wants(2), attested_only) is Misfit.NOT_ATTESTED


def test_a_pod_without_gpus_takes_none():
    assert devices_for((gpu(),), wants(0), REAL) == ()


def test_taking_leaves_exactly_the_rest():
    left = take(host(devices=(gpu(), gpu())), PodRequest.of(task(resources=pod(gpus=wants(milli=400)))), (1,))
    assert left.free == Capacity(3000, 7168, 99)
    assert [device.milli_free for device in left.devices] == [1000, 600]
    assert left.live_leases == 1


def test_taking_more_than_there_is_changes_nothing():
    with pytest.raises(ValueError, match="cpu"):
        take(host(free=Capacity(999, 8192, 100)), PodRequest.of(task()), ())
