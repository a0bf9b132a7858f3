"""The transport through gateways: for hosts that nobody can dial. The gateway carries bytes that it cannot read.

A host keeps a stream to each of its gateways (`transport.gateway_registration`); who dials a host asks a gateway to
carry a stream to it, and both make one connection inside (:mod:`offchain.adapters.transport.relayed`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from weakref import WeakSet

from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.adapters.transport.certificate import server_context
from offchain.adapters.transport.gateway_registration import SILENCE_S, Attachment, Kept, places
from offchain.adapters.transport.happy_eyeballs import first_of
from offchain.adapters.transport.host_client import HostClient
from offchain.adapters.transport.peer import BULK_WINDOW
from offchain.adapters.transport.port import Admit, Connection, HostUnreachable, Transport
from offchain.adapters.transport.relayed import SessionStream, dial
from offchain.errors import GantryError
from offchain.ports import Signer
from offchain.schema.protocol.gateway import GatewayAddress, is_gateway, parse_gateway

MAX_GATEWAYS = 4
"""So many are asked at once for one host."""


class ByGateways:
    """Dials through gateways, and with :meth:`listen` is reached through them. Uses `base` and leaves it open.

    `seed` is that of the key of `base`. `signer` is who asks the gateway: a tenant's account, or the host itself.
    """

    def __init__(self, base: Transport, seed: bytes, *, genesis_hash: bytes, signer: Signer) -> None:
        self._base = base
        self._own = Ed25519Signer(seed)
        self._genesis_hash = genesis_hash
        self._signer = signer
        self._ready: asyncio.Queue[Connection | None] = asyncio.Queue()
        self._open: WeakSet[Connection] = WeakSet()
        self._attachments: dict[GatewayAddress, Attachment] = {}
        self._running: list[asyncio.Task[None]] = []
        self._closed = False

    def listen(self, gateways: Sequence[GatewayAddress], *, silence_s: float = SILENCE_S) -> None:
        """Keep a stream to each of these gateways from now on, as the host with this key."""
        context = server_context(self._own)
        for gateway in gateways:
            made = self._attachments[gateway] = Attachment(
                self._base,
                gateway,
                genesis_hash=self._genesis_hash,
                signer=self._own,
                context=context,
                arrived=self._arrived,
                silence_s=silence_s,
            )
            self._running.append(asyncio.create_task(made.run(), name=f"gateway {gateway.text}"))

    async def attached(self) -> None:
        """Wait until all streams are there."""
        for attachment in self._attachments.values():
            await attachment.attached.wait()

    @property
    def states(self) -> tuple[Kept, ...]:
        """How it stands with each gateway."""
        return tuple(attachment.state for attachment in self._attachments.values())

    @property
    def key(self) -> bytes:
        """See :class:`offchain.adapters.transport.port.Transport`."""
        return self._base.key

    @property
    def addresses(self) -> tuple[str, ...]:
        """See `Transport`. The gateways, whether they are reached now or not."""
        return tuple(gateway.text for gateway in self._attachments)

    async def dial(self, key: bytes, addresses: Sequence[str], timeout_s: float) -> Connection:
        """See :class:`offchain.adapters.transport.port.Transport`. Whichever gateway brings us there first."""
        usable = [parse_gateway(address) for address in dict.fromkeys(addresses) if is_gateway(address)]
        if not usable:
            raise HostUnreachable("the host has no address at a gateway")
        chosen = await first_of(self._dial(key, gateway, timeout_s) for gateway in usable[:MAX_GATEWAYS])
        self._open.add(chosen)
        return chosen

    def admit_by(self, admit: Admit) -> None:
        """See :class:`offchain.adapters.transport.port.Transport`."""
        # Streams come by a connection to a gateway, which limits what it carries.
        del admit

    async def accept(self) -> Connection | None:
        """See :class:`offchain.adapters.transport.port.Transport`."""
        connection = await self._ready.get()
        if connection is None:
            self._ready.put_nowait(None)
        return connection

    async def close(self) -> None:
        """See :class:`offchain.adapters.transport.port.Transport`."""
        self._closed = True
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        for connection in tuple(self._open):
            await connection.close()
        self._ready.put_nowait(None)

    def _arrived(self, connection: Connection) -> None:
        self._open.add(connection)
        self._ready.put_nowait(connection)

    async def _dial(self, key: bytes, gateway: GatewayAddress, timeout_s: float) -> Connection:
        client = None
        try:
            async with asyncio.timeout(timeout_s):
                client = HostClient(
                    self._base,
                    ss58.decode(gateway.account),
                    await places(gateway),
                    genesis_hash=self._genesis_hash,
                    signer=self._signer,
                )
                session = await client.carry(key, window=BULK_WINDOW)
                return await dial(SessionStream(session, client.close), key, self._own)
        except TimeoutError:
            why = f"no answer within {timeout_s:g} s"
        except GantryError as error:
            why = error.message
        except asyncio.CancelledError:
            if client is not None:
                await client.close()
            raise
        if client is not None:
            await client.close()
        raise HostUnreachable(f"through gateway {gateway.text}: {why}")
