"""gantry task move, and what gantry task show tells of standbys and checkpoints."""

from __future__ import annotations

from typing import Any

import pytest
from cli_world import BOB, CHARLIE, HOST, World, the_host

from offchain.adapters.keys import signer
from offchain.ports import Call
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import GTY, Tasks, lease, placement, task_spec

WHO = ("--account", "//Charlie")
HERE = signer.from_uri("//Here").address
AT = 1_700_000_000_000


def running(world: World, survival: gen.Survival = gen.Survival.STANDBY, pods: int = 1) -> list[Call]:
    """Task 0 runs, its first pod with a standby and a checkpoint. Gives the calls that the chain will see."""
    calls: list[Call] = []
    world.put("Hosts", "Hosts", HERE, the_host())
    tasks = Tasks(world.chain)
    tasks.submit(CHARLIE, task_spec(kind=gen.TaskKind.SERVICE, survival=survival, pods_max=pods), now=AT)
    standby = gen.StandbyPlace(HOST, b"\0", GTY) if survival is gen.Survival.STANDBY else None
    leases = tuple(
        lease(HERE, pod=pod, state=gen.LeaseStateActive(), started_at=1, standby=None if pod else standby)
        for pod in range(pods)
    )
    last = gen.PodCheckpoint(0, b"\7" * 32, 2048, HERE, AT)
    tasks.change(0, state=gen.TaskStateRunning(), leases=leases, checkpoints=(last,))

    def effects(call: Call, _account: str) -> list[Any]:
        calls.append(call)
        return [("Tasks", "StandbyNamed", {"lease": lease_id(0, 0, 0), "host": HOST})]

    world.chain.effects = effects
    return calls


def test_a_pod_is_moved_by_one_call_with_devices_that_are_free_there(world: World) -> None:
    calls = running(world, gen.Survival.MOVE)
    assert world.json("task", "move", "0", "--host", HOST, *WHO)["task"] == 0
    place = {"host": HOST, "devices": b"\0", "rate_per_hour": 1105 * GTY // 1000}
    assert calls == [Call("Tasks", "move_pod", {"lease": lease_id(0, 0, 0), **place})]


def test_one_of_several_pods_must_be_named(world: World) -> None:
    calls = running(world, pods=2)
    status, _, err = world.run("task", "move", "0", "--host", HOST, *WHO)
    assert status == 1
    assert "has several pods: 0, 1" in err
    world.json("task", "move", "0", "--pod", "1", "--host", HOST, *WHO)
    assert [call.args["lease"] for call in calls] == [lease_id(0, 1, 0)]


@pytest.mark.parametrize(
    ("survival", "arguments", "says"),
    [
        (gen.Survival.RESTART, ("--host", HOST), "survival: move"),
        (gen.Survival.MOVE, ("--host", HERE), "is on"),
        (gen.Survival.MOVE, ("--host", BOB), "no host"),
        (gen.Survival.MOVE, ("--host", HOST, "--pod", "4"), "pod 4 of it does not run"),
        (gen.Survival.MOVE, (), "--host"),
    ],
)
def test_impossible_requests_are_refused_before_sending(
    world: World, survival: gen.Survival, arguments: tuple[str, ...], says: str
) -> None:
    calls = running(world, survival)
    status, _, err = world.run("task", "move", "0", *arguments, *WHO)
    assert status != 0
    assert says in err
    assert calls == []


def test_an_infeasible_host_is_refused_with_the_reason(world: World) -> None:
    calls = running(world)
    world.put("Hosts", "Hosts", HOST, the_host(status="Draining"))
    status, _, err = world.run("task", "move", "0", "--host", HOST, *WHO)
    assert status == 1
    assert f"host {HOST} cannot run the pod: not online" in err
    assert calls == []


NEAR, FAR = signer.from_uri("//Near").address, signer.from_uri("//Far").address


def apart(world: World, **spec: Any) -> list[Call]:
    """Pod 0 runs on HERE, pod 1 on NEAR, pod 2 has ended on FAR; HERE and NEAR are Bob's, HOST and FAR another's."""
    calls = running(world, gen.Survival.MOVE)
    for name, provider in ((NEAR, BOB), (FAR, CHARLIE), (HOST, CHARLIE), (HERE, BOB)):
        world.put("Hosts", "Hosts", name, the_host(provider=provider))
    tasks = Tasks(world.chain)
    tasks.submit(CHARLIE, task_spec(survival=gen.Survival.MOVE, pods_max=3, **spec), now=AT)
    ended = gen.LeaseStateEnded(gen.EndReasonCompleted())
    states = ((HERE, gen.LeaseStateActive()), (NEAR, gen.LeaseStateActive()), (FAR, ended))
    leases = tuple(lease(name, pod=pod, state=state, started_at=1) for pod, (name, state) in enumerate(states))
    tasks.change(1, state=gen.TaskStateRunning(), leases=leases)
    return calls


@pytest.mark.parametrize(
    ("spec", "to", "says"),
    [
        ({"placement": placement(layout=gen.Layout.HOSTS)}, NEAR, f"pod 1 of task 1 is on host {NEAR}"),
        ({"placement": placement(layout=gen.Layout.PROVIDERS)}, NEAR, f"pod 1 of task 1 is on host {NEAR}"),
        (
            {"verification": gen.VerificationPolicyRedundant(3)},
            HOST,
            f"pod 2 of task 1 is on {FAR}, of the same provider {CHARLIE}",
        ),
    ],
)
def test_anti_affinity_refuses_a_host_and_names_the_other_pod(
    world: World, spec: dict[str, Any], to: str, says: str
) -> None:
    calls = apart(world, **spec)
    status, _, err = world.run("task", "move", "1", "--pod", "0", "--host", to, *WHO)
    assert status == 1
    assert says in err
    assert "gantry task show 1 shows its pods" in err
    assert calls == []


@pytest.mark.parametrize(
    ("layout", "to"),
    [(gen.Layout.HOSTS, FAR), (gen.Layout.PROVIDERS, FAR), (gen.Layout.PACKED, NEAR), (gen.Layout.ANY, NEAR)],
)
def test_ended_pods_and_other_layouts_exclude_no_host(world: World, layout: gen.Layout, to: str) -> None:
    calls = apart(world, placement=placement(layout=layout))
    world.json("task", "move", "1", "--pod", "0", "--host", to, *WHO)
    assert [call.args["host"] for call in calls] == [to]


def test_the_standby_and_the_last_checkpoint_of_a_pod_are_shown(world: World) -> None:
    running(world, pods=2)
    _, out, _ = world.run("task", "show", "0")
    assert "continue at a standby if their host fails" in out
    assert HOST in out
    assert f"2023-11-14 22:13:20, 2048 bytes, sha256 {'07' * 32}" in out
    assert "none yet; a scheduler names one" in out, "of the second pod"
    told = world.json("task", "show", "0")
    assert told["survival"] == "standby"
    assert [one["standby"] for one in told["leases"]] == [HOST, None]
    assert told["checkpoints"] == [{"pod": 0, "digest": "07" * 32, "bytes": 2048, "host": HERE, "at": AT}]
