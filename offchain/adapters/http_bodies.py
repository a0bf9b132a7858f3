"""Bodies of HTTP answers, read up to a limit.

A request that fails raises aiohttp.ClientError or OSError; TimeoutError is one. Where a user gave the URL, it may also
raise ValueError.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # slow to load, and not always wanted
    import aiohttp

_CHUNK: Final = 1 << 16


class BodyTooLong(Exception):  # noqa: N818
    """An answer is longer than its limit."""


async def body_chunks(answer: aiohttp.ClientResponse, limit: int) -> AsyncIterator[bytes]:
    """Yield the body in pieces, at most `limit` bytes in all. Raises BodyTooLong, aiohttp.ClientError, OSError."""
    total = 0
    async for chunk in answer.content.iter_chunked(_CHUNK):
        total += len(chunk)
        if total > limit:
            raise BodyTooLong
        yield chunk


async def read_body(answer: aiohttp.ClientResponse, limit: int) -> bytes:
    """Return the whole body, at most `limit` bytes. Raises BodyTooLong, aiohttp.ClientError, OSError."""
    return b"".join([chunk async for chunk in body_chunks(answer, limit)])
