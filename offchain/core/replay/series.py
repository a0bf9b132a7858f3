"""How the cluster stood at even steps of virtual time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

MOST_SAMPLES = 400
"""When there are as many, every other is dropped, and the steps become twice as long."""

_STEPS = 200
"""From the first arrival to the last."""


class State(NamedTuple):
    """Of the cluster, in percent."""

    gpu_percent: float
    """Of all GPUs, in use."""
    cpu_percent: float
    fragmentation_percent: float
    """Of free GPUs: what the tasks of the trace are not expected to be able to use."""


@dataclass(frozen=True, slots=True)
class Sample:
    """How it stood at one moment, after all that happened then."""

    at_ms: int
    state: State
    running: int
    waiting: int
    """Tasks."""


class Series:
    """Samples at 0 and after each step, until the last task has started."""

    def __init__(self, look: Callable[[], State], window_ms: int) -> None:
        self._look = look
        self._step_ms = max(1, window_ms // _STEPS) if window_ms else 1000
        self.samples: list[Sample] = []

    def until(self, now_ms: int, running: int, waiting: int) -> None:
        """Since it was called last, everything was as it is now."""
        next_ms = len(self.samples) * self._step_ms
        if next_ms >= now_ms:
            return
        state = self._look()
        while next_ms < now_ms:
            self.samples.append(Sample(next_ms, state, running, waiting))
            if len(self.samples) == MOST_SAMPLES:
                del self.samples[1::2]
                self._step_ms *= 2
            next_ms = len(self.samples) * self._step_ms
