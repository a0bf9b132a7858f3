"""A scheduler to compare with: tasks in a simple order, pods one by one on the host that a policy scores lowest."""

from __future__ import annotations

from collections.abc import Sequence

from offchain.core.scheduler.cluster import HostSlot
from offchain.simulator.orders import QueueOrder
from offchain.simulator.replay import TaskRun
from offchain.simulator.sim_score_cache import SimScoreCache
from offchain.simulator.trace import Arrival, TaskKey


class BaselineScheduler:
    """Places all pods of a task, or none. It reserves nothing and preempts nothing."""

    step_ms = 1

    def __init__(self, scores: SimScoreCache, order: QueueOrder) -> None:
        self._scores = scores
        self._order = order
        self._freed = 0
        """How often something was freed."""
        self._blocked: dict[TaskKey, int] = {}
        """[key]: the number of releases at which it was infeasible; it stays so until the next release."""
        self._last_blocked: list[Arrival] = []
        """Tasks that the last cycle could not place."""

    def on_arrived(self, arrivals: Sequence[Arrival], now_ms: int) -> None:
        del now_ms
        for arrival in arrivals:
            self._order.add(arrival)

    def on_ended(self, runs: Sequence[TaskRun], now_ms: int) -> None:
        del now_ms
        for run in runs:
            for slot in run.slots:
                self._scores.release(run.arrival.shape, slot)
            self._order.on_ended(run.arrival)
            self._freed += 1

    def run_cycle(self, now_ms: int) -> Sequence[TaskRun]:
        started: list[TaskRun] = []
        self._last_blocked.clear()
        self._order.begin()
        while (arrival := self._order.next()) is not None:
            slots = self._place(arrival)
            if slots is None:
                self._order.on_blocked(arrival)
                self._last_blocked.append(arrival)
            else:
                self._order.on_placed(arrival)
                started.append(TaskRun(arrival, now_ms, slots))
        return started

    def drop_blocked(self, now_ms: int) -> Sequence[Arrival]:
        """Gangs that would be feasible if the policy placed their pods on other hosts."""
        del now_ms
        for arrival in self._last_blocked:
            self._order.drop(arrival)
        return tuple(self._last_blocked)

    def _place(self, arrival: Arrival) -> tuple[HostSlot, ...] | None:
        key = arrival.key
        if self._blocked.get(key) == self._freed:
            return None
        slots: list[HostSlot] = []
        for _ in range(arrival.pods):
            slot = self._scores.place(arrival.shape)
            if slot is None:
                for placed in slots:
                    self._scores.release(arrival.shape, placed)
                self._blocked[key] = self._freed
                return None
            slots.append(slot)
        return tuple(slots)
