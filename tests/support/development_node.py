"""A node of a new chain for tests and benchmarks, and a genesis with further accounts."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from offchain.devnet import node_rpc, ports
from offchain.devnet.node import AUTHOR, chain_spec, command, with_certificates, write_spec
from offchain.devnet.paths import DevnetError
from offchain.devnet.release import Binaries
from offchain.supervisor import Child

_START_SECONDS = 60.0
_POLL_SECONDS = 0.1


def endow(
    found: Binaries,
    amounts: Mapping[str, int],
    preset: str = "development",
    patch: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the part of a patch that gives coins (SS58 -> base units) to accounts besides those of the preset.

    `patch`: what the preset needs to be a chain.
    """
    spec = json.loads(chain_spec(found, "--plain", preset=preset, patch=patch))
    before = spec["genesis"]["runtimeGenesis"]["patch"]["balances"]["balances"]
    return {"balances": {"balances": [*before, *([who, n] for who, n in amounts.items())]}}


class DevelopmentNode:
    """A node of a new chain, with its own ports, and all its files in one folder.

    `author`: the options of its block production; by default it is the only author. `patch` is merged over the
    preset, by default that of development. As a context manager it is started and stopped.
    """

    def __init__(
        self,
        found: Binaries,
        folder: Path,
        *options: str,
        patch: Mapping[str, Any] | None = None,
        pruning: str = "archive",
        metrics: bool = False,
        author: Sequence[str] = AUTHOR,
        preset: str = "development",
    ) -> None:
        self.found = found
        self.folder = folder
        self.patch = patch
        self.preset = preset
        self.data = folder / "data"
        self.port = ports.free()
        self.metrics_port = ports.free() if metrics else None
        self._author = author
        self._options = options
        self._pruning = pruning
        env = {name: value for name, value in os.environ.items() if not name.startswith("GANTRY_")}
        self._child = Child("node", (), log=folder, run=folder, env=with_certificates(env))
        self.pid = 0

    @property
    def url(self) -> str:
        return f"ws://{node_rpc.LOOPBACK}:{self.port}"

    def start(self, *, makes_blocks: bool = True) -> None:
        """Start it and wait until it answers, with or without block production.

        Raises DevnetError if it does not answer.
        """
        if not self.data.exists():
            write_spec(self.found, self.folder, self.patch, self.preset)
        self._child.command = command(
            self.found,
            self.folder / "spec.json",
            self.data,
            *(self._author if makes_blocks else ()),
            *self._options,
            rpc_port=self.port,
            metrics_port=self.metrics_port,
            pruning=self._pruning,
        )
        self.pid = self._child.start()
        limit = time.monotonic() + _START_SECONDS
        while node_rpc.genesis_hash(self.port) is None:
            if self._child.ended() is not None or time.monotonic() > limit:
                raise DevnetError(f"the node did not start:\n{self.last_lines()}", "Its last lines say why")
            time.sleep(_POLL_SECONDS)

    def stop(self) -> None:
        """End it. It can be started again, and continues its chain."""
        self._child.stop()

    def last_lines(self, count: int = 20) -> str:
        """Return the end of its log."""
        return self._child.last_lines(count)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
