"""When to say on chain that this host is here, and where. Pure."""

from __future__ import annotations

from enum import StrEnum

from offchain.schema.chain_types._generated_chain import (
    HostRecord,
    HostStatusRetired,
    HostStatusUnverified,
    HostStatusVerified,
)

BEAT_AT_PPM = 800_000
"""A heartbeat is free from half a period on. The later it comes the more hosts the chain can have; what is left of the
period and the time until the absence limit are for a few failures."""
FIRST_BEAT_AT_PPM = 950_000
"""An agent is slow with the first heartbeat of its run: another one with the same key shows itself before that."""
EARLY_BEAT_AT_PPM = 500_000
"""An agent that suspects another one comes before it, so that the other sees a heartbeat that is not its own."""


class PresenceCall(StrEnum):
    """What to send now."""

    HEARTBEAT = "heartbeat"
    ENDPOINT = "endpoint"


def due_calls(
    host: HostRecord, period_ms: int, endpoint: bytes, now_ms: int, beat_at_ppm: int = BEAT_AT_PPM
) -> frozenset[PresenceCall]:
    """Return what is due. `endpoint`: where this host is to be found; `now_ms`: the chain's time.

    `beat_at_ppm`: the part of a period, in millionths, after which a heartbeat follows the last one. An unverified host
    sends heartbeats only if it answers challenges: the chain lets nobody challenge a host that is silent.
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
