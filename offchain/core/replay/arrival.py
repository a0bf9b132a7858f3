"""What a trace says of each task: when it comes, what it asks for, and how long it runs."""

from __future__ import annotations

from dataclasses import dataclass

from offchain.core.placing.shapes import Mix, Shape

Kind = tuple[Shape, int, int]


@dataclass(frozen=True, slots=True)
class Arrival:
    """One task: `pods` pods that run together or not at all, a gang where there are several."""

    number: int
    """Its place in the order of arrival, from 0."""
    name: str
    shape: Shape
    """Of each pod."""
    arrival_ms: int
    """Since the first task of the trace came."""
    duration_ms: int
    """How long it runs; nobody who decides may look at this."""
    most_ms: int
    """How long it says that it runs at most."""
    account: str
    queue: str = "default"
    priority: int = 100
    pods: int = 1

    def kind(self, *, by_length: bool) -> Kind:
        """What decides where it fits. `by_length`: also for how long, in classes, each twice as long as the last."""
        return self.shape, self.pods, self.most_ms.bit_length() if by_length else 0

    @property
    def total_milli(self) -> int:
        """Thousandths of GPUs of all its pods."""
        return self.pods * self.shape.total_milli


@dataclass(frozen=True, slots=True)
class Trace:
    """All tasks in order of arrival."""

    arrivals: tuple[Arrival, ...]
    timed: bool
    """Whether times of arrival are known; else all come at 0."""
    notes: tuple[str, ...] = ()
    """What the file did not say and was made up, for people."""

    @property
    def window_ms(self) -> int:
        """From the first arrival to the last."""
        return self.arrivals[-1].arrival_ms if self.arrivals else 0

    def mix(self) -> Mix:
        """How many pods of each shape there are."""
        mix = Mix()
        for arrival in self.arrivals:
            mix.counts[arrival.shape] = mix.counts.get(arrival.shape, 0.0) + arrival.pods
        return mix
