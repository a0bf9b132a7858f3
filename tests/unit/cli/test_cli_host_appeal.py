"""gantry host appeal: verdicts against a host are appealed by its provider with one command."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cli_world import BOB, CHARLIE, GTY, HOST, LEASE, World, the_lease

from offchain.cli.provider.status import dispute_lines
from offchain.ports import Call
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import DisputePhase, Vote
from offchain.services.dispute_view import dispute_view
from tests.support.chain_records import Tasks, task_spec
from tests.support.dispute_records import dispute, params

BOBS = ("--account", "//Bob")
UNTIL = 2**42
STAKES = (gen.Stake(CHARLIE, 8 * GTY, 2 * GTY, Vote.YES),)


def against_the_host(**changes: Any) -> gen.DisputeRecord:
    record = dispute(
        DisputePhase.DECIDED, opener=CHARLIE, tenant=CHARLIE, accused=(LEASE,), providers=(BOB,), verdict=Vote.YES
    )
    return replace(record, **{"stakes": STAKES, "until": UNTIL, **changes})


@pytest.fixture
def sent(world: World) -> list[Call]:
    """Task 0 ran on Bob's host and is in dispute; Bob has coins. Gives the calls that the chain will see."""
    calls: list[Call] = []

    def effects(call: Call, _account: str) -> list[Any]:
        calls.append(call)
        appealed = gen.Stake(BOB, 20 * GTY, 0, Vote.NO)
        put(world, against_the_host(phase=DisputePhase.HEARING, stakes=(*STAKES, appealed)))
        return []

    tasks = Tasks(world.chain)
    tasks.submit(CHARLIE, task_spec(), now=1)
    tasks.change(0, state=gen.TaskStateDisputed(), leases=(the_lease(0),))
    world.put("Verification", "Params", (), params())
    world.put("System", "Account", BOB, {"data": {"free": 1000 * GTY, "reserved": 0}})
    put(world, against_the_host())
    world.chain.effects = effects
    return calls


def put(world: World, record: gen.DisputeRecord) -> None:
    world.put("Verification", "Disputes", 0, record.encode())


def test_verdicts_against_the_host_are_appealed(world: World, sent: list[Call]) -> None:
    shown = world.json("host", "appeal", HOST, "--dry-run", *BOBS)
    assert (shown["sent"], [one["task"] for one in shown["disputes"]], sent) == (False, [0], [])
    assert "with a stake of 20 GTY" in world.run("host", "appeal", HOST, "--dry-run", *BOBS)[1]
    _, out, _ = world.run("host", "appeal", HOST, *BOBS)
    assert sent == [Call("Verification", "appeal", {"task": 0})]
    assert "Task 0: appealed with a stake of 20 GTY." in out
    assert "No verdict is against host" in world.run("host", "appeal", HOST, *BOBS)[1]
    assert len(sent) == 1


@pytest.mark.parametrize(
    "record",
    [
        against_the_host(verdict=Vote.NO),
        against_the_host(phase=DisputePhase.HEARING),
        against_the_host(until=1),
        against_the_host(accused=(LEASE + 1,)),
    ],
)
def test_nothing_is_sent_about_other_disputes(world: World, sent: list[Call], record: gen.DisputeRecord) -> None:
    world.put("Timestamp", "Now", (), 2)
    put(world, record)
    assert world.json("host", "appeal", HOST, *BOBS)["disputes"] == []
    assert sent == []


def test_an_appeal_that_cannot_be_paid_is_not_sent(world: World, sent: list[Call]) -> None:
    world.put("System", "Account", BOB, {"data": {"free": 19 * GTY, "reserved": 0}})
    status, _, err = world.run("host", "appeal", HOST, *BOBS)
    assert (status, "the stake of this appeal is 20 GTY" in err, sent) == (1, True, [])


def test_only_the_provider_appeals(world: World, sent: list[Call]) -> None:
    status, _, err = world.run("host", "appeal", HOST, "--account", "//Charlie")
    assert (status, f"belongs to {BOB}" in err, sent) == (1, True, [])


def test_the_status_of_an_agent_says_what_to_do_about_a_dispute() -> None:
    leases = {LEASE: the_lease(0)}
    (line,) = dispute_lines(HOST, [dispute_view(7, against_the_host(), leases)])
    assert line.startswith("Dispute about task 7: decided, and may be appealed until ")
    assert line.endswith(f"the verdict is against this host: gantry host appeal {HOST}")
    (line,) = dispute_lines(HOST, [dispute_view(7, against_the_host(phase=DisputePhase.HEARING), leases)])
    assert line.endswith("gantry dispute add-evidence 7 FILE")
