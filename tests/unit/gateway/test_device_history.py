"""Series of Prometheus as measurements of devices."""

import math

from offchain.adapters.metrics.prometheus_api import PrometheusSeries
from offchain.gateway.api.device_history import MOST_DEVICES, expressions, history_of

TIMES = range(100, 131, 10)


def series(device, *values):
    return PrometheusSeries({"device": device}, values)


def test_values_are_at_their_times_and_others_are_null():
    found = history_of(
        {
            "utilisation_percent": [series("1", (110.0, 50.0), (130.2, 70.0), (135.0, 9.0)), series("0", (100.0, 1.0))],
            "temperature_celsius": [series("1", (120.0, math.nan))],
        },
        TIMES,
    )
    assert found.times_ms == [100_000, 110_000, 120_000, 130_000]
    first, second = found.devices
    assert (first.device, second.device) == (0, 1)
    assert second.utilisation_percent == [None, 50.0, None, 70.0]
    assert second.temperature_celsius == [None] * 4
    assert first.power_watts == [None] * 4


def test_odd_labels_and_too_many_devices_are_left_out():
    many = [series(str(number), (100.0, 1.0)) for number in range(MOST_DEVICES + 10)]
    odd = [PrometheusSeries({}, ((100.0, 1.0),)), series("-1", (100.0, 1.0)), series("9" * 20, (100.0, 1.0))]
    found = history_of({"power_watts": [*odd, *many]}, TIMES)
    assert [one.device for one in found.devices] == list(range(MOST_DEVICES))


def test_counters_are_compared_over_a_step_and_at_least_a_minute():
    for step_s, window in ((25, "60s"), (600, "600s")):
        asked = expressions("5Host", step_s)
        chosen = '{host="5Host"}'
        assert asked["power_watts"] == f"gantry_device_power_watts{chosen}"
        assert asked["nvlink_sent_bytes_per_s"] == f"rate(gantry_device_nvlink_transmit_bytes_total{chosen}[{window}])"
        assert asked["pcie_replays"] == (
            f"sum by (device) (increase(gantry_device_pcie_replays_total{chosen}[{window}]))"
        )


def test_what_a_driver_does_not_count_is_null_and_not_0():
    (found,) = history_of({"pcie_replays": [series("0", (100.0, 0.0))]}, TIMES).devices
    assert found.pcie_replays == [0.0, None, None, None]
    assert found.nvlink_errors == found.nvlink_sent_bytes_per_s == [None] * 4
