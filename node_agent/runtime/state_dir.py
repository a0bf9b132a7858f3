"""The agent's folder: key, database, results by digest, logs. Readable by its owner only."""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path

from node_agent.checkpoints.store import CheckpointStore
from node_agent.core.states import Pod
from node_agent.logs.store import LogStore
from node_agent.runtime.codec import CodecError, dumps, loads
from node_agent.runtime.delivered_files import FileStore
from offchain.adapters.keys.signer import Ed25519Signer, load_host_key, new_host_key
from offchain.adapters.outbox.store import Store
from offchain.errors import OurError, StoreCorrupt
from offchain.files import replace_file

HOST_KEY = "host.key"
_TABLES = [
    "CREATE TABLE pods (lease INTEGER PRIMARY KEY, pod TEXT NOT NULL) STRICT",
    # Lease numbers have another format since; live leases are read from the chain.
    "DELETE FROM pods",
    # Pods have several containers since; running ones are found by their labels.
    "DELETE FROM pods",
]
KEEP_S = 30 * 24 * 3600
"""Results and logs are kept for this time after the task."""


class StateDir:
    """Folder of one agent. Only one process at a time may open it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            for folder in (path, path / "blobs", path / "logs"):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.chmod(0o700)
            self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise OurError(
                f"The agent's folder {path} cannot be used: {error.strerror}.", "Choose another one with --state."
            ) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise OurError(
                f"Another agent is running with the folder {path}.", "Stop it, or choose another --state folder."
            ) from None
        try:
            self.files = FileStore(path)
        except PermissionError as error:
            os.close(self._lock)
            raise OurError(str(error)) from None
        self.logs = LogStore(path / "logs")
        self.store = Store(path / "agent.db")
        self.store.migrate("agent", _TABLES)
        self.checkpoints = CheckpointStore(path / "checkpoints", self.store)

    def close(self) -> None:
        """Release the folder."""
        self.store.close()
        os.close(self._lock)

    def host_key(self) -> Ed25519Signer:
        """Return the host's key; it is made on first use."""
        path = self.path / HOST_KEY
        return load_host_key(path) if path.exists() else new_host_key(path)

    def load_pods(self) -> dict[int, Pod]:
        """Return the stored pods."""
        try:
            return {row["lease"]: loads(Pod, row["pod"]) for row in self.store.all("SELECT lease, pod FROM pods")}
        except CodecError as error:
            raise StoreCorrupt(
                f"The database {self.path / 'agent.db'} holds a pod that cannot be read: {error}.",
                "Use the release that wrote it, or move the file away: running containers are then found again.",
            ) from None

    def save_pods(self, changed: dict[int, Pod | None]) -> None:
        """Store these pods; None deletes. They are on disk when this returns."""
        with self.store.transaction():
            for number, pod in changed.items():
                if pod is None:
                    self.store.run("DELETE FROM pods WHERE lease = ?", number)
                else:
                    self.store.run("INSERT OR REPLACE INTO pods VALUES (?, ?)", number, dumps(pod))

    def put_blob(self, data: bytes) -> bytes:
        """Store these bytes and return their SHA-256. They are on disk when this returns."""
        digest = hashlib.sha256(data).digest()
        target = self.path / "blobs" / digest.hex()
        replace_file(target, data)
        return digest

    def get_blob(self, digest: bytes) -> bytes | None:
        """Return the bytes with this SHA-256; None if they are not here or were altered."""
        try:
            data = (self.path / "blobs" / digest.hex()).read_bytes()
        except FileNotFoundError:
            return None
        return data if hashlib.sha256(data).digest() == digest else None

    def tidy(self, now_s: float) -> int:
        """Remove results and logs that are older than :data:`KEEP_S` and return their number."""
        removed = 0
        for folder in ("blobs", "logs"):
            for file in (self.path / folder).iterdir():
                if now_s - file.stat().st_mtime > KEEP_S:
                    file.unlink(missing_ok=True)
                    removed += 1
        return removed
