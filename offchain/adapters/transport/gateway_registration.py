"""Registration of a host at a gateway: one long-lived stream, on which the gateway announces callers.

The stream is opened again whenever it breaks, with a backoff, and also when the gateway has been silent for too long: a
gateway that was killed does not close its connections, and QUIC alone notices only after half a minute. A gateway that
is only slow continues what it relays over the old connection, beside the new one.
"""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from offchain.adapters.background_tasks import BackgroundTasks
from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.adapters.transport.host_client import HostClient
from offchain.adapters.transport.port import HostUnreachable, PeerConnection, Transport
from offchain.adapters.transport.relayed import SessionStream, answer
from offchain.adapters.transport.session import Session
from offchain.backoff import backoff
from offchain.errors import GantryError
from offchain.schema.protocol.gateway import GatewayAddress
from offchain.schema.protocol.messages import WEBSOCKET
from offchain.schema.protocol.operations import TOKEN_BYTES, AcceptArgs, RegisterArgs

log = logging.getLogger(__name__)

KEEPALIVE: Final = bytes(TOKEN_BYTES)
"""Sent by the gateway at intervals, and echoed."""
SILENCE_S: Final = 8.0
LOOK_EVERY_S: Final = 5.0
FIRST_PAUSE_MS: Final = 500
LONGEST_PAUSE_MS: Final = 20_000
STEADY_S: Final = 10.0
"""A stream that lasted this long resets the backoff."""
RELAY_WINDOW: Final = 1 << 20
ACCEPT_S: Final = 15.0
MAX_ADDRESSES: Final = 4


@dataclass(frozen=True, slots=True)
class GatewayStatus:
    """Registration at one gateway. `problem`: why the host is not registered; empty where it is."""

    gateway: GatewayAddress
    is_registered: bool
    problem: str


class GatewayRegistration:
    """Keeps a host registered at one gateway. `arrived` is called with each caller's connection, both keys proven."""

    def __init__(
        self,
        base: Transport,
        gateway: GatewayAddress,
        *,
        genesis_hash: bytes,
        signer: Ed25519Signer,
        context: ssl.SSLContext,
        arrived: Callable[[PeerConnection], None],
        silence_s: float = SILENCE_S,
    ) -> None:
        self._base = base
        self._gateway = gateway
        self._genesis_hash = genesis_hash
        self._signer = signer
        self._context = context
        self._arrived = arrived
        self._silence_s = silence_s
        self._background = BackgroundTasks()
        self._problem = "not tried yet"
        self.registered = asyncio.Event()

    @property
    def state(self) -> GatewayStatus:
        """The present state."""
        is_registered = self.registered.is_set()
        return GatewayStatus(self._gateway, is_registered, "" if is_registered else self._problem)

    async def run(self) -> None:
        """Stay registered until cancelled."""
        clock = asyncio.get_running_loop()
        failures = 0
        try:
            while True:
                began_s = clock.time()
                try:
                    await self._serve()
                except GantryError as error:
                    self._note_loss(error.message)
                except TimeoutError:
                    self._note_loss(f"it was silent for {self._silence_s:g} s")
                failures = 0 if clock.time() - began_s > STEADY_S else failures + 1
                # Hosts that lost their gateway at the same moment must not return at the same moment.
                pause_s = backoff(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS) / 1000
                await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))  # noqa: S311  (no secret)
        finally:
            await self._background.close()

    def _note_loss(self, why: str) -> None:
        # One warning for each time that it was registered.
        log_problem = log.warning if self.registered.is_set() or self._problem == "not tried yet" else log.debug
        log_problem("gateway %s: %s; trying again", self._gateway.text, why)
        self._problem = why
        self.registered.clear()

    async def _serve(self) -> None:
        client = HostClient(
            self._base,
            ss58.decode(self._gateway.account),
            await resolve_gateway(self._gateway),
            genesis_hash=self._genesis_hash,
            signer=self._signer,
        )
        try:
            session, _ = await client.ask(RegisterArgs(), None)
            log.info("gateway %s relays tenants to this host", self._gateway.text)
            self.registered.set()
            await self._receive(client, session)
        except TimeoutError:
            self._background.run(_close_when_idle(client))
            raise
        except BaseException:
            await client.close()
            raise

    async def _receive(self, client: HostClient, session: Session) -> None:
        heard = b""
        while True:
            async with asyncio.timeout(self._silence_s):
                piece = await session.read_main()
            if piece is None:
                raise HostUnreachable("the gateway ended the stream")
            heard += piece
            while len(heard) >= TOKEN_BYTES:
                token, heard = heard[:TOKEN_BYTES], heard[TOKEN_BYTES:]
                if token == KEEPALIVE:
                    await session.write(KEEPALIVE)
                else:
                    self._background.run(self._accept(client, token.hex()))

    async def _accept(self, client: HostClient, token: str) -> None:
        try:
            async with asyncio.timeout(ACCEPT_S):
                session, _ = await client.ask(AcceptArgs(token), None, window=RELAY_WINDOW)
                self._arrived(await answer(SessionStream(session), self._context, self._signer.public_key))
        except (GantryError, TimeoutError) as error:
            log.debug("a caller through gateway %s was not accepted: %s", self._gateway.text, error)


async def _close_when_idle(client: HostClient) -> None:
    """Close a connection once nothing is relayed over it any more, or it is found to be dead."""
    try:
        while client.sessions:  # noqa: ASYNC110  (a minute at most, and there is no event)
            await asyncio.sleep(LOOK_EVERY_S)
    finally:
        await client.close()


async def resolve_gateway(gateway: GatewayAddress) -> tuple[str, ...]:
    """Addresses of a gateway, its name resolved. Raises :class:`HostUnreachable` where the name is not known."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            gateway.host.strip("[]"), gateway.port, type=socket.SOCK_STREAM
        )
    except OSError as error:
        raise HostUnreachable(f"the name {gateway.host} is not known ({error.strerror})") from None
    ips = dict.fromkeys(str(address[0]) for *_, address in found)
    at = [f"{f'[{ip}]' if ':' in ip else ip}:{gateway.port}" for ip in ips][:MAX_ADDRESSES]
    return (*at, *(f"{WEBSOCKET}{address}" for address in at))
