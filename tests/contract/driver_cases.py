"""Programs for the driver contract: commands of a real shell, and equal programs of the fake."""

import dataclasses
import io
import itertools
import os
import secrets
import shutil
import subprocess
import sys
import tarfile
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

from node_agent.core.values import ContainerSpec, PodSpec
from node_agent.drivers.port import ImageCannotRun, ImageUnavailable
from offchain.devnet.demo_image import libraries
from offchain.schema.manifest.types import HealthCheck, ImageRef, ResultSpec, ServiceSpec, VolumeMount
from tests.support.fake_engine import FakeProgram

HOST = "5DriverContract" + os.urandom(8).hex()
MISSING = ImageRef("nowhere.invalid/none", "sha256:" + "0" * 64)
PYTHON = str(Path(sys.executable).resolve())
"""This machine's Python; in images that have one it is at the same place."""
_leases = itertools.count(int.from_bytes(os.urandom(4), "big"))

HELLO = ("sh", "-c", "echo out; echo err >&2")
COUNT = ("sh", "-c", "echo one; echo two; echo three")
EXIT_3 = ("sh", "-c", "exit 3")
FILE = ("sh", "-c", "printf result > /result.bin")
SLEEP = ("sleep", "600")
OOM = ("awk", 'BEGIN { s = "x"; while (1) s = s s }')
LISTEN = ("sh", "-c", "trap 'exit 7' USR1; echo up; while :; do sleep 0.1; done")
"""Ends with 7 when it gets the signal."""
TOLD = ("sh", "-c", 'until [ -e "$GANTRY_NOTICE" ]; do sleep 0.1; done; cat "$GANTRY_NOTICE"')
"""Ends when it finds that it has to leave."""
TWICE = ("sh", "-c", "[ -e /ran ] && exit 7; touch /ran; exit 3")
"""Its second run in the same container ends otherwise than its first."""
WELL = ("sh", "-c", "echo up; sleep 600")
KEEP = ("sh", "-c", "[ -e /data/kept ] && exit 9; touch /data/kept; exit 0")
"""Ends with 9 where the volume has what an earlier run left."""
STATE = ("sh", "-c", "mkdir -p /keep/state/deep; echo 3 > /keep/state/n; ln -s n /keep/state/latest; sleep 600")
"""Writes a folder that no image has, then runs."""
GO_ON = ("sh", "-c", "read n < /keep/state/latest; echo $((n + 1)); ls /keep/state; [ -d /keep/state/deep ]")
"""Goes on from what the one before left, and tells to where it came."""
BIG = ("sh", "-c", "i=0; while [ $i -lt 2048 ]; do printf %1024s x; i=$((i + 1)); done > /big")
"""Writes 2 MiB of its own."""
DATA = (VolumeMount("data", "/data", read_only=False),)
WRITTEN = HealthCheck(("sh", "-c", "[ -e /keep/state/latest ]"), 500, 5_000, retries=60, start_period_ms=0)
"""Passes when STATE has written its folder."""
CHECK = HealthCheck(("sh", "-c", "true"), interval_ms=1_000, timeout_ms=5_000, retries=2, start_period_ms=0)
NO_SUCH_USER = "no-such-user"
NO_SUCH_PROGRAM = ("no-such-program",)


class FakePrograms:
    """The same programs for the fake, which has no files of its own."""

    def __init__(self):
        self.ran = set()

    def __call__(self, spec: PodSpec, container: ContainerSpec) -> FakeProgram:
        service = container.service
        if service.image == MISSING:
            return FakeProgram(fails_to_start=ImageUnavailable("no such image"))
        if service.user == NO_SUCH_USER:
            return FakeProgram(fails_to_start=ImageCannotRun("no such user"))
        again = (spec.lease, service.name) in self.ran or spec.base is not None
        self.ran.add((spec.lease, service.name))
        kept = spec.data_from is not None or again
        return {
            HELLO: FakeProgram(output=b"out\n", errors=b"err\n"),
            COUNT: FakeProgram(output=b"one\ntwo\nthree\n"),
            EXIT_3: FakeProgram(exit_code=3),
            FILE: FakeProgram(files={"/result.bin": b"result"}),
            SLEEP: FakeProgram(runs=True),
            LISTEN: FakeProgram(runs=True, output=b"up\n", exits_on_signal=7),
            TOLD: FakeProgram(runs_until_told=True),
            WELL: FakeProgram(runs=True, healthy=True, output=b"up\n"),
            TWICE: FakeProgram(exit_code=7 if again else 3),
            KEEP: FakeProgram(exit_code=9 if kept else 0),
            STATE: FakeProgram(runs=True, healthy=True, files={"/keep/state/n": b"3\n", "/keep/else": b"x"}),
            BIG: FakeProgram(disk_mib=2),
            OOM: FakeProgram(out_of_memory=True),
            NO_SUCH_PROGRAM: FakeProgram(exit_code=127),
        }[service.command]


