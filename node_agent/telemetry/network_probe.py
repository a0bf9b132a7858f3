"""Visits its gateways and other hosts now and then, measures the way to them, and has the chain know how good it is."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from node_agent.core import network_estimate as core
from node_agent.runtime.background import trim_heap
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys import ss58
from offchain.adapters.transport.gateway_registration import places
from offchain.adapters.transport.port import LinkError
from offchain.adapters.transport.routing import addresses_of
from offchain.errors import BadReply, ChainUnreachable
from offchain.schema.chain_types._generated_chain import (
    HostRecord,
    HostStatusRetired,
    HostStatusRetiring,
    calls,
    storage,
)
from offchain.schema.chain_types.values import Call
from offchain.schema.protocol.gateway import GatewayAddress, is_gateway

log = logging.getLogger(__name__)

ROUND_TRIPS = 5
SMALL_BYTES = 64 << 10
LARGE_BYTES = 4 << 20
VISIT_S = 60.0
FIRST_S = 5.0
SAY_EVERY_S = 20.0
"""So often is looked whether the chain may be told: it takes news once in a heartbeat's period."""


class Visit(Protocol):
    """A connection to one host or gateway."""

    async def ping(self) -> None:
        """One round trip. Raises :class:`LinkError`."""
        ...

    async def probe(self, size: int) -> float:
        """Seconds that so many bytes took to come. Raises :class:`LinkError`."""
        ...

    async def probe_up(self, size: int) -> float:
        """Seconds that so many bytes took to get there. Raises :class:`LinkError`."""
        ...


Open = Callable[[bytes, Sequence[str]], AbstractAsyncContextManager[Visit]]
"""Opens a visit to the host or gateway with this key at addresses of its own."""


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

    async def send(self, key: str, call: Call) -> bool:
        """Have a call of the host included; whether it took effect."""
        ...


class Prober:
    """The measurements of one host, in memory: a host that starts anew measures anew."""

    def __init__(self, open_visit: Open, gateways: Sequence[GatewayAddress] = (), *, now_ms: Callable[[], int]) -> None:
        self._open = open_visit
        self._gateways = tuple(gateways)
        self._now_ms = now_ms
        self._book = core.PeerHistory()
        self._said: core.PublishedNetwork | None = None
        """What the chain has, or did not take, since the last round."""

    @property
    def book(self) -> core.PeerHistory:
        """All samples."""
        return self._book

    def facts(self) -> dict[str, Any]:
        """The estimate, for `gantry agent status`; empty while there is none."""
        found = core.estimate(self._book)
        if found.latency_ms is None:
            return {}
        speed = "speed not known yet"
        if found.mbps_down is not None:
            up = "" if found.mbps_up is None else f", {found.mbps_up:.0f} Mbit/s to them"
            speed = f"{found.mbps_down:.0f} Mbit/s from them{up}"
        counts = ((found.gateways, "gateway"), (found.peers, "peer"))
        whom = " and ".join(f"{count} {what}{'s' * (count != 1)}" for count, what in counts if count)
        return {
            "summary": f"{found.latency_ms:.1f} ms to {whom}, {speed}",
            "peers": found.peers,
            "gateways": found.gateways,
            "latency_ms": round(found.latency_ms, 3),
            "mbps_down": None if found.mbps_down is None else round(found.mbps_down, 1),
            "mbps_up": None if found.mbps_up is None else round(found.mbps_up, 1),
            "class_mbps": found.class_mbps,
            "class_up_mbps": found.class_up_mbps,
            "told_latency_ms": found.published.latency_ms,
        }

    async def run(self, agent: Carrier) -> None:
        """Measure and tell until cancelled."""
        await asyncio.sleep(FIRST_S)  # what matters comes first after a start
        clock = asyncio.get_running_loop()
        due_s = clock.time()
        while True:
            try:
                if clock.time() >= due_s:
                    due_s = clock.time() + core.ROUND_MS / 1000
                    await self.round(agent)
                    trim_heap()  # megabytes came and went
                await self.say(agent)
            except (ChainUnreachable, BadReply) as error:
                log.debug("the network's measurement waits for the chain: %s", error)
            await asyncio.sleep(SAY_EVERY_S)

    async def round(self, agent: Carrier) -> None:
        """Visit the gateways, tell, and visit the peers whose turn it is."""
        self._said = None
        for gateway in self._gateways:
            with contextlib.suppress(LinkError):
                self._note(gateway.text, await self.visit(ss58.decode(gateway.account), await places(gateway)))
        await self.say(agent)
        hosts = await agent.chain.hosts()
        online = {name: record.endpoint for name, record in hosts.items() if record.status.tag == "Online"}
        for peer in core.choose_peers(agent.host, online, self._now_ms() // core.ROUND_MS):
            with contextlib.suppress(LinkError):
                own = [address for address in addresses_of(online[peer]) if not is_gateway(address)]
                self._note(peer, await self.visit(ss58.decode(peer), own))

    async def say(self, agent: Carrier) -> None:
        """Have the chain know what is known, where it is news, and the chain would take it now."""
        found = core.estimate(self._book).published
        if not any(found) or found == self._said:
            return
        record = await agent.chain.host(agent.host)
        if record is None or isinstance(record.status, (HostStatusRetiring, HostStatusRetired)):
            return
        known = core.PublishedNetwork(record.network_mbps_down, record.network_mbps_up, record.latency_ms)
        told = found.over(known)
        if not core.should_publish(known, told):
            self._said = found
        elif await self._has_rested(agent, record):
            await agent.send("network", calls.hosts_set_network(**told._asdict()))
            self._said = found

    async def visit(self, key: bytes, addresses: Sequence[str]) -> core.PeerSample | None:
        """One visit; None where nobody answers. What was measured before it broke off counts."""
        trips: list[float] = []
        down: list[core.Transfer] = []
        up: list[core.Transfer] = []
        try:
            async with asyncio.timeout(VISIT_S), self._open(key, addresses) as way:
                await way.ping()  # makes the connection
                for _ in range(ROUND_TRIPS):
                    began_s = time.perf_counter()
                    await way.ping()
                    trips.append((time.perf_counter() - began_s) * 1000)
                with contextlib.suppress(LinkError):  # a peer may refuse to be probed, and be a good peer
                    for size in (SMALL_BYTES, LARGE_BYTES):
                        down.append(core.Transfer(size, await way.probe(size)))
                        up.append(core.Transfer(size, await way.probe_up(size)))
        except (LinkError, TimeoutError) as error:
            log.debug("the way to %s was not measured: %s", ss58.encode(key), error)
        return core.PeerSample(self._now_ms(), tuple(trips), tuple(down), tuple(up)) if trips else None

    def _note(self, name: str, sample: core.PeerSample | None) -> None:
        if sample is not None:
            self._book = core.add_sample(self._book, name, sample)

    async def _has_rested(self, agent: Carrier, record: HostRecord) -> bool:
        """Whether the chain takes it free of charge by now. A host that was never heard says first that it is there."""
        if not record.last_heartbeat:
            return False
        last_ms = await agent.chain.read(storage.hosts_network_measured_at, agent.host)
        params = await agent.chain.params("Hosts")
        return last_ms is None or await agent.chain.now_ms() - last_ms >= params.heartbeat_period_ms
