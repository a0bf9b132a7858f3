"""The way to hosts: what a transport is, and how its use can fail.

A transport is an endpoint with an ed25519 key that can dial and accept; the key it reports for the other side is proven
by the handshake. Adapters: :mod:`offchain.link.p2p_iroh` (QUIC), :mod:`offchain.link.p2p_memory` (its in-memory twin).
"""

# ruff: noqa: N818  (errors are named for the fact, as on the chain)

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from offchain.link.errors import TheirError
from offchain.schema.wire import Refusal, WireError, frame, frame_length


class LinkError(TheirError):
    """Something on the way to a host failed. The text is fit for users."""

    code = "host"


class HostUnreachable(LinkError):
    """No connection could be made, or it broke."""


class HostRefused(LinkError):
    """The host answered, and said no. Also what a host's own callbacks raise to say no."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message, refusal.remedy, code=refusal.code.value)
        self.refusal = refusal


class HostMisbehaved(LinkError):
    """The host broke the protocol, or sent bytes that are not what the chain says."""


class StreamClosed(LinkError):
    """The other side ended or dropped this stream."""


class Stream(Protocol):
    """Bytes both ways, in order."""

    async def read_exact(self, size: int) -> bytes:
        """Exactly `size` bytes. Raises :class:`StreamClosed`."""
        ...

    async def write(self, data: bytes) -> None:
        """All of `data`. Raises :class:`StreamClosed`."""
        ...

    async def abort(self) -> None:
        """Drop both directions at once. Never raises."""
        ...


class Connection(Protocol):
    """One peer, many streams."""

    @property
    def remote_key(self) -> bytes:
        """The peer's ed25519 public key, proven by the handshake."""
        ...

    async def open_stream(self) -> Stream:
        """A new stream; the peer sees it with its first bytes. Raises :class:`HostUnreachable`."""
        ...

    async def accept_stream(self) -> Stream:
        """The next stream the peer opens. Raises :class:`StreamClosed` when the connection ends."""
        ...

    async def close(self) -> None:
        """End the connection and its streams. Never raises."""
        ...


class Transport(Protocol):
    """An endpoint."""

    @property
    def key(self) -> bytes:
        """The ed25519 public key of this endpoint."""
        ...

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where this endpoint listens: `ip:port`."""
        ...

    async def dial(self, key: bytes, addresses: Sequence[str], timeout_s: float) -> Connection:
        """Connect to the endpoint with this key and no other. Raises :class:`HostUnreachable`."""
        ...

    async def accept(self) -> Connection | None:
        """The next connection; None once this endpoint is closed."""
        ...

    async def close(self) -> None:
        """Stop listening and drop every connection. Never raises."""
        ...


async def read_frame(stream: Stream) -> bytes:
    """The next frame's content. Raises :class:`StreamClosed`, :class:`HostMisbehaved`."""
    try:
        length = frame_length(await stream.read_exact(4))
    except WireError as error:
        raise HostMisbehaved(str(error)) from None
    return await stream.read_exact(length) if length else b""


async def write_frame(stream: Stream, content: bytes) -> None:
    """Send one frame. Raises :class:`StreamClosed`."""
    await stream.write(frame(content))
