"""The node of a development chain: its genesis, its command line, and one that runs on this machine alone."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from offchain.devnet import node_rpc, ports
from offchain.devnet.paths import LocalError, cache_dir
from offchain.devnet.processes import Child
from offchain.devnet.release import Binaries

AUTHOR = ("--alice", "--validator", "--force-authoring")
"""Makes the blocks of the development chain."""
LIMITS = ("--pool-limit=32768", "--pool-kbytes=65536", "--trie-cache-size=268435456")
"""The pool counts what is in blocks that are not final yet, too: at full speed some ten thousand.

Authors wait while the table of the cache of state grows, longer the larger it is; at the SDK's 1 GiB they miss slots.
"""
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_SPECS_KEPT = 64
_START_SECONDS = 60.0
_POLL_SECONDS = 0.1


def chain_spec(
    found: Binaries, *options: str, patch: Mapping[str, Any] | None = None, preset: str = "development"
) -> str:
    """Return the specification of a chain that begins with a preset of the runtime, as JSON. Raises LocalError.

    `patch` goes over the preset, value by value. The node compiles the runtime twice to make a specification, which
    takes seconds, so specifications are kept in the cache.
    """
    options = (f"--preset={preset}", *options)
    kept = cache_dir() / "chain-specs" / f"{_spec_key(found, options, patch)}.json"
    with contextlib.suppress(OSError):
        text = kept.read_text(encoding="utf-8")
        os.utime(kept)
        return text
    with tempfile.TemporaryDirectory(prefix="gantry-spec-") as folder:
        command = [str(found.node), "chain-spec", f"--runtime={found.runtime}", *options]
        if patch is not None:
            file = Path(folder) / "patch.json"
            file.write_text(json.dumps(patch), encoding="utf-8")
            command.append(f"--patch={file}")
        made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise LocalError(
            f"the chain's specification could not be made: {made.stderr.strip()[-500:]}",
            "Correct the genesis patch, or get the release back with: git checkout -- chain/release",
        )
    with contextlib.suppress(OSError):
        _keep_spec(kept, made.stdout)
    return made.stdout


def _spec_key(found: Binaries, options: Sequence[str], patch: Mapping[str, Any] | None) -> str:
    node = found.node.stat()
    runtime = hashlib.sha256(found.runtime.read_bytes()).hexdigest()
    of = [str(found.node), node.st_size, node.st_mtime_ns, runtime, list(options), patch]
    return hashlib.sha256(json.dumps(of, sort_keys=True).encode()).hexdigest()


def _keep_spec(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(f".part{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    part.replace(file)
    newest = sorted(file.parent.glob("*.json"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for old in newest[_SPECS_KEPT:]:
        old.unlink(missing_ok=True)


def endow(found: Binaries, amounts: Mapping[str, int]) -> dict[str, Any]:
    """The part of a patch that gives coins (SS58 -> base units) to accounts beside those of the preset."""
    preset = json.loads(chain_spec(found, "--plain"))["genesis"]["runtimeGenesis"]["patch"]
    return {"balances": {"balances": [*preset["balances"]["balances"], *([who, n] for who, n in amounts.items())]}}


def read_patch(file: Path) -> dict[str, Any]:
    """Read a genesis patch, a JSON object, from a file. Raises LocalError."""
    remedy = f'Write one JSON object to {file}, for example {{"validators": {{"slotMs": 500}}}}'
    try:
        patch = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise LocalError(f"the genesis patch {file} cannot be read: {error.strerror}", remedy) from None
    except ValueError as error:
        raise LocalError(f"the genesis patch {file} is not JSON: {error}", remedy) from None
    if not isinstance(patch, dict):
        raise LocalError(f"the genesis patch {file} is not a JSON object", remedy)
    return patch


def write_spec(found: Binaries, folder: Path, patch: Mapping[str, Any] | None = None) -> Path:
    """The specification as a file in this folder; `patch` goes over the preset, value by value."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "spec.json"
    file.write_text(chain_spec(found, patch=patch), encoding="utf-8")
    return file


def command(
    found: Binaries,
    spec: Path,
    data: Path,
    *options: str,
    rpc_port: int,
    metrics_port: int | None = None,
    pruning: str = "archive",
) -> list[str]:
    """A node on loopback that nobody is connected to.

    `pruning` says which states it keeps: all of them, for workers that were away read events of old blocks, and events
    are state.
    """
    return [
        str(found.node),
        f"--chain={spec}",
        f"--base-path={data}",
        "--database=paritydb",
        f"--state-pruning={pruning}",
        # It makes its network key itself, in its data folder: none stands in a list of processes.
        "--unsafe-force-node-key-generation",
        f"--runtime-cache={cache_dir() / 'compiled-runtimes'}",
        f"--rpc-port={rpc_port}",
        f"--listen-addr=/ip4/127.0.0.1/tcp/{ports.free()}",
        "--no-prometheus" if metrics_port is None else f"--prometheus-port={metrics_port}",
        "--no-telemetry",
        "--no-mdns",
        *options,
    ]


def with_certificates(env: Mapping[str, str]) -> dict[str, str]:
    """An environment for a node; its network layer does not start where no certificate authority is trusted."""
    found = importlib.util.find_spec("certifi")
    if _CERTIFICATES.exists() or "SSL_CERT_FILE" in env or found is None or found.origin is None:
        return dict(env)
    return {**env, "SSL_CERT_FILE": str(Path(found.origin).with_name("cacert.pem"))}


def frugal(env: Mapping[str, str]) -> dict[str, str]:
    """An environment for a node that mostly waits: it gives memory back soon (docs/validators.md)."""
    return {"MIMALLOC_PURGE_DELAY": "100", "MIMALLOC_ALLOW_THP": "0", **env}


class Node:
    """A node of a fresh development chain, with ports of its own and all its files in one folder.

    `author`: the options by which it makes blocks; by default it is the only one. `patch` goes over the development
    preset, value by value. `with` starts the node and ends it.
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
    ) -> None:
        self.found = found
        self.folder = folder
        self.patch = patch
        self.data = folder / "data"
        self.port = ports.free()
        self.metrics_port = ports.free() if metrics else None
        line = command(
            found,
            folder / "spec.json",
            self.data,
            *author,
            *options,
            rpc_port=self.port,
            metrics_port=self.metrics_port,
            pruning=pruning,
        )
        env = {name: value for name, value in os.environ.items() if not name.startswith("GANTRY_")}
        self._child = Child("node", line, log=folder, run=folder, env=with_certificates(env))
        self.pid = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"ws://{node_rpc.LOOPBACK}:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers. Raises LocalError where it does not."""
        if not self.data.exists():
            write_spec(self.found, self.folder, self.patch)
        self.pid = self._child.start()
        limit = time.monotonic() + _START_SECONDS
        while node_rpc.genesis_hash(self.port) is None:
            if self._child.ended() is not None or time.monotonic() > limit:
                raise LocalError(f"the node did not start:\n{self.last_lines()}", "Its last lines say why")
            time.sleep(_POLL_SECONDS)

    def stop(self) -> None:
        """End it. It can be started again, and goes on with its chain."""
        self._child.stop()

    def last_lines(self, count: int = 20) -> str:
        """The end of its log."""
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
