"""Alerts of Prometheus as the API shows them, and the URL of a Prometheus."""

import pytest

from offchain.adapters.metrics.prometheus_api import checked_prometheus_url
from offchain.errors import OurError
from offchain.gateway.api.monitoring import MOST_SHOWN, alerts_of

AT = "2026-11-27T10:00:00.123456789Z"
AT_MS = 1_795_773_600_123


def alert(name="GantryTargetDown", state="firing", at=AT, severity="page", **labels):
    return {
        "labels": {"alertname": name, "severity": severity, **labels},
        "annotations": {"summary": f"{name} happened", "runbook": "docs/runbook/processes.md#x"},
        "state": state,
        "activeAt": at,
        "value": "1e+00",
    }


def test_an_alert_has_its_labels_and_time():
    (found,) = alerts_of([alert(job="agent", instance="10.0.0.7:9465", host="5Host")])
    assert found.model_dump() == {
        "name": "GantryTargetDown",
        "state": "firing",
        "severity": "page",
        "summary": "GantryTargetDown happened",
        "runbook": "docs/runbook/processes.md#x",
        "since_ms": AT_MS,
        "job": "agent",
        "instance": "10.0.0.7:9465",
        "host": "5Host",
    }


def test_the_most_urgent_comes_first():
    later = "2026-11-27T11:00:00Z"
    given = [
        alert("Pending", state="pending"),
        alert("Other", severity="odd"),
        alert("Ticket", severity="ticket"),
        alert("Later", at=later),
        alert("Page"),
    ]
    assert [one.name for one in alerts_of(given)] == ["Page", "Later", "Ticket", "Other", "Pending"]


def test_what_cannot_be_read_is_left_out_and_the_rest_bounded():
    odd = [{}, {"labels": 7}, alert(at="yesterday"), alert(state="inactive"), {"labels": {"alertname": "x"}}]
    assert alerts_of(odd) == []
    assert len(alerts_of([alert()] * (MOST_SHOWN + 1))) == MOST_SHOWN
    (long,) = alerts_of([alert(host="h" * 10_000)])
    assert long.host is not None
    assert len(long.host) == 500


@pytest.mark.parametrize("url", ["http://127.0.0.1:9090", "https://prometheus.example.org/base/"])
def test_a_url_is_taken_without_its_last_slash(url):
    assert checked_prometheus_url(url) == url.rstrip("/")


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:9090", "ftp://x", "http://", "http://a:b@x", "http://x?y=1", "http://x:0", "http://x:99999"]
)
def test_another_url_is_refused_by_name(url):
    with pytest.raises(OurError, match="is not the URL of a Prometheus"):
        checked_prometheus_url(url)
