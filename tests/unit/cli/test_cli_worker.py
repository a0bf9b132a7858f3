"""Files that define queues and reservations for a scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli_world import World

from offchain.devnet.paths import ROOT

WHO = ("--account", "//Dave")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What workers were started with."""
    found: list[Any] = []

    async def run_worker(*arguments: Any) -> None:
        found.append(arguments)

    monkeypatch.setattr("offchain.services.runner.run_worker", run_worker)
    return found


@pytest.mark.parametrize(("options", "executes"), [((), True), (("--driver", "none"), False)])
def test_a_juror_is_a_verifier_that_may_execute_jobs(
    world: World, started: list[Any], tmp_path: Path, options: tuple[str, ...], *, executes: bool
) -> None:
    state = ("--state-dir", tmp_path / "juror")
    assert world.run("juror", "run", *WHO, *state, "--challenge-budget", "2", *options)[0] == 0
    (arguments,) = started
    assert (arguments[0], arguments[2], arguments[9]) == (("juror",), tmp_path / "juror", 2 * 10**12)
    assert (arguments[10] is not None) == executes


@pytest.mark.parametrize("role", ["scheduler", "all"])
def test_a_scheduler_is_given_what_the_files_define(world: World, started: list[Any], role: str) -> None:
    queues, reservations = ROOT / "examples/queues.yaml", ROOT / "examples/reservations.yaml"
    assert world.run("worker", role, *WHO, "--queues", queues, "--reservations", reservations)[0] == 0
    said = next(one for one in started[0] if hasattr(one, "windows"))
    assert "research/vision" in said.queues.queues
    assert [window.name for window in said.windows] == ["training-day", "benchmark"]


def test_the_files_may_be_named_in_the_environment(
    world: World, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANTRY_QUEUES", str(ROOT / "examples/queues.yaml"))
    monkeypatch.setenv("GANTRY_RESERVATIONS", "")
    assert world.run("worker", "scheduler", *WHO)[0] == 0
    said = next(one for one in started[0] if hasattr(one, "windows"))
    assert (said.queues.queues["product"].borrow, said.windows) == (False, ())


@pytest.mark.parametrize(
    ("option", "text", "told"),
    [
        (
            "--queues",
            "queues:\n  lab: {wieght: 2}",
            ':2: queues.lab.wieght: unknown key "wieght". Did you mean "weight"?',
        ),
        ("--reservations", "reservations:\n  a:\n    from: noon", ':3: reservations.a.from: "noon" is not a time.'),
    ],
)
def test_errors_in_a_file_name_the_line_and_nothing_starts(
    world: World, started: list[Any], tmp_path: Path, option: str, text: str, told: str
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    status, _, err = world.run("worker", "scheduler", *WHO, option, path)
    assert status == 1
    assert f"{path}{told}" in err
    assert not started


def test_a_missing_or_binary_policy_file_is_reported(world: World, started: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(b"queues: \xff")
    status, _, err = world.run("worker", "all", *WHO, "--queues", path)
    assert status == 1
    assert "is not text: the byte at 8 is not UTF-8" in err
    status, _, err = world.run("worker", "all", *WHO, "--queues", tmp_path / "none.yaml")
    assert status == 2
    assert "none.yaml" in err
    assert not started


def test_a_settler_has_no_such_files(world: World) -> None:
    status, _, err = world.run("worker", "settler", *WHO, "--queues", "q.yaml")
    assert status == 2
    assert "--queues" in err


@pytest.fixture
def notifying(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The settings that a notifier was started with."""
    found: list[Any] = []

    async def run_notifier(settings: Any) -> None:
        found.append(settings)

    monkeypatch.setattr("offchain.services.notifications.service.run_notifier", run_notifier)
    return found


def secret(path: Path, mode: int = 0o600) -> Path:
    path.write_text("correct horse battery\n")
    path.chmod(mode)
    return path


def test_the_notifier_has_the_mail_server_of_the_environment_and_its_password_from_a_file(
    world: World, notifying: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    emails = tmp_path / "emails.yaml"
    emails.write_text("- {account: 5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty, email: ops@example.org}")
    for name, value in (("SMTP", "mail.example.org:587"), ("SMTP_FROM", "g@example.org"), ("SMTP_USER", "gantry")):
        monkeypatch.setenv(f"GANTRY_{name}", value)
    monkeypatch.setenv("GANTRY_EMAILS", str(emails))
    assert world.run("worker", "notifier", "--smtp-password-file", secret(tmp_path / "smtp"))[0] == 0
    (settings,) = notifying
    assert [one.address for one in settings.mails] == ["ops@example.org"]
    server = settings.smtp
    assert (server.host, server.port, server.sender) == ("mail.example.org", 587, "g@example.org")
    assert (server.user, server.password) == ("gantry", "correct horse battery")


def test_the_notifier_starts_without_secrets_as_docker_compose_has_it_at_first(
    world: World, notifying: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("EMAILS", "SMTP", "SMTP_FROM", "SMTP_USER", "RESTART_BY"):
        monkeypatch.setenv(f"GANTRY_{name}", "")
    options = ("--alerts=0.0.0.0:9466", "--alerts-token-file=/dev/null", "--smtp-password-file=/dev/null")
    assert world.run("worker", "notifier", *options)[0] == 0
    assert (notifying[0].smtp, notifying[0].alerts, notifying[0].mails) == (None, None, [])


def test_the_notifier_refuses_a_password_that_others_may_read(
    world: World, notifying: list[Any], tmp_path: Path
) -> None:
    server = ("--smtp", "mail.example.org:587", "--smtp-from", "g@example.org")
    path = secret(tmp_path / "smtp", 0o644)
    status, _, err = world.run("worker", "notifier", *server, "--smtp-password-file", path)
    assert (status, notifying) == (2, [])
    assert f"Others may read {path}." in err
