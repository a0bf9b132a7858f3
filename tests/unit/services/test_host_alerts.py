"""What the notifier reads in a webhook of Alertmanager."""

import json

import pytest
from pydantic import ValidationError

from offchain.errors import OurError
from offchain.services.notifications.alerts import MOST_ALERTS, checked_token, host_alerts


def alert(**changes):
    labels = {"alertname": "GantryTargetDown", "severity": "page", "host": "5Host"}
    made = {"status": "firing", "labels": labels, "annotations": {"summary": "agent at x does not answer"}}
    return {**made, "fingerprint": "ab12", "startsAt": "2026-11-27T10:00:00Z", "generatorURL": "http://x/"} | changes


def message(*alerts, **changes):
    return json.dumps({"version": "4", "groupKey": "{}", "receiver": "notifier", "alerts": alerts} | changes).encode()


def test_alerts_with_a_host_are_read_and_others_left_out():
    (found,) = host_alerts(message(alert(), alert(labels={"alertname": "GantryDeadLetters"})))
    assert (found.host, found.name, found.status, found.severity) == ("5Host", "GantryTargetDown", "firing", "page")
    assert found.text == "Alert about host 5Host: agent at x does not answer."


def test_a_repetition_is_the_same_message_and_its_end_another():
    firing, again, over, later = host_alerts(
        message(alert(), alert(), alert(status="resolved"), alert(startsAt="2026-11-27T11:00:00Z"))
    )
    assert firing.about == again.about
    assert len({firing.about, over.about, later.about}) == 3
    assert over.text.startswith("No longer an alert about host 5Host: ")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        message(version="3"),
        message(alert(status="maybe")),
        message(alert(labels={"host": 7})),
        message(*[alert()] * (MOST_ALERTS + 1)),
    ],
)
def test_what_is_no_message_of_alertmanager_is_refused(body):
    with pytest.raises(ValidationError):
        host_alerts(body)


def test_long_texts_are_cut():
    (found,) = host_alerts(message(alert(annotations={"summary": "x" * 10_000})))
    assert len(found.text) < 600


@pytest.mark.parametrize("token", ["", "short", "a" * 15, "a b" * 10, "ä" * 20, "a" * 20 + "\n"])
def test_a_weak_token_is_refused(token):
    with pytest.raises(OurError, match="fewer than 16 printable"):
        checked_token(token)
