"""Programs that tenants started in pods. After a lost connection a program is kept for a while with its last output."""

from __future__ import annotations

import asyncio
import bisect
import secrets
from dataclasses import dataclass
from typing import Final

from node_agent.drivers.access_port import ExecSession
from node_agent.drivers.port import DriverError
from offchain.adapters.transport.port import HostRefused, refused
from offchain.adapters.transport.session import WINDOW, Session
from offchain.schema.protocol.messages import Answer, Code, Control, Refusal, WireError
from offchain.schema.protocol.mux import CONTROL, MAIN

HOLD_S: Final = 60.0
"""Time after a lost connection at which the program is ended."""
REPLAY: Final = 1 << 19
"""Output kept for a resumed connection; more than the window of the tenant's side."""
MOST_IN_PIECE: Final = 1 << 16
COMPACT: Final = 1024
AHEAD: Final = 1 << 18
"""Maximum of output that is read ahead of the connection."""
MAX_PER_LEASE: Final = 32
MAX_PROGRAMS: Final = 512


class OutputReplay:
    """The last output by byte position. A piece is found in logarithmic time."""

    def __init__(self, keep: int = REPLAY) -> None:
        self._keep = keep
        self._pieces: list[tuple[int, bytearray]] = []
        self._starts: list[int] = []
        """Position of each piece's first byte."""
        self._first = 0
        """Pieces before this index are dropped; the lists are compacted when these are the larger part."""
        self.end = 0

    @property
    def start(self) -> int:
        """Position of the first byte that is kept."""
        return self._starts[self._first] if self._first < len(self._starts) else self.end

    def add(self, channel: int, data: bytes) -> None:
        """Add output; short pieces of one channel are joined."""
        if self._first < len(self._pieces):
            last_channel, last = self._pieces[-1]
            if last_channel == channel and len(last) + len(data) <= MOST_IN_PIECE:
                last += data
                self.end += len(data)
                return
        self._pieces.append((channel, bytearray(data)))
        self._starts.append(self.end)
        self.end += len(data)

    def forget_before(self, place: int) -> None:
        """Drop the pieces that lie more than `keep` before this position."""
        while self._first < len(self._pieces):
            _, data = self._pieces[self._first]
            if self._starts[self._first] + len(data) > place - self._keep:
                break
            self._pieces[self._first] = 0, bytearray()
            self._first += 1
        if self._first > COMPACT and self._first * 2 > len(self._pieces):
            del self._pieces[: self._first], self._starts[: self._first]
            self._first = 0

    def after(self, place: int) -> tuple[int, bytes] | None:
        """Return the output from here to the end of its piece; None at the end. LookupError if it was dropped."""
        if not self.start <= place <= self.end:
            raise LookupError(f"byte {place} is not between {self.start} and {self.end}")
        if place == self.end:
            return None
        index = bisect.bisect_right(self._starts, place, self._first) - 1
        channel, data = self._pieces[index]
        return channel, bytes(data[place - self._starts[index] :])


@dataclass(eq=False)
class RunningProgram:
    """One running program and its current connection."""

    lease: int
    account: str
    token: str
    exec: ExecSession
    replay: OutputReplay
    sent: int = 0
    taken: int = 0
    """Bytes of input that the program received."""
    exit_code: int | None = None
    failure: str | None = None
    input_ended: bool = False
    session: Session | None = None

    def __post_init__(self) -> None:
        self.changed = asyncio.Condition()
        self.writing = asyncio.Lock()
        self.pump = asyncio.create_task(self._pump())
        self.holding: asyncio.TimerHandle | None = None

    async def _pump(self) -> None:
        try:
            while (output := await self.exec.read()) is not None:
                async with self.changed:
                    self.replay.add(output.channel, output.data)
                    self.changed.notify_all()
                    await self.changed.wait_for(lambda: self.replay.end - self.sent < AHEAD)
            code = await self.exec.exit_code()
            async with self.changed:
                self.exit_code = code
                self.changed.notify_all()
        except DriverError as error:
            async with self.changed:
                self.failure = str(error)
                self.changed.notify_all()

    async def show(self, session: Session, start: int) -> None:
        """Send its output from this position on, and its end."""
        self.sent = start
        while True:
            async with self.changed:
                self.changed.notify_all()
                await self.changed.wait_for(lambda: self._news() or session.over)
                piece = self.replay.after(self.sent)
            if piece is None:
                break
            channel, data = piece
            await session.write(data, channel)
            if self.session is not session:
                return  # another connection has taken over, and counts from the position of its tenant
            self.sent += len(data)
            self.replay.forget_before(self.sent)
        if self.failure is not None:
            raise refused(Code.INTERNAL, f"The program was lost: {self.failure}.", "Start it again.")
        await session.say(Control(exit_code=self.exit_code))
        session.end()

    async def feed(self, session: Session) -> None:
        """Pass the tenant's input to the program."""
        while (piece := await session.read()) is not None:
            channel, data = piece
            if channel == CONTROL:
                word = _decoded(data)
                if word.resize is not None:
                    await self.exec.resize(*word.resize)
            elif channel == MAIN:
                async with self.writing:
                    if self.session is not session:
                        return  # another connection has taken over; it knows what had come until then
                    # Counted first: input that an ended program does not take must not be sent again either.
                    self.taken += len(data)
                    await self.exec.write(data)
        if not self.input_ended:
            self.input_ended = True
            await self.exec.end_input()

    def _news(self) -> bool:
        return self.replay.end > self.sent or self.exit_code is not None or self.failure is not None


