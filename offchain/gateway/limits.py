"""Limits of a gateway's relayed streams. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from offchain.schema.protocol.messages import Code, Refusal

LEAST_WINDOW: Final = 1 << 16
MOST_WINDOW: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayLimits:
    """`window_bytes` is shared by all streams: it buffers what one side has sent and the other has not read."""

    hosts: int = 4096
    streams: int = 2048
    streams_of_host: int = 60
    """A connection has room for 64 sessions; the host needs the others."""
    streams_of_tenant: int = 32
    window_bytes: int = 64 << 20
    idle_s: float = 3600.0
    """How long a stream may transfer nothing before it is closed."""
    call_s: float = 10.0
    """How long a host may take to accept a caller."""


@dataclass(frozen=True, slots=True)
class RelayedStream:
    """A relayed stream, or a requested one: the accounts of the tenant and of the host."""

    tenant: str
    host: str


def refusal(streams: Collection[RelayedStream], wanted: RelayedStream, limits: RelayLimits) -> Refusal | None:
    """Return why one more stream is refused; None if it is accepted."""
    if len(streams) >= limits.streams:
        return Refusal(
            Code.BUSY,
            f"This gateway relays {limits.streams} streams, which is its limit.",
            "Use another gateway, or try again in a minute.",
        )
    of_host = sum(stream.host == wanted.host for stream in streams)
    if of_host >= limits.streams_of_host:
        return Refusal(
            Code.BUSY,
            f"{of_host} streams are relayed to host {wanted.host}, which is the limit.",
            "Try again in a minute.",
        )
    of_tenant = sum(stream.tenant == wanted.tenant for stream in streams)
    if of_tenant >= limits.streams_of_tenant:
        return Refusal(
            Code.BUSY,
            f"{of_tenant} streams are relayed for {wanted.tenant}, which is the limit.",
            "End one of them first.",
        )
    return None


def window(streams: int, limits: RelayLimits) -> int:
    """Return how many bytes each side of one more stream may send before the other has read them."""
    return max(LEAST_WINDOW, min(MOST_WINDOW, limits.window_bytes // (streams + 1)))
