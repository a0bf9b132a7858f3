"""Pods for load: within bounds always, up soon, down late, in steps, and never back and forth."""

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from offchain.core.autoscaling import (
    MIN_STEP,
    PPM,
    TOLERANCE_PPM,
    PodResources,
    Recommendations,
    Scaling,
    decide,
    load_ppm,
    recommended_pods,
)
from offchain.schema.protocol.receipt import Totals

STEP_MS = 15_000


@st.composite
def scalings(draw):
    pods_min = draw(st.integers(1, 16))
    return Scaling(
        metric=draw(st.sampled_from(["cpu", "memory", "gpu"])),
        target=draw(st.integers(1, 100)) * 10_000,
        stabilisation_ms=draw(st.integers(0, 20)) * STEP_MS,
        pods_min=pods_min,
        pods_max=draw(st.integers(pods_min, 16)),
    )


loads = st.lists(st.none() | st.integers(0, 4 * PPM), max_size=16)


def shared(demand_ppm, pods):
    """A demand that all pods carry in equal parts."""
    return [demand_ppm // pods] * pods


@given(scalings(), st.lists(st.tuples(loads, st.integers(0, 20)), max_size=30), st.integers(0, 40))
def test_never_outside_its_bounds(scaling, rounds, pods):
    recommendations = Recommendations()
    for number, (seen, _) in enumerate(rounds):
        recommendations, wanted = decide(scaling, seen, pods, recommendations, number * STEP_MS)
        assert scaling.pods_min <= wanted <= scaling.pods_max
        pods = wanted


@given(scalings(), st.integers(0, 40 * PPM), st.integers(1, 16))
def test_a_steady_load_changes_the_number_of_pods_in_one_direction_only(scaling, demand_ppm, pods):
    pods = min(max(pods, scaling.pods_min), scaling.pods_max)
    recommendations, numbers = Recommendations(), [pods]
    for number in range(60):
        recommendations, pods = decide(scaling, shared(demand_ppm, pods), pods, recommendations, number * STEP_MS)
        if pods != numbers[-1]:
            numbers.append(pods)
    assert numbers in (sorted(numbers), sorted(numbers, reverse=True))


@given(scalings(), st.lists(st.integers(0, 40 * PPM), min_size=1, max_size=60), st.integers(1, 16))
@example(Scaling(metric="cpu", target=10_000, stabilisation_ms=30_000, pods_min=1, pods_max=9), [80_001, 0, 0, 0], 1)
def test_after_more_pods_there_are_not_fewer_within_the_window(scaling, demands, pods):
    pods = min(max(pods, scaling.pods_min), scaling.pods_max)
    recommendations, grown_ms = Recommendations(), None
    for number, demand_ppm in enumerate(demands):
        now_ms = number * STEP_MS
        recommendations, wanted = decide(scaling, shared(demand_ppm, pods), pods, recommendations, now_ms)
        if wanted < pods:
            assert now_ms >= scaling.stabilisation_ms
            assert grown_ms is None or now_ms - grown_ms >= scaling.stabilisation_ms
        elif wanted > pods:
            grown_ms = now_ms
        pods = wanted


@given(scalings(), st.lists(st.integers(-TOLERANCE_PPM, TOLERANCE_PPM), min_size=1, max_size=40), st.integers(1, 16))
def test_noise_around_the_target_changes_nothing(scaling, noise, pods):
    pods = min(max(pods, scaling.pods_min), scaling.pods_max)
    recommendations = Recommendations()
    for number, part in enumerate(noise):
        load = scaling.target + scaling.target * part // PPM
        recommendations, wanted = decide(scaling, [load] * pods, pods, recommendations, number * STEP_MS)
        assert wanted == pods


@given(scalings(), st.integers(1, 16), st.integers(0, 16), st.integers(0, 4 * PPM))
def test_pods_of_which_nothing_is_known_cause_neither_more_nor_fewer(scaling, pods, unknown, load):
    """What all pods would have wanted if they were known, idle or just right, bounds what is wanted now."""
    known = max(0, pods - unknown)
    seen = [load] * known + [None] * (pods - known)
    wanted = recommended_pods(scaling, seen, pods)
    if known:
        assert wanted <= max(
            recommended_pods(scaling, [load] * known + [0] * (pods - known), pods), pods, scaling.pods_min
        )
        right = [load] * known + [scaling.target] * (pods - known)
        assert wanted >= min(recommended_pods(scaling, right, pods), pods, scaling.pods_max)
    else:
        assert wanted == min(max(pods, scaling.pods_min), scaling.pods_max)


@given(scalings(), loads, st.integers(1, 16), st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_clock_that_goes_back_starts_the_window_anew(scaling, seen, pods, first_ms, second_ms):
    recommendations, pods = decide(scaling, seen, pods, Recommendations(), first_ms)
    later, _ = decide(scaling, seen, pods, recommendations, second_ms)
    assert later.since_ms <= second_ms
    assert all(one.at_ms <= second_ms for one in later.recent)


@given(scalings())
def test_three_times_the_target_takes_three_times_the_pods_twice_as_many_at_once(scaling):
    scaling = replace(scaling, pods_min=1, pods_max=16, stabilisation_ms=300_000)
    recommendations, wanted = decide(scaling, [3 * scaling.target] * 5, 5, Recommendations(), 0)
    assert wanted == 10
    _, wanted = decide(scaling, [3 * scaling.target // 2] * 10, 10, recommendations, STEP_MS)
    assert wanted == 15


@given(scalings(), st.lists(loads, min_size=1, max_size=30), st.integers(1, 16))
def test_no_step_more_than_doubles_or_halves(scaling, rounds, pods):
    pods = min(max(pods, scaling.pods_min), scaling.pods_max)
    recommendations = Recommendations()
    for number, seen in enumerate(rounds):
        recommendations, wanted = decide(scaling, seen, pods, recommendations, number * STEP_MS)
        assert pods - max(1, pods // 2) <= wanted <= max(2 * pods, MIN_STEP)
        pods = wanted


@given(scalings(), st.lists(st.tuples(loads, st.integers(0, 4 * PPM)), max_size=20), st.integers(1, 16))
def test_more_load_never_takes_fewer_pods(scaling, rounds, pods):
    pods = min(max(pods, scaling.pods_min), scaling.pods_max)
    less, more = Recommendations(), Recommendations()
    for number, (seen, extra) in enumerate(rounds):
        heavier = [None if load is None else load + extra for load in seen]
        assert recommended_pods(scaling, heavier, pods) >= recommended_pods(scaling, seen, pods)
        less, fewer_pods = decide(scaling, seen, pods, less, number * STEP_MS)
        more, more_pods = decide(scaling, heavier, pods, more, number * STEP_MS)
        assert more_pods >= fewer_pods


@given(scalings(), st.lists(st.integers(0, 4 * PPM), min_size=1, max_size=16), st.integers(1, 16))
def test_with_nothing_known_there_are_never_fewer(scaling, seen, pods):
    """Whatever was seen before: a way that is down takes no pod away."""
    pods = min(max(pods, scaling.pods_min), scaling.pods_max)
    recommendations, pods = decide(scaling, seen, pods, Recommendations(), 0)
    for number in range(1, 40):
        recommendations, wanted = decide(
            scaling, [None] * pods, pods, recommendations, number * scaling.stabilisation_ms + number
        )
        assert wanted >= pods
        pods = wanted


@given(scalings(), st.integers(5, 16))
def test_a_lull_of_a_moment_does_not_stop_what_was_begun(scaling, pods):
    scaling = replace(scaling, pods_min=1, pods_max=16, stabilisation_ms=300_000)
    recommendations, wanted = decide(scaling, [4 * scaling.target] * pods, pods, Recommendations(), 0)
    _, after = decide(scaling, [scaling.target // 2] * wanted, wanted, recommendations, STEP_MS)
    assert after == 16


totals = st.builds(
    Totals,
    wall_ms=st.integers(0, 10**9),
    cpu_ms=st.integers(0, 10**9),
    memory_mib_s=st.integers(0, 10**9),
    gpu_ms=st.none() | st.integers(0, 10**9),
)


@given(st.sampled_from(["cpu", "memory", "gpu"]), totals, totals)
def test_loads_of_any_two_receipts_are_shares_or_unknown(metric, older, newer):
    load = load_ppm(metric, PodResources(cpu_milli=500, memory_mib=64, gpus=1), older, newer)
    assert load is None or 0 <= load <= PPM


def test_loads_are_what_was_used_of_what_there_is():
    older = Totals(wall_ms=1_000, cpu_ms=1_000, memory_mib_s=10, gpu_ms=100)
    newer = Totals(wall_ms=11_000, cpu_ms=6_000, memory_mib_s=330, gpu_ms=15_100)
    has = PodResources(cpu_milli=2_000, memory_mib=64, gpus=2)
    assert load_ppm("cpu", has, older, newer) == 250_000
    assert load_ppm("memory", has, older, newer) == 500_000
    assert load_ppm("gpu", has, older, newer) == 750_000
    assert load_ppm("gpu", replace(has, gpus=0), older, newer) is None
    assert load_ppm("cpu", has, newer, newer) is None
