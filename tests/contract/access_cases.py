"""Programs for the contract suite of pod access: commands of a real shell, and equal programs of the fake."""

import asyncio
import io
import tarfile
from pathlib import PurePosixPath

from node_agent.drivers.fake.access import FakeAccess, FakePod

CAT = ("cat",)
OUT_AND_ERR = ("sh", "-c", "echo out; echo err >&2; exit 3")
FOR_EVER = ("sh", "-c", "echo started; while true; do sleep 1; done")
LOTS = ("sh", "-c", "awk 'BEGIN { for (i = 0; i < 200000; i++) printf \"%09d\\n\", i }'")
LOTS_BYTES = b"".join(b"%09d\n" % number for number in range(200_000))
NO_SUCH = ("no-such-program",)
ECHO_PORT, NOBODY = 8099, 8098


async def cat(_argv, io):
    while data := await io.read():
        await io.write(data)
    return 0


async def sh(argv, io):
    if argv == OUT_AND_ERR:
        await io.write(b"out\n", 1)
        await io.write(b"err\n", 2)
        return 3
    if argv == FOR_EVER:
        await io.write(b"started\n")
        await asyncio.Event().wait()
    if argv == LOTS:
        for start in range(0, len(LOTS_BYTES), 4096):
            await io.write(LOTS_BYTES[start : start + 4096])
    return 0


async def show_size(_argv, io):
    """Not on a real pod: tells its terminal's size at each change."""
    while True:
        await io.write(b"%d %d\n" % io.size)
        await io.resized.wait()
        io.resized.clear()


async def echo(reader, send):
    while data := await reader.read(1 << 16):
        send(data)


def fake_pods(leases):
    """A pod for each lease, all alike."""
    programs = {"cat": cat, "sh": sh, "size": show_size}
    return FakeAccess({lease: FakePod(programs, {ECHO_PORT: echo}, ("main", "db")) for lease in leases})


def names_in(archive):
    """What a tar stream holds: name -> content."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        found = {}
        for member in tar:
            content = tar.extractfile(member)
            found[str(PurePosixPath(member.name))] = None if content is None else content.read()
    return found
