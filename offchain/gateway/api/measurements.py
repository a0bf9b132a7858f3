"""Series of the operator's Prometheus at the same times: what the history of devices and that of tasks share."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Mapping
from typing import Final

from offchain.adapters.metrics.prometheus_api import PrometheusApi, PrometheusSeries

POINTS: Final = 144
"""Values of a series: one for ten minutes of a day."""
LEAST_STEP_S: Final = 15

Values = list[float | None]


def measured_times(start_s: int, end_s: int) -> range:
    """Return times in Unix seconds, equally far apart, from about `start_s` to about `end_s`; at most POINTS + 2."""
    step_s = max(LEAST_STEP_S, -(-max(0, end_s - start_s) // POINTS))
    return range(start_s // step_s * step_s, end_s // step_s * step_s + 1, step_s)


async def read_series(
    prometheus: PrometheusApi, expressions: Mapping[str, str], times_s: range
) -> dict[str, list[PrometheusSeries]]:
    """Return the series of each expression, by its name, at these times. Raises PrometheusAway."""
    found = await asyncio.gather(
        *(
            prometheus.query_range(expression, times_s[0], times_s[-1], times_s.step)
            for expression in expressions.values()
        )
    )
    return dict(zip(expressions, found, strict=True))


def placed_values(series: PrometheusSeries, times_s: range) -> Iterator[tuple[int, float]]:
    """Yield the values of a series that are numbers, each with the index of its time."""
    for at, value in series.values:
        second = round(at)
        if second in times_s and math.isfinite(value):
            yield times_s.index(second), value
