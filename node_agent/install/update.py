"""Update to another release of the agent: permitted, staged, tried, and undone if it does not become ready.

Pods keep running: containers belong to the engine. If a process is killed meanwhile, the next start of
the agent uses a complete release, and the launcher gives up a release that does not become ready.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from node_agent.core.release_statement import ReleaseRefused, ReleaseVersion
from node_agent.install import release_trust
from node_agent.install.bundle import LOCK, UnpackedBundle, facts_of, fetch, sha256_of, unpack
from node_agent.install.launch import ROOT
from node_agent.install.release_trust import ReleaseTrust
from node_agent.install.releases import INSTALLED, Release, Releases
from node_agent.install.service import AgentService
from node_agent.runtime.status_file import read_status
from offchain.clock import unix_ms
from offchain.errors import OurError

READY_S = 90.0
"""Time for a new release to become ready."""
_INSTALL_S = 1800
_IMPORT_S = 60
_POLL_S = 0.2
_REASON_LINES, _REASON_CHARACTERS = 6, 1000
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


def digest_of(text: str) -> str:
    """Return the 64 hex digits of "sha256:..." or of the digits alone. Raises ValueError."""
    match = _DIGEST.fullmatch(text.strip().lower())
    if match is None:
        raise ValueError(f"{text!r} is not a SHA-256: write 64 hex digits")
    return match[1]


@dataclass(frozen=True, slots=True)
class AgentUpdate:
    """A release in use after an update. `signed_by`: the release key that permitted it; None: its digest was given."""

    digest: str
    version: ReleaseVersion
    signed_by: str | None
    keys: tuple[str, ...]
    """The release keys from now on."""


async def update(
    releases: Releases,
    state: Path,
    service: AgentService,
    source: str,
    say: Callable[[str], None],
    *,
    digest: str | None,
    statement: str | None = None,
    allow_downgrade: bool = False,
) -> AgentUpdate:
    """Install the release at `source` if the release keys permit it. A refusal changes nothing."""
    with release_trust.only_updater(state):
        trial = releases.trial()
        left_ms = 0 if trial is None else trial.until_ms - unix_ms()
        if trial is not None and left_ms > 0:
            raise OurError(
                f"The release {trial.release} is on trial for at most {left_ms // 1000 + 1} s more.",
                "Nothing was changed. Repeat this command then.",
            )
        trust = release_trust.load(releases, state)
        permit = await release_trust.permit(
            releases, trust, source, digest=digest, statement=statement, allow_downgrade=allow_downgrade
        )
        if permit.signed_by is not None:
            say(f"version {permit.version}, signed by release key {permit.signed_by}")
        await stage(releases, permit.digest, source, say, permit.version)
        facts = await asyncio.to_thread(_facts, releases, permit.digest)
        keys = permit.keys or facts.release_keys
        if keys != trust.keys:
            release_trust.save(state, ReleaseTrust(trust.keys, permit.digest, keys))
        try:
            await switch(releases, permit.digest, state, service, say)
        finally:
            # After an interrupt the trial goes on: the next reader of the file knows how it ended.
            if keys != trust.keys and releases.trial() is None:
                release_trust.save(state, release_trust.load(releases, state))
        return AgentUpdate(permit.digest, facts.version, permit.signed_by, keys)


async def stage(
    releases: Releases, digest: str, source: str, say: Callable[[str], None], version: ReleaseVersion | None = None
) -> Release:
    """Stage a release beside the present one: checked, unpacked, with its requirements, imported once.

    Switches nothing.

    `version`: that of its statement; a bundle with another one is refused.
    """
    found = releases.find(digest)
    if found is not None:
        _check_version(version, await asyncio.to_thread(_facts, releases, digest))
        say("the release is staged already")
        return found
    home = releases.folder / digest
    await asyncio.to_thread(shutil.rmtree, home, ignore_errors=True)  # the rest of an earlier attempt
    home.mkdir(mode=0o700, parents=True)
    bundle = home / "bundle.tar.gz"
    try:
        say(f"fetching {source}")
        await fetch(source, bundle)
        await asyncio.to_thread(_check, bundle, digest)
        unpacked = await asyncio.to_thread(unpack, bundle, home)
        _check_version(version, unpacked)
        bundle.unlink()
        python = await asyncio.to_thread(_python_for, releases, unpacked, say)
        await asyncio.to_thread(_load_once, python, home / "app")
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, home, ignore_errors=True)
        with suppress(OSError):
            releases.folder.rmdir()  # if it was made for this release alone
        raise
    return releases.complete(digest, python)


async def switch(
    releases: Releases,
    release: str,
    state: Path,
    service: AgentService,
    say: Callable[[str], None],
    *,
    ready_s: float = READY_S,
) -> None:
    """Have the service run this release. Raises :class:`OurError` after going back to the one before."""
    before = releases.current()
    if before == release and releases.trial() is None:
        say("the release is in use already")
        return
    releases.begin_trial(release, unix_ms() + int(ready_s * 1000))
    say("starting the release")
    await asyncio.to_thread(service.restart)
    if await _is_ready(releases, release, ready_s):
        say("the release is ready and in use")
        await asyncio.to_thread(_forget_others, releases, {release, before})
        return
    undone = releases.give_up(release)
    say("the release did not become ready: going back")
    if undone:
        await asyncio.to_thread(service.restart)
    back = await _runs_ready(before, state, ready_s)
    lines = await asyncio.to_thread(lambda: list(service.log(10, follow=False)))
    raise OurError(
        f"The new release did not become ready within {ready_s:g} s; "
        + ("the previous one runs again." if back else "the previous one was started, and is not ready either.")
        + " The end of the log:\n"
        + "\n".join(lines),
        "Report this with the log.",
    )


async def _is_ready(releases: Releases, release: str, ready_s: float) -> bool:
    """Whether the release confirms itself in time; False as soon as it was given up."""
    limit_s = time.monotonic() + ready_s
    while time.monotonic() < limit_s:
        if releases.trial() is None:
            return releases.current() == release
        await asyncio.sleep(_POLL_S)
    return False


async def _runs_ready(release: str, state: Path, ready_s: float) -> bool:
    limit_s = time.monotonic() + ready_s
    while time.monotonic() < limit_s:
        running = read_status(state)
        if running is not None and running.ready and running.release == release:
            return True
        await asyncio.sleep(_POLL_S)
    return False


def _check(bundle: Path, digest: str) -> None:
    actual = sha256_of(bundle)
    if actual != digest:
        raise OurError(
            f"The file has SHA-256 {actual}, not {digest}.", "Nothing was changed. Check the file and the digest."
        )


def _facts(releases: Releases, digest: str) -> UnpackedBundle:
    folder = releases.folder / digest
    try:
        return facts_of(folder)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OurError(
            f"The release in {folder} is damaged: {error}.", "Nothing was changed. Remove that folder, then try again."
        ) from None


def _check_version(version: ReleaseVersion | None, bundle: UnpackedBundle) -> None:
    if version not in (None, bundle.version):
        raise ReleaseRefused(
            f"The bundle has version {bundle.version}, its statement {version}.",
            "Nothing was changed. Report this to the publisher of the releases.",
        )


def _python_for(releases: Releases, unpacked: UnpackedBundle, say: Callable[[str], None]) -> str:
    """Return an interpreter with exactly the requirements of the release's lock."""
    ours = ROOT / LOCK
    if ours.is_file() and hashlib.sha256(ours.read_bytes()).hexdigest() == unpacked.lock_sha256:
        return sys.executable
    home = releases.folder / f"env-{unpacked.lock_sha256[:16]}"
    python = home / "bin/python"
    if (home / ".complete").exists():
        return str(python)
    say("installing its requirements")
    shutil.rmtree(home, ignore_errors=True)
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--require-hashes"]
    try:
        _do([sys.executable, "-m", "venv", str(home)], "its environment cannot be created")
        _do([*pip, "--no-deps", "--requirement", str(unpacked.lock)], "its requirements cannot be installed")
    except OurError:
        shutil.rmtree(home, ignore_errors=True)
        raise
    (home / ".complete").touch()
    return str(python)


