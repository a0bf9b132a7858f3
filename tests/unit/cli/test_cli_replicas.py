"""What commands show of a task whose results are compared."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cli_world import CHARLIE, HOST, PAID, World, the_lease

from offchain.cli.kit.failures import CliError
from offchain.cli.kit.host_connection import result_lease_of
from offchain.schema.chain_types import _generated_chain as gen
from offchain.services.record_views import read_task
from offchain.services.replica_verdicts import ReplicaVerdict, verdict_of
from tests.support.chain_records import Tasks, lease, task_spec

COMPARED = task_spec(pods_min=2, pods_max=2, verification=gen.VerificationPolicyRedundant(2))
RIGHT = the_lease(PAID)
COMMITTED = replace(RIGHT, result=None)
LOST = replace(the_lease(0, data=b"wrong"), state=gen.LeaseStateEnded(gen.EndReasonDisputeLost()))
RUNNING, SETTLED = gen.TaskStateRunning(), gen.TaskStateSettled()


@pytest.mark.parametrize(
    ("state", "of", "verdict"),
    [
        (RUNNING, lease(HOST, state=gen.LeaseStateActive()), ReplicaVerdict.RUNNING),
        (RUNNING, COMMITTED, ReplicaVerdict.COMMITTED),
        (RUNNING, RIGHT, ReplicaVerdict.REVEALED),
        (gen.TaskStateVerified(), RIGHT, ReplicaVerdict.AGREED),
        (SETTLED, RIGHT, ReplicaVerdict.AGREED),
        (SETTLED, LOST, ReplicaVerdict.WRONG),
        (SETTLED, replace(LOST, result=None), ReplicaVerdict.NOT_REVEALED),
        (gen.TaskStateFailed(gen.FailReason.NO_AGREEMENT), LOST, ReplicaVerdict.NO_AGREEMENT),
        (SETTLED, replace(LOST, state=gen.LeaseStateEnded(gen.EndReasonGangAborted())), ReplicaVerdict.NOT_NEEDED),
    ],
)
def test_the_verdict_follows_from_the_states(state: gen.TaskState, of: gen.Lease, verdict: ReplicaVerdict) -> None:
    assert verdict_of(state, of) is verdict


@pytest.fixture
def settled(world: World) -> World:
    """A task of which pod 0 lied, and pods 1 and 2 agreed."""
    tasks = Tasks(world.chain)
    tasks.submit(CHARLIE, COMPARED)
    leases = tuple(replace(one, pod=pod) for pod, one in enumerate((LOST, RIGHT, RIGHT)))
    tasks.change(0, state=SETTLED, leases=leases, pods_wanted=3)
    return world


def test_a_task_shows_which_hosts_agreed_and_which_was_wrong(settled: World) -> None:
    status, out, _ = settled.run("task", "show", 0)
    assert status == 0
    assert f"the results of 2 replicas, and 1 more because they differed; agreed: {HOST}, {HOST}" in out
    assert "wrong: others agree on another result. Not paid; the host was slashed" in out
    shown = settled.json("task", "show", 0)
    assert shown["replicas"] == 2
    assert [one["verdict"] for one in shown["leases"]] == ["wrong", "agreed", "agreed"]


async def test_the_result_is_that_of_a_replica_that_agrees(settled: World) -> None:
    view = await read_task(settled.chain, 0)
    assert [one.pod for one in view.result_leases] == [1, 2]
    assert result_lease_of(view, None).pod == 1
    assert result_lease_of(view, 0).verdict is ReplicaVerdict.WRONG
    waiting = replace(view, leases=(replace(view.leases[1], verdict=ReplicaVerdict.REVEALED),), state="Running")
    with pytest.raises(CliError, match="are not compared yet"):
        result_lease_of(waiting, None)


def audited(world: World, state: gen.TaskState, *leases: gen.Lease, **changes: object) -> None:
    """Task 0 is audited and has these leases."""
    tasks = Tasks(world.chain)
    tasks.submit(CHARLIE, task_spec(verification=gen.VerificationPolicyAudit()))
    pods = tuple(replace(one, pod=pod) for pod, one in enumerate(leases))
    tasks.change(0, state=state, leases=pods, **changes)


DRAWN = "drawn for an audit: a host of another provider repeats the work"
DISPUTED = replace(LOST, state=gen.LeaseStateEnded(gen.EndReasonDisputeLost()))
UNUSED = replace(COMMITTED, state=gen.LeaseStateEnded(gen.EndReasonGangAborted()))


@pytest.mark.parametrize(
    ("state", "leases", "wanted", "verdicts", "text"),
    [
        (RUNNING, (COMMITTED,), 1, ["committed"], "audited at random: the chain draws it when the first host has"),
        (RUNNING, (COMMITTED,), 2, ["committed"], DRAWN),
        (RUNNING, (COMMITTED, COMMITTED), 2, ["committed"] * 2, DRAWN),
        (RUNNING, (RIGHT, COMMITTED), 2, ["revealed", "committed"], DRAWN),
        (SETTLED, (RIGHT, RIGHT), 2, ["agreed"] * 2, f"another host repeated the work; agreed: {HOST}, {HOST}"),
        (SETTLED, (LOST, RIGHT, RIGHT), 3, ["wrong", "agreed", "agreed"], f"agreed: {HOST}, {HOST}"),
        (gen.TaskStateReported(), (RIGHT,), 1, ["not_repeated"], "not repeated: its result is the task's"),
        (gen.TaskStateReported(), (RIGHT, UNUSED), 2, ["not_repeated", "not_needed"], "not repeated"),
        (gen.TaskStateFailed(gen.FailReason.DISPUTE_LOST), (DISPUTED,), 1, ["dispute_lost"], "a jury upheld"),
    ],
)
def test_an_audited_task_shows_how_far_it_is(
    world: World, state: gen.TaskState, leases: tuple[gen.Lease, ...], wanted: int, verdicts: list[str], text: str
) -> None:
    audited(world, state, *leases, pods_wanted=wanted)
    shown, out = world.json("task", "show", 0), world.run("task", "show", 0)[1]
    assert (shown["audited"], shown["replicas"]) == (True, None)
    assert [one["verdict"] for one in shown["leases"]] == verdicts
    assert text in out


async def test_the_result_of_a_job_that_is_not_repeated_is_that_of_its_host(world: World) -> None:
    audited(world, gen.TaskStateReported(), UNUSED, RIGHT)
    view = await read_task(world.chain, 0)
    assert result_lease_of(view, None).pod == 1


def test_other_tasks_have_no_verdicts(world: World) -> None:
    tasks = Tasks(world.chain)
    tasks.submit(CHARLIE, task_spec())
    tasks.change(0, state=SETTLED, leases=(RIGHT,))
    shown = world.json("task", "show", 0)
    assert (shown["replicas"], shown["leases"][0]["verdict"]) == (None, None)
    assert "Compared" not in world.run("task", "show", 0)[1]
