"""gantry submit: dry runs, and the checks of price, time, coins and hosts before a task is sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_world import BOB, CHARLIE, GTY, HOST, MANIFEST, RATE, Pallets, World, refused, the_host

from offchain.adapters.keys import signer
from offchain.core.placement_forecast import PreemptionForecast, StartForecast
from offchain.core.scheduler.backfill import START_MS
from offchain.schema.chain_types import _generated_chain as gen
from offchain.services import feasibility
from tests.support.chain_records import NO_GPU, Tasks, device, lease, task_spec

OTHER_HOST = signer.from_uri("//OtherHost").address


def test_a_dry_run_shows_price_and_hosts_and_sends_nothing(world: World, pallets: Pallets, manifest: Path) -> None:
    found = world.json("submit", manifest, "--account", "//Charlie", "--dry-run")
    assert found["candidates"] == [{"host": HOST, "provider": BOB, "pods": 1, "rate_per_hour": RATE}]
    assert (found["lowest_rate_per_hour"], found["highest_rate_per_hour"]) == (RATE, RATE)
    assert (found["start"], found["ahead"], found["excluded_now"]) == ("now", 0, {})
    assert not pallets.calls
    status, out, _ = world.run("submit", manifest, "--account", "//Charlie", "--dry-run")
    assert status == 0
    assert f"1 of 1 can run it now: {HOST}" in out
    assert "GPUs   SIM-1" in out
    assert "an hour and pod; the limit is 2.5 GTY" in out
    assert out.endswith("Nothing was sent.\n")


def test_a_dry_run_names_what_excludes_a_host_now(world: World, manifest: Path) -> None:
    busy = the_host(free=gen.Capacity(100, 8192, 100).encode())
    world.put("Hosts", "Hosts", HOST, busy)
    found = world.json("submit", manifest, "--account", "//Charlie", "--dry-run")
    assert found["candidates"] == []
    assert found["candidates_later"] == 1
    assert found["excluded_now"] == {"too little free cpu": 1}
    assert found["excluded_always"] == {}
    assert found["start"] == "waits"


def test_a_dry_run_shows_the_earliest_and_latest_start(world: World, manifest: Path) -> None:
    arguments = ("submit", manifest, "--account", "//Charlie", "--dry-run")
    starts = world.json(*arguments)["starts"]
    assert starts["earliest"] == starts["latest"]
    world.put("Hosts", "Hosts", HOST, the_host(free=gen.Capacity(100, 8192, 100).encode()))
    tasks = Tasks(world.chain)
    number = tasks.submit(CHARLIE, task_spec(resources=gen.Resources(3900, 0, 0, NO_GPU), max_duration_ms=3_600_000))
    tasks.change(number, state=gen.TaskStateAssigned(), leases=(lease(HOST),))
    busy = world.json(*arguments)["starts"]
    assert busy["latest"] - busy["earliest"] == START_MS + 3_600_000
    out = world.run(*arguments)[1]
    assert "as soon as running jobs have ended, in 1 h 5 min at the latest" in out


def test_without_numba_a_dry_run_shows_the_hosts_and_how_to_learn_the_start(
    world: World, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feasibility, "find_spec", lambda _: None)
    arguments = ("submit", manifest, "--account", "//Charlie", "--dry-run")
    found = world.json(*arguments)
    assert (found["start"], found["starts"], found["ahead"]) == ("now", {"earliest": None, "latest": None}, None)
    assert "enough hosts have free resources; to know when, install numpy and numba" in world.run(*arguments)[1]


def test_a_dry_run_shows_whether_a_standby_is_possible_and_its_cost(world: World, manifest: Path) -> None:
    assert world.json("submit", manifest, "--account", "//Charlie", "--dry-run")["standby"] is None
    manifest.write_text(MANIFEST.replace("duration:", "survival: standby\n  duration:"))
    arguments = ("submit", manifest, "--account", "//Charlie", "--dry-run")
    alone = world.json(*arguments)["standby"]
    assert (alone["now"], alone["providers"], alone["lowest_rate_per_hour_after"]) == (False, 1, None)
    assert "and only one provider has free resources" in world.run(*arguments)[1]
    world.put("Hosts", "Hosts", OTHER_HOST, the_host(provider=CHARLIE))
    assert world.json(*arguments)["standby"] == {
        "now": True,
        "providers": 2,
        "rate_per_hour_before": 0,
        "lowest_rate_per_hour_after": RATE,
        "highest_rate_per_hour_after": RATE,
    }
    assert (
        "hosts of 2 providers have free resources. It costs nothing; a pod that continues" in world.run(*arguments)[1]
    )
    for host, provider in ((HOST, BOB), (OTHER_HOST, CHARLIE)):
        busy = the_host(provider=provider, free=gen.Capacity(100, 8192, 100).encode())
        world.put("Hosts", "Hosts", host, busy)
    assert "and no host has free resources" in world.run(*arguments)[1]


def test_a_dry_run_shows_which_spot_tasks_would_be_preempted_and_when(
    world: World, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("submit", manifest, "--account", "//Charlie", "--dry-run")
    assert world.json(*arguments)["leaving"] is None
    world.put("Hosts", "Hosts", HOST, the_host(free=gen.Capacity(100, 8192, 100).encode()))
    for found, told, said in (
        (
            PreemptionForecast((7,), {"queue night": 1}),
            {"tasks": [7], "of": {"queue night": 1}, "notice_ms": 120_000, "nobody_leaves": None},
            "Preempts 1 of queue night, 2m after the notice",
        ),
        (
            PreemptionForecast(why="it holds its share"),
            {"tasks": [], "of": {}, "notice_ms": None, "nobody_leaves": "it holds its share"},
            "No preemption it holds its share",
        ),
    ):
        starts = StartForecast(None, None, preemption=found)
        monkeypatch.setattr(feasibility, "_forecast_start", lambda *_, starts=starts: starts)
        assert world.json(*arguments)["leaving"] == told
        assert said in " ".join(world.run(*arguments)[1].split())


def test_a_dry_run_refuses_what_submitting_would(world: World, manifest: Path) -> None:
    manifest.write_text(MANIFEST.replace("2.5 GTY", "0.5 GTY"))
    assert refused(world, manifest, "--account", "//Charlie", "--dry-run")[0] == "price_too_low"


def test_a_price_limit_below_every_ask_names_the_lowest(world: World, manifest: Path) -> None:
    manifest.write_text(MANIFEST.replace("2.5 GTY", "0.5 GTY"))
    code, err = refused(world, manifest, "--account", "//Charlie")
    assert code == "price_too_low"
    assert "0.5 GTY" in err
    assert "1.11 GTY" in err
    assert HOST in err


@pytest.mark.parametrize(
    ("key", "code", "said"),
    [
        (
            "deadline: 2020-01-31T18:00:00Z",
            "deadline_passed",
            "x-gantry.deadline is 2020-01-31 18:00:00 UTC, and it is",
        ),
        ("duration: 4000d", "bad_duration", "x-gantry.duration is 4000d; this network takes"),
    ],
)
def test_a_limit_of_time_is_named_with_the_value(world: World, manifest: Path, key: str, code: str, said: str) -> None:
    world.put("Timestamp", "Now", (), 1_700_000_000_000)
    manifest.write_text(
        MANIFEST.replace("  duration: 1h", f"  {key}" if "duration" in key else f"  {key}\n  duration: 1h")
    )
    found = refused(world, manifest, "--account", "//Charlie")
    assert found[0] == code
    assert said in found[1]


def test_an_account_without_coins(world: World, manifest: Path) -> None:
    code, err = refused(world, manifest, "--account", "//Ferdie")
    assert code == "no_funds"
    assert "0 GTY free" in err


def test_an_account_with_too_few_coins_for_escrow_and_deposit(world: World, manifest: Path) -> None:
    world.put("System", "Account", CHARLIE, {"data": {"free": 2_500_000_000_000, "reserved": 0}})
    assert refused(world, manifest, "--account", "//Charlie")[0] == "no_funds"
    needed = 2_500_000_000_000 + GTY // 100 + len(MANIFEST) * 10**7 + 10**9
    world.put("System", "Account", CHARLIE, {"data": {"free": needed - 1, "reserved": 0}})
    assert refused(world, manifest, "--account", "//Charlie")[0] == "no_funds"


def test_a_network_without_hosts(world: World, manifest: Path) -> None:
    world.chain.storage["Hosts", "Hosts"].clear()
    assert refused(world, manifest, "--account", "//Charlie")[0] == "no_host"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("count: 1", "count: 2", "too few GPUs"),
        ("allow_simulated: true", "allow_simulated: true, models: [H200]", "other GPU models"),
        ("allow_simulated: true", "allow_simulated: true, min_vram: 80GiB", "too little GPU memory"),
        ("allow_simulated: true", "allow_simulated: false", "simulated GPUs"),
        ("allow_simulated: true", "allow_simulated: true, regions: [moon]", "in another region"),
        ('cpus: "1"', 'cpus: "64"', "too little free cpu"),
    ],
)
def test_a_task_that_no_host_could_ever_run_is_refused_with_the_reason(
    world: World, manifest: Path, old: str, new: str, reason: str
) -> None:
    manifest.write_text(MANIFEST.replace(old, new))
    code, err = refused(world, manifest, "--account", "//Charlie")
    assert code == "no_fit"
    assert reason in err


def test_the_missing_memory_is_named(world: World, manifest: Path) -> None:
    manifest.write_text(MANIFEST.replace("memory: 1GiB", "memory: 100GiB"))
    assert (
        "too little free memory: 102400 MiB asked for, at most 8192 on a host"
        in refused(world, manifest, "--account", "//Charlie")[1]
    )


def test_a_busy_host_is_no_reason_to_refuse(world: World, pallets: Pallets, manifest: Path) -> None:
    record = world.chain.storage["Hosts", "Hosts"][HOST,]
    record["free"] = {"cpu_milli": 0, "memory_mib": 0, "disk_gib": 0}
    record["devices"][0]["milli_free"] = 0
    assert world.json("submit", manifest, "--account", "//Charlie")["task"] == 0
    assert pallets.calls


def test_a_task_that_must_wait_is_sent_with_a_note(world: World, pallets: Pallets, manifest: Path) -> None:
    world.put("Hosts", "Hosts", HOST, the_host(free=gen.Capacity(100, 8192, 100).encode()))
    status, _, err = world.run("submit", manifest, "--account", "//Charlie")
    assert status == 0
    assert "note: no host can run it now (of 1: 1 too little free cpu); it waits." in err
    assert pallets.calls


@pytest.mark.parametrize("status", ["Offline", "Draining", "Unverified"])
def test_a_host_that_may_come_back_is_waited_for(world: World, pallets: Pallets, manifest: Path, status: str) -> None:
    world.put("Hosts", "Hosts", HOST, the_host(status=status))
    _, _, err = world.run("submit", manifest, "--account", "//Charlie")
    assert "note: no host can run it now (of 1: 1 offline, draining, suspended or unverified); it waits." in err
    assert pallets.calls


def test_a_host_that_retires_never_comes_back(world: World, manifest: Path) -> None:
    world.put("Hosts", "Hosts", HOST, the_host(status="Retired"))
    code, err = refused(world, manifest, "--account", "//Charlie")
    assert code == "no_fit"
    assert "1 is not online" in err


def test_more_pods_at_once_than_all_hosts_could_hold_are_refused(world: World, manifest: Path) -> None:
    manifest.write_text(MANIFEST + "  pods: 2\n")
    code, err = refused(world, manifest, "--account", "//Charlie")
    assert code == "no_fit"
    assert "2 pods must start together, and the 1 registered host could run 1 of them" in err


@pytest.mark.parametrize("spread", ["hosts", "providers"])
def test_pods_that_are_spread_need_a_host_or_provider_each(world: World, manifest: Path, spread: str) -> None:
    two = [device(model=b"SIM-1", vram_mib=8192, simulated=True).encode()] * 2
    for name in [HOST] if spread == "hosts" else [HOST, CHARLIE]:
        world.put("Hosts", "Hosts", name, the_host(devices=two))
    apart = MANIFEST.replace("allow_simulated: true", f"allow_simulated: true, spread: {spread}")
    manifest.write_text(apart + "  pods: 2\n")
    code, err = refused(world, manifest, "--account", "//Charlie")
    assert code == "no_fit"
    assert "could run 1 of them" in err


def test_anyway_sends_a_task_that_no_host_could_ever_run(world: World, pallets: Pallets, manifest: Path) -> None:
    manifest.write_text(MANIFEST.replace("count: 1", "count: 2"))
    code, err = refused(world, manifest, "--account", "//Charlie")
    assert code == "no_fit"
    assert "With --anyway it is sent, and waits for a suitable host." in err
    status, _, err = world.run("submit", manifest, "--account", "//Charlie", "--anyway")
    assert status == 0
    assert "note: none of the 1 registered host could run this, even if nothing else ran there" in err
    assert pallets.calls


def test_a_dry_run_counts_the_hosts_that_each_rule_excludes(world: World, manifest: Path) -> None:
    manifest.write_text(MANIFEST.replace("count: 1", "count: 2"))
    assert "1 is no match (too few GPUs)" in refused(world, manifest, "--account", "//Charlie", "--dry-run")[1]
    _, out, _ = world.run("submit", manifest, "--account", "//Charlie", "--dry-run", "--json")
    error = json.loads(out)["error"]
    assert (error["code"], error["hosts"], error["excluded_always"]) == ("no_fit", 1, {"too few GPUs": 1})
    found = world.json("submit", manifest, "--account", "//Charlie", "--dry-run", "--anyway")
    assert found["excluded_now"] == found["excluded_always"] == {"too few GPUs": 1}
    assert (found["start"], found["starts"], found["pods_ever"]) == ("waits", {"earliest": None, "latest": None}, 0)
    _, out, _ = world.run("submit", manifest, "--account", "//Charlie", "--dry-run", "--anyway")
    assert "never with these hosts: 0 of the 1 pods that it needs would fit if nothing else ran" in out
