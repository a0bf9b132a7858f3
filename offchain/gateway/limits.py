"""How much a gateway carries, and for whom. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from offchain.schema.protocol.messages import Code, Refusal

LEAST_WINDOW: Final = 1 << 16
MOST_WINDOW: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`window_bytes` is shared by all streams: what one side has sent and the other has not read waits in it."""

    hosts: int = 4096
    streams: int = 2048
    streams_of_host: int = 60
    """A connection has room for 64 sessions; the others are the host's own."""
    streams_of_tenant: int = 32
    window_bytes: int = 64 << 20
    idle_s: float = 3600.0
    """A stream on which nothing moved for so long is cut."""
    call_s: float = 10.0
    """So long a host has to take up a caller."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream that is carried, or about to be: by whom, and to which host (their accounts)."""

    tenant: str
    host: str


def refusal(streams: Collection[Stream], wanted: Stream, limits: Limits) -> Refusal | None:
    """Why one more stream is not carried; None where it is."""
    if len(streams) >= limits.streams:
        return Refusal(
            Code.BUSY,
            f"This gateway carries {limits.streams} streams, which is all it may.",
            "Use another gateway, or try again in a minute.",
        )
    of_host = sum(stream.host == wanted.host for stream in streams)
    if of_host >= limits.streams_of_host:
        return Refusal(
            Code.BUSY,
            f"{of_host} streams are carried to host {wanted.host}, which is all there may be.",
            "Try again in a minute.",
        )
    of_tenant = sum(stream.tenant == wanted.tenant for stream in streams)
    if of_tenant >= limits.streams_of_tenant:
        return Refusal(
            Code.BUSY,
            f"{of_tenant} streams are carried for {wanted.tenant}, which is all there may be.",
            "End one of them first.",
        )
    return None


def window(streams: int, limits: Limits) -> int:
    """Bytes that each side of one more stream may send before the other has read them: fewer, the more there are."""
    return max(LEAST_WINDOW, min(MOST_WINDOW, limits.window_bytes // (streams + 1)))
