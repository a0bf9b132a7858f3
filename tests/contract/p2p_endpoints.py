"""Endpoints of every kind, gateways, a host on one of the endpoints, and tenants who ask it."""

import asyncio
import hashlib
import os

from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import Ed25519Signer, from_uri, verify
from offchain.adapters.transport.gateway import GatewayTransport
from offchain.adapters.transport.host_client import HostClient
from offchain.adapters.transport.host_server import HostServer
from offchain.adapters.transport.iroh_quic import IrohTransport
from offchain.adapters.transport.multi_transport import MultiTransport
from offchain.adapters.transport.port import HostRefused, refused
from offchain.adapters.transport.websocket import WsTransport
from offchain.errors import BadKey
from offchain.gateway.service import GatewayServer
from offchain.schema.protocol.gateway import parse_gateway
from offchain.schema.protocol.messages import Answer, Code, Op
from tests.support.memory_transport import MemoryNetwork
from tests.support.relay_client import RelayEndpoint

GENESIS = b"g" * 32
NOW_MS = 1_800_000_000_000
TENANT = from_uri("//Alice")
STRANGER = from_uri("//Bob")
RESULT = os.urandom((3 << 20) + 17)
DIGEST = hashlib.sha256(RESULT).digest()
LEASE, NOT_READY, BROKEN, SILENT = 7, 8, 9, 10
PATIENCE_S = 30
"""What is sure to come may take so long where the machine is busy."""
KINDS = ["memory", "iroh", "websocket", "ways", "gateway", "relay"]


class RunningGateway:
    """A gateway on loopback that has every host and every account, unless told otherwise."""

    def __init__(self, transport, relay=None, **options):
        self.strangers = set()
        self.gateway = GatewayServer(transport, genesis_hash=GENESIS, authorise=self._authorise, relay=relay, **options)
        self.serving = asyncio.create_task(self.gateway.serve())
        place = transport.addresses[0].removeprefix("wss://")
        self.address = parse_gateway(f"{ss58.encode(transport.key)}@{place}")

    @classmethod
    async def start(cls, relay=None, **options):
        """By QUIC alone, which is quicker to make."""
        return cls(await IrohTransport.bind(os.urandom(32), "127.0.0.1:0"), relay, **options)

    @property
    def relay(self):
        return self.gateway.relay

    async def _authorise(self, request):
        if request.account in self.strangers:
            raise refused(Code.NOT_A_HOST, "No host.", "Register.")

    async def close(self):
        await self.gateway.close()
        await self.serving


class ThroughGateway(GatewayTransport):
    """A transport through a gateway that closes the transport below it, too."""

    async def close(self):
        await super().close()
        await self._base.close()


async def through(gateway, *, seed=None, listen=True, signer=TENANT, websocket=False):
    """An endpoint that dials, and is dialled, through this gateway only."""
    seed = seed or os.urandom(32)
    base = WsTransport.client(seed) if websocket else await IrohTransport.bind(seed, listen=False)
    made = ThroughGateway(base, seed, genesis_hash=GENESIS, signer=signer)
    if listen:
        made.listen([gateway.address])
        async with asyncio.timeout(PATIENCE_S):
            await made.wait_registered()
    return made


async def all_allowed(_request):
    pass


async def connected(places, gateway):
    """A host, a caller, and both ends of their connection."""
    host, caller = await places(through(gateway)), await places(through(gateway, listen=False))
    dialled = await caller.dial(host.key, [gateway.address.text], PATIENCE_S)
    return host, caller, dialled, await host.accept()


async def asked(places, gateway, signer=TENANT):
    """A client that asks the gateway itself, and is closed at the end."""
    base = await places(IrohTransport.bind(os.urandom(32), listen=False))
    at = [f"{gateway.address.host}:{gateway.address.port}"]
    key = gateway.gateway._server._transport.key
    return await places(HostClient(base, key, at, genesis_hash=GENESIS, signer=signer))


