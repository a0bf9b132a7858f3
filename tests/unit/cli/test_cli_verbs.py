"""Verbs that the command line and the SDK share: reclaim, faucet, transfer, arrays, attach, accept, rate."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gantry
import pytest
from cli_world import BOB, CHARLIE, GTY, HOST, World, the_host, the_lease
from pod_host import RealHost

from offchain.adapters.keys import signer
from offchain.cli.tenant import follow
from offchain.ports import Call
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from offchain.services.submit_checks import MOST_IN_ARRAY
from tests.support.chain_records import Tasks, task_spec

ALICE = signer.from_uri("//Alice").address
LEASE = lease_id(0, 0, 0)
NOTICE_ENDS = 1_700_000_600_000
Effects = Callable[[Call, str], list[Any]]


@pytest.fixture
def calls(world: World) -> list[tuple[str, Call]]:
    """What is sent, with the account. Reclaims and submissions have the events of the chain."""
    seen: list[tuple[str, Call]] = []

    def effects(call: Call, account: str) -> list[Any]:
        seen.append((account, call))
        if call.function == "reclaim":
            return [("Leases", "ReclaimNoticed", {"lease": call.args["lease"], "reclaim_at": NOTICE_ENDS})]
        if call.function.startswith("submit"):
            count = call.args.get("count", 1)
            first = Tasks(world.chain).submit(CHARLIE, gen.TaskSpec.decode(call.args["spec"]), count, now=1)
            named = {"tenant": CHARLIE, "kind": "Job", "manifest_digest": bytes(32)}
            return [("Tasks", "Submitted", {"first": first, "count": count, **named})]
        return []

    world.chain.effects = effects
    return seen


def running(world: World, kind: gen.TaskKind = gen.TaskKind.SERVICE, **changes: Any) -> None:
    """Have task 0 run on the host of Bob."""
    world.put("Hosts", "Hosts", HOST, the_host(provider=BOB))
    Tasks(world.chain).submit(CHARLIE, task_spec(kind=kind), now=1)
    live = dataclasses.replace(the_lease(0), state=gen.LeaseStateActive(), ended_at=None, result=None)
    Tasks(world.chain).change(0, state=gen.TaskStateRunning(), leases=(dataclasses.replace(live, **changes),))


# --- reclaim -------------------------------------------------------------------------------------------------------


def test_a_provider_reclaims_a_lease(world: World, calls: list[tuple[str, Call]]) -> None:
    running(world)
    found = world.json("host", "reclaim", str(LEASE), "--account", "//Bob")
    assert (found["lease"], found["task"], found["pod"], found["reclaim_at"]) == (LEASE, 0, 0, NOTICE_ENDS)
    status, out, _ = world.run("host", "reclaim", str(LEASE), "--account", "//Bob")
    assert status == 0
    assert f"The tenant of lease {LEASE} (pod 0 of task 0) has notice until 2023-11-14" in out
    with gantry.connect(account="//Bob") as network:
        assert network.reclaim(LEASE) == NOTICE_ENDS
    assert calls == [(BOB, Call("Leases", "reclaim", {"lease": LEASE}))] * 3


@pytest.mark.parametrize(
    ("account", "kind", "changes", "code"),
    [
        ("//Charlie", gen.TaskKind.SERVICE, {}, "not_yours"),
        ("//Bob", gen.TaskKind.JOB, {}, "is_a_job"),
        ("//Bob", gen.TaskKind.RENTAL, {"ended_at": 5}, "final"),
        ("//Bob", gen.TaskKind.RENTAL, {"reclaim_at": NOTICE_ENDS}, "no_change"),
    ],
)
def test_a_lease_that_cannot_be_reclaimed_is_refused(
    world: World, calls: list[tuple[str, Call]], account: str, kind: gen.TaskKind, changes: dict[str, Any], code: str
) -> None:
    running(world, kind, **changes)
    status, out, err = world.run("host", "reclaim", str(LEASE), "--account", account, "--json")
    assert (status, calls) == (1, [])
    assert f'"code": "{code}"' in out
    assert err.startswith("error: ")
    with gantry.connect(account=account) as network, pytest.raises(gantry.GantryError) as refused:
        network.reclaim(LEASE)
    assert refused.value.code == code


def test_a_lease_that_never_was_is_not_reclaimed(world: World, calls: list[tuple[str, Call]]) -> None:
    running(world)
    assert world.run("host", "reclaim", str(LEASE + 9), "--account", "//Bob")[0] == 1
    assert world.run("host", "reclaim", "x", "--account", "//Bob")[0] == 2
    assert not calls


# --- coins ---------------------------------------------------------------------------------------------------------


def test_the_faucet_of_a_development_chain_gives_coins(world: World, calls: list[tuple[str, Call]]) -> None:
    world.put("System", "Account", ALICE, {"data": {"free": 1000 * GTY, "reserved": 0}})
    found = world.json("account", "faucet", "//Charlie")
    assert (found["from"], found["to"], found["amount"]) == (ALICE, CHARLIE, 100 * GTY)
    status, _, err = world.run("account", "faucet", "//Charlie", "2.5")
    assert status == 0
    assert f"{CHARLIE} received 2.5 GTY from //Alice" in err
    with gantry.connect(account="//Charlie") as network:
        network.faucet(7 * GTY)
    amounts = [100 * GTY, 5 * GTY // 2, 7 * GTY]
    given = [Call("Balances", "transfer_keep_alive", {"dest": CHARLIE, "value": amount}) for amount in amounts]
    assert calls == [(ALICE, call) for call in given]


def test_a_chain_without_a_faucet_says_so(world: World, calls: list[tuple[str, Call]]) -> None:
    status, _, err = world.run("account", "faucet", "//Charlie")
    assert status == 1
    assert "Only development chains have a faucet" in err
    world.put("System", "Account", ALICE, {"data": {"free": GTY, "reserved": 0}})
    with gantry.connect(account="//Charlie") as network, pytest.raises(gantry.GantryError) as refused:
        network.faucet(2 * GTY)
    assert (refused.value.code, refused.value.hint) == ("no_faucet", "Ask for less.")
    assert not calls


@pytest.mark.usefixtures("calls")
def test_coins_are_transferred_by_the_sdk(world: World, calls: list[tuple[str, Call]]) -> None:
    with gantry.connect(account="//Charlie") as network:
        network.transfer(BOB, GTY)
        for to, amount in ((BOB, 5000 * GTY), ("5Grw", GTY)):
            with pytest.raises(gantry.GantryError):
                network.transfer(to, amount)
    assert calls == [(CHARLIE, Call("Balances", "transfer_keep_alive", {"dest": BOB, "value": GTY}))]
    assert world.chain.executed


# --- arrays --------------------------------------------------------------------------------------------------------


def test_an_array_of_jobs_is_one_call(world: World, calls: list[tuple[str, Call]], manifest: Path) -> None:
    found = world.json("submit", manifest, "--array", "3", "--account", "//Charlie")
    assert (found["task"], found["count"], found["tasks"]) == (0, 3, [0, 1, 2])
    status, out, _ = world.run("submit", manifest, "--array", "2", "--account", "//Charlie")
    assert status == 0
    assert "Tasks 3 to 4 were submitted" in out
    assert "gantry task wait 3 --account //Charlie" in out
    with gantry.connect(account="//Charlie") as network:
        assert [task.number for task in network.submit_array(manifest, 2)] == [5, 6]
        assert [task.number for task in network.submit_array(manifest, 1)] == [7]
    assert [(call.function, call.args.get("count")) for _, call in calls] == [
        ("submit_array", 3),
        ("submit_array", 2),
        ("submit_array", 2),
        ("submit", None),
    ]


def test_an_array_needs_the_deposits_of_all_its_tasks(
    world: World, calls: list[tuple[str, Call]], manifest: Path
) -> None:
    params = world.chain.storage["Tasks", "Params"][()]
    world.chain.storage["Tasks", "Params"][()] = {**params, "deposit_per_task": GTY}
    status, _, err = world.run("submit", manifest, "--array", "1000", "--account", "//Charlie")
    assert status == 1
    assert "the account has 1000 GTY free; 1000 tasks need 10" in err
    assert "for the pods of one at the price limit" in err
    assert not calls


def test_only_jobs_are_submitted_as_an_array(world: World, calls: list[tuple[str, Call]], manifest: Path) -> None:
    service = manifest.read_text().replace("x-gantry:", "x-gantry:\n  kind: service\n  pods: {min: 1, max: 2}")
    manifest.write_text(service)
    status, _, err = world.run("submit", manifest, "--array", "2", "--account", "//Charlie")
    assert status == 1
    assert "only jobs are submitted as an array" in err
    with gantry.connect(account="//Charlie") as network, pytest.raises(gantry.GantryError) as refused:
        network.submit_array(manifest, MOST_IN_ARRAY + 1)
    assert refused.value.code == "out_of_range"
    for wrong in (("--array", "0"), ("--array", str(MOST_IN_ARRAY + 1)), ("--array", "2", "--wait")):
        assert world.run("submit", manifest, *wrong, "--account", "//Charlie")[0] == 2
    assert not calls


# --- judgement and attaching ---------------------------------------------------------------------------------------


def test_a_task_is_accepted_rated_and_its_volumes_kept_and_released_by_the_sdk(
    world: World, calls: list[tuple[str, Call]]
) -> None:
    tasks = Tasks(world.chain)
    tasks.submit(CHARLIE, task_spec(), now=1)
    tasks.change(0, state=gen.TaskStateReported(), leases=(the_lease(0),))
    with gantry.connect(account="//Charlie") as network:
        task = network.task(0)
        with pytest.raises(gantry.GantryError, match="only a settled task is rated"):
            task.rate(5)
        task.accept()
        tasks.change(0, state=gen.TaskStateSettled())
        task.rate(4)
        task.keep(3_600_000, max_rate_per_hour=GTY)
        task.release()
    with gantry.connect(account="//Bob") as network, pytest.raises(gantry.GantryError, match=f"belongs to {CHARLIE}"):
        network.task(0).accept()
    assert [(call.function, dict(call.args)) for _, call in calls] == [
        ("accept_result", {"task": 0}),
        ("rate", {"lease": LEASE, "stars": 4}),
        ("keep", {"lease": LEASE, "ms": 3_600_000, "max_rate_per_hour": GTY}),
        ("release_data", {"lease": LEASE}),
    ]


def test_only_its_tenant_attaches_to_a_task(world: World) -> None:
    running(world)
    status, out, err = world.run("task", "attach", "0", "--account", "//Bob")
    assert (status, out) == (1, "")
    assert f"belongs to {CHARLIE}" in err


def test_attach_prints_the_output_and_ends_with_the_task(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    Tasks(world.chain).submit(CHARLIE, task_spec(), now=1)
    Tasks(world.chain).change(0, state=gen.TaskStateSettled(), leases=(the_lease(GTY, exit_code=3),))

    async def fetch(*_: Any) -> bytes:
        return b"result"

    async def log(_chain: Any, _number: int, _signer: Any, show: Callable[[bytes], None]) -> None:
        show(b"line 1\\n")

    monkeypatch.setattr(follow, "fetch_result", fetch)
    monkeypatch.setattr(follow, "_follow_log", log)
    status, out, err = world.run("task", "attach", "0", "--account", "//Charlie")
    assert status == 3, err
    assert out == "line 1\\n"
    assert "ended with exit code 3" in err


def test_the_sdk_attaches_to_the_output_of_a_pod(world: World, host: RealHost) -> None:
    assert host
    with gantry.connect(account="//Charlie") as network:
        task = network.task(0)
        assert b"".join(task.attach()) == b"".join(task.logs(follow=True)) != b""
    assert not world.sent
