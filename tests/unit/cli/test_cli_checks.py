"""gantry submit: what it says of hosts that a task could run on."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_world import BOB, CHARLIE, HOST, MANIFEST, Pallets, World, the_host

from offchain.core.pricing import deposit
from offchain.schema.manifest.values import format_amount
from tests.support.chain_records import DOCKER, device, tasks_params

HALF = MANIFEST.replace("  price:", "  gpu: {share: 50%}\n  price:")


def sharing(**changes: Any) -> dict[str, Any]:
    """The host, which hands out shares of its GPU."""
    gpu = device(model=b"SIM-1", vram_mib=8192, simulated=True, **changes)
    return the_host(devices=[gpu.encode()], capabilities=replace(DOCKER, shares=True).encode())


def test_a_tenant_that_shares_the_gpu_already_need_not_wait(world: World, pallets: Pallets, manifest: Path) -> None:
    world.put("Hosts", "Hosts", HOST, sharing(milli_free=500, shared_by=CHARLIE))
    manifest.write_text(HALF)
    status, _, err = world.run("submit", manifest, "--account", "//Charlie")
    assert (status, "note:" in err) == (0, False)
    assert pallets.calls


def test_shares_of_another_account_are_reported(world: World, pallets: Pallets, manifest: Path) -> None:
    world.put("Hosts", "Hosts", HOST, sharing(milli_free=500, shared_by=BOB))
    manifest.write_text(HALF)
    status, _, err = world.run("submit", manifest, "--account", "//Charlie")
    assert status == 0
    assert "no host can run it now (of 1: 1 GPUs of which another account holds shares); it waits." in err
    assert pallets.calls


def test_the_rule_that_excludes_every_host_is_named(world: World, manifest: Path) -> None:
    manifest.write_text(HALF)
    status, _, err = world.run("submit", manifest, "--account", "//Charlie")
    assert status == 1
    assert "1 is no match (unable to run what the task needs: docker, shares)." in err


@pytest.mark.parametrize("wanted", ["max_latency: 50ms", "min_network_mbps: 100"])
def test_a_host_without_measurements_may_become_feasible(
    world: World, pallets: Pallets, manifest: Path, wanted: str
) -> None:
    manifest.write_text(MANIFEST.replace("allow_simulated: true", f"allow_simulated: true, {wanted}"))
    status, _, err = world.run("submit", manifest, "--account", "//Charlie")
    assert status == 0
    assert "note: no host can run it now (of 1: 1 too " in err
    assert pallets.calls
    world.put("Hosts", "Hosts", HOST, the_host(latency_ms=51, network_mbps_down=99, network_mbps_up=99))
    assert world.run("submit", manifest, "--account", "//Charlie")[0] == 1


def test_an_unchallenged_host_may_become_feasible(world: World, pallets: Pallets, manifest: Path) -> None:
    manifest.write_text(MANIFEST.replace("allow_simulated: true", "allow_simulated: true, verified_only: true"))
    world.put("Hosts", "Hosts", HOST, the_host(devices=[device(model=b"SIM-1", vram_mib=8192).encode()]))
    status, _, err = world.run("submit", manifest, "--account", "//Charlie")
    assert status == 0
    assert "note: no host can run it now (of 1: 1 GPUs that are not attested); it waits." in err
    assert pallets.calls
    world.put(
        "Hosts", "Hosts", HOST, the_host(devices=[device(model=b"SIM-1", vram_mib=8192, simulated=True).encode()])
    )
    status, _, err = world.run("submit", manifest, "--account", "//Charlie")
    assert (status, "GPUs that are not attested" in err) == (1, True)


def test_a_task_that_asks_for_a_sandbox_goes_only_to_hosts_that_have_one(
    world: World, pallets: Pallets, manifest: Path
) -> None:
    manifest.write_text(MANIFEST.replace("allow_simulated: true", "allow_simulated: true, isolation: sandboxed"))
    status, _, err = world.run("submit", manifest, "--account", "//Charlie")
    assert status == 1
    assert "1 is no match (without the sandbox for pods that the task asks for)" in err
    assert not pallets.calls
    one = the_host(capabilities=replace(DOCKER, sandboxed=True).encode())
    world.put("Hosts", "Hosts", HOST, one)
    assert world.run("submit", manifest, "--account", "//Charlie")[0] == 0
    (call,) = pallets.calls
    assert call.args["spec"]["placement"]["capabilities"]["sandboxed"]


ONE_MODEL = MANIFEST.replace("allow_simulated: true", "allow_simulated: true, models: [SIM-1]")
AUDITED = ONE_MODEL + "  verification: audit\n"


def compared(replicas: int) -> str:
    """The manifest with replicas, which name one model of GPU."""
    return ONE_MODEL + f"  verification: {{replicas: {replicas}}}\n"


def test_the_price_of_an_audited_job_is_known_before_it_is_submitted(
    world: World, pallets: Pallets, manifest: Path
) -> None:
    manifest.write_text(ONE_MODEL)
    (plain,) = world.json("submit", manifest, "--account", "//Charlie", "--dry-run")["candidates"]
    world.put("Tasks", "Params", (), tasks_params(max_replicas=2, audit_surcharge_ppm=50_000))
    manifest.write_text(AUDITED)
    found = world.json("submit", manifest, "--account", "//Charlie", "--dry-run")
    (offer,) = found["candidates"]
    assert offer["rate_per_hour"] == plain["rate_per_hour"] * 21 // 20
    second = deposit(found["max_rate_per_hour"], 60 * 60_000)
    assert found["audit"] == {"surcharge_ppm": 50_000, "second_deposit": second}
    status, out, err = world.run("submit", manifest, "--account", "//Charlie", "--dry-run")
    assert (status, "the price includes the surcharge of 5 % for audits" in out) == (0, True), (out, err)
    assert "note: its price includes the surcharge of 5 % for audits. While an audit runs, another" in err
    assert world.run("submit", manifest, "--account", "//Charlie")[0] == 0
    (call,) = pallets.calls
    assert (call.args["spec"]["verification"], call.args["spec"]["pods_max"]) == ("Audit", 1)


def test_a_price_limit_without_the_surcharge_is_too_low(world: World, manifest: Path) -> None:
    manifest.write_text(ONE_MODEL)
    (plain,) = world.json("submit", manifest, "--account", "//Charlie", "--dry-run")["candidates"]
    world.put("Tasks", "Params", (), tasks_params(max_replicas=2, audit_surcharge_ppm=50_000))
    limit = format_amount(plain["rate_per_hour"])
    manifest.write_text(re.sub(r"max_per_hour: [^}]*", f'max_per_hour: "{limit}"', AUDITED))
    status, _, err = world.run("submit", manifest, "--account", "//Charlie")
    assert (status, "an hour with the surcharge of 5 % for audits" in err) == (1, True), err


@pytest.mark.parametrize("anyway", [[], ["--anyway"]])
def test_a_network_that_compares_no_results_audits_no_jobs(
    world: World, pallets: Pallets, manifest: Path, anyway: list[str]
) -> None:
    world.put("Tasks", "Params", (), tasks_params(max_replicas=1))
    manifest.write_text(AUDITED)
    status, _, err = world.run("submit", manifest, "--account", "//Charlie", *anyway)
    assert (status, "this network compares no results, so it audits no jobs" in err) == (1, True), err
    assert "Write verification: acceptance" in err
    assert not pallets.calls


def test_replicas_of_a_network_that_compares_results_are_submitted(
    world: World, pallets: Pallets, manifest: Path
) -> None:
    world.put("Tasks", "Params", (), tasks_params(max_replicas=3))
    for name, provider in ((HOST, BOB), (CHARLIE, CHARLIE)):
        world.put("Hosts", "Hosts", name, the_host(provider=provider))
    manifest.write_text(compared(2))
    status, out, err = world.run("submit", manifest, "--account", "//Charlie", "--dry-run")
    assert (status, "2, each on a host of another provider, for at most 5 GTY in all" in out) == (0, True), (out, err)
    assert "note: 2 replicas are deposited for, at most 2.5 GTY each" in err
    assert world.run("submit", manifest, "--account", "//Charlie")[0] == 0
    (call,) = pallets.calls
    assert call.args["spec"]["verification"] == {"Redundant": {"replicas": 2}}


@pytest.mark.parametrize("anyway", [[], ["--anyway"]])
@pytest.mark.parametrize(
    ("limit", "says"), [(0, "compares no results of replicas"), (2, "results of at most 2 replicas")]
)
def test_a_task_with_too_many_replicas_is_not_sent(
    world: World, pallets: Pallets, manifest: Path, limit: int, says: str, anyway: list[str]
) -> None:
    world.put("Tasks", "Params", (), tasks_params(max_replicas=limit))
    manifest.write_text(compared(3))
    status, _, err = world.run("submit", manifest, "--account", "//Charlie", *anyway)
    assert (status, says in err, "asks for 3" in err) == (1, True, True)
    assert not pallets.calls


@pytest.mark.parametrize("limits", [{"min_charge_ms": 86_400_000}, {"min_charge_ms": 1, "max_duration_ms": 1_000}])
def test_a_duration_beyond_the_networks_limits_is_not_sent(
    world: World, pallets: Pallets, manifest: Path, limits: dict[str, int]
) -> None:
    world.put("Tasks", "Params", (), tasks_params(**limits))
    status, _, err = world.run("submit", manifest, "--account", "//Charlie", "--anyway")
    assert (status, "x-gantry.duration is" in err, "this network takes" in err) == (1, True, True), err
    assert not pallets.calls


def test_replicas_need_a_provider_each(world: World, manifest: Path) -> None:
    two = [device(model=b"SIM-1", vram_mib=8192, simulated=True).encode()] * 2
    world.put("Hosts", "Hosts", HOST, the_host(devices=two))
    world.put("Tasks", "Params", (), tasks_params(max_replicas=3))
    manifest.write_text(compared(2))
    status, _, err = world.run("submit", manifest, "--account", "//Charlie", "--dry-run")
    assert status == 1
    assert "2 pods must start together, and the 1 registered host could run 1 of them" in err
    assert "note: 2 replicas are deposited for, at most" in err


def test_an_offline_host_is_not_reported_as_too_small(world: World, manifest: Path) -> None:
    world.put("Hosts", "Hosts", HOST, the_host(status="Offline"))
    status, out, _ = world.run("submit", manifest, "--account", "//Charlie", "--dry-run")
    assert status == 0
    assert "never with the hosts that are online: 0 of the 1 pods that it needs would fit" in out
