"""Whatever peers say of a host's network."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node_agent.core.netprobe import (
    CLASSES_MBPS,
    KEEP_MS,
    KEEP_PEERS,
    KEEP_SAMPLES,
    Book,
    Sample,
    Transfer,
    add,
    choose_peers,
    class_of,
    estimate,
    estimate_peer,
    is_news,
    speed_mbps,
)

SPEEDS = st.floats(1, 20_000)
GATEWAY = "5Gateway@192.0.2.1:4435"
MS = st.floats(0.05, 500)


def sample(mbps, wait_s, trips=(1.0,), at_ms=0):
    sizes = (64 << 10, 4 << 20)
    return Sample(at_ms, tuple(trips), tuple(Transfer(size, wait_s + size * 8 / mbps / 1e6) for size in sizes))


@given(SPEEDS, st.floats(0, 2))
def test_what_both_transfers_waited_for_does_not_count(mbps, wait_s):
    found = estimate_peer([sample(mbps, wait_s)])
    assert found.mbps_down == pytest.approx(mbps, rel=0.02)


@given(SPEEDS, SPEEDS)
def test_a_gateway_is_believed_by_itself_and_a_peer_is_not(gateway, peer):
    alone = add(Book(), "5Peer", sample(peer, 0.01))
    assert estimate(alone).mbps_down is None
    both = estimate(add(alone, GATEWAY, sample(gateway, 0.01)))
    assert (both.peers, both.gateways) == (1, 1)
    assert both.mbps_down >= gateway * 0.98
    assert both.mbps_up is None


@given(SPEEDS, SPEEDS)
def test_each_direction_counts_by_itself(down, up):
    one = replace(sample(down, 0.01), transfers_up=sample(up, 0.01).transfers)
    found = estimate(add(Book(), GATEWAY, one))
    assert (found.class_mbps, found.class_up_mbps) == (class_of(found.mbps_down), class_of(found.mbps_up))
    assert found.mbps_up == pytest.approx(up, rel=0.02)


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 1000))
def test_news_is_what_the_chain_takes_free_of_charge(down, up, new_down, new_up):
    differs = abs(down - new_down) / max(down, 1) > 0.1 or abs(up - new_up) / max(up, 1) > 0.1
    from_nothing = (down == 0 and new_down > 0) or (up == 0 and new_up > 0)
    assert is_news((down, up), (new_down, new_up)) == (differs or from_nothing)


@given(st.lists(SPEEDS, min_size=2, max_size=10), st.floats(1, 1e9))
def test_one_peer_alone_lifts_no_class(speeds, lie):
    book = Book()
    for number, mbps in enumerate(speeds):
        book = add(book, f"peer{number}", sample(mbps, 0.01))
    honest = estimate(book)
    lied = estimate(add(book, "liar", sample(lie, 0.0)))
    assert lied.mbps_down <= max(speeds) * 1.01
    assert honest.class_mbps <= class_of(max(speeds) * 1.01)


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 3 * KEEP_MS)), max_size=200))
def test_the_book_is_bounded_and_holds_nothing_old(visits):
    book = Book()
    for number, at_ms in sorted(visits, key=lambda visit: visit[1]):
        book = add(book, f"peer{number}", sample(100, 0, at_ms=at_ms))
        assert len(book.samples) <= KEEP_PEERS
        for samples in book.samples.values():
            assert 0 < len(samples) <= KEEP_SAMPLES
            assert all(at_ms - one.at_ms < KEEP_MS for one in samples)


@given(st.sets(st.text(min_size=1, max_size=4), max_size=20), st.integers(0, 50))
def test_others_are_visited_in_each_round_and_never_oneself(online, number):
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
    assert estimate_peer([Sample(0, (), transfers)]) is None
    assert estimate(Book()).class_mbps == 0


@given(st.lists(MS, min_size=1, max_size=9))
def test_latency_is_that_of_the_middle(trips):
    found = estimate_peer([sample(100, 0, trips)])
    assert min(trips) <= found.latency_ms <= max(trips)
    assert found.jitter_ms >= 0
