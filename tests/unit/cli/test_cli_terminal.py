"""A host with a hostile region, model and endpoint, and a hostile task, in each command that shows them."""

import io
import json
import re
from pathlib import Path

import pytest
from cli_world import HOST, Pallets, World, the_host

from node_agent.runtime.join_config import MAX_REGION_BYTES
from offchain.cli.kit.output import table
from offchain.schema.chain_types.ids import task_key
from offchain.schema.terminal_escaping import line
from tests.support.chain_records import device

ATTACK = "\x1b[2J\x9b6n\u202e\u200b\nOK"
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
COMMANDS = [
    ("host", "list"),
    ("host", "show", HOST),
    ("task", "list"),
    ("task", "show", "0"),
    ("task", "usage", "0"),
    ("task", "why", "0"),
    ("chain", "inspect", "host", HOST),
    ("chain", "inspect", "task", "0"),
]


@pytest.fixture
def hostile(world: World, manifest: Path) -> World:
    name = ATTACK.encode()
    record = the_host(region=name, endpoint=name + b"\xff", devices=[device(model=name, vram_mib=8192).encode()])
    world.put("Hosts", "Hosts", HOST, record)
    world.chain.effects = Pallets(world.chain, window_is_open=True).effects
    status, _, err = world.run("submit", manifest, "--account", "//Charlie", "--json")
    assert status == 0, err
    # Escaped, as in JSON: YAML takes no raw control characters.
    text = f"name: {json.dumps(ATTACK)}\n{manifest.read_text()}"
    world.put("Tasks", "Manifests", task_key(0), text.encode())
    return world


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_no_command_prints_control_sequences_of_others(
    hostile: World, command: tuple[str, ...], options: tuple[str, ...]
):
    status, out, err = hostile.run(*command, *options)
    assert (status == 2, bool(out + err)) == (False, True)
    assert UNSEEN.search(out + err) is None
    assert "\nOK" not in out + err


def test_control_sequences_are_printed_escaped(hostile: World):
    assert line(ATTACK) in hostile.run("host", "list")[1]
    assert hostile.json("host", "show", HOST)["region"] == ATTACK
    assert line(ATTACK) in hostile.run("task", "list")[1]
    assert line(ATTACK) in hostile.run("task", "show", "0")[1]
    assert hostile.json("task", "list")["name"] == ATTACK
    assert len(ATTACK.encode()) <= MAX_REGION_BYTES


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_table_on_a_terminal_shows_markup_and_control_sequences_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = FakeTerminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    table(("NAME", "VALUE"), [("[bold]x[/bold]", ATTACK)])
    shown = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    assert "[bold]x[/bold]" in shown
    assert line(ATTACK) in shown
    assert UNSEEN.search(shown) is None


def test_a_table_on_a_narrow_terminal_is_folded_and_not_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = FakeTerminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", "40")
    table(("NAME", "VALUE"), [("short", "0123456789" * 10)])
    assert terminal.getvalue().count("9") == 10


def test_addresses_are_shortened_on_a_narrow_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for columns, shown in (("200", HOST), ("50", f"{HOST[:6]}…{HOST[-6:]}")):
        terminal = FakeTerminal()
        monkeypatch.setattr("sys.stdout", terminal)
        monkeypatch.setenv("COLUMNS", columns)
        table(("HOST", "STATUS"), [(HOST, "Online")])
        assert re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue()).splitlines()[1].split() == [shown, "Online"]
    assert capsys.readouterr().err.startswith("Addresses are shortened to the width of the terminal")


def test_a_table_in_a_pipe_is_plain_and_not_truncated(capsys: pytest.CaptureFixture[str]) -> None:
    table(("NAME", "VALUE"), [("x", "0123456789" * 50)])
    assert capsys.readouterr().out == f"NAME  VALUE\nx     {'0123456789' * 50}\n"
