"""The node of a development chain: its genesis and its command line."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from offchain.devnet import ports
from offchain.devnet.paths import DevnetError, cache_dir
from offchain.devnet.release import Binaries

AUTHOR = ("--alice", "--validator", "--force-authoring")
"""Options with which the node makes the blocks of the development chain."""
LIMITS = ("--pool-limit=32768", "--pool-kbytes=65536", "--trie-cache-size=268435456")
"""The pool counts transactions in blocks that are not final yet, too: some ten thousand at full speed.

Authors wait while the table of the state cache grows, longer the larger it is; at the SDK's 1 GiB they miss slots.
"""
LOCAL_GENESIS: Mapping[str, Any] = {"tasks": {"params": {"archiveAfterMs": 7 * 86_400_000, "maxReplicas": 3}}}
"""The patch of `scripts/up` over the development preset.

Final tasks stay in storage as long as in production: the preset removes them after 10 minutes, and then no host serves
their logs and results any more. Results of up to three replicas are compared: no preset offers that (ADR 0109).
"""
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_SPECS_KEPT = 64


def chain_spec(
    found: Binaries, *options: str, patch: Mapping[str, Any] | None = None, preset: str = "development"
) -> str:
    """Return the specification of a chain that begins with a preset of the runtime, as JSON. Raises DevnetError.

    `patch` is merged over the preset. The node compiles the runtime twice to make a specification, which takes seconds,
    so specifications are cached.
    """
    options = (f"--preset={preset}", *options)
    cached = cache_dir() / "chain-specs" / f"{_spec_key(found, options, patch)}.json"
    with contextlib.suppress(OSError):
        text = cached.read_text(encoding="utf-8")
        os.utime(cached)
        return text
    with tempfile.TemporaryDirectory(prefix="gantry-spec-") as folder:
        command = [str(found.node), "chain-spec", f"--runtime={found.runtime}", *options]
        if patch is not None:
            file = Path(folder) / "patch.json"
            file.write_text(json.dumps(patch), encoding="utf-8")
            command.append(f"--patch={file}")
        made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise DevnetError(
            f"the chain's specification could not be made: {made.stderr.strip()[-500:]}",
            "Correct the genesis patch, or get the release back with: git checkout -- chain/release",
        )
    with contextlib.suppress(OSError):
        _keep_spec(cached, made.stdout)
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


def merged(base: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with `patch` over it, value by value, as a node merges a genesis patch (RFC 7396 without null)."""
    found = dict(base)
    for key, value in patch.items():
        below = found.get(key)
        found[key] = merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return found


def read_patch(file: Path) -> dict[str, Any]:
    """Read a genesis patch, a JSON object, from a file. Raises DevnetError."""
    hint = f'Write one JSON object to {file}, for example {{"validators": {{"slotMs": 500}}}}'
    try:
        patch = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DevnetError(f"the genesis patch {file} cannot be read: {error.strerror}", hint) from None
    except ValueError as error:
        raise DevnetError(f"the genesis patch {file} is not JSON: {error}", hint) from None
    if not isinstance(patch, dict):
        raise DevnetError(f"the genesis patch {file} is not a JSON object", hint)
    return patch


def write_spec(
    found: Binaries, folder: Path, patch: Mapping[str, Any] | None = None, preset: str = "development"
) -> Path:
    """Write the specification, with `patch` merged over the preset, to a file in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "spec.json"
    file.write_text(chain_spec(found, patch=patch, preset=preset), encoding="utf-8")
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
    """Return the command line of a node on loopback without peers.

    `pruning`: the states that it keeps. By default all: workers read the events of old blocks, and events are state.
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
    """Return an environment with certificate authorities, without which the node's network layer does not start."""
    found = importlib.util.find_spec("certifi")
    if _CERTIFICATES.exists() or "SSL_CERT_FILE" in env or found is None or found.origin is None:
        return dict(env)
    return {**env, "SSL_CERT_FILE": str(Path(found.origin).with_name("cacert.pem"))}


def frugal(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for a node that is mostly idle: it returns memory soon (docs/validators.md)."""
    return {"MIMALLOC_PURGE_DELAY": "100", "MIMALLOC_ALLOW_THP": "0", **env}
