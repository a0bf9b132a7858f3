"""What a container executes: of a manifest, of an image, and with the agent's programs before it. Pure decisions."""

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
    """Return the absolute path, with its ``..``, of the program that `words` start; None if it is looked up in PATH.

    `folder`: where the program starts.
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


def image_refusal(config: Mapping[str, Any]) -> str | None:
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


def mount_targets(inspection: Mapping[str, Any]) -> tuple[str, ...]:
    """Return where something is mounted into a container, also by the engine itself, its working directory and program.

    `inspection`: what the engine says of the container. A program that is looked up in PATH is left out.
    """
    config = inspection.get("Config") or {}
    memory = (inspection.get("HostConfig") or {}).get("Tmpfs") or ()
    folder = str(config.get("WorkingDir") or "/")
    program = program_path([word for part in tenant_command(config) for word in part], folder)
    found = [str(mount.get("Destination")) for mount in inspection.get("Mounts") or ()]
    # Where ".." of a program leads depends on links before it; the engine takes all other paths in their shortest form.
    plain = map(plain_path, (*found, *memory, *ENGINE_TARGETS, folder))
    return tuple(dict.fromkeys((*plain, *([program] if program is not None else []))))


def check_targets(paths: Iterable[str], look: Look) -> None:
    """Follow the links on the way to each path. Raises :class:`PathRefused` if one leads into a protected folder.

    The links are followed one by one, not by the engine: a folder that the image has at /proc is not what is there when
    its program runs, so what lies behind a link into /proc must not be looked at.
    """
    walk = _LinkResolver(look)
    for path in (*KERNEL, *AGENT_FILES):
        if walk.follow(path, allowed=(path,)) != path:
            raise PathRefused(f"{path} is a link in it; leave it out")
    for path in paths:
        if path == SHARED_MEMORY or path in AGENT_FILES:
            continue  # It is mounted by the engine or the agent, whatever the image has there.
        is_notices = plain_path(path) == NOTICES
        walk.follow(path, allowed=(NOTICES,) if is_notices else ())


class _LinkResolver:
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


UNCOPIED: Final = frozenset(protected_paths.KERNEL)


def hidden_below(path: str, hidden: Collection[str], reached: Collection[str] = ()) -> tuple[str, ...]:
    """Return the `hidden` mounts below the absolute `path`, relative to it.

    `reached`: mounts that copies do reach, also below hidden ones. Raises :class:`PathHidden` if the innermost mount
    in which `path` lies is hidden.
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
