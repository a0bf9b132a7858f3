"""Events of a multiplexed connection: what the other side has done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from offchain.schema.protocol.messages import Answer, Refusal


@dataclass(frozen=True, slots=True)
class Ready:
    """Both sides have sent HELLO, and speak this version."""

    version: int


@dataclass(frozen=True, slots=True)
class Opened:
    """The dialler has opened a session."""

    session: int
    request: bytes


@dataclass(frozen=True, slots=True)
class Accepted:
    """The host has accepted."""

    session: int
    answer: Answer


@dataclass(frozen=True, slots=True)
class Refused:
    """The host has refused; the session is over."""

    session: int
    refusal: Refusal


@dataclass(frozen=True, slots=True)
class Received:
    """Bytes of a channel."""

    session: int
    channel: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Ended:
    """End of the data from the other side."""

    session: int


@dataclass(frozen=True, slots=True)
class Granted:
    """Credit granted by the other side."""

    session: int


@dataclass(frozen=True, slots=True)
class WasReset:
    """Reset of the session by the other side."""

    session: int
    refusal: Refusal


@dataclass(frozen=True, slots=True)
class GoneAway:
    """Announcement that the other side is about to close the connection."""

    refusal: Refusal


Event: TypeAlias = Ready | Opened | Accepted | Refused | Received | Ended | Granted | WasReset | GoneAway
