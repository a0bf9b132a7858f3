"""What the driver contract runs, as commands of a real shell and as programs of the fake."""

import io
import itertools
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

from node_agent.core.values import PodSpec
from node_agent.drivers.fake import FakeProgram
from node_agent.ports import ImageInvalid, ImageUnavailable
from offchain.schema.manifest_types import ImageRef, ResultSpec, ServiceSpec

HOST = "5DriverContract" + os.urandom(8).hex()
MISSING = ImageRef("nowhere.invalid/none", "sha256:" + "0" * 64)
_leases = itertools.count(int.from_bytes(os.urandom(4), "big"))

HELLO = ("sh", "-c", "echo out; echo err >&2")
EXIT_3 = ("sh", "-c", "exit 3")
FILE = ("sh", "-c", "printf result > /result.bin")
SLEEP = ("sleep", "600")
OOM = ("awk", 'BEGIN { s = "x"; while (1) s = s s }')
NO_SUCH_USER = "no-such-user"
NO_SUCH_PROGRAM = ("no-such-program",)


def fake_program(spec: PodSpec) -> FakeProgram:
    if spec.service.image == MISSING:
        return FakeProgram(fails_to_start=ImageUnavailable("no such image"))
    if spec.service.user == NO_SUCH_USER:
        return FakeProgram(fails_to_start=ImageInvalid("no such user"))
    return {
        HELLO: FakeProgram(output=b"out\n", errors=b"err\n"),
        EXIT_3: FakeProgram(exit_code=3),
        FILE: FakeProgram(files={"/result.bin": b"result"}),
        SLEEP: FakeProgram(runs=True),
        OOM: FakeProgram(out_of_memory=True),
        NO_SUCH_PROGRAM: FakeProgram(exit_code=127),
    }[spec.service.command]


def pod(command: tuple[str, ...], image: ImageRef, *, lease: int | None = None, **service: object) -> PodSpec:
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
    path = "/result.bin" if command == FILE else None
    return PodSpec(
        lease=next(_leases) if lease is None else lease,
        task=7,
        pod=0,
        attempt=1,
        start=1,
        host=HOST,
        service=ServiceSpec(**{**fields, **service}),
        result=ResultSpec("file" if path else "stdout", path),
        gpu_uuids=(),
        simulated_gpus=2,
    )


def build_image(api) -> ImageRef:
    """An image with a shell, made from this machine's own programs: no registry is needed."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        files = {f"/bin/{name}": Path(found).resolve() for name in _PROGRAMS if (found := shutil.which(name))}
        for program in set(files.values()):
            for library in _libraries(program):
                files[library] = Path(library).resolve()
        for path, source in files.items():
            tar.add(source, arcname=path.lstrip("/"))
        for folder in ("tmp", "proc", "sys", "dev", "etc", "data"):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
    api.import_image_from_data(archive.getvalue(), repository="gantry-test/shell", tag="latest")
    return ImageRef("gantry-test/shell", api.inspect_image("gantry-test/shell:latest")["Id"])


_PROGRAMS = ("sh", "awk", "sleep", "cat", "ls", "kill", "id", "touch", "ln", "mkdir")


def _libraries(program: Path) -> list[str]:
    listing = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    return re.findall(r"(/\S+) \(0x", listing.stdout)
