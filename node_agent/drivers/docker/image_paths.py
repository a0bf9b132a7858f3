"""Which images are refused for the paths that they name, and where the links of a container lead. Pure decisions."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from node_agent.drivers.docker.command_line import program_path, tenants_command
from offchain.schema.manifest.protected_paths import (
    AGENT_FILES,
    KERNEL,
    NOTICES,
    SHARED_MEMORY,
    plain_path,
    protected_folder,
)

MAX_VOLUMES: Final = 64
"""The most volumes that an image may ask for: the engine makes each of them for each container."""
MAX_LOOKS: Final = 256
"""The most files of one container that are looked at to find links."""
MAX_LINKS: Final = 40
"""The most links on the way to one file, as Linux has it."""
ENGINE_TARGETS: Final = ("/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/sbin/docker-init")
"""Where the engine mounts files of its own."""

Look = Callable[[str], str | None]
"""Says where the link at a path leads; empty if there is a file or a folder, None if there is nothing."""


class PathRefused(Exception):  # noqa: N818  (named for the fact, as the agent's other errors)
    """A path of a container leads where nothing of a tenant may be. The text is fit for users."""


def why_refused(config: Mapping[str, Any]) -> str | None:
    """Return why no container may be made of an image with this configuration; None if one may."""
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


def targets(inspection: Mapping[str, Any]) -> tuple[str, ...]:
    """Return where something is mounted into a container, also by the engine itself, its working directory and program.

    `inspection`: what the engine says of the container. A program that is looked up in PATH is left out.
    """
    config = inspection.get("Config") or {}
    memory = (inspection.get("HostConfig") or {}).get("Tmpfs") or ()
    folder = str(config.get("WorkingDir") or "/")
    program = program_path([word for part in tenants_command(config) for word in part], folder)
    found = [str(mount.get("Destination")) for mount in inspection.get("Mounts") or ()]
    # Where ".." of a program leads depends on links before it; the engine takes all other paths in their shortest form.
    plain = map(plain_path, (*found, *memory, *ENGINE_TARGETS, folder))
    return tuple(dict.fromkeys((*plain, *([program] if program is not None else []))))


def check_targets(paths: Iterable[str], look: Look) -> None:
    """Follow the links on the way to each path. Raises :class:`PathRefused` if one leads into a protected folder.

    The links are followed one by one, not by the engine: a folder that the image has at /proc is not what is there when
    its program runs, so what lies behind a link into /proc must not be looked at.
    """
    walk = _Walk(look)
    for path in (*KERNEL, *AGENT_FILES):
        if walk.follow(path, allowed=(path,)) != path:
            raise PathRefused(f"{path} is a link in it; leave it out")
    for path in paths:
        if path == SHARED_MEMORY or path in AGENT_FILES:
            continue  # It is mounted by the engine or the agent, whatever the image has there.
        is_notices = plain_path(path) == NOTICES
        walk.follow(path, allowed=(NOTICES,) if is_notices else ())


class _Walk:
    def __init__(self, look: Look) -> None:
        self._look = look
        self._seen: dict[str, str | None] = {}

    def follow(self, path: str, allowed: tuple[str, ...]) -> str:
        """The path without links. `allowed`: what it may be of the protected folders."""
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
