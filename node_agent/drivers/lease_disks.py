"""File systems of a fixed size, one for each lease's data: the kernel enforces the disk limit of a lease (ADR 0039).

Each is an ext4 file system in a sparse file, mounted through a loop device. All writes of a lease go to its file
system, so nothing has to be measured: a write beyond the limit fails with ENOSPC. The file system is slightly larger
than the limit, because its own tables need space; a file that belongs to nobody, `reserve`, occupies the rest. The
reserve also covers data that counts against the lease and is stored elsewhere (snapshots). It takes no space on the
machine's disk.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from node_agent.drivers import mounts

MIB: Final = 1 << 20
SLACK_MIB: Final = 56
"""Size of the file minus the limit: the most by which a lease can exceed its limit on the machine's disk."""
SPARE_MIB: Final = 4
"""Part of the reserve that is released while a container starts on a full disk: the engine creates folders."""
BYTES_PER_INODE: Final = 16 << 10
LEAST_INODES: Final = 10_000
_BLOCK: Final = 4096
_JOURNALS_MIB: Final = ((4 << 10, 4), (64 << 10, 16))
_LARGEST_JOURNAL_MIB: Final = 32
_OPTIONS: Final = "loop,nodev,nosuid,noatime,noinit_itable,discard,errors=remount-ro"
"""`noinit_itable` keeps the kernel from writing the inode tables in the background, which would take unused space."""
_PATIENCE_S: Final = 120
_RELEASE_S: Final = 10
"""Longest wait until no other mount namespace has a file system mounted. A container in creation has a copy of every
mount of the machine for some milliseconds."""
_RELEASE_STEP_S: Final = 0.02
_MAX_MESSAGE: Final = 64 << 10
_MENDED: Final = 1
"""Exit status of e2fsck after it corrected something."""


