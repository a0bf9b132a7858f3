"""Run the test suites at the same time and report them: the second half of `scripts/test`, after its set-up.

    python -m tests.support.run_suites [--long] [SUITE…] [-- ARGUMENTS OF PYTEST]

Each suite runs in a network namespace of its own where that is possible, so that Docker engines, firewalls and ports of
different suites do not meet. The exit status is 0 if every suite passed and at least one test ran.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from offchain.devnet import engine
from offchain.devnet.paths import ROOT, DevnetError
from tests.support.suite_report import SuiteResult, failure_lines, read_cargo, read_junit, slowest_tests, suite_table
from tests.support.suites import CARGO, CORES, FUZZ, RELEASE, Suite, environment, pytest_command, selected

WAITING_AT_ONCE: Final = 1 + 2 * CORES
"""Suites that run at the same time and mostly wait for blocks and containers."""
BUSY_AT_ONCE: Final = 2
"""Suites that run beside them and need processors all the time."""
_NICENESS: Final = 5
_REPORT_SECONDS: Final = 60.0
_INTERRUPT_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.2
_NOTHING_SELECTED: Final = 5
_NOT_COMPARABLE: Final = 3
_IN_NAMESPACE: Final = ("unshare", "--net", "--", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")


@dataclass(slots=True)
class _Running:
    suite: Suite
    process: subprocess.Popen[bytes]
    began: float
    log: Path
    report: Path


def say(text: str) -> None:
    """Print one line of progress."""
    print(text, flush=True)  # noqa: T201  (the runner's output)


def can_isolate() -> bool:
    """Whether suites can have network namespaces of their own: root, the tools, and no shared Docker engine.

    Raises LocalError where DOCKER_HOST names an engine that does not answer.
    """
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("ip") is None or engine.find() is not None:
        return False
    return subprocess.run([*_IN_NAMESPACE, "true"], check=False, capture_output=True).returncode == 0


class Runner:
    """Starts suites while there is room, and collects their results."""

    def __init__(self, suites: list[Suite], folder: Path, arguments: list[str], *, long: bool, isolate: bool) -> None:
        self._waiting = suites
        self._folder = folder
        self._arguments = arguments
        self._env = environment(long=long)
        self._long = long
        self._isolate = isolate
        self._running: list[_Running] = []
        self.results: list[SuiteResult] = []

    def run(self) -> None:
        """Run all suites to their end."""
        next_report = time.monotonic() + _REPORT_SECONDS
        while self._waiting or self._running:
            self._start_some()
            self._collect()
            if time.monotonic() > next_report:
                next_report += _REPORT_SECONDS
                now = time.monotonic()
                names = ", ".join(f"{one.suite.name} {now - one.began:.0f} s" for one in self._running)
                say(f"  still running: {names}")
            time.sleep(_POLL_SECONDS)

    def stop(self) -> None:
        """Interrupt what runs, as Ctrl-C does, and wait until it has removed what it made."""
        for one in self._running:
            _signal_group(one.process, signal.SIGINT)
        for one in self._running:
            try:
                one.process.wait(_INTERRUPT_SECONDS)
            except subprocess.TimeoutExpired:
                _signal_group(one.process, signal.SIGKILL)
                one.process.wait()
        self._running.clear()

    def _start_some(self) -> None:
        for suite in list(self._waiting):
            alike = sum(one.suite.busy == suite.busy for one in self._running)
            if alike >= (BUSY_AT_ONCE if suite.busy else WAITING_AT_ONCE):
                continue
            self._waiting.remove(suite)
            self._running.append(self._start(suite))

    def _start(self, suite: Suite) -> _Running:
        log, report = self._folder / f"{suite.name}.log", self._folder / f"{suite.name}.xml"
        own = suite.long_command if self._long and suite.long_command else suite.command
        command = list(own) or pytest_command(suite, report, self._arguments)
        if self._isolate and not suite.online:
            command = [*_IN_NAMESPACE, *command]
        if suite.busy:
            command = ["nice", "-n", str(_NICENESS), *command]
        say(f"  started: {suite.name} ({suite.about})")
        with log.open("wb") as out:
            process = subprocess.Popen(
                command, cwd=ROOT, env=self._env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, process_group=0
            )
        return _Running(suite, process, time.monotonic(), log, report)

    def _collect(self) -> None:
        for one in list(self._running):
            pid, status, usage = os.wait4(one.process.pid, os.WNOHANG)
            if pid == 0:
                continue
            one.process.returncode = os.waitstatus_to_exitcode(status)
            self._running.remove(one)
            wall, cpu = time.monotonic() - one.began, usage.ru_utime + usage.ru_stime
            result = SuiteResult(one.suite.name, one.process.returncode, wall, cpu, log=one.log)
            self._count(one, result)
            self.results.append(result)
            say(
                f"  {'passed' if result.is_ok else 'FAILED'}: {result.name}, {result.passed} passed, "
                f"{result.failed} failed, {result.skipped} skipped in {wall:.0f} s"
            )
            if not result.is_ok:
                say(one.log.read_text(encoding="utf-8", errors="replace"))

    def _count(self, one: _Running, result: SuiteResult) -> None:
        if one.suite.name == CARGO:
            read_cargo(result, one.log.read_text(encoding="utf-8", errors="replace"))
        elif one.suite.name in {FUZZ, RELEASE}:
            if one.suite.name == RELEASE and result.status == _NOT_COMPARABLE:
                result.status, result.skipped = 0, 1
            else:
                result.passed, result.failed = int(result.status == 0), int(result.status != 0)
        else:
            read_junit(result, one.report)
            if self._arguments and result.status == _NOTHING_SELECTED:
                result.status = 0


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _interrupt_on_signals() -> None:
    """Have signals that end a process raise KeyboardInterrupt, so that running suites are stopped first."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        del number, frame
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


def report(results: list[SuiteResult]) -> int:
    """Print failures, times and counts; return the exit status."""
    for one in results:
        if not one.is_ok and one.log is not None:
            say(f"\n--- what failed in {one.name} (exit status {one.status})")
            say("\n".join(failure_lines(one.log.read_text(encoding="utf-8", errors="replace"))))
    say("\nThe slowest tests:")
    say("\n".join(slowest_tests(results)))
    say("\n" + "\n".join(suite_table(results)))
    passed, failed, skipped = (sum(getattr(one, what) for one in results) for what in ("passed", "failed", "skipped"))
    # A suite that breaks outside its tests has no failed test to count.
    failed += sum(not one.is_ok and one.failed == 0 for one in results)
    say(f"\n{passed} passed, {failed} failed, {skipped} skipped")
    if not passed:
        say("error: no test ran")
    return 0 if passed and not failed else 1


def main(arguments: list[str]) -> int:
    """Run the suites that the arguments name."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    own, rest = arguments[:end], arguments[end + 1 :]
    long = "--long" in own
    try:
        suites = selected([name for name in own if name != "--long"], long=long)
        isolate = can_isolate()
    except ValueError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except DevnetError as error:
        sys.stderr.write(f"error: {error.message}.\n  {error.hint}.\n")
        return 2
    _interrupt_on_signals()
    with tempfile.TemporaryDirectory(prefix="gantry-test-") as folder:
        runner = Runner(suites, Path(folder), rest, long=long, isolate=isolate)
        try:
            runner.run()
            return report(runner.results)
        except KeyboardInterrupt:
            say("interrupted: the suites remove what they made")
            return 130
        finally:
            runner.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
