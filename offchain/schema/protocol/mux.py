"""Multiplexer: many sessions over one stream of bytes, as a state machine without IO.

`receive(bytes)` returns events; the other methods are the actions of this side; `take()` returns the bytes to send. A
peer that breaks the protocol causes :class:`RemoteProtocolError`, after which the connection must be closed; an action
that is not allowed now raises :class:`LocalProtocolError` and changes nothing.

The dialler opens sessions, the host answers them. Bytes of a body may be sent only if the other side has granted credit
for them, so a slow reader of one session delays no other and costs no memory.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from offchain.schema.protocol import fields as read
from offchain.schema.protocol.fields import WireError, canonical_json, json_object
from offchain.schema.protocol.frames import (
    HEADER_BYTES,
    MAX_DATA,
    MAX_SESSION,
    Frame,
    FrameKind,
    FrameReader,
    encode,
    encode_data,
)
from offchain.schema.protocol.messages import VERSION, Answer, Code, Refusal
from offchain.schema.protocol.mux_events import (
    Accepted,
    Ended,
    Event,
    GoneAway,
    Granted,
    Opened,
    Ready,
    Received,
    Refused,
    WasReset,
)
from offchain.schema.protocol.session_states import TABLE, SessionMove, SessionState

PROTOCOL: Final = "gantry/host"
OLDEST_VERSION: Final = 2
MAX_SESSIONS: Final = 64
"""The most sessions that are open at once on one connection."""
MAX_WINDOW: Final = 8 << 20
"""The most bytes that a side may have granted in one session."""
SMALL_PIECE: Final = 4096
"""Pieces of a body below this size are put together into one frame while the frame waits to be sent."""
MAX_COALESCED: Final = 16_384
CHANNELS: Final = 4
MAIN, OUT, ERR, CONTROL = range(CHANNELS)
"""MAIN: the body, or a program's input and, with a terminal, its output. OUT, ERR: its outputs. CONTROL: messages."""


class LocalProtocolError(Exception):
    """An action that the protocol does not allow this side now."""


class RemoteProtocolError(WireError):
    """Violation of the protocol by the other side."""


@dataclass(slots=True)
class _Session:
    state: SessionState = SessionState.ASKED
    may_send: int = 0
    may_receive: int = 0
    used: int = 0
    """Bytes that were consumed here and are not yet granted again."""
    window: int = 0


