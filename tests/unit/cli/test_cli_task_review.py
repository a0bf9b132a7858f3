"""gantry task accept, dispute, rate, wait, gantry account transfer: what is sent, and what is checked before."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_world import BOB, CHARLIE, GTY, RESULT, Pallets, World, the_lease

from offchain.adapters.keys import signer
from offchain.cli.tenant import follow, submit
from offchain.ports import Call
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import Tasks, task_spec

WHO = ("--account", "//Charlie")
FIRST, SECOND = lease_id(0, 0, 0), lease_id(0, 1, 0)
STAKE = 10 * GTY


@pytest.fixture
def sent(world: World) -> list[Call]:
    """Task 0 of two pods is reported. Gives the calls that the chain will see."""
    calls: list[Call] = []

    def effects(call: Call, _account: str) -> list[Any]:
        calls.append(call)
        return []

    Tasks(world.chain).submit(CHARLIE, replace(task_spec(), pods_min=2, pods_max=2), now=1_700_000_000_000)
    in_state(world, gen.TaskStateReported())
    world.put("Verification", "Params", (), {"dispute_stake": STAKE})
    world.chain.effects = effects
    return calls


def in_state(world: World, state: gen.TaskState) -> None:
    leases = (the_lease(0), replace(the_lease(0, exit_code=3), pod=1))
    Tasks(world.chain).change(0, state=state, leases=leases)


def test_a_result_is_accepted(world: World, sent: list[Call]) -> None:
    assert world.json("task", "accept", "0", *WHO)["task"] == 0
    assert sent == [Call("Tasks", "accept_result", {"task": 0})]


def test_a_dispute_names_the_leases_and_the_digest_of_the_evidence(
    world: World, sent: list[Call], tmp_path: Path
) -> None:
    evidence = tmp_path / "report.txt"
    evidence.write_bytes(b"rows 3 to 5 are wrong")
    digest = hashlib.sha256(b"rows 3 to 5 are wrong").digest()
    world.json("task", "dispute", "0", "--evidence", evidence, *WHO)
    world.json("task", "dispute", "0", "--evidence", evidence, "--pod", "1", *WHO)
    assert sent == [
        Call("Verification", "open_dispute", {"task": 0, "accused": accused, "evidence": digest})
        for accused in ([FIRST, SECOND], [SECOND])
    ]


def test_a_dispute_without_coins_for_the_stake_is_not_sent(world: World, sent: list[Call], tmp_path: Path) -> None:
    world.put("System", "Account", CHARLIE, {"data": {"free": GTY, "reserved": 0}})
    (tmp_path / "report.txt").write_bytes(b"")
    status, _, err = world.run("task", "dispute", "0", "--evidence", tmp_path / "report.txt", *WHO)
    assert (status, sent) == (1, [])
    assert "the stake of a dispute is 10 GTY" in err


def test_a_task_is_rated_pod_by_pod(world: World, sent: list[Call]) -> None:
    in_state(world, gen.TaskStateSettled())
    world.json("task", "rate", "0", "2", "--pod", "1", *WHO)
    assert sent == [Call("Tasks", "rate", {"lease": SECOND, "stars": 2})]


@pytest.mark.parametrize(
    ("state", "arguments", "says"),
    [
        (gen.TaskStateRunning(), ("accept", "0"), "gantry task wait 0 waits for its result"),
        (gen.TaskStateSettled(), ("accept", "0"), "task 0 is Settled: you can accept a result from its report"),
        (gen.TaskStateReported(), ("rate", "0", "5"), "only a settled task is rated"),
        (gen.TaskStateSettled(), ("rate", "0", "5", "--pod", "4"), "task 0 has no pod 4"),
    ],
)
def test_what_cannot_be_is_refused_before_it_is_sent(
    world: World, sent: list[Call], state: gen.TaskState, arguments: tuple[str, ...], says: str
) -> None:
    in_state(world, state)
    status, _, err = world.run("task", *arguments, *WHO)
    assert (status, sent) == (1, [])
    assert says in err


def test_stars_out_of_range_are_refused(world: World, sent: list[Call]) -> None:
    assert world.run("task", "rate", "0", "6", *WHO)[0] == 2
    assert not sent


def test_a_finished_task_is_waited_for_with_its_result(
    world: World, sent: list[Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fetch(_chain: Any, _lease: Any, _signer: Any) -> bytes:
        return RESULT

    monkeypatch.setattr(follow, "fetch_result", fetch)
    in_state(world, gen.TaskStateSettled())
    status, out, err = world.run("task", "wait", "0", *WHO)
    assert status == 3, err
    assert RESULT.decode() in out
    assert "ended with exit code 3" in err
    assert not sent


def test_waiting_until_it_runs_ends_at_once_for_a_running_task(world: World, sent: list[Call]) -> None:
    in_state(world, gen.TaskStateRunning())
    assert world.json("task", "wait", "0", "--running", *WHO)["state"] == "Running"
    assert not sent


def test_only_its_tenant_waits_for_a_task(world: World, sent: list[Call]) -> None:
    status, _, err = world.run("task", "wait", "0", "--account", "//Bob")
    assert status == 1
    assert f"belongs to {CHARLIE}" in err
    assert not sent


def test_the_result_of_a_failed_program_is_not_accepted_by_itself(
    world: World, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pallets = Pallets(world.chain, exit_code=42)

    def effects(call: Call, account: str) -> list[Any]:
        if call.function != "settle":
            return pallets.effects(call, account)
        Tasks(world.chain).change(0, state=gen.TaskStateSettled())
        return [pallets._ended()]

    async def fetch(chain: Any, _lease: Any, _signer: Any) -> bytes:
        # The dispute window passes, and somebody settles the task.
        settle = await chain.sign(Call("Tasks", "settle", {"task": 0}), signer.from_uri("//Bob"), 0)
        await chain.broadcast(settle)
        return RESULT

    world.chain.effects = effects
    monkeypatch.setattr(follow, "fetch_result", fetch)
    status, _, err = world.run("submit", manifest, *WHO, "--wait")
    assert status == 3, err
    assert "ended with exit code 42, so the result is not accepted" in err
    assert [call.function for call in pallets.calls] == ["submit"]


@pytest.mark.parametrize(
    ("sent_so_far", "says"),
    [
        ([], "Nothing was sent."),
        ([None], "The task may have been submitted: gantry task list --account anna shows it."),
        ([None, 7], "Task 7 continues and is billed. gantry task wait 7 --account anna follows it"),
    ],
)
def test_an_interrupted_submission_tells_what_goes_on(
    sent_so_far: list[int | None], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        submit._run(interrupted(), sent_so_far, "anna")
    assert says in capsys.readouterr().err


def test_coins_are_transferred(world: World) -> None:
    seen: list[Call] = []
    world.chain.effects = lambda call, _account: seen.append(call) or []
    found = world.json("account", "transfer", "//Bob", "2.5", *WHO)
    assert (found["to"], found["amount"]) == (BOB, 5 * GTY // 2)
    assert seen == [Call("Balances", "transfer_keep_alive", {"dest": BOB, "value": 5 * GTY // 2})]


def test_more_coins_than_an_account_has_are_not_sent(world: World) -> None:
    status, _, err = world.run("account", "transfer", "//Bob", "5000", *WHO)
    assert status == 1
    assert f"the transfer is of 5000 GTY, and the account {CHARLIE} has 1000 GTY free" in err
