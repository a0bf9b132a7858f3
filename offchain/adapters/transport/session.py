"""A session of a connection to a peer: one request and its answer, with bodies both ways."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from offchain.adapters.transport.port import HostMisbehaved, HostRefused, HostUnreachable
from offchain.schema.protocol import mux, mux_events
from offchain.schema.protocol.frames import MAX_DATA
from offchain.schema.protocol.messages import Answer, Code, Control, Refusal

if TYPE_CHECKING:
    from offchain.adapters.transport.peer import Peer

MOST_IN_PIECE: Final = 1 << 16
"""Small pieces of a body that wait to be read are joined up to this size."""
WINDOW: Final = 1 << 18
"""Default credit for a body, bytes."""
BULK_WINDOW: Final = 4 << 20
"""Credit for files, bytes, so that latency does not limit the speed of a copy."""


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

    def take(self, event: mux_events.Event) -> None:
        """Process an event of this session. Called by :class:`Peer`."""
        match event:
            case mux_events.Accepted(_, answer):
                self._answer = answer
            case mux_events.Received(_, channel, data):
                self._add(channel, data)
            case mux_events.Ended():
                self._ended = True
            case mux_events.Refused(_, refusal) | mux_events.WasReset(_, refusal):
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
            raise copy_of(self._error)

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


def copy_of(error: Exception) -> Exception:
    """Return an equal error of a transport: one that is raised twice collects the frames of both."""
    if isinstance(error, HostRefused):
        return HostRefused(error.refusal)
    if isinstance(error, (HostUnreachable, HostMisbehaved)):
        return type(error)(error.message, error.hint)
    return error
