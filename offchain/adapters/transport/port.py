"""Protocols and errors of the transport to hosts.

A transport is an endpoint with an ed25519 key that dials and accepts connections. The handshake proves the key of the
other side. A connection is one long-lived stream of bytes each way, which many sessions share (`transport.peer`).
Adapters: `transport.iroh_quic` (QUIC),
`transport.websocket` (secure websockets, where UDP is blocked), `transport.multi_transport` (both), and
:mod:`tests.support.memory_transport` (in memory).
"""

# ruff: noqa: N818  (errors are named for the fact, as on the chain)

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from offchain.adapters.transport.limits import Admission
from offchain.errors import TheirError
from offchain.schema.protocol.messages import Code, Refusal


class TransportError(TheirError):
    """Base of the errors of connections to hosts. The text is shown to users."""

    code = "host"


class HostUnreachable(TransportError):
    """No connection could be made, or it broke."""


class HostRefused(TransportError):
    """The host refused the request. Callbacks of a host raise it to refuse."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message, refusal.hint, code=refusal.code.value)
        self.refusal = refusal


class HostMisbehaved(TransportError):
    """The host broke the protocol, or sent other bytes than the chain records."""


class ConnectionLost(TransportError):
    """The connection ended or broke."""


def refused(code: Code, message: str, hint: str) -> HostRefused:
    """Return the error of a refusal."""
    return HostRefused(Refusal(code, message, hint))


class PeerConnection(Protocol):
    """A connection to one peer: an ordered stream of bytes each way."""

    @property
    def remote_key(self) -> bytes:
        """The peer's ed25519 public key, proven by the handshake."""
        ...

    @property
    def remote_address(self) -> str:
        """The IP address of the peer, without a port; empty where the transport does not know it."""
        ...

    @property
    def via(self) -> str:
        """Name of the transport, for people: `iroh`, `websocket`, `gateway` or `memory`."""
        ...

    async def read(self) -> bytes:
        """The next bytes, never none. Raises :class:`ConnectionLost`."""
        ...

    async def write(self, data: bytes) -> None:
        """Send all of `data`, as fast as the peer reads. One writer at a time. Raises :class:`ConnectionLost`."""
        ...

    async def wait_closed(self) -> None:
        """Wait until either side has ended the connection, or it broke. Never raises."""
        ...

    async def close(self) -> None:
        """End the connection at once, both ways; unsent bytes are lost. Never raises."""
        ...


Admit = Callable[[str, bool], Admission]
"""(IP address of a new connection, whether the peer has shown that it receives there) -> decision."""


def admit_all(_address: str, _validated: bool, /) -> Admission:  # noqa: FBT001  (a callback)
    """Accept each new connection."""
    return Admission.ACCEPT


class Transport(Protocol):
    """An endpoint with an ed25519 key."""

    @property
    def key(self) -> bytes:
        """The ed25519 public key of this endpoint."""
        ...

    @property
    def addresses(self) -> tuple[str, ...]:
        """Addresses at which this endpoint listens, in the form of `HostRecord.endpoint`."""
        ...

    async def dial(self, key: bytes, addresses: Sequence[str], timeout_s: float) -> PeerConnection:
        """Connect to the endpoint with this key and no other. Addresses of other transports are ignored.

        The peer sees the connection with the first bytes written to it. Raises :class:`HostUnreachable`.
        """
        ...

    def admit_by(self, admit: Admit) -> None:
        """Ask `admit` about each new connection before its handshake. Without this call each one is accepted."""
        ...

    async def accept(self) -> PeerConnection | None:
        """The next connection; None once this endpoint is closed."""
        ...

    async def close(self) -> None:
        """Stop listening and drop every connection. Never raises."""
        ...
