"""A node of a chain with one validator, that can be killed and started again."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from offchain.local.ports import free
from offchain.local.process import Child
from offchain.local.release import binaries


class Node:
    """`patch` goes over the development preset of the released runtime."""

    def __init__(self, folder: Path, patch: Mapping[str, Any]) -> None:
        released = binaries()
        spec, changes = folder / "spec.json", folder / "patch.json"
        changes.write_text(json.dumps(patch), encoding="utf-8")
        make_spec = [str(released.node), "chain-spec", f"--runtime={released.runtime}", "--preset=development"]
        make_spec += [f"--patch={changes}", f"--output={spec}"]
        subprocess.run(make_spec, check=True, capture_output=True)
        port = free()
        command = [str(released.node), f"--chain={spec}", f"--base-path={folder / 'data'}", "--alice", "--validator"]
        command += ["--force-authoring", "--database=paritydb", "--state-pruning=archive", f"--node-key={'03' * 32}"]
        command += [f"--rpc-port={port}", f"--listen-addr=/ip4/127.0.0.1/tcp/{free()}"]
        command += ["--no-prometheus", "--no-telemetry", "--no-mdns"]
        self.url = f"ws://127.0.0.1:{port}"
        self.child = Child("node", command, log=folder / "log", run=folder / "run", env=os.environ)

    def start(self) -> None:
        self.child.start()

    def kill(self) -> None:
        """End it with a signal that it cannot answer (SIGKILL)."""
        process = self.child.process
        assert process is not None
        process.kill()
        process.wait()

    def stop(self) -> None:
        self.child.stop()
