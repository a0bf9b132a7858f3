"""An image for the challenge program, of this machine's own Python, numpy and cupy: no image registry is needed.

The Dockerfile's target `challenge` is what providers build; this one is for tests and for scripts/gpu-challenge.
"""

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from node_agent.challenge.bundle import PROGRAM, bundle
from node_agent.challenge.program_port import prepare_order
from offchain.devnet.demo_image import libraries
from offchain.schema.challenge.order import ChallengeWork

NAME = "gantry-test/challenge"
WORK = ChallengeWork(64, 1, 64, 256, 1, 64, 1)
LISTING = """
import encodings.idna, importlib.resources, json, os, runpy, signal, socket, sys, time
sys.path.insert(0, sys.argv[1])
program = runpy.run_path(sys.argv[1], run_name="loaded")["ChallengeProgram"]()
for order in json.loads(sys.argv[2]):
    program.answer(json.dumps(order).encode())
loaded = {getattr(one, name, None) for one in list(sys.modules.values()) for name in ("__file__", "__cached__")}
mapped = {line.split(maxsplit=5)[5].strip() for line in open("/proc/self/maps") if ".so" in line}
print(json.dumps(sorted(filter(None, loaded | mapped))))
"""
"""Runs the program, and prints the files of all modules and libraries that it loaded."""
DRIVER = re.compile(r"/(?:libcuda|libnvidia|libnvoptix)[^/]*\.so")
"""Libraries of NVIDIA's driver, which the engine brings into the container."""


def _loaded(backend: str) -> list[Path]:
    """Files that the program loads with this back-end."""
    numbers = list(range(20))
    orders = [
        prepare_order(WORK, backend),
        {"type": "compute", "seed": bytes(32).hex()},
        {"type": "open", "rows": numbers, "chains": numbers},
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, PROGRAM)
        file.write_bytes(bundle())
        line = [sys.executable, "-I", "-c", LISTING, str(file), json.dumps(orders)]
        done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True)
        return [one for name in json.loads(done.stdout) if (one := Path(name)).is_file() and folder not in name]


def _headers_and_kernels() -> Iterator[Path]:
    """Files that cupy reads without loading them as modules: its own data, and headers of CUDA."""
    import cupy  # noqa: PLC0415 - only for machines with a GPU

    packages = Path(cupy.__file__).parents[1]
    for folder in (packages / "cupy", packages / "cupy_backends", *packages.glob("nvidia/*/include")):
        yield from (file for file in folder.rglob("*") if file.is_file())
    cuda = cupy._environment.get_cuda_path()
    if cuda is not None:
        yield from (file for file in Path(cuda, "include").rglob("*") if file.is_file())


def image_files(backend: str) -> dict[str, Path]:
    """Path in the image, and the file here. Paths are those of this machine."""
    python = Path(sys.executable).resolve()
    loaded = [one for one in _loaded(backend) if DRIVER.search(str(one)) is None]
    files = {str(one): one for one in (python, *loaded)}
    for one in (python, *(one for one in loaded if ".so" in one.name)):
        files |= {library: Path(library).resolve() for library in libraries(one) if DRIVER.search(library) is None}
    if backend == "cupy":
        files |= {str(one): one for one in _headers_and_kernels()}
    config = Path(sys.prefix, "pyvenv.cfg")
    if config.exists():
        files[str(config)] = config
    cache = Path("/etc/ld.so.cache")
    if cache.exists():
        # NVIDIA's hook adds the driver's libraries to this file where an image has one, and does nothing without it.
        files[str(cache)] = cache
    # Libraries beside a module are named relative to it, and an archive has each path once.
    return {os.path.normpath(path): file for path, file in files.items()}


def make_image(api: Any, backend: str = "numpy", name: str = NAME) -> str:
    """Import the image into an engine, and return its id. `api`: the SDK's low-level client."""
    python = Path(sys.prefix, "bin", "python3")
    with tempfile.NamedTemporaryFile(suffix=".tar") as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            for path, source in image_files(backend).items():
                if path != str(python):
                    tar.add(source.resolve(), arcname=path.lstrip("/"))
            if python != Path(sys.executable).resolve():
                link = tarfile.TarInfo(str(python).lstrip("/"))
                link.type, link.linkname = tarfile.SYMTYPE, str(Path(sys.executable).resolve())
                tar.addfile(link)
            for folder in ("tmp", "proc", "sys", "dev", "etc"):
                entry = tarfile.TarInfo(folder)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(entry)
        file.flush()
        changes = [f"ENV PATH={python.parent}"]
        api.import_image_from_file(file.name, repository=name, tag="latest", changes=changes)
    return str(api.inspect_image(f"{name}:latest")["Id"])


@contextmanager
def numpy_image(api: Any) -> Iterator[str]:
    """The id of an image with numpy, removed at the end."""
    image = make_image(api)
    try:
        yield image
    finally:
        api.remove_image(image, force=True)
