"""What a task has to expect, as a command prints it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from offchain.cli.manifest_text import duration_text
from offchain.cli.outlooks import Asked
from offchain.cli.story import time_text
from offchain.core.conduct.deteriorating import AtRisk
from offchain.core.fit import Misfit
from offchain.core.outlook import Outlook
from offchain.core.values import Survival, Task
from offchain.schema.ids import lease_parts
from offchain.schema.manifest_values import format_amount

_NAMED = 3


def fields(outlook: Outlook, task: Task) -> dict[str, Any]:
    """For --json. Rates are base units per hour and pod; moments are ms of chain time."""
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
        "start_by_ms": outlook.start_by_ms,
        "standby": _standby(outlook) if task.survival is Survival.STANDBY else None,
        "ahead": outlook.ahead,
        "excluded_now": {str(reason): count for reason, count in outlook.now.items()},
        "excluded_always": {str(reason): count for reason, count in outlook.never.items()},
    }


def pairs(outlook: Outlook, task: Task, now_ms: int) -> list[tuple[str, object]]:
    """For people."""
    offers = outlook.offers
    named = ", ".join(offer.host for offer in offers[:_NAMED])
    more = f" and {len(offers) - _NAMED} more" if len(offers) > _NAMED else ""
    return [
        ("Hosts", f"{len(offers)} of {outlook.hosts} take it now" + (f": {named}{more}" if offers else "")),
        ("Later", f"{outlook.later} more when what runs there has ended" if outlook.later else None),
        ("Price", _price(outlook, task)),
        ("Start", start_text(outlook, now_ms)),
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


def risk_fields(risks: Sequence[AtRisk]) -> list[dict[str, Any]]:
    """For --json: pods on hosts that deteriorate."""
    return [{"pod": lease_parts(one.lease)[1], "host": one.host, "reason": one.risk} for one in risks]


def risk_text(risks: Sequence[AtRisk]) -> str | None:
    """For people."""
    return "; ".join(f"pod {lease_parts(one.lease)[1]}: {one.risk}" for one in risks) or None


def reasons_text(counts: Mapping[Misfit, int]) -> str:
    """How many hosts each rule excludes."""
    return ", ".join(f"{count} {reason}" for reason, count in counts.items())


def start_text(outlook: Outlook, now_ms: int) -> str:
    """When it is expected to start."""
    wait = outlook.ahead
    before = f"; {wait} task{'s' if wait > 1 else ''} wait{'' if wait > 1 else 's'} before it" if wait else ""
    if outlook.pods_now >= outlook.pods_needed:
        return f"now{before}"
    if outlook.pods_ever < outlook.pods_needed:
        fit = f"{outlook.pods_ever} of the {outlook.pods_needed} pods that it needs"
        return f"not with these hosts: {fit} would have room if nothing else ran"
    if outlook.start_by_ms is None:
        return f"when leases end that have no end yet{before}"
    minutes = max(0, outlook.start_by_ms - now_ms) // 60_000
    span = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
    # Whoever is ahead may take what ends first.
    room = f"there is room in {span}" if wait else f"in {span}"
    return f"{room} at the latest ({time_text(outlook.start_by_ms)}), as leases end{before}"


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
