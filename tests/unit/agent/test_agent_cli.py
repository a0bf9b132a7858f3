"""Bad input to the agent's commands: one message that names the value, a non-zero exit, no traceback."""

import json
import socket

import click
import pytest
from click.testing import CliRunner

from node_agent.runtime import settings as agent_settings
from node_agent.runtime.state_dir import StateDir
from offchain.cli.provider.agent import main


@pytest.fixture
def agent(tmp_path):
    def call(*arguments, env=None):
        folder = [] if "--state" in arguments else ["--state", str(tmp_path / "agent")]
        result = CliRunner().invoke(main, [*arguments, *folder], env=env)
        assert result.exit_code != 0
        assert "Traceback" not in result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result.output

    return call


@pytest.fixture
def nowhere(monkeypatch):
    """An address at which nothing listens."""
    monkeypatch.setattr(agent_settings, "FIRST_CONTACT_S", 0.1)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"ws://127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize("bind", ["here", "127.0.0.1", "127.0.0.1:99999", ":1"])
def test_an_address_to_listen_on(agent, bind):
    assert f"'{bind}' is not IP:PORT" in agent("run", "--bind", bind)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["jion"], "error: No such command 'jion'.\n  agent --help shows how it is used.\n"),
        (["status", "--jsn"], "error: No such option '--jsn'. Did you mean '--json'?\n  agent status --help shows"),
        (["set-ask", "--gpu-price"], "error: Option '--gpu-price' requires an argument.\n  agent --help shows"),
    ],
)
def test_a_wrong_command_line_is_one_error_with_what_to_do(arguments, says):
    told = CliRunner().invoke(main, arguments, prog_name="agent")
    assert told.exit_code == 2
    assert told.stderr.startswith(says)
    assert told.stdout == ""


def test_a_wrong_command_line_is_reported_as_json():
    told = CliRunner().invoke(main, ["status", "--json", "--jsn"], prog_name="agent")
    assert told.exit_code == 2
    error = json.loads(told.stdout)["error"]
    assert (error["code"], error["hint"]) == ("usage", "agent status --help shows how it is used.")
    assert "--jsn" in error["message"]


def test_a_command_that_asks_for_a_status_ends_with_it():
    @click.command()
    @click.pass_context
    def three(ctx):
        ctx.exit(3)

    group = type(main)("agent", package="offchain.cli", table={})
    group.get_command = lambda *_: three
    assert CliRunner().invoke(group, ["three"]).exit_code == 3


def test_no_command_shows_the_help():
    told = CliRunner().invoke(main, [], prog_name="agent")
    assert "Usage: agent" in told.output
    assert "error" not in told.output


def test_an_unknown_profile(agent):
    said = agent("run", "--simulate", "b200x99")
    assert "b200x99" in said
    assert "a100x2" in said


def test_a_folder_that_cannot_be_made(agent, tmp_path):
    (tmp_path / "file").write_text("")
    assert "--state" in agent("run", "--state", str(tmp_path / "file" / "agent"))


def test_a_second_agent_in_the_same_folder(agent, tmp_path):
    first = StateDir(tmp_path / "agent")
    assert "Another agent is running" in agent("run")
    first.close()


def test_no_chain_at_the_address(agent, nowhere):
    assert f"No chain node answers at {nowhere}" in agent("run", "--simulate", "rtx4090", "--url", nowhere)


def test_a_host_key_that_others_may_read(agent, tmp_path):
    StateDir(tmp_path / "agent").close()
    key = tmp_path / "agent" / "host.key"
    key.write_text("00" * 32 + "\n")
    key.chmod(0o644)
    assert f"chmod 600 {key}" in agent("run")


def test_other_hardware_than_the_folder_was_set_up_with(agent, nowhere):
    agent("run", "--simulate", "rtx4090", "--url", nowhere)
    assert "'a100x2' is not the hardware" in agent("run", "--simulate", "a100x2", "--url", nowhere)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Exactly one of --provider"),
        (("--provider", "//Bob", "--provider-uri-env", "X"), "Exactly one of --provider"),
        (("--provider", "bottom drive obey"), "development accounts only"),
        (("--provider", "//Bob///secret"), "development accounts only"),
        (("--provider-uri-env", "GANTRY_TEST_UNSET"), "GANTRY_TEST_UNSET is not set"),
        (("--provider", "//Bob", "--region", "r" * 33), "longer than 32 bytes"),
        (("--provider", "//Bob", "--gpu-price", "much"), "write it like 0.5"),
        (("--provider", "//Bob", "--gpu-price", "-1"), "write it like 0.5"),
        (("--provider", "//Bob", "--gpu-model-price", "A100"), "is not MODEL=GTY"),
        (("--provider", "//Bob", "--gpu-model-price", "A100=much"), "write it like 0.5"),
        (("--provider", "//Bob", "--gpu-model-price", "A=1", "--gpu-model-price", "A=2"), "once for each"),
        (("--provider", "//Bob", "--unit-factor", "week=1"), "is not UNIT=FACTOR"),
        (("--provider", "//Bob", "--unit-factor", "day=11"), "is not UNIT=FACTOR"),
        (("--provider", "//Bob", "--unit-factor", "day=much"), "is not UNIT=FACTOR"),
        (("--provider", "//Bob", "--tier", "best"), "consumer"),
    ],
)
def test_who_owns_the_host_and_at_which_price(agent, arguments, says):
    assert says in agent("register", *arguments)


def test_a_secret_is_never_repeated(agent):
    secret = "bottom drive obey lake curtain smoke basket hold race lonely fit wrong"
    said = agent("register", "--provider-uri-env", "GANTRY_TEST_SECRET", env={"GANTRY_TEST_SECRET": secret})
    assert "basket" not in said
