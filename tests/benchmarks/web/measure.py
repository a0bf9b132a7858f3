"""The HTTP API, its stream of events, metrics and the web console on this machine, in parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from main_job import say
from table import Figure

from web import lists, offers, page, reads, scrape, streams

TASKS: Final = 100_000
SECONDS: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPlan:
    """How much of everything: `seconds` of load, of events, and of scrapes each."""

    hosts: int = offers.HOSTS
    tasks: int = TASKS
    requests: int = offers.REQUESTS
    clients: int = streams.CLIENTS
    rate: int = reads.RATE
    seconds: int = SECONDS


_PARTS: Final[dict[str, Callable[[WebPlan], Sequence[Figure]]]] = {
    "offers": lambda plan: offers.measure(plan.hosts, plan.requests),
    "lists": lambda plan: lists.measure(plan.hosts, plan.tasks, plan.requests),
    "reads": lambda plan: reads.measure(plan.hosts, plan.tasks, plan.rate, plan.seconds),
    "streams": lambda plan: streams.measure(plan.clients, plan.seconds),
    "scrape": lambda plan: scrape.measure(scrape.HOSTS, plan.seconds),
    "page": lambda _: page.measure(),
}
PARTS: Final = tuple(_PARTS)


def measure(parts: Sequence[str], plan: WebPlan) -> list[Figure]:
    """Return the figures of the parts. A part whose program is not installed says so and has no figures."""
    figures: list[Figure] = []
    for name in parts:
        say(f"part {name}")
        figures += _PARTS[name](plan)
    return figures
