"""How long a host's round trip is, by its logarithm."""

from __future__ import annotations

import pytest
from core_builders import host
from score_cases import scored

from offchain.core.planning.scores.latency import LONG_MS


def with_latency(ms: int):
    return host(str(ms), latency_ms=ms)


def test_each_tenfold_of_the_latency_counts_the_same_up_to_a_long_one():
    one, ten, hundred, long, longer = scored("latency", *map(with_latency, (1, 10, 100, LONG_MS, 10 * LONG_MS)))
    assert one == 0
    assert (ten, hundred) == pytest.approx((1 / 3, 2 / 3))
    assert long == longer == 1


def test_a_latency_that_was_not_measured_is_in_the_middle():
    unknown, near, far = scored("latency", *map(with_latency, (0, 31, 32)))
    assert near < unknown < far