class DiskError(Exception):
    """A file system of a lease cannot be made or used. The text is fit for the provider."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """Sizes of the file system for a limit. `size_mib`: of the file; `inodes`: capacity for files and folders."""

    size_mib: int
    inodes: int
    journal_mib: int


def geometry(limit_mib: int) -> Geometry:
    """Return the geometry for a limit in MiB, which is above zero."""
    inodes = max(LEAST_INODES, limit_mib * MIB // BYTES_PER_INODE)
    journal_mib = next((size for most, size in _JOURNALS_MIB if limit_mib <= most), _LARGEST_JOURNAL_MIB)
    return Geometry(limit_mib + SLACK_MIB, inodes, journal_mib)


def reserve_bytes(room_bytes: int, limit_mib: int, kept_mib: int) -> int:
    """Return the size of the reserve in bytes, at least :data:`SPARE_MIB`.

    `room_bytes`: capacity of an empty file system for files; `kept_mib`: data of the lease stored elsewhere.
    """
    return max(SPARE_MIB * MIB, room_bytes - max(0, limit_mib - kept_mib) * MIB) // _BLOCK * _BLOCK


class LeaseDisks:
    """The file systems of one host. `images`: folder of their files; `points`: folder of their mount points.

    All methods block, raise :class:`DiskError`, and may be called from several threads.
    """

    def __init__(self, images: Path, points: Path) -> None:
        self._images = images
        self._points = points
        self._guard = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}

    def try_out(self) -> str:
        """Make, mount and remove a file system; return why that fails here, or an empty text."""
        if os.geteuid() != 0:
            return "the agent is not root, and only root may mount"
        name = f"probe-{os.getpid()}"
        try:
            with self._turn(name):
                self._make(name, 1)
                self._mount(name)
        except DiskError as error:
            return str(error)
        finally:
            with contextlib.suppress(DiskError, OSError):
                self._remove(name)
        return ""

    def ensure(self, number: int, limit_mib: int, kept_mib: int = 0) -> Path:
        """Mount the file system of this number with this limit, made if missing; return its mount point.

        A larger limit makes it grow; with a smaller one, existing files stay and no more can be written.
        """
        name = str(number)
        with self._turn(name):
            if not self._image(name).exists():
                self._make(name, limit_mib)
            elif limit_mib + SLACK_MIB > self._image(name).stat().st_size // MIB:
                self._grow(name, limit_mib)
            point = self._mount(name)
            self._write_bounds(point, limit_mib, kept_mib)
            self._set_reserve(point)
            return point

    def set_kept(self, number: int, kept_mib: int) -> bool:
        """Count data stored elsewhere against the limit; return False if there is no space for all of it."""
        name = str(number)
        with self._turn(name):
            if not self._image(name).exists():
                return True
            point = self._mount(name)
            bounds = _bounds(point)
            if bounds is None:
                return True
            self._write_bounds(point, bounds[0], kept_mib)
            return self._set_reserve(point)

    def release_spare(self, number: int) -> None:
        """If a mounted file system is full, release part of the reserve until :meth:`restore_reserve`."""
        if self.is_full(number):
            with self._turn(str(number)):
                self._set_reserve(self._points / str(number), spare_mib=SPARE_MIB)

    def restore_reserve(self, number: int) -> None:
        """Restore the full reserve, as far as the released part is not in use."""
        with self._turn(str(number)):
            self._set_reserve(self._points / str(number))

    def open(self, number: int) -> Path | None:
        """Mount the file system of this number if it exists, and return its mount point."""
        name = str(number)
        if not self._image(name).exists():
            return None
        with self._turn(name):
            return self._mount(name) if self._image(name).exists() else None

    def point(self, number: int) -> Path:
        return self._points / str(number)

    def used_bytes(self, number: int) -> int | None:
        """Return the space that files in a mounted file system use, without the reserve; None if not mounted.

        Data written to the released part of the reserve does not count.
        """
        point = self._points / str(number)
        if not mounts.is_mount_point(point):
            return None
        try:
            found = os.statvfs(point)
            reserve = _allocated(point / "reserve")
        except OSError:
            return None
        used = max(0, (found.f_blocks - found.f_bfree) * found.f_frsize - reserve)
        bounds = _bounds(point)
        return used if bounds is None else min(used, bounds[0] * MIB)

    def is_full(self, number: int) -> bool:
        """Return whether nothing more can be written to a mounted file system."""
        try:
            found = os.statvfs(self._points / str(number))
        except OSError:
            return False
        return found.f_bavail * found.f_frsize < MIB or found.f_favail == 0

    def limit_mib(self, number: int) -> int | None:
        bounds = _bounds(self._points / str(number))
        return None if bounds is None else bounds[0]

    def numbers(self) -> frozenset[int]:
        """Return the numbers of all file systems, mounted or not."""
        try:
            names = [path.stem for path in self._images.iterdir() if path.suffix == ".img"]
        except OSError:
            return frozenset()
        return frozenset(int(name) for name in names if name.isdecimal())

    def remove(self, number: int) -> None:
        """Remove a file system with its content, if it exists."""
        with self._turn(str(number)):
            self._remove(str(number))

    @contextlib.contextmanager
    def _turn(self, name: str) -> Iterator[None]:
        with self._guard:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            try:
                yield
            except OSError as error:
                raise DiskError(f"the file system of lease data {name}: {error}") from None

    def _image(self, name: str) -> Path:
        return self._images / f"{name}.img"

    def _make(self, name: str, limit_mib: int) -> None:
        self._images.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._images.parent.chmod(0o700)
        made = geometry(limit_mib)
        part = self._images / f"{name}.part"
        part.unlink(missing_ok=True)
        part.touch(mode=0o600, exist_ok=False)
        os.truncate(part, made.size_mib * MIB)
        _run(
            "mkfs.ext4", "-q", "-F", "-b", str(_BLOCK), "-m", "0", "-I", "256", "-N", str(made.inodes),
            "-J", f"size={made.journal_mib}", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard", str(part),
        )  # fmt: skip
        part.rename(self._image(name))

    def _mount(self, name: str) -> Path:
        point = self._points / name
        if mounts.is_mount_point(point):
            return point
        self._points.mkdir(mode=0o700, parents=True, exist_ok=True)
        point.mkdir(mode=0o700, exist_ok=True)
        _run("mount", "-t", "ext4", "-o", _OPTIONS, "--make-private", str(self._image(name)), str(point))
        return point

    def _grow(self, name: str, limit_mib: int) -> None:
        """Enlarge an unmounted file system: growing a mounted one requires CAP_SYS_RESOURCE.

        Nothing is changed while a mount in another mount namespace holds the file system: the kernel would continue
        with the old size and overwrite the changes.
        """
        image, point = self._image(name), self._points / name
        if mounts.is_mount_point(point):
            mounts.unmount(point)
        _wait_for_release(image)
        _run("e2fsck", "-f", "-p", str(image), allowed=_MENDED)
        os.truncate(image, (limit_mib + SLACK_MIB) * MIB)
        _run("resize2fs", str(image))

    def _write_bounds(self, point: Path, limit_mib: int, kept_mib: int) -> None:
        if _bounds(point) != (limit_mib, kept_mib):
            # Overwritten in place: a full file system may have no free block.
            descriptor = os.open(point / "bounds", os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.pwrite(descriptor, f"{limit_mib:>12} {kept_mib:>12}".encode(), 0)
            finally:
                os.close(descriptor)

    def _set_reserve(self, point: Path, spare_mib: int = 0) -> bool:
        """Adjust the reserve to the bounds; return whether it has the required size."""
        bounds = _bounds(point)
        if bounds is None:
            return False
        found = os.statvfs(point)
        room = (found.f_blocks - (found.f_bfree - found.f_bavail)) * found.f_frsize
        wanted = reserve_bytes(room, *bounds) - spare_mib * MIB
        descriptor = os.open(point / "reserve", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            have = os.fstat(descriptor).st_size
            if have > wanted:
                os.ftruncate(descriptor, wanted)
                return True
            free = found.f_bavail * found.f_frsize // _BLOCK * _BLOCK
            more = min(wanted - have, free)
            if more > 0:
                try:
                    os.posix_fallocate(descriptor, have, more)
                except OSError:  # a program in the pod took the space meanwhile
                    return False
            return more == wanted - have
        finally:
            os.close(descriptor)

    def _remove(self, name: str) -> None:
        point, image = self._points / name, self._image(name)
        while mounts.is_mount_point(point):
            mounts.detach(point)
        with contextlib.suppress(FileNotFoundError):
            point.rmdir()
        with contextlib.suppress(FileNotFoundError):
            # Frees the space even if another mount namespace still holds the file system.
            os.truncate(image, 0)
            image.unlink()
        (self._images / f"{name}.part").unlink(missing_ok=True)


def remove_tree(folder: Path) -> None:
    """Remove a folder tree of any depth, if it exists."""
    if folder.exists():
        _run("rm", "-rf", "--one-file-system", "--", str(folder))


def copy_tree(source: Path, target: Path) -> None:
    """Copy the content of a folder into another with owners, modes and extended attributes."""
    _run("cp", "-a", "--", f"{source}/.", str(target))


def _bounds(point: Path) -> tuple[int, int] | None:
    """Return the limit of a mounted file system and what counts against it elsewhere, MiB; None before they are set."""
    try:
        limit_mib, kept_mib = map(int, (point / "bounds").read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return None
    return limit_mib, kept_mib


def _allocated(path: Path) -> int:
    try:
        return path.lstat().st_blocks * 512
    except FileNotFoundError:
        return 0


def _wait_for_release(image: Path) -> None:
    """Wait until no loop device uses a file. Raises :class:`DiskError` after `_RELEASE_S`."""
    deadline = time.monotonic() + _RELEASE_S
    while devices := _run("losetup", "--noheadings", "--output", "NAME", "--associated", str(image)).split():
        if time.monotonic() >= deadline:
            raise DiskError(f"another process still uses {image} through {devices[0]} after {_RELEASE_S} s")
        time.sleep(_RELEASE_STEP_S)


def _run(*command: str, allowed: int = 0) -> str:
    """Run a program and return its standard output. `allowed`: the highest exit status that is no failure."""
    program = shutil.which(command[0], path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        raise DiskError(f"{command[0]} is not installed (Debian: e2fsprogs, mount, util-linux)")
    try:
        done = subprocess.run(
            (program, *command[1:]),
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE_S,
            env={**os.environ, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        raise DiskError(f"{command[0]} did not end within {_PATIENCE_S} s") from None
    if not 0 <= done.returncode <= allowed:
        message = done.stderr[:_MAX_MESSAGE].decode(errors="replace").strip().splitlines()
        raise DiskError(f"{command[0]}: {message[-1] if message else f'exit status {done.returncode}'}")
    return done.stdout.decode(errors="replace")
