"""How many more shares each account will ask for, and the value of its devices that follows."""

from __future__ import annotations

import numpy as np
import pytest

from offchain.core.scheduler.cluster import Cluster, HostSpec
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.scheduler.sharing_demand import LEVEL_SHARES, LEVELS, SharingDemand, levels_of, share_values

WHOLE = PodShape(1000, 1024, 1, 1000)


def half(account: str) -> PodShape:
    return PodShape(1000, 1024, 1, 500, account=account)


def level(shares: float, before: int = 0) -> int:
    return int(levels_of(np.array([shares], dtype=np.float64), np.array([before]))[0])


def test_each_number_of_shares_has_the_nearest_level() -> None:
    assert [level(shares) for shares in LEVEL_SHARES] == list(range(2, LEVELS))
    assert level(1e6) == 1
    assert level(5) == level(4)
    assert level(1e-6) == LEVELS - 1


def test_a_level_is_kept_until_the_number_has_changed_by_more_than_half_a_doubling() -> None:
    four = level(4)
    assert level(6.5) == level(8)
    assert level(6.5, four) == four
    assert level(7, four) == level(8)
    assert level(1e6, 1) == 1


def test_a_piece_is_worth_what_its_account_will_cut_from_it() -> None:
    sizes, probability, price = np.array([300, 500]), np.array([0.25, 0.75]), np.array([300.0, 500.0])
    values = share_values(sizes, probability, price)
    of = dict(zip(LEVEL_SHARES.tolist(), values, strict=True))
    assert not of[0].any()
    assert not values[:, :300].any()
    # The first share that fits is cut: one of 300 comes with probability 1 - exp(-n / 4).
    assert of[1][300] == pytest.approx(300 * (1 - np.exp(-1 / 4)), rel=0.02)
    assert of[1][500] < of[4][500] < of[64][500] == pytest.approx(500, rel=0.01)
    # With many shares to come, a piece is kept for those that use all of it.
    assert of[64][1000] == pytest.approx(1000, rel=0.01)
    assert (np.diff(values, axis=0) <= 1e-9).all()
    assert (np.diff(values, axis=1) >= -1e-9).all()


def test_without_sizes_nothing_has_a_value() -> None:
    none = np.zeros(0)
    assert not share_values(np.zeros(0, dtype=np.int64), none, none).any()


def test_expected_shares_follow_from_the_rate_of_the_account_and_from_what_is_free() -> None:
    cluster = Cluster.of([HostSpec("h", 640_000, 655_360, 16, "red")])
    demand = SharingDemand()
    demand.observe(WHOLE, 4, "")
    demand.observe(half("alice"), 15, "alice")
    demand.observe(half("bob"), 1, "bob")
    # 16 GPUs are free while 12 were asked for, so that a little more of the same is expected.
    found = demand.refresh(cluster)
    assert found is not None
    assert found.by_account == {"alice": level(16 * 16 / 12 * 8 / 9), "bob": level(2 * 16 / 12 * 8 / 9)}
    assert found.other == level(8 * 16 / 12)
    assert demand.refresh(cluster) is None
    cluster.take(0, PodShape(1000, 1024, 12, 1000), 0xFFF)
    fewer = demand.refresh(cluster)
    assert fewer is not None
    assert fewer.by_account["alice"] == found.by_account["alice"] + 2


def test_devices_of_an_account_divide_the_shares_that_fit_on_them() -> None:
    cluster = Cluster.of([HostSpec("h", 640_000, 655_360, 16, "red")])
    demand = SharingDemand()
    demand.observe(half("alice"), 16, "alice")
    before = demand.refresh(cluster)
    for device in range(4):
        cluster.take(0, half("alice"), 1 << device)
    after = demand.refresh(cluster)
    assert before is not None
    assert after is not None
    # A quarter for each device, of fewer GPUs.
    assert after.by_account["alice"] == before.by_account["alice"] + 2


def test_a_device_gets_the_new_level_of_its_account() -> None:
    cluster = Cluster.of([HostSpec("h", 64_000, 65_536, 2, "red"), HostSpec("i", 64_000, 65_536, 2, "red")])
    cluster.take(1, half("alice"), 1)
    demand = SharingDemand()
    demand.observe(half("alice"), 1, "alice")
    levels = demand.refresh(cluster)
    assert levels is not None
    assert cluster.set_sharing_levels(levels) == [1]
    assert cluster.class_levels[cluster.free.device_class[1, 0]] == levels.by_account["alice"]
    assert cluster.class_levels[cluster.free.device_class[1, 1]] == 0
    assert cluster.set_sharing_levels(levels) == []


def test_earlier_pods_count_half_after_a_decay() -> None:
    cluster = Cluster.of([HostSpec("h", 640_000, 655_360, 16, "red")])
    demand, other = SharingDemand(), SharingDemand()
    for one, pods in ((demand, 64), (other, 32)):
        one.observe(half("alice"), pods, "alice")
    demand.decay()
    assert demand.refresh(cluster) == other.refresh(cluster)
