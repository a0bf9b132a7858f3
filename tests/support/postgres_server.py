"""A PostgreSQL server of a test's own: on a socket in a folder of its own, run by an unprivileged user."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

_USER = "postgres"


def programs() -> Path | None:
    """The folder with initdb and postgres, the newest there is."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    named = shutil.which("initdb")
    return Path(named).parent if named else None


def _as_user(command: Sequence[str]) -> list[str]:
    """PostgreSQL does not run as root."""
    if os.getuid() != 0:
        return list(command)
    return ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups", "--", *command]


class Server:
    """A running server."""

    def __init__(self, folder: Path, bin_folder: Path) -> None:
        self.folder = folder
        self._bin = bin_folder
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                _as_user(
                    [
                        str(self._bin / "postgres"),
                        f"-D{self.folder / 'data'}",
                        f"-k{self.folder}",
                        "-clisten_addresses=",
                        "-cfsync=off",
                        "-cautovacuum=off",  # would hold locks at times
                        "-cshared_buffers=64MB",
                        "-cmax_wal_size=512MB",
                    ]
                ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd=self.folder,
            )
        ready = [str(self._bin / "pg_isready"), "-q", f"-h{self.folder}", "-t1"]
        while subprocess.run(ready, check=False).returncode != 0:
            if self._process.poll() is not None:
                raise AssertionError((self.folder / "log").read_text(encoding="utf-8", errors="replace"))

    def kill(self) -> None:
        """End it as a power cut does, except for what the kernel has accepted."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(30)

    def address(self) -> str:
        """Return the address of a new database."""
        self._databases += 1
        name = f"gantry_{self._databases}"
        subprocess.run(_as_user([str(self._bin / "createdb"), f"-h{self.folder}", name]), check=True)
        user = _USER if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
        return f"postgresql://{user}@/{name}?host={self.folder}"


@contextlib.contextmanager
def server() -> Iterator[Server | None]:
    """One for the length of the block; None where PostgreSQL is not installed."""
    found = programs()
    if found is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="gantry-pg-"))
    try:
        if os.getuid() == 0:
            shutil.chown(folder, _USER, _USER)
        command = [str(found / "initdb"), f"-D{folder / 'data'}", "--no-sync", "--auth=trust", "--encoding=UTF8"]
        subprocess.run(_as_user(command), check=True, capture_output=True, cwd=folder)
        made = Server(folder, found)
        made.start()
        try:
            yield made
        finally:
            made.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
