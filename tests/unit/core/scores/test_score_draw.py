"""What tells hosts apart that are alike."""

from __future__ import annotations

from offchain.core.planning.scores.draw import draw

SEED = b"one scheduler"
NAMES = [f"h{number}" for number in range(200)]


def test_a_draw_depends_on_the_host_and_on_who_draws():
    assert draw("a", SEED) == draw("a", SEED)
    assert len({draw("a", SEED), draw("b", SEED), draw("a", b"another")}) == 3


def test_draws_lie_between_nothing_and_one_and_differ():
    drawn = [draw(name, SEED) for name in NAMES]
    assert 0 <= min(drawn) < 0.1
    assert 0.9 < max(drawn) < 1
    assert len(set(drawn)) == len(NAMES)


def test_each_scheduler_draws_another_order():
    assert sorted(NAMES, key=lambda name: draw(name, SEED)) != sorted(NAMES, key=lambda name: draw(name, b"another"))