async def token_of(session):
    """The token of the next call that the gateway announces to a host, after a beat."""
    heard = b""
    while len(heard) < 32:
        heard += await session.read_main()
    return heard[16:].hex()


async def until(state):
    """Wait until `state()` is true."""
    async with asyncio.timeout(PATIENCE_S):
        while not state():  # noqa: ASYNC110  (states of several objects, and none of them is told)
            await asyncio.sleep(0.01)


async def exactly(connection, size):
    data = bytearray()
    while len(data) < size:
        data += await connection.read()
    assert len(data) == size
    return bytes(data)


class Net:
    """Makes endpoints of one kind and closes them all."""

    def __init__(self, kind):
        self.kind, self.network, self.made, self.seeds = kind, MemoryNetwork(), [], {}
        self.gateway = None

    async def endpoint(self):
        seed = os.urandom(32)
        match self.kind:
            case "memory":
                transport = self.network.endpoint(Ed25519Signer(seed).public_key)
            case "iroh":
                transport = await IrohTransport.bind(seed, "127.0.0.1:0")
            case "websocket":
                transport = await WsTransport.bind(seed, "127.0.0.1:0")
            case "relay":
                transport = await RelayEndpoint.bind(seed)
            case "gateway":
                self.gateway = self.gateway or await RunningGateway.start()
                transport = await through(self.gateway, seed=seed)
            case _:
                transport = await MultiTransport.bind(seed, "127.0.0.1:0")
                transport._head_start_s = PATIENCE_S
        assert transport.key == Ed25519Signer(seed).public_key
        self.seeds[transport.key] = seed
        self.made.append(transport)
        return transport

    async def close(self):
        for transport in self.made:
            await transport.close()
        if self.gateway is not None:
            await self.gateway.close()


class Answers:
    """What a host of these tests knows."""

    def __init__(self):
        self.left = asyncio.Event()
        self.tenants = {TENANT.address}

    async def authorise(self, request):
        if request.tenant not in self.tenants:
            raise refused(Code.NOT_YOUR_LEASE, "Not your lease.", "Sign as its tenant.")

    def handlers(self):
        return {Op.RESULT: self.result, Op.LOGS: self.logs}

    async def result(self, request, session):
        if request.lease == NOT_READY:
            raise refused(Code.NOT_READY, "No result yet.", "Wait.")
        session.accept(Answer(size=len(RESULT)))
        await session.write(RESULT)

    async def logs(self, request, session):
        session.accept()
        await session.write(b"line 1\n")
        if request.lease == SILENT:
            try:
                await asyncio.Event().wait()
            finally:
                self.left.set()
        if request.lease == BROKEN:
            raise OSError("disk")
        await session.write(b"follows\n" if request.args.follow else b"line 2\n")


def genuine(account, crypto, payload, signature):
    try:
        return verify(ss58.decode(account), crypto, payload, signature)
    except BadKey:
        return False


class Host:
    """A host that serves until it is closed."""

    def __init__(self, transport, handlers=None, **options):
        self.transport, self.answers = transport, Answers()
        self.server = HostServer(
            transport,
            genesis_hash=GENESIS,
            authorise=self.answers.authorise,
            handlers={**self.answers.handlers(), **(handlers or {})},
            verify=genuine,
            now_ms=lambda: NOW_MS,
            **options,
        )
        self.serving = asyncio.create_task(self.server.serve())

    async def close(self):
        await self.server.close()
        await self.serving


def client_of(transport, host, signer=TENANT, *, now_ms=NOW_MS, genesis=GENESIS):
    return HostClient(
        transport,
        host.transport.key,
        host.transport.addresses,
        genesis_hash=genesis,
        signer=signer,
        now_ms=lambda: now_ms,
    )


async def refusal(work):
    """The code of a refusal, which always says what happened and what to do."""
    try:
        await work
    except HostRefused as no:
        assert no.refusal.message
        assert no.refusal.hint
        return no.refusal.code
    raise AssertionError("it was not refused")
