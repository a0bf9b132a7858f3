"""Observations of hosts by events, failure history and risks."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from offchain.core.scheduler import host_observations
from offchain.core.scheduler.host_health import (
    FIRST_COOLDOWN_MS,
    HALF_LIFE_MS,
    LONGEST_COOLDOWN_MS,
    MIN_STARTS,
    SLOW_START_MIN_MS,
    FailureHistory,
    LatencyHistory,
    StartTimes,
)
from offchain.core.scheduler.host_observations import HostObservation, ObservationKind
from offchain.core.scheduler.host_risk import PodAtRisk, Risk, pods_at_risk, risk_of
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.values import Host, HostStatus, Lease, LeaseState, TaskState
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import placement
from tests.support.core_builders import gpu, host, lease, snapshot, task

LEASE = lease_id(7, 0, 0)
RUNNING = task(7, lease(LEASE, created_at=100, state=LeaseState.ACTIVE), state=TaskState.RUNNING, manifest=b"m")
SHAPE = PodRequest.of(RUNNING).shape


class Happened(NamedTuple):
    pallet: str
    name: str
    fields: dict[str, Any]


def pod(name: str, **fields: Any) -> Happened:
    return Happened("Tasks", name, {"lease": LEASE, **fields})


def of_pod(*events: Happened) -> list[tuple[ObservationKind, int]]:
    found = list(host_observations.pod_observations(snapshot(RUNNING), events, 5_000))
    for seen in found:
        assert (seen.host, seen.at_ms, seen.shape, seen.manifest, seen.lease) == ("h1", 5_000, SHAPE, b"m", LEASE)
    return [(seen.kind, seen.took_ms) for seen in found]


@pytest.mark.parametrize(
    ("reason", "what"),
    [
        ({"HostRefused": "DriverError"}, ObservationKind.REFUSED),
        ({"HostRefused": "ResourcesUnavailable"}, ObservationKind.LACKED),
        ({"HostRefused": "ImageUnavailable"}, ObservationKind.NOT_RUN),
        ({"HostRefused": "ManifestInvalid"}, ObservationKind.NOT_RUN),
        ("StartTimeout", ObservationKind.START_TIMEOUT),
        ("HostLost", ObservationKind.LOST),
    ],
)
def test_the_reason_of_a_pod_failure_determines_the_observation(reason: object, what: ObservationKind):
    assert of_pod(pod("Requeued", reason=reason)) == of_pod(pod("PodLost", reason=reason)) == [(what, 0)]


def test_a_failover_counts_as_a_failure_of_the_host_and_a_move_does_not():
    moved = Happened("Tasks", "LeaseMoved", {"from": LEASE, "to": lease_id(7, 0, 1), "reason": "HostLost"})
    assert of_pod(moved) == [(ObservationKind.LOST, 0)]
    assert not of_pod(moved._replace(fields=moved.fields | {"reason": "Moved"}))


def test_a_reclaimed_lease_is_no_failure():
    assert not of_pod(pod("Requeued", reason="Reclaimed"))


def test_a_start_takes_as_long_as_its_lease_is_old():
    assert of_pod(pod("PodStarted")) == [(ObservationKind.STARTED, 4_900)]


def test_unknown_pods_and_other_events_yield_no_observation():
    assert not list(host_observations.pod_observations(snapshot(), [pod("PodStarted")], 0))
    assert not of_pod(pod("PodReported"), Happened("Hosts", "StatusChanged", {"host": "h1"}))


def test_absence_device_faults_and_proved_faults_are_observed():
    known = host("h1", devices=(gpu(), gpu(healthy=False), gpu()))
    events = [
        Happened("Hosts", "AbsenceReported", {"host": "h1"}),
        Happened("Hosts", "DeviceHealthChanged", {"host": "h1", "unhealthy": bytes([0, 1])}),
        Happened("Hosts", "Slashed", {"host": "h1", "fault": "WrongResult"}),
        Happened("Hosts", "Slashed", {"host": "h1", "fault": "Absent"}),
    ]
    found = list(host_observations.host_observations(snapshot(known), events, 9))
    assert found == [
        HostObservation("h1", what, 9)
        for what in (ObservationKind.ABSENT, ObservationKind.DEVICE_FAULT, ObservationKind.PROVED_FAULT)
    ]


def test_a_start_is_slow_compared_to_the_median_of_all_others():
    found = StartTimes()
    assert not any(found.is_slow(4_000) for _ in range(MIN_STARTS))
    assert not found.is_slow(SLOW_START_MIN_MS)
    assert found.is_slow(SLOW_START_MIN_MS + 1)
    lazy = StartTimes()
    assert not any(lazy.is_slow(60_000) for _ in range(MIN_STARTS))
    assert not lazy.is_slow(200_000)


def test_slow_starts_raise_the_score_without_a_cooldown():
    found = FailureHistory()
    for number in range(MIN_STARTS):
        found.observe(HostObservation("quick", ObservationKind.STARTED, 0, SHAPE, b"m", number, 4_000))
    for number in range(3):
        found.observe(HostObservation("slow", ObservationKind.STARTED, 0, SHAPE, b"m", 100 + number, 100_000))
    assert found.score("quick", 0) == 0
    assert found.score("slow", 0) > 0.25
    assert [what for what, _ in found.recent_failures("slow")] == [ObservationKind.SLOW_START] * 3
    assert not found.hosts_in_cooldown(SHAPE, b"m", 0)


def test_a_measured_round_trip_is_observed_with_the_value_before_it():
    told = Happened("Hosts", "NetworkMeasured", {"host": "h1", "down_mbps": 5, "up_mbps": 5, "latency_ms": 90})
    assert list(host_observations.host_observations(snapshot(host("h1", latency_ms=10)), [told], 9)) == [
        HostObservation("h1", ObservationKind.ROUND_TRIP, 9, took_ms=90, before_ms=10)
    ]
    assert list(host_observations.host_observations(snapshot(), [told], 9)) == [
        HostObservation("h1", ObservationKind.ROUND_TRIP, 9, took_ms=90)
    ]


def grew(*told: int, before: int = 0) -> list[bool]:
    found, news = LatencyHistory(), []
    for latency in told:
        news.append(found.has_grown("h1", latency, before))
        before = latency or before
    return news


def test_a_latency_has_grown_compared_to_the_median_of_its_host():
    assert grew(100, 301) == [False, True]
    assert grew(100, 300) == [False, False]
    assert grew(10, 60) == [False, False]
    assert grew(10, 61) == [False, True]
    assert grew(400, before=10) == [True]
    assert grew(400) == [False]
    assert grew(20, 0, 200) == [False, False, True]


def test_a_grown_latency_counts_once_until_it_recovers_or_becomes_usual():
    assert grew(10, 10, 100, 200, 300) == [False, False, True, False, False]
    assert grew(10, 100, 200, 900) == [False, True, False, False]
    assert grew(10, 100, 12, 100) == [False, True, False, True]
    settled = grew(10, 10, *[100] * 4, 1000)
    assert settled == [False, False, True, False, False, False, True]


def test_growing_latencies_raise_the_score_without_a_cooldown():
    found = FailureHistory()
    for number in range(6):
        found.observe(HostObservation("far", ObservationKind.ROUND_TRIP, 0, took_ms=10 if number % 2 == 0 else 500))
        found.observe(HostObservation("near", ObservationKind.ROUND_TRIP, 0, took_ms=10 + number))
    assert found.score("near", 0) == 0
    assert [what for what, _ in found.recent_failures("far")] == [ObservationKind.LATENCY] * 3
    assert found.score("far", 0) > 0.25
    assert found.changed_scores(0).keys() == {"far"}
    assert not found.hosts_in_cooldown(SHAPE, b"m", 0)


def refused(found: FailureHistory, at_ms: int, what: ObservationKind = ObservationKind.REFUSED) -> None:
    found.observe(HostObservation("h1", what, at_ms, SHAPE, b"m"))


def test_a_start_ends_the_cooldown_but_the_score_stays():
    found = FailureHistory()
    refused(found, 0)
    refused(found, 0)
    assert found.hosts_in_cooldown(SHAPE, None, 1) == {"h1"}
    assert found.next_ms(1) == FIRST_COOLDOWN_MS
    found.observe(HostObservation("h1", ObservationKind.STARTED, 1, SHAPE, b"m"))
    assert not found.hosts_in_cooldown(SHAPE, None, 1)
    assert found.score("h1", 0) == pytest.approx(0.5)
    assert found.score("h1", HALF_LIFE_MS) == pytest.approx(1 / 3)


def test_failures_far_apart_cause_no_cooldown():
    found = FailureHistory()
    for number in range(5):
        refused(found, number * 3 * LONGEST_COOLDOWN_MS)
        assert found.next_ms(number * 3 * LONGEST_COOLDOWN_MS) is None


def test_a_new_cooldown_of_a_manifest_is_reported_once():
    found = FailureHistory()
    refused(found, 0, ObservationKind.NOT_RUN)
    assert not found.new_manifest_cooldowns()
    assert found.has_failed(b"m")
    refused(found, 0, ObservationKind.NOT_RUN)
    assert found.new_manifest_cooldowns() == {b"m"}
    assert not found.new_manifest_cooldowns()
    assert found.hosts_in_cooldown(SHAPE, b"m", 0) == {"h1"}
    assert not found.hosts_in_cooldown(SHAPE, b"other", 0)
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


def test_pods_at_risk_by_the_records_of_the_chain():
    there = task(1, lease(1, host="a"), lease(2, host="b"), lease(3, host="gone"), state=TaskState.RUNNING)
    hosts = [host("a"), host("b", status=HostStatus.OFFLINE), host("c", score_ppm=0)]
    assert pods_at_risk(there, hosts) == (PodAtRisk(2, "b", Risk.AWAY),)


@pytest.mark.parametrize(("latency_ms", "risk"), [(0, None), (50, None), (51, Risk.LATENCY)])
def test_a_pod_is_at_risk_if_the_latency_of_its_host_exceeds_the_limit_of_its_task(latency_ms: int, risk: Risk | None):
    near = task(1, lease(1, host="a"), state=TaskState.RUNNING, placement=placement(max_latency_ms=50))
    anywhere = task(1, lease(1, host="a"), state=TaskState.RUNNING)
    there = host("a", latency_ms=latency_ms)
    assert [one.risk for one in pods_at_risk(near, [there])] == ([] if risk is None else [risk])
    assert not pods_at_risk(anywhere, [there])


def test_more_certain_risks_precede_latency():
    near = task(1, lease(1, host="a"), state=TaskState.RUNNING, placement=placement(max_latency_ms=50))
    away = host("a", latency_ms=51, status=HostStatus.OFFLINE)
    assert pods_at_risk(near, [away]) == (PodAtRisk(1, "a", Risk.AWAY),)
