"""Paths and programs of containers: which are refused, where links lead, and which mounts copies miss. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from node_agent.drivers.access_port import PathHidden
from offchain.schema.manifest import protected_paths
from offchain.schema.manifest.protected_paths import (
    AGENT_FILES,
    GATE,
    INIT,
    KERNEL,
    NOTICES,
    SHARED_MEMORY,
    plain_path,
    protected_folder,
)

GATE_WORDS: Final = (GATE, INIT, "--")
"""The words before the command line of a container that has a gate (see `docker.start_gate`)."""
HEALTH_CHECK_WORDS: Final = ("CMD", GATE, INIT, "-s", "--")
"""The words before a health check of such a container. Its init is not the first process."""
MAX_VOLUMES: Final = 64
"""Most volumes that an image may declare: the engine creates each of them for each container."""
MAX_LOOKS: Final = 256
"""Most files of one container that are examined for links."""
MAX_LINKS: Final = 40
"""Most links on the path to one file, as in Linux."""
ENGINE_TARGETS: Final = ("/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/sbin/docker-init")
"""Paths where the engine mounts files of its own."""
Look = Callable[[str], str | None]
"""Returns the target of the link at a path; empty for a file or folder, None if nothing exists there."""
UNCOPIED: Final = frozenset(protected_paths.KERNEL)
"""Mounts of the kernel's file systems, which copies do not reach."""


