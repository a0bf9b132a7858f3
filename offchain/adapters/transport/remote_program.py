"""A program in a pod, controlled by its tenant. It survives a broken connection without lost or duplicated bytes.

When the connection breaks, the host keeps the program and its last output for a while, and this side keeps its last
input. Both count bytes, so that each knows where the other continues.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from offchain.adapters.transport.port import HostMisbehaved, HostRefused, HostUnreachable
from offchain.adapters.transport.session import Session
from offchain.schema.protocol.messages import Code, Control, Refusal, WireError
from offchain.schema.protocol.mux import CONTROL
from offchain.schema.protocol.operations import AttachArgs

if TYPE_CHECKING:
    from offchain.adapters.transport.host_client import HostClient

KEEP_INPUT: Final = 1 << 20
"""More than the host grants at once, so that all input that may be lost is still here."""
RESUME_S: Final = 50.0
"""Time for which a new connection is tried; the host keeps the program a little longer."""
RETRY_S: Final = 1.0


class RemoteProgram:
    """Output and input of a running program. Made by :meth:`HostClient.exec`."""

    def __init__(self, client: HostClient, lease: int, session: Session, token: str) -> None:
        self._client = client
        self._lease = lease
        self._session = session
        self._token = token
        self._received = 0
        """Bytes of output that arrived, including those in `_left`."""
        self._left: deque[tuple[int, bytes]] = deque()
        """Output of earlier connections that was not read yet."""
        self._sent = bytearray()
        """The last input, which ends at the offset `_sent_to`."""
        self._sent_to = 0
        self._input_ended = False
        self._size: tuple[int, int] | None = None
        self._resuming = asyncio.Lock()
        self.exit_code: int | None = None
        """Exit code as in a shell; None while the program runs."""
        self.on_break: Callable[[str], None] = lambda _reason: None
        """Called with the reason when the connection broke and a new one is tried."""

    async def read(self) -> tuple[int, bytes] | None:
        """The next output and its channel (MAIN with a terminal, else OUT or ERR); None when the program has ended.

        Raises :class:`HostRefused` where the host ended it, :class:`HostUnreachable` where no new connection came.
        """
        while self.exit_code is None:
            channel, data = self._left.popleft() if self._left else await self._next()
            if channel != CONTROL:
                return channel, data
            try:
                self.exit_code = Control.decode(data).exit_code
            except WireError as error:
                raise HostMisbehaved(f"the host's word is malformed: {error}") from None
        self._session.drop()
        return None

    async def _next(self) -> tuple[int, bytes]:
        while True:
            session = self._session
            try:
                piece = await session.read()
            except HostUnreachable as broken:
                await self._resume(session, broken)
                if self._left:
                    return self._left.popleft()
                continue
            if piece is None:
                raise HostMisbehaved("the host did not say how the program ended")
            self._count(piece)
            return piece

    def _count(self, piece: tuple[int, bytes]) -> None:
        channel, data = piece
        if channel != CONTROL:
            self._received += len(data)

    async def write(self, data: bytes) -> None:
        """Send input to the program."""
        for start in range(0, len(data), KEEP_INPUT // 4):
            piece = data[start : start + KEEP_INPUT // 4]
            self._sent += piece
            self._sent_to += len(piece)
            del self._sent[:-KEEP_INPUT]
            await self._try(partial(_write, piece))

    async def end_input(self) -> None:
        """End the input."""
        self._input_ended = True
        await self._try(_end)

    async def resize(self, rows: int, columns: int) -> None:
        """Set the size of the terminal."""
        self._size = (rows, columns)
        await self._try(lambda session: session.say(Control(resize=(rows, columns))))

    async def kill(self) -> None:
        """End the program."""
        self._session.drop(Refusal(Code.GONE, "The tenant ended the program.", ""))

    async def _try(self, work: Callable[[Session], Awaitable[None]]) -> None:
        session = self._session
        try:
            await work(session)
        except HostUnreachable as broken:
            await self._resume(session, broken)  # which sends lost input again

    async def _resume(self, session: Session, broken: HostUnreachable) -> None:
        async with self._resuming:
            if self._session is not session:
                return
            self.on_break(broken.message)
            # A writer may notice the break first: output that the reader has not taken yet has arrived, and is not
            # requested again.
            for piece in session.left():
                self._count(piece)
                self._left.append(piece)
            deadline = asyncio.get_running_loop().time() + RESUME_S
            while True:
                try:
                    self._session = await self._attach()
                except HostUnreachable:
                    if asyncio.get_running_loop().time() > deadline:
                        raise
                    await asyncio.sleep(RETRY_S)
                except HostRefused as no:
                    if no.refusal.code not in (Code.BUSY, Code.EXPIRED):
                        raise
                    await asyncio.sleep(RETRY_S)
                else:
                    return

    async def _attach(self) -> Session:
        session, answer = await self._client.ask(AttachArgs(self._token, self._received), self._lease)
        held = answer.held or 0
        if not 0 <= self._sent_to - held <= len(self._sent):
            session.drop()
            raise HostMisbehaved(f"the host has {held} bytes of input; {self._sent_to} were sent")
        if self._size is not None:
            await session.say(Control(resize=self._size))
        # Input may be added while this is sent; there is no await between the last comparison and the new session.
        while held < self._sent_to:
            lost = bytes(self._sent[held - self._sent_to :])
            held += len(lost)
            await session.write(lost)
        if self._input_ended:
            session.end()
        return session


async def _write(data: bytes, session: Session) -> None:
    await session.write(data)


async def _end(session: Session) -> None:
    session.end()
