"""What a task has to expect, as a command prints it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from offchain.cli.kit.event_text import time_text
from offchain.cli.tenant.manifest_text import duration_text
from offchain.cli.tenant.outlooks import Asked
from offchain.core.fit import Misfit
from offchain.core.outlook import Outlook
from offchain.core.scheduler.host_risk import PodAtRisk
from offchain.core.starts import Starts
from offchain.core.values import Survival, Task
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.manifest.values import format_amount

_NAMED = 3


def fields(asked: Asked, reserved_ms: int | None = None) -> dict[str, Any]:
    """For --json. Rates are base units per hour and pod; moments are ms of chain time.

    `reserved_ms`: when a scheduler has room reserved for it.
    """
    outlook, task, starts = asked.outlook, asked.task, starts_of(asked, reserved_ms)
    rates = [offer.rate_per_hour for offer in outlook.offers]
    return {
        "hosts": outlook.hosts,
        "candidates": [
            {"host": offer.host, "provider": offer.provider, "pods": offer.pods, "rate_per_hour": offer.rate_per_hour}
            for offer in outlook.offers
        ],
        "candidates_later": outlook.later,
        "lowest_rate_per_hour": min(rates, default=None),
        "highest_rate_per_hour": max(rates, default=None),
        "max_rate_per_hour": task.max_rate_per_hour,
        "pods_needed": outlook.pods_needed,
        "pods_now": outlook.pods_now,
        "pods_ever": outlook.pods_ever,
        "start": "now" if outlook.starts_now else "waits",
        "starts": {"earliest": starts.earliest_ms, "latest": starts.latest_ms},
        "standby": _standby(outlook) if task.survival is Survival.STANDBY else None,
        "ahead": outlook.ahead,
        "excluded_now": {str(reason): count for reason, count in outlook.now.items()},
        "excluded_always": {str(reason): count for reason, count in outlook.never.items()},
    }


def pairs(asked: Asked, reserved_ms: int | None = None) -> list[tuple[str, object]]:
    """For people."""
    outlook, task = asked.outlook, asked.task
    offers = outlook.offers
    named = ", ".join(offer.host for offer in offers[:_NAMED])
    more = f" and {len(offers) - _NAMED} more" if len(offers) > _NAMED else ""
    return [
        ("Hosts", f"{len(offers)} of {outlook.hosts} take it now" + (f": {named}{more}" if offers else "")),
        ("Later", f"{outlook.later} more when what runs there has ended" if outlook.later else None),
        ("Price", _price(outlook, task)),
        ("Start", start_text(asked, reserved_ms)),
        ("Standby", _standby_text(outlook, task)),
        ("Not now", reasons_text(outlook.now) or None),
        ("Even empty", reasons_text(outlook.never) or None),
    ]


def leaving_fields(asked: Asked) -> dict[str, Any] | None:
    """For --json: which spot tasks would leave for it, of whom, and how long after they are told; or why none would."""
    found = asked.leaving
    if found is None:
        return None
    return {
        "tasks": sorted(found.victims),
        "of": dict(found.parts),
        "notice_ms": asked.notice_ms if found.victims else None,
        "nobody_leaves": found.why,
    }


def leaving_pairs(asked: Asked) -> list[tuple[str, object]]:
    """For people."""
    found = asked.leaving
    if found is None:
        return []
    whose = ", ".join(f"{many} of {name}" for name, many in found.parts.items())
    told = f"{whose}, {duration_text(asked.notice_ms)} after being told"
    return [("Spot tasks leave", told if found.victims else None), ("Nobody leaves", found.why)]


def risk_fields(risks: Sequence[PodAtRisk]) -> list[dict[str, Any]]:
    """For --json: pods on hosts that deteriorate."""
    return [{"pod": lease_parts(one.lease)[1], "host": one.host, "reason": one.risk} for one in risks]


def risk_text(risks: Sequence[PodAtRisk]) -> str | None:
    """For people."""
    return "; ".join(f"pod {lease_parts(one.lease)[1]}: {one.risk}" for one in risks) or None


def reasons_text(counts: Mapping[Misfit, int]) -> str:
    """How many hosts each rule excludes."""
    return ", ".join(f"{count} {reason}" for reason, count in counts.items())


def starts_of(asked: Asked, reserved_ms: int | None = None) -> Starts:
    """Between which moments it starts. `reserved_ms`: when a scheduler has room reserved for it."""
    found, soonest = asked.outlook.starts, asked.outlook.starts.earliest_ms
    if asked.leaving is not None and asked.leaving.victims:
        left_ms = asked.now_ms + asked.notice_ms
        soonest = left_ms if soonest is None else min(soonest, left_ms)
    if reserved_ms is None:
        return replace(found, earliest_ms=soonest)
    return Starts(reserved_ms if soonest is None else min(soonest, reserved_ms), reserved_ms)


def start_text(asked: Asked, reserved_ms: int | None = None) -> str:
    """When it is expected to start."""
    outlook, starts = asked.outlook, starts_of(asked, reserved_ms)
    wait, first, last = outlook.ahead, starts.earliest_ms, starts.latest_ms
    before = f"; {wait} task{'s' if wait > 1 else ''} wait{'' if wait > 1 else 's'} before it" if wait else ""
    if outlook.pods_ever < outlook.pods_needed:
        fit = f"{outlook.pods_ever} of the {outlook.pods_needed} pods that it needs"
        these = "the hosts that are online" if Misfit.NOT_ONLINE in outlook.never else "these hosts"
        return f"not with {these}: {fit} would have room if nothing else ran"
    if first is None:
        return f"when leases end that have no end yet{before}"
    soonest = f"in {_wait_text(first - asked.now_ms)} at the earliest"
    if first <= asked.now_ms:
        soonest = "now" if outlook.pods_now >= outlook.pods_needed else "as soon as jobs that run now are done"
    if last is None:
        why = "too many are ahead" if starts.too_many else "what is in its way may have no end"
        return f"{soonest}, and nobody knows when at the latest: {why}{before}"
    if outlook.starts_now or (soonest == "now" and last <= asked.now_ms):
        return f"now{before}"
    by = "as a scheduler has reserved" if reserved_ms is not None else "as leases end"
    wait_text, at = _wait_text(last - asked.now_ms), time_text(last)
    when = f"in {wait_text} ({at})" if first == last else f"{soonest}, in {wait_text} at the latest ({at})"
    return f"{when}, {by}{before}"


def _wait_text(ms: int) -> str:
    minutes = -(-max(0, ms) // 60_000)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def _standby(outlook: Outlook) -> dict[str, Any]:
    """What a standby of its pods has to expect: it is of another provider than the pod's host, wherever that is."""
    providers = len({offer.provider for offer in outlook.offers})
    rates = [offer.rate_per_hour for offer in outlook.offers] if providers > 1 else []
    return {
        "now": providers > 1,
        "providers": providers,
        "rate_per_hour_before": 0,
        "lowest_rate_per_hour_after": min(rates, default=None),
        "highest_rate_per_hour_after": max(rates, default=None),
    }


def _standby_text(outlook: Outlook, task: Task) -> str | None:
    if task.survival is not Survival.STANDBY:
        return None
    found = _standby(outlook)
    if not found["now"]:
        have = "those of one provider alone have" if found["providers"] else "no host has"
        return f"none could be named now: it is a host of another provider than the pod's, and {have} room"
    lowest, highest = found["lowest_rate_per_hour_after"], found["highest_rate_per_hour_after"]
    return (
        f"could be named now: hosts of {found['providers']} providers have room. It costs nothing; a pod that goes on "
        f"there costs what that host asks, {_span(lowest, highest)} an hour, out of the same deposit"
    )


def _span(lowest: int, highest: int) -> str:
    return format_amount(lowest) if lowest == highest else f"{format_amount(lowest)} to {format_amount(highest)}"


def _price(outlook: Outlook, task: Task) -> str | None:
    rates = [offer.rate_per_hour for offer in outlook.offers]
    if not rates:
        return None
    return f"{_span(min(rates), max(rates))} an hour and pod; the limit is {format_amount(task.max_rate_per_hour)}"
