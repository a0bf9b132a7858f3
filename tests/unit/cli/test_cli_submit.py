"""gantry submit: what is checked before, what is sent, and what is told after."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from cli_world import BOB, CHARLIE, GTY, HOST, MANIFEST, RATE, RESULT, Pallets, World, the_host

from offchain.adapters.keys import signer
from offchain.adapters.transport.port import HostUnreachable
from offchain.cli.tenant import feasibility, follow
from offchain.core.placement_forecast import PreemptionForecast, StartForecast
from offchain.core.scheduler.backfill import START_MS
from offchain.errors import SubmitRefusal
from offchain.ports import DispatchFailure
from offchain.schema.chain_types import _generated_chain as gen
from tests.support.chain_records import NO_GPU, Tasks, device, lease, task_spec

OTHER_HOST = signer.from_uri("//OtherHost").address


@pytest.fixture
def pallets(world: World, monkeypatch: pytest.MonkeyPatch) -> Pallets:
    found = Pallets(world.chain)
    world.chain.effects = found.effects

    async def fetch(_chain: Any, _lease: Any, _signer: Any) -> bytes:
        return RESULT

    monkeypatch.setattr(follow, "fetch_result", fetch)
    return found


def test_a_task_is_sent_with_the_manifests_exact_bytes(world: World, pallets: Pallets, manifest: Path) -> None:
    found = world.json("submit", manifest, "--account", "//Charlie")
    assert found["task"] == 0
    (call,) = pallets.calls
    assert call.args["manifest"] == MANIFEST.encode()
    digest = hashlib.sha256(MANIFEST.encode()).digest()
    assert call.args["spec"]["manifest_digest"] == digest
    assert found["manifest_digest"] == digest.hex()
    assert call.args["spec"]["max_rate_per_hour"] == 2_500_000_000_000
    assert call.args["spec"]["resources"]["gpus"]["count"] == 1
    assert call.args["spec"]["placement"]["allow_simulated"]


def test_waiting_ends_with_result_bill_and_score(world: World, pallets: Pallets, manifest: Path) -> None:
    found = world.json("submit", manifest, "--account", "//Charlie", "--wait")
    assert found["state"] == "Settled"
    assert found["result"] == RESULT.decode()
    assert found["result_digest"] == hashlib.sha256(RESULT).hexdigest()
    assert found["paid"] == RATE * 5000 // 3_600_000
    assert found["fee"] == found["paid"] // 50
    assert found["host"] == HOST
    assert found["host_score"] == 574_999
    assert [call.function for call in pallets.calls] == ["submit", "accept_result"]


def test_no_accept_lets_the_dispute_window_decide(world: World, pallets: Pallets, manifest: Path) -> None:
    pallets.window_is_open = False
    status, _, _ = world.run("submit", manifest, "--account", "//Charlie", "--wait", "--no-accept")
    assert status == 0
    assert [call.function for call in pallets.calls] == ["submit"]


def test_people_get_the_result_first_and_the_bill_to_the_last_unit(
    world: World, pallets: Pallets, manifest: Path
) -> None:
    status, out, err = world.run("submit", manifest, "--account", "//Charlie", "--wait")
    assert status == 0
    assert out.startswith(RESULT.decode())
    assert f"({RATE * 5000 // 3_600_000} base units)" in out
    assert "Task 0 submitted" in err
    assert pallets.calls


def test_a_result_that_does_not_arrive_is_not_accepted(
    world: World, pallets: Pallets, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fetch(_chain: Any, _lease: Any, _signer: Any) -> bytes:
        raise HostUnreachable("the host does not answer")

    monkeypatch.setattr(follow, "fetch_result", fetch)
    pallets.window_is_open = False
    status, out, err = world.run("submit", manifest, "--account", "//Charlie", "--wait", "--json")
    assert status == 0
    assert "result" not in json.loads(out)
    assert "gantry task result 0" in err
    assert [call.function for call in pallets.calls] == ["submit"]


def test_a_program_that_fails_is_settled_with_a_status_of_its_own(
    world: World, pallets: Pallets, manifest: Path
) -> None:
    pallets.exit_code, pallets.window_is_open = 9, False
    status, out, err = world.run("submit", manifest, "--account", "//Charlie", "--wait", "--json")
    assert status == 3, err
    assert json.loads(out)["exit_code"] == 9
    assert "exit code 9" in err


def test_a_task_that_is_not_settled_is_an_error(world: World, pallets: Pallets, manifest: Path) -> None:
    pallets.path, pallets.ends, pallets.window_is_open = (), {"Failed": "AttemptsExhausted"}, False
    status, _, err = world.run("submit", manifest, "--account", "//Charlie", "--wait")
    assert status == 1
    assert "error: task 0 did not succeed. Its state: Failed: every attempt failed." in err


def refused_by_host(world: World, pallets: Pallets, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only attempt of each submitted task is given back by its host with a message in the pod's log."""
    refusal = gen.EndReasonHostRefused(gen.HostFailure.IMAGE_UNAVAILABLE)
    ended = lease(HOST, state=gen.LeaseStateEnded(refusal))
    failed = gen.TaskStateFailed(gen.FailReason.ATTEMPTS_EXHAUSTED)

    def effects(call: Any, account: str) -> list[Any]:
        found = pallets.effects(call, account)
        Tasks(world.chain).change(0, state=failed, leases=(ended,), attempts=(gen.Attempt(HOST, BOB, refused=True),))
        return found

    async def read_log(_chain: Any, _lease: Any, _signer: Any, *, tail: int | None = None) -> bytes:
        assert tail is None
        return b"2026-11-24T09:00:00Z [the host gave this pod back (image_unavailable): there is no image tool]\n"

    pallets.path, pallets.ends, pallets.window_is_open = (), {"Failed": "AttemptsExhausted"}, False
    world.chain.effects = effects
    monkeypatch.setattr(follow, "_read_log", read_log)


