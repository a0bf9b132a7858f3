"""A console whose gateway relays for pages to a host in this process, with a pod of Alice's that a test controls."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from node_agent.handlers.pod_requests import PodRequests
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.adapters.transport.gateway import GatewayTransport
from offchain.adapters.transport.host_server import HostServer, signature_is_genuine
from offchain.adapters.transport.iroh_quic import IrohTransport
from offchain.adapters.transport.port import refused
from offchain.adapters.transport.session import Session
from offchain.clock import unix_ms
from offchain.gateway.admission import GatewayAdmission
from offchain.gateway.api.relay_socket import JoinedTransport, RelaySockets
from offchain.gateway.service import GatewayServer
from offchain.indexer.rows import LeaseRow, TaskRow
from offchain.schema.protocol.gateway import parse_gateway
from offchain.schema.protocol.messages import Answer, Code, Op, Request
from offchain.schema.protocol.operations import LogsArgs
from tests.support.chain_records import host_record
from tests.support.console_gateway import ALICE, ConsoleGateway, console_gateway
from tests.support.fake_access import FakeAccess, FakeIo, FakePod
from tests.support.history_blocks import GENESIS

RESULT = b"the result of a pod, \x00 and more\n" * 1000
PATIENCE_S = 30.0


async def shell(_argv: tuple[str, ...], io: FakeIo) -> int:
    """A program that echoes keys, and knows `echo`, `size` and `exit`."""
    await io.write(b"$ ")
    line = b""
    while data := await io.read():
        for byte in data:
            if byte != 13:
                line += bytes((byte,))
                await io.write(bytes((byte,)))
                continue
            name, _, rest = line.partition(b" ")
            line = b""
            await io.write(b"\r\n")
            if name == b"exit":
                return int(rest or b"0")
            if name == b"size" and io.size is not None:
                rest = b"%d rows, %d columns" % io.size
            await io.write(rest + b"\r\n$ ")
    return 0


@dataclass
class ConsolePods:
    """A console with one pod. `log`: pieces of its log, the last of which is None; `carried`: bytes at the gateway."""

    gateway: ConsoleGateway
    server: GatewayServer
    sockets: RelaySockets
    host: Ed25519Signer
    task: int
    lease: int
    stored: list[bytes] = field(default_factory=lambda: [b"line 1\n"])
    log: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)
    result: bytes = RESULT
    asked: list[tuple[Op, str]] = field(default_factory=list)
    """Operations that the host was asked for, with the account that signed."""
    clock_ahead_ms: int = 0
    carried: list[bytes] = field(default_factory=list)
    breaks_protocol: bool = False
    agent: HostServer | None = None

    @property
    def page(self) -> str:
        return f"/tasks/{self.task}"

    def now_ms(self) -> int:
        return unix_ms() + self.clock_ahead_ms

    async def recheck(self) -> None:
        """Have the host check its open sessions again, as it does every 6 s."""
        assert self.agent is not None
        await self.agent.recheck()

    def change_lease(self, **changes: Any) -> None:
        """Change the lease in the index."""
        (row,) = [one for one in self.gateway.db.rows(LeaseRow) if one.lease == self.lease]
        self.gateway.db.upsert(LeaseRow, [replace(row, **changes)])

    async def break_connections(self) -> None:
        """End the WebSockets of all pages at the gateway."""
        for connection in tuple(self.sockets._open):
            await connection.close()

    async def authorise(self, request: Request) -> None:
        self.asked.append((request.op, request.account))
        if request.tenant != ALICE.address:
            raise refused(Code.NOT_YOUR_LEASE, "Not your lease.", "Sign as its tenant.")

    async def send_result(self, _request: Request, session: Session) -> None:
        session.accept(Answer(size=len(self.result)))
        await session.write(self.result)

    async def send_log(self, request: Request, session: Session) -> None:
        session.accept()
        if self.breaks_protocol:
            # The header of a frame of 2 GiB.
            session._peer.mux._send(b"\x7f\xff\xff\xff\x05" + bytes(4))
            session._peer.wake()
            await session.gone()
        assert isinstance(request.args, LogsArgs)
        for piece in tuple(self.stored):
            await session.write(piece)
        while request.args.follow and (piece := await self.log.get()) is not None:
            self.stored.append(piece)
            await session.write(piece)


def _place_pod(gateway: ConsoleGateway, host: Ed25519Signer) -> tuple[int, int]:
    """Give a running task of the index to Alice, and its lease to a host; return the numbers of both."""
    task, lease = gateway.task_in("Running")
    gateway.db.upsert(TaskRow, [replace(task, tenant=ALICE.address)])
    digest = f"0x{hashlib.sha256(RESULT).hexdigest()}"
    gateway.db.upsert(LeaseRow, [replace(lease, host=host.address, state="Active", result_digest=digest)])
    return task.task, lease.lease


@asynccontextmanager
async def console_pods(folder: Path) -> AsyncIterator[ConsolePods]:
    """Serve a console, a gateway's relay and a host for the length of the block."""
    seed, host_seed = os.urandom(32), os.urandom(32)
    sockets, host = RelaySockets(seed), Ed25519Signer(host_seed)
    async with console_gateway(folder, sockets) as gateway:
        gateway.chain.storage["Hosts", "Hosts"][host.address,] = host_record("5P").encode()
        await gateway.chain.produce(1)
        base = await IrohTransport.bind(seed, "127.0.0.1:0")
        server = GatewayServer(
            JoinedTransport(base, sockets),
            genesis_hash=GENESIS,
            authorise=GatewayAdmission(GantryChain(gateway.chain)),
        )
        pods = ConsolePods(gateway, server, sockets, host, *_place_pod(gateway, host))
        _record(pods)
        below = await IrohTransport.bind(host_seed, listen=False)
        attached = GatewayTransport(below, host_seed, genesis_hash=GENESIS, signer=host)
        access = PodRequests(
            FakeAccess({pods.lease: FakePod({"sh": shell})}), folder / "uploads", host, lambda *_: asyncio.sleep(0)
        )
        serving = [asyncio.create_task(server.serve())]
        attached.listen([parse_gateway(f"{ss58.encode(base.key)}@{base.addresses[0]}")])
        async with asyncio.timeout(PATIENCE_S):
            await attached.wait_registered()
        agent = HostServer(
            attached,
            genesis_hash=GENESIS,
            authorise=pods.authorise,
            handlers={**access.handlers(), Op.LOGS: pods.send_log, Op.RESULT: pods.send_result},
            verify=signature_is_genuine,
            now_ms=pods.now_ms,
        )
        pods.agent = agent
        serving.append(asyncio.create_task(agent.serve()))
        try:
            yield pods
        finally:
            await agent.close()
            await access.close()
            await below.close()
            await server.close()
            await asyncio.gather(*serving)


def _record(pods: ConsolePods) -> None:
    """Keep a copy of all bytes that pass the gateway's relay."""
    relay, pass_on = pods.server.relay, pods.server.relay.pass_on

    async def recorded(piece: bytes, from_caller: bool, sink: Session) -> None:  # noqa: FBT001  (a direction)
        pods.carried.append(piece)
        await pass_on(piece, from_caller, sink)

    relay.pass_on = recorded  # type: ignore[method-assign]
