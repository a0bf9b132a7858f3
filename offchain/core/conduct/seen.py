"""One thing that a host did, or that became of a pod there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from offchain.core.scheduler.pod_request import PodShape


class What(StrEnum):
    """What it was, in words for people."""

    STARTED = "a pod started"
    SLOW_START = "a slow start"
    ROUND_TRIP = "a round trip measured"
    LATENCY = "a latency that has grown"
    START_TIMEOUT = "no start in time"
    NOT_RUN = "an image or a manifest that it could not use"
    REFUSED = "an error of its engine"
    LACKED = "less than it offers"
    NO_ROOM = "no room, as the chain says"
    LOST = "a pod lost"
    ABSENT = "absent"
    DEVICE_FAULT = "a GPU out of order"
    PROVED_FAULT = "a fault that was proved"


WEIGHT: Final = {
    What.STARTED: 0.0,
    What.SLOW_START: 0.25,
    What.ROUND_TRIP: 0.0,
    What.LATENCY: 0.25,
    What.START_TIMEOUT: 1.0,
    # A tenant can cause it.
    What.NOT_RUN: 0.0,
    What.REFUSED: 1.0,
    What.LACKED: 2.0,
    What.NO_ROOM: 0.5,
    # Each of its pods.
    What.LOST: 0.5,
    What.ABSENT: 2.0,
    What.DEVICE_FAULT: 1.0,
    What.PROVED_FAULT: 3.0,
}
"""How much each counts against the host, in engine errors."""

OF_THE_SHAPE: Final = frozenset({What.REFUSED, What.LACKED, What.NO_ROOM})
"""After these, no pods that ask for the same go there for a while."""

OF_THE_MANIFEST: Final = frozenset({What.NOT_RUN, What.START_TIMEOUT})
"""After these, no pods with the same manifest: its images may be the reason, and others are not to suffer for them."""


@dataclass(frozen=True, slots=True)
class Seen:
    """`at_ms`: chain time. `shape`, `manifest`, `lease`: of the pod, if it is about one.

    `took_ms`: of a start, how long after its assignment; of a round trip, how long. `before_ms`: what the chain had of
    it until then; 0: nothing.
    """

    host: str
    what: What
    at_ms: int
    shape: PodShape | None = None
    manifest: bytes = b""
    lease: int | None = None
    took_ms: int = 0
    before_ms: int = 0
