"""The way to hosts: what a transport is, and how its use can fail.

A transport is an endpoint with an ed25519 key that can dial and accept; the key it reports for the other side is proven
by the handshake. A connection is one stream of bytes each way, kept as long as two peers have something to say; many
sessions share it (`transport.peer`). Adapters: `transport.iroh_quic` (QUIC),
`transport.websocket` (secure websockets, where UDP is blocked), `transport.multi_transport` (both), and
:mod:`tests.support.memory_transport` (their twin in memory).
"""

# ruff: noqa: N818  (errors are named for the fact, as on the chain)

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from offchain.adapters.transport.limits import Admission
from offchain.errors import TheirError
from offchain.schema.protocol.messages import Code, Refusal


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


class ConnectionLost(LinkError):
    """The connection ended or broke."""


def refused(code: Code, message: str, remedy: str) -> HostRefused:
    """A refusal to raise."""
    return HostRefused(Refusal(code, message, remedy))


class Connection(Protocol):
    """One peer: a stream of bytes each way, in order."""

    @property
    def remote_key(self) -> bytes:
        """The peer's ed25519 public key, proven by the handshake."""
        ...

    @property
    def remote_address(self) -> str:
        """The IP address that the peer's bytes come from, without a port; empty where the transport does not know."""
        ...

    @property
    def via(self) -> str:
        """What carries it, for people: `iroh`, `websocket` or `memory`."""
        ...

    async def read(self) -> bytes:
        """The next bytes, never none. Raises :class:`ConnectionLost`."""
        ...

    async def write(self, data: bytes) -> None:
        """All of `data`; waits while the way is full. One writer at a time. Raises :class:`ConnectionLost`."""
        ...

    async def wait_closed(self) -> None:
        """Wait until either side has ended the connection, or it broke. Never raises."""
        ...

    async def close(self) -> None:
        """End it, both ways, at once; what was not sent is lost. Never raises."""
        ...


Admit = Callable[[str, bool], Admission]
"""(IP address of a new connection, whether the peer has shown that it receives there) -> decision."""


def admit_all(_address: str, _validated: bool, /) -> Admission:  # noqa: FBT001  (a callback)
    """Accept each new connection."""
    return Admission.ACCEPT


class Transport(Protocol):
    """An endpoint."""

    @property
    def key(self) -> bytes:
        """The ed25519 public key of this endpoint."""
        ...

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where this endpoint listens, in the words of `HostRecord.endpoint`."""
        ...

    async def dial(self, key: bytes, addresses: Sequence[str], timeout_s: float) -> Connection:
        """Connect to the endpoint with this key and no other. Addresses of other transports are passed over.

        The peer sees the connection with the first bytes written to it. Raises :class:`HostUnreachable`.
        """
        ...

    def admit_by(self, admit: Admit) -> None:
        """Ask `admit` about each new connection before its handshake. Without this call each one is accepted."""
        ...

    async def accept(self) -> Connection | None:
        """The next connection; None once this endpoint is closed."""
        ...

    async def close(self) -> None:
        """Stop listening and drop every connection. Never raises."""
        ...
