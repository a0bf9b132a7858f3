"""The metrics of a process, if its operator wants them: `--metrics IP:PORT`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from offchain.adapters.metrics.definitions import MetricSource

if TYPE_CHECKING:
    from offchain.adapters.metrics.server import MetricsServer


class MetricsAddress(NamedTuple):
    """Where a process serves its metrics. `operators`: the accounts that may restart it there; `program`: its name."""

    host: str
    port: int
    operators: frozenset[str] = frozenset()
    program: str = ""


@contextlib.asynccontextmanager
async def serve_metrics(
    address: MetricsAddress | None,
    sources: Sequence[MetricSource],
    prepare: Sequence[Callable[[], Awaitable[None]]] = (),
) -> AsyncIterator[MetricsServer | None]:
    """Serve metrics at an address, and yield the server; None: nowhere, and the server is not loaded.

    `sources`, `prepare`: as for :class:`MetricsServer`. Raises ListenError.
    """
    if address is None:
        yield None
        return
    from offchain.adapters.metrics.server import MetricsServer  # noqa: PLC0415  (slow to load, and not always wanted)

    guard = None
    if address.operators:
        from offchain.adapters.metrics.restart import RestartGuard  # noqa: PLC0415  (as above)

        guard = RestartGuard(address.operators, address.program)
    server = MetricsServer(sources, prepare, guard)
    async with server.listening(address.host, address.port):
        yield server
