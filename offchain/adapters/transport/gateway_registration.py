"""The host's side of a gateway: one long-lived stream to it, on which the host hears of callers and takes them up.

The stream is made anew whenever it breaks, later each time, and also when the gateway has been silent for too long: a
gateway that was killed says no farewell, and QUIC alone notices only after half a minute. It may only be slow, though:
what it carries by the old connection goes on there, beside the new one.
"""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import ssl
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.adapters.transport.host_client import HostClient
from offchain.adapters.transport.peer import Session
from offchain.adapters.transport.port import Connection, HostUnreachable, Transport
from offchain.adapters.transport.relayed import SessionStream, answer
from offchain.errors import GantryError
from offchain.schema.protocol.gateway import GatewayAddress
from offchain.schema.protocol.messages import WEBSOCKET
from offchain.schema.protocol.operations import TOKEN_BYTES, AcceptArgs, RegisterArgs

log = logging.getLogger(__name__)

BEAT: Final = bytes(TOKEN_BYTES)
"""Said by the gateway now and then, and said back."""
SILENCE_S: Final = 8.0
LOOK_EVERY_S: Final = 5.0
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 20.0
STEADY_S: Final = 10.0
"""A stream that lasted so long was a good one: the next is made at once."""
TAKE_WINDOW: Final = 1 << 20
TAKE_S: Final = 15.0
MAX_PLACES: Final = 4


@dataclass(frozen=True, slots=True)
class Kept:
    """How a host stands with one gateway. `trouble`: why the stream is not there; empty where it is."""

    gateway: GatewayAddress
    attached: bool
    trouble: str


class Attachment:
    """Keeps the stream to one gateway. `arrived` is given each caller's connection, both keys proven."""

    def __init__(
        self,
        base: Transport,
        gateway: GatewayAddress,
        *,
        genesis_hash: bytes,
        signer: Ed25519Signer,
        context: ssl.SSLContext,
        arrived: Callable[[Connection], None],
        silence_s: float = SILENCE_S,
    ) -> None:
        self._base = base
        self._gateway = gateway
        self._genesis_hash = genesis_hash
        self._signer = signer
        self._context = context
        self._arrived = arrived
        self._silence_s = silence_s
        self._beside: set[asyncio.Task[None]] = set()
        self._trouble = "not tried yet"
        self.attached = asyncio.Event()

    @property
    def state(self) -> Kept:
        """How it is now."""
        there = self.attached.is_set()
        return Kept(self._gateway, there, "" if there else self._trouble)

    async def run(self) -> None:
        """Keep the stream until cancelled."""
        clock = asyncio.get_running_loop()
        tries = 0
        try:
            while True:
                began_s = clock.time()
                try:
                    await self._serve()
                except GantryError as error:
                    self._lost(error.message)
                except TimeoutError:
                    self._lost(f"it was silent for {self._silence_s:g} s")
                tries = 0 if clock.time() - began_s > STEADY_S else tries + 1
                # Hosts that lost their gateway at the same moment do not come back at the same moment.
                await asyncio.sleep(pause_s(tries) * random.uniform(0.5, 1.0))  # noqa: S311  (no secret)
        finally:
            for task in self._beside:
                task.cancel()
            await asyncio.gather(*self._beside, return_exceptions=True)

    def _lost(self, why: str) -> None:
        # Said once for each time that it was there.
        tell = log.warning if self.attached.is_set() or self._trouble == "not tried yet" else log.debug
        tell("gateway %s: %s; trying again", self._gateway.text, why)
        self._trouble = why
        self.attached.clear()

    async def _serve(self) -> None:
        client = HostClient(
            self._base,
            ss58.decode(self._gateway.account),
            await places(self._gateway),
            genesis_hash=self._genesis_hash,
            signer=self._signer,
        )
        try:
            session, _ = await client.ask(RegisterArgs(), None)
            log.info("gateway %s carries tenants to this host", self._gateway.text)
            self.attached.set()
            await self._hear(client, session)
        except TimeoutError:
            self._do_beside(_use_up(client))
            raise
        except BaseException:
            await client.close()
            raise

    async def _hear(self, client: HostClient, session: Session) -> None:
        heard = b""
        while True:
            async with asyncio.timeout(self._silence_s):
                piece = await session.read_main()
            if piece is None:
                raise HostUnreachable("the gateway ended the stream")
            heard += piece
            while len(heard) >= TOKEN_BYTES:
                token, heard = heard[:TOKEN_BYTES], heard[TOKEN_BYTES:]
                if token == BEAT:
                    await session.write(BEAT)
                else:
                    self._do_beside(self._take(client, token.hex()))

    def _do_beside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def _take(self, client: HostClient, token: str) -> None:
        try:
            async with asyncio.timeout(TAKE_S):
                session, _ = await client.ask(AcceptArgs(token), None, window=TAKE_WINDOW)
                self._arrived(await answer(SessionStream(session), self._context, self._signer.public_key))
        except (GantryError, TimeoutError) as error:
            log.debug("a caller through gateway %s was not taken up: %s", self._gateway.text, error)


async def _use_up(client: HostClient) -> None:
    """Close a connection once nothing is carried by it any more, or it is found to be dead."""
    try:
        while client.sessions:  # noqa: ASYNC110  (a minute at most, and nobody tells)
            await asyncio.sleep(LOOK_EVERY_S)
    finally:
        await client.close()


def pause_s(tries: int) -> float:
    """How long to wait before the next try, after so many in a row that came to nothing."""
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(tries, 10))


async def places(gateway: GatewayAddress) -> tuple[str, ...]:
    """Where to dial it: its name looked up. Raises :class:`HostUnreachable` where the name is not known."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            gateway.host.strip("[]"), gateway.port, type=socket.SOCK_STREAM
        )
    except OSError as error:
        raise HostUnreachable(f"the name {gateway.host} is not known ({error.strerror})") from None
    ips = dict.fromkeys(str(where[0]) for *_, where in found)
    at = [f"{f'[{ip}]' if ':' in ip else ip}:{gateway.port}" for ip in ips][:MAX_PLACES]
    return (*at, *(f"{WEBSOCKET}{place}" for place in at))
