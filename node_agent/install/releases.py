"""Releases of the agent in its folder, and the choice of the one to run. Standard library only.

`releases/` holds a folder for each release, named by the SHA-256 of its bundle; `current` names the one in use. A new
release is on trial: until it reports that it is ready, it may be started a few times and has some time; then the
launcher goes back to the one before. The launcher decides at every start, so no other program has to survive.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from offchain.files import replace_file

FOLDER = "releases"
INSTALLED = ""
"""Stands for the code that `join` was run from."""
MAX_STARTS = 3
_DIGEST = re.compile(r"[0-9a-f]{64}")
_CURRENT = "current"
_TRIAL = "trial.json"
_FACTS = "release.json"


@dataclass(frozen=True, slots=True)
class ReleaseTrial:
    """A release that is not ready yet. `starts`: how often it was started."""

    release: str
    back_to: str
    starts: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class LaunchChoice:
    """What to start. `trial`: the updated trial; `failed`: a release that was just given up."""

    release: str
    trial: ReleaseTrial | None
    failed: str | None = None


def choose(current: str, trial: ReleaseTrial | None, now_ms: int) -> LaunchChoice:
    """Return what the launcher starts. Pure."""
    if trial is None:
        return LaunchChoice(current, None)
    if trial.starts >= MAX_STARTS or now_ms >= trial.until_ms:
        return LaunchChoice(trial.back_to, None, failed=trial.release)
    return LaunchChoice(trial.release, replace(trial, starts=trial.starts + 1))


@dataclass(frozen=True, slots=True)
class Release:
    """A release that can be started: `python` runs it, `path` has its modules."""

    digest: str
    python: str
    path: str


class Releases:
    """Releases of one agent's folder."""

    def __init__(self, state: Path) -> None:
        self.folder = state / FOLDER

    def current(self) -> str:
        """Return the digest of the release in use; :data:`INSTALLED` without updates."""
        return self._read_text(_CURRENT, _DIGEST.pattern)

    def trial(self) -> ReleaseTrial | None:
        """Return the current trial."""
        try:
            document = json.loads((self.folder / _TRIAL).read_text(encoding="utf-8"))
            return ReleaseTrial(
                str(document["release"]), str(document["back_to"]), int(document["starts"]), int(document["until_ms"])
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def begin_trial(self, release: str, until_ms: int) -> None:
        """Start this release next; a failed trial goes back to the one in use."""
        trial = ReleaseTrial(release, self.current(), 0, until_ms)
        self._write(_TRIAL, json.dumps(asdict(trial)))

    def decide(self, now_ms: int) -> LaunchChoice:
        """Return what to start now; the decision is stored first."""
        choice = choose(self.current(), self.trial(), now_ms)
        if choice.trial is not None:
            self._write(_TRIAL, json.dumps(asdict(choice.trial)))
        elif choice.failed is not None:
            self._write(_CURRENT, choice.release)
            (self.folder / _TRIAL).unlink(missing_ok=True)
        return choice

    def confirm(self, release: str) -> bool:
        """End the trial of a ready release, which is then in use; return whether it was on trial."""
        trial = self.trial()
        if trial is None or trial.release != release:
            return False
        self._write(_CURRENT, release)
        (self.folder / _TRIAL).unlink(missing_ok=True)
        return True

    def give_up(self, release: str) -> bool:
        """End the trial of this release: the next start is that of the one before."""
        trial = self.trial()
        if trial is None or trial.release != release:
            return False
        self._write(_CURRENT, trial.back_to)
        (self.folder / _TRIAL).unlink(missing_ok=True)
        return True

    def find(self, digest: str) -> Release | None:
        """Return a complete release; None if it is not here."""
        if _DIGEST.fullmatch(digest) is None:
            return None
        home = self.folder / digest
        try:
            facts = json.loads((home / _FACTS).read_text(encoding="utf-8"))
            python = str(facts["python"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return Release(digest, python, str(home / "app")) if os.access(python, os.X_OK) else None

    def complete(self, digest: str, python: str) -> Release:
        """Mark a release as complete, so that it can be found."""
        self._write(f"{digest}/{_FACTS}", json.dumps({"python": python}))
        return Release(digest, python, str(self.folder / digest / "app"))

    def _read_text(self, name: str, pattern: str) -> str:
        try:
            text = (self.folder / name).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            return INSTALLED
        return text if re.fullmatch(pattern, text) else INSTALLED

    def _write(self, name: str, text: str) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self.folder / name, text + "\n")