def a_service(command: tuple[str, ...], image: ImageRef, **changes: object) -> ServiceSpec:
    fields = {
        "name": "main",
        "image": image,
        "command": command,
        "entrypoint": None,
        "environment": (("FROM_MANIFEST", "1"), ("GANTRY_LEASE", "forged")),
        "cpu_milli": 1000,
        "memory_mib": 64,
        "pids": 32,
        "working_dir": None,
        "user": None,
        "read_only": False,
        "tmpfs": (),
    }
    return ServiceSpec(**{**fields, **changes})


def pod(command: tuple[str, ...], image: ImageRef, *, lease: int | None = None, **service: Any) -> PodSpec:
    """A pod of one container, with the volumes that the container mounts."""
    path = "/result.bin" if command == FILE else None
    volumes = tuple(mount.volume for mount in service.get("volumes", ()))
    return PodSpec(
        lease=next(_leases) if lease is None else lease,
        task=7,
        pod=0,
        attempt=1,
        host=HOST,
        containers=(ContainerSpec(a_service(command, image, **service), (), 2),),
        result=ResultSpec("file" if path else "stdout", path),
        volumes=volumes,
    )


def replaced(spec: PodSpec, **changes: object) -> PodSpec:
    return dataclasses.replace(spec, **changes)


async def up(driver, spec: PodSpec, start: int = 1):
    """The handle of the main container of a pod that was prepared."""
    await driver.prepare(spec)
    return await driver.start(spec, spec.main.service.name, start)


async def written(driver, spec: PodSpec):
    """The handle of the main container of a pod that was prepared, when its check passes."""
    handle = await up(driver, spec)
    async with aclosing(driver.watch(handle)) as seen:
        async for now in seen:
            assert now.running
            if now.healthy:
                return handle
    raise AssertionError("the watch ended before the container")


async def ended(driver, handle):
    """Return how the container ended."""
    async with aclosing(driver.watch(handle)) as seen:
        async for now in seen:
            if now.ending is not None:
                return now.ending
    raise AssertionError("the watch ended before the container")


async def output(driver, spec: PodSpec) -> bytes:
    """Run a pod until its main container ends, and return its result."""
    handle = await up(driver, spec)
    await ended(driver, handle)
    return (await driver.collect(handle, spec.result)).data


def build_image(api, name="shell", more=(), changes=(), links=()) -> ImageRef:
    """An image with a shell, made from this machine's own programs: no registry is needed.

    `more`: (path in the image, file here); `changes`: lines of a Dockerfile; `links`: (path, where it leads).
    """
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        files = {f"/bin/{name}": Path(found).resolve() for name in _PROGRAMS if (found := shutil.which(name))}
        for program in set(files.values()):
            for library in libraries(program):
                files[library] = Path(library).resolve()
        files |= dict(more)
        for path, source in files.items():
            tar.add(source, arcname=path.lstrip("/"))
        for path, target in links:
            info = tarfile.TarInfo(path.lstrip("/"))
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
        linked = {path.strip("/") for path, _ in links}
        for folder in {"tmp", "proc", "sys", "dev", "etc", "data"} - linked:
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
    repository = f"gantry-test/{name}"
    api.import_image_from_data(archive.getvalue(), repository=repository, tag="latest", changes=list(changes))
    return ImageRef(repository, api.inspect_image(f"{repository}:latest")["Id"])


@contextmanager
def an_image(api, **how):
    """An image of a hostile tenant, made as `build_image` does, and removed at the end."""
    made = build_image(api, f"hostile-{secrets.token_hex(4)}", **how)
    try:
        yield made
    finally:
        api.remove_image(made.digest, force=True)


def python_files(program: str) -> list[tuple[str, Path]]:
    """This machine's Python as an image needs it for one program: what the program loads, and nothing else."""
    listing = (
        "import importlib.util, sys; sys.argv = ['x']; sys.dont_write_bytecode = True\n"
        f"spec = importlib.util.spec_from_file_location('program', {program!r})\n"
        "spec.loader.exec_module(importlib.util.module_from_spec(spec))\n"
        "import encodings.idna, encodings.ascii, site\n"
        "print(*(found for one in list(sys.modules.values()) if (found := getattr(one, '__file__', None))), sep='\\n')"
    )
    python = Path(PYTHON)
    done = subprocess.run([python, "-I", "-S", "-c", listing], capture_output=True, text=True, check=True)
    loaded = [Path(line) for line in done.stdout.splitlines() if line != program]
    shared = [found for one in (python, *loaded) if one.suffix != ".py" for found in libraries(one)]
    files = [(PYTHON, python), *((str(one), one) for one in loaded)]
    return files + [(library, Path(library).resolve()) for library in shared]


_PROGRAMS = ("sh", "awk", "sleep", "cat", "ls", "kill", "id", "touch", "ln", "mkdir", "rm", "bash", "timeout", "stat")
