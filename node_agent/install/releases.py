"""Which release of the agent is to run: the installed one, or one that an update put beside it. Standard library only.

`releases/` in the agent's folder holds a folder for each release, named by the SHA-256 of its bundle; `current`
names the one in use. A new one is on trial: until it says that it is ready it may be started a few times and has some
time; then the one before it is taken up again, whoever noticed: the launcher decides at every start, so no other
program has to survive for it.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path

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
    """A release that has not said yet that it is ready. `starts`: so often it was started."""

    release: str
    back_to: str
    starts: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class LaunchChoice:
    """What to start. `trial` is what is left of the trial; `failed` the release that was given up just now."""

    release: str
    trial: ReleaseTrial | None
    failed: str | None = None


def choose(current: str, trial: ReleaseTrial | None, now_ms: int) -> LaunchChoice:
    """What the launcher is to start. Pure."""
    if trial is None:
        return LaunchChoice(current, None)
    if trial.starts >= MAX_STARTS or now_ms >= trial.until_ms:
        return LaunchChoice(trial.back_to, None, failed=trial.release)
    return LaunchChoice(trial.release, replace(trial, starts=trial.starts + 1))


@dataclass(frozen=True, slots=True)
class Release:
    """A release that can be started. `python` runs it, `path` is where its modules are."""

    digest: str
    python: str
    path: str


class Releases:
    """The releases of one agent's folder."""

    def __init__(self, state: Path) -> None:
        self.folder = state / FOLDER

    def current(self) -> str:
        """The digest of the release in use; :data:`INSTALLED` where no update was made."""
        return self._read_text(_CURRENT, _DIGEST.pattern)

    def trial(self) -> ReleaseTrial | None:
        """The trial that goes on; None where there is none."""
        try:
            document = json.loads((self.folder / _TRIAL).read_text(encoding="utf-8"))
            return ReleaseTrial(
                str(document["release"]), str(document["back_to"]), int(document["starts"]), int(document["until_ms"])
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def begin_trial(self, release: str, until_ms: int) -> None:
        """The next start is this release's. The one in use until now is gone back to."""
        trial = ReleaseTrial(release, self.current(), 0, until_ms)
        self._write(_TRIAL, json.dumps(asdict(trial)))

    def decide(self, now_ms: int) -> LaunchChoice:
        """What to start now; what this decides is kept before it is acted on."""
        choice = choose(self.current(), self.trial(), now_ms)
        if choice.trial is not None:
            self._write(_TRIAL, json.dumps(asdict(choice.trial)))
        elif choice.failed is not None:
            self._write(_CURRENT, choice.release)
            (self.folder / _TRIAL).unlink(missing_ok=True)
        return choice

    def confirm(self, release: str) -> bool:
        """The release is ready: if it was on trial it is the one in use from now on, and True is given."""
        trial = self.trial()
        if trial is None or trial.release != release:
            return False
        self._write(_CURRENT, release)
        (self.folder / _TRIAL).unlink(missing_ok=True)
        return True

    def give_up(self, release: str) -> bool:
        """End the trial of this release, if it goes on: the next start is that of the one before."""
        trial = self.trial()
        if trial is None or trial.release != release:
            return False
        self._write(_CURRENT, trial.back_to)
        (self.folder / _TRIAL).unlink(missing_ok=True)
        return True

    def find(self, digest: str) -> Release | None:
        """A release that was put here; None where it is not here, or not complete."""
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
        """Mark a release as whole: it can be found from now on."""
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
        path = self.folder / name
        part = path.with_name(f".{path.name}.part")
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
