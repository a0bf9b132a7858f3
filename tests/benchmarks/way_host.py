"""Hosts for the benchmark of the way to them: real transports and servers over pods without containers.

Arguments: `iroh`, `websocket`, or the address of a gateway that is the only way to them; how many. Prints one line of
JSON for each host, and serves until its input ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tarfile
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

from node_agent.handlers.pod_requests import PodRequests
from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import Ed25519Signer, verify
from offchain.adapters.transport.gateway import GatewayTransport
from offchain.adapters.transport.host_server import HostServer
from offchain.adapters.transport.iroh_quic import IrohTransport
from offchain.adapters.transport.port import Transport
from offchain.adapters.transport.session import Session
from offchain.adapters.transport.websocket import WsTransport
from offchain.schema.protocol.gateway import parse_gateway
from offchain.schema.protocol.messages import Op, Request
from tests.support.fake_access import FakeAccess, FakePod

GENESIS = bytes(32)
LEASE = 1
FILE_MIB = 512
LINES = 500
LINE_EVERY_S = 0.005
MIB = 1 << 20


class BigFiles(FakeAccess):
    """A pod with one large file, which takes files of any size and forgets them."""

    async def get(self, lease: int, service: str | None, path: str) -> AsyncGenerator[bytes, None]:
        del lease, service
        info = tarfile.TarInfo(path.rpartition("/")[2])
        info.size = FILE_MIB * MIB
        yield info.tobuf()
        piece = bytes(MIB // 4)
        for _ in range(FILE_MIB * 4):
            yield piece
        yield bytes(1024)

    async def put(self, lease: int, service: str | None, folder: str, archive: AsyncIterator[bytes]) -> None:
        del lease, service, folder
        async for _ in archive:
            pass


async def allow(_request: Request) -> None:
    """Whether the chain agrees is no part of the way."""


async def deliver(_lease: int, _name: str, _data: bytes) -> None:
    """Nothing is delivered."""


async def lines(_request: Request, session: Session) -> None:
    """A log whose lines say when they were written."""
    session.accept()
    for _ in range(LINES):
        await asyncio.sleep(LINE_EVERY_S)
        await session.write(f"{time.time_ns()}\n".encode())


def genuine(account: str, crypto: str, payload: bytes, signature: bytes) -> bool:
    return verify(ss58.decode(account), crypto, payload, signature)


async def endpoint(kind: str, seed: bytes) -> Transport:
    if kind == "iroh":
        return await IrohTransport.bind(seed)
    if kind == "websocket":
        return await WsTransport.bind(seed)
    base = await IrohTransport.bind(seed, listen=False)
    made = GatewayTransport(base, seed, genesis_hash=GENESIS, signer=Ed25519Signer(seed))
    made.listen([parse_gateway(kind)])
    return made


async def main(kind: str, count: int) -> None:
    with tempfile.TemporaryDirectory(prefix="gantry-way-") as folder:
        servers, serving = [], []
        for number in range(count):
            seed = number.to_bytes(32, "big")
            transport = await endpoint(kind, seed)
            access = PodRequests(BigFiles({LEASE: FakePod()}), Path(folder) / str(number), Ed25519Signer(seed), deliver)
            server = HostServer(
                transport,
                genesis_hash=GENESIS,
                authorise=allow,
                handlers={**access.handlers(), Op.LOGS: lines},
                verify=genuine,
                now_ms=lambda: time.time_ns() // 1_000_000,
                stranger_s=600,
            )
            servers.append(server)
            serving.append(asyncio.create_task(server.serve()))
            sys.stdout.write(json.dumps({"key": transport.key.hex(), "addresses": transport.addresses}) + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)
        await asyncio.gather(*(server.close() for server in servers))
        await asyncio.gather(*serving)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
