"""Sentences for events: each names fields that its event has, and values are words."""

from __future__ import annotations

from dataclasses import fields
from string import Formatter

import pytest

from offchain.ports import ChainEvent
from offchain.schema.chain_types.ids import lease_id
from offchain.services.event_sentences import EVENT_SENTENCES
from offchain.services.event_text import event_text, state_after
from tests.support import _generated_events as typed_events

DERIVED = {"pod", "together", "error"}
"""Words that are no fields of an event."""
TYPES = {
    (kind.pallet, kind.name): kind
    for kind in vars(typed_events).values()
    if isinstance(kind, type) and issubclass(kind, typed_events.GantryEvent) and kind is not typed_events.GantryEvent
}
OF_OLD_RELEASES = {("Tasks", "StateChanged")}
LEASE = lease_id(7, 1, 0)
IN_REGION = "it is in the region eu, with round trips of at most 9 ms"
HOST, WHO = "5Host", "5Somebody"


@pytest.mark.parametrize(("pallet", "name"), sorted(EVENT_SENTENCES.keys() - OF_OLD_RELEASES))
def test_a_sentence_names_fields_of_its_event(pallet: str, name: str) -> None:
    named = {word for _, word, *_ in Formatter().parse(EVENT_SENTENCES[pallet, name]) if word}
    known = {field.name.rstrip("_") for field in fields(TYPES[pallet, name])}
    assert named <= known | DERIVED


@pytest.mark.parametrize("pallet", ["Tasks", "Agreements"])
def test_every_event_about_tenants_has_a_sentence(pallet: str) -> None:
    silent = {
        "BatchDone",
        "SchedulerBonded",
        "SchedulerLeaving",
        "SchedulerUnbonded",
        "QueuesPublished",
        "ParamsChanged",
    }
    missing = {name for of, name in TYPES if of == pallet and (of, name) not in EVENT_SENTENCES}
    assert missing <= silent


@pytest.mark.parametrize(
    ("pallet", "name", "values", "text"),
    [
        (
            "Verification",
            "AuditDrawn",
            {"task": 7, "lease": LEASE, "valid": 20, "probability_ppm": 50_000, "repeated": True},
            "After 20 valid results of its host, the work of pod 1 is repeated with a probability of 5 %: yes.",
        ),
        ("Verification", "ResultTagged", {"lease": LEASE, "tag": b"\1"}, "Pod 1 showed the tag of its result."),
        (
            "Verification",
            "SlashShared",
            {"task": 7, "lease": LEASE, "who": WHO, "amount": 10**12},
            "5Somebody receives 1 GTY of the slash of the host of pod 1.",
        ),
        (
            "Verification",
            "ResultsClosed",
            {"task": 7, "outcome": "NotRepeated"},
            "The results were compared: no other host repeated the work.",
        ),
        (
            "Agreements",
            "Countered",
            {"offer": 3, "by": "Provider", "rate_per_hour": 10**12, "duration_ms": 86_400_000, "until": 0},
            "The provider answers offer 3 with 1 GTY an hour for 1d; an answer is due by 1970-01-01 00:00:00.",
        ),
        (
            "Agreements",
            "OfferClosed",
            {"offer": 3, "outcome": {"BrokenBy": "Tenant"}, "compensation": 10**12},
            "Offer 3 is over: the tenant broke the agreement; 1 GTY of a bond went to the other side.",
        ),
        (
            "Agreements",
            "OfferClosed",
            {"offer": 3, "outcome": "Kept", "compensation": 0},
            "Offer 3 is over: it was kept; 0 GTY of a bond went to the other side.",
        ),
        (
            "Agreements",
            "Attested",
            {
                "attestation": 4,
                "auditor": WHO,
                "subject": {"Host": HOST},
                "attribute": {"Region": {"region": b"eu", "max_latency_ms": 9}},
                "expires_at": 0,
            },
            f"The auditor {WHO} attests for host {HOST}: {IN_REGION} (attestation 4), until 1970-01-01 00:00:00.",
        ),
        (
            "Agreements",
            "ResponseCounted",
            {"ticket": 5, "host": HOST, "in_time": False},
            "The provider of host 5Host responded to ticket 5 in time: no.",
        ),
        (
            "Agreements",
            "Voided",
            {"attestation": 4, "reason": "Expired"},
            "Attestation 4 is no longer in force: its time is over.",
        ),
    ],
)
def test_an_event_is_a_sentence(pallet: str, name: str, values: dict[str, object], text: str) -> None:
    assert event_text(ChainEvent(pallet, name, values, extrinsic=None)) == text


def test_a_job_that_nobody_repeats_is_reported() -> None:
    assert state_after(ChainEvent("Tasks", "NotRepeated", {"task": 7}, extrinsic=None)) == "Reported"
