"""File systems of a fixed size, one for each lease's data: the kernel itself holds a tenant to its disk (ADR 0039).

Each is an ext4 file system in a sparse file, mounted through a loop device. What a lease writes, in whatever way, is in
its file system, so that no counting is needed: a write beyond the limit fails with ENOSPC. The file system is a little
larger than the limit, because its own tables need room; a file in it that belongs to nobody, `reserve`, takes what is
left over. The reserve also stands for what counts against the lease and is kept elsewhere (snapshots). It takes no
space of the machine's disk.
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
"""The file is larger than the limit by this; the most by which a lease can exceed its limit on the machine's disk."""
SPARE_MIB: Final = 4
"""Of the reserve, so much is lent while a container of a full disk starts: the engine makes folders for it."""
BYTES_PER_INODE: Final = 16 << 10
LEAST_INODES: Final = 10_000
_BLOCK: Final = 4096
_JOURNALS_MIB: Final = ((4 << 10, 4), (64 << 10, 16))
_LARGEST_JOURNAL_MIB: Final = 32
_OPTIONS: Final = "loop,nodev,nosuid,noatime,noinit_itable,discard,errors=remount-ro"
"""`noinit_itable`: the kernel would write the inode tables in the background, and so take space that nobody uses."""
_PATIENCE_S: Final = 120
_RELEASE_S: Final = 10
"""The longest wait until no other mount namespace has a file system mounted. A container that is being made has a copy
of every mount of the machine for some milliseconds."""
_RELEASE_STEP_S: Final = 0.02
_MOST_SAID: Final = 64 << 10
_MENDED: Final = 1
"""The exit status of e2fsck where it has corrected something."""


class DiskError(Exception):
    """A file system of a lease cannot be made or used. The text is fit for the provider."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """The sizes of the file system for a limit. `size_mib`: of the file; `inodes`: files and folders it can hold."""

    size_mib: int
    inodes: int
    journal_mib: int


def geometry(limit_mib: int) -> Geometry:
    """The geometry for a limit in MiB, which is above zero."""
    inodes = max(LEAST_INODES, limit_mib * MIB // BYTES_PER_INODE)
    journal_mib = next((size for most, size in _JOURNALS_MIB if limit_mib <= most), _LARGEST_JOURNAL_MIB)
    return Geometry(limit_mib + SLACK_MIB, inodes, journal_mib)


def reserve_bytes(room_bytes: int, limit_mib: int, kept_mib: int) -> int:
    """How large the reserve has to be, bytes; never less than what may be lent.

    `room_bytes`: what an empty file system gives to files; `kept_mib`: what the lease has elsewhere.
    """
    return max(SPARE_MIB * MIB, room_bytes - max(0, limit_mib - kept_mib) * MIB) // _BLOCK * _BLOCK


class LeaseDisks:
    """The file systems of one host. `images`: the folder of their files; `points`: the folder where they are mounted.

    All methods block, raise :class:`DiskError`, and may be called from several threads.
    """

    def __init__(self, images: Path, points: Path) -> None:
        self._images = images
        self._points = points
        self._guard = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}

    def try_out(self) -> str:
        """Why file systems cannot be made here; empty where one was made, mounted and removed."""
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
        """Mount the file system of this number, made where it is not there, with this limit; gives where it is.

        A larger limit than before makes it grow; with a smaller one, what is written stays and no more can be.
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
        """Count what the lease has elsewhere against its limit; False where its files leave no room for all of it."""
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

    def lend(self, number: int) -> None:
        """Where a mounted file system is full, leave a little room to a container that starts, until :meth:`settle`."""
        if self.is_full(number):
            with self._turn(str(number)):
                self._set_reserve(self._points / str(number), lent_mib=SPARE_MIB)

    def settle(self, number: int) -> None:
        """Take back what was lent, as far as nothing was written there."""
        with self._turn(str(number)):
            self._set_reserve(self._points / str(number))

    def open(self, number: int) -> Path | None:
        """Mount the file system of this number where it is there, and give where it is."""
        name = str(number)
        if not self._image(name).exists():
            return None
        with self._turn(name):
            return self._mount(name) if self._image(name).exists() else None

    def point(self, number: int) -> Path:
        """Where the file system of this number is mounted when it is."""
        return self._points / str(number)

    def used_bytes(self, number: int) -> int | None:
        """What the files in a mounted file system take, its reserve left out; None where it is not mounted.

        What is written to room that was lent does not count.
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
        """Whether nothing more can be written to a mounted file system."""
        try:
            found = os.statvfs(self._points / str(number))
        except OSError:
            return False
        return found.f_bavail * found.f_frsize < MIB or found.f_favail == 0

    def limit_mib(self, number: int) -> int | None:
        """The limit of a mounted file system; None where it is not mounted."""
        bounds = _bounds(self._points / str(number))
        return None if bounds is None else bounds[0]

    def numbers(self) -> frozenset[int]:
        """All that are there, mounted or not."""
        try:
            names = [path.stem for path in self._images.iterdir() if path.suffix == ".img"]
        except OSError:
            return frozenset()
        return frozenset(int(name) for name in names if name.isdecimal())

    def remove(self, number: int) -> None:
        """Remove a file system with all that is in it. Nothing where it is not there."""
        with self._turn(str(number)):
            self._remove(str(number))

    # --- one file system ----------------------------------------------------------------------------------------------

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
        """Make a file system larger while no container uses it: to do so while it is mounted takes CAP_SYS_RESOURCE.

        Nothing is changed while a mount in another mount namespace holds the file system: the kernel would go on with
        the old size, and write over what was changed.
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
            # Written over in place: a full file system may have no other block to give.
            descriptor = os.open(point / "bounds", os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.pwrite(descriptor, f"{limit_mib:>12} {kept_mib:>12}".encode(), 0)
            finally:
                os.close(descriptor)

    def _set_reserve(self, point: Path, lent_mib: int = 0) -> bool:
        """Whether the reserve is as large as the bounds of the file system want it."""
        bounds = _bounds(point)
        if bounds is None:
            return False
        found = os.statvfs(point)
        room = (found.f_blocks - (found.f_bfree - found.f_bavail)) * found.f_frsize
        wanted = reserve_bytes(room, *bounds) - lent_mib * MIB
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
                except OSError:  # a program in the pod was faster
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
            # Whatever still holds the file system, in another mount namespace for example, does not hold the space.
            os.truncate(image, 0)
            image.unlink()
        (self._images / f"{name}.part").unlink(missing_ok=True)


def remove_tree(folder: Path) -> None:
    """Remove a folder with all that is in it, however deep. Nothing where it is missing."""
    if folder.exists():
        _run("rm", "-rf", "--one-file-system", "--", str(folder))


def copy_tree(source: Path, target: Path) -> None:
    """Copy what is in a folder into another with owners, modes and extended attributes."""
    _run("cp", "-a", "--", f"{source}/.", str(target))


def _bounds(point: Path) -> tuple[int, int] | None:
    """The limit of a mounted file system and what counts against it elsewhere, MiB; None before they are written."""
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
        said = done.stderr[:_MOST_SAID].decode(errors="replace").strip().splitlines()
        raise DiskError(f"{command[0]}: {said[-1] if said else f'exit status {done.returncode}'}")
    return done.stdout.decode(errors="replace")
