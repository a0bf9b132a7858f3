"""A page's end of a gateway's relay, in Python: the WebSocket, and the proofs of both keys."""

import asyncio
import secrets

import aiohttp
from aiohttp import WSMsgType, web

from offchain.adapters.keys.signer import Ed25519Signer, verify
from offchain.adapters.transport.port import ConnectionLost, HostUnreachable
from offchain.adapters.transport.websocket import MESSAGE_BYTES
from offchain.gateway.api.relay_socket import NONCE, RELAY_PATH, RelaySockets, client_proof, server_proof


class PageConnection:
    """A WebSocket of a page."""

    via = "relay"
    remote_address = "127.0.0.1"

    def __init__(self, session, socket, remote_key):
        self._session, self._socket, self.remote_key = session, socket, remote_key
        self._over = asyncio.Event()

    async def read(self):
        message = await self._socket.receive()
        if message.type is not WSMsgType.BINARY:
            self._over.set()
            raise ConnectionLost("the gateway ended the connection")
        return message.data

    async def write(self, data):
        try:
            for start in range(0, len(data), MESSAGE_BYTES):
                await self._socket.send_bytes(data[start : start + MESSAGE_BYTES])
        except (OSError, RuntimeError, aiohttp.ClientError) as error:
            raise ConnectionLost(str(error)) from None

    async def wait_closed(self):
        await self._over.wait()

    async def close(self):
        self._over.set()
        self._socket._response.close()
        await self._session.close()


class PageTransport:
    """An endpoint that dials relays at `http://…` and no others."""

    addresses = ()

    def __init__(self, seed, headers=None):
        self._signer, self._headers = Ed25519Signer(seed), headers or {}
        self._open = []

    @property
    def key(self):
        return self._signer.public_key

    async def dial(self, key, addresses, timeout_s):
        usable = [address for address in addresses if address.startswith("http")]
        if not usable:
            raise HostUnreachable("the gateway has no address of a relay")
        session = aiohttp.ClientSession()
        try:
            async with asyncio.timeout(timeout_s):
                made = await self._dial(session, key, usable[0])
        except BaseException as error:
            await session.close()
            if isinstance(error, (OSError, TimeoutError, aiohttp.ClientError, ConnectionLost)):
                raise HostUnreachable(f"{usable[0]}: {error or 'no answer'}") from None
            raise
        self._open.append(made)
        return made

    async def _dial(self, session, key, address):
        socket = await session.ws_connect(
            address + RELAY_PATH, max_msg_size=MESSAGE_BYTES + 1, headers=self._headers, autoclose=False
        )
        connection, nonce = PageConnection(session, socket, key), secrets.token_bytes(NONCE)
        proof = self._signer.sign(client_proof(await connection.read(), key))
        await connection.write(self.key + proof + nonce)
        if not verify(key, "ed25519", server_proof(nonce, self.key), await connection.read()):
            raise ConnectionLost("the gateway at this address has another key")
        return connection

    def admit_by(self, admit):
        del admit

    async def accept(self):
        return None

    async def close(self):
        for connection in self._open:
            await connection.close()


class RelayEndpoint(PageTransport):
    """A page that is a relay as well, for the suite of transports."""

    def __init__(self, seed):
        super().__init__(seed)
        self.sockets = RelaySockets(seed)
        self._runner = None

    @classmethod
    async def bind(cls, seed):
        made = cls(seed)
        app = web.Application()
        app.router.add_get(RELAY_PATH, made.sockets.serve)
        made._runner = web.AppRunner(app, shutdown_timeout=1)
        await made._runner.setup()
        site = web.TCPSite(made._runner, "127.0.0.1", 0)
        await site.start()
        port = made._runner.addresses[0][1]
        made.addresses = (f"http://127.0.0.1:{port}",)
        return made

    def admit_by(self, admit):
        self.sockets.admit_by(admit)

    async def accept(self):
        return await self.sockets.accept()

    async def close(self):
        await super().close()
        await self.sockets.close()
        await self._runner.cleanup()
