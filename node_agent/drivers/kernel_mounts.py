"""Required and permitted mounts in the protected folders of a container. Pure decisions.

The engine hides files of the kernel by mounting over them. A tenant can redirect a mount by a link that appears after
the links were checked, and so undo this. Therefore the mount table of each container is compared with this list after
its mounts were made and before its program starts (ADR 0042).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final

from offchain.schema.manifest.protected_paths import AGENT_FILES, NOTICES, SHARED_MEMORY, protected_folder

MASKED: Final = (
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
)
"""Kernel files hidden from containers: those that recent Docker engines hide, for engines of any version."""
READ_ONLY: Final = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
"""Kernel files that root could change, mounted read-only in containers."""
_OWN_KINDS: Final = {
    "/proc": ("proc",),
    "/sys": ("sysfs",),
    "/sys/fs/cgroup": ("tmpfs", "cgroup2"),
    "/dev": ("tmpfs",),
    "/dev/pts": ("devpts",),
    "/dev/console": ("devpts",),
    "/dev/mqueue": ("mqueue",),
}
"""The types of file systems that the engine mounts by itself, by path."""
_CGROUPS: Final = "/sys/fs/cgroup"
_NVIDIA: Final = "/proc/driver/nvidia"
_NULL: Final = "/null"
_DELETED: Final = "//deleted"
"""Suffix of the path of a file that was replaced after it was mounted."""
_ESCAPE: Final = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class MountEntry:
    """One line of /proc/PID/mountinfo."""

    number: int
    parent: int
    device: str
    """Device numbers of the file system, such as ``0:43``."""
    root: str
    """The mounted path within the file system."""
    at: str
    read_only: bool
    kind: str
    """Type of the file system."""


@dataclass(frozen=True, slots=True)
class ExpectedMounts:
    """The mounts that a container is to have."""

    masked: tuple[str, ...] = MASKED
    """Paths that the engine is configured to hide."""
    read_only: tuple[str, ...] = READ_ONLY
    """Paths that the engine is configured to make read-only."""
    own: tuple[tuple[str, str], ...] = ()
    """Read-only mounts of the agent in protected folders, as (path, end of the path on the machine)."""
    nvidia: bool = False
    """Whether NVIDIA's runtime may mount its folder in /proc."""


@dataclass(frozen=True, slots=True)
class MountDeviations:
    """Differences between an engine's own mounts and the list, found in a container without tenant content."""

    missing: frozenset[str] = frozenset()
    """Paths that the engine neither hides nor makes read-only, although configured to."""
    others: frozenset[tuple[str, str]] = frozenset()
    """Mounts that are not in the list, as (path, type of the file system)."""


NO_DEVIATIONS: Final = MountDeviations()


def parse_mounts(text: str) -> tuple[MountEntry, ...]:
    """Parse the format of /proc/PID/mountinfo. Raises ValueError."""
    return tuple(_parse(line) for line in text.splitlines())


def deviations_of(
    mounts: Iterable[MountEntry], wanted: ExpectedMounts, exists: Callable[[str], bool]
) -> MountDeviations:
    """Return the deviations of a container without tenant content from the list."""
    table = _MountTable(mounts)
    missing = (path for path in _of_kernel(wanted, exists) if not table.at(path))
    others = ((one.at, one.kind) for one in table.protected() if not _is_expected(one, wanted, table))
    return MountDeviations(frozenset(missing), frozenset(others))


def why_unsafe(
    mounts: Iterable[MountEntry],
    wanted: ExpectedMounts,
    exists: Callable[[str], bool],
    deviations: MountDeviations = NO_DEVIATIONS,
) -> str | None:
    """Return what is wrong with a container's mounts, as a text for users; None if nothing is.

    `exists`: whether the kernel has a file at a path that is to be hidden or read-only. `deviations`: of the engine.
    """
    table = _MountTable(mounts)
    if len(table.at("/")) != 1:
        return "something is mounted over its root"
    for path in ("/proc", "/sys", "/dev", *(path for path, _ in wanted.own), *_of_kernel(wanted, exists)):
        if not table.at(path):
            return f"nothing is mounted at {path}"
    for mount in table.protected():
        if len(table.at(mount.at)) > 1:
            return f"several mounts are at {mount.at}"
        if (mount.at, mount.kind) not in deviations.others and not _is_expected(mount, wanted, table):
            return f"a file system of type {mount.kind} is mounted at {mount.at} that does not belong there"
    return None