class PodPrograms:
    """All programs that tenants started on this host."""

    def __init__(self, hold_s: float = HOLD_S) -> None:
        self._hold_s = hold_s
        self._programs: dict[str, RunningProgram] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._programs)

    def check_room(self, lease: int) -> None:
        """Raise :class:`HostRefused` if the limit of programs is reached."""
        of_lease = sum(1 for program in self._programs.values() if program.lease == lease)
        if of_lease >= MAX_PER_LEASE or len(self._programs) >= MAX_PROGRAMS:
            raise refused(
                Code.BUSY,
                f"{of_lease} programs started by exec run in this pod, {len(self._programs)} on this host.",
                "End one of them first.",
            )

    async def start(self, lease: int, account: str, program: ExecSession, session: Session) -> None:
        """Serve a program that was just started, until it ends or its tenant leaves."""
        token = secrets.token_hex(16)
        made = self._programs[token] = RunningProgram(lease, account, token, program, OutputReplay())
        await self._show(made, session, 0)

    async def attach(self, lease: int, account: str, token: str, received: int, session: Session) -> None:
        """Serve a program again, from the first byte that its tenant has not received."""
        found = self._programs.get(token)
        if found is None or (found.lease, found.account) != (lease, account):
            raise refused(
                Code.GONE,
                "The program is not there any more: the host's agent was restarted, or you were away too long.",
                "Start it again. What must outlive a restart belongs into the pod's own command.",
            )
        if not found.replay.start <= received <= found.replay.end:
            raise refused(Code.GONE, "Output between then and now is not kept any more.", "Start the program again.")
        await self._show(found, session, received)

    async def end_lease(self, lease: int) -> None:
        """End every program in this pod."""
        await asyncio.gather(*(self._end(found) for found in tuple(self._programs.values()) if found.lease == lease))

    async def close(self) -> None:
        """End every program: none outlives the agent."""
        await asyncio.gather(*(self._end(found) for found in tuple(self._programs.values())))
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def _show(self, program: RunningProgram, session: Session, start: int) -> None:
        before, program.session = program.session, session
        if program.holding is not None:
            program.holding.cancel()
            program.holding = None
        feeding: asyncio.Task[None] | None = None
        try:
            if before is not None:
                before.drop(Refusal(Code.GONE, "The program is shown on another connection now.", ""))
            async with program.writing:  # input of the last connection is counted before the count is sent
                session.accept(Answer(token=program.token, held=program.taken), window=WINDOW)
            feeding = asyncio.create_task(program.feed(session))
            await program.show(session, start)
            # The tenant's side drops the session when it has the exit code; until then it may have to ask again.
            await session.gone()
        finally:
            if feeding is not None:
                feeding.cancel()
                await asyncio.gather(feeding, return_exceptions=True)
            if program.session is session:
                program.session = None
                self._left(program, session)

    def _left(self, program: RunningProgram, session: Session) -> None:
        """Keep the program for a tenant who lost the connection; end it for one who left or lost the right to it."""
        if isinstance(session.error, HostRefused) or program.failure is not None:
            self._soon(program)
        else:
            program.holding = asyncio.get_running_loop().call_later(self._hold_s, self._soon, program)

    def _soon(self, program: RunningProgram) -> None:
        task = asyncio.create_task(self._end(program))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _end(self, program: RunningProgram) -> None:
        if self._programs.pop(program.token, None) is None:
            return
        if program.holding is not None:
            program.holding.cancel()
        program.pump.cancel()
        await asyncio.gather(program.pump, return_exceptions=True)
        await program.exec.kill()


def _decoded(word: bytes) -> Control:
    try:
        return Control.decode(word)
    except WireError as error:
        raise refused(
            Code.BAD_REQUEST, f"A word in the session is malformed: {error}.", "Use a matching client."
        ) from None
