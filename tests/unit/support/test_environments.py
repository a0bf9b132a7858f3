"""Python environments of scripts/: the packages of each, from the lock files in the repository."""

import re
import subprocess
from pathlib import Path
from typing import Final

from offchain.devnet.paths import ROOT

PINNED: Final = re.compile(r"^([a-z0-9._-]+)==(\S+)", re.MULTILINE)


def _pins(*locks: Path) -> set[tuple[str, str]]:
    return {pin for lock in locks for pin in PINNED.findall(lock.read_text(encoding="utf-8"))}


def _network_locks() -> list[Path]:
    """Return the lock files of the environment of scripts/up."""
    command = '. scripts/lib.sh && printf "%s\\n" "${network_locks[@]}"'
    printed = subprocess.run(
        ["bash", "-euc", command], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    return [Path(line) for line in printed.stdout.splitlines()]


def test_the_local_network_can_plan_and_write_statements_as_pdf() -> None:
    assert {"numba", "fpdf2"} <= {name for name, _ in _pins(*_network_locks())}


def test_locks_that_are_installed_together_name_one_version_of_each_package() -> None:
    pins = _pins(*_network_locks())
    assert len(pins) == len(dict(pins))
