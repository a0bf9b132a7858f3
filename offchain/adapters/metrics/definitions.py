"""Definitions of metrics, and readings of them. docs/monitoring.md lists all (a test compares both)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

SECONDS_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets of all histograms of durations."""


class MetricReading(NamedTuple):
    """A value of a metric with these values of its labels."""

    metric: MetricDefinition
    value: float
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """A metric of a process.

    `name`: as in queries; that of a counter ends with `_total`. `labels`: their names. Values of labels come from this
    program and its operator only: text that strangers choose would make the number of time series unlimited.
    """

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    meaning: str
    labels: tuple[str, ...] = ()

    def read(self, value: float, *labels: str) -> MetricReading:
        """Return a reading, with the values of the labels in their order."""
        return MetricReading(self, value, labels)

    def read_if_known(self, value: float | None, *labels: str) -> Iterable[MetricReading]:
        """Return the reading, or nothing where the value is not known."""
        return () if value is None else (self.read(value, *labels),)


MetricSource = Callable[[], Iterable[MetricReading]]
"""Reads present values from the part of the process that has them. Fast, and called in the event loop."""
