"""gantry task end, scale, extend and so on: what is sent, all of it or nothing, and what is told."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from cli_world import CHARLIE, GTY, HOST, SENT, World

from offchain.ports import Call
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import Tasks, ask, escrow, lease, task_spec

WHO = ("--account", "//Charlie")
KEPT = {"lease": lease_id(0, 0, 0), "ms": 2_592_000_000}


def running(world: World, pods: int = 1, *, tenant: str = CHARLIE, state: gen.LeaseState | None = None) -> list[Call]:
    """Task 0 runs with so many pods. Gives the calls that the chain will see."""
    calls: list[Call] = []

    def effects(call: Call, _account: str) -> list[Any]:
        calls.append(call)
        if call.function == "suspend":
            told = {"lease": call.args["lease"], "rate_per_hour": GTY // 100, "owed": 0, "ends_at": 1_700_000_000_000}
            return [("Leases", "Suspended", told)]
        return []

    tasks = Tasks(world.chain)
    spec = replace(task_spec(), kind=gen.TaskKind.SERVICE if pods > 1 else gen.TaskKind.RENTAL, pods_max=pods)
    tasks.submit(tenant, spec, now=1_700_000_000_000)
    leases = tuple(
        lease(HOST, pod=pod, state=state or gen.LeaseStateActive(), started_at=1, escrow=escrow(deposit=GTY))
        for pod in range(pods)
    )
    tasks.change(0, state=gen.TaskStateRunning(), leases=leases)
    world.chain.effects = effects
    return calls


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("end", 0), Call("Tasks", "end", {"task": 0})),
        (("scale", 0, 2), Call("Tasks", "scale", {"task": 0, "pods": 2})),
        (("extend", 0, "1h30m"), Call("Leases", "extend", {"lease": lease_id(0, 0, 0), "ms": 5_400_000})),
        (("top-up", 0, "2.5"), Call("Leases", "top_up", {"lease": lease_id(0, 0, 0), "amount": 2_500_000_000_000})),
        (("top-up", 0, "1 GTY"), Call("Leases", "top_up", {"lease": lease_id(0, 0, 0), "amount": GTY})),
        (("suspend", 0), Call("Leases", "suspend", {"lease": lease_id(0, 0, 0)})),
        (("resume", 0), Call("Leases", "resume", {"lease": lease_id(0, 0, 0)})),
        (("keep", 0, "30d"), Call("Leases", "keep", {**KEPT, "max_rate_per_hour": ask().storage_gib_per_hour})),
        (("keep", 0, "30d", "--max-rate", "0.5"), Call("Leases", "keep", {**KEPT, "max_rate_per_hour": GTY // 2})),
        (("release", 0), Call("Leases", "release_data", {"lease": lease_id(0, 0, 0)})),
    ],
)
def test_each_command_is_one_call(world: World, arguments: tuple[Any, ...], wanted: Call) -> None:
    calls = running(world, 2 if arguments[0] == "scale" else 1)
    assert world.json("task", *map(str, arguments), *WHO)["task"] == 0
    assert calls == [wanted]


def test_the_outcome_is_printed_as_sentences(world: World) -> None:
    running(world)
    status, out, _ = world.run("task", "suspend", "0", *WHO)
    assert status == 0
    assert "was suspended; it costs 0.01 GTY an hour" in out
    assert out.endswith("Task 0 is Running.\n")


def test_a_sent_call_is_reported_once_on_a_terminal(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    running(world)
    assert SENT not in world.run("task", "suspend", "0", *WHO)[2]
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert world.run("task", "suspend", "0", *WHO)[2].count(SENT) == 1
    world.chain.unpayable = lambda _call, _account: True
    status, _, err = world.run("task", "suspend", "0", *WHO)
    assert (status, SENT in err) == (1, False)


def test_a_suspended_rental_is_called_suspended(world: World) -> None:
    running(world, state=gen.LeaseStateSuspended())
    assert world.run("task", "resume", "0", *WHO)[1].endswith("Task 0 is suspended.\n")


def test_until_when_volumes_are_kept_is_printed(world: World) -> None:
    running(world, state=gen.LeaseStateRetained(1_700_000_120_000))
    _, out, _ = world.run("task", "end", "0", *WHO)
    assert "The volumes of pod 0 are kept until 2023-11-14 22:15:20 UTC: gantry task keep 0 TIME" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("top-up", "0", "99999999"), f"this deposits 99999999 GTY, and the account {CHARLIE} has 1000 GTY free"),
        (("extend", "0", "2000h"), f"this deposits 2000 GTY, and the account {CHARLIE} has 1000 GTY free"),
        (("scale", "0", "3"), "the manifest of task 0 allows 1 to 2 pods, not 3"),
    ],
)
def test_a_limit_is_named_with_the_value_before_anything_is_sent(
    world: World, arguments: tuple[str, ...], says: str
) -> None:
    calls = running(world, 2 if arguments[0] == "scale" else 1)
    status, _, err = world.run("task", *arguments, *WHO)
    assert status == 1
    assert says in err
    assert calls == []


@pytest.mark.parametrize("arguments", [("end", "0"), ("extend", "0", "1h"), ("top-up", "0", "1")])
def test_jobs_are_neither_ended_nor_extended(world: World, arguments: tuple[str, ...]) -> None:
    Tasks(world.chain).submit(CHARLIE, task_spec())
    status, _, err = world.run("task", *arguments, *WHO)
    assert status == 1
    assert "task 0 is a job" in err


def test_all_pods_are_extended_together_or_one_that_is_named(world: World) -> None:
    calls = running(world, 2)
    world.json("task", "extend", "0", "1h", *WHO)
    one, two = ({"lease": lease_id(0, pod, 0), "ms": 3_600_000} for pod in range(2))
    assert calls == [
        Call("Utility", "batch_all", {"calls": [{"Leases": {"extend": one}}, {"Leases": {"extend": two}}]})
    ]
    calls.clear()
    world.json("task", "extend", "0", "1h", "--pod", "1", *WHO)
    assert calls == [Call("Leases", "extend", two)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("extend", "0", "soon"), '"soon" is not a duration; write for example 30m'),
        (("top-up", "0", "much"), '"much GTY" is not an amount'),
        (("extend", "0", "1h", "--pod", "3"), "no pod 3 of it runs"),
        (("scale", "0", "17"), "17"),
    ],
)
def test_impossible_requests_are_refused_before_sending(world: World, arguments: tuple[str, ...], says: str) -> None:
    calls = running(world)
    status, _, err = world.run("task", *arguments, *WHO)
    assert status != 0
    assert says in err
    assert calls == []


def test_a_service_of_several_pods_is_not_suspended(world: World) -> None:
    calls = running(world, 2)
    status, _, err = world.run("task", "suspend", "0", *WHO)
    assert status == 1
    assert "a placed rental has one" in err
    assert calls == []


def test_the_task_of_another_tenant_is_refused(world: World) -> None:
    calls = running(world, tenant=HOST)
    status, _, err = world.run("task", "end", "0", *WHO)
    assert status == 1
    assert f"belongs to {HOST}" in err
    assert calls == []


def test_the_notice_of_a_preemption_is_shown(world: World) -> None:
    running(world)
    tasks = Tasks(world.chain)
    told = gen.Preemption(wanting=7, ends_at=1_700_003_600_000)
    tasks.change(0, preemption=told)
    assert "will be preempted by task 7, not before 2023-11-14 23:13:20\n" in world.run("task", "show", "0")[1]
    assert world.json("task", "show", "0")["preemption"] == {"wanting": 7, "ends_at": 1_700_003_600_000}
    tasks.change(0, state=gen.TaskStateQueued())
    assert "was preempted by task 7\n" in world.run("task", "show", "0")[1]


def test_how_long_a_rental_lasts_and_its_data_is_kept_is_shown(world: World) -> None:
    held = escrow(deposit=GTY, until=1_700_003_600_000)
    running(world)
    Tasks(world.chain).change_lease(lease_id(0, 0, 0), escrow=held)
    assert re.search(r"Paid until +2023-11-14 23:13:20\n", world.run("task", "show", "0")[1])
    assert world.json("task", "show", "0")["leases"][0]["paid_until"] == 1_700_003_600_000
    Tasks(world.chain).change_lease(lease_id(0, 0, 0), state=gen.LeaseStateRetained(1_700_003_600_000))
    out = world.run("task", "show", "0")[1]
    assert re.search(r"Kept until +2023-11-14 23:13:20\n", out)
    assert "Retained\n" in out
    found = world.json("task", "show", "0")["leases"][0]
    assert (found["state"], found["kept_until"], found["paid_until"]) == ("Retained", 1_700_003_600_000, None)
