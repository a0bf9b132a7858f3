"""Frames: how sessions share one stream of bytes.

A frame is a big-endian u32 length of its payload, a u8 kind, a big-endian u32 session, and the payload. The longest
payload depends on the kind, so that a peer without a valid request can make this side buffer next to nothing.
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


class FrameKind(IntEnum):
    """The kind of a frame. HELLO and GOAWAY belong to no session (0)."""

    HELLO = 1
    """Protocol name and the versions this side speaks; the first frame each way."""
    OPEN = 2
    """The dialler opens a session: a signed request. Sessions are numbered upwards from 1."""
    ACCEPT = 3
    """The host agrees: an answer."""
    REFUSE = 4
    """The host refuses: the session is over."""
    DATA = 5
    """A u8 channel and bytes of it."""
    END = 6
    """This side has sent everything."""
    CREDIT = 7
    """A u32: the number of further bytes of DATA that may be sent (channel bytes included)."""
    RESET = 8
    """This side drops the session: a refusal with the reason."""
    GOAWAY = 9
    """This side is about to close the connection: a refusal with the reason."""


LONGEST: Final[Mapping[FrameKind, int]] = MappingProxyType(
    {
        FrameKind.HELLO: 256,
        FrameKind.OPEN: MAX_REQUEST,
        FrameKind.ACCEPT: MAX_ANSWER,
        FrameKind.REFUSE: 8192,
        FrameKind.DATA: MAX_DATA + 1,
        FrameKind.END: 0,
        FrameKind.CREDIT: 4,
        FrameKind.RESET: 8192,
        FrameKind.GOAWAY: 8192,
    }
)
_KINDS: Final = {kind.value: kind for kind in FrameKind}


@dataclass(frozen=True, slots=True)
class Frame:
    kind: FrameKind
    session: int
    payload: bytes


def encode(kind: FrameKind, session: int, payload: bytes = b"") -> bytes:
    """Return the bytes of a frame. Raise :class:`WireError` if the payload is too long."""
    if len(payload) > LONGEST[kind]:
        raise WireError(f"{kind.name} of {len(payload)} bytes is longer than {LONGEST[kind]}")
    return _HEADER.pack(len(payload), kind, session) + payload


def encode_data(session: int, channel: int, content: bytes) -> tuple[bytes, bytes]:
    """Return a DATA frame in two pieces, to save a copy of its content."""
    if len(content) > MAX_DATA:
        raise WireError(f"DATA of {len(content)} bytes is longer than {MAX_DATA}")
    return _HEADER.pack(len(content) + 1, FrameKind.DATA, session) + bytes((channel,)), content


class FrameReader:
    """Split a stream of bytes into frames."""

    def __init__(self) -> None:
        self._held = bytearray()

    @property
    def held(self) -> int:
        """Bytes of an incomplete frame."""
        return len(self._held)

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that `data` completes. Raise :class:`WireError` as soon as one cannot be valid."""
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
