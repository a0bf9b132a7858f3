"""HTTP server of a process's metrics for Prometheus: `--metrics IP:PORT`.

It serves GET /metrics, without parameters. An answer is made at most once a second, however many clients ask. Where
operators are named, they can restart the process there (:mod:`offchain.adapters.metrics.restart`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry, Histogram, ProcessCollector, exposition
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector

from offchain.adapters.local_http import http_url, listening
from offchain.adapters.metrics.definitions import SECONDS_BUCKETS, MetricDefinition, MetricReading, MetricSource
from offchain.adapters.metrics.restart import MOST_BODY, RestartGuard
from offchain.errors import GantryError

log = logging.getLogger("gantry.metrics")

PATH: Final = "/metrics"
_OPENMETRICS: Final = "application/openmetrics-text"
MOST_CONNECTIONS: Final = 16
_KEPT_S: Final = 1.0
"""How long an answer is given again."""
_PREPARE_S: Final = 2.0
"""How long values are awaited that take time to read; then the last ones are given."""
_DELAY_EVERY_S: Final = 0.5

EVENT_LOOP_DELAY: Final = MetricDefinition(
    "gantry_event_loop_delay_seconds",
    "histogram",
    "How much later than due a timer ran, measured twice a second: how long the event loop was busy.",
)
METRICS: Final = (EVENT_LOOP_DELAY,)


class MetricsServer:
    """Serves what `sources` read. `prepare`: coroutines that read slow values before an answer; at most 2 s each.

    `guard`: takes requests for a restart; None: there is no such resource.
    """

    def __init__(
        self,
        sources: Sequence[MetricSource],
        prepare: Sequence[Callable[[], Awaitable[None]]] = (),
        guard: RestartGuard | None = None,
    ) -> None:
        self._guard = guard
        self._registry = CollectorRegistry()
        self._registry.register(_SourceCollector(sources))
        ProcessCollector(registry=self._registry)
        self._delay = self.histogram(EVENT_LOOP_DELAY)
        self._prepare = tuple(prepare)
        self._answering = asyncio.Lock()
        self._kept: dict[bool, tuple[float, bytes]] = {}
        """[whether as OpenMetrics]: when the last answer was made, and the answer."""

    def histogram(self, definition: MetricDefinition) -> Histogram:
        """Return a histogram of durations that is served from now on."""
        return Histogram(
            definition.name, definition.meaning, definition.labels, registry=self._registry, buckets=SECONDS_BUCKETS
        )

    @contextlib.asynccontextmanager
    async def listening(self, host: str, port: int) -> AsyncIterator[str]:
        """Listen at this address, and yield the URL of the metrics. Raises ListenError."""
        app = web.Application(client_max_size=MOST_BODY if self._guard is not None else 1)
        app.router.add_get(PATH, self._answer)
        if self._guard is not None:
            self._guard.add_routes(app)
        measuring = asyncio.create_task(_measure_delay(self._delay.observe))
        try:
            async with listening(app, host, port, "metrics", most_connections=MOST_CONNECTIONS) as bound:
                url = http_url(*bound) + PATH
                log.info("metrics url=%s", url)
                yield url
        finally:
            measuring.cancel()
            await asyncio.gather(measuring, return_exceptions=True)

    async def _answer(self, request: web.Request) -> web.Response:
        is_openmetrics = _OPENMETRICS in request.headers.get("Accept", "")
        form = openmetrics if is_openmetrics else exposition
        async with self._answering:
            made_s, body = self._kept.get(is_openmetrics, (float("-inf"), b""))
            now_s = asyncio.get_running_loop().time()
            if now_s - made_s >= _KEPT_S:
                await asyncio.gather(*(_within_limit(read) for read in self._prepare))
                body = form.generate_latest(self._registry)
                self._kept[is_openmetrics] = (now_s, body)
        return web.Response(body=body, headers={"Content-Type": form.CONTENT_TYPE_LATEST, "Cache-Control": "no-store"})


async def _within_limit(read: Callable[[], Awaitable[None]]) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PREPARE_S):
            await read()


class _SourceCollector(Collector):
    """The readings of the sources as metric families of the client library."""

    def __init__(self, sources: Sequence[MetricSource]) -> None:
        self._sources = tuple(sources)

    def collect(self) -> Iterable[Metric]:
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        for reading in self._readings():
            definition = reading.metric
            family = families.get(definition.name)
            if family is None:
                make = CounterMetricFamily if definition.kind == "counter" else GaugeMetricFamily
                family = families[definition.name] = make(definition.name, definition.meaning, labels=definition.labels)
            family.add_metric(reading.labels, reading.value)
        return families.values()

    def _readings(self) -> Iterator[MetricReading]:
        for source in self._sources:
            try:
                yield from source()
            except GantryError as error:  # a database that cannot be read now, for example: the others are served
                log.warning("%s", error)


async def _measure_delay(observe: Callable[[float], None]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        due_s = loop.time() + _DELAY_EVERY_S
        await asyncio.sleep(_DELAY_EVERY_S)
        observe(max(0.0, loop.time() - due_s))
