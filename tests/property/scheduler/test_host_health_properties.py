"""Properties of host health: bounds, ranges of scores, decay and cool-downs."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from offchain.core.scheduler import host_health
from offchain.core.scheduler.host_health import (
    FAILURES_BEFORE_COOLDOWN,
    HALF_LIFE_MS,
    LATENCY_FACTOR,
    LATENCY_MIN_GROWTH_MS,
    LONGEST_COOLDOWN_MS,
    SCORE_STEP,
    Cooldowns,
    FailureHistory,
    ImageLocality,
    LatencyHistory,
    cooldown_ms,
)
from offchain.core.scheduler.host_observations import FAILURE_WEIGHT, SHAPE_FAILURES, HostObservation, ObservationKind
from offchain.core.scheduler.pod_request import PodShape

HOSTS = st.sampled_from([f"h{number}" for number in range(6)])
SHAPES = st.sampled_from((PodShape(1000, 1024), PodShape(2000, 1024)))
MANIFESTS = st.sampled_from((b"a", b"b", b"c"))
FOLLOWS = {ObservationKind.SLOW_START, ObservationKind.LATENCY}
"""They follow from what was seen before."""
TIMES = st.integers(0, 10 * LONGEST_COOLDOWN_MS)
AGAINST = st.sampled_from(sorted(what for what, weight in FAILURE_WEIGHT.items() if weight and what not in FOLLOWS))

AMONG_OTHERS = {ObservationKind.STARTED, ObservationKind.ROUND_TRIP}
"""What they say depends on those before them."""

things = st.builds(
    HostObservation,
    host=HOSTS,
    kind=st.sampled_from(sorted(set(ObservationKind) - FOLLOWS)),
    at_ms=TIMES,
    shape=SHAPES,
    manifest=MANIFESTS,
    lease=st.none() | st.integers(0, 5),
    took_ms=st.integers(0, 10**6),
    before_ms=st.sampled_from((0, 10)),
)
stories = st.lists(things, max_size=40).map(lambda found: sorted(found, key=lambda seen: seen.at_ms))


def told(story: list[HostObservation]) -> FailureHistory:
    found = FailureHistory()
    for seen in story:
        found.observe(seen)
    return found


@given(stories, TIMES)
def test_scores_are_from_0_to_1_and_unknown_hosts_have_0(story: list[HostObservation], now: int):
    found = told(story)
    for host in {seen.host for seen in story}:
        assert 0 <= found.score(host, now) < 1
    assert found.score("unheard-of", now) == 0


@given(stories, HOSTS, AGAINST, SHAPES)
def test_a_failure_raises_the_score_of_its_host_only(
    story: list[HostObservation], host: str, what: ObservationKind, shape
):
    now = story[-1].at_ms if story else 0
    before, after = told(story), told([*story, HostObservation(host, what, now, shape, b"a")])
    assert after.score(host, now) > before.score(host, now)
    for other in {seen.host for seen in story} - {host}:
        assert after.score(other, now) == before.score(other, now)


@given(stories, TIMES)
def test_scores_decay_to_0(story: list[HostObservation], later: int):
    found = told(story)
    end = story[-1].at_ms if story else 0
    for host in {seen.host for seen in story}:
        assert found.score(host, end + later) <= found.score(host, end)
        assert found.score(host, end + 60 * HALF_LIFE_MS) < 1e-9


@given(stories)
def test_reported_changes_add_up_to_the_scores(story: list[HostObservation]):
    found, known = FailureHistory(), dict[str, float]()
    for seen in story:
        found.observe(seen)
        known |= found.changed_scores(seen.at_ms)
    now = story[-1].at_ms + 60 * HALF_LIFE_MS if story else 0
    for seen in story:
        # Fading alone is looked at from time to time.
        assert known.get(seen.host, 0.0) >= found.score(seen.host, story[-1].at_ms) - SCORE_STEP / 2 - 1e-9
    known |= found.changed_scores(now)
    assert not any(known.values())


@given(stories)
def test_repeated_observations_of_a_lease_count_once(story: list[HostObservation]):
    leased = [replace(seen, lease=number) for number, seen in enumerate(story) if seen.kind not in AMONG_OTHERS]
    once, twice = told(leased), told([seen for seen in leased for _ in range(2)])
    for seen in leased:
        assert once.score(seen.host, seen.at_ms) == twice.score(seen.host, seen.at_ms)
        assert once.hosts_in_cooldown(seen.shape, seen.manifest, seen.at_ms) == twice.hosts_in_cooldown(
            seen.shape, seen.manifest, seen.at_ms
        )


@given(st.integers(1, 100))
def test_cooldowns_begin_after_some_failures_and_never_get_shorter(failures: int):
    assert (cooldown_ms(failures) > 0) == (failures >= FAILURES_BEFORE_COOLDOWN)
    assert cooldown_ms(failures) <= cooldown_ms(failures + 1) <= LONGEST_COOLDOWN_MS


@given(st.lists(st.tuples(HOSTS, SHAPES, st.booleans()), max_size=60))
def test_a_host_is_in_cooldown_only_after_failures_of_the_kind_since_its_last_success(steps):
    found, in_a_row = Cooldowns(), dict[tuple[str, PodShape], int]()
    for now, (host, shape, works) in enumerate(steps):
        if works:
            found.succeeded(host, shape)
            in_a_row.pop((host, shape), None)
        else:
            found.failed(host, shape, now)
            in_a_row[host, shape] = in_a_row.get((host, shape), 0) + 1
        for kind in (PodShape(1000, 1024), PodShape(2000, 1024)):
            expected = {
                one for (one, of), count in in_a_row.items() if of == kind and count >= FAILURES_BEFORE_COOLDOWN
            }
            assert found.hosts(kind, now) == expected
            assert not found.hosts(kind, now + LONGEST_COOLDOWN_MS)
    assert (found.next_ms(len(steps)) is not None) == any(
        count >= FAILURES_BEFORE_COOLDOWN for count in in_a_row.values()
    )


def test_the_oldest_failures_are_evicted_first():
    found, shape = FailureHistory(), PodShape(1000, 1024)
    most = max(host_health.MAX_HOSTS, host_health.MAX_COOLDOWNS)
    for number in range(most + 10):
        for _ in range(FAILURES_BEFORE_COOLDOWN):
            found.observe(HostObservation(f"h{number}", ObservationKind.REFUSED, number, shape, b"a"))
    now = most + 10
    assert len(found.hosts_in_cooldown(shape, None, now)) <= host_health.MAX_COOLDOWNS
    assert found.score("h0", now) == 0
    assert found.score(f"h{most + 9}", now) > 0
    assert len(found.changed_scores(now)) <= host_health.MAX_HOSTS


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 30)), max_size=80))
def test_image_locality_knows_the_hosts_of_the_latest_manifests(runs: list[tuple[int, int]]):
    found = ImageLocality()
    known: dict[bytes, frozenset[str]] = {}
    for manifest, host in runs:
        before = {one: frozenset(found.hosts(one)) for one in known}
        digest = manifest.to_bytes(2, "big")
        changed = found.add(digest, f"h{host}")
        known[digest] = frozenset()
        assert digest in found
        assert f"h{host}" in found.hosts(digest)
        after = {one: frozenset(found.hosts(one)) for one in known}
        moved = frozenset().union(*(after[one] ^ before.get(one, frozenset()) for one in known))
        assert moved == changed
        assert all(len(hosts) <= host_health.MAX_HOSTS_PER_MANIFEST for hosts in after.values())


def test_the_manifest_that_ran_the_longest_ago_is_evicted():
    found = ImageLocality()
    for number in range(host_health.MAX_MANIFESTS):
        found.add(number.to_bytes(2, "big"), "h")
    found.add(bytes(2), "h")
    assert found.add(b"one more", "other") == {"h", "other"}
    assert bytes(2) in found
    assert (1).to_bytes(2, "big") not in found


@given(stories)
def test_failures_that_a_manifest_may_have_caused_cause_no_cooldown_for_a_shape(story: list[HostObservation]):
    found = told([seen for seen in story if seen.kind not in SHAPE_FAILURES])
    for seen in story:
        assert not found.hosts_in_cooldown(seen.shape, None, seen.at_ms)


@given(st.lists(st.integers(0, 2_000), max_size=60))
def test_a_latency_has_grown_only_if_it_is_far_above_the_least_value(told: list[int]):
    found, before, goes_on = LatencyHistory(), 0, False
    known: list[int] = []
    for ms in told:
        grew = found.has_grown("h", ms, before)
        if grew:
            least = min(known[-host_health.MAX_LATENCIES :])
            assert not goes_on
            assert ms > LATENCY_FACTOR * least
            assert ms > least + LATENCY_MIN_GROWTH_MS
        if ms:
            most = max(known[-host_health.MAX_LATENCIES :], default=ms)
            goes_on = (goes_on or grew) and ms > most + LATENCY_MIN_GROWTH_MS
            known.append(ms)
        before = ms or before


def test_latencies_of_the_hosts_that_reported_last_are_kept():
    found = LatencyHistory()
    for number in range(host_health.MAX_HOSTS + 10):
        found.has_grown(f"h{number}", 10, 0)
    assert len(found._values) == host_health.MAX_HOSTS
    assert not found.has_grown("h0", 1_000, 0)
    assert found.has_grown("h20", 1_000, 0)