def command_line(
    entrypoint: Sequence[str] | None, command: Sequence[str] | None, config: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """Return (entrypoint, command) of a container as an engine combines them from a manifest and an image.

    `config`: the image's configuration. An entrypoint of the manifest replaces the image's command, too.
    """
    if entrypoint:
        return list(entrypoint), list(command or ())
    own = config.get("Entrypoint") if entrypoint is None else ()
    return list(own or ()), list(command or config.get("Cmd") or ())


def tenant_command(config: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return (entrypoint, command) of a container without the agent's programs. `config`: the container's."""
    entrypoint, command = list(config.get("Entrypoint") or ()), list(config.get("Cmd") or ())
    has_gate = tuple(entrypoint[: len(GATE_WORDS)]) == GATE_WORDS
    return (entrypoint[len(GATE_WORDS) :] if has_gate else entrypoint), command


def tenant_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a container's configuration that name the agent's programs, without these."""
    entrypoint, command = tenant_command(config)
    found: dict[str, Any] = {"Entrypoint": entrypoint, "Cmd": command}
    check = config.get("Healthcheck") or {}
    words = list(check.get("Test") or ())
    if tuple(words[: len(HEALTH_CHECK_WORDS)]) == HEALTH_CHECK_WORDS:
        found["Healthcheck"] = {**check, "Test": ["CMD", *words[len(HEALTH_CHECK_WORDS) :]]}
    return found


def program_path(words: Sequence[str], folder: str) -> str | None:
    """Return the absolute path, including ``..``, of the program in `words`; None if it is looked up in PATH.

    `folder`: the program's working directory.
    """
    program = next(iter(words), "")
    return posixpath.join("/", folder, program) if "/" in program else None


def command_refusal(
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


class PathRefused(Exception):  # noqa: N818  (named for the fact, as the agent's other errors)
    """A path of a container leads to a folder that the tenant must not use. The text is fit for users."""


def image_refusal(config: Mapping[str, Any]) -> str | None:
    """Return why no container may be created from an image with this configuration; None if one may."""
    volumes = list(config.get("Volumes") or ())
    if len(volumes) > MAX_VOLUMES:
        return f"it declares {len(volumes)} volumes, and an image may declare {MAX_VOLUMES}"
    folder = str(config.get("WorkingDir") or "")
    named = [("volume", str(path), "/") for path in volumes] + [("working directory", folder, "/")]
    for key in ("Entrypoint", "Cmd"):
        program = str(next(iter(config.get(key) or ()), ""))
        # A name without a slash is looked up in PATH.
        named += [("program", program, folder)] if "/" in program else []
    for what, path, start in named:
        plain = plain_path(path, start)
        if what == "volume" and plain == "/":
            return f"it declares the volume {path!r}, which is all of its file system; declare a folder below it"
        protected = protected_folder(plain)
        if protected is not None:
            return f"its {what} {path!r} lies in {protected}, which is not the tenant's; choose another path"
    return None


def mount_targets(inspection: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the mount targets of a container, including the engine's, its working directory and its program.

    `inspection`: the engine's description of the container. A program that is looked up in PATH is left out.
    """
    config = inspection.get("Config") or {}
    memory = (inspection.get("HostConfig") or {}).get("Tmpfs") or ()
    folder = str(config.get("WorkingDir") or "/")
    program = program_path([word for part in tenant_command(config) for word in part], folder)
    found = [str(mount.get("Destination")) for mount in inspection.get("Mounts") or ()]
    # The target of ".." in a program's path depends on links before it; the engine normalises all other paths.
    plain = map(plain_path, (*found, *memory, *ENGINE_TARGETS, folder))
    return tuple(dict.fromkeys((*plain, *([program] if program is not None else []))))


def check_targets(paths: Iterable[str], look: Look) -> None:
    """Follow the links on each path. Raises :class:`PathRefused` if one leads into a protected folder.

    The links are followed one by one, not by the engine: a folder that the image has at /proc is not the one that a
    running program sees, so targets of links into /proc must not be examined.
    """
    walk = _LinkResolver(look)
    for path in (*KERNEL, *AGENT_FILES):
        if walk.follow(path, allowed=(path,)) != path:
            raise PathRefused(f"{path} is a link in it; leave it out")
    for path in paths:
        if path == SHARED_MEMORY or path in AGENT_FILES:
            continue  # The engine or the agent mounts it, whatever the image has there.
        is_notices = plain_path(path) == NOTICES
        walk.follow(path, allowed=(NOTICES,) if is_notices else ())


class _LinkResolver:
    def __init__(self, look: Look) -> None:
        self._look = look
        self._seen: dict[str, str | None] = {}

    def follow(self, path: str, allowed: tuple[str, ...]) -> str:
        """Return the path without links. `allowed`: protected folders that it may be."""
        ahead = [name for name in reversed(path.split("/")) if name]
        at, links, is_there = "/", 0, True
        while ahead:
            name = ahead.pop()
            if name in (".", ".."):
                at, is_there = (posixpath.dirname(at), True) if name == ".." else (at, is_there)
                continue
            at = posixpath.join(at, name)
            protected = protected_folder(at)
            if at == SHARED_MEMORY or (protected is not None and at not in allowed):
                where = protected or "/dev"
                raise PathRefused(f"{path} leads into {where}, which is not the tenant's; choose another path")
            target = self._of(at) if is_there else None
            is_there = target is not None
            if target:
                links += 1
                if links > MAX_LINKS:
                    raise PathRefused(f"{path} leads over more than {MAX_LINKS} links")
                at = "/" if target.startswith("/") else posixpath.dirname(at)
                ahead += [part for part in reversed(target.split("/")) if part]
        return at

    def _of(self, path: str) -> str | None:
        if path not in self._seen:
            if len(self._seen) >= MAX_LOOKS:
                raise PathRefused(
                    f"its mounts, its program and its working directory have more than {MAX_LOOKS} folders"
                )
            self._seen[path] = self._look(path)
        return self._seen[path]


def hidden_below(path: str, hidden: Collection[str], reached: Collection[str] = ()) -> tuple[str, ...]:
    """Return the `hidden` mounts below the absolute `path`, relative to it.

    A Docker engine copies files into the container's file system with its volumes and bind mounts, and without the
    mounts that exist in the running container only: /proc, /sys, /dev and memory file systems. A copy there lands below
    the mount, invisible to programs of the pod. `reached`: mounts that copies reach, also below hidden ones. Raises
    :class:`PathHidden` if the innermost mount around `path` is hidden.
    """
    folder = PurePosixPath(path)
    around = [mount for mount in {*hidden, *reached} if folder.is_relative_to(mount)]
    innermost = max(around, key=len, default=None)
    if innermost is not None and innermost not in reached:
        raise PathHidden(f"{path} lies in {innermost}, a mount whose files cannot be copied")
    return tuple(sorted(str(PurePosixPath(one).relative_to(folder)) for one in hidden if _is_below(one, folder)))


def mounts_of(inspected: Mapping[str, Any]) -> tuple[frozenset[str], frozenset[str]]:
    """Return (hidden, reached) mounts of a container, from the engine's description of it."""
    mounts = [(str(one.get("Type")), _plain(str(one.get("Destination")))) for one in inspected.get("Mounts") or ()]
    memory = {_plain(path) for path in (inspected.get("HostConfig") or {}).get("Tmpfs") or ()}
    memory |= {path for kind, path in mounts if kind == "tmpfs"}
    return UNCOPIED | memory, frozenset(path for kind, path in mounts if kind != "tmpfs")


def _is_below(mount: str, folder: PurePosixPath) -> bool:
    return mount != str(folder) and PurePosixPath(mount).is_relative_to(folder)


def _plain(path: str) -> str:
    return str(PurePosixPath(path))
