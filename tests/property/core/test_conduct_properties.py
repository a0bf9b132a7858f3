"""Whatever hosts do: what is remembered is bounded, scores are within their range, failures add up and fade."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from offchain.core.conduct import latencies, pauses, ran
from offchain.core.conduct import memory as memories
from offchain.core.conduct.latencies import LEAST_MS, Latencies
from offchain.core.conduct.latencies import TIMES as TIMES_USUAL
from offchain.core.conduct.memory import STEP, Memory
from offchain.core.conduct.pauses import LONGEST_MS, PATIENCE, Pauses, pause_ms
from offchain.core.conduct.ran import Ran
from offchain.core.conduct.record import HALF_LIFE_MS
from offchain.core.conduct.seen import OF_THE_SHAPE, WEIGHT, Seen, What
from offchain.core.scheduler.pod_request import PodShape

HOSTS = st.sampled_from([f"h{number}" for number in range(6)])
SHAPES = st.sampled_from((PodShape(1000, 1024), PodShape(2000, 1024)))
MANIFESTS = st.sampled_from((b"a", b"b", b"c"))
FOLLOWS = {What.SLOW_START, What.LATENCY}
"""They follow from what was seen before."""
TIMES = st.integers(0, 10 * LONGEST_MS)
AGAINST = st.sampled_from(sorted(what for what, weight in WEIGHT.items() if weight and what not in FOLLOWS))

AMONG_OTHERS = {What.STARTED, What.ROUND_TRIP}
"""What they say depends on those before them."""

things = st.builds(
    Seen,
    host=HOSTS,
    what=st.sampled_from(sorted(set(What) - FOLLOWS)),
    at_ms=TIMES,
    shape=SHAPES,
    manifest=MANIFESTS,
    lease=st.none() | st.integers(0, 5),
    took_ms=st.integers(0, 10**6),
    before_ms=st.sampled_from((0, 10)),
)
stories = st.lists(things, max_size=40).map(lambda found: sorted(found, key=lambda seen: seen.at_ms))


def told(story: list[Seen]) -> Memory:
    found = Memory()
    for seen in story:
        found.seen(seen)
    return found


@given(stories, TIMES)
def test_scores_are_from_0_to_1_and_hosts_of_which_nothing_was_seen_have_none(story: list[Seen], now: int):
    found = told(story)
    for host in {seen.host for seen in story}:
        assert 0 <= found.score(host, now) < 1
    assert found.score("unheard-of", now) == 0


@given(stories, HOSTS, AGAINST, SHAPES)
def test_a_further_failure_never_makes_a_host_better_and_others_stay(story: list[Seen], host: str, what: What, shape):
    now = story[-1].at_ms if story else 0
    before, after = told(story), told([*story, Seen(host, what, now, shape, b"a")])
    assert after.score(host, now) > before.score(host, now)
    for other in {seen.host for seen in story} - {host}:
        assert after.score(other, now) == before.score(other, now)


@given(stories, TIMES)
def test_scores_fade_and_are_gone_in_the_end(story: list[Seen], later: int):
    found = told(story)
    end = story[-1].at_ms if story else 0
    for host in {seen.host for seen in story}:
        assert found.score(host, end + later) <= found.score(host, end)
        assert found.score(host, end + 60 * HALF_LIFE_MS) < 1e-9


@given(stories)
def test_what_is_told_of_scores_adds_up_to_them(story: list[Seen]):
    found, known = Memory(), dict[str, float]()
    for seen in story:
        found.seen(seen)
        known |= found.moved(seen.at_ms)
    now = story[-1].at_ms + 60 * HALF_LIFE_MS if story else 0
    for seen in story:
        # Fading alone is looked at from time to time.
        assert known.get(seen.host, 0.0) >= found.score(seen.host, story[-1].at_ms) - STEP / 2 - 1e-9
    known |= found.moved(now)
    assert not any(known.values())


@given(stories)
def test_what_became_of_one_pod_counts_once_however_often_it_is_seen(story: list[Seen]):
    leased = [replace(seen, lease=number) for number, seen in enumerate(story) if seen.what not in AMONG_OTHERS]
    once, twice = told(leased), told([seen for seen in leased for _ in range(2)])
    for seen in leased:
        assert once.score(seen.host, seen.at_ms) == twice.score(seen.host, seen.at_ms)
        assert once.left_alone(seen.shape, seen.manifest, seen.at_ms) == twice.left_alone(
            seen.shape, seen.manifest, seen.at_ms
        )


@given(st.integers(1, 100))
def test_pauses_begin_after_some_failures_and_never_get_shorter(failures: int):
    assert (pause_ms(failures) > 0) == (failures >= PATIENCE)
    assert pause_ms(failures) <= pause_ms(failures + 1) <= LONGEST_MS


@given(st.lists(st.tuples(HOSTS, SHAPES, st.booleans()), max_size=60))
def test_a_host_is_left_alone_only_after_failures_of_that_kind_since_it_last_worked(steps):
    found, in_a_row = Pauses(), dict[tuple[str, PodShape], int]()
    for now, (host, shape, works) in enumerate(steps):
        if works:
            found.worked(host, shape)
            in_a_row.pop((host, shape), None)
        else:
            found.failed(host, shape, now)
            in_a_row[host, shape] = in_a_row.get((host, shape), 0) + 1
        for kind in (PodShape(1000, 1024), PodShape(2000, 1024)):
            expected = {one for (one, of), count in in_a_row.items() if of == kind and count >= PATIENCE}
            assert found.hosts(kind, now) == expected
            assert not found.hosts(kind, now + LONGEST_MS)
    assert (found.next_ms(len(steps)) is not None) == any(count >= PATIENCE for count in in_a_row.values())


def test_a_flood_of_failures_is_forgotten_from_its_beginning():
    found, shape = Memory(), PodShape(1000, 1024)
    most = max(memories.MOST_HOSTS, pauses.MOST)
    for number in range(most + 10):
        for _ in range(PATIENCE):
            found.seen(Seen(f"h{number}", What.REFUSED, number, shape, b"a"))
    now = most + 10
    assert len(found.left_alone(shape, None, now)) <= pauses.MOST
    assert found.score("h0", now) == 0
    assert found.score(f"h{most + 9}", now) > 0
    assert len(found.moved(now)) <= memories.MOST_HOSTS


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 30)), max_size=80))
def test_who_ran_a_manifest_is_known_of_the_last_ones(runs: list[tuple[int, int]]):
    found = Ran()
    known: dict[bytes, frozenset[str]] = {}
    for manifest, host in runs:
        before = {one: frozenset(found.hosts(one)) for one in known}
        digest = manifest.to_bytes(2, "big")
        changed = found.saw(digest, f"h{host}")
        known[digest] = frozenset()
        assert digest in found
        assert f"h{host}" in found.hosts(digest)
        after = {one: frozenset(found.hosts(one)) for one in known}
        moved = frozenset().union(*(after[one] ^ before.get(one, frozenset()) for one in known))
        assert moved == changed
        assert all(len(hosts) <= ran.MOST_HOSTS for hosts in after.values())


def test_of_many_manifests_the_one_that_ran_the_longest_ago_is_forgotten():
    found = Ran()
    for number in range(ran.MOST_MANIFESTS):
        found.saw(number.to_bytes(2, "big"), "h")
    found.saw(bytes(2), "h")
    assert found.saw(b"one more", "other") == {"h", "other"}
    assert bytes(2) in found
    assert (1).to_bytes(2, "big") not in found


@given(stories)
def test_what_a_manifest_may_have_caused_is_not_held_against_a_shape(story: list[Seen]):
    found = told([seen for seen in story if seen.what not in OF_THE_SHAPE])
    for seen in story:
        assert not found.left_alone(seen.shape, None, seen.at_ms)


@given(st.lists(st.integers(0, 2_000), max_size=60))
def test_a_latency_grows_only_where_it_is_far_above_the_least_that_was_told(told: list[int]):
    found, before, goes_on = Latencies(), 0, False
    known: list[int] = []
    for ms in told:
        grew = found.grew("h", ms, before)
        if grew:
            least = min(known[-latencies.MOST :])
            assert not goes_on
            assert ms > TIMES_USUAL * least
            assert ms > least + LEAST_MS
        if ms:
            most = max(known[-latencies.MOST :], default=ms)
            goes_on = (goes_on or grew) and ms > most + LEAST_MS
            known.append(ms)
        before = ms or before


def test_of_many_hosts_those_are_remembered_that_told_their_latency_last():
    found = Latencies()
    for number in range(latencies.MOST_HOSTS + 10):
        found.grew(f"h{number}", 10, 0)
    assert len(found) == latencies.MOST_HOSTS
    assert not found.grew("h0", 1_000, 0)
    assert found.grew("h20", 1_000, 0)
