"""Whatever peers say of a host's network."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node_agent.core.network_estimate import (
    CLASSES_MBPS,
    KEEP_MS,
    KEEP_PEERS,
    KEEP_SAMPLES,
    LEAST_NEWS_MS,
    MOST_LATENCY_MS,
    RECENT_MS,
    ROUND_MS,
    PeerHistory,
    PeerSample,
    PublishedNetwork,
    Transfer,
    add_sample,
    choose_peers,
    class_of,
    estimate,
    estimate_peer,
    should_publish,
    speed_mbps,
)

SPEEDS = st.floats(1, 20_000)
GATEWAY = "5Gateway@192.0.2.1:4435"
MS = st.floats(0.05, 500)
NUMBERS = st.integers(0, 1000)


def sample(mbps, wait_s, trips=(1.0,), at_ms=0):
    sizes = (64 << 10, 4 << 20)
    return PeerSample(at_ms, tuple(trips), tuple(Transfer(size, wait_s + size * 8 / mbps / 1e6) for size in sizes))


@given(SPEEDS, st.floats(0, 2))
def test_what_both_transfers_waited_for_does_not_count(mbps, wait_s):
    found = estimate_peer([sample(mbps, wait_s)])
    assert found.mbps_down == pytest.approx(mbps, rel=0.02)


@given(SPEEDS, SPEEDS)
def test_a_gateway_is_believed_by_itself_and_a_peer_is_not(gateway, peer):
    alone = add_sample(PeerHistory(), "5Peer", sample(peer, 0.01))
    assert estimate(alone).mbps_down is None
    both = estimate(add_sample(alone, GATEWAY, sample(gateway, 0.01)))
    assert (both.peers, both.gateways) == (1, 1)
    assert both.mbps_down >= gateway * 0.98
    assert both.mbps_up is None


@given(SPEEDS, SPEEDS)
def test_each_direction_counts_by_itself(down, up):
    one = replace(sample(down, 0.01), transfers_up=sample(up, 0.01).transfers)
    found = estimate(add_sample(PeerHistory(), GATEWAY, one))
    assert (found.class_mbps, found.class_up_mbps) == (class_of(found.mbps_down), class_of(found.mbps_up))
    assert found.mbps_up == pytest.approx(up, rel=0.02)


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.integers(0, 200))
def test_values_are_published_if_the_call_is_free(down, up, new_down, new_up, latency):
    differs = abs(down - new_down) / max(down, 1) > 0.1 or abs(up - new_up) / max(up, 1) > 0.1
    from_nothing = (down == 0 and new_down > 0) or (up == 0 and new_up > 0)
    assert should_publish(PublishedNetwork(down, up, latency), PublishedNetwork(new_down, new_up, latency)) == (
        differs or from_nothing
    )


@given(NUMBERS, NUMBERS)
def test_a_latency_is_published_if_it_differs_by_a_tenth_and_some_milliseconds(before, now):
    news = should_publish(PublishedNetwork(5, 5, before), PublishedNetwork(5, 5, now))
    assert news == (now > 0 if before == 0 else abs(before - now) > max(before / 10, LEAST_NEWS_MS))


@given(st.tuples(NUMBERS, NUMBERS, NUMBERS), st.tuples(NUMBERS, NUMBERS, NUMBERS))
def test_what_is_not_known_is_said_as_the_chain_has_it(known, found):
    told = PublishedNetwork(*found).over(PublishedNetwork(*known))
    assert all(one == (new or old) for one, new, old in zip(told, found, known, strict=True))


@given(MS, MS)
def test_a_change_of_latency_shows_after_two_visits(before, now):
    book = PeerHistory()
    for number, ms in enumerate((before, before, before, now, now)):
        book = add_sample(book, GATEWAY, PeerSample(number * ROUND_MS, (ms,) * 5))
    assert estimate(book).near_ms == now


def latencies(of, at_ms=0):
    """A book of one visit to each, by name: its round trip in ms."""
    book = PeerHistory()
    for name, ms in of.items():
        book = add_sample(book, name, PeerSample(at_ms, (ms,)))
    return book


@given(st.lists(MS, min_size=1, max_size=4), st.lists(MS, max_size=8))
def test_a_host_is_as_far_as_the_nearest_of_its_gateways(gateways, peers):
    named = {f"5Gateway@192.0.2.{number}:4435": ms for number, ms in enumerate(gateways)}
    found = estimate(latencies(named | {f"peer{number}": ms for number, ms in enumerate(peers)}))
    assert found.near_ms == min(gateways)


@given(st.lists(MS, max_size=10), st.floats(0, 1e9))
def test_one_peer_alone_makes_no_latency_neither_a_short_nor_a_long_one(honest, lie):
    book = latencies({f"peer{number}": ms for number, ms in enumerate(honest)})
    found = estimate(add_sample(book, "liar", PeerSample(0, (lie,)))).near_ms
    if len(honest) < 2:
        assert found is None
    else:
        assert min(honest) <= found <= max(honest)


@given(st.floats(0, 1e9))
def test_a_published_latency_is_rounded_up_to_milliseconds(ms):
    said = estimate(latencies({GATEWAY: ms})).published.latency_ms
    assert 1 <= said <= MOST_LATENCY_MS
    assert said == MOST_LATENCY_MS or ms <= said < max(ms, 0.5) + 1


@given(st.lists(MS, min_size=1, max_size=20), MS)
def test_a_latency_that_has_changed_is_all_that_counts_after_half_an_hour(before, now):
    book = PeerHistory()
    for number, ms in enumerate(before):
        book = add_sample(book, GATEWAY, PeerSample(number, (ms,)))
    book = add_sample(book, GATEWAY, PeerSample(len(before) + RECENT_MS, (now,)))
    assert estimate(book).near_ms == now
    peers = latencies({f"peer{number}": 1.0 for number in range(5)})
    assert estimate(add_sample(peers, "peer0", PeerSample(RECENT_MS, (now,)))).near_ms is None


@given(st.lists(SPEEDS, min_size=2, max_size=10), st.floats(1, 1e9))
def test_one_peer_alone_lifts_no_class(speeds, lie):
    book = PeerHistory()
    for number, mbps in enumerate(speeds):
        book = add_sample(book, f"peer{number}", sample(mbps, 0.01))
    honest = estimate(book)
    lied = estimate(add_sample(book, "liar", sample(lie, 0.0)))
    assert lied.mbps_down <= max(speeds) * 1.01
    assert honest.class_mbps <= class_of(max(speeds) * 1.01)


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 3 * KEEP_MS)), max_size=200))
def test_the_book_is_bounded_and_holds_nothing_old(visits):
    book = PeerHistory()
    for number, at_ms in sorted(visits, key=lambda visit: visit[1]):
        book = add_sample(book, f"peer{number}", sample(100, 0, at_ms=at_ms))
        assert len(book.samples) <= KEEP_PEERS
        for samples in book.samples.values():
            assert 0 < len(samples) <= KEEP_SAMPLES
            assert all(at_ms - one.at_ms < KEEP_MS for one in samples)


@given(st.sets(st.text(min_size=1, max_size=4), max_size=20), st.integers(0, 50))
def test_each_round_measures_other_peers_and_never_this_host(online, number):
    chosen = choose_peers("me", {*online, "me"}, number)
    assert "me" not in chosen
    assert set(chosen) <= online
    assert len(chosen) == len(set(chosen)) == min(3, len(online - {"me"}))
    assert choose_peers("me", sorted(online, reverse=True), number) == chosen


def test_in_time_everybody_is_visited():
    online = [f"peer{number}" for number in range(20)]
    assert {peer for number in range(60) for peer in choose_peers("me", online, number)} == set(online)


@given(st.floats(0, 1e6))
def test_a_class_is_never_above_the_speed(mbps):
    assert class_of(mbps) <= mbps
    assert class_of(mbps) in (*CLASSES_MBPS, 0)


@pytest.mark.parametrize(
    "transfers", [(), (Transfer(5, 1.0),), (Transfer(5, 1.0), Transfer(9, 0.5)), (Transfer(5, 1.0),) * 2]
)
def test_nonsense_says_nothing(transfers):
    assert speed_mbps(transfers) is None
    assert estimate_peer([PeerSample(0, (), transfers)]) is None
    assert estimate(PeerHistory()).published == (0, 0, 0)


@given(st.lists(MS, min_size=1, max_size=9))
def test_latency_is_that_of_the_middle(trips):
    found = estimate_peer([sample(100, 0, trips)])
    assert min(trips) <= found.latency_ms <= max(trips)
    assert found.jitter_ms >= 0
