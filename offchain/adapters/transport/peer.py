"""Connection to one peer and the sessions that share it, by :class:`offchain.schema.protocol.mux.Mux`."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

from offchain.adapters.transport.port import (
    ConnectionLost,
    HostMisbehaved,
    HostRefused,
    HostUnreachable,
    PeerConnection,
    refused,
)
from offchain.schema.protocol import mux
from offchain.schema.protocol.frames import MAX_DATA
from offchain.schema.protocol.messages import Answer, Code, Control, Refusal, WireError

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
MOST_IN_PIECE: Final = 1 << 16
"""Small pieces of a body that wait to be read are joined up to this size."""
FAREWELL_S: Final = 2.0
WINDOW: Final = 1 << 18
"""Default credit for a body, bytes."""
BULK_WINDOW: Final = 4 << 20
"""Credit for files, bytes, so that latency does not limit the speed of a copy."""


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


class Session:
    """One request and its answer, with bodies both ways. Made by :class:`Peer`."""

    def __init__(self, peer: Peer, number: int, request: bytes = b"") -> None:
        self.request = request
        self._peer = peer
        self._number = number
        self._inbox: deque[tuple[int, bytes | bytearray, int]] = deque()
        """Channel, bytes, and the credit that they use."""
        self._answer: Answer | None = None
        self._error: Exception | None = None
        self._ended = False
        self._ended_here = False
        self._waiters: list[asyncio.Future[None]] = []
        self._when_over: Callable[[], object] | None = None

    async def answer(self) -> Answer:
        """Wait for the host's answer. Raises :class:`HostRefused`, :class:`HostUnreachable`."""
        while self._answer is None:
            self._check()
            await self._wait()
        return self._answer

    def accept(self, answer: Answer | None = None, *, window: int = 0) -> None:
        """Accept the request; the other side may send `window` bytes before they are read."""
        self._answer = answer or Answer()
        with contextlib.suppress(mux.LocalProtocolError):  # the other side has left; the next call says so
            self._peer.mux.accept(self._number, self._answer, window)
        self._peer.wake()

    def when_over(self, act: Callable[[], object] | None) -> None:
        """Call `act` once, when the other side drops the session, this side does, or the connection breaks."""
        self._when_over = act

    @property
    def accepted(self) -> bool:
        """Whether the host has accepted the request."""
        return self._answer is not None

    @property
    def over(self) -> bool:
        """Whether the session was dropped, or the connection broke."""
        return self._error is not None

    @property
    def done(self) -> bool:
        """Whether both sides have ended the session."""
        return self._error is not None or (self._ended and self._ended_here)

    @property
    def error(self) -> Exception | None:
        """Why the session is over: HostRefused where a side dropped it, HostUnreachable where the connection broke."""
        return self._error

    async def read(self) -> tuple[int, bytes] | None:
        """The next bytes and their channel; None at the end. Raises HostRefused, HostUnreachable with the reason."""
        while not self._inbox:
            if self._ended:
                return None
            self._check()
            await self._wait()
        channel, data, credit = self._inbox.popleft()
        self._peer.mux.consumed(self._number, credit)
        self._peer.wake()
        return channel, bytes(data)

    def left(self) -> list[tuple[int, bytes]]:
        """Return the pieces that arrived and were not read, and remove them from the session."""
        found = [(channel, bytes(data)) for channel, data, _ in self._inbox]
        self._inbox.clear()
        return found

    async def read_main(self) -> bytes | None:
        """The next bytes of the body; None at the end. Control messages are skipped."""
        while (piece := await self.read()) is not None:
            if piece[0] == mux.MAIN and piece[1]:
                return piece[1]
        return None

    async def write(self, data: bytes, channel: int = mux.MAIN) -> None:
        """Send all of `data`, as fast as the other side reads. Raises as :meth:`read`."""
        view = memoryview(data)
        while view:
            self._check()
            room = min(self._peer.mux.room(self._number), MAX_DATA)
            if not room:
                await self._wait()
                continue
            await self._peer.drained()
            self._check()
            piece = bytes(view[: min(room, self._peer.mux.room(self._number))])
            if piece:
                self._peer.mux.data(self._number, channel, piece)
                self._peer.wake()
                view = view[len(piece) :]

    async def say(self, word: Control) -> None:
        """Send a control message."""
        await self.write(word.encode(), mux.CONTROL)

    def end(self) -> None:
        """End this side's body."""
        with contextlib.suppress(mux.LocalProtocolError):
            self._peer.mux.end(self._number)
        self._ended_here = True
        if self.done:
            self._peer.forget(self._number)
        self._peer.wake()

    async def gone(self) -> Exception:
        """Wait until the session is dropped or the connection breaks; return the reason."""
        while self._error is None:
            await self._wait()
        return self._error

    def drop(self, refusal: Refusal | None = None) -> None:
        """End the session both ways, and send the reason to the other side. Does nothing where it is over."""
        reason = refusal or Refusal(Code.GONE, "The other side left.", "")
        with contextlib.suppress(mux.LocalProtocolError):
            if self._answer is None and not self._peer.mux.dialler:
                self._peer.mux.refuse(self._number, reason)
            else:
                self._peer.mux.reset(self._number, reason)
        self._peer.forget(self._number)
        self.fail(HostRefused(reason))
        self._peer.wake()

    def fail(self, error: Exception) -> None:
        """Note that the session is over. Called by :class:`Peer`."""
        if self._error is None:
            self._error = error
            act, self._when_over = self._when_over, None
            if act is not None:
                act()
        self._wake_all()

    def take(self, event: mux.Event) -> None:
        """Process an event of this session. Called by :class:`Peer`."""
        match event:
            case mux.Accepted(_, answer):
                self._answer = answer
            case mux.Received(_, channel, data):
                self._add(channel, data)
            case mux.Ended():
                self._ended = True
            case mux.Refused(_, refusal) | mux.WasReset(_, refusal):
                self.fail(HostRefused(refusal))
            case _:
                pass
        self._wake_all()

    def _add(self, channel: int, data: bytes) -> None:
        """Store bytes to be read; small pieces are joined, or each byte of a peer could cost a hundred."""
        if self._inbox and channel != mux.CONTROL and len(data) < mux.SMALL_PIECE:
            last_channel, last, credit = self._inbox[-1]
            if last_channel == channel and len(last) + len(data) <= MOST_IN_PIECE:
                together = last if isinstance(last, bytearray) else bytearray(last)
                together += data
                self._inbox[-1] = channel, together, credit + len(data) + 1
                return
        self._inbox.append((channel, data, len(data) + 1))

    def _check(self) -> None:
        if self._error is not None:
            # A copy: an exception that is raised twice collects the frames of both.
            raise _copy_of(self._error)

    async def _wait(self) -> None:
        # Several tasks may wait; an event that one of them clears would be missed by the others.
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        finally:
            self._waiters.remove(waiter)

    def _wake_all(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)


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
            raise _copy_of(self._error) if self._error is not None else HostUnreachable("the connection is closed")
        return self.mux.version

    def open(self, request: bytes, *, window: int = WINDOW) -> Session:
        """Send a request. Raises HostUnreachable where the connection is closed, HostRefused where too much is open."""
        if self._error is not None:
            raise _copy_of(self._error)
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

    def _take(self, event: mux.Event) -> None:
        match event:
            case mux.Ready():
                self._ready.set()
            case mux.Opened(number, request):
                if self._in_progress >= SLOTS:
                    self.mux.refuse(number, _NO_SLOT)
                    return
                self._in_progress += 1
                session = self._sessions[number] = Session(self, number, request)
                self._opened.put_nowait(session)
            case mux.GoneAway(refusal):
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


def _copy_of(error: Exception) -> Exception:
    if isinstance(error, HostRefused):
        return HostRefused(error.refusal)
    if isinstance(error, (HostUnreachable, HostMisbehaved)):
        return type(error)(error.message, error.hint)
    return error
