"""Accounts: keystores, passwords, and secrets that are nowhere to be seen."""

from __future__ import annotations

import io
import json
import stat
from pathlib import Path

import pytest
from cli_world import CHARLIE, World

from offchain.cli.kit import accounts
from offchain.cli.kit.failures import CliError

PHRASE = "bottom drive obey lake curtain smoke basket hold race lonely fit walk"


@pytest.fixture
def password(home: Path) -> Path:
    path = home / "password"
    path.write_text("correct horse\n")
    return path


def test_a_new_account_is_an_encrypted_file_that_only_its_owner_reads(world: World, password: Path) -> None:
    made = world.json("account", "create", "anna", "--password-file", password)
    path = Path(made["file"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert made["address"] == json.loads(path.read_text())["address"]
    assert world.json("account", "list") == made
    assert world.json("account", "show", "anna")["address"] == made["address"]
    signer = accounts.open_account("anna", str(password))
    assert signer.address == made["address"]
    assert accounts.open_account(None, str(password)).address == made["address"]


def test_an_account_is_never_overwritten(world: World, password: Path) -> None:
    world.json("account", "create", "anna", "--password-file", password)
    status, _, err = world.run("account", "create", "anna", "--password-file", password)
    assert status == 1
    assert '"anna"' in err


def test_secret_words_are_imported_from_standard_input(
    world: World, password: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(PHRASE + "\n"))
    made = world.json("account", "import", "root", "--password-file", password)
    assert made["address"] == "5DfhGyQdFobKM8NsWvEeAKk5EQQgYe9AydgJ7rMB6E1EqRzV"
    assert "bottom" not in Path(made["file"]).read_text()


def test_a_keystore_is_imported_under_a_new_name(world: World, password: Path) -> None:
    made = world.json("account", "create", "anna", "--password-file", password)
    copied = world.json("account", "import", "anna-2", made["file"], "--password-file", password)
    assert copied["address"] == made["address"]
    assert copied["file"] != made["file"]


def test_a_wrong_password_is_reported(world: World, password: Path, home: Path) -> None:
    world.json("account", "create", "anna", "--password-file", password)
    wrong = home / "wrong"
    wrong.write_text("staple")
    status, _, err = world.run("task", "cancel", "0", "--account", "anna", "--password-file", wrong)
    assert status == 1
    assert "password" in err
    assert "staple" not in err


def test_a_missing_password_without_a_terminal_is_reported(
    world: World, password: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.json("account", "create", "anna", "--password-file", password)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    status, _, err = world.run("task", "cancel", "0", "--account", "anna")
    assert status == 1
    assert "--password-file" in err


def test_the_password_may_come_from_the_environment(
    world: World, password: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.json("account", "create", "anna", "--password-file", password)
    monkeypatch.setenv("GANTRY_PASSWORD", "correct horse")
    assert accounts.open_account("anna", None).address


@pytest.mark.parametrize("uri", ["//Nobody", "//Alice//polkadot", f"//{PHRASE}", "//Charlie///password"])
def test_only_well_known_development_accounts_are_accepted_on_the_command_line(world: World, uri: str) -> None:
    status, out, err = world.run("account", "balance", uri)
    assert status == 1
    assert uri not in out + err


def test_an_account_must_be_named_if_there_are_several(world: World, password: Path) -> None:
    with pytest.raises(CliError, match="no account is given"):
        accounts.open_account(None, None)
    world.json("account", "create", "anna", "--password-file", password)
    world.json("account", "create", "ben", "--password-file", password)
    with pytest.raises(CliError) as caught:
        accounts.open_account(None, None)
    assert "anna, ben" in caught.value.hint


@pytest.mark.parametrize("name", ["nobody", "no/such/file.json", CHARLIE, "5Grw" + "x" * 44])
def test_an_address_without_a_key_is_reported(world: World, name: str) -> None:
    status, _, err = world.run("task", "cancel", "0", "--account", name)
    assert status == 1
    assert err.startswith("error: ")


@pytest.mark.parametrize("name", ["../evil", "a b", "", "-x"])
def test_a_name_that_is_not_a_file_name_is_refused(world: World, name: str, password: Path) -> None:
    status, _, _ = world.run("account", "create", "--password-file", password, "--", name)
    assert status == 2


def test_files_that_are_not_keystores_are_skipped(world: World) -> None:
    accounts.folder().mkdir(parents=True)
    (accounts.folder() / "notes.json").write_text("[]")
    (accounts.folder() / "broken.json").write_text("{")
    assert world.run("account", "list", "--json")[:2] == (0, "")
