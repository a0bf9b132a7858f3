"""The demo's container image, built from this machine's programs: no registry, and reproducible."""

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
from dataclasses import dataclass
from pathlib import Path

from offchain.devnet import engine
from offchain.devnet.paths import DevnetError, DevnetPaths

NAME = "primes"
PROGRAMS = ("sh", "awk", "sleep", "cat")
EXTRAS = ("busybox", "dropbear", "dropbearkey")
"""Optional programs for services and rentals: a web server with the tools of a shell, and an ssh server."""
USER = 1000
"""The number of the image's user "gantry", whose home is /workspace."""
_LIBRARY = re.compile(r"(?:=> )?(/\S+) \(0x[0-9a-f]+\)")
_APPLET = re.compile(r"[a-z0-9_.\[-]+")
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class _ImageEntry:
    """A file of the image: its bytes, None for a folder, or the target of a link."""

    data: bytes | None = None
    mode: int = 0o644
    link: str = ""
    owner: int = 0


def archive() -> bytes:
    """Return the image as a docker-archive: one layer with the programs and their libraries."""
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
            f"{_sha256(config)}.json": _ImageEntry(config),
            layer_name: _ImageEntry(layer),
            "manifest.json": _ImageEntry(_json(manifest)),
        }
    )


def missing() -> tuple[str, ...]:
    """Return the programs for services and rentals that this machine lacks."""
    return tuple(program for program in EXTRAS if _which(program) is None)


def load(url: str) -> str:
    """Load the image into the engine at this address, and return its reference, name@sha256:..."""
    import docker  # noqa: PLC0415  (the supervisor lives without it)
    import docker.errors  # noqa: PLC0415

    client = docker.DockerClient(base_url=url, timeout=60)
    try:
        (image,) = client.images.load(archive())
    except docker.errors.DockerException as error:
        raise DevnetError(
            f"the engine at {url} did not take the demo's image: {error}", "Look at the engine's log"
        ) from None
    else:
        return f"{NAME}@{image.id}"
    finally:
        client.close()


def _files() -> dict[str, _ImageEntry]:
    # People are known by name to whoever logs them in.
    files = {
        "etc/passwd": _ImageEntry(
            f"root:x:0:0:root:/:/bin/sh\ngantry:x:{USER}:{USER}:gantry:/workspace:/bin/sh\n".encode()
        ),
        "etc/group": _ImageEntry(f"root:x:0:\ngantry:x:{USER}:\n".encode()),
        "etc/shells": _ImageEntry(b"/bin/sh\n"),
        "workspace": _ImageEntry(None, 0o755, owner=USER),
        # For what this user installs: on the machine itself, not on a volume.
        "opt": _ImageEntry(None, 0o755, owner=USER),
    }
    for program in (*PROGRAMS, *EXTRAS):
        found = _which(program)
        if found is None and program in PROGRAMS:
            raise DevnetError(f"this machine has no {program}", f"Install a package that has {program}")
        if found is None:
            continue
        files[f"bin/{program}"] = _ImageEntry(found.read_bytes(), 0o755)
        for library in libraries(found):
            files[library.lstrip("/")] = _ImageEntry(Path(library).read_bytes(), 0o755)
    busybox = _which("busybox")
    for applet in _applets(busybox) if busybox is not None else []:
        files.setdefault(f"bin/{applet}", _ImageEntry(None, 0o777, link="busybox"))
    return files


def _which(program: str) -> Path | None:
    found = shutil.which(program, path="/bin:/usr/bin:/sbin:/usr/sbin")
    return None if found is None else Path(found).resolve()


def _applets(busybox: Path) -> list[str]:
    """Return the names of this busybox's commands."""
    done = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=False)
    return [name for name in done.stdout.split() if _APPLET.fullmatch(name)]


def libraries(program: Path) -> list[str]:
    """Return the shared libraries of a program; none if it is static."""
    done = subprocess.run(
        ["ldd", str(program)], capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"}
    )
    return sorted({match[1] for line in done.stdout.splitlines() if (match := _LIBRARY.search(line))})


def _tar(files: dict[str, _ImageEntry]) -> bytes:
    folders = {str(parent) for name in files for parent in Path(name).parents if str(parent) != "."} - files.keys()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for folder in sorted(folders):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for name, file in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.mode, entry.uid, entry.gid = file.mode, file.owner, file.owner
            if file.link:
                entry.type, entry.linkname = tarfile.SYMTYPE, file.link
            elif file.data is None:
                entry.type = tarfile.DIRTYPE
            entry.size = len(file.data or b"")
            tar.addfile(entry, io.BytesIO(file.data or b""))
    return out.getvalue()


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def find_engine() -> str:
    """Return the address of an engine that answers: the local network's own, or the machine's."""
    own = f"unix://{DevnetPaths.here().sockets}/docker.sock"
    if "DOCKER_HOST" not in os.environ and engine.answers(own):
        return own
    found = engine.find()
    if found is None:
        raise DevnetError("no Docker engine answers", "Start the local network with scripts/up, or set DOCKER_HOST")
    return found


def main() -> int:
    """Build and load the image, and print its reference."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        sys.stdout.write(
            "Usage: scripts/demo-image\n\nBuilds a small image (sh, awk, sleep, cat; for services and rentals also "
            "busybox\nand dropbear, where they are installed) from this machine's programs, gives it to the Docker "
            "engine,\nand prints its name and digest:\n\n"
            "  export GANTRY_DEMO_IMAGE=$(scripts/demo-image)\n"
        )
        return 0
    try:
        reference = load(find_engine())
    except DevnetError as error:
        sys.stderr.write(f"error: {error.message}.\n  {error.hint}.\n")
        return 1
    sys.stdout.write(f"{reference}\n")
    if lacking := missing():
        sys.stderr.write(
            f"note: without {', '.join(lacking)} the image runs jobs, but not examples/service.yaml, rental.yaml and "
            "pod.yaml.\n  Install the packages busybox-static and dropbear-bin, and run this again.\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
