"""The metrics of a process, if its operator wants them: `--metrics IP:PORT`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from offchain.adapters.metrics.definitions import MetricSource

if TYPE_CHECKING:
    from offchain.adapters.metrics.server import MetricsServer


@contextlib.asynccontextmanager
async def serve_metrics(
    address: tuple[str, int] | None,
    sources: Sequence[MetricSource],
    prepare: Sequence[Callable[[], Awaitable[None]]] = (),
) -> AsyncIterator[MetricsServer | None]:
    """Serve metrics at host and port, and yield the server; None: nowhere, and the server is not loaded.

    `sources`, `prepare`: as for :class:`MetricsServer`. Raises ListenError.
    """
    if address is None:
        yield None
        return
    from offchain.adapters.metrics.server import MetricsServer  # noqa: PLC0415  (slow to load, and not always wanted)

    server = MetricsServer(sources, prepare)
    async with server.listening(*address):
        yield server
