"""Commands that read: hosts, tasks, balances; and how failures of the network are told."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from cli_world import BOB, CHARLIE, GTY, HOST, MANIFEST, Pallets, World, the_host

from offchain.cli.kit import network, session
from offchain.cli.main import main
from offchain.cli.provider import agent
from offchain.cli.provider.agent_options import DefaultNetwork
from offchain.errors import WrongChain
from offchain.ports import Call


@pytest.mark.parametrize("address", ["abc", "", "-1", "9" * 99, HOST[:-1] + ("1" if HOST[-1] != "1" else "2")])
@pytest.mark.parametrize("command", [("host", "show"), ("chain", "inspect", "host")])
def test_a_malformed_address_argument_is_reported(world: World, command: tuple[str, ...], address: str) -> None:
    status, out, err = world.run(*command, "--", address)
    assert (status, out) == (2, "")
    assert "ADDRESS" in err
    assert f'"{address}"' in err
    assert "gantry host list" in err


def test_hosts_are_listed_one_object_a_line(world: World) -> None:
    found = world.json("host", "list")
    assert found["host"] == HOST
    assert found["status"] == "Online"
    assert found["ask"]["gpu_per_hour"] == GTY
    assert found["devices"][0]["simulated"]
    assert found["host_score"] is None


def test_hosts_are_listed_for_people(world: World) -> None:
    status, out, _ = world.run("host", "list", "--online")
    assert status == 0
    assert HOST in out
    assert "1 simulated" in out


def test_a_host_that_leaves_is_listed_with_the_time_and_its_gpu_models(world: World) -> None:
    world.put("Hosts", "Hosts", HOST, the_host(status={"Retiring": 1_700_000_000_000}))
    _, out, _ = world.run("host", "list")
    assert "Retiring until 2023-11-14 22:13:20" in out
    assert "1 simulated SIM-1" in out
    assert world.json("host", "list")["status"] == "Retiring(1700000000000)"


def test_a_network_without_hosts_lists_nothing(world: World) -> None:
    world.chain.storage["Hosts", "Hosts"].clear()
    assert world.run("host", "list", "--json")[:2] == (0, "")


def test_a_host_is_shown(world: World) -> None:
    status, out, _ = world.run("host", "show", HOST)
    assert status == 0
    assert BOB in out
    assert "1 GTY" in out


def test_a_host_shows_its_endpoints_and_network_measurements(world: World) -> None:
    assert "not measured yet" in world.run("host", "show", HOST)[1]
    world.put("Hosts", "Hosts", HOST, the_host(network_mbps_down=1000, network_mbps_up=500, latency_ms=12))
    _, out, _ = world.run("host", "show", HOST)
    assert "127.0.0.1:4001" in out
    assert "class 1000 Mbit/s to it, 500 from it" in out
    assert "12 ms, as it measured it" in out
    shown = world.json("host", "show", HOST)
    assert (shown["network_mbps"], shown["latency_ms"]) == ([1000, 500], 12)
    assert "12 ms" in world.run("host", "list", "--wide")[1]


def test_a_host_shows_who_shares_its_gpus(world: World) -> None:
    assert "shared by" not in world.run("host", "show", HOST)[1]
    record = the_host()
    record["devices"][0] |= {"milli_free": 250, "shared_by": CHARLIE}
    world.put("Hosts", "Hosts", HOST, record)
    assert f"25 % free, shared by pods of {CHARLIE} alone" in world.run("host", "show", HOST)[1]
    assert world.json("host", "show", HOST)["devices"][0]["shared_by"] == CHARLIE


def test_a_host_shows_which_gpu_is_out_of_order(world: World) -> None:
    assert "out of order" not in world.run("host", "show", HOST)[1]
    record = the_host()
    record["devices"][0]["healthy"] = False
    world.put("Hosts", "Hosts", HOST, record)
    assert ", free, out of order\n" in world.run("host", "show", HOST)[1]


def test_waiting_for_a_host_that_is_online_ends_at_once(world: World) -> None:
    assert world.run("host", "wait", "--timeout", "5s")[0] == 0


def test_waiting_for_hosts_ends_with_how_many_there_are(world: World) -> None:
    status, _, err = world.run("host", "wait", "--count", "2", "--timeout", "50ms")
    assert status == 1
    assert "online hosts after 50ms: 1 of 2." in err


def submitted(world: World, manifest: Path) -> Pallets:
    pallets = Pallets(world.chain, ends="Queued", path=())
    world.chain.effects = pallets.effects
    world.json("submit", manifest, "--account", "//Charlie")
    return pallets


def test_a_task_is_shown_and_listed(world: World, manifest: Path) -> None:
    submitted(world, manifest)
    assert world.json("task", "show", "0")["leases"][0]["host"] == HOST
    assert world.json("task", "list")["task"] == 0
    assert world.json("task", "list", "--state", "queued")["state"] == "Queued"
    assert world.run("task", "list", "--state", "Settled", "--json")[:2] == (0, "")
    status, out, _ = world.run("task", "show", "0")
    assert status == 0
    assert "Pod 0" in out


def test_a_score_is_shown_with_the_number_of_settled_leases(world: World, manifest: Path) -> None:
    assert "none yet after 0 settled leases\n" in world.run("host", "show", HOST)[1]
    submitted(world, manifest)
    assert " after 1 settled lease\n" in world.run("host", "show", HOST)[1]


def test_the_tasks_of_the_own_account_are_listed_unless_all_are_wanted(
    world: World, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted(world, manifest)
    monkeypatch.setenv("GANTRY_ACCOUNT", "//Bob")
    assert world.run("task", "list", "--json")[:2] == (0, "")
    assert "These are the tasks of //Bob; --all shows those of all accounts." in world.run("task", "list")[2]
    assert world.json("task", "list", "--all")["task"] == 0
    assert world.json("task", "list", "--account", "//Charlie")["task"] == 0


def test_a_task_is_cancelled_by_its_tenant_only(world: World, manifest: Path) -> None:
    pallets = submitted(world, manifest)
    status, _, err = world.run("task", "cancel", "0", "--account", "//Bob")
    assert status == 1
    assert CHARLIE in err
    assert world.json("task", "cancel", "0", "--account", "//Charlie")["state"] == "Cancelled"
    assert [call.function for call in pallets.calls] == ["submit", "cancel"]
    assert world.run("task", "cancel", "0", "--account", "//Charlie")[0] == 1


@pytest.mark.parametrize("command", ["show", "cancel", "logs", "result"])
def test_a_task_that_does_not_exist_is_named(world: World, command: str) -> None:
    account = [] if command == "show" else ["--account", "//Charlie"]
    status, _, err = world.run("task", command, "404", *account)
    assert status == 1
    assert "error: there is no task 404." in err


def test_a_balance(world: World) -> None:
    assert world.json("account", "balance", "//Charlie")["free"] == 1000 * GTY
    assert world.json("account", "balance", CHARLIE)["free"] == 1000 * GTY


def test_the_audit_finds_a_coin_too_many(world: World) -> None:
    world.put("Hosts", "Hosts", HOST, world.chain.storage["Hosts", "Hosts"][HOST,] | {"bond": 0})
    world.put("Balances", "TotalIssuance", (), 1000 * GTY)
    assert world.json("doctor", "--audit")["sound"]
    world.put("Balances", "TotalIssuance", (), 1000 * GTY - 1)
    status, out, _ = world.run("doctor", "--audit", "--json")
    assert status == 1
    assert not json.loads(out)["sound"]
    status, _, err = world.run("doctor", "--audit")
    assert status == 1
    assert "+1" in err


def test_an_unreachable_node_is_one_message(world: World) -> None:
    world.chain.unreachable = True
    status, out, err = world.run("host", "list", "--json")
    assert status == 1
    assert json.loads(out)["error"]["code"] == "chain_unreachable"
    assert "scripts/up" in err


def test_another_chain_is_one_message(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def connect() -> None:
        raise WrongChain("0x11", "0x22", "genesis")

    monkeypatch.setattr(world.chain, "connect", connect)
    status, out, err = world.run("task", "list", "--json")
    assert status == 1
    assert json.loads(out)["error"]["code"] == "wrong_chain"
    assert "0x11" in err


@pytest.mark.parametrize("url", ["http://127.0.0.1:9944", "not a url", "ws://127.0.0.1:99999", "ws://", "ws://x:0"])
def test_a_malformed_address_is_named(world: World, url: str) -> None:
    status, _, err = world.run("host", "list", "--url", url)
    assert status == 1
    assert url in err


def test_the_local_network_is_used_with_its_genesis(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "network").mkdir()
    facts = {"url": "ws://127.0.0.1:1234", "genesis_hash": "0x" + "07" * 32}
    (home / "network" / "network.json").write_text(json.dumps(facts))
    assert network.choose_node(None).url == facts["url"]
    assert network.choose_node(None).genesis_hash == bytes([7] * 32)
    assert network.choose_node(facts["url"]).genesis_hash == bytes([7] * 32)
    assert network.choose_node("ws://127.0.0.1:5").genesis_hash is None
    monkeypatch.setenv("GANTRY_URL", "ws://node:9")
    monkeypatch.setenv("GANTRY_GENESIS", "0x" + "09" * 32)
    assert network.choose_node(None) == network.NodeEndpoint("ws://node:9", bytes([9] * 32), "GANTRY_URL")


def test_the_agent_uses_the_network_of_the_other_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GANTRY_URL", "ws://node:9")
    monkeypatch.setenv("GANTRY_GENESIS", "0x" + "09" * 32)
    assert agent.present_network() == DefaultNetwork("ws://node:9", bytes([9] * 32))


def test_the_agent_uses_the_engine_of_the_local_network(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    path = home / "docker.sock"
    facts = {"url": "ws://127.0.0.1:1234", "genesis_hash": "0x" + "07" * 32, "docker_host": f"unix://{path}"}
    (home / "network").mkdir()
    file = home / "network" / "network.json"
    file.write_text(json.dumps(facts))
    assert agent.present_network().engine is None
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(path))
        assert agent.present_network() == DefaultNetwork(facts["url"], bytes([7] * 32), f"unix://{path}")
        monkeypatch.setenv("DOCKER_HOST", "unix:///other.sock")
        assert agent.present_network().engine is None
        monkeypatch.delenv("DOCKER_HOST")
        monkeypatch.setenv("GANTRY_URL", "ws://node:9")
        assert agent.present_network().engine is None
        monkeypatch.delenv("GANTRY_URL")
        file.write_text(json.dumps(facts | {"docker_host": "tcp://127.0.0.1:2375"}))
        assert agent.present_network().engine is None


def test_a_damaged_network_file_is_reported(home: Path, world: World) -> None:
    (home / "network").mkdir()
    (home / "network" / "network.json").write_text("{")
    status, _, err = world.run("host", "list")
    assert status == 1
    assert "scripts/down" in err


def test_an_unexpected_failure_leaves_its_traceback_in_a_file(
    world: World, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    def broken(_network: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(session, "make_chain", broken)
    status, _, err = world.run("host", "list")
    assert status == 70
    assert "ZeroDivisionError: a bug" in err
    (log,) = (home / "cache" / "log").iterdir()
    assert "Traceback" in log.read_text()
    assert str(log) in err


def test_the_manifest_can_be_checked_without_a_network(world: World, manifest: Path) -> None:
    world.chain.unreachable = True
    assert world.json("manifest", "check", manifest)["held_at_most"] == 2_500_000_000_000
    assert world.run("manifest", "resolve", manifest)[1] == MANIFEST


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sumbit"], "Did you mean submit?"),
        (["task", "shwo"], "No such command"),
        (["task", "show", "x"], "'x' is not the number of a task; gantry task list shows them"),
        (["host", "list", "--jsn"], "No such option"),
        (["host", "wait", "--timeout", "soon"], "is not a duration"),
    ],
)
def test_wrong_usage_has_a_status_and_a_way_on(world: World, arguments: list[str], said: str) -> None:
    status, _, err = world.run(*arguments)
    assert status == 2
    assert err.startswith("error: ")
    assert said in err


@pytest.mark.parametrize(
    "command",
    [
        *(
            [],
            ["submit"],
            ["task"],
            ["task", "list"],
            ["task", "logs"],
            ["host"],
            ["host", "wait"],
            ["account"],
            ["doctor"],
        ),
        *(["account", "create"], ["account", "import"], ["manifest", "check"], ["worker"], ["worker", "all"]),
    ],
)
def test_every_help_has_an_example(world: World, command: list[str]) -> None:
    status, out, _ = world.run(*command, "--help")
    assert status == 0
    assert "gantry " + (command[0] if command else "submit") in out.partition("Usage:")[2].partition("\n")[2]


def suspended(reason: str, **changes: object) -> dict[str, object]:
    return the_host(status={"Suspended": reason}, bond=4 * GTY, bond_required=10 * GTY, **changes)


def test_a_suspended_host_shows_why_and_what_ends_it(world: World) -> None:
    assert world.json("host", "show", HOST)["suspension"] is None
    world.put("Hosts", "Hosts", HOST, suspended("Slashed"))
    _, out, _ = world.run("host", "show", HOST)
    assert "Suspended: slashes have left less than half of its bond" in out
    assert "Top the bond up by 6 GTY: gantry agent top-up" in out
    shown = world.json("host", "show", HOST)
    assert shown["status"] == "Suspended(Slashed)"
    assert (shown["suspension"]["reason"], shown["suspension"]["bond_missing"]) == ("slashed", 6 * GTY)
    assert shown["suspension"]["since_ms"] is None


def test_a_host_shows_whether_it_answers_challenges(world: World) -> None:
    assert "nobody can challenge the host" in world.run("host", "show", HOST)[1]
    assert world.json("host", "show", HOST)["answers_challenges"] is False
    world.put("Hosts", "Hosts", HOST, the_host(answers_challenges=True, challenged=0))
    assert "GPU 0 is challenged" in world.run("host", "show", HOST)[1]
    shown = world.json("host", "show", HOST)
    assert (shown["answers_challenges"], shown["challenged"]) == (True, 0)


def test_a_host_is_challenged(world: World) -> None:
    def effects(call: Call, _account: str) -> list[tuple[str, str, dict[str, object]]]:
        world.sent.append(call)
        opened = {"challenge": 7, "host": HOST, "device": call.args["device"], "claim": {}, "opener": CHARLIE}
        return [("Verification", "ChallengeOpened", {**opened, "fee": GTY})]

    world.chain.effects = effects
    status, out, _ = world.run("host", "challenge", HOST, "--account", "//Charlie")
    assert status == 0
    assert "Challenge 7 of GPU 0 is open; 1 GTY are held" in out
    found = world.json("host", "challenge", HOST, "--device", "1", "--lease", "9", "--account", "//Charlie")
    assert found == {"challenge": 7, "host": HOST, "device": 1, "fee": GTY}
    wanted = [{"host": HOST, "device": 0, "lease": None}, {"host": HOST, "device": 1, "lease": 9}]
    assert [dict(call.args) for call in world.sent] == wanted


def test_commands_and_options_are_completed_in_the_shell(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_GANTRY_COMPLETE", "bash_complete")
    for words, at, wanted in (("gantry ta", "1", "plain,task"), ("gantry host list --so", "3", "plain,--sort")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", at)
        assert main([]) == 0
        assert capfd.readouterr().out == f"{wanted}\n"
