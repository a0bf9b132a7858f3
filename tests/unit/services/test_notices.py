"""Which events lead to which notices, and what a webhook may be."""

import hashlib
import hmac

import pytest

from offchain.schema.chain_types.ids import lease_id
from offchain.services.notifications.notices import (
    DisputeNotice,
    DropReminders,
    Happened,
    HostNotice,
    LeaseNotice,
    SetReminder,
    effects_of,
    notice_id,
    reminder_text,
)
from offchain.services.notifications.sending import BadWebhook, checked_url, signature

LEASE = lease_id(7, 0, 0)
NEXT = lease_id(7, 0, 1)


def effects(pallet, name, **fields):
    return effects_of(Happened(5, 3, 1000, pallet, name, fields))


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        (("Tasks", "PodStarted", {"depletes_at": 9}), SetReminder("lease_ending", LEASE, 9)),
        (("Leases", "ToppedUp", {"depletes_at": 9}), SetReminder("lease_ending", LEASE, 9)),
        (("Leases", "Extended", {"ends_at": 9}), SetReminder("lease_ending", LEASE, 9)),
        (("Leases", "DataKept", {"until": 9}), SetReminder("data_purge", LEASE, 9)),
        (("Tasks", "PodReported", {}), DropReminders(LEASE)),
    ],
)
def test_ends_of_leases_are_noted(event, wanted):
    pallet, name, fields = event
    assert effects(pallet, name, lease=LEASE, **fields) == [wanted]


def test_an_ended_lease_is_told_and_no_longer_reminded_of():
    drop, notice = effects("Tasks", "LeaseEnded", lease=LEASE, reason="DurationExceeded", bills=[])
    assert drop == DropReminders(LEASE)
    assert isinstance(notice, LeaseNotice)
    assert (notice.topic, notice.lease, notice.event) == ("lease_ended", LEASE, "5.3")


def test_a_moved_pod_names_its_new_host():
    fields = {"task": 7, "from": LEASE, "to": NEXT, "host": "5Host", "reason": "Moved"}
    drop, notice = effects("Tasks", "LeaseMoved", **fields)
    assert drop == DropReminders(LEASE)
    assert (notice.topic, notice.lease) == ("pod_moved", NEXT)
    assert "5Host" in notice.text


@pytest.mark.parametrize(
    ("name", "fields", "is_told"),
    [
        ("StatusChanged", {"from": "Online", "to": "Offline"}, True),
        ("StatusChanged", {"from": "Online", "to": {"Suspended": "Fault"}}, True),
        ("StatusChanged", {"from": "Offline", "to": "Online"}, False),
        ("DeviceHealthChanged", {"unhealthy": [1]}, True),
        ("DeviceHealthChanged", {"unhealthy": []}, False),
        ("Slashed", {"fault": "x", "amount": 1}, True),
        ("AskChanged", {}, False),
    ],
)
def test_hosts_that_get_worse_are_told(name, fields, is_told):
    found = effects("Hosts", name, host="5Host", **fields)
    assert [(one.topic, one.host) for one in found if isinstance(one, HostNotice)] == (
        [("host_degraded", "5Host")] if is_told else []
    )


@pytest.mark.parametrize(
    ("name", "fields", "accused", "wanted"),
    [
        ("DisputeOpened", {"accused": [LEASE], "until": 60_000}, (LEASE,), "gantry dispute add-evidence 7"),
        ("DisputeDecided", {"verdict": "Yes", "appeal_until": 60_000}, None, "upheld. The losing side can appeal"),
        ("DisputeDecided", {"verdict": "No", "appeal_until": None}, None, "rejected. There is no further appeal"),
        ("Appealed", {"by": "5Who", "until": 60_000}, None, "is appealed"),
        ("DisputeClosed", {"outcome": "NoVerdict"}, None, "is over: no verdict"),
    ],
)
def test_steps_of_a_dispute_are_told_with_their_deadlines(name, fields, accused, wanted):
    (found,) = effects("Verification", name, task=7, **fields)
    assert isinstance(found, DisputeNotice)
    assert (found.topic, found.task, found.accused, found.event) == ("lease_disputed", 7, accused, "5.3")
    assert wanted in found.text
    assert ("1970" in found.text) == any(value == 60_000 for value in fields.values()), "the time of the deadline"


@pytest.mark.parametrize("name", ["VoteCommitted", "CommitteeDrawn", "JuryAwaited", "EvidenceAdded"])
def test_other_steps_of_a_dispute_are_not_told(name):
    assert effects("Verification", name, task=7) == []


@pytest.mark.parametrize(
    ("outcome", "wanted"),
    [
        ("Failed", "two committees"),
        ("NotAnswered", "the second time"),
        ("Missed", "Another miss"),
        ("Passed", None),
        ("NoVerdict", None),
    ],
)
def test_a_lost_challenge_is_told_to_the_provider(outcome, wanted):
    found = effects("Verification", "ChallengeClosed", challenge=3, host="5Host", device=1, outcome=outcome)
    assert [(one.topic, one.host) for one in found] == ([] if wanted is None else [("challenge_failed", "5Host")])
    assert all(wanted in one.text and "GPU 1 of host 5Host" in one.text for one in found)


def test_an_event_with_other_fields_leads_to_nothing():
    assert effects("Leases", "DataKept", lease=LEASE) == []
    assert effects("Tasks", "LeaseMoved", task=7) == []
    assert effects("Verification", "DisputeOpened", task=7) == []
    assert effects("Verification", "ChallengeClosed", challenge=7) == []


def test_an_id_is_the_same_for_the_same_thing_only():
    assert notice_id("a", "t", "5.3") == notice_id("a", "t", "5.3")
    assert len({notice_id(*one) for one in (("a", "t", "5.3"), ("b", "t", "5.3"), ("a", "t", "5.4"))}) == 3
    assert "task 7" in reminder_text("data_purge", LEASE, 0)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://10.1.2.3/",
        "https://169.254.169.254/latest",
        "https://[fd00::1]/",
        "https://localhost/",
        "https://intranet/",
        "https://printer.local/",
        "https://user:secret@example.org/",
        "https://example.org:0/",
        "https://example.org:99999/",
        "https://example.org/#part",
        "https://exa mple.org/",
        "ftp://example.org/",
        f"https://example.org/{'a' * 500}",
    ],
)
def test_urls_that_no_webhook_may_have(url):
    with pytest.raises(BadWebhook):
        checked_url(url)


def test_a_signature_covers_time_and_body():
    assert checked_url("https://hooks.example.org:8443/a?b=c") == "https://hooks.example.org:8443/a?b=c"
    wanted = hmac.new(b"key", b"12.body", hashlib.sha256).hexdigest()
    assert signature("key", b"body", 12) == f"t=12,v1={wanted}"
