"""A new version for an old one: what holds at every step, that it ends, and that it goes on from anywhere."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from offchain.core.rollout import (
    Done,
    End,
    PodLimits,
    Scale,
    VersionEnded,
    VersionState,
    Wait,
    back,
    forward,
    least_surge,
    target,
)

MOST_LOOKS = 400


@st.composite
def beginnings(draw):
    """Limits, the old version whole, and the new one as it was just submitted."""
    sides = []
    for _ in range(2):
        low = draw(st.integers(1, 16))
        sides.append((low, draw(st.integers(low, 16))))
    (old_min, old_max), (new_min, new_max) = sides
    pods = draw(st.integers(old_min, old_max))
    surge = least_surge(pods, old_min, new_min, new_max) + draw(st.integers(0, 3))
    rules = PodLimits(pods=pods, surge=surge, unavailable=draw(st.integers(0, 3)))
    old = VersionState(pods_min=old_min, pods_max=old_max, wanted=pods, ready=frozenset(range(pods)))
    new = VersionState(pods_min=new_min, pods_max=new_max, wanted=new_min, ready=frozenset())
    return rules, old, new


def applied(step, old, new):
    """What the chain makes of a step. A task out of its bounds is refused."""
    sides = {"old": old, "new": new}
    side = sides[step.which]
    if isinstance(step, End):
        sides[step.which] = replace(side, live=False, wanted=0, ready=frozenset())
    else:
        assert side.live
        assert side.pods_min <= step.pods <= side.pods_max
        assert step.pods != side.wanted
        kept = frozenset(pod for pod in side.ready if pod < step.pods)
        sides[step.which] = replace(side, wanted=step.pods, ready=kept)
    return sides["old"], sides["new"]


def more_ready(side, draw):
    """Pods that became ready meanwhile: at least one where some are missing."""
    missing = sorted(set(range(side.wanted)) - side.ready)
    count = draw(st.integers(1, len(missing))) if missing else 0
    return replace(side, ready=side.ready | set(draw(st.permutations(missing))[:count]))


@given(beginnings(), st.data())
def test_it_ends_and_keeps_its_promises_at_every_step(beginning, data):
    rules, old, new = beginning
    goal = target(rules.pods, new.pods_min, new.pods_max)
    floor = min(rules.pods, goal) - rules.unavailable
    for _ in range(MOST_LOOKS):
        assert old.wanted + new.wanted <= max(rules.pods, goal) + rules.surge
        step = forward(rules, old, new)
        if step == Done():
            break
        if step == Wait():
            assert new.ready != frozenset(range(new.wanted)), "it waits for nothing"
            new = more_ready(new, data.draw)
            continue
        old, new = applied(step, old, new)
        assert len(old.ready) + len(new.ready) >= floor
        if step == End("old"):
            assert len(new.ready) == goal
    assert (old.live, new.live, new.wanted) == (False, True, goal)


@given(beginnings(), st.data())
def test_it_goes_back_from_anywhere(beginning, data):
    """Also where some pods of the new version are not well any more."""
    rules, old, new = beginning
    for _ in range(data.draw(st.integers(0, 30))):
        step = forward(rules, old, new)
        if isinstance(step, (Done, End)):
            break
        if step == Wait():
            new = more_ready(new, data.draw)
        else:
            old, new = applied(step, old, new)
    new = replace(new, ready=frozenset(data.draw(st.sets(st.sampled_from(sorted(new.ready)))) if new.ready else ()))
    serving = len(old.ready) + len(new.ready)
    for _ in range(MOST_LOOKS):
        step = back(rules, old, new)
        if step == Done():
            break
        if step == Wait():
            assert old.ready != frozenset(range(old.wanted)), "it waits for nothing"
            old = more_ready(old, data.draw)
            continue
        old, new = applied(step, old, new)
        assert len(old.ready) + len(new.ready) >= min(serving, rules.pods - rules.unavailable)
        serving = min(serving, len(old.ready) + len(new.ready))
    assert (old.live, new.live, old.wanted) == (True, False, rules.pods)


@given(beginnings())
def test_less_surge_than_the_least_gets_nowhere(beginning):
    """The least is told right: with one less, the promise about the number of pods cannot be kept."""
    rules, old, new = beginning
    goal = target(rules.pods, new.pods_min, new.pods_max)
    surge = least_surge(rules.pods, old.pods_min, new.pods_min, new.pods_max) - 1
    most = max(rules.pods, goal) + surge
    assert rules.pods + new.pods_min > most or goal + old.pods_min > most


@given(beginnings())
def test_a_version_that_is_over_is_told(beginning):
    rules, old, new = beginning
    assert forward(rules, old, replace(new, live=False)) == VersionEnded("new")
    assert back(rules, replace(old, live=False), new) == VersionEnded("old")


def test_one_pod_with_the_least_surge_is_replaced_by_one():
    rules = PodLimits(pods=1, surge=1, unavailable=0)
    old = VersionState(pods_min=1, pods_max=1, wanted=1, ready=frozenset({0}))
    new = replace(old, ready=frozenset())
    assert least_surge(1, 1, 1, 1) == 1
    assert forward(rules, old, new) == Wait()
    assert forward(rules, old, replace(new, ready=frozenset({0}))) == End("old")
    assert back(rules, old, new) == End("new")


def test_three_pods_go_over_one_by_one():
    rules = PodLimits(pods=3, surge=1, unavailable=0)
    old = VersionState(pods_min=1, pods_max=4, wanted=3, ready=frozenset(range(3)))
    new = VersionState(pods_min=1, pods_max=4, wanted=1, ready=frozenset())
    said = []
    while (step := forward(rules, old, new)) != Done():
        if step == Wait():
            new = replace(new, ready=frozenset(range(new.wanted)))
            continue
        said.append(step)
        old, new = applied(step, old, new)
    assert said == [Scale("old", 2), Scale("new", 2), Scale("old", 1), Scale("new", 3), End("old")]
