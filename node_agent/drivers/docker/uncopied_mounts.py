"""Which folders of a pod its engine's copies do not reach.

A Docker engine copies files into the container's file system with its volumes and bind mounts, and without the mounts
that exist in the running container alone: /proc, /sys, /dev and memory file systems. A copy there lands below the
mount, where no program of the pod sees it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from node_agent.drivers.access_port import PathHidden
from offchain.schema.manifest import protected_paths

KERNEL: Final = frozenset(protected_paths.KERNEL)


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
    return KERNEL | memory, frozenset(path for kind, path in mounts if kind != "tmpfs")


def _is_below(mount: str, folder: PurePosixPath) -> bool:
    return mount != str(folder) and PurePosixPath(mount).is_relative_to(folder)


def _plain(path: str) -> str:
    return str(PurePosixPath(path))
