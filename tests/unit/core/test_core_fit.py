from __future__ import annotations

import pytest
from core_builders import ANYWHERE, GTY, gpu, host, pod, wants

from offchain.core.fit import Fit, Misfit, first_devices, fit, take
from offchain.core.values import Capacity, HostStatus, Placement

PRICE = 100 * GTY


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


def test_lists_of_regions_and_hosts_exclude_the_others():
    assert fit(host(), pod(), Placement((b"us",), (), allow_simulated=True), PRICE) is Misfit.REGION
    assert fit(host(), pod(), Placement((), ("h2",), allow_simulated=True), PRICE) is Misfit.HOST_NOT_LISTED
    assert isinstance(fit(host(), pod(), Placement((b"us", b"eu"), ("h1",), allow_simulated=True), PRICE), Fit)


@pytest.mark.parametrize(
    ("devices", "request_", "misfit"),
    [
        ((gpu(),), wants(2), Misfit.WRONG_DEVICE_COUNT),
        ((gpu(), gpu(model=b"T4")), wants(2, models=(b"A100",)), Misfit.WRONG_MODEL),
        ((gpu(vram_mib=100),), wants(min_vram_mib=101), Misfit.NOT_ENOUGH_VRAM),
        ((gpu(simulated=True),), wants(), Misfit.SIMULATED_NOT_ALLOWED),
        ((gpu(milli_free=499),), wants(milli=500), Misfit.DEVICE_BUSY),
    ],
)
def test_the_first_rule_that_leaves_too_few_devices_is_named(devices, request_, misfit):
    assert first_devices(devices, request_, allow_simulated=False) is misfit


def test_the_first_devices_that_match_are_chosen():
    devices = (gpu(model=b"T4"), gpu(milli_free=0), gpu(), gpu(), gpu())
    assert first_devices(devices, wants(2, models=(b"A100",)), allow_simulated=False) == (2, 3)


def test_a_pod_without_gpus_takes_none():
    assert first_devices((gpu(),), wants(0), allow_simulated=False) == ()


def test_taking_leaves_exactly_the_rest():
    left = take(host(devices=(gpu(), gpu())), pod(gpus=wants(milli=400)), (1,), allow_simulated=False)
    assert left.free == Capacity(3000, 7168, 99)
    assert [device.milli_free for device in left.devices] == [1000, 600]
    assert left.live_leases == 1


def test_taking_more_than_there_is_changes_nothing():
    with pytest.raises(ValueError, match="cpu"):
        take(host(free=Capacity(999, 8192, 100)), pod(), (), allow_simulated=False)
