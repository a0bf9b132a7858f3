"""Uploads of tenants into pods: kept on disk until complete, and for a while after an interruption."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from offchain.adapters.transport.port import refused
from offchain.schema.protocol.messages import Code

CHUNK: Final = 1 << 20
KEEP_S: Final = 3600.0
"""Time for which an interrupted upload is kept."""
MAX_UPLOAD: Final = 64 << 30
MAX_PER_LEASE: Final = 4
LEAVE_FREE: Final = 2 << 30
"""Bytes of the agent's disk that uploads never use."""


@dataclass(slots=True)
class Upload:
    """An open upload. Its methods access the disk: call them in a thread."""

    path: Path
    file: IO[bytes]
    size: int
    digest: Any

    @property
    def held(self) -> int:
        """Number of bytes that have arrived."""
        return self.file.tell()

    def add(self, data: bytes) -> None:
        self.file.write(data)
        self.digest.update(data)

    def close(self) -> None:
        """Keep the bytes that have arrived."""
        self.file.close()

    def remove(self) -> None:
        """Delete a completed or useless upload."""
        self.file.close()
        self.path.unlink(missing_ok=True)


class UploadFolder:
    """Folder of uploads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: set[str] = set()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def begin(self, lease: int, account: str, name: str, size: int, *, fresh: bool) -> Upload:
        """Open an upload; an interrupted one continues unless `fresh`. Raises HostRefused. Accesses the disk."""
        self.tidy(time.time())
        owner = hashlib.sha256(account.encode()).hexdigest()[:16]
        stem = f"{lease}-{owner}-{name}"
        if stem in self._open:
            raise refused(Code.BUSY, "This upload is in progress already.", "Wait for it, or end it.")
        unfinished = sum(1 for other in self._folder.glob(f"{lease}-*.part") if other.stem != stem)
        if unfinished >= MAX_PER_LEASE:
            raise refused(Code.BUSY, f"{unfinished} uploads into this pod are not done.", "Finish one of them first.")
        path = self._folder / f"{stem}.part"
        held = path.stat().st_size if path.exists() and not fresh else 0
        if held > size:
            held, fresh = 0, True
        free = shutil.disk_usage(self._folder).free - LEAVE_FREE
        if size > MAX_UPLOAD or size - held > free:
            raise refused(
                Code.TOO_LARGE,
                f"{size} bytes are more than this host takes at once ({max(min(free, MAX_UPLOAD), 0)}).",
                "Copy less at a time, or fetch it from inside the pod.",
            )
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | (os.O_TRUNC if fresh or not held else 0)
        file = os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0)
        digest = hashlib.sha256()
        while data := file.read(CHUNK):
            digest.update(data)
        self._open.add(stem)
        return Upload(path, file, size, digest)

    def done(self, upload: Upload) -> None:
        """Note that no connection has this upload open any more."""
        self._open.discard(upload.path.stem)

    def tidy(self, now_s: float) -> None:
        """Remove uploads that were interrupted long ago."""
        for path in self._folder.glob("*.part"):
            try:
                old = now_s - path.stat().st_mtime > KEEP_S
            except FileNotFoundError:
                continue
            if old and path.stem not in self._open:
                path.unlink(missing_ok=True)

    def forget_lease(self, lease: int) -> None:
        """Remove the uploads of this lease."""
        for path in self._folder.glob(f"{lease}-*.part"):
            path.unlink(missing_ok=True)


async def pieces(path: Path) -> AsyncIterator[bytes]:
    """Yield the content of a file."""
    with path.open("rb") as file:
        while data := await asyncio.to_thread(file.read, CHUNK):
            yield data
