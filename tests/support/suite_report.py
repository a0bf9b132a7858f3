"""What the suites of `scripts/test` did: counts, failures, times of suites and of the slowest tests."""

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_CARGO_RESULT: Final = re.compile(r"^test result: \S+ (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)
_FAILURE_LINE: Final = re.compile(r"^(_{3,} .* _{3,}$|>|E  |\S+\.py:\d+: |FAILED |ERROR |---- .* stdout ----|thread ')")
_FAILURE_LINES: Final = 80
_TAIL_LINES: Final = 40
_WIDTH: Final = 300


@dataclass(slots=True)
class SuiteResult:
    """One suite's outcome. `tests`: seconds and name of each test; `cpu_s`: processor time of all its processes."""

    name: str
    status: int
    wall_s: float
    cpu_s: float
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    tests: list[tuple[float, str]] = field(default_factory=list)
    log: Path | None = None

    @property
    def is_ok(self) -> bool:
        """Whether the command succeeded and no test failed."""
        return self.status == 0 and self.failed == 0


def read_junit(result: SuiteResult, report: Path) -> None:
    """Add the tests of a pytest report to a result. A test that fails and has an error in its teardown counts once."""
    if not report.is_file():
        return
    for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314  (see above)
        name = f"{case.get('file') or case.get('classname') or ''}::{case.get('name') or ''}"
        result.tests.append((float(case.get("time") or 0), name))
        if case.find("failure") is not None or case.find("error") is not None:
            result.failed += 1
        elif case.find("skipped") is not None:
            result.skipped += 1
        else:
            result.passed += 1


def read_cargo(result: SuiteResult, text: str) -> None:
    """Add the counts of cargo's test programs to a result."""
    for passed, failed, ignored in _CARGO_RESULT.findall(text):
        result.passed += int(passed)
        result.failed += int(failed)
        result.skipped += int(ignored)


def failure_lines(text: str) -> list[str]:
    """Return the lines of a log that say what failed and where, or its end if none is recognised."""
    lines = text.splitlines()
    found = [line for line in lines if _FAILURE_LINE.match(line)]
    return [line[:_WIDTH] for line in (found[-_FAILURE_LINES:] if found else lines[-_TAIL_LINES:])]


def suite_table(results: list[SuiteResult]) -> list[str]:
    """Return the lines of a table with counts and times of each suite."""
    rows = [f"{'suite':<12}{'passed':>8}{'failed':>8}{'skipped':>9}{'wall s':>9}{'CPU s':>9}"]
    rows += [
        f"{one.name:<12}{one.passed:>8}{one.failed:>8}{one.skipped:>9}{one.wall_s:>9.0f}{one.cpu_s:>9.0f}"
        for one in sorted(results, key=lambda one: -one.wall_s)
    ]
    return rows


def slowest_tests(results: list[SuiteResult], count: int = 20) -> list[str]:
    """Return the lines of a list of the tests that took longest, fixtures included, over all suites."""
    tests = sorted((test for one in results for test in one.tests), reverse=True)
    return [f"{seconds:>8.1f} s  {name}" for seconds, name in tests[:count]]
