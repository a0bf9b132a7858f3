"""When a task starts, in words and in JSON."""

from __future__ import annotations

import pytest

from offchain.core.placement_forecast import UNKNOWN_START, PlacementForecast, PreemptionForecast, StartForecast
from offchain.services.feasibility import FeasibilityReport, start_text, start_window

NOW = 1_700_000_000_000
MINUTE = 60_000
HOUR = 60 * MINUTE


def asked(starts: StartForecast, *, room: bool = False, ever: int = 1) -> FeasibilityReport:
    forecast = PlacementForecast(1, 1, (), 1, {}, {}, int(room), ever)
    return FeasibilityReport(None, forecast, starts, NOW, 2 * MINUTE)  # type: ignore[arg-type]  (its task is not read)


@pytest.mark.parametrize(
    ("starts", "changes", "says"),
    [
        (StartForecast(NOW, NOW), {"room": True}, "now"),
        (
            StartForecast(NOW, NOW + 3 * HOUR + 20 * MINUTE),
            {},
            "as soon as running jobs have ended, in 3 h 20 min at the latest (2023-11-15 01:33:20), when leases end",
        ),
        (
            StartForecast(NOW + 5 * MINUTE, NOW + 30 * MINUTE, ahead=1),
            {},
            (
                "in 5 min at the earliest, in 30 min at the latest (2023-11-14 22:43:20), when leases end; "
                "1 task waits before it"
            ),
        ),
        (
            StartForecast(NOW, NOW + 1, ahead=2),
            {"room": True},
            "now, in 1 min at the latest (2023-11-14 22:13:20), when leases end; 2 tasks wait before it",
        ),
        (StartForecast(NOW, NOW, ahead=1), {"room": True}, "now; 1 task waits before it"),
        (StartForecast(NOW + HOUR, NOW + HOUR), {}, "in 1 h 0 min (2023-11-14 23:13:20), when leases end"),
        (
            StartForecast(NOW, None),
            {},
            (
                "as soon as running jobs have ended; the latest start is unknown: "
                "it depends on leases that may have no end"
            ),
        ),
        (
            StartForecast(NOW, None, too_many=True, ahead=900),
            {},
            (
                "as soon as running jobs have ended; the latest start is unknown: too many tasks are ahead; "
                "900 tasks wait before it"
            ),
        ),
        (StartForecast(None, None), {}, "unknown: it depends on leases without an end"),
        (UNKNOWN_START, {"room": True}, "enough hosts have free resources; to know when, install numpy and numba"),
        (UNKNOWN_START, {}, "it waits for free resources; to know when, install numpy and numba"),
        (StartForecast(None, None), {"ever": 0}, "never with these hosts: 0 of the 1 pods that it needs would fit if"),
    ],
)
def test_the_range_of_the_start_is_printed_as_far_as_it_is_known(starts, changes, says):
    assert start_text(asked(starts, **changes)).startswith(says)


def test_a_reserved_start_is_the_latest_start():
    found = asked(StartForecast(NOW, NOW + HOUR, ahead=3))
    assert start_window(found, NOW + 5 * MINUTE) == (NOW, NOW + 5 * MINUTE)
    assert "in 5 min at the latest (2023-11-14 22:18:20), reserved by a scheduler" in start_text(
        found, NOW + 5 * MINUTE
    )
    assert start_window(asked(StartForecast(None, None)), NOW + HOUR) == (NOW + HOUR, NOW + HOUR)
    assert start_text(asked(UNKNOWN_START), NOW + HOUR).startswith("in 1 h 0 min")


@pytest.mark.parametrize(
    ("known", "preemption", "expected"),
    [
        ((None, None), PreemptionForecast((7,), {"queue night": 1}), (NOW + 2 * MINUTE, None)),
        ((NOW, NOW + HOUR), PreemptionForecast((7,), {"queue night": 1}), (NOW, NOW + HOUR)),
        ((None, None), PreemptionForecast(why="it holds its share"), (None, None)),
    ],
)
def test_the_end_of_a_preemption_notice_may_be_the_earliest_start(known, preemption, expected):
    assert start_window(asked(StartForecast(*known, preemption=preemption))) == expected
