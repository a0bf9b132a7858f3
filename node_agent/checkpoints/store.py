"""Store of checkpoints: files by SHA-256 in a closed folder, and a table of their pods."""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import shutil
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import BinaryIO

from node_agent.core.checkpoints import CheckpointFile, PodKey, ReportedCheckpoint
from offchain.adapters.outbox.store import Store
from offchain.adapters.transport.tar_files import CHUNK, BadArchive, check
from offchain.files import sync_folder

LEAVE_FREE_BYTES = 2 << 30
"""Bytes of the disk that checkpoints never use."""
_TABLE = """
CREATE TABLE checkpoints (
    task INTEGER NOT NULL, pod INTEGER NOT NULL, digest BLOB NOT NULL, size INTEGER NOT NULL,
    saved_at_ms INTEGER NOT NULL, lease INTEGER, PRIMARY KEY (task, pod, digest)
) STRICT"""


class FolderTooLarge(Exception):  # noqa: N818  (named for the fact, as the agent's other errors)
    """A folder has more than the `most_bytes` of its task's disk."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(f"it has more than the {most_bytes} bytes that may be kept of it")
        self.most_bytes = most_bytes


class NoDiskSpace(Exception):  # noqa: N818
    """A folder has more bytes than are free on this host."""


class CheckpointStore:
    """Files of one agent. A file is complete, checked and on disk before the table names it."""

    def __init__(self, folder: Path, store: Store) -> None:
        self._folder = folder
        self._store = store
        store.migrate("checkpoints", [_TABLE])
        folder.mkdir(mode=0o700, exist_ok=True)
        named = {self.path(one).name for one in self.all()}
        for file in folder.iterdir():
            if file.name not in named:  # the agent ended during the write
                file.unlink(missing_ok=True)

    def all(self) -> tuple[CheckpointFile, ...]:
        """Return the checkpoints of all pods."""
        rows = self._store.all("SELECT task, pod, digest, size, saved_at_ms, lease FROM checkpoints")
        return tuple(CheckpointFile(*row) for row in rows)

    def find(self, key: PodKey, digest: bytes) -> CheckpointFile | None:
        """Return the file of a pod with this SHA-256."""
        return next((one for one in self.all() if one.key == key and one.digest == digest), None)

    def path(self, kept: CheckpointFile) -> Path:
        return self._folder / f"{kept.digest.hex()}.tar"

    def room(self) -> int:
        """Return the number of bytes that may be added."""
        return max(0, shutil.disk_usage(self._folder).free - LEAVE_FREE_BYTES)

    async def save(
        self, pieces: AsyncGenerator[bytes, None], key: PodKey, lease: int, root: str, *, most_bytes: int, at_ms: int
    ) -> CheckpointFile:
        """Store a folder of a pod of this host. `root`: the folder's own name.

        Raises FolderTooLarge, NoDiskSpace, BadArchive, OSError.
        """
        part = self._folder / f"{secrets.token_hex(8)}.part"
        digest, size = hashlib.sha256(), 0
        room = self.room()
        try:
            with _new(part) as file:
                async with aclosing(pieces):
                    async for piece in pieces:
                        size += len(piece)
                        _check_size(size, most_bytes, room)
                        digest.update(piece)
                        await asyncio.to_thread(file.write, piece)
                await asyncio.to_thread(_flush, file)
            await asyncio.to_thread(_check, part, root)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        return self._named(part, CheckpointFile(*key, digest.digest(), size, at_ms, lease))

    def part(self, key: PodKey) -> Path:
        """Return the path of a file during its fetch; the rest of another one there is replaced."""
        return self._folder / f"{key[0]}-{key[1]}.part"

    async def take(self, part: Path, key: PodKey, known: ReportedCheckpoint, root: str) -> CheckpointFile:
        """Store a fetched file. Raises BadArchive, and removes it, if it differs from the chain."""
        try:
            await asyncio.to_thread(_verify, part, known)
            await asyncio.to_thread(_check, part, root)
        except BadArchive:
            await asyncio.to_thread(part.unlink)
            raise
        return self._named(part, CheckpointFile(*key, known.digest, known.size, known.at_ms, None))

    def remove(self, kept: CheckpointFile) -> None:
        """Forget a checkpoint, and delete the file unless another pod has the same one."""
        self._store.run(
            "DELETE FROM checkpoints WHERE task = ? AND pod = ? AND digest = ?", kept.task, kept.pod, kept.digest
        )
        if all(one.digest != kept.digest for one in self.all()):
            self.path(kept).unlink(missing_ok=True)

    def _named(self, part: Path, kept: CheckpointFile) -> CheckpointFile:
        part.replace(self.path(kept))
        sync_folder(self._folder)
        self._store.run(
            "INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?, ?)",
            *(kept.task, kept.pod, kept.digest, kept.size, kept.saved_at_ms, kept.lease),
        )
        return kept


def _check_size(size: int, most_bytes: int, room: int) -> None:
    if size > most_bytes:
        raise FolderTooLarge(most_bytes)
    if size > room:
        raise NoDiskSpace(f"there is room for {room} bytes")


def _new(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb")


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _check(path: Path, root: str) -> None:
    with path.open("rb") as file:
        check(file, most_bytes=path.stat().st_size, root=root)


def _verify(path: Path, known: ReportedCheckpoint) -> None:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while data := file.read(CHUNK):
            digest.update(data)
            size += len(data)
        os.fsync(file.fileno())
    if digest.digest() != known.digest or size != known.size:
        raise BadArchive(f"{size} bytes with SHA-256 {digest.hexdigest()} are not what the chain says", "Try again.")
