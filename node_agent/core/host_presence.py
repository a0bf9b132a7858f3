"""Schedule of heartbeats and endpoint updates of the host. Pure."""

from __future__ import annotations

from enum import StrEnum

from offchain.schema.chain_types._generated_chain import (
    HostRecord,
    HostStatusRetired,
    HostStatusUnverified,
    HostStatusVerified,
)

BEAT_AT_PPM = 800_000
"""A heartbeat is free after half a period.

A later one lets the chain have more hosts; the rest of the period, and the time until the absence limit, allow for some
failures.
"""
FIRST_BEAT_AT_PPM = 950_000
"""The first heartbeat of a run is late, so that another agent with the same key shows itself before it."""
EARLY_BEAT_AT_PPM = 500_000
"""An agent that suspects another one sends its heartbeat earlier, so that the other agent sees a foreign one."""


class PresenceCall(StrEnum):
    """A call that is due."""

    HEARTBEAT = "heartbeat"
    ENDPOINT = "endpoint"


def due_calls(
    host: HostRecord, period_ms: int, endpoint: bytes, now_ms: int, beat_at_ppm: int = BEAT_AT_PPM
) -> frozenset[PresenceCall]:
    """Return the calls that are due. `endpoint`: the current address of the host; `now_ms`: chain time.

    `beat_at_ppm`: part of a period, in ppm, after which a heartbeat follows the last one. An unverified host sends
    heartbeats only if it answers challenges: the chain does not allow to challenge a silent host.
    """
    unverified = isinstance(host.status, HostStatusUnverified) and not host.answers_challenges
    if unverified or isinstance(host.status, HostStatusRetired):
        return frozenset()
    wanted = set()
    waited_ms = now_ms - host.last_heartbeat
    never = host.last_heartbeat == 0 or isinstance(host.status, HostStatusVerified)
    if never or waited_ms * 1_000_000 >= period_ms * beat_at_ppm:
        wanted.add(PresenceCall.HEARTBEAT)
    if endpoint and host.endpoint != endpoint:
        wanted.add(PresenceCall.ENDPOINT)
    return frozenset(wanted)
