"""Output of the results of checks of a machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from offchain.cli.kit.output import StepOutput
from offchain.cli.provider.machine_checks import CheckResult, CheckVerdict

_MARKS = {CheckVerdict.PASS: "ok  ", CheckVerdict.WARN: "warn", CheckVerdict.FAIL: "FAIL"}


def print_results(results: Sequence[CheckResult], output: StepOutput) -> None:
    """Print each result with its hint; with --json one object a line."""
    for one in results:
        output.text(f"{_MARKS[one.verdict]}  {one.check}: {one.found}")
        if one.hint:
            output.text(f"      {one.hint}")
        output.step("check", **asdict(one))
