"""Files as a tar stream. Archives from pods are not trusted.

Files, folders and symbolic links are copied, without owners. The same files give the same bytes, so that an interrupted
copy can be resumed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import stat
import tarfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final

from offchain.adapters.transport.tar_members import BLOCK, CHUNK, MAX_ENTRIES, BadArchive, Member, MemberKind, Members
from offchain.errors import OurError

__all__ = ["CHUNK", "MAX_DEPTH", "MAX_ENTRIES", "BadArchive", "Packing", "check", "pack", "plan", "unpack"]

MAX_DEPTH: Final = 64
COPY_INSIDE: Final = "Name another folder, and copy between the two from inside the pod (gantry exec)."
"""Hint where files cannot be copied into a mount of a pod."""
_END: Final = bytes(2 * BLOCK)
_PERMISSIONS: Final = 0o777


@dataclass(frozen=True, slots=True)
class PackedFile:
    """A file, folder or link with its encoded header. `size` in bytes, 0 except for files."""

    header: bytes
    source: Path | None
    size: int


@dataclass(frozen=True, slots=True)
class Packing:
    """Files to be packed. `size`: bytes of the whole stream. `identity`: hash of paths, sizes and times."""

    entries: tuple[PackedFile, ...]
    size: int
    identity: bytes
    skipped: tuple[str, ...]
    """Sockets, devices and other special files."""


def plan(source: Path, name: str) -> Packing:
    """List a file or folder that is to be packed as `name`. Raises OurError where it cannot be read."""
    entries, skipped = [], []
    try:
        for path, inside in _walk(source, PurePosixPath(name)):
            info = _info(path, str(inside))
            if info is None:
                skipped.append(str(path))
                continue
            entries.append(PackedFile(info.tobuf(tarfile.PAX_FORMAT), path if info.isreg() else None, info.size))
            if len(entries) > MAX_ENTRIES:
                raise OurError(f"{source} holds more than {MAX_ENTRIES} files.", "Pack them into one archive first.")
    except OSError as error:
        raise OurError(f"{error.filename or source} cannot be read: {error.strerror}.", "Check the path.") from None
    if not entries:
        raise OurError(f"{source} is neither a file nor a folder.", "Copy a file or a folder.")
    size = sum(len(entry.header) + _padded(entry.size) for entry in entries) + len(_END)
    identity = hashlib.sha256(b"".join(hashlib.sha256(entry.header).digest() for entry in entries)).digest()
    return Packing(tuple(entries), size, identity, tuple(skipped))


def pack(packing: Packing) -> Iterator[bytes]:
    """Yield the stream. Raises OurError where a file has changed since :func:`plan`."""
    for entry in packing.entries:
        yield entry.header
        if entry.source is not None:
            yield from _content(entry.source, entry.size)
            yield bytes(_padded(entry.size) - entry.size)
    yield _END


def check(archive: IO[bytes], *, most_bytes: int, root: str | None = None, closed: Collection[str] = ()) -> None:
    """Read a whole archive, and raise :class:`BadArchive` if a member must not be unpacked.

    `root`: name of the single file or folder that it may hold; no link in it may lead out of that. `closed`: paths,
    relative to the target, below which nothing may be unpacked.
    """
    total = 0
    links: set[str] = set()
    for member in Members(archive):
        path = PurePosixPath(_safe_path(member))
        if root is not None:
            _check_link(member)
            if path.parts[0] != root or not links.isdisjoint(map(str, path.parents)):
                raise BadArchive(f"the archive holds {member.name[:200]!r}, which is not in {root!r}", "Try again.")
            if member.kind is MemberKind.LINK:
                links.add(str(path))
        if closed and any(path.is_relative_to(one) for one in closed):
            raise BadArchive(f"{member.name[:200]!r} would be unpacked below a mount of the pod", COPY_INSIDE)
        total += member.size
        if total > most_bytes:
            raise BadArchive(f"the archive holds more than {most_bytes} bytes", "Copy less.")


def unpack(archive: IO[bytes], target: Path) -> int:
    """Unpack the one file or folder of the archive as `target`, which must not be a folder; return the bytes written.

    It is unpacked beside the target and moved there when it is complete; an existing file is replaced. No archive can
    make it write elsewhere. Raises :class:`BadArchive`, OurError.
    """
    work = target.parent / f".{target.name}.{secrets.token_hex(4)}.part"
    try:
        work.mkdir(mode=0o700)
        written = _unpack_into(archive, work)
        made = list(work.iterdir())
        if len(made) != 1:
            raise BadArchive(f"the archive holds {len(made)} things instead of one", "Try again.")
        if target.is_dir() and not target.is_symlink():
            raise OurError(f"{target} is a folder.", "Choose another name, or remove it first.")
        if made[0].is_dir() and not made[0].is_symlink():
            mode = stat.S_IMODE(made[0].stat().st_mode)
            made[0].chmod(0o700)
            made[0].replace(target)
            target.chmod(mode)
        else:
            made[0].replace(target)
    except OSError as error:
        raise OurError(f"{target} cannot be written: {error.strerror}.", "Choose another place.") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return written


def _unpack_into(archive: IO[bytes], work: Path) -> int:
    # Names and not paths: there may be a million of them.
    links: list[tuple[str, str]] = []
    modes: list[tuple[str, int]] = []
    written = 0
    members = Members(archive)
    for member in members:
        path = work / _safe_path(member)
        _check_link(member)
        if member.kind is MemberKind.FOLDER:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            modes.append((member.name, member.mode & _PERMISSIONS | 0o700))
            continue
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if member.kind is MemberKind.LINK:
            # Created last: nothing can be written through a link that does not exist yet.
            links.append((member.name, member.target))
            continue
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        with os.fdopen(os.open(path, flags, member.mode & _PERMISSIONS | 0o600), "wb") as file:
            for data in members.content(member):
                file.write(data)
            written += member.size
        with contextlib.suppress(OverflowError):  # a time outside of the range of files is ignored
            os.utime(path, (member.mtime, member.mtime))
    for name, mode in modes:
        (work / name).chmod(mode)
    for name, link in links:
        with contextlib.suppress(FileExistsError):
            (work / name).symlink_to(link)
    return written


def _safe_path(member: Member) -> str:
    """Return the path of a member; raise BadArchive where it is absolute, too deep or leads outside."""
    path = PurePosixPath(member.name)
    shown = repr(member.name[:200])
    if path.is_absolute() or ".." in path.parts or "\0" in member.name or not path.parts:
        raise BadArchive(f"the archive holds {shown}, which leads outside", "Do not trust where it comes from.")
    if len(path.parts) > MAX_DEPTH:
        raise BadArchive(f"the archive holds {shown}, more than {MAX_DEPTH} folders deep", "Pack it first.")
    if member.kind is MemberKind.LINK:
        link = PurePosixPath(member.target)
        depth = len(path.parts) - 1
        for part in link.parts:
            depth += -1 if part == ".." else 1
            if depth < 0:
                break
        if link.is_absolute() or depth < 0 or "\0" in member.target or not member.target:
            raise BadArchive(
                f"the archive holds the link {shown} to {member.target[:200]!r}, which leads outside",
                "Copy what it points to, or pack the folder into one file first.",
            )
    return member.name


def _check_link(member: Member) -> None:
    """Raise BadArchive unless a link stays inside the copied folder, wherever other links of the archive lead.

    All `..` of its target have to come first: the folders above a link are real, a name below may be a link again.
    """
    if member.kind is not MemberKind.LINK:
        return
    parts = PurePosixPath(member.target).parts
    up = next((place for place, part in enumerate(parts) if part != ".."), len(parts))
    if up > len(PurePosixPath(member.name).parts) - 2 or ".." in parts[up:]:
        raise BadArchive(
            f"the archive holds the link {member.name[:200]!r} to {member.target[:200]!r}, which may lead outside",
            "Copy what it points to, or pack the folder into one file first.",
        )


def _walk(path: Path, inside: PurePosixPath) -> Iterator[tuple[Path, PurePosixPath]]:
    yield path, inside
    if path.is_dir() and not path.is_symlink():
        for child in sorted(path.iterdir()):
            yield from _walk(child, inside / child.name)


def _info(path: Path, name: str) -> tarfile.TarInfo | None:
    found = path.lstat()
    info = tarfile.TarInfo(name)
    info.mode = stat.S_IMODE(found.st_mode) & _PERMISSIONS
    info.mtime = int(found.st_mtime)
    if stat.S_ISREG(found.st_mode):
        info.size = found.st_size
    elif stat.S_ISDIR(found.st_mode):
        info.type = tarfile.DIRTYPE
    elif stat.S_ISLNK(found.st_mode):
        info.type, info.linkname = tarfile.SYMTYPE, str(path.readlink())
    else:
        return None
    return info


def _content(path: Path, size: int) -> Iterator[bytes]:
    left = size
    try:
        with path.open("rb") as file:
            while left:
                data = file.read(min(left, CHUNK))
                if not data:
                    raise OurError(f"{path} became shorter while it was copied.", "Copy it again.")
                left -= len(data)
                yield data
    except OSError as error:
        raise OurError(f"{path} cannot be read: {error.strerror}.", "Check its permissions.") from None


def _padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK
