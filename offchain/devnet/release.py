"""Node and runtime of chain/release: checked against the manifest, and the node unpacked once into the cache."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offchain.devnet.paths import ROOT, DevnetError, cache_dir

_CHUNK = 1 << 20
_MEND = "Get it back with: git checkout -- chain/release"


@dataclass(frozen=True, slots=True)
class Binaries:
    """The files from which a chain is started."""

    node: Path
    runtime: Path


def release_dir() -> Path:
    """Return the folder of the release; GANTRY_RELEASE names another one."""
    named = os.environ.get("GANTRY_RELEASE")
    return Path(named) if named else ROOT / "chain" / "release"


def binaries(*, from_source: bool = False) -> Binaries:
    """Return node and runtime. Raises DevnetError if they are missing, altered, or built for another machine."""
    if from_source:
        return _built()
    folder = release_dir()
    manifest = _manifest(folder)
    here = f"{platform.system().lower()}-{platform.machine()}"
    if manifest.get("platform") != here:
        raise DevnetError(
            f"the release holds a node for {manifest.get('platform')}; this machine is {here}",
            "Build it from source: scripts/up --from-source",
        )
    runtime = _checked(folder, manifest, "runtime")
    packed = _checked(folder, manifest, "node")
    unpacked_sha256 = str(manifest["node"].get("unpacked_sha256"))
    node = cache_dir() / f"node-{unpacked_sha256[:16]}" / "gantry-node"
    if not node.is_file() or _sha256(node) != unpacked_sha256:
        _unpack(packed, node, unpacked_sha256)
    return Binaries(node, runtime)


def _built() -> Binaries:
    """Return what scripts/release-chain --build made; scripts/lib.sh stores the paths."""
    answer = cache_dir() / "from-source.json"
    try:
        paths = json.loads(answer.read_text(encoding="utf-8"))
        built = Binaries(Path(paths["node"]), Path(paths["runtime"]))
    except (OSError, ValueError, KeyError, TypeError):
        built = Binaries(Path("gantry-node"), Path("gantry-runtime.wasm"))
    for path in (built.node, built.runtime):
        if not path.is_file():
            raise DevnetError(
                f"there is no {path.name} built from source", "Build it with: scripts/setup --from-source"
            )
    return built


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "MANIFEST.json"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DevnetError(f"{path} is missing", _MEND) from None
    except (OSError, ValueError) as error:
        raise DevnetError(f"{path} cannot be read: {error}", _MEND) from None
    if not isinstance(manifest, dict) or not all(isinstance(manifest.get(kind), dict) for kind in ("node", "runtime")):
        raise DevnetError(f"{path} does not say what the release holds", _MEND)
    return manifest


def _checked(folder: Path, manifest: dict[str, Any], kind: str) -> Path:
    wanted, name = manifest[kind].get("sha256"), manifest[kind].get("file")
    path = folder / Path(str(name)).name
    if not path.is_file():
        raise DevnetError(f"{path} is missing", _MEND)
    found = _sha256(path)
    if found != wanted:
        raise DevnetError(f"{path} is not what MANIFEST.json says: its sha256 is {found}, not {wanted}", _MEND)
    return path


def _unpack(packed: Path, node: Path, wanted: str) -> None:
    node.parent.mkdir(parents=True, exist_ok=True)
    part = node.with_suffix(f".part{os.getpid()}")
    digest = hashlib.sha256()
    try:
        with lzma.open(packed) as source, part.open("wb") as target:
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
                target.write(chunk)
        if digest.hexdigest() != wanted:
            raise DevnetError(f"the node inside {packed} is not what MANIFEST.json says", _MEND)
        part.chmod(0o755)
        part.replace(node)
    except (lzma.LZMAError, EOFError) as error:
        raise DevnetError(f"{packed} cannot be unpacked: {error}", _MEND) from None
    finally:
        part.unlink(missing_ok=True)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> int:
    """Print the paths of node and runtime."""
    try:
        found = binaries(from_source="--from-source" in sys.argv[1:])
    except DevnetError as error:
        sys.stderr.write(f"error: {error.message}.\n  {error.hint}.\n")
        return 1
    sys.stdout.write(f"{found.node}\n{found.runtime}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
