"""What events say about hosts, and what is remembered of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from core_builders import gpu, host, lease, snapshot, task

from offchain.core.conduct import observe
from offchain.core.conduct.deteriorating import AtRisk, Risk, at_risk, risk_of
from offchain.core.conduct.latencies import Latencies
from offchain.core.conduct.memory import Memory
from offchain.core.conduct.pauses import FIRST_MS, LONGEST_MS
from offchain.core.conduct.record import HALF_LIFE_MS
from offchain.core.conduct.seen import Seen, What
from offchain.core.conduct.starts import ENOUGH, LEAST_MS, Starts
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.values import Host, HostStatus, Lease, LeaseState, TaskState
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import placement

LEASE = lease_id(7, 0, 0)
RUNNING = task(7, lease(LEASE, created_at=100, state=LeaseState.ACTIVE), state=TaskState.RUNNING, manifest=b"m")
SHAPE = PodRequest.of(RUNNING).shape


class Happened(NamedTuple):
    pallet: str
    name: str
    fields: dict[str, Any]


def pod(name: str, **fields: Any) -> Happened:
    return Happened("Tasks", name, {"lease": LEASE, **fields})


def of_pod(*events: Happened) -> list[tuple[What, int]]:
    found = list(observe.of_pods(snapshot(RUNNING), events, 5_000))
    for seen in found:
        assert (seen.host, seen.at_ms, seen.shape, seen.manifest, seen.lease) == ("h1", 5_000, SHAPE, b"m", LEASE)
    return [(seen.what, seen.took_ms) for seen in found]


@pytest.mark.parametrize(
    ("reason", "what"),
    [
        ({"HostRefused": "DriverError"}, What.REFUSED),
        ({"HostRefused": "ResourcesUnavailable"}, What.LACKED),
        ({"HostRefused": "ImageUnavailable"}, What.NOT_RUN),
        ({"HostRefused": "ManifestInvalid"}, What.NOT_RUN),
        ("StartTimeout", What.START_TIMEOUT),
        ("HostLost", What.LOST),
    ],
)
def test_why_a_pod_came_to_nothing_says_what_its_host_did(reason: object, what: What):
    assert of_pod(pod("Requeued", reason=reason)) == of_pod(pod("PodLost", reason=reason)) == [(what, 0)]


def test_a_pod_that_goes_on_at_its_standby_failed_at_its_host_and_one_that_was_moved_did_not():
    moved = Happened("Tasks", "LeaseMoved", {"from": LEASE, "to": lease_id(7, 0, 1), "reason": "HostLost"})
    assert of_pod(moved) == [(What.LOST, 0)]
    assert not of_pod(moved._replace(fields=moved.fields | {"reason": "Moved"}))


def test_a_lease_that_its_provider_took_back_is_no_failure():
    assert not of_pod(pod("Requeued", reason="Reclaimed"))


def test_a_start_took_as_long_as_its_lease_is_old():
    assert of_pod(pod("PodStarted")) == [(What.STARTED, 4_900)]


def test_pods_that_are_not_known_and_other_events_say_nothing():
    assert not list(observe.of_pods(snapshot(), [pod("PodStarted")], 0))
    assert not of_pod(pod("PodReported"), Happened("Hosts", "StatusChanged", {"host": "h1"}))


def test_hosts_are_absent_lose_devices_and_are_proved_wrong():
    known = host("h1", devices=(gpu(), gpu(healthy=False), gpu()))
    events = [
        Happened("Hosts", "AbsenceReported", {"host": "h1"}),
        Happened("Hosts", "DeviceHealthChanged", {"host": "h1", "unhealthy": bytes([0, 1])}),
        Happened("Hosts", "Slashed", {"host": "h1", "fault": "WrongResult"}),
        Happened("Hosts", "Slashed", {"host": "h1", "fault": "Absent"}),
    ]
    found = list(observe.of_hosts(snapshot(known), events, 9))
    assert found == [Seen("h1", what, 9) for what in (What.ABSENT, What.DEVICE_FAULT, What.PROVED_FAULT)]


def test_a_start_is_slow_by_the_measure_of_all_others():
    found = Starts()
    assert not any(found.slow(4_000) for _ in range(ENOUGH))
    assert not found.slow(LEAST_MS)
    assert found.slow(LEAST_MS + 1)
    lazy = Starts()
    assert not any(lazy.slow(60_000) for _ in range(ENOUGH))
    assert not lazy.slow(200_000)


def test_slow_starts_speak_against_a_host_and_close_it_to_nobody():
    found = Memory()
    for number in range(ENOUGH):
        found.seen(Seen("quick", What.STARTED, 0, SHAPE, b"m", number, 4_000))
    for number in range(3):
        found.seen(Seen("slow", What.STARTED, 0, SHAPE, b"m", 100 + number, 100_000))
    assert found.score("quick", 0) == 0
    assert found.score("slow", 0) > 0.25
    assert [what for what, _ in found.last("slow")] == [What.SLOW_START] * 3
    assert not found.left_alone(SHAPE, b"m", 0)


def test_what_a_host_measured_is_seen_beside_what_it_had_told_before():
    told = Happened("Hosts", "NetworkMeasured", {"host": "h1", "down_mbps": 5, "up_mbps": 5, "latency_ms": 90})
    assert list(observe.of_hosts(snapshot(host("h1", latency_ms=10)), [told], 9)) == [
        Seen("h1", What.ROUND_TRIP, 9, took_ms=90, before_ms=10)
    ]
    assert list(observe.of_hosts(snapshot(), [told], 9)) == [Seen("h1", What.ROUND_TRIP, 9, took_ms=90)]


def grew(*told: int, before: int = 0) -> list[bool]:
    found, news = Latencies(), []
    for latency in told:
        news.append(found.grew("h1", latency, before))
        before = latency or before
    return news


def test_a_latency_has_grown_by_the_measure_of_its_own_host():
    assert grew(100, 301) == [False, True]
    assert grew(100, 300) == [False, False]
    assert grew(10, 60) == [False, False]
    assert grew(10, 61) == [False, True]
    assert grew(400, before=10) == [True]
    assert grew(400) == [False]
    assert grew(20, 0, 200) == [False, False, True]


def test_a_latency_that_has_grown_counts_once_until_it_is_as_it_was_or_has_become_what_is_usual():
    assert grew(10, 10, 100, 200, 300) == [False, False, True, False, False]
    assert grew(10, 100, 200, 900) == [False, True, False, False]
    assert grew(10, 100, 12, 100) == [False, True, False, True]
    settled = grew(10, 10, *[100] * 4, 1000)
    assert settled == [False, False, True, False, False, False, True]


def test_latencies_that_grow_speak_against_a_host_like_slow_starts():
    found = Memory()
    for number in range(6):
        found.seen(Seen("far", What.ROUND_TRIP, 0, took_ms=10 if number % 2 == 0 else 500))
        found.seen(Seen("near", What.ROUND_TRIP, 0, took_ms=10 + number))
    assert found.score("near", 0) == 0
    assert [what for what, _ in found.last("far")] == [What.LATENCY] * 3
    assert found.score("far", 0) > 0.25
    assert found.moved(0).keys() == {"far"}
    assert not found.left_alone(SHAPE, b"m", 0)


def refused(found: Memory, at_ms: int, what: What = What.REFUSED) -> None:
    found.seen(Seen("h1", what, at_ms, SHAPE, b"m"))


def test_a_start_forgives_what_failed_before_but_the_score_stays():
    found = Memory()
    refused(found, 0)
    refused(found, 0)
    assert found.left_alone(SHAPE, None, 1) == {"h1"}
    assert found.next_ms(1) == FIRST_MS
    found.seen(Seen("h1", What.STARTED, 1, SHAPE, b"m"))
    assert not found.left_alone(SHAPE, None, 1)
    assert found.score("h1", 0) == pytest.approx(0.5)
    assert found.score("h1", HALF_LIFE_MS) == pytest.approx(1 / 3)


def test_failures_that_lie_far_apart_are_accidents():
    found = Memory()
    for number in range(5):
        refused(found, number * 3 * LONGEST_MS)
        assert found.next_ms(number * 3 * LONGEST_MS) is None


def test_a_pause_for_a_manifest_is_told_once():
    found = Memory()
    refused(found, 0, What.NOT_RUN)
    assert not found.fresh_manifests()
    assert found.remembers(b"m")
    refused(found, 0, What.NOT_RUN)
    assert found.fresh_manifests() == {b"m"}
    assert not found.fresh_manifests()
    assert found.left_alone(SHAPE, b"m", 0) == {"h1"}
    assert not found.left_alone(SHAPE, b"other", 0)
    assert found.score("h1", 0) == 0


def on(place: int | None = None, **changes: Any) -> Lease:
    return lease(1, devices=() if place is None else (place,), state=LeaseState.ACTIVE, **changes)


@pytest.mark.parametrize(
    ("held", "there", "trouble", "risk"),
    [
        (on(), host(), 0.0, None),
        (on(), host(), 0.49, None),
        (on(), host(), 0.5, Risk.TROUBLE),
        (on(), host(score_ppm=299_999), 0.0, Risk.REPUTATION),
        (on(), host(score_ppm=300_000), 0.0, None),
        (on(), host(status=HostStatus.DRAINING), 0.0, None),
        (on(), host(status=HostStatus.OFFLINE), 0.0, Risk.AWAY),
        (on(0), host(devices=(gpu(), gpu(healthy=False))), 0.0, None),
        (on(1), host(devices=(gpu(), gpu(healthy=False))), 0.9, Risk.DEVICE),
        (on(1), host(status=HostStatus.OFFLINE, devices=(gpu(), gpu(healthy=False))), 0.9, Risk.AWAY),
        (on(1, reclaim_at=9), host(status=HostStatus.OFFLINE), 0.9, Risk.RECLAIMED),
    ],
)
def test_why_a_pod_is_likely_to_fail(held: Lease, there: Host, trouble: float, risk: Risk | None):
    assert risk_of(held, there, trouble) == risk


def test_what_the_chain_tells_of_a_tasks_pods():
    there = task(1, lease(1, host="a"), lease(2, host="b"), lease(3, host="gone"), state=TaskState.RUNNING)
    hosts = [host("a"), host("b", status=HostStatus.OFFLINE), host("c", score_ppm=0)]
    assert at_risk(there, hosts) == (AtRisk(2, "b", Risk.AWAY),)


@pytest.mark.parametrize(("latency_ms", "risk"), [(0, None), (50, None), (51, Risk.LATENCY)])
def test_a_pod_is_at_risk_whose_host_is_further_now_than_its_task_takes(latency_ms: int, risk: Risk | None):
    near = task(1, lease(1, host="a"), state=TaskState.RUNNING, placement=placement(max_latency_ms=50))
    anywhere = task(1, lease(1, host="a"), state=TaskState.RUNNING)
    there = host("a", latency_ms=latency_ms)
    assert [one.risk for one in at_risk(near, [there])] == ([] if risk is None else [risk])
    assert not at_risk(anywhere, [there])


def test_what_is_more_certain_is_told_before_a_latency():
    near = task(1, lease(1, host="a"), state=TaskState.RUNNING, placement=placement(max_latency_ms=50))
    away = host("a", latency_ms=51, status=HostStatus.OFFLINE)
    assert at_risk(near, [away]) == (AtRisk(1, "a", Risk.AWAY),)
