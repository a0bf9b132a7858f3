"""A command that runs beside the processes of the local network and is waited for."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

from offchain.devnet.processes import die_with_parent
from offchain.devnet.supervisor import Keeper


class Command:
    """A command that runs beside the network, from now on, until `finish` returns or `stop` ends it."""

    def __init__(self, command: list[str], env: Mapping[str, str], keeper: Keeper) -> None:
        self._keeper = keeper
        # Errors and progress go to the terminal.
        self._process = subprocess.Popen(
            [*die_with_parent(), *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=env
        )

    def finish(self) -> tuple[int, str]:
        """Wait for its end while minding the network's processes; return exit status and standard output."""
        assert self._process.stdout is not None  # noqa: S101  (asked for above)
        chunks: list[bytes] = []
        fd = self._process.stdout.fileno()
        while True:
            if self._keeper.wait(3600, fd):
                chunk = os.read(fd, 65536)
                if not chunk:
                    break
                chunks.append(chunk)
        self._process.stdout.close()
        return self._process.wait(), b"".join(chunks).decode()

    def stop(self) -> None:
        """End it, if it still runs."""
        if self._process.poll() is None:
            self._process.terminate()
        with self._process:
            pass
