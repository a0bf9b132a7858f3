"""QUIC and secure WebSockets as one transport: WebSockets are used where UDP is blocked."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from offchain.adapters.transport.happy_eyeballs import MergedListener, dial_with_head_start
from offchain.adapters.transport.iroh_quic import IrohTransport
from offchain.adapters.transport.port import Admit, PeerConnection, Transport
from offchain.adapters.transport.websocket import WsTransport
from offchain.schema.protocol.messages import WEBSOCKET

HEAD_START_S = 3.0
"""QUIC is faster, so it is tried alone for this time. Where UDP is blocked there is no answer at all."""

_PORTS = 8
"""Attempts to find a port that is free for UDP and for TCP: a firewall rule for one port is simpler than for two."""


class MultiTransport:
    """QUIC, then WebSockets, with one key. Made by :meth:`bind`, or by :meth:`client` where it only dials."""

    def __init__(self, quic: Transport, websocket: WsTransport, *, head_start_s: float = HEAD_START_S) -> None:
        self._quic = quic
        self._websocket = websocket
        self._head_start_s = head_start_s
        self._listener = MergedListener((quic, websocket))

    @classmethod
    async def bind(cls, seed: bytes, bind: str) -> MultiTransport:
        """Listen at `ip:port`, UDP and TCP; port 0: any free one, the same for both where that can be had.

        Raises OSError where the address cannot be had.
        """
        if not bind.endswith(":0"):
            return await cls._bind(seed, bind)
        for _ in range(_PORTS):
            with contextlib.suppress(OSError):
                return await cls._bind(seed, bind)
        return await cls._bind(seed, bind, same=False)

    @classmethod
    async def _bind(cls, seed: bytes, bind: str, *, same: bool = True) -> MultiTransport:
        quic = await IrohTransport.bind(seed, bind)
        ip, _, port = bind.rpartition(":")
        if same and quic.addresses:
            port = quic.addresses[0].rpartition(":")[2]
        try:
            return cls(quic, await WsTransport.bind(seed, f"{ip}:{port}"))
        except OSError:
            await quic.close()
            raise

    @classmethod
    async def client(cls, seed: bytes, bind: str) -> MultiTransport:
        """Return an endpoint that only dials. `bind`: local address of QUIC."""
        return cls(await IrohTransport.bind(seed, bind, listen=False), WsTransport.client(seed))

    @property
    def key(self) -> bytes:
        return self._quic.key

    @property
    def addresses(self) -> tuple[str, ...]:
        """See :class:`offchain.adapters.transport.port.Transport`. Both transports have the same IP addresses."""
        quic = self._quic.addresses
        port = self._websocket.port
        ips = dict.fromkeys(address.rpartition(":")[0] for address in quic)
        # A socket bound to every IPv4 address is not reachable at the IPv6 ones.
        only_v4 = any("0.0.0.0" in address for address in self._websocket.addresses)  # noqa: S104
        return (*quic, *(f"{WEBSOCKET}{ip}:{port}" for ip in ips if port and not (only_v4 and ip.startswith("["))))

    async def dial(self, key: bytes, addresses: Sequence[str], timeout_s: float) -> PeerConnection:
        """See `Transport`. The first transport that connects is used; QUIC has a head start."""
        if not any(address.startswith(WEBSOCKET) for address in addresses):
            return await self._quic.dial(key, addresses, timeout_s)
        return await dial_with_head_start(
            self._quic.dial(key, addresses, timeout_s),
            lambda: self._websocket.dial(key, addresses, timeout_s),
            self._head_start_s,
        )

    def admit_by(self, admit: Admit) -> None:
        self._quic.admit_by(admit)
        self._websocket.admit_by(admit)

    async def accept(self) -> PeerConnection | None:
        return await self._listener.accept()

    async def close(self) -> None:
        await self._listener.close()
