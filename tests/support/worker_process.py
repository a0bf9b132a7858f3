"""`gantry worker ROLE` as an operator runs it, in a process of its own."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from offchain.devnet.paths import ROOT

_TOLD_BYTES = 8_000


@contextlib.contextmanager
def worker_process(role: str, account: str, url: str, folder: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """`folder` is made for its state; its log is beside it, and the end of that is shown where the block fails."""
    folder.mkdir(mode=0o700)
    chosen = (f"--url={url}", f"--account={account}", f"--state-dir={folder}", *options)
    with gantry_process(folder.with_suffix(".log"), "worker", role, *chosen) as process:
        yield process


@contextlib.contextmanager
def gantry_process(log: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A gantry command that runs as long as the block. The end of its log is shown where the block fails."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GANTRY_")}
    with (
        log.open("wb") as out,
        subprocess.Popen(
            [sys.executable, "-m", "offchain.cli", *arguments],
            cwd=ROOT,
            env=env | {"PYTHONPATH": str(ROOT)},
            stdout=out,
            stderr=out,
        ) as process,
    ):
        try:
            yield process
        except BaseException:
            sys.stderr.write(log.read_text(encoding="utf-8", errors="replace")[-_TOLD_BYTES:])
            raise
        finally:
            process.terminate()
            process.wait(30)
