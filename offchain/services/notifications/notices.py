"""What tenants and providers are notified of: notices and reminders that follow from an event. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from offchain.indexer.derive_values import text_of
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.chain_types.reasons import sentence
from offchain.services.event_text import phrase, time_text

Topic = Literal[
    "lease_ending",
    "lease_ended",
    "pod_moved",
    "host_degraded",
    "host_anomaly",
    "host_alert",
    "data_purge",
    "lease_disputed",
    "challenge_failed",
]
TOPICS: Final[Mapping[Topic, str]] = {
    "lease_ending": "a lease ends in a few hours, because its coins or its time are used up",
    "lease_ended": "a lease has ended, and why",
    "pod_moved": "a pod goes on at another host",
    "host_degraded": "a host went offline, was suspended, reported GPUs out of order, or lost a part of its bond",
    "host_anomaly": "a host starts pods slowly, or its reputation falls",
    "host_alert": "an alert of the operator's Prometheus about a host fires or is over",
    "data_purge": "the data of an ended rental will be removed",
    "lease_disputed": "a dispute about a lease is opened, decided, appealed or closed, and until when to act",
    "challenge_failed": "a host failed a challenge of its GPU, or did not answer one",
}
TEST_NOTICE: Final = "test-"
"""Begin of the ids of test notices."""
_ENDS: Final = frozenset({"PodStarted", "ToppedUp", "Extended", "Suspended", "Resumed"})
"""Events that tell when a lease is over by itself."""
_LEASE_LOSSES: Final = frozenset({"LeaseEnded", "PodLost", "Requeued"})
_LOST_CHALLENGES: Final[Mapping[str, str]] = {
    "Failed": "two committees found its proof wrong. It is suspended, and a part of its bond is lost.",
    "NotAnswered": "it was not answered, the second time. The host is suspended, and a part of its bond is lost.",
    "Missed": "it was not answered. Another miss within the period of misses is punished.",
}
"""Outcomes of challenges that a provider has to know of."""
_CAUSE: Final = "gantry agent status on its machine shows the cause."
_BAD_STATUSES: Final = frozenset({"Offline", "Suspended"})


@dataclass(frozen=True, slots=True)
class Happened:
    """An event with its place and the time of its block. `fields` is a JSON object."""

    block: int
    place: int
    time_ms: int
    pallet: str
    name: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LeaseNotice:
    """A notice for the tenant and the provider of a lease."""

    topic: Topic
    lease: int
    text: str
    event: str


@dataclass(frozen=True, slots=True)
class HostNotice:
    """A notice for the provider of a host, and those of `host_degraded` also for the tenants whose pods run there."""

    topic: Topic
    host: str
    text: str
    event: str


@dataclass(frozen=True, slots=True)
class DisputeNotice:
    """A notice for the tenant and the providers of the accused leases of a dispute.

    `accused`: the leases, where the event names them; else they are those of the event that opened the dispute.
    """

    topic: Topic
    task: int
    accused: tuple[int, ...] | None
    text: str
    event: str


@dataclass(frozen=True, slots=True)
class SetReminder:
    """A lease, or the keeping of its data, ends at this chain time. It replaces an earlier reminder."""

    topic: Topic
    lease: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class DropReminders:
    """A lease has ended: nothing is to be said of its end any more."""

    lease: int


Effect: TypeAlias = LeaseNotice | HostNotice | DisputeNotice | SetReminder | DropReminders


def effects_of(seen: Happened) -> list[Effect]:
    """Return what an event leads to. An event of an older runtime, with other fields, leads to nothing."""
    try:
        return list(_effects(seen))
    except (KeyError, TypeError, ValueError):
        return []


def _effects(seen: Happened) -> Iterator[Effect]:
    fields, event = seen.fields, f"{seen.block}.{seen.place}"
    lease = fields.get("lease")
    if seen.name in _ENDS and seen.pallet in ("Tasks", "Leases") and isinstance(lease, int):
        at_ms = fields.get("depletes_at", fields.get("ends_at"))
        if isinstance(at_ms, int):
            yield SetReminder("lease_ending", lease, at_ms)
    elif seen.pallet == "Tasks":
        yield from _of_tasks(seen, lease, event)
    elif (seen.pallet, seen.name) == ("Leases", "DataKept") and isinstance(lease, int):
        yield SetReminder("data_purge", lease, int(fields["until"]))
    elif seen.pallet == "Hosts" and isinstance(fields.get("host"), str):
        yield from _of_hosts(seen, fields["host"], event)
    elif seen.pallet == "Verification":
        yield from _of_verification(seen, event)


def _of_tasks(seen: Happened, lease: object, event: str) -> Iterator[Effect]:
    fields = seen.fields
    if seen.name in _LEASE_LOSSES and isinstance(lease, int):
        yield DropReminders(lease)
        reason = sentence(fields.get("reason"))
        yield LeaseNotice("lease_ended", lease, f"Lease {lease} of task {_task(lease)} ended: {reason}.", event)
    elif seen.name == "PodReported" and isinstance(lease, int):
        yield DropReminders(lease)
    elif seen.name == "LeaseMoved":
        yield DropReminders(int(fields["from"]))
        text = f"Pod of task {_task(fields['to'])} goes on at host {fields['host']}: {sentence(fields['reason'])}."
        yield LeaseNotice("pod_moved", int(fields["to"]), text, event)
    for bill in fields.get("bills", ()):
        yield DropReminders(int(bill["lease"]))


def _of_hosts(seen: Happened, host: str, event: str) -> Iterator[Effect]:
    fields = seen.fields
    text = None
    if seen.name == "StatusChanged" and (status := text_of(fields["to"])).partition("(")[0] in _BAD_STATUSES:
        text = f"Host {host} is {status}; it was {text_of(fields['from'])}."
    elif seen.name == "DeviceHealthChanged" and fields.get("unhealthy"):
        text = f"Host {host} reported GPUs out of order."
    elif seen.name in ("Slashed", "AbsenceReported"):
        text = f"Host {host} lost a part of its bond."
    if text is not None:
        yield HostNotice("host_degraded", host, text, event)


def _of_verification(seen: Happened, event: str) -> Iterator[Effect]:
    fields = seen.fields
    if seen.name == "ChallengeClosed":
        text = _LOST_CHALLENGES.get(text_of(fields["outcome"]))
        if text is not None:
            about = f"Challenge {fields['challenge']} of GPU {fields['device']} of host {fields['host']}"
            yield HostNotice("challenge_failed", fields["host"], f"{about}: {text} {_CAUSE}", event)
        return
    text = _dispute_text(seen.name, fields)
    if text is not None:
        accused = tuple(int(lease) for lease in fields["accused"]) if seen.name == "DisputeOpened" else None
        yield DisputeNotice("lease_disputed", int(fields["task"]), accused, text, event)


def _dispute_text(name: str, fields: Mapping[str, Any]) -> str | None:
    task = fields.get("task")
    evidence = f"gantry dispute add-evidence {task}"
    match name:
        case "DisputeOpened":
            until = time_text(fields["until"])
            return f"The result of task {task} is disputed. Parties name evidence until {until} UTC: {evidence}."
        case "Appealed":
            until = time_text(fields["until"])
            return f"The verdict about task {task} is appealed. Parties name evidence until {until} UTC: {evidence}."
        case "DisputeDecided":
            verdict = "upheld" if text_of(fields["verdict"]) == "Yes" else "rejected"
            until = fields["appeal_until"]
            last = "There is no further appeal."
            if until is not None:
                last = f"The losing side can appeal until {time_text(until)} UTC: gantry dispute appeal {task}."
            return f"A jury has decided the dispute about task {task}: {verdict}. {last}"
        case "DisputeClosed":
            outcome = phrase(fields["outcome"])
            return f"The dispute about task {task} is over: {outcome}."
    return None


def reminder_text(topic: str, lease: int, at_ms: int) -> str:
    """Return the text of a notice about a time that comes."""
    name, when = f"lease {lease} of task {_task(lease)}", time_text(at_ms)
    if topic == "data_purge":
        return f"The data of {name} is removed after {when} UTC. Keep it longer or fetch it."
    return f"The time or the coins of {name} are used up at {when} UTC. Top it up or extend it to go on."


def notice_id(account: str, topic: str, about: str) -> str:
    """Return the id of a notice: the same one for the same event or time, so that receivers can drop repetitions."""
    return hashlib.sha256(json.dumps([account, topic, about]).encode()).hexdigest()[:32]


def notice_of_test(account: str, subscription: str, now_ms: int) -> tuple[str, str]:
    """Return id and body of a notice by which an account tests its webhook. `now_ms`: the gateway's time."""
    id_ = TEST_NOTICE + notice_id(account, "test", f"{subscription}@{now_ms}")
    text = "This notice tests a webhook: the notifier reaches it. Check the signature with the webhook's secret."
    return id_, notice_body(id_, account, "test", text, {"webhook": subscription}, now_ms)


def notice_body(id_: str, account: str, topic: str, text: str, about: Mapping[str, Any], time_ms: int) -> str:
    """Return a notice as JSON. `time_ms`: chain time."""
    return json.dumps({"id": id_, "account": account, "topic": topic, "text": text, "time_ms": time_ms, **about})


def _task(lease: int) -> int:
    return lease_parts(lease)[0]
