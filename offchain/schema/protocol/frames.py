"""Frames: how sessions share one stream of bytes.

A frame is a big-endian u32 length of its payload, a u8 kind, a big-endian u32 session, and the payload. The longest
payload depends on the kind, so that who has not shown a valid request can make the other side hold next to nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from offchain.schema.protocol.fields import WireError
from offchain.schema.protocol.messages import MAX_ANSWER, MAX_REQUEST

_HEADER: Final = struct.Struct(">IBI")
HEADER_BYTES: Final = _HEADER.size
MAX_DATA: Final = 1 << 18
"""Bytes of a body in one frame."""
MAX_SESSION: Final = (1 << 32) - 1


class Kind(IntEnum):
    """What a frame says. HELLO, GOAWAY belong to no session (0)."""

    HELLO = 1
    """Protocol name and the versions this side speaks; the first frame each way."""
    OPEN = 2
    """The dialler asks: a signed request. Sessions are numbered upwards from 1."""
    ACCEPT = 3
    """The host agrees: an answer."""
    REFUSE = 4
    """The host refuses: the session is over."""
    DATA = 5
    """A u8 channel and bytes of it."""
    END = 6
    """This side has sent everything."""
    CREDIT = 7
    """A u32: so many more bytes of DATA may be sent (channel bytes included)."""
    RESET = 8
    """This side drops the session: a refusal that says why."""
    GOAWAY = 9
    """This side is about to close the connection: a refusal that says why."""


LONGEST: Final[Mapping[Kind, int]] = MappingProxyType(
    {
        Kind.HELLO: 256,
        Kind.OPEN: MAX_REQUEST,
        Kind.ACCEPT: MAX_ANSWER,
        Kind.REFUSE: 8192,
        Kind.DATA: MAX_DATA + 1,
        Kind.END: 0,
        Kind.CREDIT: 4,
        Kind.RESET: 8192,
        Kind.GOAWAY: 8192,
    }
)
_KINDS: Final = {kind.value: kind for kind in Kind}


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame."""

    kind: Kind
    session: int
    payload: bytes


def encode(kind: Kind, session: int, payload: bytes = b"") -> bytes:
    """A frame as it travels. Raises :class:`WireError` where the payload is too long."""
    if len(payload) > LONGEST[kind]:
        raise WireError(f"{kind.name} of {len(payload)} bytes is longer than {LONGEST[kind]}")
    return _HEADER.pack(len(payload), kind, session) + payload


def encode_data(session: int, channel: int, content: bytes) -> tuple[bytes, bytes]:
    """A DATA frame in two pieces, to spare a copy of its content."""
    if len(content) > MAX_DATA:
        raise WireError(f"DATA of {len(content)} bytes is longer than {MAX_DATA}")
    return _HEADER.pack(len(content) + 1, Kind.DATA, session) + bytes((channel,)), content


class FrameReader:
    """Cuts a stream of bytes into frames, however it arrives."""

    def __init__(self) -> None:
        self._held = bytearray()

    @property
    def held(self) -> int:
        """Bytes of a frame that has not arrived whole."""
        return len(self._held)

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are complete with these bytes. Raises :class:`WireError` as soon as one cannot be valid."""
        held = self._held
        held += data
        frames: list[Frame] = []
        at = 0
        with memoryview(held) as view:
            while len(held) - at >= _HEADER.size:
                length, number, session = _HEADER.unpack_from(view, at)
                kind = _KINDS.get(number)
                if kind is None:
                    raise WireError(f"a frame of unknown kind {number}")
                if length > LONGEST[kind]:
                    raise WireError(f"{kind.name} of {length} bytes; the limit is {LONGEST[kind]}")
                start = at + _HEADER.size
                if len(held) < start + length:
                    break
                frames.append(Frame(kind, session, bytes(view[start : start + length])))
                at = start + length
        del held[:at]
        return frames
