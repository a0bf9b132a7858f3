"""Pod access in the contract suites: commands of a real shell, equal programs of the fake, a tenant's way to them."""

import asyncio
import io
import tarfile
from pathlib import PurePosixPath

import p2p_endpoints as p2p
import pytest
from p2p_endpoints import TENANT

from node_agent.handlers.pod_requests import PodRequests
from offchain.adapters.keys.signer import Ed25519Signer
from tests.support.fake_access import FakeAccess, FakePod

CAT = ("cat",)
OUT_AND_ERR = ("sh", "-c", "echo out; echo err >&2; exit 3")
FOR_EVER = ("sh", "-c", "echo started; while true; do sleep 1; done")
LOTS = ("sh", "-c", "awk 'BEGIN { for (i = 0; i < 200000; i++) printf \"%09d\\n\", i }'")
LOTS_BYTES = b"".join(b"%09d\n" % number for number in range(200_000))
NO_SUCH = ("no-such-program",)
ECHO_PORT, NOBODY = 8099, 8098
LEASE, OTHER, GONE = 7, 8, 9


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


class Way:
    """A host with pods, and a tenant's client."""

    def __init__(self, net, folder):
        self.net, self.folder = net, folder
        self.pods = fake_pods([LEASE, OTHER])
        self.delivered = []
        self.clients = []

    async def start(self):
        transport = await self.net.endpoint()
        key = Ed25519Signer(self.net.seeds[transport.key])
        self.access = PodRequests(self.pods, self.folder / "uploads", key, self.deliver)
        self.host = p2p.Host(transport, self.access.handlers())
        return self

    async def deliver(self, lease, name, data):
        if name == "unknown":
            raise ValueError("the manifest names no file 'unknown'")
        self.delivered.append((lease, name, data))

    async def client(self, signer=TENANT):
        made = p2p.client_of(await self.net.endpoint(), self.host, signer)
        self.clients.append(made)
        return made

    async def close(self):
        for client in self.clients:
            await client.close()
        await self.host.close()
        await self.access.close()


# Fixtures, not in conftest.py: `client` is a different one in other modules of this folder. A test module binds them.


@pytest.fixture(params=p2p.KINDS)
async def way(request, tmp_path):
    net = p2p.Net(request.param)
    made = await Way(net, tmp_path).start()
    yield made
    await made.close()
    await net.close()


@pytest.fixture
async def client(way):
    return await way.client()