def _of_kernel(wanted: ExpectedMounts, exists: Callable[[str], bool]) -> list[str]:
    return [path for path in (*wanted.masked, *wanted.read_only) if exists(path)]


class _MountTable:
    def __init__(self, mounts: Iterable[MountEntry]) -> None:
        self._at: dict[str, list[MountEntry]] = {}
        for mount in mounts:
            self._at.setdefault(mount.at, []).append(mount)

    def at(self, path: str) -> Collection[MountEntry]:
        return self._at.get(path, ())

    def protected(self) -> list[MountEntry]:
        """Return all mounts in protected folders, parents before children."""
        found = [mount for path in sorted(self._at) if protected_folder(path) for mount in self._at[path]]
        return [*found, *self.at(SHARED_MEMORY)]

    def is_on_root(self, mount: MountEntry) -> bool:
        return any(root.number == mount.parent for root in self.at("/"))

    def null(self) -> MountEntry | None:
        """Return the mount of /dev/null: its own if the engine has user namespaces, else that of /dev."""
        return next(iter((*self.at("/dev/null"), *self.at("/dev"))), None)


def _is_expected(mount: MountEntry, wanted: ExpectedMounts, table: _MountTable) -> bool:
    path, is_kernels = mount.at, mount.kind == "proc" and f"/proc{mount.root}" == mount.at
    if path in ("/proc", "/sys", "/dev", *AGENT_FILES) and not table.is_on_root(mount):
        return False
    if path in wanted.masked:
        expected = _is_mask(mount, table.null())
    elif path in wanted.read_only:
        expected = is_kernels and mount.read_only
    elif path in (NOTICES, *AGENT_FILES):
        source = mount.root.removesuffix(_DELETED)
        expected = mount.read_only and any(path == at and source.endswith(end) for at, end in wanted.own)
    elif path in _OWN_KINDS:
        # The engine mounts whole file systems only, not parts such as another folder of /proc.
        is_whole = mount.root == "/" or path in (_CGROUPS, "/dev/console")
        expected = is_whole and mount.kind in _OWN_KINDS[path] and (mount.read_only or path != "/sys")
    elif path.startswith(f"{_CGROUPS}/"):
        expected = mount.kind in ("cgroup", "cgroup2") and mount.read_only
    elif path == _NVIDIA or path.startswith(f"{_NVIDIA}/"):
        expected = wanted.nvidia and (is_kernels or mount.kind == "tmpfs")
    else:
        # The machine's device file of the same name. No volume of a tenant is on a devtmpfs.
        is_device = mount.kind == "devtmpfs" and f"/dev{mount.root}" == path
        expected = is_device or path == SHARED_MEMORY
    return expected


def _is_mask(mount: MountEntry, null: MountEntry | None) -> bool:
    """Return whether a mount hides what is below it: an empty folder in memory, or the container's own /dev/null."""
    if mount.kind == "tmpfs" and mount.root == "/":
        return mount.read_only
    return null is not None and mount.root == _NULL and (mount.device, mount.kind) == (null.device, null.kind)


def _parse(line: str) -> MountEntry:
    words = line.split(" ")
    if len(words) < 10 or "-" not in words[6:]:
        raise ValueError(f"not a line of a mount table: {line[:200]!r}")
    kind = words[words.index("-", 6) + 1]
    root, at = (_ESCAPE.sub(lambda found: chr(int(found[1], 8)), word) for word in words[3:5])
    return MountEntry(int(words[0]), int(words[1]), words[2], root, at, "ro" in words[5].split(","), kind)
