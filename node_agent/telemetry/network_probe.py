"""Measures latency and bandwidth to gateways and other hosts, and reports the estimate to the chain."""

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
from node_agent.telemetry.ports import ReportingAgent
from offchain.adapters.keys import ss58
from offchain.adapters.periodic_jobs import PeriodicJobs
from offchain.adapters.transport.gateway_registration import resolve_gateway
from offchain.adapters.transport.port import TransportError
from offchain.adapters.transport.routing import addresses_of
from offchain.schema.chain_types._generated_chain import (
    HostRecord,
    HostStatusRetired,
    HostStatusRetiring,
    calls,
    storage,
)
from offchain.schema.protocol.gateway import GatewayAddress, is_gateway

log = logging.getLogger(__name__)

ROUND_TRIPS = 5
SMALL_BYTES = 64 << 10
LARGE_BYTES = 4 << 20
MEASURE_S = 60.0
FIRST_S = 5.0
JITTER_S = 2.0
REPORT_EVERY_S = 20.0
"""Interval of the check whether to report: the chain accepts one report in a heartbeat period."""


class ProbeConnection(Protocol):
    """A connection to one host or gateway."""

    async def ping(self) -> None:
        """Perform one round trip. Raises :class:`LinkError`."""

    async def probe(self, size: int) -> float:
        """Return the seconds that the reception of `size` bytes took. Raises :class:`LinkError`."""

    async def probe_up(self, size: int) -> float:
        """Return the seconds that the transmission of `size` bytes took. Raises :class:`LinkError`."""


OpenProbe = Callable[[bytes, Sequence[str]], AbstractAsyncContextManager[ProbeConnection]]
"""Opens a connection to the host or gateway with this key at these addresses."""


class NetworkProber:
    """The measurements of one host, in memory: a restarted agent measures again."""

    def __init__(
        self, open_probe: OpenProbe, gateways: Sequence[GatewayAddress] = (), *, now_ms: Callable[[], int]
    ) -> None:
        self._open = open_probe
        self._gateways = tuple(gateways)
        self._now_ms = now_ms
        self._book = core.PeerHistory()
        self._reported: core.PublishedNetwork | None = None
        """The values that the chain has, or did not accept, since the last round."""

    @property
    def book(self) -> core.PeerHistory:
        return self._book

    def facts(self) -> dict[str, Any]:
        """Return the estimate for `gantry agent status`; empty if there is none."""
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

    def add_jobs(self, agent: ReportingAgent, jobs: PeriodicJobs) -> None:
        clock = asyncio.get_running_loop()
        due_s = float("-inf")

        async def measure_and_report() -> None:
            nonlocal due_s
            if clock.time() >= due_s:
                due_s = clock.time() + core.ROUND_MS / 1000
                await self.round(agent)
                trim_heap()  # megabytes were allocated and freed
            await self.report(agent)

        # Other duties have priority after a start.
        jobs.add("network", measure_and_report, REPORT_EVERY_S, delay_s=FIRST_S, jitter_s=JITTER_S)

    async def round(self, agent: ReportingAgent) -> None:
        """Measure the gateways, report, and measure the peers of this round."""
        self._reported = None
        for gateway in self._gateways:
            with contextlib.suppress(TransportError):
                self._note(
                    gateway.text, await self.measure(ss58.decode(gateway.account), await resolve_gateway(gateway))
                )
        await self.report(agent)
        hosts = await agent.chain.hosts()
        online = {name: record.endpoint for name, record in hosts.items() if record.status.tag == "Online"}
        for peer in core.choose_peers(agent.host, online, self._now_ms() // core.ROUND_MS):
            with contextlib.suppress(TransportError):
                own = [address for address in addresses_of(online[peer]) if not is_gateway(address)]
                self._note(peer, await self.measure(ss58.decode(peer), own))

    async def report(self, agent: ReportingAgent) -> None:
        """Report the estimate to the chain if it differs enough and the chain accepts a report now."""
        found = core.estimate(self._book).published
        if not any(found) or found == self._reported:
            return
        record = await agent.chain.host(agent.host)
        if record is None or isinstance(record.status, (HostStatusRetiring, HostStatusRetired)):
            return
        known = core.PublishedNetwork(record.network_mbps_down, record.network_mbps_up, record.latency_ms)
        measured = found.over(known)
        if not core.should_publish(known, measured):
            self._reported = found
        elif await self._accepts_report(agent, record):
            await agent.send("network", calls.hosts_set_network(**measured._asdict()))
            self._reported = found

    async def measure(self, key: bytes, addresses: Sequence[str]) -> core.PeerSample | None:
        """Measure one host or gateway; None if it does not answer. Measurements before a failure count."""
        trips: list[float] = []
        down: list[core.Transfer] = []
        up: list[core.Transfer] = []
        try:
            async with asyncio.timeout(MEASURE_S), self._open(key, addresses) as connection:
                await connection.ping()  # establishes the connection
                for _ in range(ROUND_TRIPS):
                    began_s = time.perf_counter()
                    await connection.ping()
                    trips.append((time.perf_counter() - began_s) * 1000)
                with contextlib.suppress(TransportError):  # a peer may refuse bandwidth probes
                    for size in (SMALL_BYTES, LARGE_BYTES):
                        down.append(core.Transfer(size, await connection.probe(size)))
                        up.append(core.Transfer(size, await connection.probe_up(size)))
        except (TransportError, TimeoutError) as error:
            log.debug("the way to %s was not measured: %s", ss58.encode(key), error)
        return core.PeerSample(self._now_ms(), tuple(trips), tuple(down), tuple(up)) if trips else None

    def _note(self, name: str, sample: core.PeerSample | None) -> None:
        if sample is not None:
            self._book = core.add_sample(self._book, name, sample)

    async def _accepts_report(self, agent: ReportingAgent, record: HostRecord) -> bool:
        """Return whether the chain accepts a report free of charge now. A host sends its first heartbeat before."""
        if not record.last_heartbeat:
            return False
        last_ms = await agent.chain.read(storage.hosts_network_measured_at, agent.host)
        params = await agent.chain.params("Hosts")
        return last_ms is None or await agent.chain.now_ms() - last_ms >= params.heartbeat_period_ms