def test_the_message_of_the_host_is_printed_if_no_pod_could_start(
    world: World, pallets: Pallets, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused_by_host(world, pallets, monkeypatch)
    status, _, err = world.run("submit", manifest, "--account", "//Charlie", "--wait")
    assert status == 1
    assert "Its state: Failed after 1 attempt: the image could not be pulled." in err
    assert f"The attempt failed: the image could not be pulled (host {HOST}). The host reported: there is no" in err
    _, out, err = world.run("task", "wait", 0, "--account", "//Charlie", "--json")
    assert (json.loads(out)["cause"], json.loads(out)["reason"]) == ("there is no image tool", "image_unavailable")
    assert "The host reported: there is no image tool." in err
    assert "the image could not be pulled; gantry logs 0 --pod 0 shows what" in world.run("task", "show", 0)[1]
    assert f"the image could not be pulled (host {HOST})" in world.run("task", "why", 0)[1]
    assert world.json("task", "why", 0)["reason"] == "image_unavailable"


def test_the_end_of_the_log_of_a_failed_program_is_printed(
    world: World, pallets: Pallets, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read_log(_chain: Any, _lease: Any, _signer: Any, *, tail: int | None = None) -> bytes:
        return b"" if tail is None else b"out of memory\n"

    monkeypatch.setattr(follow, "_read_log", read_log)
    pallets.exit_code, pallets.window_is_open = 137, False
    status, out, err = world.run("submit", manifest, "--account", "//Charlie", "--wait")
    assert status == 3
    assert "137 (killed by SIGKILL; it used 9 of 1024 MiB memory)" in out
    assert "The last lines of the log of pod 0:\n  out of memory\n" in err


def test_a_service_that_cannot_start_is_reported_with_the_message_of_its_host(
    world: World, pallets: Pallets, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused_by_host(world, pallets, monkeypatch)
    manifest.write_text(MANIFEST + "  kind: service\n")
    status, _, err = world.run("submit", manifest, "--account", "//Charlie", "--wait")
    assert status == 1
    assert "The host reported: there is no image tool." in err
    status, _, err = world.run("task", "wait", "0", "--running", "--account", "//Charlie")
    assert status == 1
    assert "The host reported: there is no image tool." in err


@pytest.mark.usefixtures("pallets")
def test_the_log_is_printed_as_it_comes(world: World, manifest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Client:
        async def logs(self, number: int, *, follow: bool = False, tail: int | None = None) -> Any:
            assert (number, follow, tail) == (0, True, None)
            for piece in (b"step 1\n", b"step 2\n"):
                yield piece

    @contextlib.asynccontextmanager
    async def open_host(_chain: Any, _lease: Any, _signer: Any) -> Any:
        yield Client()

    monkeypatch.setattr(follow, "open_lease_host", open_host)
    status, out, err = world.run("submit", manifest, "--account", "//Charlie", "--wait", "--logs")
    assert status == 0
    assert err.count("step 1\nstep 2\n") == 1
    assert "step" not in out
    assert "step 2\n" in world.run("task", "wait", "0", "--account", "//Charlie", "--logs")[2]


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


def refused(world: World, *arguments: str | Path) -> tuple[str, str]:
    """Code and text of the one error; nothing was sent."""
    status, out, err = world.run("submit", *arguments, "--json")
    assert status in (1, 2)
    (line,) = out.splitlines()
    assert err.startswith("error: ")
    assert not world.chain.executed
    return json.loads(line)["error"]["code"], err


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


def test_a_bad_manifest_names_file_line_and_key(world: World, manifest: Path) -> None:
    manifest.write_text(MANIFEST.replace("count: 1", "count: -1") + "  colour: red\n")
    status, out, err = world.run("submit", manifest, "--account", "//Charlie", "--json")
    assert status == 1
    report = json.loads(out)["error"]
    assert report["code"] == "bad_manifest"
    assert [problem["line"] for problem in report["problems"]] == [8, 13]
    assert "task.yaml:8: services.train.deploy" in err
    assert not world.chain.executed


def test_a_missing_file(world: World) -> None:
    assert refused(world, "nowhere.yaml", "--account", "//Charlie")[0] == "no_file"


def test_an_unset_variable_is_named(world: World, manifest: Path) -> None:
    manifest.write_text(MANIFEST.replace("2.5 GTY", "${GANTRY_TEST_UNSET:?say how much}"))
    code, err = refused(world, manifest, "--account", "//Charlie")
    assert code == "bad_manifest"
    assert "GANTRY_TEST_UNSET" in err
    assert "say how much" in err


def test_a_variable_of_the_local_network_names_the_command_that_sets_it(world: World, manifest: Path) -> None:
    manifest.write_text(MANIFEST.replace("image: tool", "image: ${GANTRY_DEMO_IMAGE}"))
    err = world.run("submit", manifest, "--account", "//Charlie")[2]
    assert "GANTRY_DEMO_IMAGE is not set. scripts/up sets it while the local network runs; start that." in err


def test_a_variable_of_the_shell_is_noted(
    world: World, pallets: Pallets, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/anna")
    manifest.write_text(MANIFEST.replace("    deploy:", '    command: [ls, "$HOME", "$$USER"]\n    deploy:'))
    _, _, err = world.run("submit", manifest, "--account", "//Charlie")
    assert "task.yaml:5: $HOME is replaced by its value here, /home/anna, which becomes public. Write $$HOME" in err
    assert "USER" not in err
    assert pallets.calls


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("apiVersion: v1", "This is a file for Kubernetes"),
        ("queues: {a: {}}", "This is a file for schedulers: gantry worker scheduler --queues FILE"),
        ("reservations: {}", "This is a file for schedulers: gantry worker scheduler --reservations FILE"),
    ],
)
def test_a_file_of_another_kind_is_recognised(world: World, manifest: Path, key: str, said: str) -> None:
    manifest.write_text(key + "\n")
    assert said in world.run("submit", manifest, "--account", "//Charlie")[2]


def test_variables_of_the_local_network_are_defaults(
    world: World, pallets: Pallets, manifest: Path, home: Path
) -> None:
    (home / "network").mkdir()
    (home / "network" / "env").write_text("LIMIT_FROM_UP=2.5 GTY\n")
    manifest.write_text(MANIFEST.replace("2.5 GTY", "${LIMIT_FROM_UP}"))
    world.json("submit", manifest, "--account", "//Charlie")
    assert pallets.calls[0].args["manifest"] == MANIFEST.encode()


def test_the_chains_error_is_printed(world: World, manifest: Path) -> None:
    failure = DispatchFailure("Tasks", "DurationTooLong", "The duration is longer than the chain allows.")
    world.chain.verdicts = lambda _call, _account: failure
    code, err = refused(world, manifest, "--account", "//Charlie")
    assert code == "call_failed"
    assert "Tasks.DurationTooLong. The duration is longer than the chain allows." in err


def test_a_permanent_refusal_of_the_pool_is_reported(world: World, manifest: Path) -> None:
    world.chain.unpayable = lambda _call, _account: True
    code, err = refused(world, manifest, "--account", "//Charlie")
    assert code in ("submit_refused", "gave_up")
    assert "pay" in err


def test_a_node_that_is_busy_for_a_moment_is_no_error(world: World, pallets: Pallets, manifest: Path) -> None:
    world.chain.refusals = [SubmitRefusal.POOL_FULL]
    assert world.json("submit", manifest, "--account", "//Charlie")["task"] == 0
    assert len(pallets.calls) == 1


def test_a_variable_that_looks_like_a_secret_is_noted(world: World, pallets: Pallets, manifest: Path) -> None:
    environment = "    environment: {HF_TOKEN: abc, EMPTY_TOKEN: '', SIZE: 3}\n    deploy:"
    manifest.write_text(MANIFEST.replace("    deploy:", environment))
    status, _, err = world.run("submit", manifest, "--account", "//Charlie")
    assert status == 0
    assert "HF_TOKEN" in err
    assert "EMPTY_TOKEN" not in err
    assert "abc" not in err
    assert pallets.calls
