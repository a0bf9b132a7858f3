"""Members of an untrusted tar stream, with bounds on the cost of each header.

:mod:`tarfile` is not made for such streams: it reads an extended header of any stated length into memory, follows any
number of them recursively, stores every member, and (before 3.11.10) takes time that is quadratic in the length of a
number. Only its decoder of a single header is used here. The formats that Gantry's client and Docker engines write are
accepted: ustar with extended headers of POSIX (pax) for one member. Everything else is refused.
"""

from __future__ import annotations

import math
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from offchain.errors import TheirError

BLOCK: Final = 512
CHUNK: Final = 1 << 20
MAX_HEADER_BYTES: Final = 64 << 10
"""Most bytes of an extended header: two paths of the greatest length, and attributes, take less."""
MAX_ENTRIES: Final = 1_000_000
MAX_NAME_BYTES: Final = 128 << 20
"""Paths of all members and targets of all links together."""
MAX_PATH_BYTES: Final = 4095
MAX_PART_BYTES: Final = 255
"""Longest path and longest name in a path on Linux."""
_MAGIC: Final = slice(257, 265)
_USTAR: Final = b"ustar\x0000"
_MAX_NUMBER: Final = 32
"""Characters of a number in an extended header."""
_SPARSE: Final = "GNU.sparse."


class ByteSource(Protocol):
    """A file or stream that an archive is read from."""

    def read(self, size: int, /) -> bytes:
        """Return `size` bytes, and fewer only at the end."""
        ...


class BadArchive(TheirError):  # noqa: N818
    """An archive that cannot be trusted, or is damaged."""

    code = "bad_archive"


