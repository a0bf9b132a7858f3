"""Slow starts and falling reputations, each told once."""

from offchain.core.host_anomalies import FALL_PPM, WINDOW_MS, AnomalyKind, HostAnomalies
from offchain.core.scheduler.host_health import MIN_STARTS, SLOW_START_MIN_MS

USUAL_MS, SLOW_MS = 2_000, SLOW_START_MIN_MS + 1
HOUR_MS = 3_600_000


def watching() -> HostAnomalies:
    """A network whose usual start takes 2 s."""
    found = HostAnomalies()
    for number in range(MIN_STARTS):
        assert found.started(f"other {number}", USUAL_MS, number) is None
    return found


def test_the_third_slow_start_of_a_host_is_told_once():
    found = watching()
    told = [found.started("slow", SLOW_MS, 1000 + number) for number in range(6)]
    assert [one is not None for one in told] == [False, False, True, False, False, False]
    assert told[2] is not None
    assert (told[2].kind, told[2].host) == (AnomalyKind.SLOW_STARTS, "slow")
    assert "3 of its last 3" in told[2].text
    assert "the last one 20 s" in told[2].text
    assert found.hosts_with(AnomalyKind.SLOW_STARTS, 1005) == 1
    assert found.hosts_with(AnomalyKind.FALLING_REPUTATION, 1005) == 0


def test_single_slow_starts_and_the_first_starts_of_a_network_are_no_anomaly():
    young = HostAnomalies()
    assert [young.started("a", 10 * SLOW_MS, number) for number in range(5)] == [None] * 5
    found = watching()
    took = [SLOW_MS, USUAL_MS, SLOW_MS, USUAL_MS, USUAL_MS, USUAL_MS, SLOW_MS]
    assert [found.started("a", one, 1000) for one in took] == [None] * len(took)


def test_slow_starts_are_told_again_only_after_they_were_over():
    found = watching()
    assert [found.started("a", SLOW_MS, 1000) for _ in range(3)][-1] is not None
    for _ in range(4):
        assert found.started("a", USUAL_MS, 2000) is None
    assert found.hosts_with(AnomalyKind.SLOW_STARTS, 2000) == 1, "one of the last five was slow"
    assert found.started("a", USUAL_MS, 2000) is None
    assert found.hosts_with(AnomalyKind.SLOW_STARTS, 2000) == 0
    assert [found.started("a", SLOW_MS, 3000) for _ in range(3)][-1] is not None


def test_a_reputation_is_compared_with_the_highest_of_a_day():
    found = HostAnomalies()
    assert found.scored("a", 900_000, 0) is None
    assert found.scored("a", 850_000, HOUR_MS) is None
    told = found.scored("a", 900_000 - FALL_PPM, 2 * HOUR_MS)
    assert told is not None
    assert told.text == "The reputation of host a fell from 90.0 % to 80.0 % within 24 h."
    assert found.scored("a", 700_000, 3 * HOUR_MS) is None, "it was told"
    assert found.hosts_with(AnomalyKind.FALLING_REPUTATION, 3 * HOUR_MS) == 1
    assert found.hosts_with(AnomalyKind.FALLING_REPUTATION, 3 * HOUR_MS + WINDOW_MS) == 0


def test_a_reputation_that_falls_slowly_or_rises_is_no_anomaly():
    found = HostAnomalies()
    step = FALL_PPM // 2
    for day in range(10):
        assert found.scored("a", 900_000 - day * step, day * WINDOW_MS) is None
        assert found.scored("b", 100_000 + day * step, day * HOUR_MS) is None


def test_a_reputation_that_recovers_and_falls_again_is_told_again():
    found = HostAnomalies()
    scores = [900_000, 800_000, 860_000, 780_000]
    told = [found.scored("a", score, number) for number, score in enumerate(scores)]
    assert [one is not None for one in told] == [False, True, False, True]


def test_memory_is_bounded():
    found = HostAnomalies()
    for number in range(10_000):
        found.scored(f"host {number}", 500_000, number)
        found.scored("busy", 900_000 - number, number)
    assert len(found._hosts) <= 4096
    assert len(found._hosts["busy"].scores) <= 64