def _load_once(python: str, app: Path) -> None:
    """Import the release once, so that a broken one is not switched to."""
    environment = {"PYTHONPATH": str(app), "PYTHONSAFEPATH": "1", "PATH": "/usr/bin:/bin"}
    _do([python, "-c", "import node_agent.__main__, node_agent.runtime.startup"], "it cannot be imported", environment)


def _do(command: list[str], what: str, environment: dict[str, str] | None = None) -> None:
    limit_s = _IMPORT_S if environment is not None else _INSTALL_S
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=limit_s,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
        reason = (
            "" if done.returncode == 0 else _last_lines(done.stderr) or _last_lines(done.stdout) or "no reason given"
        )
    except subprocess.TimeoutExpired:
        reason = f"it took longer than {limit_s} s"
    if reason:
        raise OurError(f"The release cannot be used: {what}: {reason}", "Nothing was changed. Report this.")


def _last_lines(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-_REASON_LINES:])[-_REASON_CHARACTERS:]


def _forget_others(releases: Releases, keep: set[str]) -> None:
    """Remove releases and environments that neither run nor are gone back to."""
    kept = [found for digest in keep if digest != INSTALLED and (found := releases.find(digest)) is not None]
    pythons = [Path(found.python) for found in kept]
    for path in releases.folder.iterdir():
        if not path.is_dir() or path.name in keep or any(path in python.parents for python in pythons):
            continue
        with suppress(OSError):
            shutil.rmtree(path)
