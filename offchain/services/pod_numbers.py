"""A number that a pod tells, asked for over the tenant's way into the pod: nobody else reaches that port."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from offchain.core.pod_metric import MAX_ANSWER, NoNumberError, Told, question, read
from offchain.schema.manifest.types import PodMetric

PAGE_S: Final = 5.0
"""A slow page is given up by itself: its host's connection serves other pods."""


class Connection(Protocol):
    """A connection to a port inside a pod."""

    async def write(self, data: bytes) -> None:
        """Send bytes to the pod."""
        ...

    async def read_main(self) -> bytes | None:
        """The next bytes from the pod; None at the end."""
        ...

    def drop(self) -> None:
        """Let go of it."""
        ...


class PodSource(Protocol):
    """The way into a host's pods."""

    async def dial(self, lease: int, port: int) -> Connection:
        """A connection to a TCP port inside the pod of this lease."""
        ...


async def number_of(host: PodSource, lease: int, metric: PodMetric) -> Told:
    """The number now. Raises :class:`NoNumberError` where the pod does not tell it, and as the way does."""
    connection = await host.dial(lease, metric.port)
    try:
        async with asyncio.timeout(PAGE_S):
            await connection.write(question(metric))
            answer = bytearray()
            while (piece := await connection.read_main()) is not None:
                answer += piece
                if len(answer) > MAX_ANSWER:
                    raise NoNumberError(f"the page on port {metric.port} is longer than {MAX_ANSWER} bytes")
    except TimeoutError:
        raise NoNumberError(f"the page on port {metric.port} did not end within {PAGE_S:g} s") from None
    finally:
        connection.drop()
    return read(metric, bytes(answer))
