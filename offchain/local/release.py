"""The node from chain/release: checked against its manifest, unpacked once into the cache."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import platform
import sys
from pathlib import Path
from typing import Any

from offchain.local.places import ROOT, LocalError, cache_dir

_CHUNK = 1 << 20
_MEND = "Get it back with: git checkout -- chain/release"


def release_dir() -> Path:
    """Where the release is; GANTRY_RELEASE names another place."""
    named = os.environ.get("GANTRY_RELEASE")
    return Path(named) if named else ROOT / "chain" / "release"


def node_binary(*, from_source: bool = False) -> Path:
    """The node, ready to run. Raises LocalError where the release is missing, altered, or for another machine."""
    if from_source:
        built = Path(os.environ.get("CARGO_TARGET_DIR") or cache_dir() / "target") / "release" / "gantry-node"
        if not built.is_file():
            raise LocalError(f"there is no node at {built}", "Build it with: scripts/release-chain --build")
        return built
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise LocalError(
            f"the release holds a node for linux x86_64; this is {sys.platform} {platform.machine()}",
            "Build it from source: scripts/up --from-source",
        )
    folder = release_dir()
    packed = folder / "gantry-node.xz"
    wanted_packed, wanted = _digests(folder)
    node = cache_dir() / f"node-{wanted_packed[:16]}" / "gantry-node"
    if not packed.is_file():
        raise LocalError(f"{packed} is missing", _MEND)
    if (found := _sha256(packed)) != wanted_packed:
        raise LocalError(f"{packed} is not what MANIFEST.json says: its sha256 is {found}, not {wanted_packed}", _MEND)
    if not node.is_file() or (wanted is not None and _sha256(node) != wanted):
        _unpack(packed, node, wanted)
    return node


def _digests(folder: Path) -> tuple[str, str | None]:
    """SHA-256 of the packed node, and of the unpacked one where the manifest has it."""
    path = folder / "MANIFEST.json"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        entry: Any = manifest["files"]["gantry-node.xz"]
        packed = entry["sha256"] if isinstance(entry, dict) else entry
        unpacked = entry.get("unpacked_sha256") if isinstance(entry, dict) else None
    except FileNotFoundError:
        raise LocalError(f"{path} is missing", _MEND) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LocalError(f"{path} cannot be read: {error}", _MEND) from None
    if not isinstance(packed, str) or len(packed) != 64:
        raise LocalError(f"{path} has no sha256 for gantry-node.xz", _MEND)
    return packed, unpacked


def _unpack(packed: Path, node: Path, wanted: str | None) -> None:
    node.parent.mkdir(parents=True, exist_ok=True)
    part = node.with_suffix(f".part{os.getpid()}")
    digest = hashlib.sha256()
    try:
        with lzma.open(packed) as source, part.open("wb") as target:
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
                target.write(chunk)
        if wanted is not None and digest.hexdigest() != wanted:
            raise LocalError(f"the node inside {packed} is not what MANIFEST.json says", _MEND)
        part.chmod(0o755)
        part.replace(node)
    except (lzma.LZMAError, EOFError) as error:
        raise LocalError(f"{packed} cannot be unpacked: {error}", _MEND) from None
    finally:
        part.unlink(missing_ok=True)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> int:
    """Print the path of the node."""
    try:
        node = node_binary(from_source="--from-source" in sys.argv[1:])
    except LocalError as error:
        sys.stderr.write(f"error: {error.message}.\n  {error.remedy}\n")
        return 1
    sys.stdout.write(f"{node}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
