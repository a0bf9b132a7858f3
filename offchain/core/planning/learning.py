"""What pods are expected, learned from those that came; hosts are scored anew where that has become something else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from offchain.core.placing.shapes import Mix, Shape, unlike
from offchain.core.placing.worth import Worth
from offchain.core.planning.planner import Planner

LEARN_AGAIN: Final = 1000
"""After so many new tasks, twice or a quarter more than were known, it is asked whether others are expected now."""

FADES: Final = 1_000_000
"""After so many tasks, what came before counts half."""

MOST_SHAPES: Final = 4096
"""So many different wishes may be expected at once."""

OTHERS: Final = 0.05
"""By so much the shares of what is asked for must differ, or hosts be more, before scores are counted by them anew."""


class Learning:
    """Of one scheduler."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._mix = Mix()
        self._came = 0
        self._asked = 0
        """How many had come when it was last asked what is expected."""
        self._scored_for: tuple[int, Mapping[Shape, float]] = (0, {})
        """How many hosts there were, and what was expected, when scores were last counted anew."""

    def came(self, shape: Shape, pods: int, tasks: int = 1) -> None:
        """Tasks that nobody knew, with so many pods each."""
        self._mix.learn(shape, pods * tasks)
        before, self._came = self._came, self._came + tasks
        if before // FADES < self._came // FADES or len(self._mix.counts) > MOST_SHAPES:
            self._mix.fade(MOST_SHAPES // 2)

    def use(self) -> None:
        """Score hosts by what is expected now, if that is something else than when it was last done."""
        new = self._came - self._asked
        if new and new >= min(self._asked, max(LEARN_AGAIN, self._asked // 4)):
            self._asked = self._came
            shares, cluster = self._mix.shares(), self._planner.fleet.cluster
            if len(cluster) > (1 + OTHERS) * self._scored_for[0] or unlike(shares, self._scored_for[1]) > OTHERS:
                self._scored_for = len(cluster), shares
                self._planner.use(Worth(cluster, self._mix))
