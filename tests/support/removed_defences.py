"""Proof that the tests of attacks can fail: each defence is removed from a copy of the code, and its tests must fail.

    scripts/removed-defences [FINDING…]

The defences are those against the findings of the attack test (docs/security.md), but for the host link (B1, B6), whose
tests fail on the commit that was examined, and those of later parts (`tests/support/defences.py`). All that are proven
by one suite are removed from one clone of HEAD, because each has tests of its own. The exit status is 0 if every named
test failed: one that is skipped or not found did not.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from offchain.devnet.paths import ROOT
from tests.support.defences import DEFENCES, Defence


def main(arguments: Sequence[str]) -> int:
    """Remove the defences of these findings (none named: all) and run their tests. Return the exit status."""
    known = sorted({defence.finding for defence in DEFENCES})
    unknown = sorted(set(arguments) - set(known))
    if unknown or {"-h", "--help"} & set(arguments):
        _say(f"{__doc__}\nFindings: {', '.join(known)}")
        return 0 if {"-h", "--help"} & set(arguments) else 2
    by_suite: dict[str, list[Defence]] = defaultdict(list)
    for defence in DEFENCES:
        if not arguments or defence.finding in arguments:
            by_suite[defence.suite].append(defence)
    proven = missing = 0
    for suite, defences in by_suite.items():
        failed = _failed_without(suite, defences)
        for defence in defences:
            for test in defence.tests:
                found = test in failed
                proven, missing = proven + found, missing + (not found)
                _say(f"{'fails ' if found else 'PASSES'}  {defence.finding}: {test} without: {defence.about}")
    _say(f"{proven} tests fail without their defence, {missing} do not")
    return 1 if missing else 0


def _failed_without(suite: str, defences: Sequence[Defence]) -> frozenset[str]:
    """Return the names of the tests that fail in a clone without these defences."""
    with tempfile.TemporaryDirectory(prefix="gantry-removed-") as folder:
        clone = Path(folder) / "gantry"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        for defence in defences:
            _remove(clone / defence.file, defence)
        names = " or ".join(sorted({test for defence in defences for test in defence.tests}))
        command = [str(clone / "scripts" / "test"), suite, "--", "-k", names, "--tb=short"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    found = frozenset(re.findall(r"^(?:FAILED|ERROR) \S+::(\w+)", done.stdout, re.MULTILINE))
    if not found:
        _say(done.stdout[-4_000:] + done.stderr[-2_000:])
    return found


def _remove(file: Path, defence: Defence) -> None:
    text = file.read_text(encoding="utf-8")
    if text.count(defence.text) != 1:
        raise SystemExit(
            f"error: {defence.file} does not contain the defence once: {defence.about}\n"
            "  Correct tests/support/defences.py."
        )
    file.write_text(text.replace(defence.text, defence.replacement), encoding="utf-8")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
