"""Series of Prometheus as measurements of devices."""

import math

from offchain.adapters.metrics.prometheus_api import PrometheusSeries
from offchain.gateway.api.device_history import MOST_DEVICES, history_of

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
