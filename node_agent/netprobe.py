"""Visits other hosts now and then, and measures the way to them: round trips, and how fast bytes come from there."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from node_agent.core import netprobe as core
from offchain.link import ss58
from offchain.link.errors import BadReply, ChainUnreachable
from offchain.link.p2p import LinkError
from offchain.link.typed import GantryChain

log = logging.getLogger(__name__)

ROUND_TRIPS = 5
SMALL_BYTES = 64 << 10
LARGE_BYTES = 4 << 20
VISIT_S = 60.0
BETWEEN_PROBES_S = 11.0
"""A host answers one probe in 10 s of each account."""
FIRST_S = 30.0


class Visit(Protocol):
    """A connection to one host."""

    async def ping(self) -> None:
        """One round trip. Raises :class:`LinkError`."""
        ...

    async def probe(self, size: int) -> float:
        """Seconds that so many bytes took to come. Raises :class:`LinkError`."""
        ...


Open = Callable[[bytes, bytes], AbstractAsyncContextManager[Visit]]
"""Opens a visit to the host with this key and `HostRecord.endpoint`."""


class Carrier(Protocol):
    """What the prober needs of the agent."""

    @property
    def chain(self) -> GantryChain:
        """The chain's state."""
        ...

    @property
    def host(self) -> str:
        """The host's address."""
        ...


class Prober:
    """The measurements of one host, in memory: a host that starts anew measures anew."""

    def __init__(self, open_visit: Open, *, now_ms: Callable[[], int], between_s: float = BETWEEN_PROBES_S) -> None:
        self._open = open_visit
        self._now_ms = now_ms
        self._between_s = between_s
        self._book = core.Book()

    @property
    def book(self) -> core.Book:
        """All samples."""
        return self._book

    def facts(self) -> dict[str, Any]:
        """The estimate, for `gantry agent status`; empty while there is none."""
        found = core.estimate(self._book)
        if found.latency_ms is None:
            return {}
        speed = "speed not known yet" if found.mbps_down is None else f"{found.mbps_down:.0f} Mbit/s from peers"
        count = f"{found.peers} peer{'s' * (found.peers != 1)}"
        return {
            "summary": f"{found.latency_ms:.1f} ms to {count}, {speed}",
            "peers": found.peers,
            "latency_ms": round(found.latency_ms, 3),
            "mbps_down": None if found.mbps_down is None else round(found.mbps_down, 1),
            "class_mbps": found.class_mbps,
        }

    async def run(self, agent: Carrier) -> None:
        """Measure until cancelled."""
        await asyncio.sleep(FIRST_S)  # what matters comes first after a start
        while True:
            try:
                await self.round(agent.chain, agent.host)
            except (ChainUnreachable, BadReply) as error:
                log.debug("the network's measurement waits for the chain: %s", error)
            await asyncio.sleep(core.ROUND_MS / 1000)

    async def round(self, chain: GantryChain, host: str) -> None:
        """Visit the peers whose turn it is."""
        hosts = await chain.hosts()
        online = {name: record.endpoint for name, record in hosts.items() if record.status.tag == "Online"}
        for peer in core.choose_peers(host, online, self._now_ms() // core.ROUND_MS):
            sample = await self.visit(peer, online[peer])
            if sample is not None:
                self._book = core.add(self._book, peer, sample)

    async def visit(self, peer: str, endpoint: bytes) -> core.Sample | None:
        """One visit; None where the peer does not answer. What was measured before it broke off counts."""
        trips: list[float] = []
        transfers: list[core.Transfer] = []
        try:
            async with asyncio.timeout(VISIT_S), self._open(ss58.decode(peer), endpoint) as way:
                await way.ping()  # makes the connection
                for _ in range(ROUND_TRIPS):
                    began_s = time.perf_counter()
                    await way.ping()
                    trips.append((time.perf_counter() - began_s) * 1000)
                with contextlib.suppress(LinkError):  # a peer may refuse to be probed, and be a good peer
                    transfers.append(core.Transfer(SMALL_BYTES, await way.probe(SMALL_BYTES)))
                    await asyncio.sleep(self._between_s)
                    transfers.append(core.Transfer(LARGE_BYTES, await way.probe(LARGE_BYTES)))
        except (LinkError, TimeoutError) as error:
            log.debug("the way to host %s was not measured: %s", peer, error)
        return core.Sample(self._now_ms(), tuple(trips), tuple(transfers)) if trips else None
