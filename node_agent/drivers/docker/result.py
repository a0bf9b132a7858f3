"""Reads a pod's result out of an ended container."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import docker

from node_agent.drivers.docker.spec import LOG_FILE_MIB, MIB
from node_agent.drivers.port import MAX_RESULT_BYTES, Collected
from offchain.adapters.transport.tar_members import BadArchive, MemberKind, Members

LOG_LINE_OVERHEAD = 80
"""Bytes the engine's log file needs for each line beside the line itself, about."""
_NO_WAY = re.compile(r"too many (levels of symbolic )?links|not a directory|file name too long", re.IGNORECASE)
"""What the program left where the folders of its result should be. The engine calls that a fault of its own."""


_SPECIAL = 0x8F280000
"""Type bits of a mode in the engine's answers (Go's os.ModeType): folder, link, device, pipe, socket, irregular."""


def read_output(api: Any, container: str) -> Collected:
    """What the container wrote to standard output, byte for byte."""
    data = bytearray()
    stream = api.logs(container, stdout=True, stderr=False, timestamps=False, stream=True, follow=False)
    for lines, chunk in enumerate(stream, start=1):
        data += chunk
        # The engine drops the oldest output when its log is full; a result cut off at its start must not pass as one.
        if len(data) > MAX_RESULT_BYTES or len(data) + lines * LOG_LINE_OVERHEAD > LOG_FILE_MIB * MIB:
            stream.close()
            return _too_large(f"standard output is more than the {MAX_RESULT_BYTES} bytes a result may have")
    return Collected(bytes(data))


def read_file(api: Any, container: str, path: str) -> Collected:
    """One regular file from the container's file system.

    The pod decides what is at the path: everything but a regular file of at most MAX_RESULT_BYTES is a failure of the
    program, told in the note. At most that many bytes are read, whatever the file does meanwhile.
    """
    try:
        stream, stat = api.get_archive(container, path)
    except docker.errors.NotFound as error:
        if "No such container" in str(error):
            raise
        return Collected(b"", f"the program left no file {path}")
    except docker.errors.APIError as error:
        if _NO_WAY.search(str(error)) is None:
            raise
        return Collected(b"", f"the program left no way to a file {path}")
    try:
        if int(stat.get("mode", 0)) & _SPECIAL:
            return Collected(b"", f"{path} is not a regular file")
        if int(stat.get("size", 0)) > MAX_RESULT_BYTES:
            return _too_large(f"{path} has {stat['size']} bytes, more than the {MAX_RESULT_BYTES} a result may have")
        return _only_file(_Reader(stream), path)
    finally:
        stream.close()


def _only_file(archive: _Reader, path: str) -> Collected:
    members = Members(archive)
    try:
        member = next(iter(members))
    except BadArchive:  # the type of a device or a pipe, or nothing: an archive holds no sockets
        return Collected(b"", f"{path} is not a regular file")
    if member.kind is not MemberKind.FILE:
        return Collected(b"", f"{path} is not a regular file")
    if member.size > MAX_RESULT_BYTES:
        return _too_large(f"{path} has {member.size} bytes, more than the {MAX_RESULT_BYTES} a result may have")
    try:
        return Collected(b"".join(members.content(member)))
    except BadArchive:
        return Collected(b"", f"{path} became shorter while it was read")


def _too_large(note: str) -> Collected:
    return Collected(b"", note, too_large=True)


class _Reader(io.RawIOBase):
    """A chunked download as a readable file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        super().__init__()
        self._chunks = iter(chunks)
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        while size < 0 or len(self._rest) < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            self._rest += chunk
        taken, self._rest = (self._rest, b"") if size < 0 else (self._rest[:size], self._rest[size:])
        return taken
