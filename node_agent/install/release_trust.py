"""Release keys of an agent, and the releases that they permit.

`release-keys.json` in the agent's folder holds the current keys, and those that replace them once the release that
names them is in use. `releases/current` tells whether it is, so a killed updater leaves nothing to repair. An
unreadable file refuses updates; only a missing file means that there are no keys.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from node_agent import VERSION
from node_agent.core.release_statement import (
    ReleaseRefused,
    ReleaseVersion,
    check_signature,
    check_version,
    parse_keys,
    parse_statement,
    parse_version,
)
from node_agent.install.bundle import facts_of, fetch_statement, statement_beside
from node_agent.install.releases import INSTALLED, Releases
from offchain.errors import OurError, TheirError
from offchain.files import replace_file

NAME = "release-keys.json"
FORMAT = 1
MAX_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class ReleaseTrust:
    """Release keys; without any, no signature is needed. `offered_by`: the release that brings the `offered` keys."""

    keys: tuple[str, ...] = ()
    offered_by: str | None = None
    offered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReleasePermit:
    """A release that may be staged. `version` is None if only the digest is known."""

    digest: str
    version: ReleaseVersion | None
    signed_by: str | None
    keys: tuple[str, ...]
    """Release keys once this release is in use; empty: the keys of the bundle are adopted."""


def in_force(trust: ReleaseTrust, current: str) -> ReleaseTrust:
    """Return the trust after the offered keys are adopted or dropped. `current`: the release in use. Pure."""
    return ReleaseTrust(trust.offered if trust.offered_by == current and trust.offered else trust.keys)


def load(releases: Releases, state: Path) -> ReleaseTrust:
    """Read the trust that is in force. Raises OurError if the file is unusable."""
    path = state / NAME
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return ReleaseTrust()
    except OSError as error:
        raise OurError(f"{path} cannot be read: {error.strerror}.", _mend(path)) from None
    try:
        if len(data) > MAX_BYTES:
            raise ValueError(f"it is longer than {MAX_BYTES} bytes")  # noqa: TRY301  (told as what it is, below)
        return in_force(_parsed(json.loads(data)), releases.current())
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise OurError(f"{path} is not valid: {error}.", _mend(path)) from None


def save(state: Path, trust: ReleaseTrust) -> None:
    """Store the keys, readable by the owner only."""
    document: dict[str, Any] = {"format": FORMAT, "keys": list(trust.keys)}
    if trust.offered_by is not None:
        document["offered"] = {"release": trust.offered_by, "keys": list(trust.offered)}
    replace_file(state / NAME, json.dumps(document, indent=2) + "\n")


@contextmanager
def only_updater(state: Path) -> Iterator[None]:
    """Exclude other updaters of this folder. Raises OurError if there is one."""
    handle = os.open(state, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OurError(
                f"Another command changes the release or the release keys of {state}.",
                "Wait for its end, then run this again.",
            ) from None
        yield
    finally:
        os.close(handle)


async def permit(
    releases: Releases,
    trust: ReleaseTrust,
    source: str,
    *,
    digest: str | None,
    statement: str | None,
    allow_downgrade: bool,
) -> ReleasePermit:
    """Decide which digest the bundle at `source` must have, before any of it is fetched. Changes nothing.

    Without release keys: the given one. With them: that of the statement, which has to be signed by one of the keys and
    to have a newer version than the one in use.
    """
    if not trust.keys:
        if digest is None:
            raise OurError(
                "This agent keeps no release keys, so it cannot tell whether the release is genuine.",
                "Give its SHA-256 with --digest, or keep the publisher's key with gantry agent join --release-key.",
            )
        if statement is not None:
            raise OurError(
                f"This agent keeps no release keys, so nothing can verify the statement {statement}.",
                "Leave --statement out, or keep the publisher's key with gantry agent join --release-key.",
            )
        return ReleasePermit(digest, None, None, ())
    place = statement or statement_beside(source)
    try:
        data = await fetch_statement(place)
    except (OurError, TheirError) as error:
        raise ReleaseRefused(
            f"{error.message} This agent keeps release keys ({', '.join(trust.keys)}) and runs only releases with a "
            "statement that one of them signed.",
            "Nothing was changed. Get the .statement file of the release, and name it with --statement.",
        ) from None
    signed = parse_statement(data)
    found = signed.statement
    if digest is not None and digest != found.sha256:
        raise ReleaseRefused(
            f"The statement is for the bundle with SHA-256 {found.sha256}, and --digest is {digest}.",
            "Nothing was changed. Check which of the two is of the release that you want.",
        )
    if found.sha256 == releases.current():
        # Nothing is to be installed. The statement may be signed by a key that the release replaced.
        return ReleasePermit(found.sha256, found.version, None, trust.keys)
    key = check_signature(signed, trust.keys)
    in_use = version_in_use(releases)
    check_version(found, in_use, allow_downgrade=allow_downgrade)
    # An old statement must not bring back keys that were replaced since.
    rotates = found.next_keys and found.version > in_use
    return ReleasePermit(found.sha256, found.version, key, found.next_keys if rotates else trust.keys)


def version_in_use(releases: Releases) -> ReleaseVersion:
    """Return the version of the release in use; that of this code without updates."""
    current = releases.current()
    if current == INSTALLED or releases.find(current) is None:
        return parse_version(VERSION)
    try:
        return facts_of(releases.folder / current).version
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OurError(
            f"The version of the release in use, {current}, cannot be read: {error}.",
            f"Restore {releases.folder / current}, or move it away: the code that join was run from is started then.",
        ) from None


def _parsed(document: Any) -> ReleaseTrust:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"it is not an object of format {FORMAT}")
    keys = parse_keys(document["keys"]) if document["keys"] else ()
    offered = document.get("offered")
    if offered is None:
        return ReleaseTrust(keys)
    return ReleaseTrust(keys, str(offered["release"]), parse_keys(offered["keys"]))


def _mend(path: Path) -> str:
    return (
        f"Nothing was changed. Move {path.name} away and keep the publisher's key anew with "
        "gantry agent join --release-key."
    )


def keys_text(keys: Sequence[str]) -> str:
    """Return release keys as text."""
    return ", ".join(keys) if keys else "none"
