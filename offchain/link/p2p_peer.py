"""One peer: its connection, and the sessions that share it. Runs :class:`offchain.schema.wire_mux.Mux`."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import Final

from offchain.link.p2p import Connection, ConnectionLost, HostMisbehaved, HostRefused, HostUnreachable, refused
from offchain.schema import wire_mux as mux
from offchain.schema.wire import Answer, Code, Control, Refusal, WireError
from offchain.schema.wire_frames import MAX_DATA

BACKLOG: Final = 1 << 20
"""A session waits with its body while so many bytes of all sessions are not handed to the connection yet."""
MOST_UNREAD: Final = 64 << 20
"""More than this waits to be sent only where the other side asks and never reads."""
FAREWELL_S: Final = 2.0
WINDOW: Final = 1 << 18
"""Credit for a body where nothing else is said."""
BULK_WINDOW: Final = 4 << 20
"""Credit for files, so that one round trip of latency does not halve the speed of a copy."""


class Session:
    """One question and its answer, with bodies both ways. Made by :class:`Peer`."""

    def __init__(self, peer: Peer, number: int, request: bytes = b"") -> None:
        self.request = request
        self._peer = peer
        self._number = number
        self._inbox: deque[tuple[int, bytes]] = deque()
        self._answer: Answer | None = None
        self._error: Exception | None = None
        self._ended = False
        self._ended_here = False
        self._waiters: list[asyncio.Future[None]] = []

    # --- the dialler's side ---------------------------------------------------------------------------------------

    async def answer(self) -> Answer:
        """The host's word. Raises :class:`HostRefused`, :class:`HostUnreachable`."""
        while self._answer is None:
            self._check()
            await self._wait()
        return self._answer

    # --- the host's side ------------------------------------------------------------------------------------------

    def accept(self, answer: Answer | None = None, *, window: int = 0) -> None:
        """Agree; the other side may send `window` bytes before they are read."""
        self._answer = answer or Answer()
        with contextlib.suppress(mux.LocalProtocolError):  # the other side has left; the next call says so
            self._peer.mux.accept(self._number, self._answer, window)
        self._peer.wake()

    @property
    def accepted(self) -> bool:
        """Whether the host has agreed."""
        return self._answer is not None

    # --- both -----------------------------------------------------------------------------------------------------

    @property
    def over(self) -> bool:
        """Whether the other side dropped it, or the connection broke."""
        return self._error is not None

    @property
    def done(self) -> bool:
        """Whether nothing more can happen to it."""
        return self._error is not None or (self._ended and self._ended_here)

    @property
    def error(self) -> Exception | None:
        """Why it is over: HostRefused where one side dropped it, HostUnreachable where the connection broke."""
        return self._error

    async def read(self) -> tuple[int, bytes] | None:
        """The next bytes and their channel; None at the end. Raises HostRefused, HostUnreachable with the reason."""
        while not self._inbox:
            if self._ended:
                return None
            self._check()
            await self._wait()
        channel, data = self._inbox.popleft()
        self._peer.mux.consumed(self._number, len(data) + 1)
        self._peer.wake()
        return channel, data

    def left(self) -> list[tuple[int, bytes]]:
        """What came before the connection broke and was not read; it is not read any more."""
        found = list(self._inbox)
        self._inbox.clear()
        return found

    async def read_main(self) -> bytes | None:
        """The next bytes of the body; None at the end. Words beside it are passed over."""
        while (piece := await self.read()) is not None:
            if piece[0] == mux.MAIN and piece[1]:
                return piece[1]
        return None

    async def write(self, data: bytes, channel: int = mux.MAIN) -> None:
        """Send all of it, as fast as the other side reads. Raises as :meth:`read`."""
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
        """Send a word beside the body."""
        await self.write(word.encode(), mux.CONTROL)

    def end(self) -> None:
        """Everything is sent."""
        with contextlib.suppress(mux.LocalProtocolError):
            self._peer.mux.end(self._number)
        self._ended_here = True
        if self.done:
            self._peer.forget(self._number)
        self._peer.wake()

    async def gone(self) -> Exception:
        """Wait until the other side drops it or the connection breaks; gives the reason."""
        while self._error is None:
            await self._wait()
        return self._error

    def drop(self, refusal: Refusal | None = None) -> None:
        """End it both ways; the other side is told why. Nothing where it is over."""
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
        """For :class:`Peer`: nothing more will come."""
        if self._error is None:
            self._error = error
        self._wake_all()

    def take(self, event: mux.Event) -> None:
        """For :class:`Peer`: what happened to this session."""
        match event:
            case mux.Accepted(_, answer):
                self._answer = answer
            case mux.Received(_, channel, data):
                self._inbox.append((channel, data))
            case mux.Ended():
                self._ended = True
            case mux.Refused(_, refusal) | mux.WasReset(_, refusal):
                self.fail(HostRefused(refusal))
            case _:
                pass
        self._wake_all()

    def _check(self) -> None:
        if self._error is not None:
            # A copy: an exception that is raised twice collects the frames of both.
            raise _again(self._error)

    async def _wait(self) -> None:
        # Several may wait; a flag that one of them clears would be missed by the others.
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
    """A connection with its reader and writer. Close it with :meth:`close`."""

    def __init__(self, connection: Connection, *, dialler: bool) -> None:
        self.connection = connection
        self.mux = mux.Mux(dialler)
        self._sessions: dict[int, Session] = {}
        self._opened: asyncio.Queue[Session | None] = asyncio.Queue()
        self._error: Exception | None = None
        self._ready = asyncio.Event()
        self._waking = asyncio.Event()
        self._free = asyncio.Event()
        self._gone = asyncio.Event()
        self._tasks = [asyncio.create_task(self._write()), asyncio.create_task(self._read())]
        self.wake()

    @property
    def over(self) -> bool:
        """Whether the connection broke or was closed."""
        return self._error is not None

    async def ready(self) -> int:
        """The version both sides speak. Raises :class:`HostUnreachable`, :class:`HostRefused`, HostMisbehaved."""
        await self._ready.wait()
        if self.mux.version is None:
            raise _again(self._error) if self._error is not None else HostUnreachable("the connection is closed")
        return self.mux.version

    def open(self, request: bytes, *, window: int = WINDOW) -> Session:
        """Ask. Raises :class:`HostUnreachable` where the connection is gone, HostRefused where too much is open."""
        if self._error is not None:
            raise _again(self._error)
        try:
            number = self.mux.open(request, window)
        except mux.LocalProtocolError as error:
            raise refused(Code.BUSY, f"{error}.", "End one of them first.") from None
        session = self._sessions[number] = Session(self, number)
        self.wake()
        return session

    async def accept(self) -> Session | None:
        """The next question; None once the connection is over."""
        session = await self._opened.get()
        if session is None:
            self._opened.put_nowait(None)
        return session

    async def close(self, refusal: Refusal | None = None) -> None:
        """End the connection; with a reason, the other side is told, and given a moment to read it."""
        if refusal is not None and self._error is None:
            self.mux.go_away(refusal)
            self.wake()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._gone.wait(), FAREWELL_S)
        self._fail(HostUnreachable("the connection was closed"))
        await self.connection.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- for sessions ---------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """There is something to send."""
        self._waking.set()

    def forget(self, number: int) -> None:
        """A session takes no more events."""
        self._sessions.pop(number, None)

    async def drained(self) -> None:
        """Wait until the connection has taken most of what there is to send."""
        while self.mux.pending > BACKLOG and self._error is None:
            self._free.clear()
            await self._free.wait()

    # --- inside ---------------------------------------------------------------------------------------------------

    async def _write(self) -> None:
        try:
            while True:
                await self._waking.wait()
                self._waking.clear()
                # What was said by all sessions meanwhile goes out together.
                while data := self.mux.take():
                    await self.connection.write(data)
                    self._free.set()
        except ConnectionLost as error:
            self._fail(_broken(error))

    async def _read(self) -> None:
        try:
            while self._error is None:
                for event in self.mux.receive(await self.connection.read()):
                    self._take(event)
                if self.mux.pending > MOST_UNREAD:
                    raise WireError("it does not read what it is sent")  # noqa: TRY301
                self.wake()
            await self.connection.close()
        except ConnectionLost as error:
            self._fail(_broken(error))
        except WireError as error:
            if self.mux.pending:  # a word of farewell
                self.wake()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._flushed(), FAREWELL_S)
            self._fail(HostMisbehaved(f"the other side broke the protocol: {error}."))
            await self.connection.close()
        finally:
            self._gone.set()

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
        self._opened.put_nowait(None)


def _broken(error: ConnectionLost) -> HostUnreachable:
    return HostUnreachable(f"The connection to the host broke ({error.message}).", "Try again.")


def _again(error: Exception) -> Exception:
    if isinstance(error, HostRefused):
        return HostRefused(error.refusal)
    if isinstance(error, (HostUnreachable, HostMisbehaved)):
        return type(error)(error.message, error.remedy)
    return error
