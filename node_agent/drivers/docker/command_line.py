"""What a container executes: of a manifest, of an image, and with the agent's programs before it. Pure decisions."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any, Final

from offchain.schema.manifest.protected_paths import GATE, INIT, plain_path, protected_folder

BEFORE: Final = (GATE, INIT, "--")
"""The words before the command line of a container that has a gate (see `docker.start_gate`)."""
CHECK: Final = ("CMD", GATE, INIT, "-s", "--")
"""The words before those of a health check of such a container. The init there is not the first process."""


def command_line(
    entrypoint: Sequence[str] | None, command: Sequence[str] | None, config: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """Return (entrypoint, command) of a container as an engine puts them together from a manifest and an image.

    `config`: the image's configuration. An entrypoint of the manifest leaves the image's command out.
    """
    if entrypoint:
        return list(entrypoint), list(command or ())
    own = config.get("Entrypoint") if entrypoint is None else ()
    return list(own or ()), list(command or config.get("Cmd") or ())


def tenants_command(config: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return (entrypoint, command) of a container without the agent's programs. `config`: the container's."""
    entrypoint, command = list(config.get("Entrypoint") or ()), list(config.get("Cmd") or ())
    has_gate = tuple(entrypoint[: len(BEFORE)]) == BEFORE
    return (entrypoint[len(BEFORE) :] if has_gate else entrypoint), command


def tenants_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a container's configuration that name the agent's programs, without these."""
    entrypoint, command = tenants_command(config)
    found: dict[str, Any] = {"Entrypoint": entrypoint, "Cmd": command}
    check = config.get("Healthcheck") or {}
    words = list(check.get("Test") or ())
    if tuple(words[: len(CHECK)]) == CHECK:
        found["Healthcheck"] = {**check, "Test": ["CMD", *words[len(CHECK) :]]}
    return found


def program_path(words: Sequence[str], folder: str) -> str | None:
    """Return the absolute path, with its ``..``, of the program that `words` start; None if it is looked up in PATH.

    `folder`: where the program starts.
    """
    program = next(iter(words), "")
    return posixpath.join("/", folder, program) if "/" in program else None


def why_refused(
    entrypoint: Sequence[str] | None, command: Sequence[str] | None, folder: str | None, config: Mapping[str, Any]
) -> str | None:
    """Return why a service with these values of its manifest is not run in an image; None if it may be.

    `folder`: the manifest's working directory, `config`: the image's configuration.
    """
    words = [word for part in command_line(entrypoint, command, config) for word in part]
    path = program_path(words, folder or str(config.get("WorkingDir") or "/"))
    protected = protected_folder(plain_path(path)) if path is not None else None
    if protected is None:
        return None
    return f"its program {words[0]!r} lies in {protected}, which is not the tenant's; start another program"
