"""When to say on chain that this host is here, and where. Pure."""

from __future__ import annotations

from enum import StrEnum

from offchain.schema._generated_chain import (
    HostRecord,
    HostStatusRetired,
    HostStatusUnverified,
    HostStatusVerified,
)

BEAT_AT_PPM = 600_000
"""A heartbeat is free from half a period on; a little later is safe, and leaves time for a few failures."""


class Due(StrEnum):
    """What to send now."""

    HEARTBEAT = "heartbeat"
    ENDPOINT = "endpoint"


def due(host: HostRecord, period_ms: int, endpoint: bytes, now_ms: int) -> frozenset[Due]:
    """What is due. `endpoint`: where this host is to be found; `now_ms`: the chain's time."""
    if isinstance(host.status, (HostStatusUnverified, HostStatusRetired)):
        return frozenset()
    wanted = set()
    waited_ms = now_ms - host.last_heartbeat
    never = host.last_heartbeat == 0 or isinstance(host.status, HostStatusVerified)
    if never or waited_ms * 1_000_000 >= period_ms * BEAT_AT_PPM:
        wanted.add(Due.HEARTBEAT)
    if endpoint and host.endpoint != endpoint:
        wanted.add(Due.ENDPOINT)
    return frozenset(wanted)
