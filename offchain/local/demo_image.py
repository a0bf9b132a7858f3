"""The demo's container image, built from this machine's own programs: no registry, and the same bytes every time."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from offchain.local import engine
from offchain.local.places import LocalError, Places

NAME = "primes"
PROGRAMS = ("sh", "awk", "sleep", "cat")
_LIBRARY = re.compile(r"(?:=> )?(/\S+) \(0x[0-9a-f]+\)")
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def archive() -> bytes:
    """The image as a docker-archive: one layer with the programs and the libraries they need."""
    layer = _tar(_files())
    config = _json(
        {
            "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
            "config": {"Cmd": ["sh"], "Env": ["PATH=/bin"], "WorkingDir": "/"},
            "created": "1970-01-01T00:00:00Z",
            "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "gantry demo-image"}],
            "os": "linux",
            "rootfs": {"diff_ids": [f"sha256:{_sha256(layer)}"], "type": "layers"},
        }
    )
    layer_name = f"{_sha256(layer)}/layer.tar"
    manifest = [{"Config": f"{_sha256(config)}.json", "Layers": [layer_name], "RepoTags": [f"{NAME}:latest"]}]
    return _tar(
        {
            f"{_sha256(config)}.json": (config, 0o644),
            layer_name: (layer, 0o644),
            "manifest.json": (_json(manifest), 0o644),
        }
    )


def load(url: str) -> str:
    """Give the image to the engine at this address; gives its reference, name@sha256:..."""
    import docker  # noqa: PLC0415  (the supervisor lives without it)
    import docker.errors  # noqa: PLC0415

    client = docker.DockerClient(base_url=url, timeout=60)
    try:
        (image,) = client.images.load(archive())
    except docker.errors.DockerException as error:
        raise LocalError(
            f"the engine at {url} did not take the demo's image: {error}", "Look at the engine's log"
        ) from None
    else:
        return f"{NAME}@{image.id}"
    finally:
        client.close()


def _files() -> dict[str, tuple[bytes, int]]:
    files: dict[str, tuple[bytes, int]] = {}
    for program in PROGRAMS:
        found = shutil.which(program, path="/bin:/usr/bin")
        if found is None:
            raise LocalError(f"this machine has no {program}", f"Install a package that has {program}")
        files[f"bin/{program}"] = (Path(found).read_bytes(), 0o755)
        for library in _libraries(Path(found).resolve()):
            files[library.lstrip("/")] = (Path(library).read_bytes(), 0o755)
    return files


def _libraries(program: Path) -> list[str]:
    """The shared libraries a program is loaded with; none for a static one."""
    done = subprocess.run(
        ["ldd", str(program)], capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"}
    )
    return sorted({match[1] for line in done.stdout.splitlines() if (match := _LIBRARY.search(line))})


def _tar(files: dict[str, tuple[bytes, int]]) -> bytes:
    folders = {str(parent) for name in files for parent in Path(name).parents if str(parent) != "."}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for folder in sorted(folders):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for name, (data, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def find_engine() -> str:
    """An engine that answers: the local network's own, or the machine's."""
    own = f"unix://{Places.here().sockets}/docker.sock"
    if "DOCKER_HOST" not in os.environ and engine.answers(own):
        return own
    found = engine.find()
    if found is None:
        raise LocalError("no Docker engine answers", "Start the local network with scripts/up, or set DOCKER_HOST")
    return found


def main() -> int:
    """Build, load, and print the reference."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        sys.stdout.write(
            "Usage: scripts/demo-image\n\nBuilds a small image (sh, awk, sleep, cat) from this machine's programs,\n"
            "gives it to the Docker engine, and prints its name and digest:\n\n"
            "  export GANTRY_DEMO_IMAGE=$(scripts/demo-image)\n"
        )
        return 0
    try:
        reference = load(find_engine())
    except LocalError as error:
        sys.stderr.write(f"error: {error.message}.\n  {error.remedy}.\n")
        return 1
    sys.stdout.write(f"{reference}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
