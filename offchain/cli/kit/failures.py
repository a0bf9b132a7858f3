"""Report of failures: one message that says what happened and what to do, and an exit status. Never a traceback."""

from __future__ import annotations

import difflib
import os
import sys
import traceback
from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from offchain.cli.kit.output import emit, progress
from offchain.errors import CheckFailed, GantryError
from offchain.schema.manifest.types import ManifestError
from offchain.schema.value_text import counted

T = TypeVar("T")
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_BUG = 70
EXIT_INTERRUPTED = 130


class CliError(CheckFailed):
    """An error that the user of a command can fix. `code` is stable; `facts` are further fields for --json."""


def unknown_command(name: str, known: list[str]) -> CliError:
    """Return the error for a subcommand that does not exist."""
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {close[0]}?" if close else "gantry --help lists the commands."
    return CliError(f'there is no command "{name}".', hint, code="usage")


def report_failure(error: BaseException, *, as_json: bool) -> int:
    """Print the error and return the exit status."""
    if isinstance(error, click.exceptions.Exit):
        return int(error.exit_code)
    if isinstance(error, SystemExit):
        # A part with a command line of its own has printed its messages already.
        return error.code if isinstance(error.code, int) else EXIT_FAILED if error.code else 0
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        progress("")
        progress("interrupted")
        return EXIT_INTERRUPTED
    if isinstance(error, BrokenPipeError):
        # The reader of a pipe has gone; keep the interpreter from complaining about the same at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    status, report = _report(error)
    if as_json:
        emit({"error": report})
    for problem in report.get("lines", [report["message"]]):
        progress(f"error: {problem}")
    if report["hint"]:
        progress(f"  {report['hint']}")
    return status


def run_command(work: Coroutine[Any, Any, T], *, as_json: bool = False, hint: str = "") -> T:
    """Run a command of the agent; an error becomes one message and an exit status. `hint`: for errors of files."""
    import asyncio  # noqa: PLC0415  (slow to load, and gantry --help does not need it)
    import sqlite3  # noqa: PLC0415

    from node_agent.drivers.port import DriverError  # noqa: PLC0415  (only commands of the agent have drivers)

    try:
        return asyncio.run(work)
    except GantryError as error:
        sys.exit(report_failure(error, as_json=as_json))
    except DriverError as error:
        sys.exit(report_failure(CliError(str(error), "", code="driver"), as_json=as_json))
    except KeyboardInterrupt:
        progress("stopped")
        sys.exit(EXIT_FAILED)
    except (OSError, sqlite3.Error) as error:
        sys.exit(report_failure(CliError(f"{error}.", hint), as_json=as_json))


def _report(error: BaseException) -> tuple[int, dict[str, Any]]:
    if isinstance(error, ManifestError):
        problems = [
            {"line": found.line, "path": found.path, "message": found.message, "hint": found.hint}
            for found in error.problems
        ]
        summary = f"{error.source} has {counted(len(problems), 'problem')}."
        return EXIT_FAILED, {
            "code": "bad_manifest",
            "message": summary,
            "hint": "",
            "lines": error.lines(),
            "problems": problems,
        }
    if isinstance(error, click.UsageError):
        name = error.ctx.command_path if error.ctx else "gantry"
        return EXIT_USAGE, {
            "code": "usage",
            "message": error.format_message(),
            "hint": f"{name} --help shows how it is used.",
        }
    if isinstance(error, click.ClickException):
        return EXIT_FAILED, {"code": "failed", "message": error.format_message(), "hint": ""}
    message = getattr(error, "message", None)
    if isinstance(message, str):
        # Every error of ours that is meant for people carries message, hint and code.
        code = str(getattr(error, "code", "failed"))
        status = EXIT_USAGE if code == "usage" else EXIT_FAILED
        facts = error.facts if isinstance(error, CheckFailed) else {}
        return status, {"code": code, "message": message, "hint": str(getattr(error, "hint", "")), **facts}
    return _bug(error)


def _bug(error: BaseException) -> tuple[int, dict[str, Any]]:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    log = _log_dir() / f"gantry-{stamp}-{os.getpid()}.log"
    where = "and its traceback could not be stored"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("".join(traceback.format_exception(error)), encoding="utf-8", errors="backslashreplace")
        where = f"its traceback is in {log}"
    except OSError:
        pass
    summary = " ".join(str(error).split())[:200] or "no message"
    return EXIT_BUG, {
        "code": "unexpected",
        "message": f"gantry failed unexpectedly ({type(error).__name__}: {summary}); {where}.",
        "hint": "This is a bug in Gantry: please report it with that file.",
    }


def _log_dir() -> Path:
    named = os.environ.get("GANTRY_CACHE")
    base = os.environ.get("XDG_CACHE_HOME")
    cache = Path(named) if named else Path(base) / "gantry" if base else Path.home() / ".cache" / "gantry"
    return cache / "log"
