"""Metrics of a gateway: `gantry worker gateway --metrics IP:PORT`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Final

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.metrics.chain import ChainMetrics
from offchain.adapters.metrics.definitions import MetricDefinition, MetricReading
from offchain.adapters.metrics.serving import MetricsAddress, serve_metrics
from offchain.gateway.relay import Relay

if TYPE_CHECKING:
    from offchain.gateway.api.server import ApiServer

HOSTS: Final = MetricDefinition("gantry_gateway_hosts", "gauge", "Hosts that are attached to the gateway now.")
STREAMS: Final = MetricDefinition("gantry_gateway_streams", "gauge", "Connections that are relayed now.")
STREAMS_TOTAL: Final = MetricDefinition(
    "gantry_gateway_streams_total", "counter", "Connections that were relayed to their host."
)
BYTES: Final = MetricDefinition("gantry_gateway_relayed_bytes_total", "counter", "Bytes relayed, in both directions.")
REFUSALS: Final = MetricDefinition(
    "gantry_gateway_refusals_total", "counter", "Refusals by a limit of the gateway or its API, by limit.", ("limit",)
)
REQUESTS: Final = MetricDefinition(
    "gantry_gateway_api_requests_total",
    "counter",
    "Requests to the API that were answered, by endpoint and class of the status; a stream counts when it ends.",
    ("endpoint", "status"),
)
REQUEST_SECONDS: Final = MetricDefinition(
    "gantry_gateway_api_request_seconds", "histogram", "Duration of a request to the API, without streams of events."
)
EVENT_STREAMS: Final = MetricDefinition(
    "gantry_gateway_api_event_streams", "gauge", "Clients that receive the stream of events now."
)
METRICS: Final = (HOSTS, STREAMS, STREAMS_TOTAL, BYTES, REFUSALS, REQUESTS, REQUEST_SECONDS, EVENT_STREAMS)


class GatewayMetrics:
    """Reads the load of the relay, and of the API if there is one."""

    def __init__(self, relay: Relay, api: ApiServer | None) -> None:
        self._relay = relay
        self._api = api

    def __call__(self) -> Iterator[MetricReading]:
        load = self._relay.load
        yield HOSTS.read(load.hosts)
        yield STREAMS.read(load.streams)
        yield STREAMS_TOTAL.read(load.carried_streams)
        yield BYTES.read(load.carried_bytes)
        yield REFUSALS.read(load.refused_hosts, "hosts")
        yield REFUSALS.read(load.refused_streams, "relayed_streams")
        if self._api is not None:
            for limit, refused in self._api.refused.items():
                yield REFUSALS.read(refused, f"api_{limit}")
            for (endpoint, status), answers in self._api.answers.items():
                yield REQUESTS.read(answers, endpoint, status)
            yield EVENT_STREAMS.read(self._api.stream_clients)


@contextlib.asynccontextmanager
async def serve_gateway_metrics(
    address: MetricsAddress | None, chain: SubstrateChain, relay: Relay, api: ApiServer | None
) -> AsyncIterator[None]:
    """Serve the metrics of a gateway at host and port; None: nowhere. Raises ListenError."""
    async with serve_metrics(address, [ChainMetrics(chain), GatewayMetrics(relay, api)]) as server:
        if server is not None and api is not None:
            api.on_duration = server.histogram(REQUEST_SECONDS).observe
        yield
