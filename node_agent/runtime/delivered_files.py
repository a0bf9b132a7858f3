"""Files that tenants deliver to their pods: kept until the pod is removed, not readable by other users.

Secrets are kept in a memory file system if there is one, inputs on disk. Only the agent's user may enter the folders; a
container sees its own files, each mounted separately.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import threading
from pathlib import Path

from node_agent.core.values import SSH_KEYS, PodSpec
from node_agent.images.logins import parse_login
from offchain.files import replace_file
from offchain.schema.manifest.types import DeliveredFile

MAX_SECRET_BYTES = 1 << 20
MAX_INPUT_BYTES = 256 << 20
_MEMORY = Path("/dev/shm")  # noqa: S108  (a folder of our own in it, which is checked)
_OWNER_ONLY = 0o400
_ALL_IN_CONTAINER = 0o444
"""Other users cannot reach the file, because its folder is closed to them."""
_FOLDER_IN_CONTAINER = 0o755
NOTICE = "notice"
"""File name of the termination notice."""


class FileStore:
    """Delivered files of one agent in folder `path`; implements :class:`node_agent.drivers.port.PodFiles`."""

    def __init__(self, path: Path, memory: Path = _MEMORY) -> None:
        self._inputs = _closed_folder(path / "files")
        self._secrets = secrets_folder(path, memory)
        self._changing = threading.Lock()
        if self._secrets.exists() or self._secrets.is_symlink():
            _closed_folder(self._secrets)

    def put(self, spec: PodSpec, name: str, data: bytes) -> None:
        """Store a file of a pod. Raises ValueError with a message for the tenant if it differs from the manifest."""
        wanted = find_file(spec, name)
        if wanted is None:
            names = ", ".join(sorted(spec.files)) or "none"
            raise ValueError(f'lease {spec.lease} waits for no file "{name}"; it has {names}')
        limit = MAX_SECRET_BYTES if wanted.digest is None else MAX_INPUT_BYTES
        if len(data) > limit:
            raise ValueError(f'"{name}" has {len(data)} bytes; at most {limit} are taken')
        login = spec.registry_login
        if login is not None and name == login.secret:
            try:
                parse_login(data, login.registry)
            except ValueError as error:
                raise ValueError(f'"{name}" is the login at {login.registry}, but {error}') from None
        digest = hashlib.sha256(data).digest()
        if wanted.digest is not None and digest != wanted.digest:
            raise ValueError(f'the SHA-256 of "{name}" is {digest.hex()}, the manifest says {wanted.digest.hex()}')
        with self._changing:
            replace_file(self._folder(spec.lease, secret=wanted.digest is None) / _file_name(name), data)

    def put_keys(self, spec: PodSpec) -> None:
        """Store the SSH keys of a rental."""
        if spec.ssh is not None:
            text = "".join(f"{key}\n" for key in spec.ssh.authorized_keys)
            with self._changing:
                target = self._folder(spec.lease, secret=False) / _file_name(SSH_KEYS)
                replace_file(target, text)
            target.chmod(_ALL_IN_CONTAINER)

    def path(self, lease: int, name: str) -> Path:
        for folder in (self._secrets, self._inputs):
            found = folder / str(lease) / _file_name(name)
            if found.exists():
                return found
        return self._inputs / str(lease) / _file_name(name)

    def allow_reading(self, lease: int, name: str, user: int | None) -> None:
        target = self.path(lease, name)
        alone = user is not None and (user == os.getuid() or os.getuid() == 0)
        if target.stat().st_uid == os.getuid():
            # Before the change of the owner, which may take the right to do it (docker-compose.yml).
            target.chmod(_OWNER_ONLY if alone else _ALL_IN_CONTAINER)
        if alone:
            assert user is not None  # noqa: S101  (said by `alone`)
            os.chown(target, user, -1)

    def notice_folder(self, lease: int) -> Path:
        # Names of delivered files are digests, so none collides with this one.
        folder = self._folder(lease, secret=False) / "notices"
        folder.mkdir(exist_ok=True)
        folder.chmod(_FOLDER_IN_CONTAINER)
        return folder

    def set_notice(self, lease: int, notice: bytes | None) -> None:
        with self._changing:
            target = self.notice_folder(lease) / NOTICE
            if notice is None:
                target.unlink(missing_ok=True)
            else:
                replace_file(target, notice, mode=_ALL_IN_CONTAINER)

    def names(self, spec: PodSpec) -> tuple[str, ...]:
        """Return the pod's files that are delivered."""
        return tuple(name for name in sorted(spec.files) if self.path(spec.lease, name).exists())

    def remove(self, lease: int) -> None:
        """Delete a pod's files, and the folder of secrets with the last one."""
        with self._changing:
            for folder in (self._secrets, self._inputs):
                shutil.rmtree(folder / str(lease), ignore_errors=True)
            with contextlib.suppress(OSError):
                self._secrets.rmdir()

    def leases(self) -> frozenset[int]:
        """Return the leases that have files here."""
        return frozenset(
            int(entry.name)
            for top in (self._secrets, self._inputs)
            if top.exists()
            for entry in top.iterdir()
            if entry.name.isdecimal()
        )

    def _folder(self, lease: int, *, secret: bool) -> Path:
        return _closed_folder(_closed_folder(self._secrets if secret else self._inputs) / str(lease))


def secrets_folder(path: Path, memory: Path = _MEMORY) -> Path:
    """Return the folder of the agent's secrets, which exists while there are any."""
    if not memory.is_dir():
        return path / "secrets"
    return memory / f"gantry-{os.getuid()}-{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]}"


def find_file(spec: PodSpec, name: str) -> DeliveredFile | None:
    """Return the pod's file of this name. The login of a registry has no path, because it is not mounted."""
    if spec.registry_login is not None and name == spec.registry_login.secret:
        return DeliveredFile(name, "", None)
    files = (file for one in spec.containers for file in one.service.files)
    return next((file for file in files if file.name == name), None)


def _file_name(name: str) -> str:
    """Return the file name for a tenant's name, which never becomes a path."""
    return hashlib.sha256(name.encode()).hexdigest()


def _closed_folder(path: Path) -> Path:
    """Create a folder that only this user may enter. Raises PermissionError if it belongs to another user."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise PermissionError(f"{path} belongs to another user. Remove it, then start the agent again.")
    path.chmod(0o700)
    return path
