"""Metrics of an agent: `gantry agent run --metrics IP:PORT`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Final, Protocol

from node_agent.chain.heartbeat import Heartbeat
from node_agent.core.states import AgentState, Phase
from node_agent.metering.pod_metrics import PodMetrics
from node_agent.runtime.journal import EarningsJournal
from node_agent.telemetry.device_metrics import DeviceMetrics
from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.local_http import parse_address
from offchain.adapters.metrics.chain import ChainMetrics, OutboxMetrics
from offchain.adapters.metrics.definitions import MetricDefinition, MetricReading
from offchain.adapters.metrics.serving import MetricsAddress, serve_metrics
from offchain.adapters.transport.gateway import GatewayTransport
from offchain.schema.manifest.values import GTY

PODS: Final = MetricDefinition("gantry_agent_pods", "gauge", "Pods of the host, by phase.", ("phase",))
HEARTBEATS: Final = MetricDefinition(
    "gantry_agent_heartbeats_total", "counter", "Heartbeats that took effect on the chain since the agent started."
)
HEARTBEAT_AGE: Final = MetricDefinition(
    "gantry_agent_heartbeat_age_seconds", "gauge", "Time since the last heartbeat of this agent took effect."
)
HEARTBEAT_PERIOD: Final = MetricDefinition(
    "gantry_agent_heartbeat_period_seconds", "gauge", "The chain's period: a host needs a heartbeat in each."
)
TROUBLE: Final = MetricDefinition(
    "gantry_agent_trouble", "gauge", "Whether a problem keeps the host from its work, by subject.", ("subject",)
)
SUSPENDED: Final = MetricDefinition("gantry_agent_suspended", "gauge", "Whether the chain has suspended the host.")
GATEWAYS: Final = MetricDefinition(
    "gantry_agent_gateways", "gauge", "Gateways that the agent uses, by whether the host is attached.", ("state",)
)
EARNED: Final = MetricDefinition(
    "gantry_agent_earned_gty_total", "counter", "Paid to the provider for the leases of this host, without the fee."
)
OPEN_LEASES: Final = MetricDefinition(
    "gantry_agent_open_leases", "gauge", "Leases for which further payments may come."
)
METRICS: Final = (
    PODS,
    HEARTBEATS,
    HEARTBEAT_AGE,
    HEARTBEAT_PERIOD,
    TROUBLE,
    SUSPENDED,
    GATEWAYS,
    EARNED,
    OPEN_LEASES,
)
SUBJECTS: Final = ("engine", "disk", "clock", "chain", "identity", "node")
"""Subjects of :attr:`node_agent.runtime.agent.NodeAgent.troubles`."""


class MeasuredAgent(Protocol):
    """The agent, as its metrics need it."""

    @property
    def state(self) -> AgentState: ...

    @property
    def heartbeat(self) -> Heartbeat: ...


class AgentMetrics:
    """Reads the agent. `troubles` returns its problems, by subject."""

    def __init__(
        self,
        agent: MeasuredAgent,
        troubles: Callable[[], Mapping[str, str]],
        gateways: GatewayTransport,
        journal: EarningsJournal,
    ) -> None:
        self._agent = agent
        self._troubles = troubles
        self._gateways = gateways
        self._journal = journal

    def __call__(self) -> Iterator[MetricReading]:
        phases = [pod.phase for pod in self._agent.state.pods.values()]
        for phase in Phase:
            if phase is not Phase.ABSENT:
                yield PODS.read(phases.count(phase), phase.value.lower())
        yield from self._presence(self._agent.heartbeat)
        troubles = self._troubles()
        for subject in SUBJECTS:
            yield TROUBLE.read(subject in troubles, subject)
        attached = [one.is_registered for one in self._gateways.states]
        yield GATEWAYS.read(attached.count(True), "attached")
        yield GATEWAYS.read(attached.count(False), "detached")
        earned, open_leases = self._journal.rounded_total()
        yield EARNED.read(earned / GTY)
        yield OPEN_LEASES.read(open_leases)

    def _presence(self, heartbeat: Heartbeat) -> Iterator[MetricReading]:
        yield HEARTBEATS.read(heartbeat.beats)
        if heartbeat.beat_at_s is not None:
            yield HEARTBEAT_AGE.read(time.monotonic() - heartbeat.beat_at_s)
        if heartbeat.period_ms is not None:
            yield HEARTBEAT_PERIOD.read(heartbeat.period_ms / 1000)
        yield SUSPENDED.read(heartbeat.suspension.is_suspended)


@contextlib.asynccontextmanager
async def serve_agent_metrics(
    address: str | None,
    chain: SubstrateChain,
    outbox: OutboxMetrics,
    devices: DeviceMetrics,
    agent: AgentMetrics,
    pods: PodMetrics,
) -> AsyncIterator[None]:
    """Serve the metrics of an agent at `IP:PORT`; None: nowhere. Raises ListenError."""
    where = None if address is None else MetricsAddress(*parse_address(address, "metrics"))
    async with serve_metrics(where, [ChainMetrics(chain), outbox, devices, agent, pods], [devices.refresh]):
        yield
