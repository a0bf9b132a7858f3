"""Where a pod goes on after its run has ended, for whoever follows its log."""

from __future__ import annotations

import asyncio
from typing import Any

import cli_world
import pytest
from cli_world import CHARLIE, HOST, make_chain, producing

from offchain.cli.tenant.logs import wait_for_next_lease
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from offchain.services.record_views import LeaseView, read_task
from tests.support.chain_records import Tasks, lease, task_spec

OTHER = cli_world.BOB
TOLD = gen.Preemption(wanting=9, ends_at=5)


class Story:
    """Task 0 with a pod that ran under lease 0; each step is what the chain says next."""

    def __init__(self, **spec: Any) -> None:
        self.chain = make_chain()
        self.tasks = Tasks(self.chain)
        self.tasks.submit(CHARLIE, task_spec(**spec), now=1)
        self.tasks.change(
            0, state=gen.TaskStateRunning(), leases=(lease(HOST, state=gen.LeaseStateActive(), started_at=1),)
        )
        self.told: list[str] = []

    async def then(self, *steps: dict[str, Any]) -> LeaseView | None:
        last = (await read_task(self.chain, 0)).leases[0]
        left = list(steps)
        self.tasks.change(0, **left.pop(0))

        def tell(line: str) -> None:
            self.told.append(line)
            if left:
                self.tasks.change(0, **left.pop(0))

        async with asyncio.timeout(20), producing(self.chain):
            return await wait_for_next_lease(self.chain, 0, 0, last, tell)


def again(state: gen.LeaseState, **changes: Any) -> gen.Lease:
    return lease(OTHER, generation=1, state=state, **changes)


def ended(reason: gen.EndReason) -> gen.Lease:
    return lease(HOST, state=gen.LeaseStateEnded(reason), started_at=1)


QUEUED = {"state": gen.TaskStateQueued(), "leases": (), "generation": 1}
RUNS = {
    "state": gen.TaskStateRunning(),
    "leases": (again(gen.LeaseStateActive(), started_at=7),),
    "preemption": None,
}


async def test_a_preempted_pod_is_followed_to_its_next_run():
    story = Story()
    found = await story.then(QUEUED | {"preemption": TOLD}, RUNS)
    assert found is not None
    assert (found.id, found.host) == (lease_id(0, 0, 1), OTHER)
    waits, runs = story.told
    assert f"Pod 0 of task 0 had to leave {HOST} for task 9 of a higher priority and waits to run again" in waits
    assert runs == f"Pod 0 of task 0 runs on {OTHER} (lease {found.id})."


async def test_a_pod_that_was_moved_is_followed_once_it_has_started():
    story = Story()
    pending = {"leases": (again(gen.LeaseStatePending()),)}
    found = await story.then(pending, RUNS)
    assert found is not None
    assert found.host == OTHER


async def test_a_pod_of_a_service_that_was_lost_is_waited_for_while_others_run():
    beside = lease(OTHER, pod=1, state=gen.LeaseStateActive(), started_at=1)
    story = Story(kind=gen.TaskKind.SERVICE, pods_min=2, pods_max=2)
    found = await story.then({"leases": (beside,)}, {"leases": (beside, again(gen.LeaseStateActive(), started_at=7))})
    assert found is not None
    assert found.id == lease_id(0, 0, 1)


@pytest.mark.parametrize(
    "now",
    [
        {},
        {
            "state": gen.TaskStateReported(),
            "leases": (lease(HOST, state=gen.LeaseStateEnded(gen.EndReasonCompleted())),),
        },
        {"leases": (lease(HOST, state=gen.LeaseStateEnded(gen.EndReasonScaledDown())),)},
        {"leases": (), "pods_wanted": 0},
        {"state": gen.TaskStateCancelled(), "leases": ()},
    ],
)
async def test_the_last_run_ends_without_a_message(now: dict[str, Any]):
    story = Story()
    assert await story.then(now) is None
    assert story.told == []


async def test_a_task_that_ends_while_it_waits_is_reported():
    story = Story()
    assert await story.then(QUEUED, {"state": gen.TaskStateCancelled()}) is None
    assert story.told[-1] == "Task 0 is Cancelled: there is nothing more to follow."
