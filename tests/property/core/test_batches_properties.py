"""Placing a run of alike tasks at once is placing them one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from offchain.core.scheduler import score_cache
from offchain.core.scheduler.cycle_filters import HostFilter
from offchain.core.scheduler.fair_share import FairShareQueue, QueuedTask
from offchain.core.scheduler.fair_share_selection import BATCH_SHARE
from offchain.core.scheduler.placement import Planner
from offchain.core.scheduler.plan import TaskBatch
from offchain.core.scheduler.pod_request import PodRequest, ResourceAmount, dominant_share
from offchain.core.scheduler.queue_definitions import QueueDefinition, queue_tree
from offchain.core.values import Host, Task
from tests.support.core_strategies import HOST_IDS, hosts_with, seeds, tasks_with
from tests.support.plan_once import InOrder

fleets = st.lists(st.sampled_from(HOST_IDS), unique=True).flatmap(
    lambda names: st.tuples(*(hosts_with(name) for name in names))
)
wishes = tasks_with(1).filter(lambda task: bool(task.open_pods))
runs = st.lists(st.tuples(wishes, st.integers(1, 6)), min_size=1, max_size=4)


class InRuns:
    """Each list of alike tasks is a run, given again without those that have a place."""

    def __init__(self, lists: Sequence[Sequence[Task]]) -> None:
        self._left = [list(one) for one in lists]

    def next_batch(self) -> TaskBatch | None:
        self._left = [one for one in self._left if one]
        return TaskBatch.of(self._left[0], PodRequest.of(self._left[0][0])) if self._left else None

    def on_placed(self, tasks: int) -> None:
        self._left[0] = self._left[0][tasks:]

    def unschedulable(self, task: Task) -> None:
        assert self._left[0][0] is task
        self._left[0] = self._left[0][1:]


class NoGate(HostFilter):
    """Open to everybody, but asked."""

    def excluded(self, *_):
        return None


class OpenGate(NoGate):
    """Closed to nobody, which the planner only knows after it has looked at each host."""

    def excluded(self, *asked):
        return np.zeros(len(asked[-1]), dtype=np.bool_)


@given(fleets, runs, seeds)
def test_a_batch_equals_one_task_after_the_other(hosts: tuple[Host, ...], of: list[tuple[Task, int]], seed: bytes):
    lists = [
        [replace(task, id=100 * place + number) for number in range(many)] for place, (task, many) in enumerate(of)
    ]
    flat = [task for one in lists for task in one]
    made = []
    for order, gates in (
        (InRuns(lists), ()),
        (InOrder(flat), ()),
        (InOrder(flat), (OpenGate(),)),
        (InRuns(lists), (NoGate(),)),
    ):
        planner = Planner(seed)
        planner.update_hosts(hosts)
        # The first as on a large network, where a host is scored only when it comes to be the best by a bound.
        with patch.object(score_cache, "FEW", score_cache.FEW if made else 0):
            made.append(planner.plan(order, gates))
    first = made[0]
    for other in made[1:]:
        assert dict(other.placements) == dict(first.placements)
        assert [(one.task, one.pods_fitting) for one in other.unschedulable] == [
            (one.task, one.pods_fitting) for one in first.unschedulable
        ]


claims = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.integers(0, 3), st.integers(0, 10**6)), max_size=40
)
AMOUNTS = (ResourceAmount(1, 1, 0), ResourceAmount(3, 2, 0), ResourceAmount(1, 1, 2))
TOTALS = ResourceAmount(4096, 8192, 2048)


@given(claims)
def test_a_batch_keeps_shares_within_a_slice_and_takes_each_task_once(of: list[tuple[str, int, int, int]]):
    waiting = [
        QueuedTask(number, "default", account, shape, AMOUNTS[shape], priority, at)
        for number, (account, shape, priority, at) in enumerate(of)
    ]
    turn = FairShareQueue(queue_tree([QueueDefinition("default")]), TOTALS)
    for queued in waiting:
        turn.add(queued)
    turn.begin_cycle(10**6)
    seen: list[int] = []
    held: dict[str, ResourceAmount] = {account: ResourceAmount() for account in "abc"}
    of_task = {claim.id: claim for claim in waiting}
    while run := turn.next_batch():
        ready = {claim.account for claim in waiting if claim.id not in seen}
        poorest = min(dominant_share(held[account], TOTALS) for account in ready)
        assert turn.next() == run.tasks[0]
        amount = of_task[run.tasks[0]].amount
        assert sum(run.leaf_counts) == len(run.tasks)
        start = 0
        for many in run.leaf_counts:
            part = [of_task[number] for number in run.tasks[start : start + many]]
            start += many
            assert {(claim.account, claim.amount) for claim in part} == {(part[0].account, amount)}
            for claim in part:
                held[claim.account] = held[claim.account].plus(amount)
                seen.append(claim.id)
            share = dominant_share(held[part[0].account], TOTALS)
            assert share <= poorest + max(BATCH_SHARE, dominant_share(amount, TOTALS)) + 1e-9
        turn.commit_batch(len(run.tasks))
    assert sorted(seen) == list(range(len(waiting)))
    assert len(turn) == 0
