"""How long a full block takes to import: blocks of a run, exported and imported again on a database of their own.

The node's own commands do both; import runs each block and checks its state root, as a node does that follows the
chain. The blocks before the measured ones are imported first. The time of a process that imports a few blocks to warm
its caches is then taken from the time of one that imports the same and the measured ones after them, on a copy of that
database, so that starting, opening the database and cold caches do not count.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chainbench.blocks import Filled
from chainbench.node import SLOT_SECONDS, Node, NodeError
from chainbench.progress import say
from offchain.devnet import node as local_node
from offchain.devnet.paths import cache_dir
from offchain.devnet.release import Binaries

WARM_BLOCKS, MOST_BLOCKS = 3, 15
_TRIE_CACHE = next(option for option in local_node.LIMITS if option.startswith("--trie-cache-size"))
_MOST_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Imported:
    """The mean of the measured blocks: wall time and processor time to import one, and what it holds."""

    blocks: int
    wall_ms: float
    cpu_ms: float
    events: float
    normal_ms: float

    @property
    def slot_share(self) -> float:
        """Part of a slot that importing a block takes."""
        return self.wall_ms / (SLOT_SECONDS * 1000)


def measure(node: Node, counted: Sequence[Filled]) -> Imported:
    """Stop the node, and import its chain up to the last of the counted blocks."""
    numbers = [block.header.number for block in counted][-MOST_BLOCKS:]
    if not numbers:
        raise NodeError("no block was made in the slots that count, so that none can be imported")
    node.stop()
    first, last = numbers[0], numbers[-1]
    say(f"imports blocks {first} to {last} again")
    with tempfile.TemporaryDirectory(prefix="gantry-bench-import-") as name:
        chain = _Chain(node.found, node.folder / "spec.json", Path(name))
        prefix, warm, whole = (Path(name) / part for part in ("prefix", "warm", "whole"))
        warm_from = max(2, first - WARM_BLOCKS)
        chain.export(node.data, 1, warm_from - 1, prefix)
        chain.export(node.data, warm_from, first - 1, warm)
        chain.export(node.data, warm_from, last, whole)
        chain.run_import("one", prefix)
        shutil.copytree(Path(name) / "one", Path(name) / "other", symlinks=True)
        short = chain.run_import("one", warm)
        long = chain.run_import("other", whole)
    count = last - first + 1
    measured = [block for block in counted if first <= block.header.number <= last]
    return Imported(
        blocks=count,
        wall_ms=(long.wall - short.wall) / count * 1000,
        cpu_ms=(long.cpu - short.cpu) / count * 1000,
        events=sum(block.events.total() for block in measured) / count,
        normal_ms=sum(block.normal_ps for block in measured) / count / 1e9,
    )


@dataclass(frozen=True, slots=True)
class _Took:
    wall: float
    cpu: float


class _Chain:
    """The node's commands over databases in one folder."""

    def __init__(self, binaries: Binaries, spec: Path, folder: Path) -> None:
        self._binaries = binaries
        self._spec = spec
        self._folder = folder

    def export(self, data: Path, first: int, last: int, file: Path) -> None:
        """Write blocks of the database in `data` to a file."""
        self._run("export-blocks", data, "--binary", f"--from={first}", f"--to={last}", str(file))

    def run_import(self, name: str, file: Path) -> _Took:
        """Import a file of blocks into the database of this name."""
        options = ("--binary", "--state-pruning=archive", _TRIE_CACHE)
        return self._run("import-blocks", self._folder / name, *options, str(file))

    def _run(self, command: str, data: Path, *options: str) -> _Took:
        # These commands keep compiled runtimes in the base path only.
        data.mkdir(exist_ok=True)
        cache = data / "compiled-runtimes"
        if not cache.exists():
            cache.symlink_to(cache_dir() / "compiled-runtimes")
        of_data = (f"--chain={self._spec}", f"--base-path={data}", "--database=paritydb")
        line = [str(self._binaries.node), command, *of_data, *options]
        before = os.times()
        began = time.monotonic()
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=_MOST_SECONDS)
        wall = time.monotonic() - began
        after = os.times()
        if done.returncode != 0:
            raise NodeError(f"{command} failed: {done.stderr.strip()[-500:]}")
        used = after.children_user + after.children_system - before.children_user - before.children_system
        return _Took(wall, used)
