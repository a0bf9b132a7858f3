"""When a task starts, in words and in JSON."""

from __future__ import annotations

import pytest

from offchain.cli.tenant.feasibility import FeasibilityReport, start_text, start_window
from offchain.core.placement_forecast import PlacementForecast
from offchain.core.preemption_preview import PreemptionPreview
from offchain.core.start_estimate import StartEstimate

NOW = 1_700_000_000_000
MINUTE = 60_000
HOUR = 60 * MINUTE


def asked(
    starts: StartEstimate, *, ahead: int = 0, room: bool = False, ever: int = 1, **changes: object
) -> FeasibilityReport:
    forecast = PlacementForecast(1, 1, (), 1, {}, {}, ever, starts, ahead, int(room))
    return FeasibilityReport(None, forecast, NOW, **changes)  # type: ignore[arg-type]  (its task does not matter)


@pytest.mark.parametrize(
    ("starts", "changes", "says"),
    [
        (StartEstimate(NOW, NOW), {"room": True}, "now"),
        (
            StartEstimate(NOW, NOW + 3 * HOUR + 20 * MINUTE),
            {},
            "as soon as running jobs have ended, in 3 h 20 min at the latest (2023-11-15 01:33:20), when leases end",
        ),
        (
            StartEstimate(NOW + 5 * MINUTE, NOW + 30 * MINUTE),
            {"ahead": 1},
            (
                "in 5 min at the earliest, in 30 min at the latest (2023-11-14 22:43:20), when leases end; "
                "1 task waits before it"
            ),
        ),
        (
            StartEstimate(NOW, NOW + 1),
            {"room": True, "ahead": 2},
            "now, in 1 min at the latest (2023-11-14 22:13:20), when leases end; 2 tasks wait before it",
        ),
        (StartEstimate(NOW, NOW), {"room": True, "ahead": 1}, "now; 1 task waits before it"),
        (StartEstimate(NOW + HOUR, NOW + HOUR), {}, "in 1 h 0 min (2023-11-14 23:13:20), when leases end"),
        (
            StartEstimate(NOW, None),
            {},
            (
                "as soon as running jobs have ended; the latest start is unknown: "
                "it depends on leases that may have no end"
            ),
        ),
        (
            StartEstimate(NOW, None, too_many=True),
            {"ahead": 900},
            (
                "as soon as running jobs have ended; the latest start is unknown: too many tasks are ahead; "
                "900 tasks wait before it"
            ),
        ),
        (StartEstimate(None, None), {}, "unknown: it depends on leases without an end"),
        (StartEstimate(None, None), {"ever": 0}, "never with these hosts: 0 of the 1 pods that it needs would fit if"),
    ],
)
def test_the_range_of_the_start_is_printed_as_far_as_it_is_known(starts, changes, says):
    assert start_text(asked(starts, **changes)).startswith(says)


def test_a_reserved_start_is_the_latest_start():
    found = asked(StartEstimate(NOW, NOW + HOUR), ahead=3)
    assert start_window(found, NOW + 5 * MINUTE) == StartEstimate(NOW, NOW + 5 * MINUTE)
    assert "in 5 min at the latest (2023-11-14 22:18:20), reserved by a scheduler" in start_text(
        found, NOW + 5 * MINUTE
    )
    assert start_window(asked(StartEstimate(None, None)), NOW + HOUR) == StartEstimate(NOW + HOUR, NOW + HOUR)


def test_the_end_of_a_preemption_notice_may_be_the_earliest_start():
    leaves = {"leaving": PreemptionPreview({7: None}, {"queue night": 1}), "notice_ms": 2 * MINUTE}
    assert start_window(asked(StartEstimate(None, None), **leaves)) == StartEstimate(NOW + 2 * MINUTE, None)
    assert start_window(asked(StartEstimate(NOW, NOW + HOUR), **leaves)) == StartEstimate(NOW, NOW + HOUR)
    nobody = {"leaving": PreemptionPreview(why="it holds its share")}
    assert start_window(asked(StartEstimate(None, None), **nobody)) == StartEstimate(None, None)
