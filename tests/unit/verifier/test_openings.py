"""Which hosts are challenged, and by whom."""

from dataclasses import replace

import pytest

from offchain.core.verifier.openings import (
    LEAST_PER_PERIOD_PPM,
    PPM,
    BlockDraw,
    chance_per_period_ppm,
    drawn_opening,
    free_devices,
    may_be_opened,
)
from offchain.schema.chain_types import _generated_chain as gen
from tests.support.chain_records import device, host_record

VERIFIERS = {f"5V{number}": bytes([number] * 32) for number in range(5)}
HOST, KEY = "5Host", bytes([200] * 32)
UNVERIFIED = host_record("5P", status=gen.HostStatusUnverified(), answers_challenges=True)


def draw_of(number: int) -> BlockDraw:
    return BlockDraw(number.to_bytes(32, "little"), 1_000_000, 2_000, 20_000, VERIFIERS)


def score(positive: int, negative: int) -> gen.HostScore:
    none = gen.Beta(0, 0)
    return gen.HostScore(none, gen.Beta(positive, negative), none, none, none, gen.Sla(0, 0), 0, 0)


NOTHING = gen.HostChallenges(None, None, None, None, None)


def openers(
    record: gen.HostRecord,
    found: gen.HostScore | None,
    draws: int = 2_000,
    of_host: gen.HostChallenges | None = None,
) -> list[str]:
    """Who opens a challenge of the host in each of many draws in which somebody does."""
    names = []
    for number in range(draws):
        at_once = [who for who in VERIFIERS if drawn_opening(who, HOST, KEY, record, found, of_host, draw_of(number))]
        assert len(at_once) <= 1, "several verifiers do not open one challenge each"
        names += at_once
    return names


def test_each_draw_has_at_most_one_opener_and_every_verifier_is_one_in_turn() -> None:
    found = openers(UNVERIFIED, None)
    assert 300 < len(found) < 500, "a fifth of the draws"
    assert set(found) == set(VERIFIERS)


def test_a_provider_does_not_open_as_a_verifier_of_its_own_host() -> None:
    assert "5V1" not in openers(replace(UNVERIFIED, provider="5V1"), None)


def test_good_hosts_are_challenged_less_often_but_always_sometimes() -> None:
    online = host_record("5P", answers_challenges=True)
    new, good = openers(online, None), openers(online, score(1_000 * PPM, 0))
    assert len(new) > 5 * len(good) > 0
    assert chance_per_period_ppm(score(10**15, 0)) == LEAST_PER_PERIOD_PPM
    assert chance_per_period_ppm(score(10 * PPM, 10 * PPM)) > chance_per_period_ppm(score(10 * PPM, PPM))


def test_a_missed_challenge_is_repeated_at_the_rate_of_a_new_host_once() -> None:
    online, good = host_record("5P", answers_challenges=True), score(1_000 * PPM, 0)
    new, seldom = openers(online, None), openers(online, good)
    for last in (None, 40):
        assert openers(online, good, of_host=replace(NOTHING, by_verifier_at=last, missed_at=50)) == new
    assert openers(online, good, of_host=replace(NOTHING, by_verifier_at=60, missed_at=50)) == seldom
    assert openers(online, good, of_host=replace(NOTHING, by_tenant_at=60, missed_at=50)) == new, (
        "not by the host's own"
    )


@pytest.mark.parametrize(
    "record",
    [
        replace(UNVERIFIED, answers_challenges=False),
        replace(UNVERIFIED, status=gen.HostStatusRetired()),
        replace(UNVERIFIED, devices=(device(milli_free=500),)),
        replace(UNVERIFIED, devices=(device(healthy=False),)),
        replace(UNVERIFIED, devices=()),
    ],
)
def test_hosts_that_cannot_be_challenged_are_not_drawn(record: gen.HostRecord) -> None:
    assert openers(record, None, draws=100) == []


def test_free_devices_are_healthy_and_without_a_lease() -> None:
    record = replace(UNVERIFIED, devices=(device(milli_free=0), device(), device(healthy=False), device()))
    assert list(free_devices(record)) == [1, 3]


def test_a_host_rests_between_challenges_and_a_silent_one_is_left_alone() -> None:
    draw = draw_of(1)
    heard = replace(UNVERIFIED, last_heartbeat=draw.now - 1_000)
    assert may_be_opened(heard, None, draw, 60_000)
    assert may_be_opened(heard, replace(NOTHING, by_verifier_at=draw.now - draw.rest_ms), draw, 60_000)
    assert not may_be_opened(heard, replace(NOTHING, by_verifier_at=draw.now - draw.rest_ms + 1), draw, 60_000)
    assert not may_be_opened(heard, replace(NOTHING, open=4), draw, 60_000)
    assert not may_be_opened(replace(heard, challenged=0), None, draw, 60_000)
    assert not may_be_opened(replace(heard, last_heartbeat=draw.now - 60_001), None, draw, 60_000)
