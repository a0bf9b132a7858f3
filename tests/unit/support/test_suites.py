"""The runner of `scripts/test`: every test belongs to one suite, and results are counted and reported."""

from pathlib import Path

import pytest

from offchain.devnet.paths import ROOT
from tests.support.run_suites import main
from tests.support.suite_report import SuiteResult, failure_lines, read_cargo, read_junit, slowest_tests
from tests.support.suites import SUITES, pytest_command, selected

JUNIT = """<testsuites><testsuite>
<testcase file="tests/a.py" name="one" time="1.5"/>
<testcase file="tests/a.py" name="two" time="0.5"><failure message="no"/><error message="teardown"/></testcase>
<testcase file="tests/b.py" name="three" time="9"><skipped message="no engine"/></testcase>
<testcase file="tests/b.py" name="four" time="0"><error message="setup"/></testcase>
</testsuite></testsuites>"""


def test_every_test_file_belongs_to_exactly_one_suite() -> None:
    files = {path for path in (ROOT / "tests").rglob("test_*.py") if "benchmarks" not in path.parts}
    owners = {file: [suite.name for suite in SUITES if _holds(suite.paths, file)] for file in files}
    assert {str(file): names for file, names in owners.items() if len(names) != 1} == {}


def _holds(paths: tuple[str, ...], file: Path) -> bool:
    return any((ROOT / path) in (file, *file.parents) for path in paths)


def test_the_default_level_leaves_out_long_suites_and_a_name_selects_any_of_them() -> None:
    default, long = selected([], long=False), selected([], long=True)
    assert {suite.name for suite in long} - {suite.name for suite in default} == {
        "compose",
        "fuzz",
        "gpu",
        "storm",
        "upgrade",
    }
    assert [suite.name for suite in selected(["storm"], long=False)] == ["storm"]
    assert [suite.seconds for suite in long] == sorted((suite.seconds for suite in long), reverse=True)


def test_an_unknown_suite_is_refused_with_the_names_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["netwrok"]) == 2
    assert "there is no suite 'netwrok'; the suites are: cargo, release, unit" in capsys.readouterr().err


def test_arguments_of_pytest_come_after_the_paths(tmp_path: Path) -> None:
    (unit,) = selected(["unit"], long=False)
    command = pytest_command(unit, tmp_path / "unit.xml", ["-k", "backoff"])
    assert command[-4:] == [str(ROOT / "tests/unit"), str(ROOT / "tests/property"), "-k", "backoff"]


def test_a_report_of_pytest_counts_each_test_once(tmp_path: Path) -> None:
    report = tmp_path / "unit.xml"
    report.write_text(JUNIT)
    result = SuiteResult("unit", 1, 10, 5)
    read_junit(result, report)
    assert (result.passed, result.failed, result.skipped) == (1, 2, 1)
    assert slowest_tests([result], 2) == ["     9.0 s  tests/b.py::three", "     1.5 s  tests/a.py::one"]


def test_a_suite_without_a_report_has_no_tests(tmp_path: Path) -> None:
    result = SuiteResult("unit", 3, 10, 5)
    read_junit(result, tmp_path / "none.xml")
    assert (result.passed, result.is_ok) == (0, False)


def test_results_of_all_test_programs_of_cargo_are_summed() -> None:
    result = SuiteResult("cargo", 101, 10, 5)
    read_cargo(
        result,
        "test result: ok. 7 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s\n"
        "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n",
    )
    assert (result.passed, result.failed, result.skipped) == (10, 2, 1)


def test_the_lines_that_say_what_failed_are_found_and_else_the_end_is_shown() -> None:
    log = (
        "collected 2 items\n____ test_a ____\n    assert 1 == 2\nE   assert 1 == 2\ntests/a.py:3: AssertionError\ndone"
    )
    assert failure_lines(log) == ["____ test_a ____", "E   assert 1 == 2", "tests/a.py:3: AssertionError"]
    assert failure_lines("\n".join(str(n) for n in range(100)))[0] == "60"
