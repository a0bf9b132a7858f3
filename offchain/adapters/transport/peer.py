"""Connection to one peer, which many sessions share, by :class:`offchain.schema.protocol.mux.Mux`."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Final, Protocol

from offchain.adapters.transport.port import (
    ConnectionLost,
    HostMisbehaved,
    HostRefused,
    HostUnreachable,
    PeerConnection,
    refused,
)
from offchain.adapters.transport.session import WINDOW, Session, copy_of
from offchain.schema.protocol import mux, mux_events
from offchain.schema.protocol.messages import Code, Refusal, WireError

BACKLOG: Final = 1 << 20
"""Unsent bytes of all sessions above which a session waits with its body."""
MOST_UNREAD: Final = 64 << 20
"""Unsent bytes after which the connection is closed: the other side sends requests and never reads."""
MOST_UNREAD_OF_STRANGER: Final = 1 << 18
SLICE: Final = 1 << 15
"""Bytes that a host processes before it checks the limits of a connection again."""
STRANGER_SLICE: Final = 1 << 13
"""`SLICE` while no account is proven on the connection: others have to wait for what one peer overdraws."""
SLOTS: Final = 2 * mux.MAX_SESSIONS
"""Most requests in progress on a connection: all that may be open, and as many that the peer has dropped."""
STRANGER_SLOTS: Final = 8
"""Requests in progress at which a connection without a proven account is not read."""
FAREWELL_S: Final = 2.0


class PeerLimits(Protocol):
    """Limits of a peer of a host: :class:`offchain.adapters.transport.limits.ConnectionLimits`."""

    @property
    def is_proven(self) -> bool:
        """Whether the chain has confirmed an account on this connection."""
        ...

    def prove(self, account: str) -> None:
        """Note that the chain has confirmed this account on the connection."""
        ...

    def spend(self, frames: int, requests: int, size: int, now_s: float) -> float:
        """Charge what was read; return the seconds to wait before the connection is read again."""
        ...


class Peer:
    """A connection with its reader and writer, to be closed with :meth:`close`.

    `limits`: of a peer that dialled this host. A request takes a slot until the host calls :meth:`release` for it, even
    if the peer drops its session before.
    """

    def __init__(self, connection: PeerConnection, *, dialler: bool, limits: PeerLimits | None = None) -> None:
        self.connection = connection
        self._limits = limits
        self._in_progress = 0
        self._released = asyncio.Event()
        self._closing: asyncio.Task[None] | None = None
        """Ends with the connection; created when the connection is not read for a while."""
        self.mux = mux.Mux(dialler)
        self._sessions: dict[int, Session] = {}
        self._opened: asyncio.Queue[Session | None] = asyncio.Queue()
        self._error: Exception | None = None
        self._ready = asyncio.Event()
        self._pending_bytes = asyncio.Event()
        self._free = asyncio.Event()
        self._gone = asyncio.Event()
        self._tasks = [asyncio.create_task(self._write()), asyncio.create_task(self._read())]
        self.wake()

    @property
    def over(self) -> bool:
        """Whether the connection broke or was closed."""
        return self._error is not None

    async def ready(self) -> int:
        """Wait for the protocol version of both sides. Raises HostUnreachable, HostRefused, HostMisbehaved."""
        await self._ready.wait()
        if self.mux.version is None:
            raise copy_of(self._error) if self._error is not None else HostUnreachable("the connection is closed")
        return self.mux.version

    def open(self, request: bytes, *, window: int = WINDOW) -> Session:
        """Send a request. Raises HostUnreachable where the connection is closed, HostRefused where too much is open."""
        if self._error is not None:
            raise copy_of(self._error)
        try:
            number = self.mux.open(request, window)
        except mux.LocalProtocolError as error:
            raise refused(Code.BUSY, f"{error}.", "End one of them first.") from None
        session = self._sessions[number] = Session(self, number)
        self.wake()
        return session

    async def accept(self) -> Session | None:
        """The next request; None once the connection is over."""
        session = await self._opened.get()
        if session is None:
            self._opened.put_nowait(None)
        return session

    def prove(self, account: str) -> None:
        """End the limits of strangers for this connection: the chain has confirmed this account."""
        if self._limits is not None:
            self._limits.prove(account)
        self._released.set()

    def release(self) -> None:
        """Free the slot of an accepted session whose work has ended."""
        self._in_progress -= 1
        self._released.set()

    async def close(self, refusal: Refusal | None = None) -> None:
        """End the connection; a reason is sent to the other side first, which has FAREWELL_S to read it."""
        if refusal is not None and self._error is None:
            self.mux.go_away(refusal)
            self.wake()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._gone.wait(), FAREWELL_S)
        self._fail(HostUnreachable("the connection was closed"))
        await self.connection.close()
        tasks = self._tasks if self._closing is None else [*self._tasks, self._closing]
        # A cancelled task refers to its frames, and these to this peer: without the references, buffers are freed now.
        self._tasks, self._closing = [], None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def wake(self) -> None:
        """Have the writer send pending bytes."""
        self._pending_bytes.set()

    def forget(self, number: int) -> None:
        """Remove a session: it receives no more events."""
        self._sessions.pop(number, None)

    async def drained(self) -> None:
        """Wait until few bytes are pending."""
        while self.mux.pending > BACKLOG and self._error is None:
            self._free.clear()
            await self._free.wait()

    async def _write(self) -> None:
        try:
            while True:
                await self._pending_bytes.wait()
                self._pending_bytes.clear()
                # The bytes that all sessions have written meanwhile are sent together.
                while data := self.mux.take():
                    await self.connection.write(data)
                    self._free.set()
        except ConnectionLost as error:
            self._fail(_broken(error))

    async def _read(self) -> None:
        try:
            while self._error is None:
                data = await self.connection.read()
                if self._limits is None:
                    self._process(data)
                    continue
                start = 0
                while start < len(data):
                    end = start + (SLICE if self._limits.is_proven else STRANGER_SLICE)
                    await self._process_within_limits(data[start:end], self._limits)
                    start = end
            await self.connection.close()
        except ConnectionLost as error:
            self._fail(_broken(error))
        except WireError as error:
            if self.mux.pending:  # the reason for the other side
                self.wake()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._flushed(), FAREWELL_S)
            self._fail(HostMisbehaved(f"the other side broke the protocol: {error}."))
            await self.connection.close()
        finally:
            self._gone.set()

    def _process(self, data: bytes) -> None:
        for event in self.mux.receive(data):
            if self._error is not None:  # frames after the farewell are ignored
                break
            self._take(event)
        stranger = self._limits is not None and not self._limits.is_proven
        if self.mux.pending > (MOST_UNREAD_OF_STRANGER if stranger else MOST_UNREAD):
            raise WireError("it does not read what it is sent")
        self.wake()

    async def _process_within_limits(self, data: bytes, limits: PeerLimits) -> None:
        """Process bytes, and return when the connection may be read again."""
        frames, opened = self.mux.frames, self.mux.opened
        self._process(data)
        now_s = asyncio.get_running_loop().time()
        wait_s = limits.spend(self.mux.frames - frames, self.mux.opened - opened, len(data), now_s)
        if wait_s:
            await self._pause(wait_s)
        # A proven peer is refused instead: its sessions wait for frames of each other.
        while self._in_progress >= STRANGER_SLOTS and not limits.is_proven and self._error is None:
            self._released.clear()
            waiting = asyncio.ensure_future(self._released.wait())
            try:
                await self._pause(None, waiting)
            finally:
                waiting.cancel()

    async def _pause(self, wait_s: float | None, *until: asyncio.Future[Any]) -> None:
        """Do not read for `wait_s` seconds, or until a future is done. Raises ConnectionLost once the peer has left."""
        if self._closing is None:
            self._closing = asyncio.create_task(self.connection.wait_closed())
        await asyncio.wait({self._closing, *until}, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
        if self._closing.done():
            raise ConnectionLost("the other side ended the connection")

    async def _flushed(self) -> None:
        while self.mux.pending and self._error is None:
            self._free.clear()
            await self._free.wait()
        with contextlib.suppress(ConnectionLost):
            while True:
                await self.connection.read()

    def _take(self, event: mux_events.Event) -> None:
        match event:
            case mux_events.Ready():
                self._ready.set()
            case mux_events.Opened(number, request):
                if self._in_progress >= SLOTS:
                    self.mux.refuse(number, _NO_SLOT)
                    return
                self._in_progress += 1
                session = self._sessions[number] = Session(self, number, request)
                self._opened.put_nowait(session)
            case mux_events.GoneAway(refusal):
                self._fail(HostRefused(refusal))
            case _:
                session_ = self._sessions.get(event.session)
                if session_ is not None:
                    session_.take(event)
                    if session_.done:
                        self.forget(event.session)

    def _fail(self, error: Exception) -> None:
        if self._error is None:
            self._error = error
        for session in self._sessions.values():
            session.fail(self._error)
        self._sessions.clear()
        self._ready.set()
        self._free.set()
        self._released.set()
        self._opened.put_nowait(None)


_NO_SLOT: Final = Refusal(
    Code.BUSY,
    f"{SLOTS} requests of this connection are at work, dropped ones included.",
    "Try again when one of them has ended.",
)


def _broken(error: ConnectionLost) -> HostUnreachable:
    return HostUnreachable(f"The connection to the host broke ({error.message}).", "Try again.")