class MemberKind(Enum):
    """Kind of a member."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    """A symbolic link."""


@dataclass(frozen=True, slots=True)
class Member:
    """An entry of an archive. `size`: bytes of content, 0 except for files. `target`: of a symbolic link."""

    name: str
    kind: MemberKind
    size: int
    mode: int
    mtime: float
    target: str


class Members:
    """Reader of an archive from its beginning to its end. Raises :class:`BadArchive`."""

    def __init__(self, archive: ByteSource) -> None:
        self._archive = archive
        self._unread = 0
        """Bytes of the current member that were not read yet, with their padding."""

    def __iter__(self) -> Iterator[Member]:
        """Yield each member; content that was not read is skipped."""
        count = name_bytes = 0
        while (member := self._next()) is not None:
            count += 1
            name_bytes += _path_bytes(member.name) + _path_bytes(member.target)
            if count > MAX_ENTRIES or name_bytes > MAX_NAME_BYTES:
                raise BadArchive(
                    f"the archive holds more than {MAX_ENTRIES} files or {MAX_NAME_BYTES >> 20} MiB of names",
                    "Copy less at a time, or pack the folder into one file first.",
                )
            self._unread = _padded(member.size)
            yield member
            while self._unread:
                self._unread -= len(self._exactly(min(self._unread, CHUNK)))
        if not count:
            raise BadArchive("the archive is empty", "Try again.")

    def content(self, member: Member) -> Iterator[bytes]:
        """Yield the content of the last member of the iteration."""
        left = member.size
        while left:
            data = self._exactly(min(left, CHUNK))
            left -= len(data)
            self._unread -= len(data)
            yield data

    def _next(self) -> Member | None:
        header = self._header()
        if header is None or header.type != tarfile.XHDTYPE:
            return None if header is None else _member(header)
        if not 0 < header.size <= MAX_HEADER_BYTES:
            raise BadArchive(
                f"the archive has a header of {header.size} bytes; at most {MAX_HEADER_BYTES} are accepted",
                "Pack the folder into one file first.",
            )
        records = _records(self._exactly(_padded(header.size))[: header.size])
        following = self._header()
        if following is None or following.type == tarfile.XHDTYPE:
            raise BadArchive("the archive is damaged: no file follows a header", "Try again.")
        return _patched(_member(following), records)

    def _header(self) -> tarfile.TarInfo | None:
        block = self._archive.read(BLOCK)
        if not block or (len(block) == BLOCK and not any(block)):
            return None
        if len(block) < BLOCK:
            raise BadArchive("the archive is damaged: it ends within a header", "Try again.")
        if block[_MAGIC] != _USTAR:
            raise BadArchive("the archive is damaged, or of a format other than ustar and pax", "Try again.")
        try:
            header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except (tarfile.TarError, ValueError) as error:
            raise BadArchive(f"the archive is damaged: {error}", "Try again.") from None
        if header.size < 0:
            raise BadArchive("the archive is damaged: a size is negative", "Try again.")
        return header

    def _exactly(self, size: int) -> bytes:
        data = self._archive.read(size)
        if len(data) < size:
            raise BadArchive("the archive is damaged: it ends within a file", "Try again.")
        return data


_KINDS: Final = {
    tarfile.REGTYPE: MemberKind.FILE,
    tarfile.AREGTYPE: MemberKind.FILE,
    tarfile.DIRTYPE: MemberKind.FOLDER,
    tarfile.SYMTYPE: MemberKind.LINK,
}


def _member(header: tarfile.TarInfo) -> Member:
    kind = _KINDS.get(header.type)
    if kind is None:
        raise _wrong_kind(header.name)
    size = header.size if kind is MemberKind.FILE else 0
    return Member(
        header.name, kind, size, header.mode, header.mtime, header.linkname if kind is MemberKind.LINK else ""
    )


def _wrong_kind(name: str) -> BadArchive:
    return BadArchive(
        f"the archive holds {name[:200]!r}, which is neither a file nor a folder nor a link",
        "Hard links, devices, sockets and sparse files are not copied: pack the folder into one file first.",
    )


def _records(data: bytes) -> dict[str, str]:
    """Records of an extended header: each is its own length in decimal, a space, name=value and a line feed."""
    records = {}
    place = 0
    while place < len(data):
        digits, space, _ = data[place : place + 8].partition(b" ")
        length = int(digits) if digits.isdigit() else 0
        record = data[place : place + length]
        if not space or length <= len(digits) + 1 or len(record) < length or record[-1:] != b"\n":
            raise BadArchive("the archive is damaged: a header is malformed", "Try again.")
        name, _, value = record[len(digits) + 1 : -1].decode("utf-8", "surrogateescape").partition("=")
        records[name] = value
        place += length
    return records


def _patched(member: Member, records: dict[str, str]) -> Member:
    """The member with the values of its extended header; an empty value leaves that of the plain header."""
    if any(name.startswith(_SPARSE) for name in records):
        raise _wrong_kind(member.name)
    name, target = records.get("path") or member.name, records.get("linkpath") or member.target
    size, mtime = member.size, member.mtime
    if member.kind is MemberKind.FILE and (said := records.get("size")):
        if not (said.isascii() and said.isdigit() and len(said) <= _MAX_NUMBER):
            raise BadArchive(f"the archive is damaged: {said[:_MAX_NUMBER]!r} is no size", "Try again.")
        size = int(said)
    if said := records.get("mtime"):
        mtime = _time(said)
    return Member(name, member.kind, size, member.mode, mtime, target if member.kind is MemberKind.LINK else "")


def _time(said: str) -> float:
    """Seconds; 0 where the text is not a number."""
    try:
        found = float(said[:_MAX_NUMBER])
    except ValueError:
        return 0.0
    return found if math.isfinite(found) else 0.0


def _path_bytes(path: str) -> int:
    encoded = path.encode(errors="surrogateescape")
    if len(encoded) > MAX_PATH_BYTES or any(len(part) > MAX_PART_BYTES for part in encoded.split(b"/")):
        raise BadArchive(
            f"the archive holds {path[:200]!r}, longer than {MAX_PATH_BYTES} bytes or {MAX_PART_BYTES} in a part",
            "Choose shorter names.",
        )
    return len(encoded)


def _padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK
