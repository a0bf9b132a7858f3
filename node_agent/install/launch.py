"""Launcher that the service manager starts: replaces itself by the chosen release. Standard library only."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from node_agent.install.releases import INSTALLED, LaunchChoice, Release, Releases
from offchain.clock import unix_ms

RELEASE_VARIABLE = "GANTRY_RELEASE"
"""Environment variable with the digest of the running release."""
ROOT = Path(__file__).resolve().parent.parent.parent


def command(state: Path, release: Release | None) -> list[str]:
    """Return the command of the agent; `release` None: the installed code."""
    python = sys.executable if release is None else release.python
    return [python, "-m", "node_agent", "run", f"--state={state}"]


def environment(given: Mapping[str, str], release: Release | None) -> dict[str, str]:
    """Return the agent's environment: modules come from the release, not from the current folder."""
    return {
        **given,
        "PYTHONPATH": str(ROOT) if release is None else release.path,
        "PYTHONSAFEPATH": "1",
        RELEASE_VARIABLE: INSTALLED if release is None else release.digest,
    }


def find(releases: Releases, choice: LaunchChoice) -> Release | None:
    """Return the chosen release; None, the installed code, if it was removed."""
    if choice.release == INSTALLED:
        return None
    found = releases.find(choice.release)
    if found is None:
        _say(f"the release {choice.release} was removed: the installed one is started")
    return found


def main(argv: list[str]) -> None:
    """Run `python -m node_agent.install.launch STATE`."""
    state = Path(argv[0]).absolute()
    os.umask(0o077)
    releases = Releases(state)
    choice = releases.decide(unix_ms())
    if choice.failed is not None:
        _say(f"the release {choice.failed} did not become ready: going back to {choice.release or 'the installed one'}")
    release = find(releases, choice)
    line = command(state, release)
    os.execve(line[0], line, environment(os.environ, release))  # noqa: S606  (a fixed program, no shell)


def _say(text: str) -> None:
    sys.stderr.write(f"launcher: {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
