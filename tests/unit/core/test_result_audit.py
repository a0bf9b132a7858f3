"""The adaptive rule by which results are audited."""

import itertools

import pytest

from offchain.core.result_audit import ALWAYS_BELOW, PPM, audit_chance_ppm, is_audited, least_slash


def test_every_result_of_a_host_with_fewer_than_ten_valid_ones_is_audited() -> None:
    for valid in range(ALWAYS_BELOW):
        assert audit_chance_ppm(valid) == PPM
        assert all(is_audited(valid, task, bytes(32)) for task in range(100))


@pytest.mark.parametrize(
    ("valid", "chance"), [(10, 100_000), (16, 62_500), (19, 52_631), (20, 50_000), (10**9, 50_000)]
)
def test_the_chance_falls_with_valid_results_to_a_twentieth(valid: int, chance: int) -> None:
    assert audit_chance_ppm(valid) == chance


def test_the_chance_never_rises_with_valid_results() -> None:
    chances = [audit_chance_ppm(valid) for valid in range(1_000)]
    assert all(before >= after for before, after in itertools.pairwise(chances))


def test_results_are_drawn_as_often_as_the_chance_says_and_not_before_the_randomness_is_known() -> None:
    drawn = [task for task in range(20_000) if is_audited(100, task, b"one block")]
    # 1,000 are expected, with a standard deviation of 31; the draw is fixed.
    assert 900 <= len(drawn) <= 1_100
    assert set(drawn) != {task for task in range(20_000) if is_audited(100, task, b"another block")}


def test_the_least_slash_makes_a_wrong_result_a_loss() -> None:
    assert least_slash(1_000, 0) == 0
    assert least_slash(1_000, 100) == 19_000
    for gain, valid in ((1, 10), (7, 15), (10**12, 13)):
        chance, slash = audit_chance_ppm(valid), least_slash(gain, valid)
        assert gain * (PPM - chance) <= slash * chance
        assert gain * (PPM - chance) > (slash - 1) * chance
