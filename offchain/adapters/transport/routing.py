"""Connections to hosts: directly where that works, else through a gateway."""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
from collections.abc import AsyncIterator, Sequence

from offchain.adapters.transport.gateway import GatewayTransport
from offchain.adapters.transport.happy_eyeballs import MergedListener, dial_with_head_start
from offchain.adapters.transport.host_client import HostClient
from offchain.adapters.transport.multi_transport import MultiTransport
from offchain.adapters.transport.port import Admit, HostUnreachable, PeerConnection, Transport
from offchain.ports import Signer
from offchain.schema.protocol.gateway import is_gateway
from offchain.schema.protocol.messages import WEBSOCKET, WireError, parse_endpoint

HEAD_START_S = 4.0
"""Time in which only the host itself is tried: QUIC, and a second for the WebSocket."""
PRIVATE_HEAD_START_S = 0.5
"""`HEAD_START_S` where all addresses of the host are private: it answers at once, or is in another private network."""


class RoutedTransport:
    """A direct transport and one through gateways, with the same key."""

    def __init__(
        self, direct: Transport, through_gateways: GatewayTransport, *, head_start_s: float = HEAD_START_S
    ) -> None:
        self._direct = direct
        self._through_gateways = through_gateways
        self._head_start_s = head_start_s
        # Streams to gateways use the direct transport, which is closed last.
        self._listener = MergedListener((through_gateways, direct))

    @property
    def key(self) -> bytes:
        return self._direct.key

    @property
    def addresses(self) -> tuple[str, ...]:
        return (*self._direct.addresses, *self._through_gateways.addresses)

    async def dial(self, key: bytes, addresses: Sequence[str], timeout_s: float) -> PeerConnection:
        """See `Transport`. The first connection that opens is used; the direct one has a head start."""
        own = [address for address in addresses if not is_gateway(address)]
        others = [address for address in addresses if is_gateway(address)]
        if not others:
            return await self._direct.dial(key, own, timeout_s)
        if not own:
            return await self._through_gateways.dial(key, others, timeout_s)
        return await dial_with_head_start(
            self._direct.dial(key, own, timeout_s),
            lambda: self._through_gateways.dial(key, others, timeout_s),
            min(self._head_start_s, PRIVATE_HEAD_START_S) if are_all_private(own) else self._head_start_s,
        )

    def admit_by(self, admit: Admit) -> None:
        self._direct.admit_by(admit)

    async def accept(self) -> PeerConnection | None:
        return await self._listener.accept()

    async def close(self) -> None:
        await self._listener.close()


@contextlib.asynccontextmanager
async def open_host(
    host_key: bytes, endpoint: bytes, *, genesis_hash: bytes, signer: Signer, gateways: Sequence[str] = ()
) -> AsyncIterator[HostClient]:
    """Yield a client of the host with this key and `HostRecord.endpoint`, over a transport of its own.

    `gateways` are asked in addition to those of the endpoint. The key of the transport is random: the signature of each
    request identifies the tenant.
    """
    addresses = (*gateways, *addresses_of(endpoint))
    seed = secrets.token_bytes(32)
    direct = await MultiTransport.client(seed, local_address(addresses))
    transport = RoutedTransport(direct, GatewayTransport(direct, seed, genesis_hash=genesis_hash, signer=signer))
    client = HostClient(transport, host_key, addresses, genesis_hash=genesis_hash, signer=signer)
    try:
        yield client
    finally:
        await client.close()
        await transport.close()


@contextlib.asynccontextmanager
async def open_direct(
    key: bytes, addresses: Sequence[str], *, genesis_hash: bytes, signer: Signer
) -> AsyncIterator[HostClient]:
    """Yield a client of the host or gateway at these addresses, over a direct transport of its own."""
    transport = await MultiTransport.client(secrets.token_bytes(32), local_address(addresses))
    client = HostClient(transport, key, addresses, genesis_hash=genesis_hash, signer=signer)
    try:
        yield client
    finally:
        await client.close()
        await transport.close()


def addresses_of(endpoint: bytes) -> tuple[str, ...]:
    """The addresses in `HostRecord.endpoint`. Raises :class:`HostUnreachable` where it is malformed."""
    try:
        return parse_endpoint(endpoint)
    except WireError as error:
        raise HostUnreachable(f"{error}.", "Ask the provider to restart its agent.") from None


def local_address(addresses: Sequence[str]) -> str:
    """The local address to send from: loopback where all addresses are, so that no other machine reaches it."""
    loopback = all(_ip_and_port(address).startswith("127.") for address in addresses)
    return "127.0.0.1:0" if loopback else "0.0.0.0:0"


def are_all_private(addresses: Sequence[str]) -> bool:
    """Whether all addresses are of private networks, loopback not included."""
    for address in addresses:
        try:
            ip = ipaddress.ip_address(_ip_and_port(address).rpartition(":")[0].strip("[]"))
        except ValueError:
            return False
        if not ip.is_private or ip.is_loopback:
            return False
    return True


def _ip_and_port(address: str) -> str:
    return address.rpartition("@")[2].removeprefix(WEBSOCKET)