@dataclass(slots=True)
class Mux:
    """One end of a connection. `dialler`: it opens the sessions. HELLO is sent at once."""

    dialler: bool
    newest: int = VERSION
    oldest: int = OLDEST_VERSION
    _reader: FrameReader = field(default_factory=FrameReader)
    _out: deque[bytes | bytearray] = field(default_factory=deque)
    _small: tuple[int, int, bytearray] | None = None
    """Session, channel and frame of the last DATA that waits to be sent, if it is small."""
    _pending: int = 0
    frames: int = 0
    """Frames received."""
    opened: int = 0
    """OPEN frames received."""
    _sessions: dict[int, _Session] = field(default_factory=dict)
    _last: int = 0
    _version: int | None = None
    _over: bool = False

    def __post_init__(self) -> None:
        hello = {"protocol": PROTOCOL, "oldest": self.oldest, "newest": self.newest}
        self._send(encode(FrameKind.HELLO, 0, canonical_json(hello)))

    # --- actions of this side --------------------------------------------------------------------------------------

    @property
    def version(self) -> int | None:
        """The version that both sides speak; None before the HELLO of the other side."""
        return self._version

    @property
    def pending(self) -> int:
        """Number of bytes that wait to be sent."""
        return self._pending

    @property
    def sessions(self) -> int:
        """Number of sessions that are not over."""
        return len(self._sessions)

    def is_open(self, session: int) -> bool:
        """Return whether the session is not over."""
        return session in self._sessions

    def take(self, limit: int = 1 << 20) -> bytes:
        """Return bytes to send: as many frames as fit in `limit`, at least one if there is one."""
        taken: list[bytes | bytearray] = []
        size = 0
        while self._out and (not taken or size + len(self._out[0]) <= limit):
            piece = self._out.popleft()
            size += len(piece)
            taken.append(piece)
        if not self._out:
            self._small = None
        self._pending -= size
        return bytes(taken[0]) if len(taken) == 1 else b"".join(taken)

    def open(self, request: bytes, window: int) -> int:
        """Open a session and return its number. The host may send `window` bytes before more is granted."""
        if not self.dialler:
            raise LocalProtocolError("only the dialler opens sessions")
        if self._over or self._last >= MAX_SESSION:
            raise LocalProtocolError("this connection takes no more sessions")
        if len(self._sessions) >= MAX_SESSIONS:
            raise LocalProtocolError(f"{MAX_SESSIONS} sessions are open already")
        frame = encode(FrameKind.OPEN, self._last + 1, request)
        self._last += 1
        self._sessions[self._last] = _Session()
        self._send(frame)
        self._grant(self._last, self._sessions[self._last], window)
        return self._last

    def accept(self, session: int, answer: Answer, window: int) -> None:
        """Accept a session. The dialler may send `window` bytes before more is granted."""
        found = self._here(session, SessionMove.ACCEPT, for_host=True)
        self._send(encode(FrameKind.ACCEPT, session, answer.encode()))
        self._grant(session, found, window)

    def refuse(self, session: int, refusal: Refusal) -> None:
        """Refuse a session, which is over then."""
        self._here(session, SessionMove.REFUSE, for_host=True)
        self._send(encode(FrameKind.REFUSE, session, refusal.encode()))

    def room(self, session: int) -> int:
        """Return the number of bytes that one call of :meth:`data` may send now."""
        found = self._sessions.get(session)
        return 0 if found is None else min(max(found.may_send - 1, 0), MAX_DATA)

    def data(self, session: int, channel: int, content: bytes) -> None:
        """Send bytes of a channel, at most :meth:`room`."""
        if not 0 <= channel < CHANNELS:
            raise LocalProtocolError(f"there is no channel {channel}")
        if len(content) > self.room(session):
            raise LocalProtocolError(f"{len(content)} bytes are more than may be sent now")
        found = self._here(session, SessionMove.DATA_HERE)
        if self._is_added(session, channel, content):
            found.may_send -= len(content)
            return
        head, body = encode_data(session, channel, content)
        found.may_send -= len(content) + 1
        if len(body) >= SMALL_PIECE:
            self._send(head)
            self._send(body)
            return
        frame = bytearray(head + body)
        self._send(frame)
        if channel != CONTROL:  # each control message is a frame of its own
            self._small = session, channel, frame

    def end(self, session: int) -> None:
        """End the sending direction of a session."""
        self._here(session, SessionMove.END_HERE)
        self._send(encode(FrameKind.END, session))

    def reset(self, session: int, refusal: Refusal) -> None:
        """Drop a session. Do nothing if it is over already."""
        if session in self._sessions:
            self._here(session, SessionMove.RESET)
            self._send(encode(FrameKind.RESET, session, refusal.encode()))

    def consumed(self, session: int, size: int) -> None:
        """Report that received bytes were used. At half of the window, the same number is granted again."""
        found = self._sessions.get(session)
        if found is None or found.state is SessionState.ENDED_THERE:
            return
        found.used += size
        if found.used and found.used * 2 >= found.window:
            back, found.used = found.used, 0
            found.may_receive += back
            self._send(encode(FrameKind.CREDIT, session, back.to_bytes(4, "big")))

    def go_away(self, refusal: Refusal) -> None:
        """Send the reason for which this side closes the connection."""
        if not self._over:
            self._over = True
            self._send(encode(FrameKind.GOAWAY, 0, refusal.encode()))

    # --- actions of the other side --------------------------------------------------------------------------------

    def receive(self, data: bytes) -> list[Event]:
        """Return the events in received bytes. After :class:`RemoteProtocolError` nothing more may be received."""
        try:
            frames = self._reader.feed(data)
            self.frames += len(frames)
            return [event for frame in frames if (event := self._received(frame)) is not None]
        except RemoteProtocolError:
            raise
        except WireError as error:
            raise RemoteProtocolError(str(error)) from None

    def _received(self, frame: Frame) -> Event | None:
        if self._version is None and frame.kind not in (FrameKind.HELLO, FrameKind.GOAWAY):
            raise RemoteProtocolError(f"{frame.kind.name} came before HELLO")
        match frame.kind:
            case FrameKind.HELLO:
                return self._hello(frame)
            case FrameKind.GOAWAY:
                self._over = True
                return GoneAway(Refusal.decode(frame.payload))
            case FrameKind.OPEN:
                return self._opened(frame)
        found = self._sessions.get(frame.session)
        if found is None:
            # Frames that crossed our reset are no fault; those of a session that never was, are.
            if not 0 < frame.session <= self._last:
                raise RemoteProtocolError(f"{frame.kind.name} for session {frame.session}, which was never opened")
            return None
        return self._in_session(frame, found)

    def _in_session(self, frame: Frame, found: _Session) -> Event:
        number = frame.session
        match frame.kind:
            case FrameKind.ACCEPT:
                self._there(number, found, SessionMove.ACCEPT, from_host=True)
                return Accepted(number, Answer.decode(frame.payload))
            case FrameKind.REFUSE:
                self._there(number, found, SessionMove.REFUSE, from_host=True)
                return Refused(number, Refusal.decode(frame.payload))
            case FrameKind.DATA:
                self._there(number, found, SessionMove.DATA_THERE)
                if not frame.payload or frame.payload[0] >= CHANNELS:
                    raise RemoteProtocolError("DATA without a known channel")
                found.may_receive -= len(frame.payload)
                if found.may_receive < 0:
                    raise RemoteProtocolError(f"more DATA in session {number} than was granted")
                return Received(number, frame.payload[0], frame.payload[1:])
            case FrameKind.END:
                self._there(number, found, SessionMove.END_THERE)
                return Ended(number)
            case FrameKind.CREDIT:
                self._there(number, found, SessionMove.CREDIT)
                more = int.from_bytes(frame.payload, "big")
                if len(frame.payload) != 4 or not more or found.may_send + more > MAX_WINDOW:
                    raise RemoteProtocolError(f"CREDIT of {more} bytes")
                found.may_send += more
                return Granted(number)
            case _:
                self._there(number, found, SessionMove.RESET)
                return WasReset(number, Refusal.decode(frame.payload))

    def _hello(self, frame: Frame) -> Ready | None:
        if self._version is not None:
            raise RemoteProtocolError("a second HELLO")
        fields = json_object(frame.payload)
        if fields.get("protocol") != PROTOCOL:
            raise RemoteProtocolError("the other side does not speak gantry/host")
        oldest, newest = read.integer(fields, "oldest", 65535), read.integer(fields, "newest", 65535)
        version = min(newest, self.newest)
        if version < max(oldest, self.oldest):
            message = (
                f"No common version: this side speaks {self.oldest} to {self.newest}, the other {oldest} to {newest}."
            )
            older = newest < self.oldest
            self.go_away(
                Refusal(Code.UNSUPPORTED_VERSION, message, "Update the older side: gantry here, or the host's agent.")
            )
            raise RemoteProtocolError(f"{message} The {'other' if older else 'near'} side has to be updated")
        self._version = version
        return Ready(version)

    def _opened(self, frame: Frame) -> Opened:
        if self.dialler:
            raise RemoteProtocolError("the host may not open sessions")
        if frame.session <= self._last:
            raise RemoteProtocolError(f"session {frame.session} was opened before")
        if len(self._sessions) >= MAX_SESSIONS:
            raise RemoteProtocolError(f"more than {MAX_SESSIONS} sessions at once")
        self._last = frame.session
        self.opened += 1
        self._sessions[frame.session] = _Session()
        return Opened(frame.session, frame.payload)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _send(self, data: bytes | bytearray) -> None:
        self._small = None
        self._out.append(data)
        self._pending += len(data)

    def _is_added(self, session: int, channel: int, content: bytes) -> bool:
        """Append a small piece to the last frame that waits, and return whether that was possible."""
        if self._small is None or self._small[:2] != (session, channel):
            return False
        frame = self._small[2]
        if len(content) >= SMALL_PIECE or len(frame) + len(content) > MAX_COALESCED:
            return False
        frame += content
        frame[:4] = (len(frame) - HEADER_BYTES).to_bytes(4, "big")
        self._pending += len(content)
        return True

    def _grant(self, session: int, found: _Session, window: int) -> None:
        found.window = min(window, MAX_WINDOW)
        if found.window and found.state is not SessionState.CLOSED:
            found.may_receive += found.window
            self._send(encode(FrameKind.CREDIT, session, found.window.to_bytes(4, "big")))

    def _here(self, session: int, move: SessionMove, *, for_host: bool = False) -> _Session:
        found = self._sessions.get(session)
        if found is None:
            raise LocalProtocolError(f"session {session} is over")
        target = None if for_host and self.dialler else TABLE[found.state].get(move)
        if target is None:
            raise LocalProtocolError(f"{move.name} in session {session}, which is {found.state.name}")
        self._to(session, found, target)
        return found

    def _there(self, session: int, found: _Session, move: SessionMove, *, from_host: bool = False) -> None:
        target = None if from_host and not self.dialler else TABLE[found.state].get(move)
        if target is None:
            raise RemoteProtocolError(f"{move.name} in session {session}, which is {found.state.name}")
        self._to(session, found, target)

    def _to(self, session: int, found: _Session, target: SessionState) -> None:
        found.state = target
        if target is SessionState.CLOSED:
            del self._sessions[session]
