"""Transport through gateways, for hosts that cannot be dialled directly. The gateway cannot read what it relays.

A host keeps a stream to each of its gateways (`transport.gateway_registration`). A caller asks a gateway to relay a
stream to the host, and both open one connection inside (:mod:`offchain.adapters.transport.relayed`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from weakref import WeakSet

from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.adapters.transport.accept_queue import AcceptQueue
from offchain.adapters.transport.certificate import server_context
from offchain.adapters.transport.gateway_registration import (
    SILENCE_S,
    GatewayRegistration,
    GatewayStatus,
    resolve_gateway,
)
from offchain.adapters.transport.happy_eyeballs import first_connected
from offchain.adapters.transport.host_client import HostClient
from offchain.adapters.transport.port import Admit, HostUnreachable, PeerConnection, Transport
from offchain.adapters.transport.relayed import SessionStream, dial
from offchain.adapters.transport.session import BULK_WINDOW
from offchain.errors import GantryError
from offchain.ports import Signer
from offchain.schema.protocol.gateway import GatewayAddress, is_gateway, parse_gateway

MAX_GATEWAYS = 4
"""Most gateways that are asked for one host at the same time."""


class GatewayTransport:
    """A transport that dials through gateways, and after :meth:`listen` is reached through them.

    `base`: transport to the gateways; it is not closed. `seed`: of its key. `signer`: the account that asks the
    gateway, a tenant's or the host's own.
    """

    def __init__(self, base: Transport, seed: bytes, *, genesis_hash: bytes, signer: Signer) -> None:
        self._base = base
        self._own = Ed25519Signer(seed)
        self._genesis_hash = genesis_hash
        self._signer = signer
        self._ready = AcceptQueue()
        self._open: WeakSet[PeerConnection] = WeakSet()
        self._registrations: dict[GatewayAddress, GatewayRegistration] = {}
        self._running: list[asyncio.Task[None]] = []
        self._closed = False

    def listen(self, gateways: Sequence[GatewayAddress], *, silence_s: float = SILENCE_S) -> None:
        """Register at these gateways, and stay registered, as the host with this key."""
        context = server_context(self._own)
        for gateway in gateways:
            made = self._registrations[gateway] = GatewayRegistration(
                self._base,
                gateway,
                genesis_hash=self._genesis_hash,
                signer=self._own,
                context=context,
                arrived=self._accept_relayed,
                silence_s=silence_s,
            )
            self._running.append(asyncio.create_task(made.run(), name=f"gateway {gateway.text}"))

    async def wait_registered(self) -> None:
        """Wait until the host is registered at all gateways."""
        for registration in self._registrations.values():
            await registration.registered.wait()

    @property
    def states(self) -> tuple[GatewayStatus, ...]:
        """The registration at each gateway."""
        return tuple(registration.state for registration in self._registrations.values())

    @property
    def key(self) -> bytes:
        return self._base.key

    @property
    def addresses(self) -> tuple[str, ...]:
        """See `Transport`. All gateways, whether they are reachable now or not."""
        return tuple(gateway.text for gateway in self._registrations)

    async def dial(self, key: bytes, addresses: Sequence[str], timeout_s: float) -> PeerConnection:
        """See :class:`offchain.adapters.transport.port.Transport`. The first gateway that succeeds is used."""
        usable = [parse_gateway(address) for address in dict.fromkeys(addresses) if is_gateway(address)]
        if not usable:
            raise HostUnreachable("the host has no address at a gateway")
        chosen = await first_connected(self._dial(key, gateway, timeout_s) for gateway in usable[:MAX_GATEWAYS])
        self._open.add(chosen)
        return chosen

    def admit_by(self, admit: Admit) -> None:
        # Streams arrive over a connection to a gateway, which limits what it relays.
        del admit

    async def accept(self) -> PeerConnection | None:
        return await self._ready.next()

    async def close(self) -> None:
        self._closed = True
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        for connection in tuple(self._open):
            await connection.close()
        self._ready.close()

    def _accept_relayed(self, connection: PeerConnection) -> None:
        self._open.add(connection)
        self._ready.put(connection)

    async def _dial(self, key: bytes, gateway: GatewayAddress, timeout_s: float) -> PeerConnection:
        client = None
        try:
            async with asyncio.timeout(timeout_s):
                client = HostClient(
                    self._base,
                    ss58.decode(gateway.account),
                    await resolve_gateway(gateway),
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
