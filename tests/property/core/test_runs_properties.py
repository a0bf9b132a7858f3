"""Placing a run of alike tasks at once is placing them one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from offchain.core.fleet.want import Want
from offchain.core.planning import rows
from offchain.core.planning.once import InTurn
from offchain.core.planning.order import Run
from offchain.core.planning.planner import Planner
from offchain.core.values import Host, Task
from tests.support.core_strategies import HOST_IDS, hosts_with, seeds, tasks_with

fleets = st.lists(st.sampled_from(HOST_IDS), unique=True).flatmap(
    lambda names: st.tuples(*(hosts_with(name) for name in names))
)
wishes = tasks_with(1).filter(lambda task: bool(task.open_pods))
runs = st.lists(st.tuples(wishes, st.integers(1, 6)), min_size=1, max_size=4)


class InRuns:
    """Each list of alike tasks is a run, given again without those that have a place."""

    def __init__(self, lists: Sequence[Sequence[Task]]) -> None:
        self._left = [list(one) for one in lists]

    def run(self) -> Run | None:
        self._left = [one for one in self._left if one]
        return Run.of(self._left[0], Want.of(self._left[0][0])) if self._left else None

    def ran(self, tasks: int) -> None:
        self._left[0] = self._left[0][tasks:]

    def blocked(self, task: Task) -> None:
        assert self._left[0][0] is task
        self._left[0] = self._left[0][1:]


class NoGate:
    """Open to everybody, but asked."""

    def closed(self, *_):
        return None

    def taken(self, task, want, host, devices):
        pass

    def given(self, task, want, host, devices):
        pass


class OpenGate(NoGate):
    """Closed to nobody, which the planner only knows after it has looked at each host."""

    def closed(self, *asked):
        return np.zeros(len(asked[-1]), dtype=np.bool_)


@given(fleets, runs, seeds)
def test_a_run_gives_what_one_task_after_the_other_gives(
    hosts: tuple[Host, ...], of: list[tuple[Task, int]], seed: bytes
):
    lists = [
        [replace(task, id=100 * place + number) for number in range(many)] for place, (task, many) in enumerate(of)
    ]
    flat = [task for one in lists for task in one]
    made = []
    for order, gates in (
        (InRuns(lists), ()),
        (InTurn(flat), ()),
        (InTurn(flat), (OpenGate(),)),
        (InRuns(lists), (NoGate(),)),
    ):
        planner = Planner(seed)
        planner.put_hosts(hosts)
        # The first as on a large network, where a host is scored only when it comes to be the best by a bound.
        with patch.object(rows, "FEW", rows.FEW if made else 0):
            made.append(planner.plan(order, gates))
    first = made[0]
    for other in made[1:]:
        assert dict(other.placements) == dict(first.placements)
        assert [(one.task, one.pods_fitting) for one in other.blocked] == [
            (one.task, one.pods_fitting) for one in first.blocked
        ]
