"""Copies of files to and from pods. An interrupted copy is resumed if the part before is still the same."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from offchain.adapters.transport import tar_files
from offchain.adapters.transport.host_client import decoded, finished
from offchain.adapters.transport.port import HostMisbehaved, HostRefused, HostUnreachable
from offchain.adapters.transport.session import Session
from offchain.adapters.transport.tar_files import CHUNK, Packing
from offchain.errors import OurError
from offchain.schema.protocol.messages import Answer, Code, Control
from offchain.schema.protocol.mux import CONTROL, MAIN
from offchain.schema.protocol.operations import CheckpointArgs, GetArgs, ImageArgs, PutArgs

if TYPE_CHECKING:
    from offchain.adapters.transport.host_client import HostClient

TRIES: Final = 5
"""Attempts in a row without a byte of progress."""
PAUSE_S: Final = 1.0

Progress = Callable[[int, int | None], None]
"""(bytes so far, total bytes where known)"""
_Ask = Callable[[int, str | None], Awaitable[tuple[Session, Answer]]]
"""(offset, SHA-256 of the bytes before it): requests the rest."""


async def get(client: HostClient, lease: int, path: str, service: str | None, part: Path, report: Progress) -> None:
    """Fetch a file or folder of a pod as a tar stream into the file `part`, from where an earlier attempt ended.

    Raises HostRefused, HostUnreachable (the bytes so far stay in `part`), :class:`HostMisbehaved`.
    """
    await _get(lambda offset, before: client.get(lease, GetArgs(path, service, offset, before)), path, part, report)


async def get_image(client: HostClient, lease: int, name: str, part: Path, report: Progress) -> None:
    """Fetch a snapshot of a rental as an image archive, as :func:`get`."""
    await _get(lambda offset, before: client.image(lease, ImageArgs(name, offset, before)), name, part, report)


async def get_checkpoint(client: HostClient, lease: int, file: bytes, size: int, part: Path) -> None:
    """Fetch a saved folder of a pod by its SHA-256, as :func:`get`. More than `size` bytes raise HostMisbehaved."""

    def within(got: int, _: int | None) -> None:
        if got > size:
            _remove(part)
            raise HostMisbehaved(f"the host sent more than the {size} bytes that the chain says")

    def ask(offset: int, before: str | None) -> Awaitable[tuple[Session, Answer]]:
        return client.checkpoint(lease, CheckpointArgs(file.hex(), offset, before))

    await _get(ask, f"checkpoint {file.hex()}", part, within)


async def _get(ask: _Ask, what: str, part: Path, report: Progress) -> None:
    tries = 0
    while True:
        start = _size(part)
        try:
            return await _get_once(ask, what, part, report)
        except HostRefused as no:
            if no.refusal.code is not Code.CHANGED or not start:
                raise
            _remove(part)  # the file has changed: start again
        except HostUnreachable:
            tries = 1 if _size(part) > start else tries + 1
            if tries >= TRIES:
                raise
            await asyncio.sleep(PAUSE_S)


async def _get_once(ask: _Ask, what: str, part: Path, report: Progress) -> None:
    digest, offset = await asyncio.to_thread(_hash_file, part)
    before = digest.hexdigest() if offset else None
    session, _ = await ask(offset, before)
    said: Control | None = None
    try:
        session.end()
        with _private(part) as file:
            while (piece := await session.read()) is not None:
                channel, data = piece
                if channel == CONTROL:
                    said = decoded(data)
                elif channel == MAIN:
                    digest.update(data)
                    file.write(data)
                    offset += len(data)
                    report(offset, None)
    finally:
        session.drop()
    if said is None or said.digest != digest.digest() or said.size != offset:
        _remove(part)
        raise HostMisbehaved(f"what arrived of {what} is not what the host read. Copy it again.")


async def put(
    client: HostClient, lease: int, folder: str, service: str | None, packing: Packing, report: Progress
) -> None:
    """Send packed files into a folder of a pod, from where an earlier attempt ended.

    Raises HostRefused, HostUnreachable (the host keeps the bytes so far for a while), HostMisbehaved, OurError.
    """
    seed = repr((lease, folder, service)).encode() + packing.identity
    upload = hashlib.sha256(seed).hexdigest()[:32]
    tries, most, fresh = 0, -1, False
    while True:
        try:
            session, answer = await client.put(lease, PutArgs(folder, upload, packing.size, service, fresh))
            held = answer.held or 0
            tries, most = (0, held) if held > most else (tries, most)
            if await _put_once(session, packing, held, answer.digest, report):
                return
            fresh = True
        except HostUnreachable:
            tries += 1
            if tries >= TRIES:
                raise
            await asyncio.sleep(PAUSE_S)


async def _put_once(session: Session, packing: Packing, held: int, before: bytes | None, report: Progress) -> bool:
    """Send the rest; False where the host has the beginning of something else."""
    stream = _Stream(packing)
    try:
        if held and await asyncio.to_thread(stream.skip, held) != before:
            return False
        while data := await asyncio.to_thread(stream.next):
            await session.write(data)
            report(stream.at, packing.size)
        await session.say(Control(size=stream.at, digest=stream.digest.digest()))
        session.end()
        await finished(session)
    finally:
        session.drop()
    return True


class _Stream:
    """The packed bytes in large pieces, with the digest of the bytes so far."""

    def __init__(self, packing: Packing) -> None:
        self._pieces: Iterator[bytes] = tar_files.pack(packing)
        self._rest = b""
        self.digest: Any = hashlib.sha256()
        self.at = 0

    def skip(self, size: int) -> bytes:
        """Skip `size` bytes; return their SHA-256."""
        while self.at < size:
            data = self._rest or next(self._pieces, b"")
            if not data:
                break
            used = data[: size - self.at]
            self._rest = data[len(used) :]
            self._count(used)
        return bytes(self.digest.digest())

    def next(self) -> bytes:
        """The next bytes; empty at the end."""
        gathered = [self._rest]
        size = len(self._rest)
        self._rest = b""
        while size < CHUNK // 2 and (piece := next(self._pieces, None)) is not None:
            gathered.append(piece)
            size += len(piece)
        data = b"".join(gathered)
        self._count(data)
        return data

    def _count(self, data: bytes) -> None:
        self.digest.update(data)
        self.at += len(data)


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _remove(part: Path) -> None:
    part.unlink(missing_ok=True)


def _hash_file(path: Path) -> tuple[Any, int]:
    digest, size = hashlib.sha256(), 0
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        while data := file.read(CHUNK):
            digest.update(data)
            size += len(data)
    return digest, size


def _private(part: Path) -> Any:
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise OurError(f"{part} cannot be written: {error.strerror}.", "Choose another place.") from None
    return os.fdopen(handle, "ab", buffering=0)
