"""Whom to kill and when, and how many tasks there are by then. Pure: the same seed gives the same run."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

SHORTEST_S, LONGEST_S = 0.3, 4.0


@dataclass(frozen=True)
class Blow:
    """After so many seconds since the one before, this process is ended with kill -9."""

    after_s: float
    victim: str


@dataclass(frozen=True)
class Plan:
    """What a run does. `seed` repeats it, as far as the machine's own timing allows. `slot_ms`: slots of its chain."""

    kills: int
    tasks: int
    hosts: int
    seed: int
    slot_ms: int = 2_000

    def blows(self) -> list[Blow]:
        """Every process once before any twice, then at random: none is left out of a short run."""
        chooser = random.Random(self.seed)  # noqa: S311 - repeats a run, guards nothing
        victims = self.victims()
        chosen = chooser.sample(victims, k=min(self.kills, len(victims)))
        chosen += chooser.choices(victims, k=self.kills - len(chosen))
        return [Blow(chooser.uniform(SHORTEST_S, LONGEST_S), victim) for victim in chosen]

    def victims(self) -> Sequence[str]:
        """All processes of the network."""
        return ("node", "docker", "scheduler", "settler", "indexer", *self.agents())

    def agents(self) -> list[str]:
        """One for each host."""
        return [f"agent-{number}" for number in range(self.hosts)]

    def wanted_tasks(self, kills_so_far: int) -> int:
        """How many tasks are submitted by now: some at once, the rest as the kills go on, the last before the last."""
        first = min(self.tasks, 2 * self.hosts)
        share = (kills_so_far + 1) / max(1, self.kills)
        return min(self.tasks, first + round((self.tasks - first) * share))
