from __future__ import annotations

import pytest

from offchain.core.pricing import (
    UNPAYABLE,
    billed_ms,
    deposit,
    fee,
    offers,
    owed,
    rate_per_hour,
    storage_rate_per_hour,
)
from offchain.core.values import BillingUnit
from offchain.schema.chain_types._generated_chain import GpuPrice
from offchain.schema.durations import HOUR_MS
from tests.support.chain_records import ask
from tests.support.core_builders import GTY, gpu, pod, wants

ONLY_GPUS = pod(cpu_milli=0, memory_mib=0, disk_gib=0, gpus=wants(2))
TWO_MODELS = (gpu(model=b"A100"), gpu(model=b"T4"))


def test_each_part_of_a_rate_rounds_down_before_they_are_added():
    prices = ask(gpu_per_hour=3, cpu_core_per_hour=3, memory_gib_per_hour=3, disk_gib_per_hour=3)
    parts = pod(cpu_milli=500, memory_mib=512, disk_gib=2, gpus=wants(1, milli=500))
    assert rate_per_hour(parts, TWO_MODELS, (0,), prices, BillingUnit.SECOND) == 1 + 1 + 1 + 6


def test_a_rate_counts_every_gpu_by_its_model():
    prices = ask(gpu=(GpuPrice(b"A100", 3 * GTY),), gpu_per_hour=GTY)
    assert rate_per_hour(ONLY_GPUS, TWO_MODELS, (0, 1), prices, BillingUnit.SECOND) == 4 * GTY


def test_a_unit_has_its_factor_and_one_without_is_not_offered():
    prices = ask(gpu_per_hour=GTY, storage_gib_per_hour=10, hour_ppm=900_000, day_ppm=0)
    assert rate_per_hour(ONLY_GPUS, TWO_MODELS, (0, 1), prices, BillingUnit.HOUR) == 2 * GTY * 9 // 10
    assert storage_rate_per_hour(pod(disk_gib=3), prices, BillingUnit.HOUR) == 27
    assert offers(prices, BillingUnit.SECOND)
    assert not offers(prices, BillingUnit.DAY)
    assert rate_per_hour(ONLY_GPUS, TWO_MODELS, (0, 1), prices, BillingUnit.DAY) == UNPAYABLE
    assert storage_rate_per_hour(pod(), prices, BillingUnit.DAY) == UNPAYABLE


def test_a_deposit_rounds_up_and_what_is_owed_rounds_down():
    assert deposit(7, 1) == 1
    assert owed(BillingUnit.SECOND, 10, 7, 1) == 0


def test_owed_stops_at_the_deposit():
    assert owed(BillingUnit.SECOND, 100, 60, 10 * HOUR_MS) == 100
    assert owed(BillingUnit.HOUR, 100, 60, 10 * HOUR_MS) == 100


@pytest.mark.parametrize(
    ("unit", "elapsed", "units"),
    [
        (BillingUnit.HOUR, 0, 1),
        (BillingUnit.HOUR, 1, 1),
        (BillingUnit.HOUR, HOUR_MS, 1),
        (BillingUnit.HOUR, HOUR_MS + 1, 2),
        (BillingUnit.DAY, 1, 24),
        (BillingUnit.DAY, 24 * HOUR_MS + 1, 48),
    ],
)
def test_hours_and_days_are_owed_whole(unit, elapsed, units):
    assert owed(unit, 10**9, 60, elapsed) == units * 60


def test_a_host_at_fault_is_paid_pro_rata():
    assert owed(BillingUnit.DAY, 10**9, 60, HOUR_MS // 2, host_at_fault=True) == 30


def test_billed_time_is_the_lesser_of_both_clocks():
    assert billed_ms(1_000, 5_000, 3_500) == 3_500
    assert billed_ms(1_000, 5_000, 9_000) == 4_000


def test_a_fee_rounds_down_and_stays_within_what_is_paid():
    assert fee(999_999, 50_000) == 49_999
    assert fee(10, 2_000_000) == 10
