"""How a host is reached: directly where that works, else through a gateway."""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
from collections.abc import AsyncIterator, Sequence

from offchain.adapters.transport.gateway import ByGateways
from offchain.adapters.transport.happy_eyeballs import Doors, first_open
from offchain.adapters.transport.host_client import HostClient
from offchain.adapters.transport.multi_transport import Ways
from offchain.adapters.transport.port import Admit, Connection, HostUnreachable, Transport
from offchain.ports import Signer
from offchain.schema.protocol.gateway import is_gateway
from offchain.schema.protocol.messages import WEBSOCKET, WireError, parse_endpoint

HEAD_START_S = 4.0
"""So long the host itself is given: QUIC, and a second for the websocket. Gateways are for those who need one."""
PRIVATE_HEAD_START_S = 0.5
"""The same where all its own addresses are of a private network: it answers at once, or is in another such network."""


class Reach:
    """Directly, and through gateways. Both have the same key."""

    def __init__(self, direct: Transport, by_gateways: ByGateways, *, head_start_s: float = HEAD_START_S) -> None:
        self._direct = direct
        self._by_gateways = by_gateways
        self._head_start_s = head_start_s
        # Streams to gateways go by the direct transport, which is closed after them.
        self._doors = Doors((by_gateways, direct))

    @property
    def key(self) -> bytes:
        """See :class:`offchain.adapters.transport.port.Transport`."""
        return self._direct.key

    @property
    def addresses(self) -> tuple[str, ...]:
        """See :class:`offchain.adapters.transport.port.Transport`."""
        return (*self._direct.addresses, *self._by_gateways.addresses)

    async def dial(self, key: bytes, addresses: Sequence[str], timeout_s: float) -> Connection:
        """See `Transport`. Whichever is open first, the host itself having a head start."""
        own = [address for address in addresses if not is_gateway(address)]
        others = [address for address in addresses if is_gateway(address)]
        if not others:
            return await self._direct.dial(key, own, timeout_s)
        if not own:
            return await self._by_gateways.dial(key, others, timeout_s)
        return await first_open(
            self._direct.dial(key, own, timeout_s),
            lambda: self._by_gateways.dial(key, others, timeout_s),
            min(self._head_start_s, PRIVATE_HEAD_START_S) if all_private(own) else self._head_start_s,
        )

    def admit_by(self, admit: Admit) -> None:
        """See :class:`offchain.adapters.transport.port.Transport`."""
        self._direct.admit_by(admit)

    async def accept(self) -> Connection | None:
        """See :class:`offchain.adapters.transport.port.Transport`."""
        return await self._doors.accept()

    async def close(self) -> None:
        """See :class:`offchain.adapters.transport.port.Transport`."""
        await self._doors.close()


@contextlib.asynccontextmanager
async def open_host(
    host_key: bytes, endpoint: bytes, *, genesis_hash: bytes, signer: Signer, gateways: Sequence[str] = ()
) -> AsyncIterator[HostClient]:
    """A client to the host with this key and `HostRecord.endpoint`, over a transport that lives as long as the block.

    `gateways` are asked beside those that the endpoint names. The transport's own key is random: the tenant is known by
    the signature on each request.
    """
    addresses = (*gateways, *addresses_of(endpoint))
    seed = secrets.token_bytes(32)
    direct = await Ways.client(seed, any_local(addresses))
    transport = Reach(direct, ByGateways(direct, seed, genesis_hash=genesis_hash, signer=signer))
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
    """The same to a host or gateway at addresses of its own, and by no gateway."""
    transport = await Ways.client(secrets.token_bytes(32), any_local(addresses))
    client = HostClient(transport, key, addresses, genesis_hash=genesis_hash, signer=signer)
    try:
        yield client
    finally:
        await client.close()
        await transport.close()


def addresses_of(endpoint: bytes) -> tuple[str, ...]:
    """The addresses in `HostRecord.endpoint`. Raises :class:`HostUnreachable` where they are none."""
    try:
        return parse_endpoint(endpoint)
    except WireError as error:
        raise HostUnreachable(f"{error}.", "Ask the provider to restart its agent.") from None


def any_local(addresses: Sequence[str]) -> str:
    """Where to send from. A socket bound to loopback can reach only loopback, and then nobody else can reach it."""
    loopback = all(_place(address).startswith("127.") for address in addresses)
    return "127.0.0.1:0" if loopback else "0.0.0.0:0"


def all_private(addresses: Sequence[str]) -> bool:
    """Whether these are addresses of private networks only, and not this machine's own."""
    for address in addresses:
        try:
            ip = ipaddress.ip_address(_place(address).rpartition(":")[0].strip("[]"))
        except ValueError:
            return False
        if not ip.is_private or ip.is_loopback:
            return False
    return True


def _place(address: str) -> str:
    return address.rpartition("@")[2].removeprefix(WEBSOCKET)
